/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Control of jobs, on every broker that has it: jobs that wait or run are cancelled. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/jobs/brokers.h"

#define HOUR WEIR_SECONDS(3600)

static enum weir_status cancel(const struct place *place, const struct weir_job_id *id,
                               enum weir_verdict verdict)
{
    const char *text = id->text;
    enum weir_status status;
    CHECK_STATUS(change_cancel(place->broker, &text, 1, verdict, "by anna", &status, NULL),
                 WEIR_OK);
    return status;
}

static void refused(struct place *place)
{
    const char *id = "127.0.0.1:1/t/1";
    enum weir_status status = WEIR_OK;
    CHECK_STATUS(
        change_cancel(place->broker, &id, 1, WEIR_VERDICT_REMOVE, "by anna", &status, NULL),
        WEIR_ENOTSUP);
    CHECK_STATUS(status, WEIR_OK);
}

static bool open_control(struct place *place, enum place_kind kind)
{
    return place_open_that_can(place, kind, WEIR_CAN_CONTROL, refused);
}

/* The state of a job; 0: it is not there. */
static int state_of(const struct place *place, const struct weir_job_id *id, struct shown *shown)
{
    *shown = (struct shown){.count = 0};
    enum weir_status status = weir_broker_peek_id(place->broker, id->text, place_show, shown, NULL);
    CHECK(status == WEIR_OK || status == WEIR_ENOTFOUND);
    return status == WEIR_OK ? (int)shown->job.state : 0;
}

TEST_BROKERS(cancels_waiting, "a job that waits is buried or deleted at once; a retry needs a run")
{
    struct place place;
    if (!open_control(&place, kind)) {
        return;
    }
    for (int is_delayed = 0; is_delayed < 2; is_delayed++) {
        const struct weir_put_options options = {.delay_ns = is_delayed ? HOUR : 0};
        struct weir_job_id id;
        struct shown shown;
        place_put(&place, "job", &options, &id);
        CHECK_STATUS(cancel(&place, &id, WEIR_VERDICT_RETRY), WEIR_ESTATE);
        CHECK_INT(state_of(&place, &id, &shown), ==,
                  is_delayed ? WEIR_JOB_DELAYED : WEIR_JOB_READY);
        CHECK_STATUS(cancel(&place, &id, WEIR_VERDICT_BURY), WEIR_OK);
        CHECK_INT(state_of(&place, &id, &shown), ==, WEIR_JOB_BURIED);
        CHECK_STRING(shown.reason, "by anna");
        CHECK_STATUS(cancel(&place, &id, WEIR_VERDICT_BURY), WEIR_OK); /* it is */
        CHECK_STATUS(cancel(&place, &id, WEIR_VERDICT_RETRY), WEIR_ESTATE);
        CHECK_STATUS(cancel(&place, &id, WEIR_VERDICT_REMOVE), WEIR_OK);
        CHECK_INT(state_of(&place, &id, &shown), ==, WEIR_JOB_ENDED);
        CHECK_STATUS(cancel(&place, &id, WEIR_VERDICT_REMOVE), WEIR_ESTATE);
    }
    place_close(&place);
}

/* What a run does with its own job. */
struct during {
    const struct place *place;
    struct weir_job_id id;
    enum weir_verdict verdicts[2];      /* 0: none */
    const struct weir_put_options *put; /* NULL: none */
};

static void cancel_during(weir_context *context, struct runs *runs)
{
    struct during *during = runs->arg;
    if (atomic_load(&runs->count) > 1) {
        return;
    }
    for (int i = 0; i < 2 && during->verdicts[i] != 0; i++) {
        struct shown shown;
        CHECK_STATUS(cancel(during->place, &during->id, during->verdicts[i]), WEIR_ECANCELED);
        CHECK_INT(state_of(during->place, &during->id, &shown), ==, WEIR_JOB_RESERVED);
        CHECK_INT(shown.job.verdict, ==, during->verdicts[i]);
        CHECK_STRING(shown.reason, "by anna");
    }
    if (during->put != NULL) {
        struct weir_job_id same;
        CHECK_STATUS(place_try_put(during->place, "second", during->put, &same), WEIR_OK);
        CHECK_STRING(same.text, during->id.text);
    }
    /* Its lease is an hour: nothing else would renew it that soon. */
    CHECK_STATUS(weir_context_sleep(context, WEIR_FOREVER), WEIR_ECANCELED);
}

