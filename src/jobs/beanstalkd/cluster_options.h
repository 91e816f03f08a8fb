/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_CLUSTER_OPTIONS_H
#define WEIRI_BEANSTALKD_CLUSTER_OPTIONS_H

#include <stdbool.h>

#include <weir/broker.h>

#include "jobs/beanstalkd/connection.h"

#define WEIRI_NODES_MAX 64

/* What a cluster's URL says, checked, with its defaults filled in. */
struct weiri_cluster_options {
    struct weiri_endpoint nodes[WEIRI_NODES_MAX];
    size_t node_count;
    size_t replicas;
    size_t min_written;
    int64_t time_limit_ns;
    int64_t late_ns; /* WEIR_FOREVER: no job is late */
    int64_t lease_ns;
    int64_t remember_ns;
    const char *claims;        /* Redis; NULL: none */
    const char *hmac_key_file; /* NULL: none */
    bool runs_unclaimed;

    /* The URL, in pieces, and the texts of the nodes: all texts above. The owner releases it. */
    char *block;
    size_t block_size;
};

/* Reads what follows `beanstalk:` in a URL. A message names the piece and its offset in the whole
 * URL, and repeats no password. Errors: WEIR_EINVAL, WEIR_ERANGE, WEIR_ENOMEM. */
WEIR_NODISCARD enum weir_status weiri_cluster_url_parse(const struct weir_allocator *allocator,
                                                        const char *location,
                                                        struct weiri_cluster_options *ret_options,
                                                        struct weir_error *ret_error);

#endif
