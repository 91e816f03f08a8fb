/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_RESOLVE_H
#define WEIRI_BEANSTALKD_RESOLVE_H

#include "jobs/beanstalkd/connection.h"

/* Begins to resolve an endpoint. Numbers and paths are done at once; a name takes a thread, which
 * writes to wake_fd at its end. Where an earlier one still runs, its answer is awaited. False: no
 * thread could be had. */
bool weiri_resolver_begin(struct weiri_resolver *resolver, const struct weiri_endpoint *endpoint,
                          int wake_fd);
bool weiri_resolver_is_done(const struct weiri_resolver *resolver);
/* Takes the addresses: weiri_addresses_free(). Returns 0 or an error of getaddrinfo(). */
int weiri_resolver_take(struct weiri_resolver *resolver, struct addrinfo **ret_addresses);
/* Waits for a thread that still runs, and frees what it found. */
void weiri_resolver_end(struct weiri_resolver *resolver);

/* Takes NULL. */
void weiri_addresses_free(struct addrinfo *addresses);

#endif
