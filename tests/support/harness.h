/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_HARNESS_H
#define WEIR_TEST_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <weir/allocator.h>
#include <weir/status.h>

/* The test harness. A test file is one executable whose main() comes from here; each TEST runs in a
 * process of its own, in its own process group and its own empty folder, under a time limit, and
 * passes only if afterwards no memory of test_allocator(), file descriptor, thread or child is
 * left.
 *
 *     TEST(coalesces, "adding a queued item again changes nothing")
 *     {
 *         CHECK_STATUS(weir_queue_add(q, key), WEIR_OK);
 *         CHECK_INT(weir_queue_len(q), ==, 1);
 *     }
 *
 * Tests run in the order of the file. A failed CHECK, on any thread, prints the place and both
 * values and ends the test's process. Command line: --list, --filter=TEXT, --seed=N, --repeat=N,
 * --shuffle, --no-fork,
 * --fail-alloc=N[,sticky] (one pass with the Nth allocation failing), --fail-alloc=all (every N in
 * turn, once and sticky, until a pass makes fewer allocations), --verbose. Exit status: 0 passed, 1
 * failed, 77 when all were skipped. The last line is `N passed, N failed, N skipped`. */

typedef void test_fn(void);

/* Registers a test; name is a C identifier, sentence states the promise. */
#define TEST(name, sentence) TEST_WITH(name, sentence, 0)

/* As TEST. TEST_OOM: the harness also runs it with every allocation of test_allocator() failing in
 * turn; its body must accept WEIR_ENOMEM (see CHECK_OR_OOM) wherever something allocates. */
#define TEST_OOM(name, sentence) TEST_WITH(name, sentence, TEST_FLAG_OOM)

#define TEST_FLAG_OOM 1u

#define TEST_WITH(name, sentence, flags)                                                           \
    static test_fn test_##name;                                                                    \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        test_register(#name, sentence, flags, test_##name);                                        \
    }                                                                                              \
    static void test_##name(void)

void test_register(const char *name, const char *sentence, unsigned flags, test_fn *fn);

/* Ends the test as failed, from any thread. */
_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the test as skipped; the reason is printed. Never for something that should work here. */
_Noreturn void test_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "not true: %s", #condition))

/* Called with the text of a failure, on the thread that failed, before that ends the process. It
 * need not return: the schedule explorer leaves a failed schedule this way. NULL: none. */
typedef void test_failure_fn(const char *text);
void test_on_failure(test_failure_fn *hook);

/* Compares two integers with an operator and prints both. */
#define CHECK_INT(a, op, b)                                                                        \
    do {                                                                                           \
        long long check_a = (long long)(a);                                                        \
        long long check_b = (long long)(b);                                                        \
        if (!(check_a op check_b)) {                                                               \
            test_fail(__FILE__, __LINE__, "%s %s %s: %lld, %lld", #a, #op, #b, check_a, check_b);  \
        }                                                                                          \
    } while (0)

/* The call must come to exactly this status. */
#define CHECK_STATUS(call, expected)                                                               \
    do {                                                                                           \
        int check_got = (int)(call);                                                               \
        int check_want = (int)(expected);                                                          \
        if (check_got != check_want) {                                                             \
            test_fail(__FILE__, __LINE__, "%s: %s, expected %s", #call,                            \
                      weir_status_name(check_got), weir_status_name(check_want));                  \
        }                                                                                          \
    } while (0)

#define CHECK_STRING(a, b)                                                                         \
    do {                                                                                           \
        const char *check_a = (a);                                                                 \
        const char *check_b = (b);                                                                 \
        if (strcmp(check_a, check_b) != 0) {                                                       \
            test_fail(__FILE__, __LINE__, "%s is \"%s\", expected \"%s\"", #a, check_a, check_b);  \
        }                                                                                          \
    } while (0)

/* True when status is WEIR_ENOMEM and the harness made an allocation fail; then the caller cleans
 * up and returns. Any other status than WEIR_OK fails the test. */
#define CHECK_OR_OOM(status) test_check_or_oom((int)(status), __FILE__, __LINE__)
bool test_oom(int status, const char *status_name, const char *file, int line);
/* Here, so that the harness itself needs nothing of libweir. */
static inline bool test_check_or_oom(int status, const char *file, int line)
{
    return test_oom(status, weir_status_name(status), file, line);
}

/* Runs fn(arg) in a child, which must end by abort(), with text in its output on standard error.
 * Not while other threads run. */
void test_must_abort(void (*fn)(void *arg), void *arg, const char *text);

/* Ends a child that the test has forked, as one that passed, whether or not its parent had other
 * threads. Lines that it ran count as reached (make coverage), which those before an _exit() do
 * not. */
_Noreturn void test_end_child(void);

/* Counts and checks every block: a block must be released with its size, and none may be left at
 * the end. Freed memory is overwritten. Thread-safe. Fails on command (--fail-alloc). */
const struct weir_allocator *test_allocator(void);
/* Blocks and bytes of test_allocator() in use now. */
size_t test_allocated_blocks(void);
size_t test_allocated_bytes(void);
/* From now on the nth allocation (1: the next) fails, and with sticky every one after it; 0: none.
 */
void test_fail_allocation(uint64_t nth, bool sticky);

/* The run's seed (--seed, else a fresh one that a failure prints), and a random number made from it
 * and the test's name; thread-safe. */
uint64_t test_seed(void);
uint64_t test_random(void);
/* 0 <= result < limit. */
uint64_t test_random_below(uint64_t limit);

/* A failure from now on names this seed as the one to run again with, in place of the run's own. */
void test_repeat_with(uint64_t seed);

/* Multiplies a count of work by the environment's WEIR_TEST_SCALE (default 1), for long campaigns.
 */
uint64_t test_scaled(uint64_t count);

/* Runs fn(arg) on a thread of the system; all started ones must be joined by test_join(). */
struct test_thread;
struct test_thread *test_start(void (*fn)(void *arg), void *arg);
void test_join(struct test_thread *thread);

/* Returns once thread sleeps in the kernel (for a lock, a condition or the like). So a test can
 * have a sleeping consumer without relying on a pause. */
void test_wait_asleep(struct test_thread *thread);

/* The same, or once fn has returned: false. */
bool test_wait_asleep_or_end(struct test_thread *thread);

/* Whether fn has returned. */
bool test_has_ended(struct test_thread *thread);

/* How often a thread has gone to sleep so far. Call it after test_wait_asleep(). If two calls
 * return the same number, nothing woke the thread in between. */
long test_sleeps(struct test_thread *thread);

/* Threads of the process now, the test's and a sanitizer's own included. */
unsigned test_thread_count(void);

#endif
