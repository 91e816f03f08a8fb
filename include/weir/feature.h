/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_FEATURE_H
#define WEIR_FEATURE_H

#include <stdbool.h>

#include <weir/broker.h>

WEIR_BEGIN_DECLS

/** What some brokers have and others have not: X(name, text). A call that needs what its broker has
 * not is WEIR_ENOTSUP, and `ret_error` says "a SCHEME: broker has no TEXT". */
#define WEIR_FEATURE_MAP(X)                                                                        \
    X(KEYS, "keys of jobs")                                                                        \
    X(GROUPS, "groups of jobs")                                                                    \
    X(HEADERS, "headers of jobs")                                                                  \
    X(SCHEDULES, "schedules")                                                                      \
    X(POLICIES, "policies of tubes")                                                               \
    X(TRANSACTIONS, "transactions of the program")                                                 \
    X(LIST, "list of jobs: a peek shows the first of each state")                                  \
    X(RESERVED, "view of reserved jobs")                                                           \
    X(MOVE_IDS, "change of a job's tube")                                                          \
    X(ATTEMPTS, "attempts of jobs")                                                                \
    X(WAS_PUT, "memory of the ids that it gave")                                                   \
    X(DURABILITY, "durability of its own: that is its servers'")                                   \
    X(BACKUP, "backup: its servers have the copies")                                               \
    X(REPAIR, "file to repair, shrink or share")                                                   \
    X(NODES, "servers")

/** A feature of a broker. */
enum weir_feature {
#define WEIR_FEATURE_ENUM(name, text) WEIR_CAN_##name,
    WEIR_FEATURE_MAP(WEIR_FEATURE_ENUM)
#undef WEIR_FEATURE_ENUM
};

/** Whether a broker has a feature; false of NULL and of an unknown feature. Thread-safe; does not
 * block; also in a child. */
WEIR_API WEIR_NODISCARD bool weir_broker_can(const weir_broker *broker, enum weir_feature feature);

WEIR_END_DECLS

#endif
