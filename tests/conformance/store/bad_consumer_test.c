/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <sys/syscall.h>

#include <weir/metrics.h>

#include "conformance/store/bad_store.h"
#include "support/forbid_call.h"

/* Bad input to the functions of weir/consumer.h. */

static enum weir_status make(weir_broker *broker, const char *tube,
                             const struct weir_consumer_options *options)
{
    weir_consumer *untouched = (weir_consumer *)&rows;
    weir_consumer *consumer = untouched;
    enum weir_status status = tell(weir_consumer_new(broker, tube, options, &consumer, told));
    CHECK((consumer == untouched) == (status != WEIR_OK));
    if (status == WEIR_OK) {
        weir_consumer_free(consumer);
    }
    return status;
}

static const struct weir_consumer_options sound = {.handler = ignore_run};

static enum weir_status make_on(struct world *w, weir_broker *broker)
{
    (void)w;
    return make(broker, TUBE, &sound);
}

static enum weir_status make_of(struct world *w, const char *tube)
{
    return make(w->broker, tube, &sound);
}

static enum weir_status make_with(struct world *w, struct weir_consumer_options options)
{
    options.handler = ignore_run;
    return make(w->broker, options.tube_count == 0 ? TUBE : NULL, &options);
}

WRITER_ROWS(weir_consumer_new, make_on)
TUBE_ROWS(weir_consumer_new, make_of)

ROW(weir_consumer_new, options, null, WEIR_EINVAL)
{
    return make(w->broker, TUBE, NULL);
}

ROW(weir_consumer_new, options, handler, WEIR_EINVAL)
{
    return make(w->broker, TUBE, &(struct weir_consumer_options){.workers = 1});
}

ROW(weir_consumer_new, options, retry_attempts, WEIR_OK)
{
    return make_with(w, (struct weir_consumer_options){.retry.attempts = UINT32_MAX});
}

ROW(weir_consumer_new, options, retry_jitter, WEIR_ERANGE)
{
    CHECK_STATUS(make_with(w, (struct weir_consumer_options){.retry.jitter = 1001}), WEIR_ERANGE);
    return make_with(w, (struct weir_consumer_options){.retry.jitter = WEIR_JITTER_NONE - 1});
}

ROW(weir_consumer_new, options, retry_base_ns, WEIR_ERANGE)
{
    CHECK_STATUS(make_with(w, (struct weir_consumer_options){.retry.base_ns = INT64_MIN}),
                 WEIR_ERANGE);
    return make_with(w, (struct weir_consumer_options){.retry.base_ns = -1});
}

ROW(weir_consumer_new, options, retry_max_ns, WEIR_ERANGE)
{
    CHECK_STATUS(make_with(w, (struct weir_consumer_options){.retry.max_ns = -1}), WEIR_ERANGE);
    return make_with(w, (struct weir_consumer_options){.retry = {.base_ns = 10, .max_ns = 9}});
}

ROW(weir_consumer_new, options, deadline_ns, WEIR_ERANGE)
{
    CHECK_STATUS(make_with(w, (struct weir_consumer_options){.deadline_ns = INT64_MIN}),
                 WEIR_ERANGE);
    return make_with(w, (struct weir_consumer_options){.deadline_ns = -1});
}

ROW(weir_consumer_new, options, workers, WEIR_EINVAL)
{
    CHECK_STATUS(make_with(w, (struct weir_consumer_options){.workers = UINT32_MAX}), WEIR_EINVAL);
    return make_with(w, (struct weir_consumer_options){.workers = 4097});
}

ROW(weir_consumer_new, options, flags, WEIR_EINVAL)
{
    static const uint32_t flags[] = {2, 3, UINT32_C(1) << 31, UINT32_MAX};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        CHECK_STATUS(make_with(w, (struct weir_consumer_options){.flags = flags[i]}), WEIR_EINVAL);
    }
    return WEIR_EINVAL;
}

