/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/trust.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static const struct trust_refusal allowed = {0, NULL};

#define HOST_SIZE 256

/* Takes the port off: "name:80", "[::1]:80". False: it is no host. */
static bool read_host(const char *text, char host[HOST_SIZE])
{
    const char *start = text[0] == '[' ? text + 1 : text;
    size_t size = strcspn(start, text[0] == '[' ? "]" : ":");
    const char *rest = start + size;
    if (text[0] == '[') {
        if (rest[0] != ']') {
            return false;
        }
        rest++;
    }
    bool has_port = rest[0] == ':' && strspn(rest + 1, "0123456789") == strlen(rest + 1);
    if (size == 0 || size >= HOST_SIZE || (rest[0] != '\0' && !has_port)) {
        return false;
    }
    memcpy(host, start, size);
    host[size] = '\0';
    return true;
}

/* A site that makes its own name lead to this server is refused by its name. An address is nobody's
 * to give out, so it may be called by any. */
static bool is_known_host(const struct trust *trust, const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];
    char host[HOST_SIZE];
    if (text == NULL || !read_host(text, host)) {
        return false;
    }
    if (strcasecmp(host, "localhost") == 0 ||
        inet_pton(text[0] == '[' ? AF_INET6 : AF_INET, host, address) == 1) {
        return true;
    }
    for (size_t i = 0; i < trust->host_count; i++) {
        if (strcasecmp(host, trust->hosts[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether an origin ("http://name:80") is the host that was asked. */
static bool is_same_origin(const char *origin, const char *host)
{
    const char *at = strstr(origin, "://");
    return at != NULL && strcasecmp(at + 3, host) == 0;
}

/* A link of another site may lead here: the browser then shows the page, which that site cannot
 * read. Anything else that another site starts is refused. */
static bool is_own_site(const struct trust_headers *headers, bool is_get)
{
    if (headers->fetch_site == NULL || strcmp(headers->fetch_site, "same-origin") == 0 ||
        strcmp(headers->fetch_site, "none") == 0) {
        return true;
    }
    return is_get && headers->fetch_mode != NULL && headers->fetch_dest != NULL &&
           strcmp(headers->fetch_mode, "navigate") == 0 &&
           strcmp(headers->fetch_dest, "document") == 0;
}

struct trust_refusal trust_check(const struct trust *trust, const struct trust_headers *headers,
                                 bool is_get)
{
    if (headers->count > TRUST_HEADERS_MAX) {
        return (struct trust_refusal){431, "too many headers; expected at most 100"};
    }
    if (headers->repeated) {
        return (struct trust_refusal){400, "a header that may be there once is there twice"};
    }
    if (headers->content_length != NULL && headers->transfer_encoding != NULL) {
        return (struct trust_refusal){400,
                                      "Content-Length and Transfer-Encoding; expected one of them"};
    }
    if (headers->transfer_encoding != NULL &&
        strcasecmp(headers->transfer_encoding, "chunked") != 0) {
        return (struct trust_refusal){501, "Transfer-Encoding: only chunked is supported"};
    }
    if (!is_known_host(trust, headers->host)) {
        return (struct trust_refusal){
            403, "Host: not a name of this server; expected localhost, an address, or a name that "
                 "--host gave"};
    }
    if (headers->origin != NULL && !is_same_origin(headers->origin, headers->host)) {
        return (struct trust_refusal){403, "Origin: another site"};
    }
    if (!is_own_site(headers, is_get)) {
        return (struct trust_refusal){403, "Sec-Fetch-Site: another site"};
    }
    return allowed;
}

bool trust_equal(const char *secret, const char *given)
{
    size_t secret_size = strlen(secret);
    size_t size = strlen(given);
    size_t difference = secret_size ^ size;
    for (size_t i = 0; i < size; i++) {
        difference |= (size_t)((unsigned char)secret[secret_size == 0 ? 0 : i % secret_size] ^
                               (unsigned char)given[i]);
    }
    return difference == 0;
}

static bool has_token(const struct trust *trust, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    return authorization != NULL && strncasecmp(authorization, scheme, strlen(scheme)) == 0 &&
           trust_equal(trust->token, authorization + strlen(scheme));
}

bool trust_may_change(const struct trust *trust)
{
    return !trust->read_only && (trust->local || trust->token != NULL);
}

struct trust_refusal trust_check_use(const struct trust *trust, const struct trust_headers *headers,
                                     enum trust_use use)
{
    static const char json[] = "application/json";
    const char *type = headers->content_type;
    if (use == TRUST_OPEN) {
        return allowed;
    }
    if (trust->token != NULL && !has_token(trust, headers->authorization)) {
        return (struct trust_refusal){401, "no valid token; expected Authorization: Bearer TOKEN"};
    }
    if (use == TRUST_READ) {
        return allowed;
    }
    if (!trust_may_change(trust)) {
        return (struct trust_refusal){403, trust->read_only
                                               ? "this server is read-only"
                                               : "this server is read-only: it listens beyond this "
                                                 "host without a token"};
    }
    /* A form of another site cannot send this type. */
    if (type == NULL || strncasecmp(type, json, strlen(json)) != 0 ||
        strchr(" ;", type[strlen(json)]) == NULL) {
        return (struct trust_refusal){415, "Content-Type: expected application/json"};
    }
    return allowed;
}
