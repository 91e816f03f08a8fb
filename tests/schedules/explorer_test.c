/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/futex.h"
#include "base/random.h"
#include "base/sync.h"
#include "base/time.h"

#include "support/explorer/explorer.h"
#include "support/harness.h"

/* The explorer itself: how its time passes, what it chooses, what it says. What it notices is
 * tested in misuse_test.c, that it finds bugs in planted_test.c. */

static struct weiri_mutex mutex;
static struct weiri_cond cond;
static struct weiri_thread thread;

static void locks_init(void)
{
    weiri_mutex_init(&mutex);
    weiri_cond_init(&cond, &mutex);
}

static void locks_fini(void)
{
    weiri_cond_fini(&cond);
    weiri_mutex_fini(&mutex);
}

static void start(void (*run)(void *arg))
{
    CHECK_STATUS(weiri_thread_start(&thread, "other", run, NULL), WEIR_OK);
}

static const struct explorer_options plain = {.no_early_time = true, .no_spurious = true};

static void sleep_alone(void *arg)
{
    (void)arg;
    locks_init();
    int64_t before = weiri_monotonic_now();
    int64_t wall_before = weiri_wall_now();
    weiri_mutex_lock(&mutex);
    while (weiri_cond_wait_until(&cond, before + 50)) {
    }
    CHECK_INT(weiri_monotonic_now(), ==, before + 50);
    CHECK_INT(weiri_wall_now(), ==, wall_before + 50);
    CHECK(!weiri_cond_wait_until(&cond, before + 50));
    CHECK(!weiri_cond_wait_until(&cond, 0));
    CHECK_INT(weiri_monotonic_now(), ==, before + 50);
    weiri_mutex_unlock(&mutex);
    locks_fini();
}

TEST(virtual_time,
     "a sleeper alone wakes at its very limit, and no time passes for one in the past")
{
    explorer_must_pass(sleep_alone, NULL, NULL);
}

static int64_t woken_ns;
static unsigned early; /* schedules where the time moved past a thread that could run */

static void sleep_long(void *arg)
{
    (void)arg;
    weiri_mutex_lock(&mutex);
    while (weiri_cond_wait_until(&cond, woken_ns)) {
    }
    weiri_mutex_unlock(&mutex);
}

static void run_beside_sleeper(void *arg)
{
    (void)arg;
    locks_init();
    int64_t before = weiri_monotonic_now();
    woken_ns = before + 1000;
    start(sleep_long);
    for (int i = 0; i < 5; i++) {
        weiri_sync_point();
    }
    early += weiri_monotonic_now() != before;
    weiri_thread_join(&thread);
    CHECK_INT(weiri_monotonic_now(), ==, before + 1000);
    locks_fini();
}

TEST(early_time,
     "time passes beside a thread that can run in some schedules, and in none where that is off")
{
    early = 0;
    explorer_must_pass(run_beside_sleeper, NULL, NULL);
    CHECK_INT(early, >, 0);
    early = 0;
    explorer_must_pass(run_beside_sleeper, NULL, &plain);
    CHECK_INT(early, ==, 0);
}

static bool is_set;
static unsigned spurious; /* wake-ups for no reason */

static void sleep_until_set(void *arg)
{
    (void)arg;
    weiri_mutex_lock(&mutex);
    while (!is_set) {
        weiri_cond_wait(&cond);
        spurious += !is_set;
    }
    weiri_mutex_unlock(&mutex);
}

static void set(void *arg)
{
    (void)arg;
    locks_init();
    is_set = false;
    start(sleep_until_set);
    weiri_mutex_lock(&mutex);
    is_set = true;
    weiri_cond_signal(&cond);
    weiri_mutex_unlock(&mutex);
    weiri_thread_join(&thread);
    locks_fini();
}

