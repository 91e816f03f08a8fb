/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Runs and what becomes of them, on every broker. */
#include <sched.h>

#include <weir/policy.h>

#include "conformance/jobs/brokers.h"

TEST_BROKERS(runs_each_once, "each job runs once, whatever the consumers, and is gone then")
{
    struct place place;
    static struct runs runs;
    place_open(&place, kind, "");
    struct place other = place;
    other.broker = place_broker(&place);
    weir_consumer *consumers[2] = {place_consumer(&place, &runs, 3, 0, 0, 0),
                                   place_consumer(&other, &runs, 3, 0, 0, 0)};
    for (int i = 0; i < 100; i++) {
        char text[8];
        (void)snprintf(text, sizeof(text), "%d", i);
        place_put(&place, text, NULL, NULL);
    }
    static struct runs rest;
    place_consume(&place, &rest, 1, 0, 0);
    for (int i = 0; i < 2; i++) {
        place_end(consumers[i]);
    }
    weir_broker_close(other.broker);
    int seen[100] = {0};
    for (int i = 0; i < runs.count; i++) {
        seen[atoi(runs.run[i].body)]++;
    }
    for (int i = 0; i < rest.count; i++) {
        seen[atoi(rest.run[i].body)]++;
    }
    for (int i = 0; i < 100; i++) {
        CHECK_INT(seen[i], ==, 1);
    }
    CHECK_PLACE(&place, 0, 0, 0, 0);
    CHECK_INT(place_counts(&place).done, ==, 100 * place.copies);
    place_close(&place);
}

TEST_BROKERS(retries, "a job that fails runs again after its delay, its attempts counted")
{
    struct place place;
    struct runs runs = {.failures_left = 2};
    place_open(&place, kind, "");
    place_put(&place, "job", NULL, NULL);
    place_consume(&place, &runs, 2, 5, WEIR_MS(200));
    CHECK_INT(runs.count, ==, 3);
    CHECK_INT(runs.ends[WEIR_RUN_RETRY], ==, 2);
    CHECK_INT(runs.ends[WEIR_RUN_DONE], ==, 1);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_INT(runs.run[i].attempts, ==, i + 1);
    }
    /* Twice as long each time; a cluster rounds up to whole seconds. */
    CHECK_INT(runs.run[1].began_ns - runs.run[0].began_ns, >=, WEIR_MS(200));
    CHECK_INT(runs.run[2].began_ns - runs.run[1].began_ns, >=, WEIR_MS(400));
    place_close(&place);
}

TEST_BROKERS(buries_after_the_last, "a job that fails attempts_max times is buried, with "
                                    "a reason; a kick runs it once more")
{
    struct place place;
    struct runs runs = {.failures_left = 2};
    struct shown shown = {.count = 0};
    struct weir_error error;
    size_t kicked = 0;
    place_open(&place, kind, "");
    place_put(&place, "job", NULL, NULL);
    place_consume(&place, &runs, 2, 2, WEIR_MS(1));
    CHECK_INT(runs.count, ==, 2);
    CHECK_INT(runs.ends[WEIR_RUN_BURIED], ==, 1);
    CHECK_PLACE(&place, 0, 0, 0, place.copies);
    CHECK_STATUS(
        weir_broker_peek(place.broker, place.tube, WEIR_JOB_BURIED, 9, place_show, &shown, &error),
        WEIR_OK);
    CHECK_INT((uint64_t)shown.count, ==, place.copies);
    CHECK_STRING(shown.reason, "attempt 2: " RUNS_EXPLANATION);
    CHECK_STATUS(weir_broker_kick(place.broker, place.tube, 9, &kicked, &error), WEIR_OK);
    CHECK_INT(kicked, ==, 1);
    place_consume(&place, &runs, 2, 2, WEIR_MS(1));
    CHECK_INT(runs.count, ==, 3);
    CHECK_INT(runs.ends[WEIR_RUN_DONE], ==, 1);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    place_close(&place);
}

