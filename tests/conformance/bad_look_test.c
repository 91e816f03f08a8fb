/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall numbers */

#include <weir/duration.h>
#include <weir/snapshot.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "conformance/bad_input.h"

/* Bad input to what looks at a queue (its descriptor, a snapshot, metrics), and to the clock,
 * durations and statuses. */

/* ---- weir_queue_fd ---- */

ROW(weir_queue_fd, queue, null, WEIR_EINVAL)
{
    int fd = UNTOUCHED;
    enum weir_status status = weir_queue_fd(NULL, &fd);
    CHECK_INT(fd, ==, UNTOUCHED);
    return status;
}

ROW(weir_queue_fd, queue, shut_down, WEIR_OK)
{
    int fd = -1;
    CHECK_STATUS(weir_queue_fd(w->queue, &fd), WEIR_OK);
    CHECK_INT(fd, >=, 0);
    return WEIR_OK;
}

ROW(weir_queue_fd, ret_fd, null, WEIR_EINVAL)
{
    return weir_queue_fd(w->queue, NULL);
}

ROW(weir_queue_fd, descriptors, none, WEIR_EIO)
{
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
    int fd = UNTOUCHED;
    enum weir_status status = weir_queue_fd(w->queue, &fd);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    CHECK_INT(fd, ==, UNTOUCHED);
    return status;
}

/* From now on the calling thread's timerfd_create() says that the kernel has no memory. */
static void deny_timers(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timerfd_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};
    CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), ==, 0);
    CHECK_INT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), ==, 0);
}

static void run_fd_without_timers(void *arg)
{
    struct blocked *call = arg;
    int fd = UNTOUCHED;
    deny_timers();
    call->status = weir_queue_fd(call->f->queue, &fd);
    CHECK_INT(fd, ==, UNTOUCHED);
}

ROW(weir_queue_fd, memory, none, WEIR_ENOMEM)
{
    struct blocked call = {.f = &w->f};
    call.thread = test_start(run_fd_without_timers, &call);
    return unblock(&call);
}

/* ---- Snapshots ---- */

static enum weir_status call_lookup(__attribute__((unused)) struct world *w, weir_queue *queue,
                                    struct weir_key key)
{
    struct weir_snapshot_item item = {.ticket = UNTOUCHED};
    enum weir_status status = weir_queue_lookup(queue, key, &item);
    CHECK((item.ticket == UNTOUCHED) == (status != WEIR_OK));
    return status;
}

KEY_ROWS(weir_queue_lookup, key, call_lookup)

ROW(weir_queue_lookup, key, elsewhere, WEIR_EBUSY)
{
    struct weir_item item;
    weir_item_init(&item);
    weir_queue *other;
    CHECK_STATUS(weir_queue_new(NULL, &other), WEIR_OK);
    CHECK_STATUS(weir_queue_add(other, weir_key_item(&item)), WEIR_OK);
    enum weir_status status = call_lookup(w, w->queue, weir_key_item(&item));
    weir_queue_free(other);
    return status;
}

ROW(weir_queue_lookup, ret_item, null, WEIR_EINVAL)
{
    return weir_queue_lookup(w->queue, key_of(&w->f, IS_QUEUED), NULL);
}

ROW(weir_queue_lookup, queue, shut_down, WEIR_OK)
{
    struct weir_snapshot_item item;
    CHECK_STATUS(weir_queue_lookup(w->queue, key_of(&w->f, IS_QUEUED), &item), WEIR_OK);
    CHECK_INT(item.place, ==, WEIR_PLACE_QUEUED);
    CHECK_STATUS(weir_queue_lookup(w->queue, key_of(&w->f, IS_WAITING), &item), WEIR_OK);
    CHECK(item.place == WEIR_PLACE_IDLE && item.due_ns == -1);
    return WEIR_OK;
}

ROW(weir_queue_snapshot, queue, null, WEIR_EINVAL)
{
    weir_snapshot *untouched = (weir_snapshot *)w;
    weir_snapshot *snapshot = untouched;
    enum weir_status status = weir_queue_snapshot(NULL, &snapshot);
    CHECK(snapshot == untouched);
    return status;
}

ROW(weir_queue_snapshot, queue, shut_down, WEIR_OK)
{
    weir_snapshot *snapshot;
    CHECK_STATUS(weir_queue_snapshot(w->queue, &snapshot), WEIR_OK);
    CHECK_INT(weir_snapshot_count(snapshot), ==, 3);
    weir_snapshot_free(snapshot);
    return WEIR_OK;
}

