/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/end.h"

#include "support/harness.h"

/* Requests to end, all that there are. */
enum {
    COUNT = 2 * (WEIR_END_TERMINATE + 1)
};

static struct weiri_end request(int i)
{
    return (struct weiri_end){(enum weir_end_mode)(i / 2), i % 2 == 1};
}

static void check_equal(struct weiri_end a, struct weiri_end b)
{
    CHECK_INT(a.mode, ==, b.mode);
    CHECK_INT(a.keeps, ==, b.keeps);
}

TEST(strongest, "two requests come to the greater mode, and keep where both do")
{
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < COUNT; k++) {
            struct weiri_end merged = weiri_end_merge(request(i), request(k));
            CHECK_INT(merged.mode, ==, (i > k ? i : k) / 2);
            CHECK_INT(merged.keeps, ==, i % 2 == 1 && k % 2 == 1);
        }
    }
}

TEST(any_order,
     "requests come to the same in any order, however often each is made; none is weaker "
     "than all")
{
    for (int i = 0; i < COUNT; i++) {
        struct weiri_end a = request(i);
        check_equal(weiri_end_merge(a, a), a);
        check_equal(weiri_end_merge(WEIRI_END_NONE, a), a);
        for (int k = 0; k < COUNT; k++) {
            struct weiri_end b = request(k);
            check_equal(weiri_end_merge(a, b), weiri_end_merge(b, a));
            for (int l = 0; l < COUNT; l++) {
                struct weiri_end c = request(l);
                check_equal(weiri_end_merge(weiri_end_merge(a, b), c),
                            weiri_end_merge(a, weiri_end_merge(b, c)));
            }
        }
    }
}

TEST(answers, "a drain and a finish are told of a stronger end; a stop has got what it wanted")
{
    for (int asked = 0; asked <= WEIR_END_TERMINATE; asked++) {
        for (int strongest = 0; strongest <= WEIR_END_TERMINATE; strongest++) {
            bool is_cut = asked < WEIR_END_STOP && strongest > asked;
            CHECK_STATUS(weiri_end_answer((enum weir_end_mode)asked, (enum weir_end_mode)strongest),
                         is_cut ? WEIR_ECANCELED : WEIR_OK);
        }
    }
}
