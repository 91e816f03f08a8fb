/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_CLUSTER_URL_H
#define WEIRI_BEANSTALKD_CLUSTER_URL_H

#include <stdbool.h>

#include <weir/broker.h>

#include "jobs/beanstalkd/connection.h"

/* `beanstalk://NODE,NODE.../?replicas=3&min_written=2&...`; a node is HOST, HOST:PORT, [IPV6]:PORT
 * or the path of a unix socket with its slashes written %2F. */

#define WEIRI_NODES_MAX 64

struct weiri_cluster_url {
    struct weiri_endpoint nodes[WEIRI_NODES_MAX];
    size_t node_count;
    size_t replicas;
    size_t min_written;
    int64_t time_limit_ns; /* of each step of the network */
    int64_t late_ns;       /* a job found later than this is buried; 0: none is */
    const char *claims;    /* Redis; NULL: none */
    bool runs_unclaimed;   /* while Redis is away */

    /* What the texts above are in. */
    char *block;
    size_t block_size;
};

/* location is what follows `beanstalk:`. On success the result is to be given to
 * weiri_cluster_url_free(). Errors: WEIR_EINVAL, WEIR_ERANGE (a duration), WEIR_ENOMEM; ret_error
 * names the piece and its offset in the whole URL. */
WEIR_NODISCARD enum weir_status weiri_cluster_url_parse(const struct weir_allocator *allocator,
                                                        const char *location,
                                                        struct weiri_cluster_url *ret_url,
                                                        struct weir_error *ret_error);
void weiri_cluster_url_free(const struct weir_allocator *allocator, struct weiri_cluster_url *url);

#endif
