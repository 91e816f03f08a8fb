/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Operators' work on tubes and jobs, on every broker. */
#include <weir/policy.h>

#include "conformance/jobs/brokers.h"
#include "support/changes.h"

#define HOUR WEIR_SECONDS(3600)

static enum weir_why_reason why_of(const struct place *place, const struct weir_job_id *id)
{
    struct weir_why why;
    CHECK_STATUS(weir_broker_why(place->broker, id->text, &why, NULL), WEIR_OK);
    return why.reason;
}

TEST_BROKERS(pauses, "nothing of a tube that is paused is reserved until it is resumed")
{
    struct place place;
    struct weir_job_id id;
    struct runs runs = {.count = 0};
    place_open(&place, kind, "");
    CHECK_STATUS(weir_broker_pause(place.broker, place.tube, 1, NULL), WEIR_ENOTFOUND);
    place_put(&place, "job", NULL, &id);
    CHECK_STATUS(weir_broker_pause(place.broker, place.tube, -1, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_broker_pause(place.broker, place.tube, HOUR, NULL), WEIR_OK);
    CHECK_INT(place_counts(&place).paused_until_ns, >, place_now());
    CHECK_INT(why_of(&place, &id), ==, WEIR_WHY_PAUSED);
    weir_consumer *consumer = place_consumer(&place, &runs, 1, 1, 0, 0);
    place_put(&place, "other", NULL, NULL);
    CHECK_PLACE(&place, 0, 2 * place.copies, 0, 0);
    CHECK_INT(runs.count, ==, 0);
    CHECK_STATUS(weir_broker_pause(place.broker, place.tube, 0, NULL), WEIR_OK);
    while (runs.ends[WEIR_RUN_DONE] < 2) {
        (void)sched_yield();
    }
    place_end(consumer);
    CHECK_INT(place_counts(&place).paused_until_ns, ==, 0);
    place_close(&place);
}

TEST_BROKERS(sets_aside, "a job that waits is buried by its id, a buried one is kicked or removed; "
                         "other states are told")
{
    struct place place;
    struct weir_job_id ids[2];
    enum weir_status statuses[2];
    place_open(&place, kind, "");
    const struct weir_put_options later = {.delay_ns = HOUR};
    place_put(&place, "ready", NULL, &ids[0]);
    place_put(&place, "delayed", &later, &ids[1]);
    CHECK_INT(why_of(&place, &ids[0]), ==, WEIR_WHY_WORKER);
    CHECK_INT(why_of(&place, &ids[1]), ==, WEIR_WHY_TIME);
    const char *texts[] = {ids[0].text, ids[1].text};
    CHECK_STATUS(change_kick(place.broker, texts, 2, statuses, NULL), WEIR_OK);
    CHECK_STATUS(statuses[0], WEIR_ESTATE);
    CHECK_STATUS(statuses[1], WEIR_ESTATE);
    CHECK_STATUS(change_bury(place.broker, texts, 2, "why not", statuses, NULL), WEIR_OK);
    CHECK_STATUS(statuses[0], WEIR_OK);
    CHECK_STATUS(statuses[1], WEIR_OK);
    CHECK_PLACE(&place, 0, 0, 0, 2 * place.copies);
    CHECK_INT(why_of(&place, &ids[1]), ==, WEIR_WHY_BURIED);
    CHECK_STATUS(change_bury(place.broker, texts, 1, NULL, statuses, NULL), WEIR_OK);
    CHECK_STATUS(statuses[0], WEIR_ESTATE);
    CHECK_STATUS(change_kick(place.broker, texts, 1, statuses, NULL), WEIR_OK);
    CHECK_STATUS(statuses[0], WEIR_OK);
    CHECK_PLACE(&place, 0, place.copies, 0, place.copies);
    CHECK_INT(place_remove(&place, &ids[0]), ==, 1);
    CHECK_INT(place_remove(&place, &ids[1]), ==, 1);
    CHECK_INT(place_remove(&place, &ids[0]), ==, place_keeps(&place)); /* what is kept of it */
    CHECK_INT(place_remove(&place, &ids[0]), ==, 0);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    place_close(&place);
}

struct busy {
    const struct place *place;
    struct weir_job_id id;
};

static void touch_during(weir_context *context, struct runs *runs)
{
    const struct busy *busy = runs->arg;
    const char *text = busy->id.text;
    weir_broker *broker = busy->place->broker;
    enum weir_status status;
    (void)context;
    CHECK_STATUS(change_bury(broker, &text, 1, "why not", &status, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_EBUSY);
    CHECK_STATUS(change_kick(broker, &text, 1, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_EBUSY);
    CHECK_STATUS(change_remove(broker, &text, 1, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_EBUSY);
}

TEST_BROKERS(busy, "a job that runs is not buried, kicked or removed, and one that has ended is "
                   "neither buried nor kicked")
{
    struct place place;
    struct busy busy = {.place = &place};
    struct runs runs = {.during = touch_during, .arg = &busy};
    enum weir_status status;
    place_open(&place, kind, "");
    place_put(&place, "job", NULL, &busy.id);
    place_consume(&place, &runs, 1, 1, 0);
    CHECK_INT(runs.count, ==, 1);
    CHECK_INT(runs.ends[WEIR_RUN_DONE], ==, 1);
    const char *text = busy.id.text;
    enum weir_status ended = place_keeps(&place) ? WEIR_ESTATE : WEIR_ENOTFOUND;
    CHECK_STATUS(change_bury(place.broker, &text, 1, NULL, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, ended);
    CHECK_STATUS(change_kick(place.broker, &text, 1, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, ended);
    CHECK_INT(place_remove(&place, &busy.id), ==, place_keeps(&place));
    CHECK_INT(place_remove(&place, &busy.id), ==, 0);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    place_close(&place);
}

static void move_refused(struct place *place)
{
    const char *text = "1";
    enum weir_status status;
    CHECK_STATUS(change_move(place->broker, &text, 1, place->more[0], &status, NULL), WEIR_ENOTSUP);
}

TEST_BROKERS(changes_tubes, "jobs that wait go to another tube and keep all but that")
{
    struct place place;
    struct weir_job_id ids[2];
    enum weir_status statuses[2];
    struct shown shown = {.count = 0};
    if (!place_open_that_can(&place, kind, WEIR_CAN_MOVE_IDS, move_refused)) {
        return;
    }
    struct weir_put_options options = {.priority = 4, .run_at_ns = place_now() + HOUR};
    options.key = weir_broker_can(place.broker, WEIR_CAN_KEYS) ? "k" : NULL;
    place_put(&place, "job", &options, &ids[0]);
    place_put(&place, "other", NULL, &ids[1]);
    const char *texts[] = {ids[0].text, ids[1].text};
    CHECK_STATUS(change_bury(place.broker, &texts[1], 1, "why", statuses, NULL), WEIR_OK);
    CHECK_STATUS(change_move(place.broker, texts, 2, place.more[0], statuses, NULL), WEIR_OK);
    CHECK_STATUS(statuses[0], WEIR_OK);
    CHECK_STATUS(statuses[1], WEIR_OK);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    CHECK_STATUS(weir_broker_peek_id(place.broker, ids[0].text, place_show, &shown, NULL), WEIR_OK);
    CHECK_INT(shown.job.state, ==, WEIR_JOB_DELAYED);
    CHECK_INT(shown.job.run_at_ns, ==, options.run_at_ns);
    CHECK_INT(shown.job.priority, ==, 4);
    CHECK_STATUS(weir_broker_peek_id(place.broker, ids[1].text, place_show, &shown, NULL), WEIR_OK);
    CHECK_STRING(shown.reason, "why");
    if (options.key != NULL) { /* its key is there, and here it is free again */
        struct weir_job_id second;
        place_put(&place, "second", &options, &second);
        texts[0] = second.text;
        CHECK_STATUS(change_move(place.broker, texts, 1, place.more[0], statuses, NULL), WEIR_OK);
        CHECK_STATUS(statuses[0], WEIR_EBUSY);
        CHECK_INT(place_remove(&place, &second), ==, 1);
    }
    CHECK_INT(place_remove(&place, &ids[0]), ==, 1);
    CHECK_INT(place_remove(&place, &ids[1]), ==, 1);
    place_close(&place);
}

static void memory_refused(struct place *place)
{
    bool was_put;
    CHECK_STATUS(weir_broker_was_put(place->broker, "1", &was_put, NULL), WEIR_ENOTSUP);
}

TEST_BROKERS(remembers, "an id that was given is known after its job has ended, and no other is")
{
    struct place place;
    struct weir_job_id id;
    bool was_put = false;
    struct runs runs = {.count = 0};
    if (!place_open_that_can(&place, kind, WEIR_CAN_WAS_PUT, memory_refused)) {
        return;
    }
    place_put(&place, "job", NULL, &id);
    place_consume(&place, &runs, 1, 1, 0);
    CHECK_STATUS(weir_broker_was_put(place.broker, id.text, &was_put, NULL), WEIR_OK);
    CHECK(was_put);
    CHECK_STATUS(weir_broker_was_put(place.broker, "9000000000000000000", &was_put, NULL), WEIR_OK);
    CHECK(!was_put);
    CHECK_STATUS(weir_broker_was_put(place.broker, "no id", &was_put, NULL), WEIR_EINVAL);
    place_close(&place);
}

/* Bodies in the order of a list. */
struct listed {
    char text[64];
    char last[WEIR_JOB_ID_SIZE];
    int left; /* ends the list after so many; -1: never */
};

static int keep_listed(const struct weir_job *job, void *arg)
{
    struct listed *listed = arg;
    size_t used = strlen(listed->text);
    (void)snprintf(listed->text + used, sizeof(listed->text) - used, "%.*s ", (int)job->body_size,
                   (const char *)job->body);
    (void)snprintf(listed->last, sizeof(listed->last), "%s", job->id);
    return listed->left > 0 && --listed->left == 0;
}

static void list_refused(struct place *place)
{
    struct listed listed = {.left = -1};
    CHECK_STATUS(weir_broker_list(place->broker, NULL, keep_listed, &listed, NULL), WEIR_ENOTSUP);
}

static void expect_list(const struct place *place, const struct weir_job_filter *filter,
                        const char *expected)
{
    struct listed listed = {.left = -1};
    struct weir_job_filter own = *filter;
    own.tube = place->tube;
    CHECK_STATUS(weir_broker_list(place->broker, &own, keep_listed, &listed, NULL), WEIR_OK);
    CHECK_STRING(listed.text, expected);
}

TEST_BROKERS(lists, "a list has the jobs that a filter lets through, in the order of their puts, "
                    "and goes on behind one")
{
    struct place place;
    struct weir_job_id id;
    struct runs runs = {.failures_left = 1};
    if (!place_open_that_can(&place, kind, WEIR_CAN_LIST, list_refused)) {
        return;
    }
    const struct weir_put_options later = {.delay_ns = HOUR};
    const struct weir_put_options last = {.priority = 9};
    place_put(&place, "c", &last, NULL);
    place_consume(&place, &runs, 1, 1, 0); /* buried */
    place_put(&place, "b", &later, NULL);
    place_put(&place, "a", &last, &id);
    place_put(&place, "d", NULL, NULL);
    expect_list(&place, &(struct weir_job_filter){.tube = NULL}, "c b a d ");
    expect_list(&place, &(struct weir_job_filter){.state = WEIR_JOB_READY}, "a d ");
    expect_list(&place, &(struct weir_job_filter){.state = WEIR_JOB_DELAYED}, "b ");
    expect_list(&place, &(struct weir_job_filter){.attempts_min = 1}, "c ");
    expect_list(&place, &(struct weir_job_filter){.text = "a", .text_size = 1}, "c a ");
    expect_list(&place, &(struct weir_job_filter){.after = id.text}, "d ");
    expect_list(&place, &(struct weir_job_filter){.created_before_ns = 1}, "");
    struct listed listed = {.left = 2};
    struct weir_job_filter filter = {.tube = place.tube};
    CHECK_STATUS(weir_broker_list(place.broker, &filter, keep_listed, &listed, NULL), WEIR_OK);
    CHECK_STRING(listed.text, "c b ");
    filter.after = listed.last;
    listed.left = -1;
    CHECK_STATUS(weir_broker_list(place.broker, &filter, keep_listed, &listed, NULL), WEIR_OK);
    CHECK_STRING(listed.text, "c b a d ");
    place_close(&place);
}

static void policies_refused(struct place *place)
{
    struct weir_tube_policy policy = {.group_limit = 1};
    CHECK_STATUS(weir_broker_set_policy(place->broker, place->tube, &policy, NULL), WEIR_ENOTSUP);
    CHECK_STATUS(weir_broker_policy(place->broker, place->tube, &policy, NULL, NULL), WEIR_ENOTSUP);
}

static bool open_policies(struct place *place, enum place_kind kind)
{
    return place_open_that_can(place, kind, WEIR_CAN_POLICIES, policies_refused);
}

static struct weir_tube_policy_counts policy_counts(const struct place *place)
{
    struct weir_tube_policy policy;
    struct weir_tube_policy_counts counts;
    CHECK_STATUS(weir_broker_policy(place->broker, place->tube, &policy, &counts, NULL), WEIR_OK);
    return counts;
}

TEST_BROKERS(archives, "ended jobs of a tube are kept as its policy says, and show their run")
{
    struct place place;
    struct weir_job_id ids[3];
    struct runs runs = {.count = 0};
    struct shown shown = {.count = 0};
    if (!open_policies(&place, kind)) {
        return;
    }
    struct weir_tube_policy policy = {.keep_ns = HOUR, .keep_count = 2};
    CHECK_STATUS(weir_broker_set_policy(place.broker, place.tube, &policy, NULL), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        place_put(&place, "job", NULL, &ids[i]);
        place_consume(&place, &runs, 1, 1, 0);
    }
    CHECK_PLACE(&place, 0, 0, 0, 0);
    CHECK_INT(place_counts(&place).done, ==, 3);
    CHECK_INT(policy_counts(&place).ended, >=, 2); /* others leave as some end */
    CHECK_STATUS(weir_broker_set_policy(place.broker, place.tube, &policy, NULL), WEIR_OK);
    CHECK_INT(policy_counts(&place).ended, ==, 2);
    CHECK_STATUS(weir_broker_peek_id(place.broker, ids[0].text, place_show, &shown, NULL),
                 WEIR_ENOTFOUND);
    CHECK_STATUS(weir_broker_peek_id(place.broker, ids[2].text, place_show, &shown, NULL), WEIR_OK);
    CHECK_INT(shown.job.state, ==, WEIR_JOB_ENDED);
    CHECK_INT(shown.job.last_outcome, ==, WEIR_RUN_DONE);
    CHECK_INT(why_of(&place, &ids[2]), ==, WEIR_WHY_DONE);
    policy.keep_count = 1;
    policy.members = WEIR_POLICY_KEEP_COUNT;
    CHECK_STATUS(weir_broker_set_policy(place.broker, place.tube, &policy, NULL), WEIR_OK);
    CHECK_INT(policy_counts(&place).ended, ==, 1);
    CHECK_INT(place_remove(&place, &ids[2]), ==, 1);
    CHECK_INT(policy_counts(&place).ended, ==, 0);
    place_close(&place);
}

TEST_BROKERS(drops, "late jobs of a tube are dropped where its policy says so, and counted")
{
    struct place place;
    struct runs runs = {.count = 0};
    if (!open_policies(&place, kind)) {
        return;
    }
    const struct weir_tube_policy policy = {.late = WEIR_LATE_DROP, .late_ns = WEIR_MS(50)};
    CHECK_STATUS(weir_broker_set_policy(place.broker, place.tube, &policy, NULL), WEIR_OK);
    place_put(&place, "job", NULL, NULL);
    place_let_pass(WEIR_MS(60));
    place_consume(&place, &runs, 1, 1, 0);
    CHECK_INT(runs.count, ==, 0);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    CHECK_INT(policy_counts(&place).dropped, ==, 1);
    place_close(&place);
}