ROW(weir_queue_snapshot, ret_snapshot, null, WEIR_EINVAL)
{
    return weir_queue_snapshot(w->queue, NULL);
}

ROW(weir_queue_snapshot, memory, none, WEIR_ENOMEM)
{
    weir_snapshot *untouched = (weir_snapshot *)w;
    weir_snapshot *snapshot = untouched;
    test_fail_allocation(2, false);
    CHECK_STATUS(weir_queue_snapshot(w->queue, &snapshot), WEIR_ENOMEM);
    test_fail_allocation(1, true);
    enum weir_status status = weir_queue_snapshot(w->queue, &snapshot);
    CHECK(snapshot == untouched);
    return status;
}

ROW(weir_snapshot_count, snapshot, null, WEIR_OK)
{
    CHECK_INT(weir_snapshot_count(NULL), ==, 0);
    return WEIR_OK;
}

ROW(weir_snapshot_unlisted, snapshot, null, WEIR_OK)
{
    CHECK_INT(weir_snapshot_unlisted(NULL), ==, 0);
    return WEIR_OK;
}

ROW(weir_snapshot_at, snapshot, null, WEIR_OK)
{
    CHECK(weir_snapshot_at(NULL, 0) == NULL);
    return WEIR_OK;
}

ROW(weir_snapshot_at, index, most, WEIR_OK)
{
    weir_snapshot *snapshot;
    CHECK_STATUS(weir_queue_snapshot(w->queue, &snapshot), WEIR_OK);
    CHECK_INT(weir_snapshot_count(snapshot), ==, 5);
    CHECK(weir_snapshot_at(snapshot, 4) != NULL);
    CHECK(weir_snapshot_at(snapshot, 5) == NULL);
    CHECK(weir_snapshot_at(snapshot, SIZE_MAX) == NULL);
    weir_snapshot_free(snapshot);
    return WEIR_OK;
}

ROW(weir_snapshot_at, index, zero, WEIR_OK)
{
    weir_snapshot *snapshot;
    finish_world(w);
    CHECK(cancel(&w->f, IS_WAITING) && cancel(&w->f, IS_LIMITED));
    CHECK_STATUS(weir_queue_snapshot(w->queue, &snapshot), WEIR_OK);
    CHECK(weir_snapshot_at(snapshot, 0) == NULL);
    weir_snapshot_free(snapshot);
    return WEIR_OK;
}

ROW(weir_snapshot_free, snapshot, null, WEIR_OK)
{
    weir_snapshot_free(NULL);
    return WEIR_OK;
}

/* ---- Metrics ---- */

static enum weir_status make_metrics(const struct weir_metrics_options *options)
{
    weir_metrics *untouched = (weir_metrics *)&rows;
    weir_metrics *metrics = untouched;
    enum weir_status status = weir_metrics_new(options, &metrics);
    CHECK((metrics == untouched) == (status != WEIR_OK));
    if (status == WEIR_OK) {
        weir_metrics_free(metrics);
    }
    return status;
}

static struct weir_metrics_options good_options(void)
{
    struct weir_metrics_options options = WEIR_METRICS_OPTIONS_INIT;
    options.allocator = *test_allocator();
    return options;
}

ROW(weir_metrics_new, options, null, WEIR_OK)
{
    return make_metrics(NULL);
}

ROW(weir_metrics_new, options, size, WEIR_EINVAL)
{
    struct weir_metrics_options options = good_options();
    options.size = 0;
    CHECK_STATUS(make_metrics(&options), WEIR_EINVAL);
    options.size = SIZE_MAX;
    return make_metrics(&options);
}

ROW(weir_metrics_new, options, later, WEIR_EINVAL)
{
    struct {
        struct weir_metrics_options options;
        uint64_t later;
    } newer = {.options = good_options()};
    newer.options.size = sizeof(newer);
    CHECK_STATUS(make_metrics(&newer.options), WEIR_OK);
    newer.later = 1;
    return make_metrics(&newer.options);
}

ROW(weir_metrics_new, options, allocator, WEIR_EINVAL)
{
    struct weir_metrics_options options = good_options();
    options.allocator.release = NULL;
    return make_metrics(&options);
}

ROW(weir_metrics_new, memory, none, WEIR_ENOMEM)
{
    struct weir_metrics_options options = good_options();
    test_fail_allocation(1, true);
    return make_metrics(&options);
}

ROW(weir_metrics_new, ret_metrics, null, WEIR_EINVAL)
{
    return weir_metrics_new(NULL, NULL);
}

ROW(weir_metrics_free, metrics, null, WEIR_OK)
{
    weir_metrics_free(NULL);
    return WEIR_OK;
}

