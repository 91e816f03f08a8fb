/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/admin.h>

#include "conformance/store/bad_store.h"

/* Bad input to weir_broker_move(). */

static int ignore_step(enum weir_move_step step, const struct weir_move_counts *counts, void *arg)
{
    (void)step;
    (void)counts;
    (void)arg;
    return 0;
}

static enum weir_status move_between(weir_broker *from, weir_broker *to, const char *tube)
{
    struct weir_move_counts counts = {.found = UNTOUCHED};
    enum weir_status status =
        tell(weir_broker_move(from, to, tube, ignore_step, NULL, &counts, told));
    CHECK_INT(counts.found, ==, UNTOUCHED); /* it did not begin */
    return status;
}

static enum weir_status move_from(struct world *w, weir_broker *broker)
{
    return move_between(broker, w->broker, TUBE);
}

static enum weir_status move_to(struct world *w, weir_broker *broker)
{
    return move_between(w->broker, broker, TUBE);
}

static enum weir_status move_tube(struct world *w, const char *tube)
{
    return move_between(w->broker, w->broker, tube);
}

SIDE_ROWS(weir_broker_move, from, move_from)
SIDE_ROWS(weir_broker_move, to, move_to)
TUBE_ROWS(weir_broker_move, move_tube)

ROW(weir_broker_move, to, source, WEIR_EINVAL)
{
    return move_between(w->broker, w->broker, TUBE);
}

struct inner {
    weir_broker *from;
    weir_broker *to;
    enum weir_status status;
};

/* Ends the move in which it is called, after a call of another. */
static int move_meanwhile(enum weir_move_step step, const struct weir_move_counts *counts,
                          void *arg)
{
    struct inner *inner = arg;
    (void)step;
    (void)counts;
    inner->status = tell(weir_broker_move(inner->from, inner->to, TUBE, NULL, NULL, NULL, told));
    return 1;
}

ROW(weir_broker_move, from, moving, WEIR_EBUSY)
{
    struct inner inner = {w->broker, jobs_store_open("other.db", &w->wall), WEIR_OK};
    CHECK_STATUS(weir_broker_move(w->broker, inner.to, TUBE, move_meanwhile, &inner, NULL, NULL),
                 WEIR_OK);
    CHECK_STATUS(weir_broker_close(inner.to), WEIR_OK);
    return inner.status;
}

/* Moves all to a store of the row's own. */
static enum weir_status move_all(struct world *w, weir_move_fn *fn,
                                 struct weir_move_counts *ret_counts)
{
    static unsigned stores;
    char path[32];
    (void)snprintf(path, sizeof(path), "to%u.db", stores++);
    weir_broker *to = jobs_store_open(path, &w->wall);
    enum weir_status status =
        tell(weir_broker_move(w->broker, to, TUBE, fn, NULL, ret_counts, told));
    CHECK_COUNTS(to, TUBE, 1, 1, 0, 0);
    CHECK_STATUS(weir_broker_close(to), WEIR_OK);
    return status;
}

ROW(weir_broker_move, fn, null, WEIR_OK)
{
    struct weir_move_counts counts;
    return move_all(w, NULL, &counts);
}

ROW(weir_broker_move, ret_counts, null, WEIR_OK)
{
    return move_all(w, ignore_step, NULL);
}
