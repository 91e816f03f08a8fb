/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "pool/plan.h"
#include "support/harness.h"

/* Random lives of periodic envelopes on virtual time, against a reference that writes every firing
 * down and walks through them one by one. WEIR_TEST_SCALE lengthens the campaign. */

#define FIRINGS_MAX 4096

__extension__ typedef __int128 wide;

/* Times are wide, so that the reference knows no end of the numbers. A firing at WEIR_FOREVER or
 * above is never, and a clock that shows it is taken for the moment before. */
struct reference {
    const struct weir_schedule *schedule;
    wide upcoming;              /* the earliest firing nobody has looked at */
    wide promised[FIRINGS_MAX]; /* firings that will be run in any case, in order */
    size_t promised_count;
    wide passed[FIRINGS_MAX];
    size_t passed_count;
    uint64_t skipped;
};

static size_t catch_up_of(const struct reference *r)
{
    return r->schedule->catch_up_max == 0 ? 100 : r->schedule->catch_up_max;
}

static bool is_never(wide firing)
{
    return firing >= WEIR_FOREVER;
}

/* Collects the firings up to now, one by one. */
static void collect_passed(struct reference *r, wide now)
{
    r->passed_count = 0;
    while (r->upcoming <= now && !is_never(r->upcoming)) {
        CHECK(r->passed_count < FIRINGS_MAX);
        r->passed[r->passed_count++] = r->upcoming;
        r->upcoming += r->schedule->interval_ns;
    }
}

static void promise(struct reference *r, wide firing)
{
    CHECK(r->promised_count < FIRINGS_MAX);
    r->promised[r->promised_count++] = firing;
}

static wide take_promised(struct reference *r, size_t index)
{
    wide firing = r->promised[index];
    for (size_t i = index + 1; i < r->promised_count; i++) {
        r->promised[i - 1] = r->promised[i];
    }
    r->promised_count--;
    return firing;
}

/* Promises the passed firings; of more promises than there may be the earliest are skipped. */
static void promise_all(struct reference *r)
{
    for (size_t i = 0; i < r->passed_count; i++) {
        promise(r, r->passed[i]);
    }
    while (r->promised_count > catch_up_of(r)) {
        (void)take_promised(r, 0);
        r->skipped++;
    }
}

static void reference_start(struct reference *r, wide now, wide offset)
{
    const struct weir_schedule *s = r->schedule;
    wide first = now;
    if (s->first == WEIR_FIRST_INTERVAL) {
        first = now + s->interval_ns;
    }
    if (s->first == WEIR_FIRST_AT) {
        first = s->first_at_ns;
        while (s->kind == WEIR_SCHEDULE_RATE && first + offset < now) {
            first += s->interval_ns;
        }
    }
    r->upcoming = first + offset;
}

static bool reference_begin(struct reference *r, wide now, wide *ret_due)
{
    const struct weir_schedule *s = r->schedule;
    now = is_never(now) ? WEIR_FOREVER - 1 : now;
    if (r->promised_count == 0 && s->kind == WEIR_SCHEDULE_DELAY) {
        if (is_never(r->upcoming) || r->upcoming > now) {
            return false;
        }
        promise(r, r->upcoming);
        r->upcoming = WEIR_FOREVER;
    }
    if (r->promised_count == 0) {
        collect_passed(r, now);
        if (r->passed_count == 0) {
            return false;
        }
        wide latest = r->passed[r->passed_count - 1];
        wide tolerance = s->tolerance_ns == 0 ? WEIR_SECONDS(60) : s->tolerance_ns;
        if (s->missed == WEIR_FIRING_ALL) {
            promise_all(r);
        } else if (s->missed == WEIR_FIRING_ONCE || now - latest <= tolerance) {
            promise(r, latest);
            r->skipped += r->passed_count - 1;
        } else {
            r->skipped += r->passed_count;
            return false;
        }
    }
    *ret_due = take_promised(r, 0);
    return true;
}

static void reference_end(struct reference *r, wide now)
{
    const struct weir_schedule *s = r->schedule;
    now = is_never(now) ? WEIR_FOREVER - 1 : now;
    if (s->kind == WEIR_SCHEDULE_DELAY) {
        r->upcoming = now + s->interval_ns;
        return;
    }
    collect_passed(r, now);
    if (r->passed_count == 0) {
        return;
    }
    if (s->overlap == WEIR_FIRING_ALL) {
        promise_all(r);
    } else if (s->overlap == WEIR_FIRING_ONCE && r->promised_count == 0) {
        promise(r, r->passed[r->passed_count - 1]);
        r->skipped += r->passed_count - 1;
    } else {
        r->skipped += r->passed_count;
    }
}

