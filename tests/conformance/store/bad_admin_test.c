/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/admin.h>

#include "conformance/store/bad_store.h"
#include "support/changes.h"

/* Bad input to the functions of weir/admin.h. */

/* Helpers of a function that changes jobs by their ids: name(w, broker, ids, count, statuses). */
#define CHANGE(name, expression)                                                                   \
    static enum weir_status name(weir_broker *broker, const char *const *ids, size_t count)        \
    {                                                                                              \
        enum weir_status statuses[2] = {WEIR_EUSER, WEIR_EUSER};                                   \
        enum weir_status status = tell(expression);                                                \
        CHECK(status == WEIR_OK || (statuses[0] == WEIR_EUSER && statuses[1] == WEIR_EUSER));      \
        return status;                                                                             \
    }                                                                                              \
    static enum weir_status name##_on(struct world *w, weir_broker *broker)                        \
    {                                                                                              \
        static const char *const ids[] = {"4"};                                                    \
        (void)w;                                                                                   \
        return name(broker, ids, 1);                                                               \
    }                                                                                              \
    static enum weir_status name##_ids(struct world *w, const char *const *ids, size_t count)      \
    {                                                                                              \
        return name(w->broker, ids, count);                                                        \
    }

CHANGE(remove_jobs, change_remove(broker, ids, count, statuses, told))
CHANGE(kick_jobs, change_kick(broker, ids, count, statuses, told))
CHANGE(bury_jobs, change_bury(broker, ids, count, "by hand", statuses, told))
CHANGE(move_jobs, change_move(broker, ids, count, "u", statuses, told))

static enum weir_status (*const changes_on[])(struct world *w, weir_broker *broker) = {
    remove_jobs_on, kick_jobs_on, bury_jobs_on, move_jobs_on};
static enum weir_status (*const changes_ids[])(struct world *w, const char *const *ids,
                                               size_t count) = {remove_jobs_ids, kick_jobs_ids,
                                                                bury_jobs_ids, move_jobs_ids};

/* All of them; each says what the first one says. */
static enum weir_status change_on(struct world *w, weir_broker *broker)
{
    enum weir_status status = changes_on[0](w, broker);
    for (size_t i = 1; i < sizeof(changes_on) / sizeof(changes_on[0]); i++) {
        CHECK_STATUS(changes_on[i](w, broker), status);
    }
    return status;
}

static enum weir_status change_ids(struct world *w, const char *const *ids, size_t count)
{
    enum weir_status status = changes_ids[0](w, ids, count);
    for (size_t i = 1; i < sizeof(changes_ids) / sizeof(changes_ids[0]); i++) {
        CHECK_STATUS(changes_ids[i](w, ids, count), status);
    }
    return status;
}

WRITER_ROWS(weir_broker_change, change_on)
IDS_ROWS(weir_broker_change, change_ids)

static const char *const ready[] = {"4"};

static enum weir_status change_by(struct world *w, const struct weir_change *change)
{
    enum weir_status result = WEIR_EUSER;
    enum weir_status status = tell(weir_broker_change(w->broker, change, ready, 1, &result, told));
    CHECK(status == WEIR_OK || result == WEIR_EUSER);
    return status == WEIR_OK ? result : status;
}

ROW(weir_broker_change, change, null, WEIR_EINVAL)
{
    return change_by(w, NULL);
}

ROW(weir_broker_change, change, kind, WEIR_EINVAL)
{
    static const int kinds[] = {-1, 0, WEIR_CHANGE_CANCEL + 1};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct weir_change change = {.kind = (enum weir_change_kind)kinds[i], .tube = "u"};
        CHECK_STATUS(change_by(w, &change), WEIR_EINVAL);
        check_says("change->kind is");
    }
    return WEIR_EINVAL;
}

ROW(weir_broker_change, ret_statuses, null, WEIR_EINVAL)
{
    return tell(change_remove(w->broker, ready, 1, NULL, told));
}

