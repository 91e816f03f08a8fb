/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include "base/time.h"

#include "support/harness.h"

static weir_clock *manual(int64_t start_ns)
{
    weir_clock *clock;
    CHECK_STATUS(weir_clock_manual_new(start_ns, test_allocator(), &clock), WEIR_OK);
    return clock;
}

TEST(manual_clock, "a manual clock stands still until it is stepped, to the end of time")
{
    weir_clock *clock = manual(5);
    CHECK_INT(weir_clock_now(clock), ==, 5);
    CHECK_INT(weir_clock_now(clock), ==, 5);
    CHECK_STATUS(weir_clock_advance(clock, 10), WEIR_OK);
    CHECK_INT(weir_clock_now(clock), ==, 15);
    CHECK_STATUS(weir_clock_advance(clock, 0), WEIR_OK);
    CHECK_INT(weir_clock_now(clock), ==, 15);
    CHECK_STATUS(weir_clock_advance(clock, INT64_MAX - 15), WEIR_OK);
    CHECK_INT(weir_clock_now(clock), ==, INT64_MAX);
    CHECK_STATUS(weir_clock_advance(clock, 1), WEIR_ERANGE);
    CHECK_STATUS(weir_clock_advance(clock, 0), WEIR_OK);
    weir_clock_free(clock);
}

TEST(manual_range, "a step back, one past the end of time and a start before time are refused")
{
    weir_clock *clock = manual(100);
    CHECK_STATUS(weir_clock_advance(clock, -1), WEIR_ERANGE);
    CHECK_STATUS(weir_clock_advance(clock, INT64_MAX - 99), WEIR_ERANGE);
    CHECK_STATUS(weir_clock_advance(clock, INT64_MAX), WEIR_ERANGE);
    CHECK_INT(weir_clock_now(clock), ==, 100);
    weir_clock_free(clock);

    weir_clock *untouched = weir_clock_monotonic();
    CHECK_STATUS(weir_clock_manual_new(-1, test_allocator(), &untouched), WEIR_ERANGE);
    CHECK(untouched == weir_clock_monotonic());
}

TEST(limits,
     "a wait ends its timeout after the clock's reading; there is none with 0, and no end of time")
{
    static const int64_t passed[] = {0, -1, -WEIR_SECONDS(1), INT64_MIN};
    weir_clock *clock = manual(100);
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        CHECK_INT(weiri_clock_limit(clock, passed[i]), ==, WEIRI_AT_ONCE);
    }
    CHECK_INT(weiri_clock_limit(clock, 1), ==, 101);
    CHECK_INT(weiri_clock_limit(clock, INT64_MAX - 101), ==, INT64_MAX - 1);
    CHECK_INT(weiri_clock_limit(clock, INT64_MAX - 1), ==, WEIR_FOREVER);
    CHECK_INT(weiri_clock_limit(clock, WEIR_FOREVER), ==, WEIR_FOREVER);
    weir_clock_free(clock);
}

TEST(bad_arguments, "NULL and half an allocator are refused")
{
    struct weir_allocator half = {.alloc = test_allocator()->alloc};
    weir_clock *clock;
    CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_clock_manual_new(0, &half, &clock), WEIR_EINVAL);
    CHECK_STATUS(weir_clock_advance(NULL, 1), WEIR_EINVAL);
    CHECK_INT(weir_clock_now(NULL), ==, 0);
    weir_clock_free(NULL);
}

TEST(libc_memory, "without an allocator the clock is libc's memory")
{
    weir_clock *clock;
    CHECK_STATUS(weir_clock_manual_new(0, NULL, &clock), WEIR_OK);
    CHECK_INT(test_allocated_blocks(), ==, 0);
    weir_clock_free(clock);
}

TEST_OOM(out_of_memory, "a clock that cannot be made leaves nothing")
{
    weir_clock *clock = NULL;
    if (CHECK_OR_OOM(weir_clock_manual_new(0, test_allocator(), &clock))) {
        CHECK(clock == NULL);
        return;
    }
    weir_clock_free(clock);
}

