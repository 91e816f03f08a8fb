/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Settling reservations and making others. */
#include "base/error.h"
#include "base/time.h"
#include "jobs/sqlite/read.h"

struct exchange_request {
    struct weiri_exchange *exchange;
    int64_t asked_ns;             /* when it began to wait for its turn, on the clock of leases */
    bool is_settled;              /* an earlier transaction of this call settled */
    bool has_begun;               /* result: it was its turn */
    struct weiri_burials burials; /* result: in this transaction */
    bool has_more;                /* result: the transaction has changed enough */
    bool is_census_due;           /* result */
    int64_t missing;              /* rows that are in no index, after a census */
};

static void settle(struct weiri_store *store, struct weiri_exchange *exchange,
                   struct weiri_tally *tally, struct weiri_now now)
{
    for (struct weiri_settlement *settlement = exchange->settlements; settlement != NULL;
         settlement = settlement->next) {
        struct weiri_job_row row;
        struct weiri_tube_record record = {.last_ns = 0};
        struct weiri_effects effects;
        settlement->status = WEIR_ELEASELOST;
        if (!weiri_row_load(store, settlement->reservation->number, &row)) {
            continue;
        }
        if (settlement->reservation->job.group != NULL) { /* it may leave room */
            weiri_tube_read(&store->writer, row.tube, &record);
        }
        enum weiri_write write = weiri_decide_settle(&row, settlement, &record, now, &effects);
        settlement->status = effects.is_canceled ? WEIR_ECANCELED : effects.status;
        weiri_row_write(store, tally, &row, write, &effects, now);
    }
}

/* Ends the reservations whose leases had ended at a time. Whether there may be more. */
static bool end_leases(struct weiri_store *store, struct weiri_tally *tally, int64_t tube,
                       const struct weiri_tube_record *record, uint32_t attempts_max,
                       struct weiri_now now, int64_t ended_ns)
{
    int64_t number;
    size_t count = 0;
    while (count < store->promote_max && weiri_sql_find(&store->writer, WEIRI_SQL_EXPIRED,
                                                        WEIRI_VALUES(tube, ended_ns), &number)) {
        struct weiri_job_row row = {.number = 0};
        struct weiri_effects effects;
        bool is_kept = weiri_row_load(store, number, &row) && weiri_row_is_kept(store, &row);
        enum weiri_write write =
            weiri_decide_expire(&row, attempts_max, is_kept, record, now, &effects);
        /* A damaged index may have selected it. */
        weiri_sql_fail(&store->writer, write == WEIRI_NOTHING ? SQLITE_CORRUPT : SQLITE_OK);
        weiri_row_write(store, tally, &row, write, &effects, now);
        count++;
    }
    return count >= store->promote_max;
}

static int give_up(void *unused)
{
    (void)unused;
    return 1;
}

static void count_rows(struct weiri_reading *reading, void *ret_missing)
{
    sqlite3_progress_handler(reading->reader->db, 12000, give_up, NULL);
    weiri_sql_find(reading->reader, WEIRI_SQL_CENSUS, NULL, ret_missing);
    sqlite3_progress_handler(reading->reader->db, 0, NULL, NULL);
}

/* An index that lost entries looks like an empty tube's. So a look that finds nothing counts all
 * rows, first and each minute: without the lock, up to some 2,000, since own renewals wait. */
static bool finds_loss(struct weiri_store *store, struct exchange_request *request)
{
    struct weir_error ignored;
    return request->is_census_due &&
           weiri_read(store, count_rows, &request->missing, &ignored) == WEIR_OK &&
           request->missing != 0;
}

/* Finds, after a look, when the next job may be reserved, and whether the tube is empty. */
static void find_next_time(struct weiri_store *store, struct weiri_exchange *exchange, int64_t tube,
                           const struct weiri_tube_record *record, int64_t suspect_in_ns,
                           int64_t looked_ns)
{
    struct weiri_connection *writer = &store->writer;
    struct weiri_firsts firsts = {.suspect_in_ns = suspect_in_ns};
    int64_t is_ready = 0;
    exchange->is_empty = !weiri_sql_find(writer, WEIRI_SQL_HAS_JOBS, WEIRI_VALUES(tube), &is_ready);
    firsts.firing_ns = weiri_schedules_next(store, tube);
    weiri_sql_find(writer, WEIRI_SQL_FIRST_DELAYED, WEIRI_VALUES(tube, looked_ns),
                   &firsts.delayed_ns);
    weiri_sql_find(writer, WEIRI_SQL_FIRST_LEASE, WEIRI_VALUES(tube), &firsts.lease_ns);
    exchange->next_in_ns = weiri_next_look(&firsts, record, weiri_store_times(store));
    /* A ready job that the look has not found: its entry in the index is damaged. */
    bool is_hidden =
        is_ready != 0 && record->policy.group_limit == 0 && record->paused_until_ns <= looked_ns;
    weiri_sql_fail(writer, is_hidden ? SQLITE_CORRUPT : SQLITE_OK);
    exchange->looked_ns = weiri_monotonic_now();
}