ROW(weir_broker_change, change, reason, WEIR_OK)
{
    return change_by(w, &(struct weir_change){.kind = WEIR_CHANGE_BURY});
}

/* Job 4 is ready, which a kick is not for. */
static enum weir_status kick_so(struct world *w, struct weir_change change)
{
    change.kind = WEIR_CHANGE_KICK;
    return change_by(w, &change);
}

ROW(weir_broker_change, change, verdict, WEIR_EINVAL)
{
    static const int verdicts[] = {-1, WEIR_VERDICT_RETRY + 1};
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
        const struct weir_change change = {.kind = WEIR_CHANGE_CANCEL,
                                           .verdict = (enum weir_verdict)verdicts[i]};
        CHECK_STATUS(change_by(w, &change), WEIR_EINVAL);
        check_says("change->verdict is");
    }
    return WEIR_EINVAL;
}

ROW(weir_broker_change, change, interval_ns, WEIR_ERANGE)
{
    return kick_so(w, (struct weir_change){.interval_ns = -1});
}

ROW(weir_broker_change, change, start_ns, WEIR_OK)
{
    CHECK_STATUS(kick_so(w, (struct weir_change){.start_ns = -1}), WEIR_ESTATE);
    CHECK_STATUS(kick_so(w, (struct weir_change){.start_ns = INT64_MAX}), WEIR_ESTATE);
    return WEIR_OK;
}

ROW(weir_broker_change, change, states, WEIR_OK)
{
    CHECK_STATUS(kick_so(w, (struct weir_change){.states = 1U << WEIR_JOB_READY}), WEIR_ESTATE);
    CHECK_STATUS(kick_so(w, (struct weir_change){.states = UINT32_MAX}), WEIR_ESTATE);
    return WEIR_OK;
}

ROW(weir_broker_change, change, is_forced, WEIR_OK)
{
    CHECK_STATUS(kick_so(w, (struct weir_change){.is_forced = UINT32_MAX}), WEIR_ESTATE);
    return WEIR_OK;
}

static enum weir_status move_to(struct world *w, const char *tube)
{
    return change_by(w, &(struct weir_change){.kind = WEIR_CHANGE_MOVE, .tube = tube});
}

ROW(weir_broker_change, change, tube, WEIR_EINVAL)
{
    CHECK_STATUS(move_to(w, NULL), WEIR_EINVAL);
    for (size_t i = 0; i < sizeof(bad_tubes) / sizeof(bad_tubes[0]); i++) {
        CHECK_STATUS(move_to(w, bad_tubes[i].name), WEIR_EINVAL);
        check_says(bad_tubes[i].says);
    }
    return WEIR_EINVAL;
}

ROW(weir_broker_change, change, large_tube, WEIR_ETOOBIG)
{
    char name[WEIR_TUBE_SIZE_MAX + 2];
    return move_to(w, fill(name, sizeof(name)));
}

CLUSTER_ROWS(weir_broker_change, move_jobs_on)

static enum weir_status pause_on(struct world *w, weir_broker *broker)
{
    (void)w;
    return tell(weir_broker_pause(broker, TUBE, 1, told));
}

static enum weir_status pause_tube(struct world *w, const char *tube)
{
    return tell(weir_broker_pause(w->broker, tube, 1, told));
}

WRITER_ROWS(weir_broker_pause, pause_on)
TUBE_ROWS(weir_broker_pause, pause_tube)

ROW(weir_broker_pause, tube, unknown, WEIR_ENOTFOUND)
{
    return pause_tube(w, "unknown");
}

ROW(weir_broker_pause, duration_ns, least, WEIR_ERANGE)
{
    CHECK_STATUS(tell(weir_broker_pause(w->broker, TUBE, INT64_MIN, told)), WEIR_ERANGE);
    return tell(weir_broker_pause(w->broker, TUBE, -1, told));
}

