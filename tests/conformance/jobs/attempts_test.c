/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What is told of a job's runs, on every broker that keeps it. */
#include "conformance/jobs/brokers.h"

struct history {
    uint32_t count;
    struct {
        uint32_t number;
        enum weir_run_outcome outcome;
        int64_t started_ns;
        int64_t ended_ns;
        int64_t owner;
        int32_t status;
        char reason[WEIR_REASON_SIZE];
    } attempt[WEIR_ATTEMPTS_MAX];
};

static int keep_attempt(const struct weir_attempt *attempt, void *arg)
{
    struct history *history = arg;
    CHECK_INT(history->count, <, WEIR_ATTEMPTS_MAX);
    uint32_t i = history->count++;
    history->attempt[i].number = attempt->number;
    history->attempt[i].outcome = attempt->outcome;
    history->attempt[i].started_ns = attempt->started_ns;
    history->attempt[i].ended_ns = attempt->ended_ns;
    history->attempt[i].owner = attempt->owner;
    history->attempt[i].status = attempt->status;
    (void)snprintf(history->attempt[i].reason, WEIR_REASON_SIZE, "%s", attempt->reason);
    return 0;
}

static void refused(struct place *place)
{
    struct history history = {.count = 0};
    CHECK_STATUS(weir_broker_attempts(place->broker, "1", keep_attempt, &history, NULL),
                 WEIR_ENOTSUP);
}

static struct history *history_of(const struct place *place, const struct weir_job_id *id)
{
    static struct history history;
    history.count = 0;
    CHECK_STATUS(weir_broker_attempts(place->broker, id->text, keep_attempt, &history, NULL),
                 WEIR_OK);
    return &history;
}

TEST_BROKERS(kept, "the attempts of a job that failed are kept, the first and the last ones, also "
                   "after a kick, and that which succeeded")
{
    struct place place;
    struct weir_job_id id;
    struct runs runs = {.failures_left = 3};
    if (!place_open_that_can(&place, kind, WEIR_CAN_ATTEMPTS, refused)) {
        return;
    }
    int64_t before = place_now();
    place_put(&place, "job", NULL, &id);
    CHECK_INT(history_of(&place, &id)->count, ==, 0);
    place_consume(&place, &runs, 1, 3, WEIR_MS(1));
    const struct history *history = history_of(&place, &id);
    CHECK_INT(history->count, ==, 3);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_INT(history->attempt[i].number, ==, i + 1);
        CHECK_INT(history->attempt[i].outcome, ==, i < 2 ? WEIR_RUN_RETRY : WEIR_RUN_BURIED);
        CHECK_INT(history->attempt[i].started_ns, >=, before);
        CHECK_INT(history->attempt[i].ended_ns, >=, history->attempt[i].started_ns);
        CHECK_INT(history->attempt[i].owner, ==, getpid());
        CHECK_INT(history->attempt[i].status, ==, WEIR_EUSER);
        CHECK(strstr(history->attempt[i].reason, RUNS_EXPLANATION) != NULL);
    }
    runs.failures_left = 1;
    CHECK_STATUS(weir_broker_kick(place.broker, place.tube, 1, NULL, NULL), WEIR_OK);
    place_consume(&place, &runs, 1, 3, WEIR_MS(1));
    history = history_of(&place, &id);
    CHECK_INT(history->count, ==, 4);
    CHECK_INT(history->attempt[3].number, ==, 4);
    CHECK_STATUS(weir_broker_kick(place.broker, place.tube, 1, NULL, NULL), WEIR_OK);
    place_consume(&place, &runs, 1, 3, WEIR_MS(1));
    CHECK_INT(runs.count, ==, 5);
    history = history_of(&place, &id);
    CHECK_INT(history->count, ==, 5);
    CHECK_INT(history->attempt[4].number, ==, 5);
    CHECK_INT(history->attempt[4].outcome, ==, WEIR_RUN_DONE);
    CHECK_INT(history->attempt[4].ended_ns, >=, history->attempt[4].started_ns);
    CHECK_STRING(history->attempt[4].reason, "");
    CHECK_INT(place_remove(&place, &id), ==, 1);
    CHECK_STATUS(weir_broker_attempts(place.broker, id.text, keep_attempt, &history, NULL),
                 WEIR_ENOTFOUND);
    place_close(&place);
}

