/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/pool_snapshot.h>

#include "conformance/bad_pool.h"

/* Bad input to what reads a pool, and to the wait until it is idle. */

static enum weir_status call_snapshot(struct world *w, weir_pool *pool)
{
    struct weir_pool_snapshot *untouched = (struct weir_pool_snapshot *)w;
    struct weir_pool_snapshot *snapshot = untouched;
    enum weir_status status = weir_pool_snapshot_new(pool, &snapshot);
    CHECK((snapshot == untouched) == (status != WEIR_OK));
    if (status == WEIR_OK) {
        weir_pool_snapshot_free(snapshot);
    }
    return status;
}

static enum weir_status look_up(struct world *w, weir_pool *pool, uint64_t id)
{
    struct weir_pool_item item = {.envelope = NULL, .due_ns = UNTOUCHED};
    (void)w;
    enum weir_status status = weir_pool_lookup(pool, id, &item);
    CHECK((item.due_ns == UNTOUCHED) == (status != WEIR_OK));
    weir_envelope_unref(item.envelope);
    return status;
}

/* Of an envelope that was never sent. */
static enum weir_status call_lookup(struct world *w, weir_pool *pool)
{
    return look_up(w, pool, IS_IDLE);
}

static enum weir_status call_wait_idle(__attribute__((unused)) struct world *w, weir_pool *pool)
{
    return weir_pool_wait_idle(pool, 0);
}

POOL_ROWS(weir_pool_snapshot_new, call_snapshot, WEIR_OK, WEIR_OK, WEIR_OK, WEIR_OK)
POOL_ROWS(weir_pool_lookup, call_lookup, WEIR_ENOTFOUND, WEIR_ENOTFOUND, WEIR_ENOTFOUND,
          WEIR_ENOTFOUND)
POOL_ROWS(weir_pool_wait_idle, call_wait_idle, WEIR_ESTATE, WEIR_ETIMEDOUT, WEIR_OK, WEIR_OK)

ROW(weir_pool_snapshot_new, ret_snapshot, null, WEIR_EINVAL)
{
    return weir_pool_snapshot_new(w->pool, NULL);
}

ROW(weir_pool_snapshot_new, memory, none, WEIR_ENOMEM)
{
    test_fail_allocation(1, true);
    return call_snapshot(w, w->pool);
}

ROW(weir_pool_snapshot_free, snapshot, null, WEIR_OK)
{
    weir_pool_snapshot_free(NULL);
    return WEIR_OK;
}

ROW(weir_pool_lookup, id, zero, WEIR_OK)
{
    return look_up(w, w->pool, 0); /* an id like any other: that of the first envelope */
}

ROW(weir_pool_lookup, id, most, WEIR_ENOTFOUND)
{
    return look_up(w, w->pool, UINT64_MAX);
}

ROW(weir_pool_lookup, ret_item, null, WEIR_EINVAL)
{
    return weir_pool_lookup(w->pool, 0, NULL);
}

ROW(weir_pool_wait_idle, timeout_ns, least, WEIR_ETIMEDOUT)
{
    return weir_pool_wait_idle(w->pool, INT64_MIN);
}

ROW(weir_pool_wait_idle, timeout_ns, most, WEIR_OK)
{
    let_go(w);
    CHECK_STATUS(weir_clock_advance(w->clock, DELAY), WEIR_OK);
    return weir_pool_wait_idle(w->pool, INT64_MAX);
}

ROW(weir_pool_wait_idle, pool, keeps, WEIR_ESHUTDOWN)
{
    let_go(w);
    CHECK_STATUS(weir_pool_end(w->pool, WEIR_END_STOP, WEIR_END_KEEP, WEIR_FOREVER), WEIR_OK);
    take_stock(w);
    return weir_pool_wait_idle(w->pool, WEIR_FOREVER);
}
