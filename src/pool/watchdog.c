/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/watchdog.h"

#include "base/panic.h"
#include "base/time.h"
#include "pool/context.h"

static int64_t limit_of(const struct weiri_watched *watched)
{
    weiri_sync_point();
    return atomic_load_explicit(&watched->limit_ns, memory_order_seq_cst);
}

static uint64_t state_of(struct weiri_watched *watched)
{
    weiri_sync_point();
    return atomic_load_explicit(&watched->state, memory_order_acquire);
}

/* The same run in another state. */
static uint64_t turn(uint64_t state, enum weiri_watch_state next)
{
    return state - state % WEIRI_WATCH_STATES + next;
}

/* A run that was found overdue. */
struct finding {
    struct weiri_watched *watched; /* NULL: none */
    uint64_t state;
    int64_t late_ns;
};

/* A step may have made a run overdue. */
static void on_step(struct weiri_clock_user *user)
{
    struct weiri_watchdog *dog = WEIRI_CONTAINER(user, struct weiri_watchdog, user);
    weiri_mutex_lock(&dog->mutex);
    weiri_cond_signal(&dog->wake);
    weiri_mutex_unlock(&dog->mutex);
}

/* Tells about a run that is overdue, unless it has ended by now. The mutex is let go meanwhile. */
static void tell_locked(struct weiri_watchdog *dog, const struct finding *found)
    WEIRI_REQUIRES(dog->mutex)
{
    struct weiri_watched *watched = found->watched;
    /* Named before it is marked: a run whose end finds the mark waits for the name to go. */
    dog->subject = watched;
    uint64_t state = found->state;
    weiri_sync_point();
    if (atomic_compare_exchange_strong_explicit(&watched->state, &state,
                                                turn(state, WEIRI_WATCH_TELLING),
                                                memory_order_acq_rel, memory_order_relaxed)) {
        weiri_mutex_unlock(&dog->mutex);
        dog->tell(WEIRI_CONTAINER(watched, struct weir_context, watched), found->late_ns,
                  dog->tell_arg);
        weiri_mutex_lock(&dog->mutex);
        state = turn(state, WEIRI_WATCH_TELLING);
        weiri_sync_point();
        (void)atomic_compare_exchange_strong_explicit(&watched->state, &state,
                                                      turn(state, WEIRI_WATCH_TOLD),
                                                      memory_order_acq_rel, memory_order_relaxed);
    }
    dog->subject = NULL;
    weiri_cond_broadcast(&dog->told);
}

/* Finds a run that is overdue and was not told about; and else the time when the first one will be,
 * WEIR_FOREVER where nothing with a limit runs. The state is read before the limit: a limit that
 * belongs to a later run comes with a state that is not there any more. */
static struct finding look_locked(struct weiri_watchdog *dog, int64_t *ret_next)
    WEIRI_REQUIRES(dog->mutex)
{
    int64_t now = weir_clock_now(dog->clock);
    *ret_next = WEIR_FOREVER;
    struct weiri_list *end = &dog->watched;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        struct weiri_watched *watched = WEIRI_CONTAINER(link, struct weiri_watched, link);
        uint64_t state = state_of(watched);
        int64_t limit = limit_of(watched);
        if (limit == WEIR_FOREVER || state % WEIRI_WATCH_STATES != WEIRI_WATCH_RUNNING) {
            continue;
        }
        int64_t overdue = weiri_time_add(limit, dog->overdue_ns);
        if (overdue <= now) {
            return (struct finding){watched, state, now - limit};
        }
        *ret_next = overdue < *ret_next ? overdue : *ret_next;
    }
    return (struct finding){.watched = NULL};
}

/* How many limits have been noted up to now. */
static uint64_t begun_locked(struct weiri_watchdog *dog) WEIRI_REQUIRES(dog->mutex)
{
    uint64_t sum = 0;
    struct weiri_list *end = &dog->watched;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        weiri_sync_point();
        sum += atomic_load_explicit(&WEIRI_CONTAINER(link, struct weiri_watched, link)->begun,
                                    memory_order_relaxed);
    }
    return sum;
}

static void sleep_until_locked(struct weiri_watchdog *dog, int64_t until_ns)
    WEIRI_REQUIRES(dog->mutex)
{
    int64_t limit = weiri_clock_wait_limit(dog->clock, until_ns);
    while (!dog->is_ending && weir_clock_now(dog->clock) < until_ns) {
        (void)weiri_cond_wait_until(&dog->wake, limit);
    }
}

static void sleep_until_called_locked(struct weiri_watchdog *dog) WEIRI_REQUIRES(dog->mutex)
{
    weiri_sync_point();
    atomic_store_explicit(&dog->is_asleep, true, memory_order_seq_cst);
    int64_t next;
    if (look_locked(dog, &next).watched != NULL || next != WEIR_FOREVER) {
        weiri_sync_point();
        atomic_store_explicit(&dog->is_asleep, false, memory_order_relaxed);
        return;
    }
    weiri_sync_point();
    while (!dog->is_ending && atomic_load_explicit(&dog->is_asleep, memory_order_relaxed)) {
        weiri_cond_wait(&dog->wake);
        weiri_sync_point();
    }
}