ROW(weir_broker_pause, duration_ns, most, WEIR_OK)
{
    CHECK_STATUS(tell(weir_broker_pause(w->broker, TUBE, INT64_MAX - 1, told)), WEIR_OK);
    enum weir_status status = tell(weir_broker_pause(w->broker, TUBE, INT64_MAX, told));
    CHECK_INT(jobs_counts(w->broker, TUBE).paused_until_ns, ==, WEIR_FOREVER);
    return status;
}

static enum weir_status list_on(struct world *w, weir_broker *broker)
{
    (void)w;
    return tell(weir_broker_list(broker, NULL, ignore_job, NULL, told));
}

static int refuse_job(const struct weir_job *job, void *arg)
{
    (void)arg;
    test_fail(__FILE__, __LINE__, "a refused list told of job %s", job->id);
    return 1;
}

static enum weir_status list_with(struct world *w, const struct weir_job_filter *filter)
{
    return tell(weir_broker_list(w->broker, filter, refuse_job, NULL, told));
}

OBJECT_ROWS(weir_broker_list, broker, list_on)
CLUSTER_ROWS(weir_broker_list, list_on)

ROW(weir_broker_list, filter, null, WEIR_OK)
{
    return list_on(w, w->broker);
}

ROW(weir_broker_list, filter, tube, WEIR_EINVAL)
{
    for (size_t i = 0; i < sizeof(bad_tubes) / sizeof(bad_tubes[0]); i++) {
        CHECK_STATUS(list_with(w, &(struct weir_job_filter){.tube = bad_tubes[i].name}),
                     WEIR_EINVAL);
    }
    return list_with(w, &(struct weir_job_filter){.first = 1});
}

ROW(weir_broker_list, filter, large_tube, WEIR_ETOOBIG)
{
    char name[WEIR_TUBE_SIZE_MAX + 2];
    return list_with(w, &(struct weir_job_filter){.tube = fill(name, sizeof(name))});
}

ROW(weir_broker_list, filter, after, WEIR_EINVAL)
{
    static const char *const ids[] = {"", "1x", "0", "-1", "9223372036854775808"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        CHECK_STATUS(list_with(w, &(struct weir_job_filter){.after = ids[i]}), WEIR_EINVAL);
    }
    return WEIR_EINVAL;
}

ROW(weir_broker_list, filter, id, WEIR_EINVAL)
{
    CHECK_STATUS(list_with(w, &(struct weir_job_filter){.id = ""}), WEIR_EINVAL);
    return list_with(w, &(struct weir_job_filter){.id = "1x", .no_bodies = 1});
}

ROW(weir_broker_list, filter, first, WEIR_OK)
{
    return list_with(w, &(struct weir_job_filter){.tube = "none", .first = SIZE_MAX});
}

ROW(weir_broker_list, filter, no_bodies, WEIR_OK)
{
    return list_with(w, &(struct weir_job_filter){.tube = "none", .no_bodies = UINT32_MAX});
}

ROW(weir_broker_list, filter, text_size, WEIR_EINVAL)
{
    CHECK_STATUS(list_with(w, &(struct weir_job_filter){.text_size = SIZE_MAX}), WEIR_EINVAL);
    return list_with(w, &(struct weir_job_filter){.text_size = 1});
}

ROW(weir_broker_list, filter, state, WEIR_EINVAL)
{
    struct weir_job_filter filter = {.state = (enum weir_job_state) - 1};
    CHECK_STATUS(list_with(w, &filter), WEIR_EINVAL);
    filter.state = (enum weir_job_state)(WEIR_JOB_ENDED + 1);
    return list_with(w, &filter);
}

/* No job was put before these, and none has so many attempts. */
ROW(weir_broker_list, filter, created_before_ns, WEIR_OK)
{
    CHECK_STATUS(list_with(w, &(struct weir_job_filter){.created_before_ns = INT64_MIN}), WEIR_OK);
    return list_with(w, &(struct weir_job_filter){.created_before_ns = 1});
}

