/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/bad_input.h"

/* Bad input to what makes and frees a queue. */

static enum weir_status make(const struct weir_queue_options *options)
{
    weir_queue *untouched = (weir_queue *)&rows;
    weir_queue *queue = untouched;
    enum weir_status status = spoken(weir_queue_new(options, &queue, &said));
    CHECK((queue == untouched) == (status != WEIR_OK));
    if (status == WEIR_OK) {
        weir_queue_free(queue);
    }
    return status;
}

static struct weir_queue_options good_options(void)
{
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    return options;
}

ROW(weir_queue_new, options, null, WEIR_OK)
{
    return make(NULL);
}

ROW(weir_queue_new, options, allocator, WEIR_EINVAL)
{
    for (unsigned members = 1; members < 7; members++) {
        struct weir_queue_options options = good_options();
        options.allocator.alloc = (members & 1) != 0 ? test_allocator()->alloc : NULL;
        options.allocator.resize = (members & 2) != 0 ? test_allocator()->resize : NULL;
        options.allocator.release = (members & 4) != 0 ? test_allocator()->release : NULL;
        CHECK_STATUS(make(&options), WEIR_EINVAL);
    }
    return WEIR_EINVAL;
}

ROW(weir_queue_new, options, key_size_max, WEIR_EINVAL)
{
    struct weir_queue_options options = good_options();
    options.key_size_max = WEIR_KEY_SIZE_LIMIT;
    CHECK_STATUS(make(&options), WEIR_OK);
    options.key_size_max++;
    CHECK_STATUS(make(&options), WEIR_EINVAL);
    options.key_size_max = SIZE_MAX;
    return make(&options);
}

ROW(weir_queue_new, options, flags, WEIR_EINVAL)
{
    static const uint32_t flags[] = {8, 15, UINT32_C(1) << 31, UINT32_MAX};
    struct weir_queue_options options = good_options();
    for (size_t i = 0; i < 4; i++) {
        options.flags = flags[i];
        CHECK_STATUS(make(&options), WEIR_EINVAL);
    }
    return WEIR_EINVAL;
}

ROW(weir_queue_new, options, aging_ns, WEIR_ERANGE)
{
    struct weir_queue_options options = good_options();
    options.aging_ns = 1; /* there are no priorities */
    CHECK_STATUS(make(&options), WEIR_EINVAL);
    options.flags = WEIR_QUEUE_PRIORITIES;
    CHECK_STATUS(make(&options), WEIR_OK);
    options.aging_ns = INT64_MAX;
    CHECK_STATUS(make(&options), WEIR_OK);
    options.aging_ns = INT64_MIN;
    CHECK_STATUS(make(&options), WEIR_ERANGE);
    options.aging_ns = -1;
    return make(&options);
}

static enum weir_status make_named(struct weir_queue_options *options, const char *name,
                                   const char *taken)
{
    CHECK_STATUS(weir_metrics_new(NULL, &options->metrics, NULL), WEIR_OK);
    options->name = taken;
    weir_queue *first;
    CHECK_STATUS(weir_queue_new(options, &first, NULL), WEIR_OK);
    options->name = name;
    enum weir_status status = make(options);
    weir_queue_free(first);
    weir_metrics_free(options->metrics);
    return status;
}

ROW(weir_queue_new, options, name, WEIR_EINVAL)
{
    struct weir_queue_options options = good_options();
    return make_named(&options, "\xff", "a");
}

ROW(weir_queue_new, options, metrics, WEIR_EINVAL)
{
    struct weir_queue_options options = good_options();
    CHECK_STATUS(make_named(&options, "", "a"), WEIR_EINVAL);
    return make_named(&options, NULL, "a");
}

ROW(weir_queue_new, options, name_taken, WEIR_EBUSY)
{
    struct weir_queue_options options = good_options();
    return make_named(&options, "a", "a");
}

ROW(weir_queue_new, options, forked, WEIR_EFORKED)
{
    struct weir_queue_options of_clock = good_options();
    struct weir_queue_options of_metrics = good_options();
    of_clock.clock = w->f.clock;
    of_metrics.name = "a";
    CHECK_STATUS(weir_metrics_new(NULL, &of_metrics.metrics, NULL), WEIR_OK);
    pid_t child = fork();
    if (child == 0) {
        CHECK_STATUS(make(&of_clock), WEIR_EFORKED);
        CHECK_STATUS(make(&of_metrics), WEIR_EFORKED);
        test_end_child();
    }
    CHECK_INT(child, >, 0);
    int end = 0;
    CHECK_INT(waitpid(child, &end, 0), ==, child);
    CHECK(WIFEXITED(end) && WEXITSTATUS(end) == 0);
    weir_metrics_free(of_metrics.metrics);
    return WEIR_EFORKED;
}

ROW(weir_queue_new, ret_error, null, WEIR_OK)
{
    weir_queue *queue;
    CHECK_STATUS(weir_queue_new(NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_new(NULL, &queue, NULL), WEIR_OK);
    weir_queue_free(queue);
    return WEIR_OK;
}

ROW(weir_queue_new, memory, none, WEIR_ENOMEM)
{
    struct weir_queue_options options = good_options();
    test_fail_allocation(1, true);
    return make(&options);
}

ROW(weir_queue_new, ret_queue, null, WEIR_EINVAL)
{
    struct weir_queue_options options = good_options();
    CHECK_STATUS(weir_queue_new(NULL, NULL, NULL), WEIR_EINVAL);
    return spoken(weir_queue_new(&options, NULL, &said));
}

ROW(weir_queue_free, queue, null, WEIR_OK)
{
    weir_queue_free(NULL);
    return WEIR_OK;
}

ROW(weir_queue_free, queue, shut_down, WEIR_OK)
{
    weir_queue_free(w->f.queue);
    w->f.queue = NULL;
    return WEIR_OK;
}
