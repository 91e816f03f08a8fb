/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/limiter.h"

#include "base/sync.h"
#include "queue/limiters.h"
#include "support/explorer/explorer.h"

/* A bucket for each item, of one token, asked for two items by two threads at one time. */
static struct {
    weir_limiter *limiter;
    int given[2][2]; /* of an item: how many tries wait for no time, and for a second */
} world;

static void ask(void *arg)
{
    (void)arg;
    for (int item = 0; item < 2; item++) {
        struct weir_key key = weir_key_bytes(&"ab"[item], 1);
        int64_t delay_ns = -1;
        CHECK_STATUS(weir_limiter_when(world.limiter, key, 0, &delay_ns), WEIR_OK);
        if (item == 1 && delay_ns > 0) { /* one thread makes its try, and the other gives back */
            weiri_limiter_give_back(world.limiter, key, 0);
            CHECK_STATUS(weir_limiter_when(world.limiter, key, 0, &delay_ns), WEIR_OK);
        }
        CHECK_INT(delay_ns % WEIR_SECONDS(1), ==, 0);
        CHECK_INT(delay_ns, <=, WEIR_SECONDS(1));
        world.given[item][delay_ns / WEIR_SECONDS(1)]++;
    }
}

static void ask_twice(void *arg)
{
    (void)arg;
    memset(&world, 0, sizeof(world));
    world.limiter = item_bucket(1, 1);
    struct weiri_thread threads[2];
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(weiri_thread_start(&threads[i], "asks", ask, NULL), WEIR_OK);
    }
    for (int i = 0; i < 2; i++) {
        weiri_thread_join(&threads[i]);
    }
    for (int item = 0; item < 2; item++) {
        CHECK_INT(world.given[item][0], ==, 1);
        CHECK_INT(world.given[item][1], ==, 1);
    }
    weir_limiter_free(world.limiter);
}

TEST(item_bucket, "each token of an item's bucket is given to one thread, and none is lost")
{
    explorer_must_pass(ask_twice, NULL, NULL);
}