ROW(weir_consumer_new, options, tubes, WEIR_EINVAL)
{
    static const struct weir_tube_weight wrong[][3] = {{{"a", 1}, {"b", 1}, {"a", 2}},
                                                       {{"a", 1001}, {"b", 1}, {"c", 1}},
                                                       {{"a", UINT32_MAX}, {"b", 1}, {"c", 1}},
                                                       {{"a", 1}, {"a b", 1}, {"c", 1}},
                                                       {{"a", 1}, {"b", 1}, {NULL, 1}}};
    static const char *const says[] = {"tube a is named twice", "tube a is 1001: at most 1000",
                                       "tube a is 4294967295: at most 1000", "\"a b\"",
                                       "tube is NULL"};
    struct weir_consumer_options options = {.tube_count = 3};
    for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
        options.tubes = wrong[i];
        CHECK_STATUS(make_with(w, options), WEIR_EINVAL);
        check_says(says[i]);
    }
    options.handler = ignore_run;
    CHECK_STATUS(make(w->broker, TUBE, &options), WEIR_EINVAL);
    check_says("expected one of both");
    options.tubes = NULL;
    return make_with(w, options);
}

ROW(weir_consumer_new, options, large_tube, WEIR_ETOOBIG)
{
    char name[WEIR_TUBE_SIZE_MAX + 2];
    const struct weir_tube_weight tubes[] = {{fill(name, sizeof(name)), 1}};
    return make_with(w, (struct weir_consumer_options){.tubes = tubes, .tube_count = 1});
}

ROW(weir_consumer_new, options, tube_count, WEIR_EINVAL)
{
    static const struct weir_tube_weight tubes[] = {{"a", 1}};
    struct weir_consumer_options options = {.tubes = tubes, .tube_count = SIZE_MAX};
    CHECK_STATUS(make_with(w, options), WEIR_EINVAL);
    options.tube_count = WEIR_CONSUMER_TUBES_MAX + 1;
    return make_with(w, options);
}

ROW(weir_consumer_new, options, rate, WEIR_ERANGE)
{
    static const double rates[] = {-1, -(double)INFINITY, (double)INFINITY, (double)NAN, 1.1e9};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        CHECK_STATUS(make_with(w, (struct weir_consumer_options){.rate = rates[i]}), WEIR_ERANGE);
    }
    check_says("rate is 1.1e+09: expected 0 to 1e+09");
    return WEIR_ERANGE;
}

ROW(weir_consumer_new, options, stamps, WEIR_EINVAL)
{
    static const struct weir_stamp none[] = {{NULL, NULL}};
    struct weir_consumer_options options = {.stamps = none, .stamp_count = 1};
    CHECK_STATUS(make_with(w, options), WEIR_EINVAL);
    options.stamps = NULL;
    return make_with(w, options);
}

ROW(weir_consumer_new, options, stamp_count, WEIR_ERANGE)
{
    static const struct weir_stamp none[] = {{NULL, NULL}};
    return make_with(w, (struct weir_consumer_options){.stamps = none, .stamp_count = SIZE_MAX});
}

/* Tries both a name of nothing else, and one that another consumer has. */
static enum weir_status make_named(struct world *w, const char *name, bool is_taken)
{
    weir_metrics *metrics;
    weir_consumer *other = NULL;
    const struct weir_metrics_options none = {.allocator = *test_allocator()};
    CHECK_STATUS(weir_metrics_new(&none, &metrics, NULL), WEIR_OK);
    struct weir_consumer_options options = sound;
    options.metrics = metrics;
    options.name = name;
    if (is_taken) {
        CHECK_STATUS(weir_consumer_new(w->broker, TUBE, &options, &other, NULL), WEIR_OK);
    }
    enum weir_status status = make(w->broker, TUBE, &options);
    weir_consumer_free(other);
    CHECK_STATUS(weir_metrics_free(metrics), WEIR_OK);
    return status;
}

ROW(weir_consumer_new, options, metrics, WEIR_EINVAL)
{
    return make_named(w, NULL, false);
}

