/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/park.h"

#ifdef WEIRI_EXPLORER

enum weir_status weiri_parker_init(struct weiri_parker *parker)
{
    parker->is_set = false;
    enum weir_status status = weiri_mutex_init(&parker->mutex);
    return status != WEIR_OK ? status : weiri_cond_init(&parker->cond, &parker->mutex);
}

void weiri_parker_fini(struct weiri_parker *parker)
{
    weiri_cond_fini(&parker->cond);
    weiri_mutex_fini(&parker->mutex);
}

void weiri_parker_sleep(struct weiri_parker *parker, int64_t limit_ns)
{
    weiri_mutex_lock(&parker->mutex);
    if (!parker->is_set && limit_ns == INT64_MAX) {
        weiri_cond_wait(&parker->cond);
    } else if (!parker->is_set) {
        (void)weiri_cond_wait_until(&parker->cond, limit_ns);
    }
    weiri_mutex_unlock(&parker->mutex);
}

void weiri_parker_set(struct weiri_parker *parker)
{
    weiri_mutex_lock(&parker->mutex);
    parker->is_set = true;
    weiri_cond_signal(&parker->cond);
    weiri_mutex_unlock(&parker->mutex);
}

void weiri_parker_wake(struct weiri_parker *parker)
{
    (void)parker; /* Here the one who sets it must wake too: nothing may be touched later. */
}

#else

#    include "base/futex.h"

enum weir_status weiri_parker_init(struct weiri_parker *parker)
{
    atomic_init(&parker->is_set, 0);
    return WEIR_OK;
}

void weiri_parker_fini(struct weiri_parker *parker)
{
    (void)parker;
}

void weiri_parker_sleep(struct weiri_parker *parker, int64_t limit_ns)
{
    if (atomic_load_explicit(&parker->is_set, memory_order_acquire) == 0) {
        (void)weiri_futex_wait(&parker->is_set, 0, limit_ns);
    }
}

void weiri_parker_set(struct weiri_parker *parker)
{
    atomic_store_explicit(&parker->is_set, 1, memory_order_release);
}

void weiri_parker_wake(struct weiri_parker *parker)
{
    weiri_futex_wake(&parker->is_set, 1);
}

#endif