ROW(weir_broker_list, filter, attempts_min, WEIR_OK)
{
    return list_with(w, &(struct weir_job_filter){.attempts_min = UINT32_MAX});
}

ROW(weir_broker_list, fn, null, WEIR_EINVAL)
{
    return tell(weir_broker_list(w->broker, NULL, NULL, NULL, told));
}

ROW(weir_broker_list, memory, none, WEIR_ENOMEM)
{
    test_fail_allocation(1, true);
    return list_on(w, w->broker);
}

static int ignore_attempt(const struct weir_attempt *attempt, void *arg)
{
    (void)attempt;
    (void)arg;
    return 0;
}

static enum weir_status attempts_on(struct world *w, weir_broker *broker)
{
    (void)w;
    return tell(weir_broker_attempts(broker, "3", ignore_attempt, NULL, told));
}

static enum weir_status attempts_of(struct world *w, const char *id)
{
    return tell(weir_broker_attempts(w->broker, id, ignore_attempt, NULL, told));
}

OBJECT_ROWS(weir_broker_attempts, broker, attempts_on)
CLUSTER_ROWS(weir_broker_attempts, attempts_on)
ID_ROWS(weir_broker_attempts, attempts_of)

ROW(weir_broker_attempts, id, no_job, WEIR_ENOTFOUND)
{
    return attempts_of(w, "6");
}

ROW(weir_broker_attempts, fn, null, WEIR_EINVAL)
{
    return tell(weir_broker_attempts(w->broker, "3", NULL, NULL, told));
}

ROW(weir_broker_attempts, memory, none, WEIR_ENOMEM)
{
    test_fail_allocation(1, true);
    return attempts_of(w, "3");
}

static enum weir_status was_put_on(struct world *w, weir_broker *broker)
{
    (void)w;
    bool was_put;
    return tell(weir_broker_was_put(broker, "4", &was_put, told));
}

static enum weir_status was_put(struct world *w, const char *id)
{
    bool was_put;
    return tell(weir_broker_was_put(w->broker, id, &was_put, told));
}

OBJECT_ROWS(weir_broker_was_put, broker, was_put_on)
CLUSTER_ROWS(weir_broker_was_put, was_put_on)
ID_ROWS(weir_broker_was_put, was_put)

ROW(weir_broker_was_put, ret_was_put, null, WEIR_EINVAL)
{
    return tell(weir_broker_was_put(w->broker, "4", NULL, told));
}

static enum weir_status why_on(struct world *w, weir_broker *broker)
{
    (void)w;
    struct weir_why why;
    return tell(weir_broker_why(broker, "4", &why, told));
}

static enum weir_status why_of(struct world *w, const char *id)
{
    struct weir_why why = {.owner = UNTOUCHED};
    enum weir_status status = tell(weir_broker_why(w->broker, id, &why, told));
    CHECK_INT(why.owner, ==, UNTOUCHED);
    return status;
}

OBJECT_ROWS(weir_broker_why, broker, why_on)
ID_ROWS(weir_broker_why, why_of)

ROW(weir_broker_why, id, no_job, WEIR_ENOTFOUND)
{
    return why_of(w, "6");
}

ROW(weir_broker_why, ret_why, null, WEIR_EINVAL)
{
    return tell(weir_broker_why(w->broker, "4", NULL, told));
}

static int ignore_node(const struct weir_node *node, void *arg)
{
    (void)node;
    (void)arg;
    return 0;
}

static enum weir_status nodes_on(struct world *w, weir_broker *broker)
{
    (void)w;
    return tell(weir_broker_nodes(broker, ignore_node, NULL, told));
}

OBJECT_ROWS(weir_broker_nodes, broker, nodes_on)

ROW(weir_broker_nodes, memory, none, WEIR_ENOMEM)
{
    weir_broker *broker = cluster();
    test_fail_allocation(1, true);
    enum weir_status status = nodes_on(w, broker);
    test_fail_allocation(0, false);
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
    return status;
}

