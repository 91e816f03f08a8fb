/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Settling reservations and making others. */

#include "base/alloc.h"
#include "base/error.h"
#include "base/time.h"
#include "jobs/core/when.h"
#include "jobs/sqlite/attempts.h"
#include "jobs/sqlite/commit.h"
#include "jobs/sqlite/policies.h"
#include "jobs/sqlite/reserve.h"
#include "jobs/sqlite/row.h"
#include "jobs/sqlite/schedules.h"
#include "jobs/sqlite/tube.h"

/* Archived jobs that are deleted when one is added. */
enum {
    TRIM_JOBS = 2
};

struct exchange_request {
    struct weiri_exchange *exchange;
    bool is_settled;              /* an earlier transaction of this call settled */
    struct weiri_burials burials; /* result: in this transaction */
    bool has_more; /* result: not all due jobs were made ready; nothing was reserved */
};

/* Keeps what is to be known of a run that ended. */
static int note_run(struct weiri_store *store, struct weiri_tally *tally,
                    const struct weiri_row *row, const struct weiri_run_end *end, int64_t now_ns)
{
    static const struct weiri_run_end success = {.outcome = WEIR_RUN_DONE};
    size_t ignored;
    if (row->facts.state == WEIR_JOB_ARCHIVED) {
        int code = weiri_attempt_add(store, row->number, &success, now_ns);
        return code == SQLITE_OK
                   ? weiri_policy_trim(store, tally, row->tube, TRIM_JOBS, now_ns, &ignored)
                   : code;
    }
    return end->outcome == 0 ? SQLITE_OK : weiri_attempt_add(store, row->number, end, now_ns);
}

static int settle(struct weiri_store *store, struct weiri_exchange *exchange,
                  struct weiri_tally *tally, int64_t now_ns)
{
    int code = SQLITE_OK;
    for (size_t i = 0; i < exchange->settlement_count && code == SQLITE_OK; i++) {
        struct weiri_settlement *settlement = &exchange->settlements[i];
        const struct weiri_job_step step = {
            .event = settlement->event,
            .token = settlement->reservation->token,
            .run_at_ns = weiri_time_add(
                weiri_said_ns(settlement->since_ns, now_ns, weiri_store_lease_now(store)),
                settlement->delay_ns)};
        struct weiri_row row;
        settlement->status = WEIR_ELEASELOST;
        code = weiri_row_load(store, settlement->reservation->number, &row);
        if (code == SQLITE_ROW) {
            row.progress = settlement->progress > 0 ? settlement->progress - 1 : row.progress;
            code = weiri_row_step(store, tally, &row, &step, now_ns, settlement->reason,
                                  &settlement->status);
            if (code == SQLITE_OK && settlement->status == WEIR_OK &&
                settlement->reservation->job.group != NULL &&
                settlement->event != WEIRI_JOB_TOUCH) {
                code = weiri_policy_note_room(store, tally);
            }
            if (code == SQLITE_OK && settlement->status == WEIR_OK) {
                code = note_run(store, tally, &row, &settlement->end, now_ns);
            }
        } else if (code == SQLITE_DONE) {
            code = SQLITE_OK;
        }
    }
    return code;
}

/* Makes ready the jobs that are due, and those whose reservations have ended. */
static int promote(struct weiri_store *store, struct weiri_tally *tally, int64_t tube,
                   uint32_t attempts_max, int64_t now_ns, bool *ret_has_more)
{
    const struct {
        enum weiri_sql which;
        int64_t until_ns;
        struct weiri_job_step step;
        const char *reason;
    } kinds[] = {
        {WEIRI_SQL_EXPIRED,
         weiri_store_lease_now(store),
         {.event = WEIRI_JOB_EXPIRE, .attempts_max = attempts_max},
         "its reservation ended: the worker died, or took longer than the TTR without a touch"},
        {WEIRI_SQL_DUE, now_ns, {.event = WEIRI_JOB_DUE}, NULL},
    };
    size_t total = 0;
    int code = SQLITE_OK;
    *ret_has_more = false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t count = 1;
        while (code == SQLITE_OK && count > 0 && total < store->promote_max) {
            code = weiri_rows_step(store, tally, kinds[i].which, tube, kinds[i].until_ns,
                                   store->promote_max - total, &kinds[i].step, now_ns,
                                   kinds[i].reason, &count);
            total += count;
        }
    }
    *ret_has_more = total >= store->promote_max;
    return code;
}