/* Runs a job that is cancelled in its run, until the tube is empty. */
static void run_cancelled(struct during *during, struct runs *runs,
                          const struct weir_put_options *options)
{
    runs->during = cancel_during;
    runs->arg = during;
    place_put(during->place, "first", options, &during->id);
    place_consume(during->place, runs, 1, 3, WEIR_MS(1));
}

TEST_BROKERS(cancels_running, "a job that runs is asked to end, and ends by its verdict, without "
                              "another run; the last one counts")
{
    static const struct {
        enum weir_verdict verdicts[2];
        int state;
        int runs;
    } rows[] = {
        {{WEIR_VERDICT_BURY}, WEIR_JOB_BURIED, 1},
        {{WEIR_VERDICT_REMOVE}, WEIR_JOB_ENDED, 1},
        {{WEIR_VERDICT_RETRY}, WEIR_JOB_ENDED, 2},
        {{WEIR_VERDICT_REMOVE, WEIR_VERDICT_BURY}, WEIR_JOB_BURIED, 1},
        {{WEIR_VERDICT_BURY, WEIR_VERDICT_RETRY}, WEIR_JOB_ENDED, 2},
    };
    struct place place;
    if (!open_control(&place, kind)) {
        return;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct during during = {.place = &place,
                                .verdicts = {rows[i].verdicts[0], rows[i].verdicts[1]}};
        struct runs runs = {.count = 0};
        struct shown shown;
        run_cancelled(&during, &runs, &(struct weir_put_options){.ttr_ns = HOUR});
        CHECK_INT(runs.count, ==, rows[i].runs);
        CHECK_INT(runs.run[rows[i].runs - 1].attempts, ==, rows[i].runs);
        CHECK_INT(runs.ends[WEIR_RUN_CANCELED], ==, 1);
        CHECK_INT(runs.ends[WEIR_RUN_DONE], ==, rows[i].runs - 1);
        CHECK_INT(state_of(&place, &during.id, &shown), ==, rows[i].state);
        CHECK_STRING(shown.reason, rows[i].runs == 1 ? "by anna" : "");
        CHECK_INT(place_remove(&place, &during.id), ==, 1);
    }
    place_close(&place);
}

/* Succeeds once its job is cancelled. */
static int succeed(weir_context *context, const struct weir_job *job, void *arg)
{
    struct runs *runs = arg;
    struct during *during = runs->arg;
    (void)job;
    atomic_fetch_add(&runs->count, 1);
    cancel_during(context, runs);
    CHECK_STATUS(cancel(during->place, &during->id, WEIR_VERDICT_BURY), WEIR_ECANCELED);
    return WEIR_OK;
}

TEST_BROKERS(done_beats, "a run that succeeds though it was asked to end is done")
{
    struct place place;
    if (!open_control(&place, kind)) {
        return;
    }
    struct during during = {.place = &place, .verdicts = {WEIR_VERDICT_BURY}};
    struct runs runs = {.arg = &during};
    struct shown shown;
    const struct weir_consumer_options options = {.handler = succeed,
                                                  .after_run = runs_after,
                                                  .arg = &runs,
                                                  .workers = 1,
                                                  .flags = WEIR_CONSUMER_UNTIL_EMPTY};
    weir_consumer *consumer = NULL;
    place_put(&place, "job", &(struct weir_put_options){.ttr_ns = HOUR}, &during.id);
    CHECK_STATUS(weir_consumer_new(place.broker, place.tube, &options, &consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, NULL), WEIR_OK);
    place_wait(consumer);
    CHECK_INT(runs.count, ==, 1);
    CHECK_INT(runs.ends[WEIR_RUN_DONE], ==, 1);
    CHECK_INT(state_of(&place, &during.id, &shown), ==, WEIR_JOB_ENDED);
    place_close(&place);
}

TEST_BROKERS(put_during, "a put by the key of a job that is cancelled is run after it, also one "
                         "that would keep it")
{
    static const enum weir_duplicate modes[] = {WEIR_DUPLICATE_AGAIN, WEIR_DUPLICATE_DEBOUNCE,
                                                WEIR_DUPLICATE_KEEP};
    struct place place;
    if (!open_control(&place, kind)) {
        return;
    }
    for (size_t i = 0; weir_broker_can(place.broker, WEIR_CAN_KEYS) && i < 3; i++) {
        const struct weir_put_options first = {.key = "k", .ttr_ns = HOUR};
        const struct weir_put_options second = {.key = "k", .on_duplicate = modes[i]};
        struct during during = {.place = &place, .verdicts = {WEIR_VERDICT_REMOVE}, .put = &second};
        struct runs runs = {.count = 0};
        struct shown shown;
        run_cancelled(&during, &runs, &first);
        CHECK_INT(runs.count, ==, 2);
        CHECK_STRING(runs.run[1].body, "second");
        CHECK_INT(runs.run[1].attempts, ==, 1);
        CHECK_INT(runs.ends[WEIR_RUN_CANCELED], ==, 1);
        CHECK_INT(runs.ends[WEIR_RUN_DONE], ==, 1);
        CHECK_INT(state_of(&place, &during.id, &shown), ==, WEIR_JOB_ENDED);
    }
    place_close(&place);
}