static void watch(void *arg)
{
    struct weiri_watchdog *dog = arg;
    weiri_mutex_lock(&dog->mutex);
    uint64_t begun_before = 0;
    while (!dog->is_ending) {
        int64_t now = weir_clock_now(dog->clock);
        uint64_t begun = begun_locked(dog);
        int64_t next;
        struct finding found = look_locked(dog, &next);
        if (found.watched != NULL) {
            tell_locked(dog, &found);
        } else if (next == WEIR_FOREVER && begun == begun_before) {
            sleep_until_called_locked(dog);
        } else {
            int64_t latest = weiri_time_add(now, dog->overdue_ns);
            sleep_until_locked(dog, next < latest ? next : latest);
        }
        begun_before = begun;
    }
    weiri_mutex_unlock(&dog->mutex);
}

static enum weir_status init_conds(struct weiri_watchdog *dog)
{
    if (weiri_cond_init(&dog->wake, &dog->mutex) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    if (weiri_cond_init(&dog->told, &dog->mutex) != WEIR_OK) {
        weiri_cond_fini(&dog->wake);
        return WEIR_ENOMEM;
    }
    return WEIR_OK;
}

static void fini(struct weiri_watchdog *dog)
{
    weiri_clock_detach(dog->clock, &dog->user);
    weiri_cond_fini(&dog->told);
    weiri_cond_fini(&dog->wake);
    weiri_mutex_fini(&dog->mutex);
}

enum weir_status weiri_watchdog_init(struct weiri_watchdog *dog, weir_clock *clock,
                                     int64_t overdue_ns, weiri_overdue_fn *tell, void *tell_arg)
{
    dog->clock = clock;
    dog->overdue_ns = overdue_ns;
    dog->tell = tell;
    dog->tell_arg = tell_arg;
    dog->subject = NULL;
    dog->is_ending = false;
    atomic_init(&dog->is_asleep, false);
    weiri_list_init(&dog->watched);
    if (weiri_mutex_init(&dog->mutex) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    if (init_conds(dog) != WEIR_OK) {
        weiri_mutex_fini(&dog->mutex);
        return WEIR_ENOMEM;
    }
    dog->user.on_step = on_step;
    weiri_clock_attach(clock, &dog->user);
    enum weir_status status = weiri_thread_start(&dog->thread, "weir-watchdog", watch, dog);
    if (status != WEIR_OK) {
        fini(dog);
    }
    return status;
}

void weiri_watchdog_fini(struct weiri_watchdog *dog)
{
    weiri_mutex_lock(&dog->mutex);
    WEIRI_ASSERT(weiri_list_is_empty(&dog->watched));
    dog->is_ending = true;
    weiri_cond_signal(&dog->wake);
    weiri_mutex_unlock(&dog->mutex);
    weiri_thread_join(&dog->thread);
    fini(dog);
}

void weiri_watchdog_add(struct weiri_watchdog *dog, struct weiri_watched *watched)
{
    atomic_init(&watched->limit_ns, WEIR_FOREVER);
    atomic_init(&watched->state, WEIRI_WATCH_IDLE);
    atomic_init(&watched->begun, 0);
    weiri_mutex_lock(&dog->mutex);
    weiri_list_insert_before(&dog->watched, &watched->link);
    weiri_mutex_unlock(&dog->mutex);
}

void weiri_watchdog_remove(struct weiri_watchdog *dog, struct weiri_watched *watched)
{
    weiri_mutex_lock(&dog->mutex);
    weiri_list_remove(&watched->link);
    weiri_mutex_unlock(&dog->mutex);
}

void weiri_watchdog_begin(struct weiri_watched *watched)
{
    uint64_t state = atomic_load_explicit(&watched->state, memory_order_relaxed);
    weiri_sync_point();
    atomic_store_explicit(&watched->state,
                          turn(state, WEIRI_WATCH_IDLE) + WEIRI_WATCH_STATES + WEIRI_WATCH_RUNNING,
                          memory_order_release);
}

static void call(struct weiri_watchdog *dog)
{
    weiri_mutex_lock(&dog->mutex);
    weiri_sync_point();
    atomic_store_explicit(&dog->is_asleep, false, memory_order_relaxed);
    weiri_cond_signal(&dog->wake);
    weiri_mutex_unlock(&dog->mutex);
}

void weiri_watchdog_note(struct weiri_watchdog *dog, struct weiri_watched *watched,
                         int64_t limit_ns)
{
    if (limit_ns == WEIR_FOREVER) {
        weiri_sync_point();
        atomic_store_explicit(&watched->limit_ns, limit_ns, memory_order_relaxed);
        return;
    }
    uint64_t begun = atomic_load_explicit(&watched->begun, memory_order_relaxed);
    weiri_sync_point();
    atomic_store_explicit(&watched->begun, begun + 1, memory_order_relaxed);
    weiri_sync_point();
    atomic_store_explicit(&watched->limit_ns, limit_ns, memory_order_seq_cst);
    weiri_sync_point();
    if (atomic_load_explicit(&dog->is_asleep, memory_order_seq_cst)) {
        call(dog);
    }
}

void weiri_watchdog_end(struct weiri_watchdog *dog, struct weiri_watched *watched)
{
    weiri_watchdog_note(dog, watched, WEIR_FOREVER);
    uint64_t state = state_of(watched);
    weiri_sync_point();
    state = atomic_exchange_explicit(&watched->state, turn(state, WEIRI_WATCH_IDLE),
                                     memory_order_acq_rel);
    if (state % WEIRI_WATCH_STATES == WEIRI_WATCH_TELLING) {
        weiri_mutex_lock(&dog->mutex);
        while (dog->subject == watched) {
            weiri_cond_wait(&dog->told);
        }
        weiri_mutex_unlock(&dog->mutex);
    }
}