ROW(weir_broker_nodes, fn, null, WEIR_EINVAL)
{
    return tell(weir_broker_nodes(w->broker, NULL, NULL, told));
}

static int ignore_finding(const struct weir_finding *finding, void *arg)
{
    (void)finding;
    (void)arg;
    return 0;
}

static enum weir_status check_on(struct world *w, weir_broker *broker)
{
    (void)w;
    return tell(weir_broker_check(broker, ignore_finding, NULL, told));
}

OBJECT_ROWS(weir_broker_check, broker, check_on)

ROW(weir_broker_check, fn, null, WEIR_EINVAL)
{
    return tell(weir_broker_check(w->broker, NULL, NULL, told));
}

static enum weir_status backup_on(struct world *w, weir_broker *broker)
{
    (void)w;
    enum weir_status status = tell(weir_broker_backup(broker, "copy.db", told));
    CHECK_INT(access("copy.db", F_OK), ==, -1);
    return status;
}

static enum weir_status backup_to(struct world *w, const char *path)
{
    return tell(weir_broker_backup(w->broker, path, told));
}

OBJECT_ROWS(weir_broker_backup, broker, backup_on)
CLUSTER_ROWS(weir_broker_backup, backup_on)

ROW(weir_broker_backup, path, null, WEIR_EINVAL)
{
    return backup_to(w, NULL);
}

ROW(weir_broker_backup, path, malformed, WEIR_EINVAL)
{
    static const char *const paths[] = {"", "a?b", "a#b", "a.db.lock", "a.db-wal"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        CHECK_STATUS(backup_to(w, paths[i]), WEIR_EINVAL);
    }
    return WEIR_EINVAL;
}

ROW(weir_broker_backup, path, no_folder, WEIR_ENOTFOUND)
{
    CHECK_STATUS(backup_to(w, "/proc/none/copy.db"), WEIR_ENOTFOUND);
    return backup_to(w, "none/copy.db");
}

ROW(weir_broker_backup, path, existing, WEIR_EBUSY)
{
    CHECK_INT(symlink("nowhere", "linked.db"), ==, 0);
    CHECK_STATUS(backup_to(w, "linked.db"), WEIR_EBUSY);
    CHECK_INT(unlink("linked.db"), ==, 0);
    return backup_to(w, w->path);
}

static enum weir_status repair_on(struct world *w, weir_broker *broker)
{
    (void)w;
    struct weir_repair_counts counts = {.jobs = UNTOUCHED};
    enum weir_status status = tell(weir_broker_repair(broker, &counts, told));
    CHECK_INT(counts.jobs, ==, UNTOUCHED);
    return status;
}

WRITER_ROWS(weir_broker_repair, repair_on)
CLUSTER_ROWS(weir_broker_repair, repair_on)

ROW(weir_broker_repair, ret_counts, null, WEIR_EINVAL)
{
    return tell(weir_broker_repair(w->broker, NULL, told));
}

static enum weir_status shrink_on(struct world *w, weir_broker *broker)
{
    (void)w;
    uint64_t before = UNTOUCHED;
    uint64_t after = UNTOUCHED;
    enum weir_status status = tell(weir_broker_shrink(broker, &before, &after, told));
    CHECK(before == UNTOUCHED && after == UNTOUCHED);
    return status;
}

WRITER_ROWS(weir_broker_shrink, shrink_on)
CLUSTER_ROWS(weir_broker_shrink, shrink_on)

ROW(weir_broker_shrink, ret_before, null, WEIR_OK)
{
    uint64_t after;
    return tell(weir_broker_shrink(w->broker, NULL, &after, told));
}

ROW(weir_broker_shrink, ret_after, null, WEIR_OK)
{
    uint64_t before;
    return tell(weir_broker_shrink(w->broker, &before, NULL, told));
}
