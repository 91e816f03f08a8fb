/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/beanstalkd/cluster_url.h"

#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/alloc.h"
#include "jobs/error.h"

#define DEFAULT_PORT "11300"
#define TIME_LIMIT_DEFAULT WEIR_SECONDS(5)
#define LATE_DEFAULT WEIR_SECONDS(1800)

static const char scheme[] = "beanstalk:";

/* What a message repeats of the URL: not what follows the question mark, where a password may be.
 */
#define HEAD(reader) head_size(reader), (reader)->location

/* What the URL's pieces are copied into: each is followed by a NUL. */
struct reader {
    const char *location;
    struct weiri_cluster_url *url;
    char *out;
    struct weir_error *ret_error;
    bool has_replicas;
    bool has_min_written;
};

static int head_size(const struct reader *reader)
{
    size_t size = strcspn(reader->location, "?");
    return size < 200 ? (int)size : 200;
}

static enum weir_status refuse(const struct reader *reader, const char *at, size_t size,
                               const char *expected)
{
    return weiri_fail(
        reader->ret_error, WEIR_EINVAL,
        "\"%.*s\" at offset %zu of broker URL \"%s%.*s\": expected %s", size < 60 ? (int)size : 60,
        at, sizeof(scheme) - 1 + (size_t)(at - reader->location), scheme, HEAD(reader), expected);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Copies a piece with its %XX decoded. NULL: a malformed or NUL byte, at *ret_bad. */
static char *decode(struct reader *reader, const char *at, size_t size, const char **ret_bad)
{
    char *start = reader->out;
    for (size_t i = 0; i < size; i++) {
        char c = at[i];
        if (c == '%') {
            int high = i + 2 < size ? hex_digit(at[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(at[i + 2]) : -1;
            if (low < 0 || (high == 0 && low == 0)) {
                *ret_bad = at + i;
                return NULL;
            }
            c = (char)(high * 16 + low);
            i += 2;
        }
        *reader->out++ = c;
    }
    *reader->out++ = '\0';
    return start;
}

static bool is_port(const char *at, size_t size)
{
    unsigned number = 0;
    for (size_t i = 0; i < size; i++) {
        if (at[i] < '0' || at[i] > '9' || size > 5) {
            return false;
        }
        number = number * 10 + (unsigned)(at[i] - '0');
    }
    return size > 0 && at[0] != '0' && number <= 65535;
}

static bool is_host(const char *at, size_t size, bool is_bracketed)
{
    for (size_t i = 0; i < size; i++) {
        char c = at[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_letter && strchr(is_bracketed ? ":.%" : ".-_", c) == NULL) {
            return false;
        }
    }
    return size > 0 && size <= 255;
}

static char *copy(struct reader *reader, const char *at, size_t size)
{
    char *start = reader->out;
    memcpy(start, at, size);
    start[size] = '\0';
    reader->out += size + 1;
    return start;
}

/* A unix socket: a path with %2F. */
static enum weir_status read_path(struct reader *reader, const char *at, size_t size,
                                  struct weiri_endpoint *node)
{
    const char *bad = at;
    char *path = decode(reader, at, size, &bad);
    if (path == NULL) {
        return refuse(reader, bad, 3, "%2F for each slash of a socket's path");
    }
    if (path[0] != '/' || strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
        return refuse(reader, at, size, "the absolute path of a unix socket, of at most 107 bytes");
    }
    *node = (struct weiri_endpoint){.text = copy(reader, at, size), .path = path};
    return WEIR_OK;
}

static enum weir_status read_node(struct reader *reader, const char *at, size_t size,
                                  struct weiri_endpoint *node)
{
    static const char expected[] = "HOST, HOST:PORT, [IPV6]:PORT or the path of a unix socket "
                                   "with %2F for each slash";
    bool is_bracketed = size > 0 && at[0] == '[';
    const char *end = is_bracketed ? memchr(at, ']', size) : NULL;
    const char *colon = memchr(end != NULL ? end : at, ':', size - (size_t)(end ? end - at : 0));
    if (!is_bracketed && memchr(at, '%', size) != NULL) {
        return read_path(reader, at, size, node);
    }
    size_t host_size = colon == NULL ? size : (size_t)(colon - at);
    const char *host = at;
    if (is_bracketed) {
        if (end == NULL || at + host_size != end + 1) {
            return refuse(reader, at, size, expected);
        }
        host = at + 1;
        host_size -= 2;
    }
    if (!is_host(host, host_size, is_bracketed)) {
        return refuse(reader, at, size, expected);
    }
    if (colon != NULL && !is_port(colon + 1, size - (size_t)(colon + 1 - at))) {
        return refuse(reader, colon + 1, size - (size_t)(colon + 1 - at), "a port from 1 to 65535");
    }
    char *text = copy(reader, host, host_size);
    for (char *c = text; *c != '\0'; c++) {
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
    }
    node->host = text;
    node->port =
        colon == NULL ? DEFAULT_PORT : copy(reader, colon + 1, size - (size_t)(colon + 1 - at));
    char *whole = reader->out;
    int length =
        snprintf(whole, host_size + 10, is_bracketed ? "[%s]:%s" : "%s:%s", node->host, node->port);
    reader->out += length + 1;
    node->text = whole;
    return WEIR_OK;
}

static enum weir_status read_nodes(struct reader *reader, const char *at, size_t size)
{
    struct weiri_cluster_url *url = reader->url;
    const char *end = at + size;
    for (;;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t length = (size_t)((comma != NULL ? comma : end) - at);
        if (url->node_count == WEIRI_NODES_MAX) {
            return refuse(reader, at, length, "at most 64 nodes");
        }
        enum weir_status status = read_node(reader, at, length, &url->nodes[url->node_count]);
        if (status != WEIR_OK) {
            return status;
        }
        url->node_count++;
        if (comma == NULL) {
            return WEIR_OK;
        }
        at = comma + 1;
    }
}

static bool read_count(const char *text, size_t *ret_count)
{
    size_t length = strlen(text);
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        count = count * 10 + (size_t)(text[i] - '0');
    }
    *ret_count = count;
    return length > 0 && length <= 3;
}

/* Sets what `name=value` says; at and size are its place. */
static enum weir_status set_part(struct reader *reader, const char *at, size_t size)
{
    struct weiri_cluster_url *url = reader->url;
    const char *bad = at;
    size_t name = 0;
    while (name < size && at[name] != '=') {
        name++;
    }
    char *value = name == size ? NULL : decode(reader, at + name + 1, size - name - 1, &bad);
#define IS(text) (name == sizeof(text) - 1 && memcmp(at, text, name) == 0)
    if (value == NULL) {
        return refuse(reader, bad, name == size ? size : 3,
                      name == size ? "NAME=VALUE" : "two hexadecimal digits after %");
    }
    if (IS("replicas")) {
        reader->has_replicas = true;
        return read_count(value, &url->replicas) && url->replicas > 0
                   ? WEIR_OK
                   : refuse(reader, at, size, "a number of copies from 1 on");
    }
    if (IS("min_written")) {
        reader->has_min_written = true;
        return read_count(value, &url->min_written) && url->min_written > 0
                   ? WEIR_OK
                   : refuse(reader, at, size, "a number of copies from 1 on");
    }
    if (IS("time_limit")) {
        return weir_duration_parse(value, &url->time_limit_ns, NULL) == WEIR_OK &&
                       url->time_limit_ns > 0
                   ? WEIR_OK
                   : refuse(reader, at, size, "a duration such as 5s");
    }
    if (IS("late")) {
        return weir_duration_parse(value, &url->late_ns, NULL) == WEIR_OK
                   ? WEIR_OK
                   : refuse(reader, at, size, "a duration such as 30m, or 0 for no limit");
    }
    if (IS("claims")) {
        url->claims = value;
        return WEIR_OK;
    }
    if (IS("claims_away")) {
        url->runs_unclaimed = strcmp(value, "run") == 0;
        return url->runs_unclaimed || strcmp(value, "wait") == 0
                   ? WEIR_OK
                   : refuse(reader, at, size, "claims_away=wait or claims_away=run");
    }
#undef IS
    return refuse(reader, at, name,
                  "replicas, min_written, time_limit, late, claims or claims_away");
}

static enum weir_status read_parts(struct reader *reader, const char *at)
{
    while (*at != '\0') {
        size_t size = strcspn(at, "&");
        enum weir_status status = set_part(reader, at, size);
        if (status != WEIR_OK) {
            return status;
        }
        at += size + (at[size] == '&');
    }
    return WEIR_OK;
}

/* Checks what the pieces say together, and fills in the defaults. */
static enum weir_status check(struct reader *reader)
{
    struct weiri_cluster_url *url = reader->url;
    if (!reader->has_replicas) {
        url->replicas = url->node_count < 3 ? url->node_count : 3;
    }
    bool is_single = reader->has_replicas && url->replicas == 1;
    if (!reader->has_min_written) {
        url->min_written = is_single ? 1 : 2;
    }
    if (url->node_count < 2 && !is_single) {
        return weiri_fail(reader->ret_error, WEIR_EINVAL,
                          "broker URL \"%s%.*s\" names %zu node: expected at least 2, or "
                          "replicas=1",
                          scheme, HEAD(reader), url->node_count);
    }
    if (url->replicas > url->node_count) {
        return weiri_fail(reader->ret_error, WEIR_EINVAL,
                          "replicas=%zu of broker URL \"%s%.*s\": there are %zu nodes",
                          url->replicas, scheme, HEAD(reader), url->node_count);
    }
    if (url->min_written > url->replicas) {
        return weiri_fail(reader->ret_error, WEIR_EINVAL,
                          "min_written=%zu of broker URL \"%s%.*s\": there are %zu replicas",
                          url->min_written, scheme, HEAD(reader), url->replicas);
    }
    for (size_t i = 0; i < url->node_count && !is_single; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(url->nodes[i].text, url->nodes[j].text) == 0) {
                return weiri_fail(reader->ret_error, WEIR_EINVAL,
                                  "broker URL \"%s%.*s\" names %s twice: expected different "
                                  "nodes, or replicas=1",
                                  scheme, HEAD(reader), url->nodes[i].text);
            }
        }
    }
    return WEIR_OK;
}