static enum weir_status kick(const struct place *place, const struct weir_job_id *id,
                             uint32_t states, int64_t start_ns)
{
    const struct weir_change change = {
        .kind = WEIR_CHANGE_KICK, .states = states, .start_ns = start_ns};
    const char *text = id->text;
    enum weir_status status;
    CHECK_STATUS(weir_broker_change(place->broker, &change, &text, 1, &status, NULL), WEIR_OK);
    return status;
}

TEST_BROKERS(runs_now, "a kick runs jobs of the states that it names, at its slot and never later "
                       "than they would run")
{
    const struct weir_put_options later = {.delay_ns = HOUR};
    struct place place;
    struct weir_job_id id;
    struct shown shown;
    if (!open_control(&place, kind)) {
        return;
    }
    int64_t soon = place_now() + HOUR / 2;
    place_put(&place, "job", &later, &id);
    CHECK_STATUS(kick(&place, &id, 1U << WEIR_JOB_BURIED, 0), WEIR_ESTATE);
    CHECK_STATUS(kick(&place, &id, 1U << WEIR_JOB_DELAYED, soon + HOUR), WEIR_OK);
    CHECK_INT(state_of(&place, &id, &shown), ==, WEIR_JOB_DELAYED);
    CHECK_INT(shown.job.run_at_ns, <, soon + HOUR); /* it is not put off */
    CHECK_STATUS(kick(&place, &id, 1U << WEIR_JOB_DELAYED, soon), WEIR_OK);
    CHECK_INT(state_of(&place, &id, &shown), ==, WEIR_JOB_DELAYED);
    CHECK_INT(shown.job.run_at_ns, ==, soon);
    CHECK_STATUS(kick(&place, &id, 1U << WEIR_JOB_DELAYED, 0), WEIR_OK);
    CHECK_INT(state_of(&place, &id, &shown), ==, WEIR_JOB_READY);
    CHECK_STATUS(kick(&place, &id, 1U << WEIR_JOB_DELAYED, 0), WEIR_ESTATE);
    CHECK_STATUS(cancel(&place, &id, WEIR_VERDICT_BURY), WEIR_OK);
    CHECK_STATUS(kick(&place, &id, 0, soon), WEIR_OK);
    CHECK_INT(state_of(&place, &id, &shown), ==, WEIR_JOB_DELAYED);
    CHECK_INT(shown.job.run_at_ns, ==, soon);
    CHECK_INT(place_remove(&place, &id), ==, 1);
    place_close(&place);
}

/* Tells that the run has begun, and goes on until its process is killed. */
static void tell_and_stay(weir_context *context, struct runs *runs)
{
    const int *channel = runs->arg;
    CHECK(write(*channel, "r", 1) == 1);
    CHECK_STATUS(weir_context_sleep(context, WEIR_FOREVER), WEIR_ECANCELED);
}

/* In a child: a worker that says that nothing of it outlives it. */
_Noreturn static void work_until_killed(struct place *place, int channel, uint32_t workers)
{
    static struct runs runs;
    const struct weir_broker_options options = {.guard = -1};
    runs.during = tell_and_stay;
    runs.arg = &channel;
    CHECK_STATUS(weir_broker_open(place->url, &options, &place->broker, NULL), WEIR_OK);
    place_wait(place_consumer(place, &runs, workers, 3, 0, 0));
    _exit(1);
}

/* Opens the place, with a worker in a child. Its runs write to channel[1]. */
static pid_t start_worker(struct place *place, enum place_kind kind, uint32_t workers,
                          int channel[2])
{
    CHECK(pipe(channel) == 0);
    place_start(place, kind, "");
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        work_until_killed(place, channel[1], workers);
    }
    place->broker = place_broker(place);
    return child;
}

