/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_BAD_ROWS_H
#define WEIR_TEST_CONFORMANCE_BAD_ROWS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <weir/status.h>

#include "support/harness.h"

/* The table of bad input: what each function answers to each fault of each of its parameters.
 *
 *     ROW(weir_queue_get_batch, size, zero, WEIR_EINVAL)
 *     {
 *         return weir_queue_get_batch(w->queue, 0, w->works, 0, &w->count);
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

/* What the last call of the row said, of those that take a struct weir_error. */
static struct weir_error said;

/* The status of a call that has filled said in: words for a refusal, and none for a success. */
static inline enum weir_status spoken(enum weir_status status)
{
    CHECK((said.text[0] == '\0') == (status == WEIR_OK));
    return status;
}

/* A refusal names what it is about: the parameter, or the member of the options. Faults that are
 * not called after their member: */
static const struct {
    const char *fault;
    const char *word;
} words_of_faults[] = {{"late_deadline", "deadline_ns"},
                       {"large_group", "group"},
                       {"large_key", "key"},
                       {"large_headers", "headers"},
                       {"key_of_several", "key"},
                       {"key_taken", "key"},
                       {"put_id_taken", "put_id"},
                       {"key_cluster", "key"},
                       {"headers_cluster", "header"},
                       {"group_cluster", "group"},
                       {"past_run_at_ns", "run_at_ns"},
                       {"no_url", "URL"},
                       {"no_job", "job 6"},
                       {"malformed_id", "job id"},
                       {"no_folder", "none"},
                       {"linked", "linked.db"},
                       {"not_ours", "theirs.db"},
                       {"flags_existing", "new.db"},
                       {"flags_cluster", "share"},
                       {"durability_cluster", "durability"},
                       {"cluster", ""},
                       {"large_tube", "tube"},
                       {"large_name", "name"},
                       {"large_cron", "cron"},
                       {"frequent_cron", "cron"},
                       {"large_zone", "zone"},
                       {"large_body", "body"},
                       {"no_schedule", "schedule"},
                       {"moving", "one move at a time"},
                       {"existing", "exists"},
                       {"unshared", "shared"},
                       {"trigger", "theirs"},
                       {"shadowed", "a temporary table"},
                       {"parents", ""},
                       {"read_only", "read-only"},
                       {"taken_name", "name"},
                       {"name_taken", "name"},
                       {"zone_corrupt", "zone"},
                       {"zone_closed", "zone"},
                       {"zone_folder", "zone"},
                       {"group_of_cron", "group"},
                       {"large_put_id", "put_id"},
                       {"options_of_body", "body.options"},
                       {"schedule_no_interval", "interval_ns"},
                       {"schedule_deadline", "deadline_ns"},
                       {"metrics", "name"},
                       {"incomplete", "ops->"},
                       {"forked", ""},
                       {"overdue", "overdue_ns"},
                       {"unasked_retry", "retry"},
                       {"none", ""}};

static inline const char *word_of(const struct row *row)
{
    for (size_t i = 0; i < sizeof(words_of_faults) / sizeof(words_of_faults[0]); i++) {
        if (strcmp(row->fault, words_of_faults[i].fault) == 0) {
            return words_of_faults[i].word;
        }
    }
    if (strcmp(row->parameter, "body") == 0) {
        return "bodies[0]"; /* the one of a put */
    }
    bool has_members =
        strcmp(row->parameter, "options") == 0 || strcmp(row->parameter, "filter") == 0 ||
        strcmp(row->parameter, "change") == 0 || strcmp(row->parameter, "policy") == 0;
    bool is_member = has_members && strcmp(row->fault, "null") != 0;
    const char *word = is_member ? row->fault : row->parameter;
    bool is_of_part = strncmp(word, "schedule_", 9) == 0 || strncmp(word, "isolation_", 10) == 0 ||
                      strncmp(word, "retry_", 6) == 0;
    size_t part = is_of_part ? strcspn(word, "_") + 1 : 0;
    return word + part;
}

/* A call that says in words what it refuses. What is wrong in an expression is said with its
 * offset instead (src/cron/cron_parse_test.c). */
static inline void check_said(const struct row *row)
{
    bool is_of_text = strcmp(row->parameter, "text") == 0 && strcmp(row->fault, "null") != 0;
    if (said.text[0] != '\0' && !is_of_text && strstr(said.text, word_of(row)) == NULL) {
        test_fail(__FILE__, __LINE__, "%s(), %s: %s: \"%s\" does not name %s", row->function,
                  row->parameter, row->fault, said.text, word_of(row));
    }
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
    said.text[0] = '\0';
    enum weir_status status = row->fn(w);
    test_fail_allocation(0, false);
    if (status != row->status) {
        test_fail(__FILE__, __LINE__, "%s(), %s: %s: %s, expected %s", row->function,
                  row->parameter, row->fault, weir_status_name((int)status),
                  weir_status_name((int)row->status));
    }
    if (strcmp(row->parameter, "ret_error") != 0 && status != WEIR_ETIMEDOUT) {
        check_said(row);
    }
    return status;
}

#endif
