/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_TRUST_H
#define WEIRI_HTTP_TRUST_H

#include <stdbool.h>
#include <stddef.h>

/* Which requests are answered: a pure decision on the headers. SECURITY.md has the reasons. */

/* The settings of a server. All borrowed. */
struct trust {
    bool local;               /* It listens on loopback or a unix socket. */
    bool read_only;           /* Nothing may be changed. */
    const char *token;        /* What requests to the API must carry; NULL: nothing. */
    const char *const *hosts; /* Names that it may be called by, besides localhost. */
    size_t host_count;
};

/* The headers that the decision needs; NULL: not there. */
struct trust_headers {
    const char *host;
    const char *origin;
    const char *authorization;
    const char *content_type;
    const char *content_length;
    const char *transfer_encoding;
    const char *fetch_site;
    const char *fetch_mode;
    const char *fetch_dest;
    bool repeated; /* One of them is there twice. */
    size_t count;  /* Of all headers. */
};

#define TRUST_HEADERS_MAX 100

/* What a request is for. */
enum trust_use {
    TRUST_OPEN,  /* Health, version, metrics, the page itself. */
    TRUST_READ,  /* The API. */
    TRUST_CHANGE /* The API; it changes jobs. */
};

/* Why a request is refused: a status of HTTP, 0 where it is not, and a text. */
struct trust_refusal {
    int status;
    const char *reason;
};

/* Decides what does not depend on the path: malformed heads, foreign hosts, other sites. */
struct trust_refusal trust_check(const struct trust *trust, const struct trust_headers *headers,
                                 bool is_get);

/* Decides on the use, after trust_check(). */
struct trust_refusal trust_check_use(const struct trust *trust, const struct trust_headers *headers,
                                     enum trust_use use);

/* Whether changes can be had at all, with a token or without. */
bool trust_may_change(const struct trust *trust);

/* Whether two texts are equal, in a time that depends on the length of given alone. */
bool trust_equal(const char *secret, const char *given);

#endif