ROW(weir_consumer_new, options, name, WEIR_EINVAL)
{
    CHECK_STATUS(make_named(w, "", false), WEIR_EINVAL);
    return make_named(w, "\xff", false);
}

ROW(weir_consumer_new, options, name_taken, WEIR_EBUSY)
{
    return make_named(w, "name", true);
}

ROW(weir_consumer_new, ret_consumer, null, WEIR_EINVAL)
{
    return tell(weir_consumer_new(w->broker, TUBE, &sound, NULL, told));
}

ROW(weir_consumer_new, memory, none, WEIR_ENOMEM)
{
    for (unsigned i = 1; i < 4; i++) {
        test_fail_allocation(i, true);
        CHECK_STATUS(make_on(w, w->broker), WEIR_ENOMEM);
    }
    return WEIR_ENOMEM;
}

typedef enum weir_status call_fn(struct world *w, weir_consumer *consumer);

/* A consumer of a store of the row's own, which runs. */
struct running {
    struct world *w;
    weir_consumer *consumer;
    call_fn *call;
    enum weir_status status;
};

static int call_in_run(weir_context *context, const struct weir_job *job, void *arg)
{
    struct running *running = arg;
    (void)context;
    (void)job;
    running->status = running->call(running->w, running->consumer);
    return WEIR_OK;
}

/* Calls from this thread, or from a run. */
static enum weir_status call_on_running(struct world *w, call_fn *call, bool is_in_run)
{
    static unsigned stores;
    char path[32];
    (void)snprintf(path, sizeof(path), "own%u.db", stores++);
    weir_broker *broker = jobs_store_open(path, &w->wall);
    struct running running = {.w = w, .call = call};
    const struct weir_consumer_options options = {.handler = call_in_run,
                                                  .arg = &running,
                                                  .flags =
                                                      is_in_run ? WEIR_CONSUMER_UNTIL_EMPTY : 0};
    CHECK_STATUS(weir_consumer_new(broker, TUBE, &options, &running.consumer, NULL), WEIR_OK);
    if (is_in_run) {
        (void)jobs_put(broker, TUBE, "x", NULL);
    }
    CHECK_STATUS(weir_consumer_start(running.consumer, NULL), WEIR_OK);
    if (is_in_run) {
        CHECK_STATUS(weir_consumer_wait(running.consumer, WEIR_FOREVER, NULL), WEIR_OK);
    } else {
        running.status = call(w, running.consumer);
    }
    weir_consumer_free(running.consumer);
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
    return running.status;
}

/* call(w, consumer) makes the call. The statuses are those of a call on a consumer that was not
 * started, and of one from a run of its own. */
#define CONSUMER_ROWS(function, call, unstarted_status, own_run_status)                            \
    OBJECT_ROWS(function, consumer, call)                                                          \
    ROW(function, consumer, unstarted, unstarted_status)                                           \
    {                                                                                              \
        return call(w, w->consumer);                                                               \
    }                                                                                              \
    ROW(function, consumer, own_run, own_run_status)                                               \
    {                                                                                              \
        return call_on_running(w, call, true);                                                     \
    }

static enum weir_status start(struct world *w, weir_consumer *consumer)
{
    (void)w;
    return tell(weir_consumer_start(consumer, told));
}

static enum weir_status stop(struct world *w, weir_consumer *consumer)
{
    (void)w;
    return tell(weir_consumer_end(consumer, WEIR_END_STOP, WEIR_FOREVER, told));
}

static enum weir_status wait_for_end(struct world *w, weir_consumer *consumer)
{
    (void)w;
    return tell(weir_consumer_wait(consumer, WEIR_FOREVER, told));
}

static enum weir_status get_fd(struct world *w, weir_consumer *consumer)
{
    (void)w;
    int fd = UNTOUCHED;
    enum weir_status status = tell(weir_consumer_fd(consumer, &fd, told));
    CHECK((fd == UNTOUCHED) == (status != WEIR_OK));
    return status;
}

