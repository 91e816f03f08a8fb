/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_WHY_H
#define WEIRI_CORE_WHY_H

#include <weir/admin.h>

/* The jobs of a group that run. */
struct weiri_running {
    const char *group;
    uint32_t count;
    char ids[128]; /* of the first of them: " (17, 20)"; "": none runs */
};

/* Adds a reserved job, if it is of the group. */
void weiri_running_add(struct weiri_running *running, const struct weir_job *job);

/* Why a job does not run, by what is known of its tube: a plain function. group_limit is that of
 * the tube's policy. running is asked only of a job that waits and has a group. */
void weiri_why_explain(const struct weir_job *job, int64_t paused_until_ns, uint32_t group_limit,
                       const struct weiri_running *running, struct weir_why *ret_why);

#endif
