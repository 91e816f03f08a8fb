/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/job.h"

#include "support/harness.h"

#define RUN_AT WEIR_SECONDS(1000)
#define LATER (RUN_AT + 1)

static void check(const struct weir_job *job, int64_t paused_until_ns, enum weir_why_reason reason,
                  int64_t start_ns, const char *text)
{
    const struct weiri_running none = {.group = job->group};
    struct weir_why why;
    weiri_why_explain(job, paused_until_ns, 0, &none, &why);
    CHECK_INT(why.reason, ==, reason);
    CHECK_INT(why.state, ==, job->state);
    CHECK_INT(why.start_ns, ==, start_ns);
    CHECK_INT(why.owner, ==, job->state == WEIR_JOB_RESERVED ? job->owner : 0);
    CHECK_STRING(why.text, text);
}

TEST(states, "a job in each state has its reason, its time and its words")
{
    struct weir_job job = {.tube = "t", .run_at_ns = RUN_AT, .owner = 77, .reason = ""};
    job.state = WEIR_JOB_DELAYED;
    check(&job, 0, WEIR_WHY_TIME, RUN_AT, "its time has not come");
    check(&job, LATER, WEIR_WHY_PAUSED, LATER, "tube t is paused");
    check(&job, RUN_AT, WEIR_WHY_TIME, RUN_AT, "its time has not come");
    job.attempts = 2;
    check(&job, 0, WEIR_WHY_TIME, RUN_AT, "it waits for its next run, after run 2");
    job.reason = "no";
    check(&job, 0, WEIR_WHY_TIME, RUN_AT, "it waits for its next run, after run 2: no");
    job.state = WEIR_JOB_READY;
    check(&job, 0, WEIR_WHY_WORKER, RUN_AT, "no worker has taken it yet");
    check(&job, LATER, WEIR_WHY_PAUSED, LATER, "tube t is paused");
    job.is_suspect = 1;
    check(&job, 0, WEIR_WHY_WORKER, RUN_AT,
          "no worker has taken it yet; its last runs ended with "
          "their worker, which begins one such job at a time");
    job.key = "k";
    job.state = WEIR_JOB_RESERVED;
    job.reserved_until_ns = LATER;
    check(&job, LATER, WEIR_WHY_RESERVED, LATER, "a worker has it, run 2; it has the key \"k\"");
    job.verdict = WEIR_VERDICT_REMOVE;
    check(&job, LATER, WEIR_WHY_RESERVED, LATER,
          "a worker has it, run 2; it was asked to end, and is then deleted: no; it has the key "
          "\"k\"");
    job.verdict = 0;
    job.owner_life = 1;
    check(&job, LATER, WEIR_WHY_RESERVED, LATER, "a worker has it, run 2; it has the key \"k\"");
    job.owner_life = 2;
    check(&job, LATER, WEIR_WHY_RESERVED, LATER,
          "a worker has it, run 2: its process does not live; it has the key \"k\"");
    job.state = WEIR_JOB_BURIED;
    check(&job, LATER, WEIR_WHY_BURIED, 0, "buried after run 2: no; it has the key \"k\"");
    job.key = NULL;
    job.state = WEIR_JOB_ENDED;
    job.end = WEIR_RUN_CANCELED;
    check(&job, LATER, WEIR_WHY_DONE, 0, "it was canceled, after run 2: no");
    job.end = WEIR_RUN_DONE;
    job.reason = "";
    check(&job, LATER, WEIR_WHY_DONE, 0, "it is done, after run 2");
}

static struct weiri_running running_of(const char *group, int count)
{
    static const char *const ids[] = {"1", "22", "3", "4", "5", "6"};
    struct weiri_running running = {.group = group};
    const struct weir_job alone = {.id = "90"};
    const struct weir_job other = {.id = "91", .group = "other"};
    weiri_running_add(&running, &alone);
    for (int i = 0; i < count; i++) {
        const struct weir_job job = {.id = ids[i], .group = group};
        weiri_running_add(&running, &job);
        weiri_running_add(&running, &other);
    }
    return running;
}

TEST(groups, "a job of a full group waits for it; up to four that run are named")
{
    static const struct {
        int running;
        uint32_t limit;
        enum weir_why_reason reason;
        const char *text;
    } rows[] = {
        {0, 1, WEIR_WHY_WORKER, "; 0 of its group \"g\" run"},
        {1, 2, WEIR_WHY_WORKER, "; 1 of its group \"g\" run (1)"},
        {2, 2, WEIR_WHY_GROUP, "its group \"g\" is full: 2 of at most 2 run (1, 22)"},
        {4, 2, WEIR_WHY_GROUP, "its group \"g\" is full: 4 of at most 2 run (1, 22, 3, 4)"},
        {6, 2, WEIR_WHY_GROUP, "its group \"g\" is full: 6 of at most 2 run (1, 22, 3, 4, ...)"},
        {6, 0, WEIR_WHY_WORKER, "; 6 of its group \"g\" run (1, 22, 3, 4, ...)"},
    };
    struct weir_job job = {
        .tube = "t", .state = WEIR_JOB_READY, .run_at_ns = RUN_AT, .reason = "", .group = "g"};
    struct weir_why why;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_running running = running_of("g", rows[i].running);
        weiri_why_explain(&job, 0, rows[i].limit, &running, &why);
        CHECK_INT(why.reason, ==, rows[i].reason);
        CHECK_INT(why.start_ns, ==, rows[i].reason == WEIR_WHY_GROUP ? 0 : RUN_AT);
        const char *end = rows[i].reason == WEIR_WHY_GROUP ? why.text : strchr(why.text, ';');
        CHECK_STRING(end == NULL ? "" : end, rows[i].text);
    }
    /* A pause, and a time to come, hold it back in the first place. */
    struct weiri_running full = running_of("g", 1);
    weiri_why_explain(&job, LATER, 1, &full, &why);
    CHECK_INT(why.reason, ==, WEIR_WHY_PAUSED);
    job.state = WEIR_JOB_DELAYED;
    weiri_why_explain(&job, 0, 1, &full, &why);
    CHECK_INT(why.reason, ==, WEIR_WHY_TIME);
    CHECK_STRING(why.text, "its time has not come; 1 of its group \"g\" run (1)");
}
