/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/consume/consumer.h"

#include <string.h>

#include "support/harness.h"

enum {
    SHARES = 5,
    TURNS = 2000
};

TEST(smooth, "turns of one are spread among those of the others")
{
    struct weiri_share shares[] = {{3, true, 0}, {1, true, 0}, {1, true, 0}};
    char order[16] = "";
    for (int i = 0; i < 10; i++) {
        order[i] = (char)('a' + (int)weiri_share_pick(shares, 3));
    }
    CHECK_STRING(order, "abacaabaca");
}

TEST(none, "without candidates nobody is picked")
{
    struct weiri_share shares[] = {{3, false, 7}, {1, false, -7}};
    CHECK_INT(weiri_share_pick(shares, 2), ==, 2);
    CHECK_INT(weiri_share_pick(shares, 0), ==, 0);
    CHECK_INT(shares[0].credit, ==, 0);
    CHECK_INT(shares[1].credit, ==, 0);
}

/* The turns of one of weight among total: less than one turn ahead of its share, and fewer turns
 * behind than there are others. A window begins anywhere between both. */
static void check_share(int64_t picked, int64_t turns, int64_t weight, int64_t total,
                        bool is_window)
{
    int64_t behind = is_window ? SHARES : SHARES - 1;
    int64_t ahead = is_window ? SHARES : 1;
    CHECK_INT(picked * total, >, turns * weight - behind * total);
    CHECK_INT(picked * total, <, turns * weight + ahead * total);
}

TEST(ratio, "none is a turn ahead of its share, or further behind than all others can be ahead")
{
    uint64_t rounds = test_scaled(200);
    for (uint64_t round = 0; round < rounds; round++) {
        struct weiri_share shares[SHARES];
        static int64_t picked[TURNS + 1][SHARES];
        int64_t total = 0;
        for (int i = 0; i < SHARES; i++) {
            shares[i] = (struct weiri_share){1 + (uint32_t)test_random_below(1000), true, 0};
            total += shares[i].weight;
        }
        for (int turn = 1; turn <= TURNS; turn++) {
            memcpy(picked[turn], picked[turn - 1], sizeof(picked[turn]));
            picked[turn][weiri_share_pick(shares, SHARES)]++;
            int i = (int)test_random_below(SHARES);
            int from = (int)test_random_below((uint64_t)turn);
            check_share(picked[turn][i], turn, shares[i].weight, total, false);
            check_share(picked[turn][i] - picked[from][i], turn - from, shares[i].weight, total,
                        true);
        }
    }
}

TEST(change, "one that comes and goes neither saves up turns nor owes any")
{
    struct weiri_share shares[] = {{1, true, 0}, {1, true, 0}, {100, true, 0}};
    for (int i = 0; i < 50; i++) {
        (void)weiri_share_pick(shares, 3);
    }
    shares[2].may = false;
    int turns[3] = {0, 0, 0};
    for (int i = 0; i < 100; i++) {
        turns[weiri_share_pick(shares, 3)]++;
    }
    CHECK_INT(turns[2], ==, 0);
    CHECK_INT(turns[0], >=, 25);
    CHECK_INT(turns[1], >=, 25);
    shares[2].may = true;
    CHECK_INT(weiri_share_pick(shares, 3), ==, 2);
}