TEST_BROKERS(many, "of very many attempts the first and the last are kept")
{
    enum {
        FAILURES = WEIR_ATTEMPTS_MAX + 5
    };
    struct place place;
    struct weir_job_id id;
    struct runs runs = {.failures_left = FAILURES};
    if (!place_open_that_can(&place, kind, WEIR_CAN_ATTEMPTS, refused)) {
        return;
    }
    place_put(&place, "job", NULL, &id);
    for (int i = 0; i < FAILURES; i++) {
        place_consume(&place, &runs, 1, 1, 0);
        CHECK_STATUS(weir_broker_kick(place.broker, place.tube, 1, NULL, NULL), WEIR_OK);
    }
    CHECK_INT(runs.count, ==, FAILURES);
    const struct history *history = history_of(&place, &id);
    CHECK_INT(history->count, ==, WEIR_ATTEMPTS_MAX);
    CHECK_INT(history->attempt[0].number, ==, 1);
    for (uint32_t i = 1; i < WEIR_ATTEMPTS_MAX; i++) {
        CHECK_INT(history->attempt[i].number, ==, FAILURES - WEIR_ATTEMPTS_MAX + i + 1);
    }
    place_consume(&place, &runs, 1, 1, 0);
    history = history_of(&place, &id);
    CHECK_INT(history->count, ==, WEIR_ATTEMPTS_MAX);
    CHECK_INT(history->attempt[0].number, ==, 1);
    CHECK_INT(history->attempt[1].number, ==, FAILURES - WEIR_ATTEMPTS_MAX + 3);
    CHECK_INT(history->attempt[WEIR_ATTEMPTS_MAX - 1].outcome, ==, WEIR_RUN_DONE);
    CHECK_INT(place_remove(&place, &id), ==, 1);
    place_close(&place);
}

static void look_during(weir_context *context, struct runs *runs)
{
    const struct place *place = runs->arg;
    (void)context;
    struct shown shown = {.count = 0};
    struct weir_why why;
    CHECK_STATUS(weir_broker_peek(place->broker, place->tube, WEIR_JOB_RESERVED, 5, place_show,
                                  &shown, NULL),
                 WEIR_OK);
    CHECK_INT(shown.count, ==, 1);
    CHECK_INT(shown.job.state, ==, WEIR_JOB_RESERVED);
    CHECK_INT(shown.job.owner, ==, getpid());
    CHECK_INT(shown.job.attempts, ==, 1);
    CHECK_INT(shown.job.reserved_until_ns, >, place_now());
    CHECK_INT(shown.job.started_ns, <=, place_now());
    CHECK_STATUS(weir_broker_why(place->broker, shown.id, &why, NULL), WEIR_OK);
    CHECK_INT(why.reason, ==, WEIR_WHY_RESERVED);
    CHECK_INT(why.owner, ==, getpid());
}

static void reserved_refused(struct place *place)
{
    struct shown shown = {.count = 0};
    CHECK_STATUS(weir_broker_peek(place->broker, place->tube, WEIR_JOB_RESERVED, 5, place_show,
                                  &shown, NULL),
                 WEIR_ENOTSUP);
}

static bool open_reserved(struct place *place, enum place_kind kind)
{
    return place_open_that_can(place, kind, WEIR_CAN_RESERVED, reserved_refused);
}

/* Runs a job that looks at itself, and closes the place. */
static void look_at_one(struct place *place, void (*during)(weir_context *, struct runs *))
{
    struct runs runs = {.during = during, .arg = place};
    place_put(place, "job", NULL, NULL);
    place_consume(place, &runs, 1, 1, 0);
    CHECK_INT(runs.count, ==, 1);
    place_close(place);
}

TEST_BROKERS(reserved, "a job that runs is shown with its worker")
{
    struct place place;
    if (open_reserved(&place, kind)) {
        look_at_one(&place, look_during);
    }
}

static void progress_during(weir_context *context, struct runs *runs)
{
    const struct place *place = runs->arg;
    struct shown shown;
    CHECK_STATUS(weir_job_progress(context, 42), WEIR_OK);
    do {
        memset(&shown, 0, sizeof(shown));
        CHECK_STATUS(weir_broker_peek(place->broker, place->tube, WEIR_JOB_RESERVED, 5, place_show,
                                      &shown, NULL),
                     WEIR_OK);
        CHECK_INT(shown.count, ==, 1);
        CHECK(shown.job.progress == -1 || shown.job.progress == 42);
    } while (shown.job.progress != 42);
}

TEST_BROKERS(progress, "what a handler tells of its progress is shown while it runs")
{
    struct place place;
    if (open_reserved(&place, kind)) {
        look_at_one(&place, progress_during);
    }
}
