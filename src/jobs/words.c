/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include <weir/admin.h>
#include <weir/job_schedule.h>
#include <weir/policy.h>

/* The name of a value of an enum whose values from the first on have these names. */
#define NAME(value, first, ...)                                                                    \
    name((unsigned)(value) - (unsigned)(first), (const char *const[]){__VA_ARGS__, "?"})

static const char *name(unsigned i, const char *const *names)
{
    for (; i > 0 && names[0][0] != '?'; i--) {
        names++;
    }
    return *names;
}

const char *weir_job_state_name(enum weir_job_state state)
{
    return NAME(state, WEIR_JOB_DELAYED, "delayed", "ready", "reserved", "buried", "ended");
}

const char *weir_job_outcome_name(enum weir_run_outcome outcome)
{
    return NAME(outcome, WEIR_RUN_DONE, "done", "retry", "buried", "lost", "returned", "canceled",
                "removed", "dropped");
}

const char *weir_duplicate_name(enum weir_duplicate mode)
{
    return NAME(mode, WEIR_DUPLICATE_REFUSE, "refuse", "replace", "keep", "debounce", "throttle",
                "again");
}

const char *weir_missed_name(enum weir_missed missed)
{
    return NAME(missed, WEIR_MISSED_ONCE, "once", "skip", "all");
}

const char *weir_late_name(enum weir_late late)
{
    return NAME(late, WEIR_LATE_RUN, "run", "bury", "drop");
}

const char *weir_node_state_name(enum weir_node_state state)
{
    return NAME(state, WEIR_NODE_UP, "up", "draining", "away");
}

const char *weir_finding_level_name(enum weir_finding_level level)
{
    return NAME(level, WEIR_FINDING_NOTE, "note", "problem");
}

enum weir_status weir_tube_check(const char *tube, size_t *ret_offset)
{
    /* The first of them not in front. */
    static const char allowed[] =
        "-+/;.$_()0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    size_t offset = 0;
    while (tube != NULL && offset < WEIR_TUBE_SIZE_MAX && tube[offset] != '\0' &&
           strchr(allowed + (offset == 0), tube[offset]) != NULL) {
        offset++;
    }
    if (offset > 0 && tube[offset] == '\0') {
        return WEIR_OK;
    }
    if (ret_offset != NULL) {
        *ret_offset = offset;
    }
    return offset == WEIR_TUBE_SIZE_MAX ? WEIR_ETOOBIG : WEIR_EINVAL;
}
