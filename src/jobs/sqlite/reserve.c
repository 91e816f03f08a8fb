/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Reserving, and the reservations that a process keeps, with the suspects among them: jobs whose
 * last runs were lost with their workers. */
#include "base/time.h"
#include "jobs/sqlite/read.h"

/* Jobs read at a time. */
enum {
    PICK_MAX = 64
};

/* So long a suspect that is to run alone is awaited after a look. While a consumer has its tube, it
 * is looked at once a minute. */
#define AWAITED_NS (2 * WEIRI_SUSPECT_NEW_NS)

/* A picked job and the reservation made for it; NULL: its body is damaged. */
struct pick {
    struct weiri_job_row row;
    struct weiri_reservation *reservation;
};

/* Reads the next jobs in order at a time, at most limit. The caller owns those read. */
static size_t pick(struct weiri_store *store, const struct weiri_exchange *exchange, int64_t tube,
                   uint32_t group_limit, size_t limit, int64_t suspect, int64_t now_ns,
                   struct pick *picks)
{
    struct weiri_connection *writer = &store->writer;
    sqlite3_stmt *statement;
    size_t count = 0;
    const struct weiri_value *values =
        WEIRI_VALUES(tube, group_limit, (int64_t)limit, now_ns,
                     suspect == 0 ? weiri_null() : weiri_int(suspect));
    bool is = weiri_sql_first(writer, WEIRI_SQL_PICK, values, &statement);
    for (; is && count < limit; is = weiri_sql_next(writer, statement)) {
        struct pick *one = &picks[count++];
        struct weir_job job;
        weiri_job_read(writer, statement, &one->row, &job);
        job.tube = exchange->tube;
        one->reservation = weiri_job_copy(store, writer, statement, one->row.number, &job);
        if (one->reservation != NULL && one->reservation->status != WEIR_OK) {
            weiri_reservation_free(&store->config->allocator, one->reservation);
            one->reservation = NULL;
        }
        for (const struct pick *before = picks; before < one;
             before++) { /* a damaged index has it */
            bool is_twice = before->row.number == one->row.number;
            weiri_sql_fail(writer, is_twice ? SQLITE_CORRUPT : SQLITE_OK);
        }
    }
    weiri_sql_leave(statement);
    return count;
}

void weiri_store_let_go(void *arg, struct weiri_reservation *reservation)
{
    struct weiri_store *store = arg;
    unsigned first = 0;
    unsigned end = 0;
    weiri_mutex_lock(&store->mutex);
    weiri_list_remove(&reservation->kept);
    if (reservation->job.is_suspect) {
        first = store->suspects_first;
        end = store->suspects_end;
        store->suspects_end = 0;
    }
    weiri_mutex_unlock(&store->mutex);
    for (unsigned channel = first; channel < end; channel++) {
        weiri_channel_notify(&store->lock_file, channel, INT_MAX);
    }
}

/* Whether the exchange itself ends a reservation, which is kept until its answer. */
static bool is_ending(const struct weiri_exchange *exchange,
                      const struct weiri_reservation *reservation)
{
    const struct weiri_settlement *settlement = exchange->settlements;
    while (settlement != NULL &&
           (settlement->reservation != reservation || settlement->event == WEIRI_JOB_TOUCH)) {
        settlement = settlement->next;
    }
    return settlement != NULL;
}

/* The suspects that this process keeps, as an exchange that found one of a tube sees them: without
 * those that it ends. The tube's consumers are woken when one of them is let go. */
static struct weiri_suspects suspects_here(struct weiri_store *store,
                                           const struct weiri_exchange *exchange, int64_t tube)
{
    int64_t now = weiri_store_lease_now(store);
    struct weiri_suspects here = {.is_awaited =
                                      store->awaited_tube != tube && now < store->awaited_until_ns};
    weiri_mutex_lock(&store->mutex);
    for (struct weiri_list *link = store->kept.next; link != &store->kept; link = link->next) {
        const struct weiri_reservation *one = WEIRI_CONTAINER(link, struct weiri_reservation, kept);
        int64_t new_in_ns = weiri_time_sub(one->new_until_ns, now);
        if (one->job.is_suspect && !is_ending(exchange, one)) {
            here.is_there = true;
            here.is_alone = here.is_alone || one->is_alone;
            here.new_in_ns = here.new_in_ns > new_in_ns ? here.new_in_ns : new_in_ns;
        }
    }
    if (here.is_there) {
        /* Under the mutex under which the last of these is let go. */
        unsigned channel = weiri_store_channel(tube);
        bool is_first = store->suspects_end == 0 || channel < store->suspects_first;
        store->suspects_first = is_first ? channel : store->suspects_first;
        store->suspects_end = channel < store->suspects_end ? store->suspects_end : channel + 1;
    }
    weiri_mutex_unlock(&store->mutex);
    return here;
}

/* The first suspect of the tube, where it may begin; 0: none. ret_in_ns: when it may, else. One
 * that waits to run alone is awaited by those of other tubes, as long as its tube is looked at. */
