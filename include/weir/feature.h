/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_FEATURE_H
#define WEIR_FEATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/broker.h>

WEIR_BEGIN_DECLS

/** What some brokers have and others have not: X(name, text). A call that needs what its broker has
 * not is WEIR_ENOTSUP, and `ret_error` says "a SCHEME: broker has no TEXT". No call needs the last
 * two: without REASONS they are not kept, and without SINGLE_RUNS each copy of a job may run. */
#define WEIR_FEATURE_MAP(X)                                                                        \
    X(KEYS, "keys of jobs")                                                                        \
    X(GROUPS, "groups of jobs")                                                                    \
    X(HEADERS, "headers of jobs")                                                                  \
    X(PUT_ID, "ids of puts")                                                                       \
    X(SCHEDULES, "schedules")                                                                      \
    X(POLICIES, "policies of tubes")                                                               \
    X(TRANSACTIONS, "transactions of the program")                                                 \
    X(LIST, "list of jobs: a peek, `weir ls --next`, shows the first of each state")               \
    X(RESERVED, "view of reserved jobs")                                                           \
    X(MOVE_IDS, "change of a job's tube")                                                          \
    X(ATTEMPTS, "attempts of jobs")                                                                \
    X(WAS_PUT, "memory of the ids that it gave")                                                   \
    X(DURABILITY, "durability of its own: that is its servers'")                                   \
    X(BACKUP, "backup: its servers have the copies")                                               \
    X(REPAIR, "file to repair, shrink or share")                                                   \
    X(NODES, "servers")                                                                            \
    X(PRIORITIES, "priorities below -2")                                                           \
    X(CONTROL, "control of jobs that run")                                                         \
    X(REASONS, "reasons of buried jobs: it has no claims")                                         \
    X(SINGLE_RUNS, "single runs of jobs: it has no claims, so that each copy runs")

/** A feature of a broker. */
enum weir_feature {
#define WEIR_FEATURE_ENUM(name, text) WEIR_CAN_##name,
    WEIR_FEATURE_MAP(WEIR_FEATURE_ENUM)
#undef WEIR_FEATURE_ENUM
};

/** Whether a broker has a feature: what brokers of its scheme have, but of a cluster without
 * `claims` neither REASONS nor, where jobs have copies, SINGLE_RUNS. What another way to open it
 * would allow (read-only, not shared) it has. False of NULL and of an unknown feature. Thread-safe;
 * does not block; also in a child. */
WEIR_API WEIR_NODISCARD bool weir_broker_can(const weir_broker *broker, enum weir_feature feature);

/** What a field of a job is. */
enum weir_field_kind {
    WEIR_FIELD_LINES = 1, /**< A text of lines NAME=VALUE beside the body; "": none. */
    WEIR_FIELD_TOLD,      /**< Another text beside the body. */
    WEIR_FIELD_WORD,      /**< A text of 1 byte or more. */
    WEIR_FIELD_UNIQUE,    /**< The same, of one job: no producer has it, and no move carries it. */
    WEIR_FIELD_NUMBER,    /**< An int32_t. */
    WEIR_FIELD_SPAN,      /**< An int64_t, a duration; 0: the default. */
    WEIR_FIELD_TIME       /**< An int64_t, a wall-clock time. */
};

/** A field of a job that its put gives. */
struct weir_job_field {
    const char *name;          /**< That of its members. */
    enum weir_field_kind kind; /**< What it is. */
    int64_t limit;             /**< Of a text: most bytes; of a span: the least; else 0. */
    int feature;       /**< The enum weir_feature that a broker needs to keep it; -1: none. */
    size_t put_offset; /**< Of its member in struct weir_put_options. */
    size_t job_offset; /**< Of its member in struct weir_job. */
};

/** The table of these fields; name NULL ends it. Static. Also in a child. */
WEIR_API WEIR_NODISCARD const struct weir_job_field *weir_job_fields(void);

WEIR_END_DECLS

#endif
