/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cron/plan.h"
#include "support/harness.h"

/* Random lives of periodic envelopes on virtual time, against a reference that writes every firing
 * down and walks through them one by one. WEIR_TEST_SCALE lengthens the campaign. */

#define FIRINGS_MAX 65536

__extension__ typedef __int128 wide;

/* Times are wide, so that the reference knows no end of the numbers. A firing at WEIR_FOREVER or
 * above is never, and a clock that shows it is taken for the moment before. */
struct reference {
    const struct weir_schedule *schedule;
    int64_t every_ns;           /* of cron: multiples of this */
    wide seen;                  /* what its clock showed last */
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

static wide firing_after(const struct reference *r, wide time)
{
    if (r->schedule->kind != WEIR_SCHEDULE_CRON) {
        return time + r->schedule->interval_ns;
    }
    wide since = time % r->every_ns;
    since += since < 0 ? r->every_ns : 0;
    return time - since + r->every_ns;
}

/* Collects the firings up to now, one by one. */
static void collect_passed(struct reference *r, wide now)
{
    r->passed_count = 0;
    while (r->upcoming <= now && !is_never(r->upcoming)) {
        CHECK(r->passed_count < FIRINGS_MAX);
        r->passed[r->passed_count++] = r->upcoming;
        r->upcoming = firing_after(r, r->upcoming);
    }
}

static void promise(struct reference *r, wide firing)
{
    CHECK(r->promised_count < FIRINGS_MAX);
    r->promised[r->promised_count++] = firing;
}

static void drop_earliest(struct reference *r, size_t count)
{
    for (size_t i = count; i < r->promised_count; i++) {
        r->promised[i - count] = r->promised[i];
    }
    r->promised_count -= count;
}

/* Promises the passed firings; of more promises than there may be the earliest are skipped. */
static void promise_all(struct reference *r)
{
    for (size_t i = 0; i < r->passed_count; i++) {
        promise(r, r->passed[i]);
    }
    if (r->promised_count > catch_up_of(r)) {
        size_t skipped = r->promised_count - catch_up_of(r);
        drop_earliest(r, skipped);
        r->skipped += skipped;
    }
}

/* Of a schedule that repeats every_ns where it is of cron. The two lists are large, and a life uses
 * a few entries: they are emptied by their counts. */
static void reference_start(struct reference *r, const struct weir_schedule *s, int64_t every_ns,
                            wide now)
{
    wide first = now;
    r->schedule = s;
    r->every_ns = every_ns;
    r->seen = now;
    r->promised_count = 0;
    r->passed_count = 0;
    r->skipped = 0;
    if (s->kind == WEIR_SCHEDULE_CRON && s->first != WEIR_FIRST_NOW) {
        bool is_later = s->first == WEIR_FIRST_AT && s->first_at_ns >= now;
        wide from = is_later ? s->first_at_ns : now;
        r->upcoming = firing_after(r, from - (s->first == WEIR_FIRST_AT));
        return;
    }
    if (s->first == WEIR_FIRST_INTERVAL) {
        first = now + s->interval_ns;
    }
    if (s->first == WEIR_FIRST_AT) {
        first = s->first_at_ns;
        while (s->kind == WEIR_SCHEDULE_RATE && first < now) {
            first += s->interval_ns;
        }
    }
    r->upcoming = first;
}

static void look_at_wall(struct reference *r, wide now)
{
    if (r->schedule->kind == WEIR_SCHEDULE_CRON && now < r->seen - WEIR_SECONDS(3 * 3600)) {
        r->upcoming = firing_after(r, now);
        r->promised_count = 0;
    }
    r->seen = now;
}

static bool reference_begin(struct reference *r, wide now, wide *ret_due)
{
    const struct weir_schedule *s = r->schedule;
    now = is_never(now) ? WEIR_FOREVER - 1 : now;
    look_at_wall(r, now);
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
    *ret_due = r->promised[0];
    drop_earliest(r, 1);
    return true;
}

static void reference_end(struct reference *r, wide now)
{
    const struct weir_schedule *s = r->schedule;
    now = is_never(now) ? WEIR_FOREVER - 1 : now;
    look_at_wall(r, now);
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

/* On the pool's clock, before it is put off by the slack. */
static int64_t exact_wake_of(const struct reference *r, struct weiri_moment now)
{
    if (r->promised_count > 0) {
        return now.clock_ns;
    }
    if (is_never(r->upcoming)) {
        return WEIR_FOREVER;
    }
    if (r->schedule->kind != WEIR_SCHEDULE_CRON) {
        return (int64_t)r->upcoming;
    }
    wide wait = r->upcoming - now.wall_ns;
    return (int64_t)(now.clock_ns + (wait < WEIR_SECONDS(60) ? wait : WEIR_SECONDS(60)));
}

/* Put off, unless that is at once or there is no time to put it off to. */
static int64_t wake_of(const struct reference *r, struct weiri_moment now)
{
    int64_t exact = exact_wake_of(r, now);
    const struct weir_schedule *s = r->schedule;
    /* Of these intervals and tolerances a thousandth is nothing, but where neither is set. */
    bool has_none = s->kind != WEIR_SCHEDULE_CRON || s->tolerance_ns != 0;
    wide slack = s->slack_ns != 0 ? s->slack_ns : has_none ? 1 : WEIR_MS(1);
    wide wake = (exact / slack + (exact % slack > 0)) * slack;
    return exact <= now.clock_ns || is_never(wake) ? exact : (int64_t)wake;
}

/* What the clock of the plan shows. */
static int64_t time_of(const struct reference *r, struct weiri_moment now)
{
    return r->schedule->kind == WEIR_SCHEDULE_CRON ? now.wall_ns : now.clock_ns;
}

static struct weir_schedule random_schedule(int64_t now)
{
    struct weir_schedule s = {0};
    s.kind = (uint32_t)test_random_below(3);
    s.first = (uint32_t)test_random_below(4);
    s.missed = (uint32_t)test_random_below(3);
    s.overlap = (uint32_t)test_random_below(3);
    s.interval_ns = 1 + (int64_t)test_random_below(50);
    s.tolerance_ns = (int64_t)test_random_below(60);
    s.slack_ns = (int64_t)test_random_below((uint64_t)s.interval_ns + 1);
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
    uint64_t of_cron;
};

static int64_t later(int64_t time, int64_t by)
{
    return by > WEIR_FOREVER - time ? WEIR_FOREVER : time + by;
}

/* Time passes, and now and then somebody sets the wall clock. */
static void pass(struct weiri_moment *now, uint64_t most)
{
    int64_t steps = (int64_t)test_random_below(most);
    now->clock_ns = later(now->clock_ns, steps);
    now->wall_ns = later(now->wall_ns, steps);
    if (test_random_below(12) == 0) {
        now->wall_ns = later(now->wall_ns, (int64_t)test_random_below(400) - 300);
    }
    if (test_random_below(40) == 0) {
        now->wall_ns -= WEIR_SECONDS(3 * 3600) + (int64_t)test_random_below(3) - 1;
    }
}

/* What a life is made of. */
struct life {
    struct weir_schedule schedule;
    struct weiri_plan plan;
    struct weiri_plan_state state;
    struct weiri_moment now;
    struct reference r;
};

/* The envelope gets its turn; *ret_run: and is run. */
static bool begins_alike(struct life *l, bool *ret_run)
{
    uint64_t before = l->r.skipped;
    wide due = 0;
    bool run = reference_begin(&l->r, time_of(&l->r, l->now), &due);
    struct weiri_turn turn = weiri_plan_begin(&l->plan, &l->state, l->now);
    *ret_run = run;
    if (turn.run != run || turn.skipped != l->r.skipped - before) {
        return false;
    }
    return run ? turn.due_ns == due : turn.wake_ns == wake_of(&l->r, l->now);
}

static bool ends_alike(struct life *l)
{
    uint64_t before = l->r.skipped;
    reference_end(&l->r, time_of(&l->r, l->now));
    struct weiri_turn turn = weiri_plan_end(&l->plan, &l->state, l->now);
    return !turn.run && turn.skipped == l->r.skipped - before &&
           turn.wake_ns == wake_of(&l->r, l->now);
}

#define CRONS 50

/* One envelope from its send on; false where plan and reference differ. */
static bool live(struct counts *counts, weir_cron *const *crons)
{
    static struct life l;
    bool is_late = test_random_below(4) == 0;
    l.now.clock_ns = is_late ? WEIR_FOREVER - 2000 : 500;
    l.now.wall_ns = is_late ? l.now.clock_ns : INT64_C(1) << 60;
    bool is_wall = false;
    l.schedule = random_schedule(l.now.clock_ns);
    int64_t every_ns = 0;
    if (l.schedule.kind == WEIR_SCHEDULE_CRON) {
        is_wall = true;
        l.now.clock_ns = 500;
        every_ns = l.schedule.interval_ns;
        l.schedule = random_schedule(l.now.wall_ns);
        l.schedule.kind = WEIR_SCHEDULE_CRON;
        l.schedule.interval_ns = 0;
        l.schedule.cron = crons[every_ns];
    }
    CHECK_STATUS(weiri_plan_init(&l.plan, &l.schedule, 0, 0, NULL), WEIR_OK);
    reference_start(&l.r, &l.schedule, every_ns, is_wall ? l.now.wall_ns : l.now.clock_ns);
    int64_t wake = weiri_plan_start(&l.plan, &l.state, l.now);
    bool is_same = wake == wake_of(&l.r, l.now);
    for (int step = 0; step < 40 && is_same; step++) {
        uint64_t most = test_random_below(8) == 0 ? 1500 : 60;
        bool run = true;
        pass(&l.now, most);
        if (test_random_below(10) > 0) { /* else somebody asked for a run */
            is_same = begins_alike(&l, &run);
            counts->runs += run;
            counts->refused += !run;
        }
        pass(&l.now, most);
        if (is_same && run) {
            is_same = ends_alike(&l);
        }
    }
    weiri_plan_fini(&l.plan);
    counts->skipped += l.r.skipped;
    counts->ended += time_of(&l.r, l.now) == WEIR_FOREVER;
    counts->of_cron += is_wall;
    return is_same;
}

static weir_cron *every(size_t ns)
{
    char text[32];
    struct weir_cron_options options = {0};
    weir_cron *cron = NULL;
    options.allocator = *test_allocator();
    options.zone = "UTC";
    (void)snprintf(text, sizeof(text), "@every %zuns", ns);
    CHECK_STATUS(weir_cron_new(text, &options, &cron, NULL), WEIR_OK);
    return cron;
}

TEST(random_lives, "plans do what a list of all firings does")
{
    struct counts counts = {0};
    weir_cron *crons[CRONS + 1] = {NULL};
    for (size_t i = 1; i <= CRONS; i++) {
        crons[i] = every(i);
    }
    uint64_t lives = test_scaled(30000);
    for (uint64_t i = 0; i < lives; i++) {
        if (!live(&counts, crons)) {
            test_fail(__FILE__, __LINE__, "life %llu differs", (unsigned long long)i);
        }
    }
    for (size_t i = 1; i <= CRONS; i++) {
        weir_cron_unref(crons[i]);
    }
    printf("%llu lives, %llu of cron, %llu runs, %llu begins without a run, %llu firings skipped, "
           "%llu at the end of time\n",
           (unsigned long long)lives, (unsigned long long)counts.of_cron,
           (unsigned long long)counts.runs, (unsigned long long)counts.refused,
           (unsigned long long)counts.skipped, (unsigned long long)counts.ended);
    CHECK(counts.runs > lives && counts.refused > lives && counts.skipped > lives);
    CHECK(counts.ended > 0 && counts.of_cron > 0);
}
