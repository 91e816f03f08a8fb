/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Keys of jobs, on every broker that has them: what a put does at each state of the older job. */
#include "conformance/jobs/brokers.h"
#include "support/changes.h"

#define HOUR WEIR_SECONDS(3600)

static const enum weir_duplicate every_mode[] = {WEIR_DUPLICATE_REFUSE,   WEIR_DUPLICATE_REPLACE,
                                                 WEIR_DUPLICATE_KEEP,     WEIR_DUPLICATE_DEBOUNCE,
                                                 WEIR_DUPLICATE_THROTTLE, WEIR_DUPLICATE_AGAIN};

/* A put with the key k, to run at a time; 0: at once. */
static enum weir_status put(const struct place *place, enum weir_duplicate mode, const char *text,
                            int64_t run_at_ns, struct weir_job_id *ret_id)
{
    struct weir_put_options options = {0};
    options.key = "k";
    options.on_duplicate = mode;
    options.key_ns = mode == WEIR_DUPLICATE_THROTTLE ? HOUR : 0;
    options.run_at_ns = run_at_ns;
    options.flags = WEIR_PUT_PAST_OK;
    return place_try_put(place, text, &options, ret_id);
}

/* A put that meets the job of the id: refused, or answered by that id. */
static void meet(const struct place *place, enum weir_duplicate mode, const char *text,
                 int64_t run_at_ns, const struct weir_job_id *id, bool is_refused)
{
    struct weir_job_id other = {""};
    CHECK_STATUS(put(place, mode, text, run_at_ns, &other), is_refused ? WEIR_EBUSY : WEIR_OK);
    CHECK_STRING(other.text, is_refused ? "" : id->text);
}

static struct shown see(const struct place *place, const struct weir_job_id *id)
{
    struct shown shown = {.count = 0};
    CHECK_STATUS(weir_broker_peek_id(place->broker, id->text, place_show, &shown, NULL), WEIR_OK);
    CHECK_INT(shown.body_size, <, sizeof(shown.body));
    shown.body[shown.body_size] = '\0';
    return shown;
}

static void refused(struct place *place)
{
    CHECK_STATUS(put(place, WEIR_DUPLICATE_REFUSE, "x", 0, NULL), WEIR_ENOTSUP);
}

static bool open_keys(struct place *place, enum place_kind kind)
{
    return place_open_that_can(place, kind, WEIR_CAN_KEYS, refused);
}

static bool renews(enum weir_duplicate mode)
{
    return mode == WEIR_DUPLICATE_REPLACE || mode == WEIR_DUPLICATE_DEBOUNCE;
}

static bool brings_forward(enum weir_duplicate mode)
{
    return mode == WEIR_DUPLICATE_KEEP || mode == WEIR_DUPLICATE_AGAIN;
}

TEST_BROKERS(waiting, "a put with the key of a job that is delayed: refused, or that job, renewed, "
                      "brought forward or left")
{
    struct place place;
    if (!open_keys(&place, kind)) {
        return;
    }
    int64_t at = place_now() + 2 * HOUR;
    for (size_t i = 0; i < 12; i++) {
        enum weir_duplicate mode = every_mode[i % 6];
        int64_t other = i < 6 ? at - HOUR : at + HOUR;
        struct weir_job_id id;
        CHECK_STATUS(put(&place, mode, "first", at, &id), WEIR_OK);
        meet(&place, mode, "second", other, &id, mode == WEIR_DUPLICATE_REFUSE);
        struct shown shown = see(&place, &id);
        CHECK_STRING(shown.body, renews(mode) ? "second" : "first");
        bool is_moved = renews(mode) || (brings_forward(mode) && i < 6);
        CHECK_INT(shown.job.run_at_ns, ==, is_moved ? other : at);
        CHECK_PLACE(&place, 1, 0, 0, 0);
        CHECK_INT(place_remove(&place, &id), ==, 1);
    }
    place_close(&place);
}

TEST_BROKERS(ready, "a put with the key of a job that is ready: refused, or that job, renewed "
                    "without attempts, or left")
{
    struct place place;
    if (!open_keys(&place, kind)) {
        return;
    }
    for (size_t i = 0; i < 6; i++) {
        enum weir_duplicate mode = every_mode[i];
        struct weir_job_id id;
        struct runs runs = {.failures_left = 1};
        CHECK_STATUS(put(&place, WEIR_DUPLICATE_REFUSE, "first", 0, &id), WEIR_OK);
        weir_consumer *consumer = place_consumer(&place, &runs, 1, 5, HOUR, 0);
        while (runs.ends[WEIR_RUN_RETRY] == 0) {
            (void)sched_yield();
        }
        place_end(consumer);
        CHECK_PLACE(&place, 1, 0, 0, 0);
        /* Brought forward it is ready, and has its attempt. */
        meet(&place, WEIR_DUPLICATE_KEEP, "x", 0, &id, false);
        CHECK_PLACE(&place, 0, 1, 0, 0);
        CHECK_INT(see(&place, &id).job.attempts, ==, 1);
        meet(&place, mode, "second", 0, &id, mode == WEIR_DUPLICATE_REFUSE);
        CHECK_PLACE(&place, 0, 1, 0, 0);
        CHECK_STRING(see(&place, &id).body, renews(mode) ? "second" : "first");
        CHECK_INT(see(&place, &id).job.attempts, ==, renews(mode) ? 0 : 1);
        CHECK_INT(place_remove(&place, &id), ==, 1);
    }
    place_close(&place);
}

