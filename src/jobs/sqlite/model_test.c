/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Random operations on a store and on a naive model of it (an array that is searched from end to
 * end), on a stepped clock. After each operation its results are compared, and every count, listing
 * and recount of the rows. The model's rules are written out here, not taken from
 * jobs/core/state.c. */
#include "jobs/sqlite/store.h"

#include <inttypes.h>

#include "support/jobs.h"

enum {
    TUBES = 3,
    JOBS_MAX = 400,
    HELD_MAX = 60
};

static const char *const tubes[TUBES] = {"a", "b", "c"};

struct model_job {
    int64_t number; /* 0: gone */
    int tube;
    enum weir_job_state state; /* delayed even when due */
    int32_t priority;
    int64_t run_at;
    int64_t ttr;
    int64_t lease;
    uint64_t token;
    uint32_t attempts;
    uint32_t attempts_max; /* of who reserved it last */
};

struct model {
    struct jobs_wall wall;
    weir_broker *broker;
    struct model_job jobs[JOBS_MAX];
    int64_t next_number;
    uint64_t put[TUBES], done[TUBES], retried[TUBES], expired[TUBES];
    struct weiri_reservation *held[HELD_MAX]; /* also some that ended */
    size_t held_count;
};

static int64_t now(struct model *m)
{
    return jobs_wall_now(&m->wall);
}

static struct model_job *find(struct model *m, int64_t number)
{
    for (size_t i = 0; i < JOBS_MAX; i++) {
        if (m->jobs[i].number == number && number != 0) {
            return &m->jobs[i];
        }
    }
    return NULL;
}

static size_t count_free(struct model *m)
{
    size_t count = 0;
    for (size_t i = 0; i < JOBS_MAX; i++) {
        count += m->jobs[i].number == 0;
    }
    return count;
}

static enum weir_job_state shown_state(struct model *m, const struct model_job *job)
{
    return job->state == WEIR_JOB_DELAYED && job->run_at <= now(m) ? WEIR_JOB_READY : job->state;
}

/* Whether a comes before b among the jobs of a state. */
static bool precedes(const struct model_job *a, const struct model_job *b,
                     enum weir_job_state state)
{
    if (state == WEIR_JOB_READY && a->priority != b->priority) {
        return a->priority < b->priority;
    }
    int64_t x = state == WEIR_JOB_RESERVED ? a->lease : state == WEIR_JOB_BURIED ? 0 : a->run_at;
    int64_t y = state == WEIR_JOB_RESERVED ? b->lease : state == WEIR_JOB_BURIED ? 0 : b->run_at;
    return x != y ? x < y : a->number < b->number;
}

/* The first job of a state after another in order; NULL: none. */
static struct model_job *next_of(struct model *m, int tube, enum weir_job_state state,
                                 const struct model_job *after)
{
    struct model_job *best = NULL;
    for (size_t i = 0; i < JOBS_MAX; i++) {
        struct model_job *job = &m->jobs[i];
        if (job->number != 0 && job->tube == tube && shown_state(m, job) == state &&
            (after == NULL || precedes(after, job, state)) &&
            (best == NULL || precedes(job, best, state))) {
            best = job;
        }
    }
    return best;
}

/* --- operations --- */

static void do_put(struct model *m)
{
    size_t count = 1 + test_random_below(3);
    if (count_free(m) < count) {
        return;
    }
    int tube = (int)test_random_below(TUBES);
    struct weir_put_options options = {0};
    options.priority = (int32_t)test_random_below(3) - 1;
    options.delay_ns = test_random_below(2) == 0 ? 0 : (int64_t)test_random_below(2000);
    options.ttr_ns = WEIR_MS(100) + (int64_t)test_random_below(500);
    const struct weir_body bodies[3] = {{"1", 1, NULL}, {"22", 2, NULL}, {"333", 3, NULL}};
    struct weir_job_id ids[3];
    CHECK_STATUS(weir_broker_put(m->broker, tubes[tube], bodies, count, &options, ids, NULL),
                 WEIR_OK);
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (m->jobs[k].number != 0) {
            k++;
        }
        int64_t run_at = now(m) + options.delay_ns;
        m->jobs[k] = (struct model_job){
            .number = m->next_number++,
            .tube = tube,
            .state = run_at > now(m) ? WEIR_JOB_DELAYED : WEIR_JOB_READY,
            .priority = options.priority,
            .run_at = run_at,
            .ttr = options.ttr_ns,
        };
        m->put[tube]++;
        CHECK_INT(strtoll(ids[i].text, NULL, 10), ==, m->jobs[k].number);
    }
}

