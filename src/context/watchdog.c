/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "context/watchdog.h"

#include "base/clock.h"
#include "base/panic.h"
#include "base/time.h"
#include "context/context.h"

/* The first run that is overdue and was not told of; NULL: none, and *ret_next is when one may be.
 */
static struct weiri_watched *find(const struct weiri_watchdog *dog, int64_t now_ns,
                                  int64_t *ret_next)
{
    *ret_next = weiri_time_add(now_ns, dog->overdue_ns);
    for (struct weiri_list *link = dog->watched.next; link != &dog->watched; link = link->next) {
        struct weiri_watched *watched = WEIRI_CONTAINER(link, struct weiri_watched, link);
        int64_t overdue = weiri_time_add(watched->limit_ns, dog->overdue_ns);
        if (!watched->is_told && overdue <= now_ns) {
            return watched;
        }
        if (!watched->is_told && overdue < *ret_next) {
            *ret_next = overdue;
        }
    }
    return NULL;
}

static void tell(struct weiri_watchdog *dog, struct weiri_watched *watched, int64_t late_ns)
    WEIRI_NO_TSA
{
    struct weiri_mutex *mutex = dog->contexts->mutex;
    watched->is_told = true;
    dog->subject = watched;
    weiri_mutex_unlock(mutex);
    dog->tell(WEIRI_CONTAINER(watched, struct weir_context, watched), late_ns, dog->tell_arg);
    weiri_mutex_lock(mutex);
    dog->subject = NULL;
    weiri_cond_broadcast(&dog->told);
}

static void watch(void *arg)
{
    struct weiri_watchdog *dog = arg;
    weir_clock *clock = dog->contexts->clock;
    weiri_mutex_lock(dog->contexts->mutex);
    uint64_t notes = 0;
    while (!dog->is_ending) {
        int64_t now = weir_clock_now(clock);
        int64_t next;
        struct weiri_watched *found = find(dog, now, &next);
        if (found != NULL) {
            tell(dog, found, now - found->limit_ns);
            continue;
        }
        bool is_needed = !weiri_list_is_empty(&dog->watched) || dog->notes != notes;
        notes = dog->notes;
        int64_t limit = is_needed ? weiri_clock_wait_limit(clock, next) : INT64_MAX;
        dog->is_asleep = limit == INT64_MAX;
        (void)weiri_cond_wait_until(&dog->wake, limit);
    }
    weiri_mutex_unlock(dog->contexts->mutex);
}

enum weir_status weiri_watchdog_init(struct weiri_watchdog *dog, struct weiri_contexts *contexts,
                                     int64_t overdue_ns, weiri_overdue_fn *tell_fn, void *tell_arg)
{
    *dog = (struct weiri_watchdog){
        .contexts = contexts, .overdue_ns = overdue_ns, .tell = tell_fn, .tell_arg = tell_arg};
    weiri_list_init(&dog->watched);
    weiri_cond_init(&dog->wake, contexts->mutex);
    weiri_cond_init(&dog->told, contexts->mutex);
    enum weir_status status = weiri_thread_start(&dog->thread, "weir-watchdog", watch, dog);
    if (status == WEIR_OK) {
        contexts->watchdog = dog;
    } else {
        weiri_cond_fini(&dog->told);
        weiri_cond_fini(&dog->wake);
    }
    return status;
}

void weiri_watchdog_fini(struct weiri_watchdog *dog)
{
    struct weiri_mutex *mutex = dog->contexts->mutex;
    weiri_mutex_lock(mutex);
    WEIRI_ASSERT(weiri_list_is_empty(&dog->watched));
    dog->is_ending = true;
    weiri_cond_signal(&dog->wake);
    weiri_mutex_unlock(mutex);
    weiri_thread_join(&dog->thread);
    weiri_cond_fini(&dog->told);
    weiri_cond_fini(&dog->wake);
}

void weiri_watchdog_step_locked(struct weiri_watchdog *dog)
{
    weiri_mutex_assert_held(dog->contexts->mutex);
    weiri_cond_signal(&dog->wake);
}

void weiri_watchdog_watch_locked(struct weiri_watchdog *dog, struct weiri_watched *watched,
                                 int64_t limit_ns)
{
    weiri_mutex_assert_held(dog->contexts->mutex);
    weiri_list_remove(&watched->link);
    watched->limit_ns = limit_ns;
    if (limit_ns == WEIR_FOREVER) {
        return;
    }
    weiri_list_insert_before(&dog->watched, &watched->link);
    dog->notes++;
    if (dog->is_asleep) {
        dog->is_asleep = false;
        weiri_cond_signal(&dog->wake);
    }
}

void weiri_watchdog_end_locked(struct weiri_watchdog *dog, struct weiri_watched *watched)
{
    weiri_mutex_assert_held(dog->contexts->mutex);
    weiri_list_remove(&watched->link);
    while (dog->subject == watched) {
        weiri_cond_wait(&dog->told);
    }
}
