/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "support/internal.h"
#include "support/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* main() of every test executable: chooses the tests, runs their passes, reports the outcomes. The
 * output is TAP with one more line, the counts, at the end. */

#define TESTS_MAX 512
/* No test makes as many allocations; a loop over them that gets here does not end. */
#define FAILED_ALLOCATIONS_MAX 100000

static struct harness_test tests[TESTS_MAX];
static size_t test_count;

static struct {
    struct harness_options options;
    const char *program;
    unsigned line;
    unsigned passed;
    unsigned failed;
    unsigned skipped;
} run;

void test_register(const char *name, const char *sentence, unsigned flags, test_fn *fn)
{
    if (test_count == TESTS_MAX) {
        harness_die("more than TESTS_MAX tests in one file");
    }
    tests[test_count++] = (struct harness_test){name, sentence, flags, fn};
}

_Noreturn void harness_die(const char *what)
{
    (void)dprintf(STDERR_FILENO, "the test harness cannot go on: ");
    perror(what);
    _exit(HARNESS_EXIT_FAILED);
}

void harness_run_body(const struct harness_pass *pass)
{
    harness_random_init(pass->seed, pass->test->name);
    harness_memory_init(pass->fail_nth, pass->fail_sticky);
    harness_leaks_before();
    pass->test->fn();
    test_on_failure(NULL);
    test_fail_allocation(0, false);
    (void)fflush(NULL);
    harness_leaks_check();
    harness_memory_check();
    atomic_store(&harness_report->outcome, HARNESS_PASSED);
}

static enum harness_outcome run_here(const struct harness_pass *pass)
{
    memset(harness_report, 0, sizeof(*harness_report));
    harness_run_body(pass);
    return HARNESS_PASSED;
}

static void show_output(const char *output)
{
    while (*output != '\0') {
        size_t length = strcspn(output, "\n");
        (void)printf("#   %.*s\n", (int)length, output);
        output += length + (output[length] == '\n' ? 1 : 0);
    }
}

static void show_repeat(const struct harness_pass *pass)
{
    uint64_t seed = atomic_load(&harness_report->repeat_seed);
    char fail[64] = "";
    if (pass->fail_nth != 0) {
        (void)snprintf(fail, sizeof(fail), " --fail-alloc=%llu%s",
                       (unsigned long long)pass->fail_nth, pass->fail_sticky ? ",sticky" : "");
    }
    (void)printf("# seed %llu; again: %s --filter=%s --seed=%llu%s\n", (unsigned long long)seed,
                 run.program, pass->test->name, (unsigned long long)seed, fail);
}

/* One pass; prints its output if it failed. */
static enum harness_outcome run_pass(const struct harness_pass *pass, char *why, size_t why_size)
{
    if (run.options.no_fork) {
        why[0] = '\0';
        return run_here(pass);
    }
    char *output;
    enum harness_outcome outcome = harness_run_process(pass, &output, why, why_size);
    if (outcome == HARNESS_FAILED || run.options.verbose) {
        show_output(output);
    }
    if (outcome == HARNESS_FAILED) {
        (void)printf("# %s: %s\n", pass->test->name, why);
        show_repeat(pass);
    }
    free(output);
    return outcome;
}

/* Every allocation failing in turn: alone, and with all that follow it. Ends after the pass that
 * made fewer allocations than the one to fail. */
static enum harness_outcome run_failing(struct harness_pass pass, char *why, size_t why_size)
{
    for (pass.fail_nth = 1; pass.fail_nth <= FAILED_ALLOCATIONS_MAX; pass.fail_nth++) {
        bool reached = false;
        for (int sticky = 0; sticky <= 1; sticky++) {
            pass.fail_sticky = sticky == 1;
            enum harness_outcome outcome = run_pass(&pass, why, why_size);
            if (outcome != HARNESS_PASSED) {
                return outcome;
            }
            reached |= atomic_load(&harness_report->alloc_failed);
        }
        if (!reached) {
            return HARNESS_PASSED;
        }
    }
    (void)snprintf(why, why_size, "still allocating after %d passes", FAILED_ALLOCATIONS_MAX);
    (void)printf("# %s: %s\n", pass.test->name, why);
    return HARNESS_FAILED;
}

