/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/snapshot.h>

#include <poll.h>

#include "conformance/limiters.h"
#include "conformance/metrics.h"

/* More flaws of client-go's workqueue (see flaws_test.c), of those that are about what a queue can
 * be asked; and of controller-runtime's priority queue. */

TEST_EACH(w8_only_failures_count, "W8: events that bypass a backoff do not lengthen it")
{
    weir_limiter *limiter = exponential(WEIR_MS(10), WEIR_SECONDS(1000));
    struct fixture f;
    setup_with(&f, kind, limiter);
    check_wait(&f, 0, WEIR_MS(10));
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_OK); /* 20 ms */
    for (unsigned i = 0; i < 18; i++) {
        add(&f, 0);
        add_after(&f, 0, WEIR_SECONDS(1));
        add_with(&f, 0, 0, WEIR_ADD_SUPERSEDE);
        get_and_done(&f, 0);
        CHECK_COUNTS(&f, 0, 0, 0);
    }
    CHECK_INT(requeues(&f, 0), ==, 2);
    check_wait(&f, 0, WEIR_MS(40));
    teardown(&f);
    weir_limiter_free(limiter);
}

TEST_EACH(w11_counted_apart, "W11: waiting, queued and processing items are counted apart")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    add(&f, 0);
    add(&f, 1);
    struct weir_work work = get(&f, 0);
    add(&f, 0); /* dirty: in Kubernetes' gauge, as there; not in the count of queued items */
    add_after(&f, 2, WEIR_SECONDS(1));
    add_after(&f, 3, WEIR_SECONDS(1));
    add_after(&f, 3, WEIR_SECONDS(2));
    CHECK_COUNTS(&f, 1, 2, 1);
    CHECK_FAMILY(&page, "workqueue_depth", "2");
    /* Adds are what was queued or marked, retries what was asked for later, merged or not. */
    CHECK_FAMILY(&page, "workqueue_adds_total", "3");
    CHECK_FAMILY(&page, "workqueue_retries_total", "3");
    done(&f, &work);
    CHECK_COUNTS(&f, 2, 2, 0);
    teardown_named(&f, &page);
}

TEST_EACH(w13_get_with_limits, "W13: a get can be told not to block, until when, and how many")
{
    struct fixture f;
    setup(&f, kind);
    int fd;
    CHECK_STATUS(weir_queue_fd(f.queue, &fd), WEIR_OK);
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    struct weir_work works[4];
    size_t count = 0;
    CHECK_STATUS(weir_queue_get(f.queue, 0, &works[0]), WEIR_ETIMEDOUT);
    CHECK_INT(poll(&watched, 1, 0), ==, 0);
    for (unsigned i = 0; i < 6; i++) {
        add(&f, i);
    }
    CHECK_INT(poll(&watched, 1, 0), ==, 1);
    works[0] = get(&f, 0);
    CHECK_STATUS(weir_queue_get(f.queue, WEIR_MS(10), &works[1]), WEIR_OK);
    CHECK_STATUS(weir_queue_done_batch(f.queue, works, 2), WEIR_OK);
    CHECK_STATUS(weir_queue_get_batch(f.queue, WEIR_FOREVER, works, 4, &count), WEIR_OK);
    CHECK_INT(count, ==, 4);
    CHECK_INT(poll(&watched, 1, 0), ==, 0);
    CHECK_STATUS(weir_queue_done_batch(f.queue, works, 4), WEIR_OK);
    teardown(&f);
}

/* Three queued items, one of them in hand. */
static struct weir_work setup_end(struct fixture *f, enum kind kind)
{
    setup(f, kind);
    for (unsigned i = 0; i < 3; i++) {
        add(f, i);
    }
    return get(f, 0);
}

TEST_EACH(w14_named_ends, "W14: the backlog is served, waited for, or thrown away, as one says")
{
    struct fixture f;
    struct weir_work work = setup_end(&f, kind);
    weir_queue_shutdown(f.queue); /* served by who goes on getting */
    get_and_done(&f, 1);
    get_and_done(&f, 2);
    CHECK_STATUS(weir_queue_get(f.queue, 0, &work), WEIR_ESHUTDOWN);
    teardown(&f);

    work = setup_end(&f, kind);
    struct blocked drainer;
    block(&drainer, &f, run_drain); /* waited for */
    get_and_done(&f, 1);
    get_and_done(&f, 2);
    test_wait_asleep(drainer.thread);
    done(&f, &work);
    CHECK_STATUS(unblock(&drainer), WEIR_OK);
    teardown(&f);

    work = setup_end(&f, kind);
    weir_queue_shutdown(f.queue);
    CHECK(cancel(&f, 1) && cancel(&f, 2)); /* thrown away; what is in hand ends */
    block(&drainer, &f, run_drain);
    done(&f, &work);
    CHECK_STATUS(unblock(&drainer), WEIR_OK);
    teardown(&f);
}