TEST_BROKERS(buries_at_once, "a handler can bury its job at once, and a buried job can be removed")
{
    struct place place;
    struct runs runs = {.answer = WEIR_ESTOP};
    struct weir_job_id id;
    place_open(&place, kind, "");
    place_put(&place, "job", NULL, &id);
    place_consume(&place, &runs, 1, 0, 0);
    CHECK_INT(runs.count, ==, 1);
    CHECK_PLACE(&place, 0, 0, 0, place.copies);
    CHECK_INT(place_remove(&place, &id), ==, 1);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    place_close(&place);
}

/* The first run cannot begin. */
static void answer_again(weir_context *context, struct runs *runs)
{
    (void)context;
    runs->answer = runs->count == 1 ? WEIR_EAGAIN : WEIR_OK;
}

TEST_BROKERS(comes_back_uncounted, "a job whose handler could not begin comes back, and no attempt "
                                   "is counted")
{
    struct place place;
    struct runs runs = {.during = answer_again};
    place_open(&place, kind, "");
    place_put(&place, "job", NULL, NULL);
    place_consume(&place, &runs, 1, 1, 0);
    CHECK_INT(runs.count, ==, 2);
    CHECK_INT(runs.run[1].attempts, ==, 1);
    CHECK_INT(runs.ends[WEIR_RUN_RETURNED], ==, 1);
    CHECK_INT(runs.ends[WEIR_RUN_DONE], ==, 1);
    place_close(&place);
}

/* Runs for more than twice its TTR. */
static void run_long(weir_context *context, struct runs *runs)
{
    (void)runs;
    CHECK_STATUS(weir_context_sleep(context, WEIR_MS(2300)), WEIR_OK);
}

TEST_BROKERS(keeps_what_runs, "a job that runs longer than its TTR stays its worker's, and cannot "
                              "be removed")
{
    struct place place;
    struct runs runs = {.during = run_long};
    struct weir_job_id id;
    place_open(&place, kind, "lease=1s");
    struct weir_put_options options = {0};
    options.ttr_ns = WEIR_SECONDS(1);
    place_put(&place, "job", &options, &id);
    weir_consumer *consumer = place_consumer(&place, &runs, 2, 0, 0, WEIR_CONSUMER_UNTIL_EMPTY);
    while (runs.count == 0) {
        (void)sched_yield();
    }
    CHECK_INT(place_remove(&place, &id), ==, 0);
    place_wait(consumer);
    CHECK_INT(runs.count, ==, 1);
    CHECK_INT(runs.ends[WEIR_RUN_DONE], ==, 1);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    place_close(&place);
}

/* Runs until it is cancelled. */
static void run_on(weir_context *context, struct runs *runs)
{
    (void)runs;
    CHECK_STATUS(weir_context_sleep(context, WEIR_SECONDS(3600)), WEIR_ECANCELED);
}

TEST_BROKERS(stops, "a consumer that is stopped ends its handlers and gives their jobs back, "
                    "as if they had not run")
{
    struct place place;
    struct runs runs = {.during = run_on};
    struct runs after = {.count = 0};
    place_open(&place, kind, "");
    for (int i = 0; i < 5; i++) {
        place_put(&place, "job", NULL, NULL);
    }
    weir_consumer *consumer = place_consumer(&place, &runs, 2, 0, 0, 0);
    while (runs.count < 2) {
        (void)sched_yield();
    }
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_STOP, 0, NULL), WEIR_OK);
    place_wait(consumer);
    CHECK_INT(runs.count, ==, 2);
    CHECK_INT(runs.ends[WEIR_RUN_RETURNED], ==, 2);
    place_consume(&place, &after, 2, 1, 0);
    CHECK_INT(after.count, ==, 5);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(after.run[i].attempts, ==, 1);
    }
    place_close(&place);
}

