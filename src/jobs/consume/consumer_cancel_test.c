/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Jobs that are cancelled while a consumer has them. The TTR is an hour: no renewal comes by
 * itself. A back end in front of the store says what is cancelled, so that a test chooses the
 * moment. */
#include <poll.h>
#include <stdatomic.h>

#include "base/error.h"
#include "support/consumer.h"

static struct {
    struct weiri_broker_ops ops;
    const struct weiri_broker_ops *store;
    _Atomic uint32_t word;
    atomic_int readings;   /* of the word, by any thread */
    atomic_int exchanges;  /* by any thread */
    atomic_int renewals;   /* that were written */
    atomic_int answers;    /* of renewals: it was cancelled */
    atomic_int returns;    /* of jobs that were cancelled */
    atomic_int asked;      /* the number of a job that was cancelled; 0: none */
    atomic_int failures;   /* so many exchanges with renewals fail */
    atomic_bool is_late;   /* the next exchange that reserves is told of after renewals */
    atomic_bool is_waited; /* that one has come */
} front;

static bool was_asked(const struct weiri_settlement *settlement)
{
    return atomic_load(&front.asked) != 0 &&
           settlement->reservation->number == atomic_load(&front.asked);
}

static uint32_t read_word(void *store, const struct weiri_mark *mark)
{
    if (mark != NULL) {
        return front.store->mark(store, mark);
    }
    uint32_t word = atomic_load(&front.word);
    atomic_fetch_add(&front.readings, 1);
    return word;
}

static enum weir_status exchange(void *store, struct weiri_exchange *exchange,
                                 struct weir_error *ret_error)
{
    bool has_touches =
        exchange->settlements != NULL && exchange->settlements->event == WEIRI_JOB_TOUCH;
    atomic_fetch_add(&front.exchanges, 1);
    if (has_touches && atomic_load(&front.failures) > 0) {
        atomic_fetch_sub(&front.failures, 1);
        return weiri_fail(ret_error, WEIR_ETIMEDOUT, "as a test wants it");
    }
    enum weir_status status = front.store->exchange(store, exchange, ret_error);
    for (struct weiri_settlement *i = exchange->settlements; i != NULL; i = i->next) {
        bool is_touch = i->event == WEIRI_JOB_TOUCH;
        if (i->status == WEIR_OK && i->event != WEIRI_JOB_DONE && was_asked(i)) {
            i->status = WEIR_ECANCELED;
            atomic_fetch_add(&front.answers, is_touch);
            atomic_fetch_add(&front.returns, i->event == WEIRI_JOB_RETURN);
        }
        atomic_fetch_add(&front.renewals, is_touch);
    }
    if (!has_touches && exchange->settlements != NULL && exchange->reserved_count > 0 &&
        atomic_exchange(&front.is_late, false)) {
        /* What it has reserved is cancelled, and renewals for that are made, before it is told. */
        int before = atomic_load(&front.renewals);
        struct weiri_list *link = exchange->reserved.next;
        atomic_store(&front.asked,
                     (int)WEIRI_CONTAINER(link, struct weiri_reservation, link)->number);
        atomic_fetch_add(&front.word, 1);
        while (atomic_load(&front.renewals) == before) {
            (void)poll(NULL, 0, 1);
        }
        atomic_store(&front.is_waited, true);
    }
    return status;
}

static void open_scene(struct scene *scene)
{
    scene_open(scene);
    front.store = scene->broker->ops;
    front.ops = *front.store;
    front.ops.mark = read_word;
    front.ops.exchange = exchange;
    scene->broker->ops = &front.ops; /* before another thread reads it */
    scene->broker->config.can |= WEIRI_CAN(CONTROL);
}

static void put(const struct scene *scene)
{
    (void)jobs_put(scene->broker, "t", "x",
                   &(struct weir_put_options){.ttr_ns = WEIR_SECONDS(3600)});
}

static void cancel(int number)
{
    atomic_store(&front.asked, number);
    atomic_fetch_add(&front.word, 1);
}

static void start(struct scene *scene, weir_handler_fn *handler)
{
    struct weir_consumer_options options = scene_options_of(scene, handler);
    options.flags = 0;
    scene_start(scene, &options);
}

/* Waits until the word was read so often since. */
static void wait_readings(int count)
{
    int until = atomic_load(&front.readings) + count;
    while (atomic_load(&front.readings) < until) {
        (void)poll(NULL, 0, 1);
    }
}