TEST(spurious_wake_ups,
     "waits return for no reason in some schedules, and in none where that is off")
{
    spurious = 0;
    explorer_must_pass(set, NULL, NULL);
    CHECK_INT(spurious, >, 0);
    spurious = 0;
    explorer_must_pass(set, NULL, &plain);
    CHECK_INT(spurious, ==, 0);
}

static int tokens;
static unsigned firsts[2]; /* how often which of two sleepers was woken */

static void take_token(void *arg)
{
    weiri_mutex_lock(&mutex);
    while (tokens == 0) {
        weiri_cond_wait(&cond);
    }
    tokens--;
    firsts[*(const int *)arg]++;
    weiri_mutex_unlock(&mutex);
}

static void give_tokens(void *arg)
{
    (void)arg;
    static const int numbers[2] = {0, 1};
    struct weiri_thread threads[2];
    locks_init();
    tokens = 0;
    unsigned before = firsts[0] + firsts[1];
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(weiri_thread_start(&threads[i], "taker", take_token, (void *)&numbers[i]),
                     WEIR_OK);
    }
    for (int i = 0; i < 2; i++) {
        weiri_mutex_lock(&mutex);
        tokens++;
        weiri_cond_signal(&cond);
        weiri_mutex_unlock(&mutex);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(!weiri_thread_is_self(&threads[i]));
        weiri_thread_join(&threads[i]);
    }
    CHECK_INT(firsts[0] + firsts[1], ==, before + 2);
    locks_fini();
}

TEST(signals, "each signal wakes one of those who sleep")
{
    explorer_must_pass(give_tokens, NULL, NULL);
}

static unsigned outcomes[4];

static void choose(void *arg)
{
    (void)arg;
    outcomes[explorer_choose(2) * 2 + explorer_choose(2)]++;
}

static _Atomic uint32_t word;

static void sleep_on_word(void *arg)
{
    (void)arg;
    while (atomic_load(&word) == 0) {
        (void)weiri_futex_wait(&word, 0, INT64_MAX);
    }
}

/* Two sleep on the word; each wake-up is of one. arg: whether the word changes first. */
static void wake_word(void *arg)
{
    bool is_first = *(const bool *)arg;
    struct weiri_thread sleepers[2];
    atomic_store(&word, 0);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(weiri_thread_start(&sleepers[i], "sleeper", sleep_on_word, NULL), WEIR_OK);
    }
    if (is_first) {
        atomic_store(&word, 1);
    }
    weiri_futex_wake(&word, 1);
    weiri_futex_wake(&word, 1);
    atomic_store(&word, 1);
    weiri_thread_join(&sleepers[0]);
    weiri_thread_join(&sleepers[1]);
}

static void limit_on_word(void *arg)
{
    (void)arg;
    atomic_store(&word, 0);
    int64_t before = weiri_monotonic_now();
    CHECK(!weiri_futex_wait(&word, 0, before));
    CHECK(weiri_futex_wait(&word, 1, before + 50));
    CHECK_INT(weiri_monotonic_now(), ==, before);
    while (weiri_futex_wait(&word, 0, before + 50)) {
    }
    CHECK_INT(weiri_monotonic_now(), ==, before + 50);
}

TEST(words, "who sleeps on a word is woken one by one, at its limit, or never if it was too early")
{
    bool is_first = true;
    explorer_must_pass(wake_word, &is_first, &plain);
    explorer_must_pass(limit_on_word, NULL, NULL);
    is_first = false;
    struct explorer_result lost;
    explorer_run(wake_word, &is_first, &plain, &lost);
    CHECK(lost.failed);
    CHECK(strstr(lost.text, "deadlock") != NULL);
}

TEST(choices, "the search tries every choice once; the seeded schedules make each")
{
    struct explorer_result result;
    const struct explorer_options search = {.no_seeded = true, .preemptions = 1};
    explorer_run(choose, NULL, &search, &result);
    CHECK(!result.failed);
    CHECK_INT(result.exhausted, ==, 4);
    const struct explorer_options seeded = {.schedules = 200, .no_exhaustive = true};
    memset(outcomes, 0, sizeof(outcomes));
    explorer_run(choose, NULL, &seeded, &result);
    CHECK(!result.failed);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(outcomes[i], >, 1);
    }
}

