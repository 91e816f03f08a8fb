/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_VIEW_JSON_H
#define WEIRI_VIEW_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include <weir/admin.h>
#include <weir/job_schedule.h>
#include <weir/policy.h>

/* The objects that `--json` prints and the HTTP API answers. Their names are stable: both show the
 * same. Every function returns owned (json_decref()), NULL when out of memory. */

/* Writes the object of a tube and its counts, with "paused_until" where it is paused. A broker may
 * have thousands of them, so that they are text at once. False: it could not be written. */
bool json_write_tube(FILE *out, const struct weir_tube_counts *counts);

/* Writes numbers of tubes (view/tube_number.h) as members behind others of an object. */
bool json_write_numbers(FILE *out, const uint64_t *numbers);

/* When a pause ends: a time, or "resumed". */
json_t *json_of_pause(int64_t until_ns);

/* A server of a cluster. */
json_t *json_of_node(const struct weir_node *node);

/* A job, with its body as text or base64 where `body` is set. */
json_t *json_of_job(const struct weir_job *job, bool body);

/* Why a job does not run. */
json_t *json_of_why(const char *id, const struct weir_why *why);

/* An attempt of a job, and that of a reserved one, which goes on; "encoding" is that of "tail". */
json_t *json_of_attempt(const char *id, const struct weir_attempt *attempt);
json_t *json_of_running(const struct weir_job *job);

/* A schedule, with the body of its jobs where `body` is set. */
json_t *json_of_schedule(const struct weir_job_schedule *schedule, bool body);

/* The policy of a tube, and what it has done. */
json_t *json_of_policy(const char *tube, const struct weir_tube_policy *policy,
                       const struct weir_tube_policy_counts *counts);

/* The result of a change of one job; done names a success, e.g. "buried". */
json_t *json_of_result(const char *id, const char *done, enum weir_status status);

#endif
