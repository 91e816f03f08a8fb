/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "support/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct harness_report *harness_report;

static _Atomic(test_failure_fn *) failure_hook;
static _Atomic uint64_t random_state;
static uint64_t run_seed;

void test_on_failure(test_failure_fn *hook)
{
    atomic_store(&failure_hook, hook);
}

void test_fail(const char *file, int line, const char *format, ...)
{
    char text[1024];
    int length = snprintf(text, sizeof(text), "%s:%d: ", file, line);
    va_list arguments;
    va_start(arguments, format);
    if (length > 0 && (size_t)length < sizeof(text)) {
        (void)vsnprintf(text + length, sizeof(text) - (size_t)length, format, arguments);
    }
    va_end(arguments);

    test_failure_fn *hook = atomic_load(&failure_hook);
    if (hook != NULL) {
        hook(text);
    }
    /* Past stdio, whose locks another thread may hold; and _exit(), since other threads still run
     * and use objects that exit() destroys. */
    (void)dprintf(STDERR_FILENO, "FAILED %s\n", text);
    atomic_store(&harness_report->outcome, HARNESS_FAILED);
    _exit(HARNESS_EXIT_FAILED);
}

void test_skip(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(harness_report->text, sizeof(harness_report->text), format, arguments);
    va_end(arguments);
    atomic_store(&harness_report->outcome, HARNESS_SKIPPED);
    _exit(HARNESS_EXIT_SKIPPED);
}

bool test_oom(int status, const char *status_name, const char *file, int line)
{
    if (status == WEIR_OK) {
        return false;
    }
    if (status == WEIR_ENOMEM && atomic_load(&harness_report->alloc_failed)) {
        return true;
    }
    test_fail(file, line, "%s%s", status_name,
              status == WEIR_ENOMEM ? ", and no allocation was made to fail" : "");
}

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The test's name goes in, so that each test has numbers of its own, the same under any --filter.
 */
void harness_random_init(uint64_t seed, const char *test_name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *c = test_name; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    }
    run_seed = seed;
    atomic_store(&random_state, mix(seed ^ hash));
    atomic_store(&harness_report->repeat_seed, seed);
}

uint64_t test_seed(void)
{
    return run_seed;
}

void test_repeat_with(uint64_t seed)
{
    atomic_store_explicit(&harness_report->repeat_seed, seed, memory_order_relaxed);
}

uint64_t test_random(void)
{
    /* splitmix64: one addition is all the state there is, so that threads may share it. */
    const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
    return mix(atomic_fetch_add_explicit(&random_state, step, memory_order_relaxed) + step);
}

uint64_t test_random_below(uint64_t limit)
{
    if (limit == 0) {
        test_fail(__FILE__, __LINE__, "test_random_below(0)");
    }
    return test_random() % limit;
}

uint64_t test_scaled(uint64_t count)
{
    const char *text = getenv("WEIR_TEST_SCALE");
    if (text == NULL || *text == '\0') {
        return count;
    }
    char *end;
    double scale = strtod(text, &end);
    if (*end != '\0' || !(scale > 0 && scale <= 1e9)) {
        test_fail(__FILE__, __LINE__, "WEIR_TEST_SCALE=%s: expected a positive number", text);
    }
    double scaled = (double)count * scale;
    return scaled < 1 ? 1 : (uint64_t)scaled;
}