/* Writes the metrics of a queue; count: of the pieces. */
static int count_piece(const char *text, size_t size, void *arg)
{
    CHECK(text != NULL && size > 0);
    ++*(unsigned *)arg;
    return WEIR_OK;
}

static enum weir_status write_metrics(bool is_null, weir_metrics_write_fn *fn, bool has_memory)
{
    struct weir_metrics_options options = good_options();
    struct weir_queue_options of_queue = WEIR_QUEUE_OPTIONS_INIT;
    weir_queue *queue;
    unsigned pieces = 0;
    CHECK_STATUS(weir_metrics_new(&options, &of_queue.metrics), WEIR_OK);
    of_queue.name = "a";
    CHECK_STATUS(weir_queue_new(&of_queue, &queue), WEIR_OK);
    test_fail_allocation(has_memory ? 0 : 1, true);
    enum weir_status status =
        (enum weir_status)weir_metrics_write(is_null ? NULL : of_queue.metrics, fn, &pieces);
    CHECK_INT(pieces > 0, ==, status == WEIR_OK);
    test_fail_allocation(0, false);
    weir_queue_free(queue);
    weir_metrics_free(of_queue.metrics);
    return status;
}

ROW(weir_metrics_write, metrics, null, WEIR_EINVAL)
{
    CHECK_STATUS(write_metrics(false, count_piece, true), WEIR_OK);
    return write_metrics(true, count_piece, true);
}

ROW(weir_metrics_write, write, null, WEIR_EINVAL)
{
    return write_metrics(false, NULL, true);
}

ROW(weir_metrics_write, memory, none, WEIR_ENOMEM)
{
    return write_metrics(false, count_piece, false);
}

/* ---- Clocks ---- */

static enum weir_status make_clock(int64_t start_ns, const struct weir_allocator *allocator)
{
    weir_clock *untouched = (weir_clock *)&rows;
    weir_clock *clock = untouched;
    enum weir_status status = weir_clock_manual_new(start_ns, allocator, &clock);
    CHECK((clock == untouched) == (status != WEIR_OK));
    if (status == WEIR_OK) {
        CHECK_INT(weir_clock_now(clock), ==, start_ns);
        weir_clock_free(clock);
    }
    return status;
}

ROW(weir_clock_manual_new, start_ns, least, WEIR_ERANGE)
{
    CHECK_STATUS(make_clock(-1, test_allocator()), WEIR_ERANGE);
    return make_clock(INT64_MIN, test_allocator());
}

ROW(weir_clock_manual_new, start_ns, most, WEIR_OK)
{
    return make_clock(INT64_MAX, test_allocator());
}

ROW(weir_clock_manual_new, allocator, null, WEIR_OK)
{
    return make_clock(0, NULL);
}

ROW(weir_clock_manual_new, allocator, partial, WEIR_EINVAL)
{
    struct weir_allocator allocator = *test_allocator();
    allocator.alloc = NULL;
    return make_clock(0, &allocator);
}

ROW(weir_clock_manual_new, memory, none, WEIR_ENOMEM)
{
    test_fail_allocation(1, true);
    return make_clock(0, test_allocator());
}

ROW(weir_clock_manual_new, ret_clock, null, WEIR_EINVAL)
{
    return weir_clock_manual_new(0, test_allocator(), NULL);
}

ROW(weir_clock_advance, clock, null, WEIR_EINVAL)
{
    return weir_clock_advance(NULL, 1);
}

ROW(weir_clock_advance, clock, real, WEIR_EINVAL)
{
    return weir_clock_advance(weir_clock_monotonic(), 1);
}

ROW(weir_clock_advance, step_ns, least, WEIR_ERANGE)
{
    CHECK_STATUS(weir_clock_advance(w->f.clock, -1), WEIR_ERANGE);
    enum weir_status status = weir_clock_advance(w->f.clock, INT64_MIN);
    CHECK_INT(weir_clock_now(w->f.clock), ==, START);
    return status;
}

ROW(weir_clock_advance, step_ns, most, WEIR_ERANGE)
{
    CHECK_STATUS(weir_clock_advance(w->f.clock, INT64_MAX - START + 1), WEIR_ERANGE);
    enum weir_status status = weir_clock_advance(w->f.clock, INT64_MAX);
    CHECK_INT(weir_clock_now(w->f.clock), ==, START);
    return status;
}

ROW(weir_clock_now, clock, null, WEIR_OK)
{
    CHECK_INT(weir_clock_now(NULL), ==, 0);
    return WEIR_OK;
}

ROW(weir_clock_free, clock, null, WEIR_OK)
{
    weir_clock_free(NULL);
    return WEIR_OK;
}

