/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall numbers */

#include <errno.h>
#include <sys/resource.h>

#include <weir/panic.h>
#include <weir/stamp.h>

#include "conformance/bad_pool.h"
#include "support/forbid_call.h"

/* Bad input to what a task sees of its run; made by a task, with w->context. */

/* ---- What is read off it ---- */

ROW(weir_context_pool, context, null, WEIR_OK)
{
    CHECK(weir_context_pool(NULL) == NULL);
    CHECK(weir_context_pool(w->context) == w->pool);
    return WEIR_OK;
}

ROW(weir_context_envelope, context, null, WEIR_OK)
{
    CHECK(weir_context_envelope(NULL) == NULL);
    CHECK(weir_context_envelope(w->context) == w->envelopes[IS_CALLING]);
    return WEIR_OK;
}

ROW(weir_context_attempt, context, null, WEIR_OK)
{
    CHECK_INT(weir_context_attempt(NULL), ==, 0);
    return WEIR_OK;
}

ROW(weir_context_worker, context, null, WEIR_OK)
{
    CHECK_INT(weir_context_worker(NULL), ==, 0);
    return WEIR_OK;
}

ROW(weir_context_explain, context, null, WEIR_EINVAL)
{
    return weir_context_explain(NULL, "why");
}

ROW(weir_context_explain, text, null, WEIR_EINVAL)
{
    return weir_context_explain(w->context, NULL);
}

ROW(weir_context_due, context, null, WEIR_OK)
{
    CHECK_INT(weir_context_due(NULL), ==, 0);
    return WEIR_OK;
}

ROW(weir_context_remaining, context, null, WEIR_OK)
{
    CHECK_INT(weir_context_remaining(NULL), ==, 0);
    return WEIR_OK;
}

ROW(weir_context_check, context, null, WEIR_EINVAL)
{
    return weir_context_check(NULL);
}

/* ---- Its limits ---- */

ROW(weir_context_cancel, context, null, WEIR_OK)
{
    weir_context_cancel(NULL);
    CHECK_STATUS(weir_context_check(w->context), WEIR_OK);
    return WEIR_OK;
}

ROW(weir_context_check, context, cancelled, WEIR_ECANCELED)
{
    weir_context_cancel(w->context);
    return weir_context_check(w->context);
}

ROW(weir_context_sleep, context, null, WEIR_EINVAL)
{
    return weir_context_sleep(NULL, INT64_MAX);
}

ROW(weir_context_sleep, context, cancelled, WEIR_ECANCELED)
{
    weir_context_cancel(w->context);
    CHECK_STATUS(weir_context_sleep(w->context, 0), WEIR_ECANCELED);
    return weir_context_sleep(w->context, INT64_MAX);
}

ROW(weir_context_sleep, delay_ns, least, WEIR_OK)
{
    CHECK_STATUS(weir_context_sleep(w->context, 0), WEIR_OK);
    return weir_context_sleep(w->context, INT64_MIN);
}

/* An envelope with a deadline, which the clock passes while it runs. */
struct timed {
    struct world *w;
    int64_t delay_ns;
    enum weir_status status;
};

static int pass_deadline(weir_context *context, void *payload)
{
    struct timed *timed = payload;
    CHECK_STATUS(weir_clock_advance(timed->w->clock, 2), WEIR_OK);
    CHECK_STATUS(weir_context_check(context), WEIR_ETIMEDOUT);
    timed->status = weir_context_sleep(context, timed->delay_ns);
    return WEIR_OK;
}

static enum weir_status sleep_past_deadline(struct world *w, int64_t delay_ns)
{
    struct timed timed = {.w = w, .delay_ns = delay_ns};
    struct weir_envelope_options options = {0};
    options.payload = &timed;
    options.invoke = pass_deadline;
    options.deadline_ns = 1;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    weir_pool *pool = pool_with(1, 0, w->clock);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(pool).late, ==, 1);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    return timed.status;
}

ROW(weir_context_check, context, timed_out, WEIR_ETIMEDOUT)
{
    return sleep_past_deadline(w, 0); /* which is the check's answer */
}

