/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_FIELDS_H
#define WEIRI_CORE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/broker.h>
#include <weir/feature.h>

/* The fields of a job that its put gives, a row each: its name, which is that of its members of
 * struct weir_put_options, weir_job and weiri_put; its kind (enum weir_field_kind); its limit; the
 * feature that a broker needs to keep it. The rest is made of these lists, or held to them by
 * tools/check_fields.py; docs/internals/jobs.md says how to add a row. */

/* Beside the body, under its checksum. Stores have them in this order: a new row is the last. */
#define WEIRI_TOLD_FIELDS(X) X(headers, LINES, WEIR_HEADERS_SIZE_MAX, WEIR_CAN_HEADERS)

/* A put during a run has its own, which are those of the next run. */
#define WEIRI_WORD_FIELDS(X) X(group, WORD, WEIR_GROUP_SIZE_MAX, WEIR_CAN_GROUPS)

#define WEIRI_UNIQUE_FIELDS(X) X(key, UNIQUE, WEIR_KEY_SIZE_MAX, WEIR_CAN_KEYS)

/* A job shows it as its identity, and a move makes it of that. Else as those of WORD_FIELDS. */
#define WEIRI_PUT_FIELDS(X) X(put_id, UNIQUE, WEIR_PUT_ID_SIZE_MAX, WEIR_CAN_PUT_ID)

/* The texts of a row that a put during a run has of its own. */
#define WEIRI_ROW_FIELDS(X) WEIRI_WORD_FIELDS(X) WEIRI_PUT_FIELDS(X)

#define WEIRI_NUMBER_FIELDS(X)                                                                     \
    X(priority, NUMBER, 0, WEIRI_EVERY)                                                            \
    X(ttr_ns, SPAN, WEIRI_TTR_MIN_NS, WEIRI_EVERY)                                                 \
    X(run_at_ns, TIME, 0, WEIRI_EVERY)

/* What a producer keeps, and a move carries; every text; every field of a job. */
#define WEIRI_KEPT_FIELDS(X) WEIRI_TOLD_FIELDS(X) WEIRI_WORD_FIELDS(X)
#define WEIRI_TEXT_FIELDS(X) WEIRI_KEPT_FIELDS(X) WEIRI_UNIQUE_FIELDS(X)
#define WEIRI_JOB_FIELDS(X) WEIRI_TEXT_FIELDS(X) WEIRI_NUMBER_FIELDS(X)

#define WEIRI_EVERY (-1)          /* broker keeps it */
#define WEIRI_PRIORITY_LEAST (-2) /* that every broker keeps */
/* A consumer touches a reservation after a third of its TTR, and each touch is a commit. */
#define WEIRI_TTR_MIN_NS WEIR_MS(100)
#define WEIRI_TTR_DEFAULT_NS WEIR_SECONDS(60)

/* A member of a struct. */
#define WEIRI_TEXT_MEMBER(name, kind, limit, feature) const char *name;

struct weiri_put;
struct weiri_broker_config;

/* Reads a decimal number of size bytes. False: no digits, another byte, or more than 64 bits. */
bool weiri_number_read(const char *text, size_t size, uint64_t *ret_number);

/* WEIR_ENOTSUP: the put has a field that the broker cannot keep. */
enum weir_status weiri_put_check_can(const struct weiri_broker_config *config,
                                     const struct weiri_put *put, struct weir_error *ret_error);

#endif