/* A put during the first run. */
struct meeting {
    const struct place *place;
    struct weir_job_id id;
    enum weir_duplicate mode;
    int64_t times[2]; /* of two puts; the second may be -1: there is none */
};

static void meet_during(weir_context *context, struct runs *runs)
{
    const struct meeting *meeting = runs->arg;
    (void)context;
    if (runs->count > 1) {
        return;
    }
    bool is_refused =
        meeting->mode == WEIR_DUPLICATE_REFUSE || meeting->mode == WEIR_DUPLICATE_REPLACE;
    for (int i = 0; i < 2 && meeting->times[i] >= 0; i++) {
        meet(meeting->place, meeting->mode, "second", meeting->times[i], &meeting->id, is_refused);
    }
}

/* Runs a job, whose first runs fail, with puts during the first one, until there is none. */
static void run_and_meet(struct place *place, struct runs *runs, enum weir_duplicate mode,
                         const int64_t times[2], uint32_t attempts_max, int64_t retry_ns)
{
    struct meeting meeting = {.place = place, .mode = mode, .times = {times[0], times[1]}};
    runs->during = meet_during;
    runs->arg = &meeting;
    CHECK_STATUS(put(place, WEIR_DUPLICATE_REFUSE, "first", 0, &meeting.id), WEIR_OK);
    place_consume(place, runs, 1, attempts_max, retry_ns);
    CHECK_STRING(runs->run[0].body, "first");
    CHECK_PLACE(place, 0, 0, 0, 0);
    runs->arg = NULL;
}

static const int64_t at_once[2] = {0, -1};

TEST_BROKERS(running, "a put with the key of a job that runs: refused, nothing, or one more run "
                      "after it has succeeded")
{
    struct place place;
    if (!open_keys(&place, kind)) {
        return;
    }
    uint64_t all = 0;
    for (size_t i = 0; i < 6; i++) {
        struct runs runs = {.count = 0};
        enum weir_duplicate mode = every_mode[i];
        bool is_more = mode == WEIR_DUPLICATE_DEBOUNCE || mode == WEIR_DUPLICATE_AGAIN;
        run_and_meet(&place, &runs, mode, at_once, 1, 0);
        CHECK_INT(runs.count, ==, is_more ? 2 : 1);
        if (is_more) {
            CHECK_STRING(runs.run[1].body, "second");
            CHECK_INT(runs.run[1].attempts, ==, 1);
        }
        all += (uint64_t)runs.count;
        CHECK_INT(place_counts(&place).done, ==, all);
        CHECK_INT(place_counts(&place).put, ==, all);
    }
    place_close(&place);
}

TEST_BROKERS(failed, "what was put during a run that fails is in its retry, or after its last "
                     "attempt in a run whose attempts begin anew")
{
    struct place place;
    if (!open_keys(&place, kind)) {
        return;
    }
    for (uint32_t most = 1; most <= 2; most++) {
        struct runs runs = {.failures_left = 1};
        run_and_meet(&place, &runs, WEIR_DUPLICATE_AGAIN, at_once, most, WEIR_MS(1));
        CHECK_INT(runs.count, ==, 2);
        CHECK_STRING(runs.run[1].body, "second");
        CHECK_INT(runs.run[1].attempts, ==, most);
    }
    place_close(&place);
}

TEST_BROKERS(times, "a run that follows waits for the earliest of the puts' times, or the last, "
                    "and as a retry for its delay as well")
{
    struct place place;
    if (!open_keys(&place, kind)) {
        return;
    }
    int64_t now = place_now();
    const int64_t sooner[2] = {now + HOUR, now + WEIR_MS(300)};
    const int64_t later[2] = {0, now + WEIR_MS(400)};
    const int64_t twice[2] = {0, 0};
    struct runs first = {.count = 0};
    struct runs last = {.count = 0};
    struct runs retried = {.failures_left = 1};
    run_and_meet(&place, &first, WEIR_DUPLICATE_AGAIN, sooner, 1, 0);
    CHECK_INT(first.count, ==, 2);
    CHECK_INT(first.run[1].began_ns, >=, sooner[1]);
    run_and_meet(&place, &last, WEIR_DUPLICATE_DEBOUNCE, later, 1, 0);
    CHECK_INT(last.count, ==, 2);
    CHECK_INT(last.run[1].began_ns, >=, later[1]);
    run_and_meet(&place, &retried, WEIR_DUPLICATE_AGAIN, twice, 2, WEIR_MS(300));
    CHECK_INT(retried.count, ==, 2);
    CHECK_INT(retried.run[1].began_ns, >=, retried.run[0].began_ns + WEIR_MS(300));
    struct runs never_early = {.failures_left = 1};
    const int64_t ahead[2] = {place_now() + WEIR_MS(300), -1};
    run_and_meet(&place, &never_early, WEIR_DUPLICATE_DEBOUNCE, ahead, 2, WEIR_MS(1));
    CHECK_INT(never_early.run[1].began_ns, >=, ahead[0]);
    place_close(&place);
}