ROW(weir_context_sleep, delay_ns, most, WEIR_ETIMEDOUT)
{
    return sleep_past_deadline(w, INT64_MAX);
}

/* ---- Its descriptor ---- */

ROW(weir_context_fd, context, null, WEIR_EINVAL)
{
    int fd = UNTOUCHED;
    enum weir_status status = weir_context_fd(NULL, &fd);
    CHECK_INT(fd, ==, UNTOUCHED);
    return status;
}

ROW(weir_context_fd, ret_fd, null, WEIR_EINVAL)
{
    return weir_context_fd(w->context, NULL);
}

ROW(weir_context_fd, descriptors, none, WEIR_EIO)
{
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
    int fd = UNTOUCHED;
    enum weir_status status = weir_context_fd(w->context, &fd);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    CHECK_INT(fd, ==, UNTOUCHED);
    CHECK_STATUS(weir_context_fd(w->context, &fd), WEIR_OK);
    CHECK_INT(fd, !=, UNTOUCHED);
    return status;
}

ROW(weir_context_fd, memory, none, WEIR_ENOMEM)
{
    int fd = UNTOUCHED;
    test_forbid_call(SYS_timerfd_create, SECCOMP_RET_ERRNO | ENOMEM); /* to this worker */
    enum weir_status status = weir_context_fd(w->context, &fd);
    CHECK_INT(fd, ==, UNTOUCHED);
    return status;
}

/* ---- Its values ---- */

static char keys[9];

ROW(weir_context_set, context, null, WEIR_EINVAL)
{
    return weir_context_set(NULL, &keys[0], &keys[0]);
}

ROW(weir_context_set, key, null, WEIR_EINVAL)
{
    enum weir_status status = weir_context_set(w->context, NULL, &keys[0]);
    CHECK(weir_context_get(w->context, NULL) == NULL);
    return status;
}

ROW(weir_context_set, memory, none, WEIR_ENOMEM)
{
    for (size_t i = 0; i < 8; i++) {
        CHECK_STATUS(weir_context_set(w->context, &keys[i], &keys[i]), WEIR_OK);
    }
    test_fail_allocation(1, true);
    enum weir_status status = weir_context_set(w->context, &keys[8], &keys[8]);
    CHECK(weir_context_get(w->context, &keys[8]) == NULL);
    for (size_t i = 0; i < 8; i++) {
        CHECK(weir_context_get(w->context, &keys[i]) == &keys[i]);
    }
    CHECK_STATUS(weir_context_set(w->context, &keys[7], &keys[8]), WEIR_OK); /* needs none */
    return status;
}

ROW(weir_context_get, context, null, WEIR_OK)
{
    CHECK(weir_context_get(NULL, &keys[0]) == NULL);
    return WEIR_OK;
}

ROW(weir_context_get, key, null, WEIR_OK)
{
    CHECK_STATUS(weir_context_set(w->context, &keys[0], &keys[0]), WEIR_OK);
    CHECK(weir_context_get(w->context, NULL) == NULL);
    return WEIR_OK;
}

/* ---- Stamps and panics ---- */

ROW(weir_next_run, next, null, WEIR_EINVAL)
{
    return (enum weir_status)weir_next_run(NULL, w->context);
}

static int run_without_context(weir_context *context, weir_envelope *envelope,
                               const weir_next *next, void *arg)
{
    (void)context;
    (void)envelope;
    (void)arg;
    return weir_next_run(next, NULL);
}

/* The task, which is inside, is not run. */
ROW(weir_next_run, context, null, WEIR_EINVAL)
{
    struct weir_stamp stamp = {run_without_context, NULL};
    struct weir_envelope_options options = good_envelope(&w->tasks[IS_FILLING]);
    options.stamps = &stamp;
    options.stamp_count = 1;
    options.release = NULL;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    weir_pool *pool = pool_with(1, 0, NULL);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counter_value(&w->tasks[IS_FILLING].entered), ==, 0);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    return (enum weir_status)atomic_load(&w->tasks[IS_FILLING].last_status);
}

LAST_ROW(weir_panic, context, null, "weir_panic() is for a task, stamp or hook that is being run")
{
    weir_panic(NULL, "nobody is run");
}