/* The first entry of an index, which may be WEIR_FOREVER, and is where there is none.
 * SQLITE_CORRUPT: the tube counts such jobs, and the index has none, or the other way round. */
static int find_first(struct weiri_store *store, enum weiri_sql which, int64_t tube,
                      bool is_counted, int64_t *ret_first)
{
    *ret_first = WEIR_FOREVER;
    int code = weiri_sql_number(&store->writer, which, WEIRI_VALUES(tube), ret_first);
    return code == (is_counted ? SQLITE_DONE : SQLITE_OK) ? SQLITE_CORRUPT
           : code == SQLITE_DONE                          ? SQLITE_OK
                                                          : code;
}

static int64_t time_until(int64_t time, int64_t now)
{
    return time == WEIR_FOREVER ? time : weiri_time_since(now, time);
}

/* Finds when the next job may be reserved, and whether the tube is empty. All ready jobs were
 * reserved but those of full groups, unless the tube is paused, or its policy holds them, until a
 * time (0: neither).
 * SQLITE_CORRUPT: the tube counts jobs that the indexes do not have. */
static int find_next_time(struct weiri_store *store, struct weiri_exchange *exchange, int64_t tube,
                          const struct weiri_policy *policy, int64_t paused_until_ns)
{
    int64_t delayed = 0;
    int64_t lease = 0;
    int64_t firing = 0;
    sqlite3_stmt *statement;
    int code = weiri_sql_start(&store->writer, WEIRI_SQL_BUSY, WEIRI_VALUES(tube), &statement);
    if (code != SQLITE_ROW) {
        return weiri_sql_end(statement, code == SQLITE_DONE ? SQLITE_CORRUPT : code);
    }
    bool has_delayed = sqlite3_column_int64(statement, 0) != 0;
    bool has_ready = sqlite3_column_int64(statement, 1) != 0;
    bool has_reserved = sqlite3_column_int64(statement, 2) != 0;
    bool is_paused = paused_until_ns > 0;
    bool may_have_ready = is_paused || (policy->policy.group_limit > 0 && has_reserved);
    code = weiri_sql_end(statement, has_ready && !may_have_ready ? SQLITE_CORRUPT : SQLITE_ROW);
    if (code == SQLITE_OK) {
        code = weiri_schedules_next(store, tube, &firing);
    }
    if (code == SQLITE_OK) {
        code = find_first(store, WEIRI_SQL_FIRST_DELAYED, tube, has_delayed, &delayed);
    }
    if (code == SQLITE_OK) {
        code = find_first(store, WEIRI_SQL_FIRST_LEASE, tube, has_reserved, &lease);
    }
    if (code != SQLITE_OK) {
        return code;
    }
    int64_t first = weiri_time_earlier(delayed, firing);
    first = is_paused ? weiri_time_earlier(first, paused_until_ns) : first;
    /* Leases count in their own time. */
    exchange->next_in_ns = weiri_time_earlier(time_until(first, weiri_store_now(store)),
                                              time_until(lease, weiri_store_lease_now(store)));
    exchange->looked_ns = weiri_monotonic_now();
    exchange->is_empty = !has_delayed && !has_ready && !has_reserved;
    return SQLITE_OK;
}