static void model_collect(struct model *m, int tube, uint32_t attempts_max)
{
    for (size_t i = 0; i < JOBS_MAX; i++) {
        struct model_job *job = &m->jobs[i];
        if (job->number == 0 || job->tube != tube) {
            continue;
        }
        if (job->state == WEIR_JOB_RESERVED && job->lease <= now(m)) {
            uint32_t most = job->attempts_max < attempts_max ? job->attempts_max : attempts_max;
            job->state = job->attempts >= most ? WEIR_JOB_BURIED : WEIR_JOB_READY;
            job->lease = 0;
            m->expired[tube]++;
        } else if (job->state == WEIR_JOB_DELAYED && job->run_at <= now(m)) {
            job->state = WEIR_JOB_READY;
        }
    }
}

static int64_t model_next(struct model *m, int tube, bool *ret_is_empty)
{
    int64_t next = WEIR_FOREVER;
    *ret_is_empty = true;
    for (size_t i = 0; i < JOBS_MAX; i++) {
        const struct model_job *job = &m->jobs[i];
        if (job->number == 0 || job->tube != tube) {
            continue;
        }
        int64_t time = job->state == WEIR_JOB_DELAYED    ? job->run_at
                       : job->state == WEIR_JOB_RESERVED ? job->lease
                                                         : WEIR_FOREVER;
        next = time < next ? time : next;
        *ret_is_empty = *ret_is_empty && job->state == WEIR_JOB_BURIED;
    }
    return next;
}

static void keep(struct model *m, struct weiri_reservation *reservation)
{
    if (m->held_count == HELD_MAX) {
        size_t i = test_random_below(HELD_MAX);
        jobs_free_one(m->broker, m->held[i]);
        m->held[i] = reservation;
    } else {
        m->held[m->held_count++] = reservation;
    }
}

static void do_reserve(struct model *m)
{
    int tube = (int)test_random_below(TUBES);
    size_t wanted = 1 + test_random_below(5);
    uint32_t attempts_max = 1 + (uint32_t)test_random_below(4);
    struct weiri_list list;
    struct weiri_exchange exchange =
        jobs_reserve(m->broker, tubes[tube], wanted, attempts_max, &list);
    model_collect(m, tube, attempts_max);
    size_t count = 0;
    while (!weiri_list_is_empty(&list)) {
        struct weiri_reservation *got = jobs_first(&list);
        weiri_list_remove(&got->link);
        struct model_job *job = next_of(m, tube, WEIR_JOB_READY, NULL);
        CHECK(job != NULL);
        job->state = WEIR_JOB_RESERVED;
        job->attempts++;
        job->token++;
        job->lease = now(m) + job->ttr;
        job->attempts_max = attempts_max;
        CHECK_INT(got->number, ==, job->number);
        CHECK_INT(got->job.attempts, ==, job->attempts);
        CHECK_INT(got->token, ==, job->token);
        CHECK_INT(got->job.run_at_ns, ==, job->run_at);
        CHECK_INT(got->job.priority, ==, job->priority);
        keep(m, got);
        count++;
    }
    CHECK_INT(count, ==, exchange.reserved_count);
    CHECK(count == wanted || next_of(m, tube, WEIR_JOB_READY, NULL) == NULL);
    if (count < wanted) {
        bool is_empty;
        int64_t next = model_next(m, tube, &is_empty);
        int64_t left = next < now(m) ? 0 : next - now(m);
        CHECK_INT(exchange.next_in_ns, ==, next == WEIR_FOREVER ? next : left);
        CHECK_INT(exchange.is_empty, ==, is_empty);
    }
}

