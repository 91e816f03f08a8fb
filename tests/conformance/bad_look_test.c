/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall numbers */

#include <weir/snapshot.h>

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/bad_input.h"
#include "support/forbid_call.h"

/* Bad input to what looks at a queue: its descriptor, a snapshot, metrics. */

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

static void run_fd_without_timers(void *arg)
{
    struct blocked *call = arg;
    int fd = UNTOUCHED;
    test_forbid_call(SYS_timerfd_create, SECCOMP_RET_ERRNO | ENOMEM);
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
    CHECK_STATUS(weir_queue_new(NULL, &other, NULL), WEIR_OK);
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
    struct weir_snapshot *untouched = (struct weir_snapshot *)w;
    struct weir_snapshot *snapshot = untouched;
    enum weir_status status = weir_queue_snapshot(NULL, &snapshot);
    CHECK(snapshot == untouched);
    return status;
}

ROW(weir_queue_snapshot, queue, shut_down, WEIR_OK)
{
    struct weir_snapshot *snapshot;
    CHECK_STATUS(weir_queue_snapshot(w->queue, &snapshot), WEIR_OK);
    CHECK_INT(snapshot->count, ==, 3);
    weir_snapshot_free(snapshot);
    return WEIR_OK;
}

ROW(weir_queue_snapshot, ret_snapshot, null, WEIR_EINVAL)
{
    return weir_queue_snapshot(w->queue, NULL);
}

ROW(weir_queue_snapshot, memory, none, WEIR_ENOMEM)
{
    struct weir_snapshot *untouched = (struct weir_snapshot *)w;
    struct weir_snapshot *snapshot = untouched;
    test_fail_allocation(1, true);
    enum weir_status status = weir_queue_snapshot(w->queue, &snapshot);
    CHECK(snapshot == untouched);
    return status;
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
    enum weir_status status = spoken(weir_metrics_new(options, &metrics, &said));
    CHECK((metrics == untouched) == (status != WEIR_OK));
    if (status == WEIR_OK) {
        weir_metrics_free(metrics);
    }
    return status;
}

static struct weir_metrics_options good_options(void)
{
    struct weir_metrics_options options = {0};
    options.allocator = *test_allocator();
    return options;
}

ROW(weir_metrics_new, options, null, WEIR_OK)
{
    return make_metrics(NULL);
}

ROW(weir_metrics_new, options, allocator, WEIR_EINVAL)
{
    struct weir_metrics_options options = good_options();
    options.allocator.release = NULL;
    return make_metrics(&options);
}

ROW(weir_metrics_new, ret_error, null, WEIR_OK)
{
    weir_metrics *metrics;
    CHECK_STATUS(weir_metrics_new(NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_metrics_new(NULL, &metrics, NULL), WEIR_OK);
    weir_metrics_free(metrics);
    return WEIR_OK;
}

ROW(weir_metrics_new, memory, none, WEIR_ENOMEM)
{
    struct weir_metrics_options options = good_options();
    test_fail_allocation(1, true);
    return make_metrics(&options);
}

ROW(weir_metrics_new, ret_metrics, null, WEIR_EINVAL)
{
    return spoken(weir_metrics_new(NULL, NULL, &said));
}

ROW(weir_metrics_free, metrics, in_use, WEIR_EBUSY)
{
    struct weir_queue_options options = {0};
    options.name = "mail";
    weir_queue *queue;
    CHECK_STATUS(weir_metrics_new(NULL, &options.metrics, NULL), WEIR_OK);
    CHECK_STATUS(weir_queue_new(&options, &queue, NULL), WEIR_OK);
    enum weir_status status = weir_metrics_free(options.metrics);
    weir_queue_free(queue);
    CHECK_STATUS(weir_metrics_free(options.metrics), WEIR_OK);
    return status;
}

ROW(weir_metrics_free, metrics, forked, WEIR_EFORKED)
{
    weir_metrics *metrics;
    CHECK_STATUS(weir_metrics_new(NULL, &metrics, NULL), WEIR_OK);
    pid_t child = fork();
    CHECK_INT(child, >=, 0);
    if (child == 0) {
        _exit((int)weir_metrics_free(metrics));
    }
    int ended;
    CHECK_INT(waitpid(child, &ended, 0), ==, child);
    CHECK(WIFEXITED(ended));
    CHECK_STATUS(weir_metrics_free(metrics), WEIR_OK);
    return (enum weir_status)WEXITSTATUS(ended);
}

ROW(weir_metrics_free, metrics, null, WEIR_OK)
{
    return weir_metrics_free(NULL);
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
    struct weir_queue_options of_queue = {0};
    weir_queue *queue;
    unsigned pieces = 0;
    CHECK_STATUS(weir_metrics_new(&options, &of_queue.metrics, NULL), WEIR_OK);
    of_queue.name = "a";
    CHECK_STATUS(weir_queue_new(&of_queue, &queue, NULL), WEIR_OK);
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