/* Puts a job, and waits until the child runs it. */
static void put_to_child(struct place *place, const int channel[2], struct weir_job_id *ret_id)
{
    char byte;
    place_put(place, "job", &(struct weir_put_options){.ttr_ns = HOUR}, ret_id);
    CHECK(read(channel[0], &byte, 1) == 1);
}

TEST_BROKERS(takes_back, "a job is taken back from a worker that is killed long before its lease "
                         "ends, and from no living one")
{
    const uint32_t reserved = 1U << WEIR_JOB_RESERVED;
    struct place place;
    struct runs runs = {.count = 0};
    struct weir_job_id id;
    struct shown shown;
    int channel[2];
    int status;
    if (kind == ON_CLUSTER) { /* it refuses such kicks */
        (void)open_control(&place, kind);
        return;
    }
    pid_t child = start_worker(&place, kind, 1, channel);
    put_to_child(&place, channel, &id);
    if (weir_broker_can(place.broker, WEIR_CAN_CONTROL)) {
        CHECK_STATUS(kick(&place, &id, reserved, 0), WEIR_EBUSY);
        CHECK_INT(state_of(&place, &id, &shown), ==, WEIR_JOB_RESERVED);
        CHECK_INT(shown.job.owner_life, ==, 1);
    }
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
    if (weir_broker_can(place.broker, WEIR_CAN_CONTROL)) {
        CHECK_INT(state_of(&place, &id, &shown), ==, WEIR_JOB_RESERVED);
        CHECK_INT(shown.job.owner_life, ==, 2);
        CHECK_STATUS(kick(&place, &id, 0, 0), WEIR_EBUSY);
        CHECK_STATUS(kick(&place, &id, reserved, 0), WEIR_OK);
        place_consume(&place, &runs, 1, 3, 0);
        CHECK_INT(runs.count, ==, 1);
        CHECK_INT(runs.run[0].attempts, ==, 2);
    }
    (void)close(channel[0]);
    (void)close(channel[1]);
    place_close(&place);
}

/* Runs of two suspects and of a job that is put by the first of them. */
struct beside {
    const struct place *place;
    _Atomic int suspects; /* that have begun */
    _Atomic bool has_other;
};

static int run_beside(weir_context *context, const struct weir_job *job, void *arg)
{
    struct beside *beside = arg;
    (void)context;
    if (job->attempts == 1) {
        atomic_store(&beside->has_other, true);
        return WEIR_OK;
    }
    CHECK_INT(job->is_suspect, ==, 1);
    if (atomic_fetch_add(&beside->suspects, 1) == 0) {
        place_put(beside->place, "other", NULL, NULL); /* behind the other suspect */
        while (!atomic_load(&beside->has_other)) {
            (void)sched_yield();
        }
        CHECK_INT(atomic_load(&beside->suspects), ==, 1);
    }
    return WEIR_OK;
}

TEST_BROKERS(one_suspect, "of two jobs that were lost with their worker one begins at a time, and "
                          "others run beside it")
{
    struct place place;
    struct weir_job_id ids[2];
    int channel[2];
    int status;
    if (kind == ON_CLUSTER) { /* it has no such jobs */
        (void)open_control(&place, kind);
        return;
    }
    pid_t child = start_worker(&place, kind, 2, channel);
    for (int i = 0; i < 2; i++) {
        put_to_child(&place, channel, &ids[i]);
    }
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
    struct beside beside = {.place = &place};
    const struct weir_consumer_options options = {.handler = run_beside,
                                                  .arg = &beside,
                                                  .workers = 2,
                                                  .retry = {.attempts = 3},
                                                  .flags = WEIR_CONSUMER_UNTIL_EMPTY};
    weir_consumer *consumer = NULL;
    for (int i = 0; i < 2 && weir_broker_can(place.broker, WEIR_CAN_CONTROL); i++) {
        CHECK_STATUS(kick(&place, &ids[i], 1U << WEIR_JOB_RESERVED, 0), WEIR_OK);
    }
    if (weir_broker_can(place.broker, WEIR_CAN_CONTROL)) {
        CHECK_STATUS(weir_consumer_new(place.broker, place.tube, &options, &consumer, NULL),
                     WEIR_OK);
        CHECK_STATUS(weir_consumer_start(consumer, NULL), WEIR_OK);
        place_wait(consumer);
        CHECK_INT(beside.suspects, ==, 2);
    }
    (void)close(channel[0]);
    (void)close(channel[1]);
    place_close(&place);
}