TEST_BROKERS(judges_what_is_late,
             "a job found later than the tolerance is set aside, by the policy "
             "of its tube or a cluster's URL")
{
    struct place place;
    struct runs runs = {.count = 0};
    struct weir_error error;
    place_open(&place, kind, "late=1ms");
    const struct weir_tube_policy policy = {.late_ns = WEIR_MS(1), .late = WEIR_LATE_BURY};
    CHECK_STATUS(weir_broker_set_policy(place.broker, place.tube, &policy, &error),
                 weir_broker_can(place.broker, WEIR_CAN_POLICIES) ? WEIR_OK : WEIR_ENOTSUP);
    place_put(&place, "job", NULL, NULL);
    place_let_pass(WEIR_MS(2));
    place_consume(&place, &runs, 1, 0, 0);
    CHECK_INT(runs.count, ==, 0);
    CHECK_PLACE(&place, 0, 0, 0, place.copies);
    struct shown shown = {.count = 0};
    CHECK_STATUS(weir_broker_peek(place.broker, place.tube, 0, 9, place_show, &shown, &error),
                 WEIR_OK);
    CHECK(strstr(shown.reason, "late") != NULL);
    place_close(&place);
}

/* --- other processes --- */

/* A handler in a child: tells that it runs, and ends when it is told to. */
static void tell_and_wait(weir_context *context, struct runs *runs)
{
    const int *channel = runs->arg;
    char byte = 'r';
    (void)context;
    CHECK(write(channel[1], &byte, 1) == 1);
    CHECK(read(channel[0], &byte, 1) == 1);
}

/* In a child that was forked before there were threads: works off one job, and tells its outcome.
 */
_Noreturn static void work_in_child(struct place *place, int channel[2])
{
    static struct runs runs;
    place->broker = place_broker(place);
    runs.during = tell_and_wait;
    runs.arg = channel;
    weir_consumer *consumer = place_consumer(place, &runs, 1, 0, 0, 0);
    int outcome = 0;
    while (outcome == 0) {
        (void)sched_yield();
        for (int i = WEIR_RUN_DONE; i <= WEIR_RUN_CANCELED; i++) {
            outcome = atomic_load(&runs.ends[i]) > 0 ? i : outcome;
        }
    }
    char byte = (char)('0' + outcome);
    CHECK(write(channel[1], &byte, 1) == 1);
    place_end(consumer);
    weir_broker_close(place->broker);
    test_end_child();
}

struct child {
    pid_t pid;
    int channel; /* to and from it */
};

static void start_child(struct place *place, struct child *child)
{
    int both[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0);
    child->channel = both[0];
    child->pid = fork();
    CHECK(child->pid >= 0);
    if (child->pid == 0) {
        int channel[2] = {both[1], both[1]};
        (void)close(both[0]);
        work_in_child(place, channel);
    }
    (void)close(both[1]);
    place->broker = place_broker(place);
    struct weir_put_options options = {0};
    options.ttr_ns = WEIR_SECONDS(1);
    place_put(place, "job", &options, NULL);
    char byte;
    CHECK(read(child->channel, &byte, 1) == 1);
}

/* Stops the child where it has reserved no more than the copy that it runs. The others are in its
 * hands for a moment, and a busy beanstalkd 1.12 would leave them there. */
static void stop_child(const struct place *place, const struct child *child)
{
    CHECK(kill(child->pid, SIGSTOP) == 0);
    while (place_counts(place).reserved > 1) {
        CHECK(kill(child->pid, SIGCONT) == 0);
        (void)sched_yield();
        CHECK(kill(child->pid, SIGSTOP) == 0);
    }
}

static void end_child(struct child *child)
{
    int status;
    (void)kill(child->pid, SIGCONT);
    (void)kill(child->pid, SIGKILL);
    CHECK(waitpid(child->pid, &status, 0) == child->pid);
    (void)close(child->channel);
}