static void wait_outcome(struct scene *scene, enum weir_run_outcome outcome)
{
    weiri_mutex_lock(&scene->mutex);
    while (scene->outcomes[outcome] == 0) {
        weiri_cond_wait(&scene->changed);
    }
    weiri_mutex_unlock(&scene->mutex);
}

/* Waits until a job that was cancelled was ended, or given back since it had not begun. */
static void wait_cancel(struct scene *scene)
{
    bool has_ended = false;
    while (!has_ended && atomic_load(&front.returns) == 0) {
        weiri_mutex_lock(&scene->mutex);
        has_ended = scene->outcomes[WEIR_RUN_CANCELED] > 0;
        weiri_mutex_unlock(&scene->mutex);
        (void)poll(NULL, 0, 1);
    }
}

/* The first run sleeps until its context ends; all others are done. */
static int sleep_first(weir_context *context, const struct weir_job *job, void *arg)
{
    return strcmp(job->id, "1") == 0 ? scene_sleep_for_ever(context, job, arg) : WEIR_OK;
}

TEST(asked, "a hung job of a full consumer is asked to end without a renewal that is due")
{
    struct scene scene;
    open_scene(&scene);
    put(&scene);
    put(&scene);
    start(&scene, sleep_first);
    scene_wait_inside(&scene);
    cancel(1);
    wait_outcome(&scene, WEIR_RUN_DONE); /* the other one has its slot */
    CHECK_INT(scene.outcomes[WEIR_RUN_CANCELED], ==, 1);
    CHECK_INT(scene.last_delay_ns, ==, 0);
    CHECK_INT(atomic_load(&front.renewals), ==, 1);
    scene_close(&scene);
}

TEST(forgotten, "the delay of a job that was cancelled begins anew")
{
    struct scene scene;
    weir_limiter *limiter;
    open_scene(&scene);
    put(&scene);
    CHECK_STATUS(weir_limiter_exponential_new(WEIR_MS(1), WEIR_SECONDS(1), NULL, &limiter, NULL),
                 WEIR_OK);
    struct weir_consumer_options options = scene_options_of(&scene, sleep_first);
    options.flags = 0;
    options.limiter = limiter;
    scene_start(&scene, &options);
    scene_wait_inside(&scene);
    cancel(1);
    wait_outcome(&scene, WEIR_RUN_CANCELED);
    CHECK_INT(weir_limiter_num_requeues(limiter, weir_key_string("1")), ==, 0);
    scene_close(&scene);
    CHECK_STATUS(weir_limiter_free(limiter), WEIR_OK);
}

TEST(asked_with_free_slots, "and of one that waits for more jobs")
{
    struct scene scene;
    open_scene(&scene);
    put(&scene);
    struct weir_consumer_options options = scene_options_of(&scene, sleep_first);
    options.flags = 0;
    options.workers = 3;
    scene_start(&scene, &options);
    scene_wait_inside(&scene);
    cancel(1);
    wait_outcome(&scene, WEIR_RUN_CANCELED);
    CHECK_INT(atomic_load(&front.renewals), ==, 1);
    CHECK_INT(atomic_load(&scene.consumer->long_sleeps), ==, 0);
    scene_close(&scene);
}

TEST(asked_while_ending, "and of one that ends, and lets its jobs end")
{
    struct scene scene;
    open_scene(&scene);
    put(&scene);
    start(&scene, sleep_first);
    scene_wait_inside(&scene);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_DRAIN, 0, NULL), WEIR_OK);
    cancel(1);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.outcomes[WEIR_RUN_CANCELED], ==, 1);
    CHECK_INT(atomic_load(&front.returns), ==, 0); /* it is a run, and counts */
    scene_close(&scene);
}

/* Goes on after it was asked to end, until the test lets it. */
static int ignore_context(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)scene_sleep_for_ever(context, job, arg);
    return scene_hold(context, job, arg) == WEIR_OK ? WEIR_ECANCELED : WEIR_OK;
}