void weiri_cluster_url_free(const struct weir_allocator *allocator, struct weiri_cluster_url *url)
{
    weiri_release(allocator, url->block, url->block_size);
    url->block = NULL;
}

enum weir_status weiri_cluster_url_parse(const struct weir_allocator *allocator,
                                         const char *location, struct weiri_cluster_url *ret_url,
                                         struct weir_error *ret_error)
{
    struct weiri_cluster_url url = {.time_limit_ns = TIME_LIMIT_DEFAULT, .late_ns = LATE_DEFAULT};
    struct reader reader = {.location = location, .url = &url, .ret_error = ret_error};
    if (strncmp(location, "//", 2) != 0) {
        return refuse(&reader, location, strlen(location), "//HOST:PORT,HOST:PORT,...");
    }
    /* Each node is copied three times at most, with a port that may not be in the text. */
    url.block_size = strlen(location) * 3 + (size_t)WEIRI_NODES_MAX * 16;
    url.block = weiri_alloc(allocator, url.block_size);
    if (url.block == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    reader.out = url.block;
    size_t nodes_size = strcspn(location + 2, "/?");
    const char *rest = location + 2 + nodes_size;
    enum weir_status status = read_nodes(&reader, location + 2, nodes_size);
    rest += *rest == '/';
    if (status == WEIR_OK && *rest != '\0' && *rest != '?') {
        status = refuse(&reader, rest, strlen(rest), "? and NAME=VALUE, or the end");
    }
    if (status == WEIR_OK && *rest == '?') {
        status = read_parts(&reader, rest + 1);
    }
    if (status == WEIR_OK) {
        status = check(&reader);
    }
    if (status != WEIR_OK) {
        weiri_cluster_url_free(allocator, &url);
        return status;
    }
    *ret_url = url;
    return WEIR_OK;
}