TEST_BROKERS(comes_back_from_the_dead, "a job whose worker is killed in its handler runs again, as "
                                       "its second attempt")
{
    struct place place;
    struct child child;
    struct runs runs = {.count = 0};
    place_start(&place, kind, "lease=1s");
    start_child(&place, &child);
    end_child(&child);
    place_consume(&place, &runs, 1, 0, 0);
    CHECK_INT(runs.count, ==, 1);
    CHECK_INT(runs.run[0].attempts, ==, 2);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    place_close(&place);
}

TEST_BROKERS(fences, "a worker whose reservation has ended cannot settle its job: another has it")
{
    struct place place;
    struct child child;
    struct runs runs = {.count = 0};
    char byte = 'g';
    place_start(&place, kind, "lease=1s");
    start_child(&place, &child);
    stop_child(&place, &child);
    /* Not until the tube is empty: beanstalkd 1.12 may keep the copy of a worker that hangs. */
    weir_consumer *consumer = place_consumer(&place, &runs, 1, 0, 0, 0);
    while (runs.ends[WEIR_RUN_DONE] == 0) {
        (void)sched_yield();
    }
    place_end(consumer);
    CHECK_INT(runs.count, ==, 1);
    CHECK_INT(runs.run[0].attempts, ==, 2);
    CHECK(kill(child.pid, SIGCONT) == 0);
    CHECK(write(child.channel, &byte, 1) == 1);
    CHECK(read(child.channel, &byte, 1) == 1);
    CHECK_INT(byte, ==, '0' + WEIR_RUN_LOST);
    end_child(&child);
    /* The copies that are left are those of a job that is done. */
    struct runs rest = {.count = 0};
    place_consume(&place, &rest, 1, 0, 0);
    CHECK_INT(rest.count, ==, 0);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    CHECK_INT(place_counts(&place).done, ==, place.copies);
    place_close(&place);
}

struct tubes_seen {
    _Atomic int runs[3]; /* by the last letter of the tube: t, u, v */
};

static int count_tube(weir_context *context, const struct weir_job *job, void *arg)
{
    struct tubes_seen *seen = arg;
    (void)context;
    CHECK_INT(((const char *)job->body)[0], ==, job->tube[0]);
    (void)atomic_fetch_add(&seen->runs[job->tube[0] - 't'], 1);
    return WEIR_OK;
}

TEST_BROKERS(several_tubes, "one consumer empties several tubes, those too that get jobs later")
{
    struct place place;
    struct tubes_seen seen = {{0}};
    weir_consumer *consumer;
    struct weir_error error;
    place_open(&place, kind, "");
    const struct weir_tube_weight tubes[] = {
        {place.tube, 3}, {place.more[0], 1}, {place.more[1], 1}};
    struct weir_consumer_options options = {0};
    options.handler = count_tube;
    options.arg = &seen;
    options.workers = 2;
    options.tubes = tubes;
    options.tube_count = 3;
    for (int round = 0; round < 2; round++) {
        CHECK_STATUS(weir_consumer_new(place.broker, NULL, &options, &consumer, &error), WEIR_OK);
        if (round == 0) {
            CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
        }
        for (int i = 0; i < 60; i++) {
            const char *tube = tubes[i % 3].tube;
            struct weir_body body = {tube, 1, NULL};
            struct weir_put_options put = {0};
            put.run_at_ns = place_now() + 1 + i; /* bodies are the same */
            put.flags = WEIR_PUT_PAST_OK;
            CHECK_STATUS(weir_broker_put(place.broker, tube, &body, 1, &put, NULL, &error),
                         WEIR_OK);
        }
        if (round == 1) {
            CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
        }
        while (round == 0 && seen.runs[0] + seen.runs[1] + seen.runs[2] < 60) {
            (void)sched_yield();
        }
        if (round == 0) {
            CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
        }
        place_wait(consumer);
        options.flags = WEIR_CONSUMER_UNTIL_EMPTY; /* the second time */
    }
    for (int i = 0; i < 3; i++) {
        CHECK_INT(seen.runs[i], ==, 40);
    }
    place_close(&place);
}