TEST(renewed_meanwhile, "one that was asked to end, and does not, keeps its reservation")
{
    struct scene scene;
    open_scene(&scene);
    put(&scene);
    start(&scene, ignore_context);
    scene_wait_inside(&scene);
    cancel(1);
    weiri_mutex_lock(&scene.mutex);
    while (scene.runs < 2) { /* it knows, and goes on */
        weiri_cond_wait(&scene.changed);
    }
    weiri_mutex_unlock(&scene.mutex);
    cancel(1);
    wait_readings(4); /* the last one behind the pass that the word began */
    CHECK_INT(atomic_load(&front.renewals), ==, 2);
    CHECK_INT(atomic_load(&front.answers), ==, 2);
    scene_let_go(&scene);
    wait_outcome(&scene, WEIR_RUN_CANCELED);
    scene_close(&scene);
}

/* After the first run, tells of it only once the next job was asked. */
static void report_late(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                        int64_t run_ns, int64_t delay_ns, void *arg)
{
    if (strcmp(job->id, "1") == 0) {
        cancel(2);
        while (atomic_load(&front.answers) == 0) {
            (void)poll(NULL, 0, 1);
        }
    }
    scene_note_run(job, outcome, status, run_ns, delay_ns, arg);
}

TEST(asked_before_begin, "one that was cancelled before its handler began is not run")
{
    struct scene scene;
    open_scene(&scene);
    put(&scene);
    put(&scene);
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    options.flags = 0;
    options.after_run = report_late;
    scene_start(&scene, &options);
    wait_outcome(&scene, WEIR_RUN_DONE);
    /* The store knows of no verdict, and has it ready again. */
    weiri_mutex_lock(&scene.mutex);
    while (scene.outcomes[WEIR_RUN_DONE] < 2) {
        weiri_cond_wait(&scene.changed);
    }
    weiri_mutex_unlock(&scene.mutex);
    CHECK_INT(atomic_load(&front.returns), ==, 1);
    CHECK_INT(scene.runs, ==, 2);
    scene_close(&scene);
}

/* The first run is held; all others sleep until their contexts end. */
static int hold_first(weir_context *context, const struct weir_job *job, void *arg)
{
    return strcmp(job->id, "1") == 0 ? scene_hold(context, job, arg)
                                     : scene_sleep_for_ever(context, job, arg);
}

TEST(asked_before_list,
     "one that was cancelled after its reservation, and before the consumer knew "
     "of it, is asked as well")
{
    struct scene scene;
    open_scene(&scene);
    put(&scene);
    put(&scene);
    start(&scene, hold_first);
    scene_wait_inside(&scene);
    atomic_store(&front.is_late, true);
    scene_let_go(&scene);
    wait_cancel(&scene);
    CHECK(atomic_load(&front.is_waited));
    scene_close(&scene);
}

TEST(failed_renewal, "a renewal for it that fails is made again")
{
    struct scene scene;
    open_scene(&scene);
    put(&scene);
    start(&scene, sleep_first);
    scene_wait_inside(&scene);
    atomic_store(&front.failures, 3);
    cancel(1);
    wait_outcome(&scene, WEIR_RUN_CANCELED);
    CHECK_INT(atomic_load(&front.failures), ==, 0);
    scene_close(&scene);
}

TEST(no_write_without_cancel, "while nobody cancels the word is read, and nothing is written")
{
    struct scene scene;
    open_scene(&scene);
    put(&scene);
    start(&scene, scene_hold);
    scene_wait_inside(&scene);
    wait_readings(1);
    int exchanges = atomic_load(&front.exchanges);
    wait_readings(3);
    CHECK_INT(atomic_load(&front.exchanges), ==, exchanges);
    atomic_fetch_add(&front.word, 1); /* another consumer's job: one renewal of all */
    wait_readings(4);
    CHECK_INT(atomic_load(&front.exchanges), ==, exchanges + 1);
    CHECK_INT(atomic_load(&front.renewals), ==, 1);
    scene_let_go(&scene);
    wait_outcome(&scene, WEIR_RUN_DONE);
    scene_close(&scene);
}

TEST(no_readings_without_jobs, "a consumer that has no job does not read it")
{
    struct scene scene;
    open_scene(&scene);
    start(&scene, scene_count_run);
    bool is_waiting = false;
    while (!is_waiting) {
        weiri_mutex_lock(&scene.consumer->mutex);
        is_waiting = scene.consumer->is_waiting;
        weiri_mutex_unlock(&scene.consumer->mutex);
    }
    CHECK_INT(atomic_load(&front.readings), ==, 1);
    scene_close(&scene);
}
