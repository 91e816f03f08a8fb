/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_EXPLORER_PLACE_H
#define WEIR_EXPLORER_PLACE_H

/* base/sync.h includes this in a build for the schedule explorer: each of its calls first says
 * where it stands, so that a trace can name the line. */

struct explorer_place {
    const char *file;
    const char *function;
    int line;
};
extern struct explorer_place explorer_place;

#define EXPLORER_HERE()                                                                            \
    ((void)(explorer_place = (struct explorer_place){__FILE__, __func__, __LINE__}))

#ifndef EXPLORER_IMPLEMENTS_SYNC
#    define weiri_mutex_lock(mutex) (EXPLORER_HERE(), weiri_mutex_lock(mutex))
#    define weiri_mutex_unlock(mutex) (EXPLORER_HERE(), weiri_mutex_unlock(mutex))
#    define weiri_cond_wait(cond) (EXPLORER_HERE(), weiri_cond_wait(cond))
#    define weiri_cond_wait_until(cond, limit_ns)                                                  \
        (EXPLORER_HERE(), weiri_cond_wait_until(cond, limit_ns))
#    define weiri_cond_signal(cond) (EXPLORER_HERE(), weiri_cond_signal(cond))
#    define weiri_cond_broadcast(cond) (EXPLORER_HERE(), weiri_cond_broadcast(cond))
#    define weiri_thread_start(thread, name, run, arg)                                             \
        (EXPLORER_HERE(), weiri_thread_start(thread, name, run, arg))
#    define weiri_thread_join(thread) (EXPLORER_HERE(), weiri_thread_join(thread))
#    define weiri_sync_point() (EXPLORER_HERE(), weiri_sync_point())
#endif

#endif