static uint64_t hash_seed;

static void draw_seed(void *arg)
{
    (void)arg;
    hash_seed = weiri_random_seed();
}

TEST(random_seeds, "seeds drawn in a schedule are made from its own")
{
    struct explorer_result result;
    explorer_replay(draw_seed, NULL, NULL, 11, false, &result);
    uint64_t first = hash_seed;
    explorer_replay(draw_seed, NULL, NULL, 12, false, &result);
    CHECK(hash_seed != first);
    explorer_replay(draw_seed, NULL, NULL, 11, false, &result);
    CHECK(hash_seed == first);
}

TEST(outside, "locks can be used where no schedule runs")
{
    locks_init();
    weiri_mutex_lock(&mutex);
    weiri_mutex_assert_held(&mutex);
    weiri_cond_signal(&cond);
    weiri_cond_broadcast(&cond);
    weiri_mutex_unlock(&mutex);
    weiri_sync_point();
    locks_fini();
}

static void idle(void *arg)
{
    (void)arg;
}

static void start_three(void *arg)
{
    (void)arg;
    uint64_t refused = explorer_choose(4);
    explorer_refuse_thread(refused);
    for (uint64_t i = 1; i <= 3; i++) {
        enum weir_status status = weiri_thread_start(&thread, "one", idle, NULL);
        CHECK_STATUS(status, i == refused ? WEIR_ETHREAD : WEIR_OK);
        if (status == WEIR_OK) {
            weiri_thread_join(&thread);
        }
    }
}

TEST(refused_threads, "the thread start that a scenario says is refused, and no other")
{
    explorer_must_pass(start_three, NULL, NULL);
}

static char output[65536];

/* Runs a scenario that fails on purpose (support/planted/schedule.c). */
static int run_planted(const char *arguments)
{
    char command[1024];
    (void)snprintf(command, sizeof(command), "%s %s 2>&1", WEIR_TEST_PLANTED, arguments);
    FILE *pipe = popen(command, "r");
    CHECK(pipe != NULL);
    size_t length = fread(output, 1, sizeof(output) - 1, pipe);
    output[length] = '\0';
    int status = pclose(pipe);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void must_contain(const char *text)
{
    if (strstr(output, text) == NULL) {
        test_fail(__FILE__, __LINE__, "\"%s\" is not in:\n%s", text, output);
    }
}

TEST(failure_output, "a failure shows the trace of its schedule, and the command that repeats it")
{
    CHECK_INT(run_planted("--filter=seeded"), ==, 1);
    must_contain("count == 2: 1, 2");
    must_contain("counter");
    must_contain("read 0");
    must_contain("schedule.c:");
    must_contain("count_up");
    const char *again = strstr(output, "again: ");
    CHECK(again != NULL);
    const char *arguments = strstr(again, " --filter=");
    CHECK(arguments != NULL);
    char command[256];
    (void)snprintf(command, sizeof(command), "%.*s", (int)strcspn(arguments, "\n"), arguments);
    /* The first schedule is the one without preemptions; then comes the one of the seed. */
    CHECK_INT(run_planted(command), ==, 1);
    must_contain("schedule 2, seed ");
    must_contain("count == 2: 1, 2");
}

TEST(search_output, "a failing schedule of the search shows its trace")
{
    CHECK_INT(run_planted("--filter=searched"), ==, 1);
    must_contain("of the search");
    must_contain("read 0");
    must_contain("count == 2: 1, 2");
}

TEST(unsteady_output, "a scenario that does not depend on its schedule alone is told so")
{
    CHECK_INT(run_planted("--filter=unsteady"), ==, 1);
    must_contain("++schedules < 100: 100, 100");
    must_contain("did not come to the same end");
}