TEST(real_clock, "the real clock is one object, shows monotonic time and cannot be stepped")
{
    weir_clock *clock = weir_clock_monotonic();
    CHECK(clock != NULL && clock == weir_clock_monotonic());
    int64_t before = weiri_monotonic_now();
    int64_t now = weir_clock_now(clock);
    CHECK_INT(now, >=, before);
    CHECK_INT(weiri_monotonic_now(), >=, now);
    CHECK_STATUS(weir_clock_advance(clock, 1), WEIR_EINVAL);
    weir_clock_free(clock);
    CHECK_INT(weir_clock_now(clock), >=, now);
}

TEST(wait_limits, "a wait by the real clock has its time for a limit, by a manual one none")
{
    weir_clock *clock = manual(0);
    CHECK_INT(weiri_clock_wait_limit(weir_clock_monotonic(), 17), ==, 17);
    CHECK_INT(weiri_clock_wait_limit(clock, 17), ==, INT64_MAX);
    weir_clock_free(clock);
}

struct user {
    struct weiri_clock_user user;
    weir_clock *clock;
    int64_t seen_ns; /* the clock's time at the last step */
    int steps;
};

static void on_step(struct weiri_clock_user *link)
{
    struct user *user = WEIRI_CONTAINER(link, struct user, user);
    user->seen_ns = weir_clock_now(user->clock);
    user->steps++;
}

TEST(users, "each user gets each step, with the new time, until it is detached")
{
    weir_clock *clock = manual(0);
    struct user users[3] = {{{.on_step = on_step}, clock, 0, 0},
                            {{.on_step = on_step}, clock, 0, 0},
                            {{.on_step = on_step}, clock, 0, 0}};
    for (int i = 0; i < 3; i++) {
        weiri_clock_attach(clock, &users[i].user);
    }
    CHECK_STATUS(weir_clock_advance(clock, 7), WEIR_OK);
    weiri_clock_detach(clock, &users[1].user);
    CHECK_STATUS(weir_clock_advance(clock, -1), WEIR_ERANGE);
    CHECK_STATUS(weir_clock_advance(clock, 1), WEIR_OK);
    CHECK_INT(users[0].steps, ==, 2);
    CHECK_INT(users[0].seen_ns, ==, 8);
    CHECK_INT(users[1].steps, ==, 1);
    CHECK_INT(users[1].seen_ns, ==, 7);
    CHECK_INT(users[2].steps, ==, 2);
    weiri_clock_detach(clock, &users[0].user);
    weiri_clock_detach(clock, &users[2].user);
    weir_clock_free(clock);
}

TEST(real_users, "a user of the real clock is in no list")
{
    struct user user = {{.on_step = on_step}, weir_clock_monotonic(), 0, 0};
    weiri_clock_attach(user.clock, &user.user);
    CHECK(weiri_list_is_empty(&user.user.link));
    weiri_clock_detach(user.clock, &user.user);
}

TEST(freed_in_use, "freeing a clock that something uses is refused, and it goes on")
{
    weir_clock *clock = manual(0);
    struct user user = {{.on_step = on_step}, clock, 0, 0};
    weiri_clock_attach(clock, &user.user);
    CHECK_STATUS(weir_clock_free(clock), WEIR_EBUSY);
    CHECK_STATUS(weir_clock_advance(clock, 5), WEIR_OK);
    CHECK_INT(weir_clock_now(clock), ==, 5);
    weiri_clock_detach(clock, &user.user);
    CHECK_STATUS(weir_clock_free(clock), WEIR_OK);
    CHECK_STATUS(weir_clock_free(NULL), WEIR_OK);
    CHECK_STATUS(weir_clock_free(weir_clock_monotonic()), WEIR_OK);
}

static void step_often(void *clock)
{
    for (int i = 0; i < 10000; i++) {
        CHECK_STATUS(weir_clock_advance(clock, 1), WEIR_OK);
    }
}

TEST(threads, "steps of several threads add up, and readers never see time go back")
{
    weir_clock *clock = manual(0);
    struct test_thread *steppers[2];
    for (int i = 0; i < 2; i++) {
        steppers[i] = test_start(step_often, clock);
    }
    int64_t before = 0;
    while (before < 20000) {
        int64_t now = weir_clock_now(clock);
        CHECK_INT(now, >=, before);
        before = now;
    }
    for (int i = 0; i < 2; i++) {
        test_join(steppers[i]);
    }
    CHECK_INT(weir_clock_now(clock), ==, 20000);
    weir_clock_free(clock);
}