CONSUMER_ROWS(weir_consumer_start, start, WEIR_OK, WEIR_ESTATE)
CONSUMER_ROWS(weir_consumer_end, stop, WEIR_ESTATE, WEIR_ESTATE)
CONSUMER_ROWS(weir_consumer_wait, wait_for_end, WEIR_ESTATE, WEIR_ESTATE)
CONSUMER_ROWS(weir_consumer_fd, get_fd, WEIR_OK, WEIR_OK)

/* Makes a call on a thread to which the system refuses something. */
struct refused_call {
    struct world *w;
    call_fn *call;
    long number; /* of the system call */
    int error;
    enum weir_status status;
};

static void run_refused(void *arg)
{
    struct refused_call *refused = arg;
    test_forbid_call((unsigned)refused->number, SECCOMP_RET_ERRNO | (unsigned)refused->error);
    if (refused->number == SYS_clone3) {
        test_forbid_call(SYS_clone, SECCOMP_RET_ERRNO | (unsigned)refused->error);
    }
    refused->status = refused->call(refused->w, refused->w->consumer);
}

static enum weir_status call_refused(struct world *w, call_fn *call, long number, int error)
{
    struct refused_call refused = {w, call, number, error, WEIR_OK};
    test_join(test_start(run_refused, &refused));
    return refused.status;
}

ROW(weir_consumer_start, threads, none, WEIR_ETHREAD)
{
    return call_refused(w, start, SYS_clone3, EAGAIN);
}

ROW(weir_consumer_fd, descriptors, none, WEIR_EIO)
{
    return call_refused(w, get_fd, SYS_timerfd_create, EMFILE);
}

ROW(weir_consumer_fd, memory, none, WEIR_ENOMEM)
{
    return call_refused(w, get_fd, SYS_timerfd_create, ENOMEM);
}

ROW(weir_consumer_fd, ret_fd, null, WEIR_EINVAL)
{
    return tell(weir_consumer_fd(w->consumer, NULL, told));
}

ROW(weir_consumer_end, mode, unknown, WEIR_EINVAL)
{
    enum weir_end_mode mode = (enum weir_end_mode) - 1;
    CHECK_STATUS(tell(weir_consumer_end(w->consumer, mode, 0, told)), WEIR_EINVAL);
    mode = (enum weir_end_mode)(WEIR_END_TERMINATE + 1);
    return tell(weir_consumer_end(w->consumer, mode, 0, told));
}

static enum weir_status drain_stopped(struct world *w, weir_consumer *consumer)
{
    (void)w;
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_STOP, 0, NULL), WEIR_OK);
    return tell(weir_consumer_end(consumer, WEIR_END_DRAIN, WEIR_FOREVER, told));
}

ROW(weir_consumer_end, mode, weaker, WEIR_ECANCELED)
{
    return call_on_running(w, drain_stopped, false);
}

static enum weir_status stop_at_once(struct world *w, weir_consumer *consumer)
{
    (void)w;
    return tell(weir_consumer_end(consumer, WEIR_END_STOP, INT64_MIN, told));
}

ROW(weir_consumer_end, timeout_ns, least, WEIR_OK)
{
    return call_on_running(w, stop_at_once, false);
}

ROW(weir_consumer_end, timeout_ns, most, WEIR_OK)
{
    return call_on_running(w, stop, false);
}

static enum weir_status wait_for_none(struct world *w, weir_consumer *consumer)
{
    (void)w;
    CHECK_STATUS(tell(weir_consumer_wait(consumer, 0, told)), WEIR_ETIMEDOUT);
    return tell(weir_consumer_wait(consumer, INT64_MIN, told));
}

ROW(weir_consumer_wait, timeout_ns, least, WEIR_ETIMEDOUT)
{
    return call_on_running(w, wait_for_none, false);
}

static enum weir_status wait_for_stopped(struct world *w, weir_consumer *consumer)
{
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_STOP, 0, NULL), WEIR_OK);
    return wait_for_end(w, consumer);
}

ROW(weir_consumer_wait, timeout_ns, most, WEIR_OK)
{
    return call_on_running(w, wait_for_stopped, false);
}
