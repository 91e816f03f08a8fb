/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_BAD_ROWS_H
#define WEIR_TEST_CONFORMANCE_BAD_ROWS_H

#include <stdio.h>

#include "support/harness.h"

/* The table of bad input: what each function answers to each fault of each of its parameters.
 *
 *     ROW(weir_queue_get_batch, size, zero, WEIR_EINVAL)
 *     {
 *         return weir_queue_get_batch(w->queue, w->works, 0, &w->count);
 *     }
 *
 * A row returns what the call did. Where that is a refusal, nothing may have changed; what that
 * means says the world that the row is called in: bad_input.h has that of queues, bad_pool.h that
 * of pools. WEIR_OK: the fault is none here (NULL where it is allowed), and the row has checked
 * what came of it.
 *
 * tools/check_bad_input.py holds that there is a row for each function, parameter and fault that
 * the public headers give reason for, and for each error that they name. */

/* What results are before a call that must leave them alone. */
#define UNTOUCHED 77

struct world;

/* Returns the status of the call. */
typedef enum weir_status row_fn(struct world *w);

struct row {
    const char *function;
    const char *parameter;
    const char *fault;
    enum weir_status status;
    const char *last_words; /* the call ends the program with these; NULL: it returns */
    row_fn *fn;
};

#define ROWS_MAX 256
static struct row rows[ROWS_MAX];
static size_t row_count;

static inline void add_row(const struct row *row)
{
    CHECK_INT(row_count, <, ROWS_MAX);
    rows[row_count++] = *row;
}

#define ROW(function, parameter, fault, status) ROW_WITH(function, parameter, fault, status, NULL)

/* A row whose call ends the program with a message, which has these words. */
#define LAST_ROW(function, parameter, fault, words)                                                \
    ROW_WITH(function, parameter, fault, WEIR_OK, words)

#define ROW_WITH(function, parameter, fault, status, words)                                        \
    static row_fn row_##function##_##parameter##_##fault;                                          \
    __attribute__((constructor)) static void add_row_##function##_##parameter##_##fault(void)      \
    {                                                                                              \
        add_row(&(struct row){#function, #parameter, #fault, status, words,                        \
                              row_##function##_##parameter##_##fault});                            \
    }                                                                                              \
    static enum weir_status row_##function##_##parameter##_##fault(                                \
        __attribute__((unused)) struct world *w)

/* Calls a row, and sees that it comes to its status. */
static inline enum weir_status call_row(const struct row *row, struct world *w)
{
    /* Shown where the row ends the process. */
    (void)fprintf(stderr, "%s(), %s: %s\n", row->function, row->parameter, row->fault);
    enum weir_status status = row->fn(w);
    test_fail_allocation(0, false);
    if (status != row->status) {
        test_fail(__FILE__, __LINE__, "%s(), %s: %s: %s, expected %s", row->function,
                  row->parameter, row->fault, weir_status_name((int)status),
                  weir_status_name((int)row->status));
    }
    return status;
}

#endif
