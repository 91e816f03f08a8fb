/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_ENVIRONMENT_H
#define WEIRI_CLI_ENVIRONMENT_H

#include <weir/job.h>

/* A handler's environment: the program's own, and the job's facts in WEIR_* variables; job NULL:
 * none of them, for a program that takes several jobs. To be freed with free(), entries and all;
 * NULL: out of memory. */
char **environment_new(const struct weir_job *job, const char *broker);

#endif