static enum harness_outcome run_passes(const struct harness_test *test, uint64_t seed, char *why,
                                       size_t why_size)
{
    struct harness_pass pass = {.test = test, .seed = seed};
    bool fails_one = run.options.fail_nth != 0;
    pass.fail_nth = run.options.fail_nth;
    pass.fail_sticky = run.options.fail_sticky;
    enum harness_outcome outcome = run_pass(&pass, why, why_size);
    bool loop = run.options.fail_all || (test->flags & TEST_FLAG_OOM) != 0;
    if (outcome == HARNESS_PASSED && loop && !fails_one) {
        outcome = run_failing(pass, why, why_size);
    }
    return outcome;
}

static void run_test(const struct harness_test *test, uint64_t seed)
{
    char why[640] = "";
    enum harness_outcome outcome = run_passes(test, seed, why, sizeof(why));
    run.line++;
    (void)printf("%sok %u - %s: %s%s%s\n", outcome == HARNESS_FAILED ? "not " : "", run.line,
                 test->name, test->sentence, outcome == HARNESS_SKIPPED ? " # SKIP " : "",
                 outcome == HARNESS_SKIPPED ? why : "");
    (void)fflush(stdout);
    run.passed += outcome == HARNESS_PASSED;
    run.failed += outcome == HARNESS_FAILED;
    run.skipped += outcome == HARNESS_SKIPPED;
}

/* Moves the tests that the filter means to the front, in their order; returns how many. */
static size_t choose(void)
{
    const char *filter = run.options.filter;
    if (filter == NULL) {
        return test_count;
    }
    bool is_name = false;
    for (size_t i = 0; i < test_count; i++) {
        is_name |= strcmp(tests[i].name, filter) == 0;
    }
    size_t chosen = 0;
    for (size_t i = 0; i < test_count; i++) {
        bool fits = is_name ? strcmp(tests[i].name, filter) == 0
                            : strstr(tests[i].name, filter) != NULL ||
                                  strstr(tests[i].sentence, filter) != NULL;
        if (fits) {
            tests[chosen++] = tests[i];
        }
    }
    return chosen;
}

static void shuffle(size_t count, uint64_t seed)
{
    harness_random_init(seed, "shuffle");
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)test_random_below(i);
        struct harness_test swapped = tests[i - 1];
        tests[i - 1] = tests[other];
        tests[other] = swapped;
    }
}

int main(int argc, char **argv)
{
    run.program = argv[0];
    if (!harness_options_read(argc, argv, &run.options)) {
        return HARNESS_EXIT_FAILED;
    }
    harness_process_init();
    size_t count = choose();
    if (run.options.list) {
        for (size_t i = 0; i < count; i++) {
            (void)printf("%s: %s\n", tests[i].name, tests[i].sentence);
        }
        return 0;
    }
    if (count == 0) {
        (void)fprintf(stderr, "%s: no test is chosen\n", argv[0]);
        return HARNESS_EXIT_FAILED;
    }
    (void)printf("TAP version 13\n1..%llu\n", (unsigned long long)count * run.options.repeat);
    uint64_t seed = run.options.seed;
    for (uint64_t round = 0; round < run.options.repeat; round++) {
        if (run.options.shuffle) {
            shuffle(count, seed);
        }
        for (size_t i = 0; i < count; i++) {
            run_test(&tests[i], seed);
        }
        /* Each round has a seed of its own, so that repeating covers more. */
        harness_random_init(seed, "next round");
        seed = test_random() >> 24;
    }
    (void)printf("%u passed, %u failed, %u skipped\n", run.passed, run.failed, run.skipped);
    if (run.failed != 0) {
        return HARNESS_EXIT_FAILED;
    }
    return run.passed == 0 ? HARNESS_EXIT_SKIPPED : 0;
}