/* Finds when the pause of a tube ends; 0: it is not paused. */
static int find_pause(struct weiri_store *store, int64_t tube, int64_t now_ns, int64_t *ret_until)
{
    int64_t until = 0;
    int code = weiri_sql_number(&store->writer, WEIRI_SQL_PAUSED, WEIRI_VALUES(tube), &until);
    *ret_until = code == SQLITE_OK && until > now_ns ? until : 0;
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int collect(struct weiri_store *store, struct exchange_request *request,
                   struct weiri_tally *tally, int64_t now_ns)
{
    struct weiri_exchange *exchange = request->exchange;
    int64_t tube;
    int code = weiri_tube_find(&store->writer, exchange->tube, &tube);
    if (code != SQLITE_OK) {
        exchange->is_empty = true;
        return code == SQLITE_DONE ? SQLITE_OK : code;
    }
    code = weiri_schedules_fire(store, tally, tube, now_ns, &request->has_more);
    if (code != SQLITE_OK || exchange->wanted == 0) {
        return code;
    }
    if (!request->has_more) {
        code = promote(store, tally, tube, exchange->attempts_max, now_ns, &request->has_more);
    }
    int64_t paused_until = 0;
    struct weiri_policy policy;
    if (code == SQLITE_OK) {
        code = find_pause(store, tube, now_ns, &paused_until);
    }
    if (code == SQLITE_OK) {
        code = weiri_policy_find(&store->writer, tube, &policy);
    }
    if (code == SQLITE_OK && paused_until == 0 && !request->has_more) {
        code = weiri_reserve(store, exchange, tally, tube, &policy, now_ns);
        if (code == SQLITE_OK) {
            code = weiri_policy_save(store, tube, &policy);
        }
    }
    if (code == SQLITE_OK) {
        code = weiri_tally_flush(store, tally);
    }
    if (code == SQLITE_OK && !request->has_more && exchange->reserved_count < exchange->wanted) {
        code = find_next_time(store, exchange, tube, &policy, paused_until);
    }
    return code;
}

static void reset(struct weiri_store *store, struct exchange_request *request)
{
    struct weiri_exchange *exchange = request->exchange;
    struct weiri_list *end = &exchange->reserved;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        weiri_store_let_go(store, WEIRI_CONTAINER(link, struct weiri_reservation, link));
    }
    weiri_reservations_free(&store->config->allocator, &exchange->reserved);
    weiri_reservations_free(&store->config->allocator, &request->burials.list);
    exchange->reserved_count = 0;
    exchange->next_in_ns = WEIR_FOREVER;
    exchange->is_empty = false;
    request->has_more = false;
}

/* Whether it only reserves and touches. A power cut ends all reservations: they need no flush. What
 * a schedule fires, or the end of a lease buries, comes again if it is lost; a job that was run by
 * then has been settled, which flushed all before it. */
static bool is_fleeting(const struct exchange_request *request)
{
    const struct weiri_exchange *exchange = request->exchange;
    bool is = true;
    for (size_t i = 0; i < exchange->settlement_count && is && !request->is_settled; i++) {
        is = exchange->settlements[i].event == WEIRI_JOB_TOUCH;
    }
    return is;
}

static int run_exchange(struct weiri_store *store, void *arg)
{
    struct exchange_request *request = arg;
    struct weiri_exchange *exchange = request->exchange;
    int64_t now = weiri_store_now(store);
    struct weiri_tally tally = {0};
    store->is_fleeting = is_fleeting(request);
    reset(store, request);
    store->burials = exchange->buried == NULL ? NULL : &request->burials;
    int code = request->is_settled ? SQLITE_OK : settle(store, exchange, &tally, now);
    if (code == SQLITE_OK) {
        code = collect(store, request, &tally, now);
    }
    store->burials = NULL;
    return code == SQLITE_OK ? weiri_tally_flush(store, &tally) : code;
}

enum weir_status weiri_store_exchange(void *arg, struct weiri_exchange *exchange,
                                      struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    struct exchange_request request = {.exchange = exchange, .burials = {.tube = exchange->tube}};
    weiri_list_init(&exchange->reserved);
    weiri_list_init(&request.burials.list);
    enum weir_status status;
    do {
        status = weiri_commit(store, run_exchange, &request, ret_error);
        if (status != WEIR_OK) {
            bool is_settled = request.is_settled;
            reset(store, &request);
            if (is_settled && exchange->settlement_count > 0) {
                /* The settlements are committed. The next call will show the failure. */
                weiri_error_clear(ret_error);
                exchange->next_in_ns = 0;
                return WEIR_OK;
            }
            return status;
        }
        request.is_settled = true;
        while (!weiri_list_is_empty(&request.burials.list)) {
            struct weiri_list *first = request.burials.list.next;
            weiri_list_remove(first);
            weiri_list_insert_before(exchange->buried, first);
        }
    } while (request.has_more);
    return WEIR_OK;
}
