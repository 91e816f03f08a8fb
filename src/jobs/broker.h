/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_JOBS_BROKER_H
#define WEIRI_JOBS_BROKER_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/error.h"
#include "jobs/core/backend.h"

struct weir_broker {
    /* Immutable. */
    const struct weiri_broker_ops *ops;
    void *store;
    pid_t pid;
    struct weiri_broker_config config;

    atomic_size_t uses; /* how many producers, consumers and transactions it has */
};

/* A producer, consumer or transaction attaches its broker when it is made, and detaches it last of
 * all. weir_broker_close() refuses one that is attached. */
void weiri_broker_attach(weir_broker *broker);
void weiri_broker_detach(weir_broker *broker);

/* weir_broker_open() on clocks of the caller's. */
enum weir_status weiri_broker_open_on(const char *url, const struct weir_broker_options *options,
                                      const struct weiri_clocks *clocks, weir_broker **ret_broker,
                                      struct weir_error *ret_error);

/* Whether this process opened the broker. */
bool weiri_broker_is_ours(const weir_broker *broker);

/* What a call needs beside features: that the broker may write. */
#define WEIRI_WRITES (1U << 31)

/* The checks that every public call begins with. Empties ret_error. needs: WEIRI_WRITES, or 0, and
 * WEIRI_CAN()s. */
enum weir_status weiri_broker_enter(const weir_broker *broker, uint32_t needs,
                                    struct weir_error *ret_error);

/* The same, and that an argument is given, or a tube's name is one. */
static inline enum weir_status weiri_broker_enter_for(const weir_broker *broker, uint32_t needs,
                                                      const char *name, bool is_given,
                                                      struct weir_error *ret_error)
{
    enum weir_status status = weiri_broker_enter(broker, needs, ret_error);
    return status == WEIR_OK && !is_given ? weiri_check_given(name, NULL, ret_error) : status;
}

enum weir_status weiri_broker_enter_tube(const weir_broker *broker, uint32_t needs,
                                         const char *tube, struct weir_error *ret_error);

/* The checks of weir_broker_put(), and its arguments with defaults filled in. ret_put->each is the
 * caller's to release, after a failure too; NULL: there is none. */
enum weir_status weiri_broker_enter_put(weir_broker *broker, const char *tube,
                                        const struct weir_body *bodies, size_t count,
                                        const struct weir_put_options *options,
                                        struct weiri_put *ret_put, struct weir_error *ret_error);
/* Whether a text, which may be NULL, has 1 to most bytes. */
enum weir_status weiri_text_check(const char *name, const char *text, size_t most,
                                  struct weir_error *ret_error);
/* weir_tube_check() in words: of the name of a tube, or of a schedule. */
enum weir_status weiri_name_check(const char *name, const char *text, struct weir_error *ret_error);

/* What becomes of late jobs of a tube, as its policy or a cluster's URL says it; no other member
 * counts. */
enum weir_status weiri_broker_late(weir_broker *broker, const char *tube,
                                   struct weir_tube_policy *ret_policy,
                                   struct weir_error *ret_error);

/* Checks options and fills in the defaults, as of now. */
enum weir_status weiri_put_normalize(const weir_broker *broker,
                                     const struct weir_put_options *options,
                                     struct weiri_put *ret_put, struct weir_error *ret_error);

/* The name of a field of the put that is of one job; NULL: it has none. */
const char *weiri_put_unique(const struct weiri_put *put);

#endif