static void do_settle(struct model *m)
{
    if (m->held_count == 0) {
        return;
    }
    size_t i = test_random_below(m->held_count);
    struct weiri_reservation *held = m->held[i];
    enum weiri_job_event event = (enum weiri_job_event)(
        WEIRI_JOB_TOUCH + (int)test_random_below(WEIRI_JOB_BURY - WEIRI_JOB_TOUCH + 1));
    int64_t run_at = now(m) + (int64_t)test_random_below(1000) - 200;
    enum weir_status status = jobs_settle(m->broker, held, event, run_at, "reason");
    struct model_job *job = find(m, held->number);
    bool is_ours = job != NULL && job->state == WEIR_JOB_RESERVED && job->token == held->token;
    CHECK_STATUS(status, is_ours ? WEIR_OK : WEIR_ELEASELOST);
    if (is_ours) {
        job->lease = event == WEIRI_JOB_TOUCH ? now(m) + job->ttr : 0;
        switch (event) {
        case WEIRI_JOB_DONE:
            m->done[job->tube]++;
            job->number = 0;
            break;
        case WEIRI_JOB_RELEASE:
            m->retried[job->tube]++;
            job->run_at = run_at;
            job->state = run_at > now(m) ? WEIR_JOB_DELAYED : WEIR_JOB_READY;
            break;
        case WEIRI_JOB_RETURN:
            job->attempts--;
            job->run_at = run_at > now(m) ? run_at : job->run_at;
            job->state = run_at > now(m) ? WEIR_JOB_DELAYED : WEIR_JOB_READY;
            break;
        case WEIRI_JOB_BURY:
            job->state = WEIR_JOB_BURIED;
            break;
        default:
            break;
        }
    }
    if (event != WEIRI_JOB_TOUCH && test_random_below(4) != 0) {
        jobs_free_one(m->broker, held);
        m->held[i] = m->held[--m->held_count];
    }
}

static void do_remove(struct model *m)
{
    char texts[3][32];
    const char *ids[3];
    size_t expected = 0;
    size_t count = test_random_below(4);
    for (size_t i = 0; i < count; i++) {
        int64_t number = 1 + (int64_t)test_random_below((uint64_t)m->next_number);
        (void)snprintf(texts[i], sizeof(texts[i]), "%" PRId64, number);
        ids[i] = texts[i];
        struct model_job *job = find(m, number);
        if (job != NULL && job->state != WEIR_JOB_RESERVED) {
            job->number = 0;
            expected++;
        }
    }
    CHECK_INT(jobs_remove(m->broker, ids, count), ==, expected);
}

static void do_kick(struct model *m)
{
    int tube = (int)test_random_below(TUBES);
    size_t count = test_random_below(4);
    size_t expected = 0;
    while (expected < count) {
        struct model_job *job = next_of(m, tube, WEIR_JOB_BURIED, NULL);
        if (job == NULL) {
            break;
        }
        job->state = WEIR_JOB_READY;
        expected++;
    }
    size_t kicked = 99;
    CHECK_STATUS(weir_broker_kick(m->broker, tubes[tube], count, &kicked, NULL), WEIR_OK);
    CHECK_INT(kicked, ==, expected);
}

static void quicken(struct model *m)
{
    /* Durability is not tested here, and thousands of fsyncs would take most of the time. */
    struct weiri_store *store = m->broker->store;
    CHECK_INT(sqlite3_exec(store->writer.db, "PRAGMA synchronous = OFF", NULL, NULL, NULL), ==,
              SQLITE_OK);
}

static void do_reopen(struct model *m)
{
    weir_broker_close(m->broker);
    m->broker = jobs_store_open("jobs.db", &m->wall);
    quicken(m);
}

/* --- comparison --- */

struct listing {
    struct model *model;
    int tube;
    enum weir_job_state state;
    const struct model_job *last;
    size_t count;
};

static int compare_listed(const struct weir_job *job, void *arg)
{
    struct listing *listing = arg;
    const struct model_job *expected =
        next_of(listing->model, listing->tube, listing->state, listing->last);
    CHECK(expected != NULL);
    CHECK_INT(strtoll(job->id, NULL, 10), ==, expected->number);
    CHECK_INT(job->state, ==, listing->state);
    CHECK_INT(job->attempts, ==, expected->attempts);
    listing->last = expected;
    listing->count++;
    return 0;
}