/* Reserves what is wanted, and finds when to look next where there is less. */
static void collect(struct weiri_store *store, struct exchange_request *request,
                    struct weiri_tally *tally, struct weiri_now now)
{
    struct weiri_exchange *exchange = request->exchange;
    struct weiri_tube_record record;
    struct weiri_connection *writer = &store->writer;
    int64_t suspect_in_ns = 0;
    int64_t tube;
    bool is_known = weiri_tube_find(writer, exchange->tube, &tube);
    exchange->mark.tube = exchange->tube;
    exchange->mark.channel = is_known ? weiri_store_channel(tube) : WEIRI_CHANNEL_NEW;
    /* Under the lock, and before suspects are counted: who notifies comes later. */
    exchange->mark.mark = weiri_store_mark(store, &exchange->mark);
    if (!is_known) {
        exchange->is_empty = true;
        return;
    }
    request->has_more = weiri_schedules_fire(store, tally, tube, now.wall_ns);
    if (exchange->wanted == 0) {
        return;
    }
    weiri_tube_read(writer, tube, &record);
    request->has_more =
        request->has_more || end_leases(store, tally, tube, &record, exchange->attempts_max, now,
                                        weiri_time_earlier(request->asked_ns, now.lease_ns));
    if (record.paused_until_ns <= now.wall_ns && !request->has_more) {
        request->has_more =
            weiri_reserve(store, exchange, tally, tube, &record, now, &suspect_in_ns);
        exchange->next_in_ns = request->has_more ? 0 : exchange->next_in_ns;
    }
    weiri_tally_flush(store, tally);
    if (!request->has_more && exchange->reserved_count < exchange->wanted) {
        find_next_time(store, exchange, tube, &record, suspect_in_ns, now.wall_ns);
        request->is_census_due =
            exchange->reserved_count == 0 && store->census_ns <= exchange->looked_ns;
        store->census_ns =
            request->is_census_due ? exchange->looked_ns + WEIR_SECONDS(60) : store->census_ns;
    }
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
    const struct weiri_settlement *settlement = request->exchange->settlements;
    while (settlement != NULL && settlement->event == WEIRI_JOB_TOUCH) {
        settlement = settlement->next;
    }
    return request->is_settled || settlement == NULL;
}

static void run_exchange(struct weiri_store *store, void *arg)
{
    struct exchange_request *request = arg;
    struct weiri_exchange *exchange = request->exchange;
    struct weiri_now now;
    struct weiri_tally tally = {0};
    store->is_fleeting = is_fleeting(request);
    reset(store, request);
    /* Who only renews leases does not wait until all jobs that were due are ready. */
    bool is_renewal = store->is_fleeting && exchange->wanted == 0;
    request->has_begun = weiri_clock_follow(store, exchange->wanted > 0, &now) || is_renewal;
    request->has_more = !request->has_begun;
    if (request->has_more) {
        return;
    }
    weiri_sql_fail(&store->writer,
                   request->missing != 0 && !store->has_repaired ? SQLITE_CORRUPT : SQLITE_OK);
    store->burials = exchange->buried == NULL ? NULL : &request->burials;
    if (!request->is_settled) {
        settle(store, exchange, &tally, now);
    }
    collect(store, request, &tally, now);
    store->burials = NULL;
    weiri_tally_flush(store, &tally);
}

enum weir_status weiri_store_exchange(void *arg, struct weiri_exchange *exchange,
                                      struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    /* Whose lease ends while this waits may wait as well, to touch it. */
    struct exchange_request request = {.exchange = exchange,
                                       .asked_ns = weiri_store_lease_now(store),
                                       .burials = {.tube = exchange->tube}};
    weiri_list_init(&exchange->reserved);
    weiri_list_init(&request.burials.list);
    enum weir_status status;
    do {
        status = weiri_commit(store, run_exchange, &request, ret_error);
        if (status != WEIR_OK) {
            reset(store, &request);
            if (request.is_settled && exchange->settlements != NULL) {
                /* The settlements are committed. The next call will show the failure. */
                weiri_error_clear(ret_error);
                exchange->next_in_ns = 0;
                return WEIR_OK;
            }
            return status;
        }
        request.is_settled = request.is_settled || request.has_begun;
        if (exchange->buried != NULL) {
            weiri_list_move(&request.burials.list, exchange->buried);
        }
    } while (exchange->reserved_count == 0 && (request.has_more || finds_loss(store, &request)));
    return WEIR_OK;
}
