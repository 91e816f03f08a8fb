/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Whom an unlock calls; that nobody is missed is tests/schedules' and tests/promela's. */

#include "base/processors.h"
#include "queue/internal.h"
#include "support/harness.h"

#define SLEEPERS 4u

struct bed {
    weir_queue *queue;
    struct weiri_sleeper sleepers[SLEEPERS];
};

/* Has sleepers stand in the list, as threads do that wait in get. */
static void lie_down(struct bed *bed) WEIRI_NO_TSA
{
    CHECK_STATUS(weir_queue_new(NULL, &bed->queue), WEIR_OK);
    weiri_queue_lock(bed->queue);
    for (size_t i = 0; i < SLEEPERS; i++) {
        bed->sleepers[i] = (struct weiri_sleeper){.is_woken = false};
        CHECK_STATUS(weiri_parker_init(&bed->sleepers[i].parker), WEIR_OK);
        weiri_list_insert_before(&bed->queue->sleepers, &bed->sleepers[i].link);
    }
    weiri_queue_unlock(bed->queue);
}

static size_t woken(const struct bed *bed)
{
    size_t count = 0;
    for (size_t i = 0; i < SLEEPERS; i++) {
        count += bed->sleepers[i].is_woken;
    }
    return count;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void add(struct bed *bed, const char *text)
{
    CHECK_STATUS(weir_queue_add(bed->queue, weir_key_string(text)), WEIR_OK);
}

/* One of those who were called takes the lock, and an item. */
static void arrive(struct bed *bed) WEIRI_NO_TSA
{
    struct weir_work work;
    bed->queue->called--;
    CHECK_STATUS(weir_queue_try_get(bed->queue, &work), WEIR_OK);
}

static void get_up(struct bed *bed) WEIRI_NO_TSA
{
    for (size_t i = 0; i < SLEEPERS; i++) {
        if (!bed->sleepers[i].is_woken) {
            weiri_list_remove(&bed->sleepers[i].link);
        }
        weiri_parker_fini(&bed->sleepers[i].parker);
    }
    weir_queue_free(bed->queue);
}

TEST(burst,
     "a burst of adds calls as many consumers as half the processors, and no more than items")
{
    struct bed bed;
    lie_down(&bed);
    size_t most = (weiri_processors() + 1) / 2;
    add(&bed, "a");
    CHECK_INT(woken(&bed), ==, 1);
    add(&bed, "a");
    CHECK_INT(woken(&bed), ==, 1);
    add(&bed, "b");
    CHECK_INT(woken(&bed), ==, least(2, most));
    add(&bed, "c");
    add(&bed, "d");
    add(&bed, "e");
    CHECK_INT(woken(&bed), ==, least(SLEEPERS, most));
    get_up(&bed);
}

TEST(chain, "a consumer that comes and leaves items behind has the next one called")
{
    struct bed bed;
    lie_down(&bed);
    size_t most = (weiri_processors() + 1) / 2;
    add(&bed, "a");
    add(&bed, "b");
    add(&bed, "c");
    size_t before = woken(&bed);
    CHECK_INT(before, ==, least(3, most));
    arrive(&bed); /* two are left */
    CHECK_INT(woken(&bed), ==, least(3, most + 1));
    arrive(&bed); /* one is left, and somebody on the way */
    size_t after = woken(&bed);
    CHECK_INT(bed.queue->called, >=, 1);
    arrive(&bed); /* nothing is left */
    CHECK_INT(woken(&bed), ==, after);
    get_up(&bed);
}