TEST_EACH(w15_ages_when_read, "W15: ages are those of the moment of reading, and nobody scans")
{
    struct fixture f;
    struct page page;
    unsigned threads = test_thread_count();
    setup_named(&f, kind, &page);
    struct weir_work works[ITEMS];
    for (unsigned i = 0; i < ITEMS; i++) {
        add(&f, i);
        works[i] = get(&f, i);
        pass(&f, WEIR_MS(1));
    }
    CHECK_INT(test_thread_count(), ==, threads);
    CHECK_FAMILY(&page, "workqueue_longest_running_processor_seconds", "0.128");
    pass(&f, WEIR_MS(1)); /* client-go's would stay the same for half a second */
    CHECK_FAMILY(&page, "workqueue_longest_running_processor_seconds", "0.129");
    done(&f, &works[0]);
    CHECK_FAMILY(&page, "workqueue_longest_running_processor_seconds", "0.128");
    teardown_named(&f, &page);
}

TEST_EACH(w16_waiting_listed,
          "W16: what waits can be listed before an end drops it, and is counted")
{
    struct fixture f;
    setup(&f, kind);
    for (unsigned i = 0; i < 5; i++) {
        add_after(&f, i, WEIR_SECONDS(1 + i));
    }
    struct weir_snapshot *snapshot;
    CHECK_STATUS(weir_queue_snapshot(f.queue, &snapshot), WEIR_OK);
    weir_queue_shutdown(f.queue);
    CHECK_INT(snapshot->count, ==, 5);
    bool seen[5] = {false};
    for (size_t at = 0; at < 5; at++) {
        const struct weir_snapshot_item *item = &snapshot->items[at];
        struct weir_work work = {.key = item->key, .item = item->item};
        unsigned i = item_of(&f, &work);
        CHECK(i < 5 && !seen[i]);
        seen[i] = true;
        CHECK_INT(item->place, ==, WEIR_PLACE_IDLE);
        CHECK_INT(item->due_ns, ==, START + WEIR_SECONDS(1 + i));
    }
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(f.queue, &counts), WEIR_OK);
    CHECK_INT(counts.dropped, ==, 5);
    weir_snapshot_free(snapshot);
    teardown(&f);
}

TEST_EACH(w20_registry_of_ones_own,
          "W20: each queue has the registry it is given; a conflict is told")
{
    struct fixture f;
    struct fixture other;
    struct page page;
    struct page other_page;
    setup_named(&f, kind, &page);
    setup_named(&other, kind, &other_page); /* the same name, elsewhere */
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    options.name = "q";
    options.metrics = page.metrics;
    weir_queue *queue = NULL;
    CHECK_STATUS(weir_queue_new(&options, &queue, NULL), WEIR_EBUSY);
    CHECK(queue == NULL);
    add(&f, 0);
    add(&f, 1);
    add(&other, 2);
    CHECK_FAMILY(&page, "workqueue_adds_total", "2");
    CHECK_FAMILY(&other_page, "workqueue_adds_total", "1");
    teardown_named(&f, &page);
    teardown_named(&other, &other_page);
}

TEST_EACH(cr_ends_again, "controller-runtime: a queue can be ended again and again, in every order")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    weir_queue_shutdown(f.queue);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, 0), WEIR_OK);
    struct blocked drainers[2];
    block(&drainers[0], &f, run_drain);
    block(&drainers[1], &f, run_drain);
    done(&f, &work);
    CHECK_STATUS(unblock(&drainers[0]), WEIR_OK);
    CHECK_STATUS(unblock(&drainers[1]), WEIR_OK);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, WEIR_FOREVER), WEIR_OK);
    teardown(&f);
}

TEST_EACH(cr_item_or_end,
          "controller-runtime: a get hands out an item or tells of the end, not both")
{
    struct fixture f;
    setup(&f, kind);
    for (unsigned i = 0; i < 10; i++) {
        add(&f, i);
    }
    weir_queue_shutdown(f.queue);
    struct weir_work work;
    for (unsigned i = 0; i < 10; i++) {
        CHECK_STATUS(weir_queue_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
        CHECK_INT(item_of(&f, &work), ==, i);
        done(&f, &work);
    }
    struct weir_work before = work;
    CHECK_STATUS(weir_queue_get(f.queue, WEIR_FOREVER, &work), WEIR_ESHUTDOWN);
    CHECK(is_same_work(&before, &work));
    teardown(&f);
}