static int64_t find_suspect(struct weiri_store *store, const struct weiri_exchange *exchange,
                            int64_t tube, uint32_t group_limit, int64_t *ret_in_ns)
{
    struct weiri_connection *writer = &store->writer;
    struct weiri_job_row row = {.number = 0};
    sqlite3_stmt *statement;
    *ret_in_ns = 0;
    store->awaited_until_ns = store->awaited_tube == tube ? 0 : store->awaited_until_ns;
    if (!weiri_sql_first(writer, WEIRI_SQL_FIRST_SUSPECT, WEIRI_VALUES(tube, group_limit),
                         &statement)) {
        return 0;
    }
    weiri_row_read(writer, statement, &row);
    weiri_sql_leave(statement);
    const struct weiri_suspects here = suspects_here(store, exchange, tube);
    if (weiri_suspect_begins(&here, &row.facts, exchange->attempts_max)) {
        return row.number;
    }
    *ret_in_ns = here.new_in_ns > 0 ? here.new_in_ns : WEIRI_SUSPECT_NEW_NS;
    if (weiri_runs_alone(&row.facts, row.facts.attempts + 1, exchange->attempts_max)) {
        store->awaited_tube = tube;
        store->awaited_until_ns = weiri_time_add(weiri_store_lease_now(store), AWAITED_NS);
    }
    return 0;
}

/* The reserved jobs of a group, those of this transaction too. */
static uint64_t count_running(struct weiri_store *store, const struct weir_tube_policy *policy,
                              const struct pick *pick)
{
    const char *group = pick->reservation == NULL ? NULL : pick->reservation->job.group;
    int64_t count = 0;
    if (policy->group_limit > 0 && group != NULL) {
        weiri_sql_find(&store->writer, WEIRI_SQL_COUNT_GROUP, WEIRI_VALUES(pick->row.tube, group),
                       &count);
    }
    return (uint64_t)count;
}

void weiri_burials_add(struct weiri_store *store, int64_t number,
                       const struct weiri_job_facts *facts, enum weir_status status,
                       const char *reason)
{
    if (store->burials == NULL) {
        return;
    }
    struct weir_job_id id;
    void *body;
    weiri_number_format(number, &id);
    const struct weir_job job = {.id = id.text,
                                 .tube = store->burials->tube,
                                 .reason = reason,
                                 .progress = -1,
                                 .identity = ""};
    struct weiri_reservation *buried =
        weiri_reservation_new(&store->config->allocator, &job, 0, &body);
    if (buried == NULL) {
        weiri_sql_fail(&store->writer, SQLITE_NOMEM);
        return;
    }
    weiri_job_show(&buried->job, facts);
    buried->number = number;
    buried->status = status;
    weiri_list_insert_before(&store->burials->list, &buried->link);
}

/* Reserves a picked job, or turns it away; a job whose group is full stays as it is. */
static void handle(struct weiri_store *store, struct weiri_exchange *exchange,
                   struct weiri_tally *tally, struct pick *pick,
                   const struct weiri_tube_record *tube, struct weiri_now now)
{
    struct weiri_reservation *reservation = pick->reservation;
    const struct weiri_taker taker = {store->owner, weiri_worker_enter(store),
                                      exchange->attempts_max, (uint64_t)store->era};
    struct weiri_effects effects;
    uint64_t running = count_running(store, &tube->policy, pick);
    pick->row.reason = reservation == NULL ? NULL : reservation->job.reason;
    enum weiri_write write =
        weiri_decide_reserve(&pick->row, reservation != NULL, running, tube, &taker, now, &effects);
    weiri_sql_fail(&store->writer, effects.status == WEIR_OK ? SQLITE_OK : SQLITE_CORRUPT);
    weiri_row_write(store, tally, &pick->row, write, &effects, now);
    if (reservation == NULL || !effects.is_started) {
        weiri_reservation_free(&store->config->allocator, reservation);
        return;
    }
    weiri_job_show(&reservation->job, &pick->row.facts);
    /* One that takes its machine down ends, since its attempts are flushed from the second on. */
    store->is_fleeting = store->is_fleeting && reservation->number > store->older;
    if (exchange->is_keeping) {
        reservation->is_alone =
            weiri_runs_alone(&pick->row.facts, pick->row.facts.attempts, exchange->attempts_max);
        reservation->new_until_ns = weiri_time_add(now.lease_ns, WEIRI_SUSPECT_NEW_NS);
        weiri_mutex_lock(&store->mutex);
        weiri_list_insert_before(&store->kept, &reservation->kept);
        weiri_mutex_unlock(&store->mutex);
    }
    weiri_list_insert_before(&exchange->reserved, &reservation->link);
    exchange->reserved_count++;
}

bool weiri_reserve(struct weiri_store *store, struct weiri_exchange *exchange,
                   struct weiri_tally *tally, int64_t tube, const struct weiri_tube_record *record,
                   struct weiri_now now, int64_t *ret_suspect_in_ns)
{
    uint32_t group_limit = record->policy.group_limit;
    size_t count = 1;
    size_t picked = 0;
    /* Each round has a job that is not blocked: a full group is not picked. */
    while (count > 0 && exchange->reserved_count < exchange->wanted &&
           picked - exchange->reserved_count < store->promote_max) {
        struct pick picks[PICK_MAX];
        size_t missing = exchange->wanted - exchange->reserved_count;
        size_t limit = missing < store->promote_max ? missing : store->promote_max;
        limit = limit < PICK_MAX ? limit : PICK_MAX;
        int64_t suspect = find_suspect(store, exchange, tube, group_limit, ret_suspect_in_ns);
        count = pick(store, exchange, tube, group_limit, limit, suspect, now.wall_ns, picks);
        bool is_over = false; /* behind a suspect: the next one may be before the others */
        for (size_t i = 0; i < count; i++) {
            if (store->writer.code == SQLITE_OK && !is_over) {
                picked++;
                handle(store, exchange, tally, &picks[i], record, now);
                is_over = weiri_is_suspect(&picks[i].row.facts);
            } else {
                weiri_reservation_free(&store->config->allocator, picks[i].reservation);
            }
        }
    }
    return count > 0 && exchange->reserved_count < exchange->wanted;
}