ROW(weir_clock_free, clock, real, WEIR_OK)
{
    weir_clock_free(weir_clock_monotonic());
    CHECK_INT(weir_clock_now(weir_clock_monotonic()), >, 0);
    return WEIR_OK;
}

/* ---- Durations and statuses ---- */

static enum weir_status parse(const char *text, size_t expected_offset)
{
    int64_t ns = UNTOUCHED;
    size_t offset = UNTOUCHED;
    enum weir_status status = weir_duration_parse(text, &ns, &offset);
    CHECK(status != WEIR_OK);
    CHECK_INT(ns, ==, UNTOUCHED);
    CHECK_INT(offset, ==, expected_offset);
    return status;
}

ROW(weir_duration_parse, text, null, WEIR_EINVAL)
{
    return parse(NULL, 0);
}

ROW(weir_duration_parse, text, form, WEIR_EINVAL)
{
    CHECK_STATUS(parse("", 0), WEIR_EINVAL);
    CHECK_STATUS(parse("NaN", 0), WEIR_EINVAL);
    CHECK_STATUS(parse("-1s", 0), WEIR_EINVAL);
    CHECK_STATUS(parse("1.s", 2), WEIR_EINVAL);
    CHECK_STATUS(parse("1s 2m", 2), WEIR_EINVAL);
    return parse("10w", 2);
}

ROW(weir_duration_parse, text, too_large, WEIR_ERANGE)
{
    CHECK_STATUS(parse("1s9223372036854775807ns", 2), WEIR_ERANGE);
    CHECK_STATUS(parse("99999999999999999999999ns", 0), WEIR_ERANGE);
    return parse("9223372036854775808ns", 0);
}

ROW(weir_duration_parse, ret_ns, null, WEIR_EINVAL)
{
    return weir_duration_parse("1s", NULL, NULL);
}

ROW(weir_duration_parse, ret_offset, null, WEIR_EINVAL)
{
    int64_t ns = UNTOUCHED;
    CHECK_STATUS(weir_duration_parse("1s", &ns, NULL), WEIR_OK);
    CHECK_INT(ns, ==, WEIR_SECONDS(1));
    return weir_duration_parse("1x", &ns, NULL);
}

ROW(weir_duration_format, ns, least, WEIR_OK)
{
    char text[64];
    CHECK_INT(weir_duration_format(INT64_MIN, text, sizeof(text)), ==, strlen(text));
    CHECK_STRING(text, "-106751d23h47m16.854s");
    return WEIR_OK;
}

ROW(weir_duration_format, ns, most, WEIR_OK)
{
    char text[64];
    CHECK_INT(weir_duration_format(INT64_MAX, text, sizeof(text)), ==, strlen(text));
    CHECK_STRING(text, "106751d23h47m16.854s");
    return WEIR_OK;
}

ROW(weir_duration_format, buffer, null, WEIR_OK)
{
    CHECK_INT(weir_duration_format(-WEIR_MS(250), NULL, 0), ==, strlen("-250ms"));
    CHECK_INT(weir_duration_format(-WEIR_MS(250), NULL, 64), ==, strlen("-250ms"));
    return WEIR_OK;
}

ROW(weir_duration_format, size, zero, WEIR_OK)
{
    char text[] = "as before";
    CHECK_INT(weir_duration_format(WEIR_MS(250), text, 0), ==, strlen("250ms"));
    CHECK_STRING(text, "as before");
    CHECK_INT(weir_duration_format(WEIR_MS(250), text, 3), ==, strlen("250ms"));
    CHECK_STRING(text, "25");
    return WEIR_OK;
}

ROW(weir_status_name, status, least, WEIR_OK)
{
    CHECK_STRING(weir_status_name(INT32_MIN), "WEIR_?");
    CHECK_STRING(weir_status_name(-1), "WEIR_?");
    CHECK_STRING(weir_status_name(999), "WEIR_?");
    return WEIR_OK;
}

ROW(weir_status_name, status, most, WEIR_OK)
{
    CHECK_STRING(weir_status_name(INT32_MAX), "WEIR_EUSER");
    return WEIR_OK;
}

ROW(weir_status_text, status, least, WEIR_OK)
{
    CHECK_STRING(weir_status_text(INT32_MIN), "unknown status");
    CHECK_STRING(weir_status_text(999), "unknown status");
    return WEIR_OK;
}

ROW(weir_status_text, status, most, WEIR_OK)
{
    CHECK_STRING(weir_status_text(INT32_MAX), "the task's own error");
    return WEIR_OK;
}
