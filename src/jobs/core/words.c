/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/job.h>

#include <stdbool.h>
#include <string.h>

const char *weir_job_state_name(enum weir_job_state state)
{
    switch (state) {
    case WEIR_JOB_DELAYED:
        return "delayed";
    case WEIR_JOB_READY:
        return "ready";
    case WEIR_JOB_RESERVED:
        return "reserved";
    case WEIR_JOB_BURIED:
        return "buried";
    case WEIR_JOB_ARCHIVED:
        return "archived";
    }
    return "?";
}

static bool is_allowed(char c, size_t offset)
{
    if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
        return true;
    }
    return c != '\0' && strchr("+/;.$_()", c) != NULL ? true : c == '-' && offset > 0;
}

enum weir_status weir_tube_check(const char *tube, size_t *ret_offset)
{
    size_t offset = 0;
    enum weir_status status = WEIR_EINVAL;
    if (tube != NULL) {
        while (offset < WEIR_TUBE_SIZE_MAX && is_allowed(tube[offset], offset)) {
            offset++;
        }
        if (offset > 0 && tube[offset] == '\0') {
            return WEIR_OK;
        }
        if (offset == WEIR_TUBE_SIZE_MAX) {
            status = WEIR_ETOOBIG;
        }
    }
    if (ret_offset != NULL) {
        *ret_offset = offset;
    }
    return status;
}

const char *weir_job_outcome_name(enum weir_run_outcome outcome)
{
    static const char *const names[] = {"?", "done", "retry", "buried", "lost", "returned"};
    bool is_known = outcome >= WEIR_RUN_DONE && outcome <= WEIR_RUN_RETURNED;
    return names[is_known ? outcome : 0];
}
