/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/ranked.h"

/* Queues with priorities and aging, and the options of both. */

TEST_EACH(aging, "with aging an item gains one level for each such time it has been queued")
{
    struct fixture f;
    setup_ranked(&f, kind, 100);
    add_at(&f, 1, 2);
    pass(&f, 199);
    add(&f, 2); /* 1 ns too early to be behind */
    pass(&f, 1);
    add(&f, 3); /* as urgent as 1 is by now, and later */
    pass(&f, 1000);
    add_at(&f, 4, -9); /* 1 and 3 are at -10 */
    add_at(&f, 5, -11);
    CHECK_ORDER(&f, 5, 2, 1, 3, 4);
    teardown(&f);
}

TEST_EACH(aging_raised, "a raised item keeps its age")
{
    struct fixture f;
    setup_ranked(&f, kind, 100);
    add_at(&f, 1, 50);
    pass(&f, 300);
    add_at(&f, 2, -1);
    add_at(&f, 1, 1); /* aged by 3 levels: -2 */
    CHECK_ORDER(&f, 1, 2);
    teardown(&f);
}

TEST_EACH(aging_of_waiting, "an item that waited has been queued since its time, not since its add")
{
    struct fixture f;
    setup_ranked(&f, kind, 100);
    add_after_at(&f, 1, 500, 1);
    pass(&f, 700); /* queued since 500: 1 - 2 levels */
    add_at(&f, 2, -2);
    add_at(&f, 3, -1);
    CHECK_ORDER(&f, 2, 1, 3);
    teardown(&f);
}

TEST_EACH(aging_of_dirty, "a dirty item has been queued since its done")
{
    struct fixture f;
    setup_ranked(&f, kind, 100);
    add(&f, 1);
    struct weir_work work = get(&f, 1);
    add(&f, 1);
    pass(&f, 500);
    add(&f, 2);
    pass(&f, 100);
    done(&f, &work);
    CHECK_ORDER(&f, 2, 1);
    teardown(&f);
}

TEST_EACH(no_starvation, "with aging an item comes out although more urgent ones never stop coming")
{
    struct fixture f;
    setup_ranked(&f, kind, 10);
    add_at(&f, 0, 20);
    unsigned passed_over = 0;
    for (;;) {
        add(&f, 1 + passed_over % (ITEMS - 1));
        struct weir_work work;
        CHECK_STATUS(weir_queue_get(f.queue, 0, &work), WEIR_OK);
        unsigned item = item_of(&f, &work);
        done(&f, &work);
        if (item == 0) {
            break;
        }
        passed_over++;
        pass(&f, 1);
    }
    CHECK_INT(passed_over, ==, 200);
    teardown(&f);
}

TEST_EACH(refused, "without priorities another one than 0 is refused, and changes nothing")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 1);
    add_after(&f, 2, 10);
    CHECK_STATUS(try_add_at(&f, 1, -1, 0, 0), WEIR_EINVAL);
    CHECK_STATUS(try_add_at(&f, 2, 1, 5, 0), WEIR_EINVAL);
    CHECK_STATUS(try_add_at(&f, 3, INT32_MIN, 0, 0), WEIR_EINVAL);
    CHECK_COUNTS(&f, 1, 1, 0);
    CHECK_STATUS(try_add_at(&f, 3, 0, 0, 0), WEIR_OK);
    CHECK_ORDER(&f, 1, 3);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(try_add_at(&f, 1, -1, 0, 0), WEIR_EINVAL);
    teardown(&f);
}

TEST(bad_options, "options that contradict each other make no queue")
{
    struct row {
        uint32_t flags;
        int64_t aging_ns;
        enum weir_status want;
    };
    static const struct row rows[] = {
        {0, 1, WEIR_EINVAL},
        {0, -1, WEIR_EINVAL},
        {WEIR_QUEUE_PRIORITIES, -1, WEIR_ERANGE},
        {WEIR_QUEUE_PRIORITIES, INT64_MIN, WEIR_ERANGE},
        {8, 0, WEIR_EINVAL},
        {WEIR_QUEUE_SUPERSEDE, 1, WEIR_EINVAL},
        {WEIR_QUEUE_AGES, 1, WEIR_EINVAL},
        {UINT32_MAX, 0, WEIR_EINVAL},
        {WEIR_QUEUE_PRIORITIES, INT64_MAX, WEIR_OK},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weir_queue_options options = {0};
        options.allocator = *test_allocator();
        options.flags = rows[i].flags;
        options.aging_ns = rows[i].aging_ns;
        weir_queue *queue = NULL;
        CHECK_STATUS(weir_queue_new(&options, &queue, NULL), rows[i].want);
        CHECK((queue != NULL) == (rows[i].want == WEIR_OK));
        weir_queue_free(queue);
    }
}
