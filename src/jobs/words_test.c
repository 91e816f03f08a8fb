/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/job.h>

#include <string.h>

#include "support/harness.h"

TEST(state_names, "every state has a name")
{
    CHECK_STRING(weir_job_state_name(WEIR_JOB_DELAYED), "delayed");
    CHECK_STRING(weir_job_state_name(WEIR_JOB_READY), "ready");
    CHECK_STRING(weir_job_state_name(WEIR_JOB_RESERVED), "reserved");
    CHECK_STRING(weir_job_state_name(WEIR_JOB_BURIED), "buried");
    CHECK_STRING(weir_job_state_name((enum weir_job_state)0), "?");
    CHECK_STRING(weir_job_state_name(WEIR_JOB_ENDED), "ended");
    CHECK_STRING(weir_job_outcome_name(WEIR_RUN_DONE), "done");
    CHECK_STRING(weir_job_outcome_name(WEIR_RUN_DROPPED), "dropped");
    CHECK_STRING(weir_job_outcome_name((enum weir_run_outcome)0), "?");
    CHECK_STRING(weir_job_state_name((enum weir_job_state)6), "?");
}

TEST(tube_names, "a tube's name is one that beanstalkd takes; the first wrong byte is reported")
{
    char longest[WEIR_TUBE_SIZE_MAX + 2];
    memset(longest, 'a', sizeof(longest));
    longest[WEIR_TUBE_SIZE_MAX] = '\0';
    CHECK_STATUS(weir_tube_check(longest, NULL), WEIR_OK);
    static const struct {
        const char *tube;
        enum weir_status status;
        size_t offset;
    } rows[] = {
        {"a", WEIR_OK, 99},
        {"mail-out.v2+x/y;z$_(0)", WEIR_OK, 99},
        {"+", WEIR_OK, 99},
        {"a-", WEIR_OK, 99},
        {NULL, WEIR_EINVAL, 0},
        {"", WEIR_EINVAL, 0},
        {"-a", WEIR_EINVAL, 0},
        {" a", WEIR_EINVAL, 0},
        {"two words", WEIR_EINVAL, 3},
        {"line\n", WEIR_EINVAL, 4},
        {"stats\r\nput", WEIR_EINVAL, 5},
        {"a:b", WEIR_EINVAL, 1},
        {"caf\xc3\xa9", WEIR_EINVAL, 3},
        {"a*", WEIR_EINVAL, 1},
        {"~", WEIR_EINVAL, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t offset = 99;
        CHECK_STATUS(weir_tube_check(rows[i].tube, &offset), rows[i].status);
        CHECK_INT(offset, ==, rows[i].offset);
    }
    longest[WEIR_TUBE_SIZE_MAX] = 'a';
    longest[WEIR_TUBE_SIZE_MAX + 1] = '\0';
    size_t offset = 0;
    CHECK_STATUS(weir_tube_check(longest, &offset), WEIR_ETOOBIG);
    CHECK_INT(offset, ==, WEIR_TUBE_SIZE_MAX);
}

TEST(tube_bytes,
     "of the 255 bytes exactly 71 may stand inside a name, and all but the hyphen first")
{
    int inside = 0;
    int first = 0;
    for (int c = 1; c < 256; c++) {
        const char one[] = {(char)c, '\0'};
        const char two[] = {'a', (char)c, '\0'};
        first += weir_tube_check(one, NULL) == WEIR_OK;
        inside += weir_tube_check(two, NULL) == WEIR_OK;
    }
    CHECK_INT(inside, ==, 26 + 26 + 10 + 9);
    CHECK_INT(first, ==, inside - 1);
}