static int64_t wake_of(const struct reference *r, int64_t now)
{
    if (r->promised_count > 0) {
        return now;
    }
    return is_never(r->upcoming) ? WEIR_FOREVER : (int64_t)r->upcoming;
}

static struct weir_schedule random_schedule(int64_t now)
{
    struct weir_schedule s = WEIR_SCHEDULE_INIT;
    s.kind = (uint32_t)test_random_below(2);
    s.first = (uint32_t)test_random_below(4);
    s.missed = (uint32_t)test_random_below(3);
    s.overlap = (uint32_t)test_random_below(3);
    s.interval_ns = 1 + (int64_t)test_random_below(50);
    s.jitter_ns = (int64_t)test_random_below(100);
    s.tolerance_ns = (int64_t)test_random_below(60);
    s.catch_up_max = (size_t)test_random_below(6);
    s.first_at_ns = now + (int64_t)test_random_below(400) - 200;
    s.first_at_ns = s.first_at_ns < 0 ? 0 : s.first_at_ns;
    return s;
}

struct counts {
    uint64_t runs;
    uint64_t refused; /* begins that ran nothing */
    uint64_t skipped;
    uint64_t ended; /* lives that came to the end of the numbers */
};

/* One envelope from its send on; false where plan and reference differ. */
static bool live(struct counts *counts)
{
    bool is_late = test_random_below(4) == 0;
    int64_t now = is_late ? WEIR_FOREVER - 2000 : 500;
    struct weir_schedule schedule = random_schedule(now);
    struct weiri_plan plan;
    struct weiri_plan_state state;
    CHECK_STATUS(weiri_plan_init(&plan, &schedule, 0, 0, test_random()), WEIR_OK);
    CHECK(plan.offset_ns >= 0 && (plan.offset_ns < schedule.jitter_ns || plan.offset_ns == 0));
    struct reference r = {.schedule = &schedule};
    reference_start(&r, now, plan.offset_ns);
    int64_t wake = weiri_plan_start(&plan, &state, (struct weiri_moment){now, 0});
    bool is_same = wake == wake_of(&r, now);
    for (int step = 0; step < 40 && is_same; step++) {
        uint64_t most = test_random_below(8) == 0 ? 1500 : 60;
        int64_t steps = (int64_t)test_random_below(most);
        now = steps > WEIR_FOREVER - now ? WEIR_FOREVER : now + steps;
        struct weiri_moment moment = {now, 0};
        uint64_t before = r.skipped;
        wide due = 0;
        struct weiri_turn turn = {0};
        bool asked_for = test_random_below(10) == 0; /* a run without a begin */
        if (!asked_for) {
            bool run = reference_begin(&r, now, &due);
            turn = weiri_plan_begin(&plan, &state, moment);
            is_same = turn.run == run && turn.skipped == r.skipped - before &&
                      (run ? turn.due_ns == due : turn.wake_ns == wake_of(&r, now));
            counts->runs += run;
            counts->refused += !run;
        }
        if (is_same && (asked_for || turn.run)) {
            steps = (int64_t)test_random_below(most);
            now = steps > WEIR_FOREVER - now ? WEIR_FOREVER : now + steps;
            before = r.skipped;
            reference_end(&r, now);
            turn = weiri_plan_end(&plan, &state, (struct weiri_moment){now, 0});
            is_same =
                !turn.run && turn.skipped == r.skipped - before && turn.wake_ns == wake_of(&r, now);
        }
    }
    counts->skipped += r.skipped;
    counts->ended += now == WEIR_FOREVER;
    return is_same;
}

TEST(random_lives, "plans do what a list of all firings does")
{
    struct counts counts = {0};
    uint64_t lives = test_scaled(30000);
    for (uint64_t i = 0; i < lives; i++) {
        if (!live(&counts)) {
            test_fail(__FILE__, __LINE__, "life %llu differs", (unsigned long long)i);
        }
    }
    printf("%llu lives, %llu runs, %llu begins without a run, %llu firings skipped, %llu at the "
           "end of time\n",
           (unsigned long long)lives, (unsigned long long)counts.runs,
           (unsigned long long)counts.refused, (unsigned long long)counts.skipped,
           (unsigned long long)counts.ended);
    CHECK(counts.runs > lives && counts.refused > lives && counts.skipped > lives);
    CHECK(counts.ended > 0);
}
