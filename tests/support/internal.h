/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_INTERNAL_H
#define WEIR_TEST_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/harness.h"

/* Shared by the files of the harness; tests do not use it. */

enum harness_outcome {
    HARNESS_RUNNING, /* also of a process that ended without an outcome */
    HARNESS_PASSED,
    HARNESS_FAILED,
    HARNESS_SKIPPED
};

#define HARNESS_EXIT_FAILED 1
#define HARNESS_EXIT_SKIPPED 77

/* One page that the runner and the test's process share; the test's side writes. */
struct harness_report {
    _Atomic int outcome;
    _Atomic uint64_t allocations; /* of test_allocator() in this pass */
    _Atomic bool alloc_failed;    /* one of them was made to fail */
    _Atomic uint64_t repeat_seed; /* the seed that shows the failure again */
    char text[512];               /* why the test was skipped */
};
extern struct harness_report *harness_report;

struct harness_test {
    const char *name;
    const char *sentence;
    unsigned flags;
    test_fn *fn;
};

/* How one pass of a test runs. */
struct harness_pass {
    const struct harness_test *test;
    uint64_t seed;
    uint64_t fail_nth; /* 0: no allocation is made to fail */
    bool fail_sticky;
};

/* Runs the body and the checks after it in this process. Returns only when the test passed. */
void harness_run_body(const struct harness_pass *pass);

/* A process of its own for one pass, everything it left behind removed. ret_output: the end of its
 * output, to be freed; ret_why: the reason, "" where it passed. */
enum harness_outcome harness_run_process(const struct harness_pass *pass, char **ret_output,
                                         char *ret_why, size_t why_size);
/* Prepares the process of the runner for harness_run_process(). */
void harness_process_init(void);

void harness_random_init(uint64_t seed, const char *test_name);
void harness_memory_init(uint64_t fail_nth, bool sticky);
/* Fails the test when a block is left. */
void harness_memory_check(void);

/* File descriptors, threads and children: notes them before the body, and checks that there are no
 * others after it. */
void harness_leaks_before(void);
void harness_leaks_check(void);

/* Gives back the ports of test_port(). */
void harness_ports_end(void);

/* Removes a folder and everything in it. */
void harness_remove_tree(const char *path);

/* The first number in /proc/self/task/TID/stat's state field, such as 'S'; 0: no such thread. */
char harness_thread_state(pid_t tid, char name[static 32]);

/* Ends the runner itself: something it needs does not work. */
_Noreturn void harness_die(const char *what);

#endif
