/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/job.h"

#include "support/harness.h"

#define DAY WEIR_SECONDS(86400)
#define FULL                                                                                       \
    {                                                                                              \
        DAY, 7, WEIR_SECONDS(60), WEIR_LATE_DROP, 3, 1, 0                                          \
    }

struct row {
    struct weir_tube_policy before;
    struct weir_tube_policy change;
    struct weir_tube_policy after; /* all zero with a status */
    enum weir_status status;
};

static void expect(const struct weir_tube_policy *is, const struct weir_tube_policy *expected)
{
    CHECK_INT(is->keep_ns, ==, expected->keep_ns);
    CHECK_INT(is->keep_count, ==, expected->keep_count);
    CHECK_INT(is->late_ns, ==, expected->late_ns);
    CHECK_INT(is->late, ==, expected->late);
    CHECK_INT(is->group_limit, ==, expected->group_limit);
    CHECK_INT(is->archive, ==, expected->archive);
    CHECK_INT(is->members, ==, 0);
}

TEST(merge, "a change of a policy takes the members that it names, and what follows for others")
{
    static const struct row rows[] = {
        /* All of them. */
        {FULL, {.group_limit = 1}, {.group_limit = 1}, WEIR_OK},
        {{0}, FULL, FULL, WEIR_OK},
        /* One of them. */
        {FULL,
         {.members = WEIR_POLICY_GROUP_LIMIT, .keep_ns = 5, .group_limit = 1},
         {DAY, 7, WEIR_SECONDS(60), WEIR_LATE_DROP, 1, 1, 0},
         WEIR_OK},
        {FULL,
         {.members = WEIR_POLICY_KEEP_COUNT},
         {DAY, 0, WEIR_SECONDS(60), WEIR_LATE_DROP, 3, 1, 0},
         WEIR_OK},
        {FULL,
         {.members = WEIR_POLICY_LATE, .late = WEIR_LATE_BURY},
         {DAY, 7, WEIR_SECONDS(60), WEIR_LATE_BURY, 3, 1, 0},
         WEIR_OK},
        /* What belongs to a limit goes with it. */
        {FULL,
         {.members = WEIR_POLICY_KEEP_NS, .keep_ns = WEIR_KEEP_NONE},
         {WEIR_KEEP_NONE, 7, WEIR_SECONDS(60), WEIR_LATE_DROP, 3, 1, 0},
         WEIR_OK},
        {FULL, {.members = WEIR_POLICY_LATE}, {DAY, 7, 0, WEIR_LATE_RUN, 3, 1, 0}, WEIR_OK},
        /* A limit buries late ones. */
        {{0},
         {.members = WEIR_POLICY_LATE_NS, .late_ns = 9},
         {.late_ns = 9, .late = WEIR_LATE_BURY},
         WEIR_OK},
        /* The default of late_ns. */
        {{0},
         {.members = WEIR_POLICY_LATE, .late = WEIR_LATE_DROP},
         {.late_ns = WEIR_SECONDS(1800), .late = WEIR_LATE_DROP},
         WEIR_OK},
        {FULL,
         {.members = WEIR_POLICY_LATE_NS},
         {DAY, 7, WEIR_SECONDS(1800), WEIR_LATE_DROP, 3, 1, 0},
         WEIR_OK},
        /* Contradictions. */
        {FULL, {.members = WEIR_POLICY_LATE | WEIR_POLICY_LATE_NS, .late_ns = 1}, {0}, WEIR_EINVAL},
        {{0}, {.late_ns = 1}, {0}, WEIR_EINVAL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weir_tube_policy policy = rows[i].before;
        struct weir_error error = {0};
        CHECK_STATUS(weiri_policy_merge(&policy, &rows[i].change, &error), rows[i].status);
        expect(&policy, rows[i].status == WEIR_OK ? &rows[i].after : &rows[i].before);
    }
}