static void consume_by(struct place *place, int answer)
{
    struct runs runs = {.answer = answer};
    place_consume(place, &runs, 1, 0, 0);
    CHECK_INT(runs.count, ==, 1);
}

TEST_BROKERS(released, "a key is free once its job is done, removed or buried, and a kick takes "
                       "none; keys of different tubes are different")
{
    struct place place;
    struct weir_job_id id;
    if (!open_keys(&place, kind)) {
        return;
    }
    for (int i = 0; i < 4; i++) {
        enum weir_status status;
        const char *text = id.text;
        CHECK_STATUS(put(&place, WEIR_DUPLICATE_REFUSE, "x", 0, &id), WEIR_OK);
        CHECK_STATUS(put(&place, WEIR_DUPLICATE_REFUSE, "x", 0, NULL), WEIR_EBUSY);
        if (i == 0) {
            consume_by(&place, WEIR_OK);
        } else if (i == 1) {
            CHECK_INT(place_remove(&place, &id), ==, 1);
        } else if (i == 2) {
            consume_by(&place, WEIR_ESTOP);
        } else {
            CHECK_STATUS(change_bury(place.broker, &text, 1, "why", &status, NULL), WEIR_OK);
            CHECK_STATUS(status, WEIR_OK);
        }
    }
    size_t kicked;
    CHECK_STATUS(weir_broker_kick(place.broker, place.tube, 9, &kicked, NULL), WEIR_OK);
    CHECK_INT(kicked, ==, 2);
    CHECK(see(&place, &id).job.key == NULL);
    CHECK_STATUS(put(&place, WEIR_DUPLICATE_REFUSE, "x", 0, &id), WEIR_OK);
    (void)snprintf(place.tube, sizeof(place.tube), "%s", place.more[0]);
    CHECK_STATUS(put(&place, WEIR_DUPLICATE_REFUSE, "x", 0, &id), WEIR_OK);
    place_close(&place);
}

TEST_BROKERS(throttled, "a throttled key stays until its time, though its job has ended")
{
    struct place place;
    struct weir_job_id ids[3];
    if (!open_keys(&place, kind)) {
        return;
    }
    CHECK_STATUS(put(&place, WEIR_DUPLICATE_THROTTLE, "x", 0, &ids[0]), WEIR_OK);
    consume_by(&place, WEIR_OK);
    meet(&place, WEIR_DUPLICATE_THROTTLE, "x", 0, &ids[0], false);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    struct weir_put_options brief = {.key = "brief", .on_duplicate = WEIR_DUPLICATE_THROTTLE};
    brief.key_ns = WEIR_MS(1);
    place_put(&place, "x", &brief, &ids[1]);
    consume_by(&place, WEIR_OK);
    place_let_pass(WEIR_MS(2));
    place_put(&place, "x", &brief, &ids[2]);
    CHECK(strcmp(ids[2].text, ids[1].text) != 0);
    CHECK_PLACE(&place, 0, 1, 0, 0);
    place_close(&place);
}

/* Puts and runs of one key at once. */
struct race {
    struct place place;
    _Atomic int running;
    _Atomic int puts_left;
};

static void race_run(weir_context *context, struct runs *runs)
{
    struct race *race = runs->arg;
    (void)context;
    CHECK_INT(atomic_fetch_add(&race->running, 1), ==, 0);
    (void)put(&race->place, WEIR_DUPLICATE_AGAIN, "x", 0, NULL);
    CHECK_INT(atomic_fetch_sub(&race->running, 1), ==, 1);
    runs->count = 1; /* any number of runs */
}

static void race_put(void *arg)
{
    struct race *race = arg;
    struct place own = race->place;
    own.broker = place_broker(&own);
    for (int left; (left = atomic_fetch_sub(&race->puts_left, 1)) > 0;) {
        enum weir_status status = put(&own, every_mode[left % 6], "x", 0, NULL);
        CHECK(status == WEIR_OK || status == WEIR_EBUSY);
    }
    weir_broker_close(own.broker);
}

TEST_BROKERS(one, "at most one job with a key waits or runs, however many put and run it")
{
    static struct race race;
    static struct runs runs;
    if (!open_keys(&race.place, kind)) {
        return;
    }
    struct test_thread *threads[3];
    race.puts_left = 90;
    runs.during = race_run;
    runs.arg = &race;
    weir_consumer *consumer = place_consumer(&race.place, &runs, 3, 0, 0, 0);
    for (int i = 0; i < 3; i++) {
        threads[i] = test_start(race_put, &race);
    }
    for (int i = 0; i < 3; i++) {
        test_join(threads[i]);
    }
    struct weir_tube_counts counts = place_counts(&race.place);
    CHECK_INT(counts.delayed + counts.ready + counts.reserved, <=, 1);
    place_end(consumer);
    place_close(&race.place);
}
