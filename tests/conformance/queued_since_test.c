/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/snapshot.h>

#include "conformance/metrics.h"

/* An item counts as queued from the moment at which it became due, however late a call sees it. No
 * sample of a histogram is lost. */

static struct weir_snapshot_item look_up(struct fixture *f, unsigned item)
{
    struct weir_snapshot_item found;
    CHECK_STATUS(weir_queue_lookup(f->queue, key_of(f, item), &found), WEIR_OK);
    return found;
}

TEST_EACH(seen_late, "an item that a step passes by is queued since its time, in look-ups and "
                     "snapshots")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    add_after(&f, 1, WEIR_SECONDS(10));
    add_after(&f, 2, WEIR_SECONDS(25));
    add(&f, 3);
    struct weir_work work = get(&f, 3);
    add_after(&f, 3, WEIR_SECONDS(20)); /* it becomes dirty then */
    pass(&f, WEIR_SECONDS(30));
    CHECK_INT(look_up(&f, 1).queued_ns, ==, WEIR_SECONDS(20));
    CHECK_INT(look_up(&f, 2).queued_ns, ==, WEIR_SECONDS(5));
    CHECK_INT(look_up(&f, 3).queued_ns, ==, WEIR_SECONDS(10));
    struct weir_snapshot *snapshot;
    CHECK_STATUS(weir_queue_snapshot(f.queue, &snapshot), WEIR_OK);
    CHECK_INT(snapshot->items[0].queued_ns, ==, WEIR_SECONDS(10));
    CHECK_INT(snapshot->items[1].queued_ns, ==, WEIR_SECONDS(20));
    weir_snapshot_free(snapshot);
    done(&f, &work);
    pass(&f, WEIR_SECONDS(1));
    CHECK_INT(look_up(&f, 3).queued_ns, ==, WEIR_SECONDS(11)); /* done does not begin it anew */
    for (unsigned i = 1; i <= 3; i++) {
        get_and_done(&f, i);
    }
    CHECK_FAMILY(&page, "workqueue_queue_duration_seconds_count", "4");
    CHECK_SERIES(&page, "workqueue_queue_duration_seconds_sum{name=\"q\"}", "38");
    teardown_named(&f, &page);
}

TEST_EACH(without_memory, "what is handed out and done while there is no memory is in the "
                          "histograms too")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    for (unsigned i = 0; i < ITEMS; i++) {
        add(&f, i);
        add_after(&f, i, WEIR_SECONDS(5));
    }
    test_fail_allocation(1, true);
    for (int round = 0; round < 2; round++) {
        pass(&f, WEIR_SECONDS(round == 0 ? 1 : 4)); /* for the second round all are due */
        for (unsigned i = 0; i < ITEMS; i++) {
            get_and_done(&f, i);
        }
    }
    test_fail_allocation(0, false);
    CHECK_FAMILY(&page, "workqueue_queue_duration_seconds_count", "256");
    CHECK_SERIES(&page, "workqueue_queue_duration_seconds_sum{name=\"q\"}", "128");
    CHECK_SERIES(&page, "workqueue_work_duration_seconds_count{name=\"q\"}", "256");
    teardown_named(&f, &page);
}

TEST_EACH(retries_with, "an add with a delay counts as a retry, also one that has passed, and in a "
                        "batch each item")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    add_with(&f, 1, 0, 0);
    CHECK_FAMILY(&page, "workqueue_retries_total", "0");
    add_with(&f, 1, -1, 0);
    CHECK_FAMILY(&page, "workqueue_retries_total", "1");
    add_after(&f, 1, -1);
    CHECK_FAMILY(&page, "workqueue_retries_total", "2");
    add_with(&f, 1, 5, WEIR_ADD_MOVE);
    CHECK_FAMILY(&page, "workqueue_retries_total", "3");
    add_with(&f, 1, 0, WEIR_ADD_RATE_LIMITED);
    CHECK_FAMILY(&page, "workqueue_retries_total", "4");
    struct weir_key keys[] = {key_of(&f, 1), key_of(&f, 2)};
    struct weir_add_options options = {0};
    CHECK_STATUS(weir_queue_add_batch(f.queue, keys, 2, &options), WEIR_OK);
    CHECK_FAMILY(&page, "workqueue_retries_total", "4");
    options.delay_ns = 1;
    CHECK_STATUS(weir_queue_add_batch(f.queue, keys, 2, &options), WEIR_OK);
    CHECK_FAMILY(&page, "workqueue_retries_total", "6");
    teardown_named(&f, &page);
}