/* The contents of the tables, counted row by row. */
static int64_t recount(struct model *m, int tube, enum weir_job_state state)
{
    struct weiri_store *store = m->broker->store;
    char sql[160];
    (void)snprintf(sql, sizeof(sql),
                   "SELECT count(*) FROM jobs j, tubes t WHERE j.tube = t.id AND "
                   "t.name = '%s' AND j.state = %d",
                   tubes[tube], (int)state);
    sqlite3_stmt *statement;
    CHECK_INT(sqlite3_prepare_v2(store->writer.db, sql, -1, &statement, NULL), ==, SQLITE_OK);
    CHECK_INT(sqlite3_step(statement), ==, SQLITE_ROW);
    int64_t count = sqlite3_column_int64(statement, 0);
    CHECK_INT(sqlite3_finalize(statement), ==, SQLITE_OK);
    return count;
}

static void compare_tube(struct model *m, int tube, bool is_thorough)
{
    uint64_t shown[5] = {0};
    int64_t stored[5] = {0};
    for (size_t i = 0; i < JOBS_MAX; i++) {
        if (m->jobs[i].number != 0 && m->jobs[i].tube == tube) {
            shown[shown_state(m, &m->jobs[i])]++;
            stored[m->jobs[i].state]++;
        }
    }
    struct weir_tube_counts counts = jobs_counts(m->broker, tubes[tube]);
    CHECK_INT(counts.delayed, ==, shown[WEIR_JOB_DELAYED]);
    CHECK_INT(counts.ready, ==, shown[WEIR_JOB_READY]);
    CHECK_INT(counts.reserved, ==, shown[WEIR_JOB_RESERVED]);
    CHECK_INT(counts.buried, ==, shown[WEIR_JOB_BURIED]);
    CHECK_INT(counts.put, ==, m->put[tube]);
    CHECK_INT(counts.done, ==, m->done[tube]);
    CHECK_INT(counts.retried, ==, m->retried[tube]);
    CHECK_INT(counts.expired, ==, m->expired[tube]);
    for (int state = WEIR_JOB_DELAYED; state <= WEIR_JOB_BURIED && is_thorough; state++) {
        CHECK_INT(recount(m, tube, (enum weir_job_state)state), ==, stored[state]);
        struct listing listing = {m, tube, (enum weir_job_state)state, NULL, 0};
        CHECK_STATUS(weir_broker_peek(m->broker, tubes[tube], (enum weir_job_state)state, SIZE_MAX,
                                      compare_listed, &listing, NULL),
                     WEIR_OK);
        CHECK_INT(listing.count, ==, shown[state]);
    }
}

static void step(struct model *m)
{
    static void (*const operations[])(struct model * m) = {
        do_put,    do_put,    do_put,    do_reserve, do_reserve, do_reserve, do_settle,
        do_settle, do_settle, do_settle, do_settle,  do_remove,  do_kick,
    };
    uint64_t dice = test_random_below(400);
    if (dice == 0) {
        do_reopen(m);
    } else if (dice < 60) {
        jobs_wall_step(&m->wall, (int64_t)test_random_below(1000));
    } else if (dice < 66) {
        jobs_wall_step(&m->wall, WEIR_MS(100));
    } else {
        operations[dice % (sizeof(operations) / sizeof(operations[0]))](m);
    }
}

TEST(random_operations, "a store and its model agree after every one of thousands of operations")
{
    struct model *m = calloc(1, sizeof(*m));
    CHECK(m != NULL);
    m->wall.now_ns = JOBS_WALL_START;
    m->next_number = 1;
    m->broker = jobs_store_open("jobs.db", &m->wall);
    quicken(m);
    uint64_t steps = test_scaled(4000);
    for (uint64_t i = 0; i < steps; i++) {
        step(m);
        for (int tube = 0; tube < TUBES; tube++) {
            compare_tube(m, tube, i % 16 == 0);
        }
    }
    uint64_t expired = m->expired[0] + m->expired[1] + m->expired[2];
    uint64_t done = m->done[0] + m->done[1] + m->done[2];
    CHECK_INT(expired, >, 0);
    CHECK_INT(done, >, 0);
    for (size_t i = 0; i < m->held_count; i++) {
        jobs_free_one(m->broker, m->held[i]);
    }
    weir_broker_close(m->broker);
    free(m);
}
