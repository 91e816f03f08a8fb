/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A cluster's URL, `//NODE,NODE.../?NAME=VALUE&...`, into options: checks and defaults. */
#include "jobs/beanstalkd/cluster_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/alloc.h"
#include "base/error.h"
#include "jobs/core/fields.h"

#define DEFAULT_PORT "11300"
#define REPLICAS_DEFAULT 3
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
/* A copy that is put off comes back after 64 s at most, and asks whether its job is done. */
#define REMEMBER_MIN WEIR_SECONDS(120)
/* What a node's texts may have beyond three copies of its piece: a port, NULs. */
#define NODE_EXTRA 32

/* Fills the options' block while a URL is read. */
struct reader {
    struct weiri_cluster_options *options;
    const char *url; /* its copy, which the pieces are cut out of */
    char *out;       /* where the next text of a node goes */
    struct weir_error *ret_error;
};

/* Fails with what is wrong with a piece. */
static enum weir_status refuse(const struct reader *reader, const char *at, size_t size,
                               const char *expected)
{
    int shown = size < 60 ? (int)size : 60;
    (void)weiri_fail(reader->ret_error, WEIR_EINVAL,
                     "\"%.*s\" at offset %zu of the broker URL: expected %s", shown, at,
                     sizeof("beanstalk:") - 1 + (size_t)(at - reader->url), expected);
    return WEIR_EINVAL;
}

/* Ends a piece at the first of the bytes. Returns what follows it; NULL: it was the last. */
static char *cut(char *piece, const char *bytes)
{
    char *end = piece + strcspn(piece, bytes);
    if (*end == '\0') {
        return NULL;
    }
    *end = '\0';
    return end + 1;
}

/* Decodes %XX in place. NULL: done; else the malformed piece, or one that is a NUL. */
static const char *percent_decode(char *text)
{
    char *out = text;
    for (const char *at = text; *at != '\0'; at++) {
        char c = *at;
        if (c == '%') {
            const char digits[3] = {at[1], at[1] == '\0' ? '\0' : at[2]};
            bool is_pair = strspn(digits, "0123456789abcdefABCDEF") == 2;
            c = is_pair ? (char)strtoul(digits, NULL, 16) : '\0';
            if (c == '\0') {
                return at;
            }
            at += 2;
        }
        *out++ = c;
    }
    *out = '\0';
    return NULL;
}

static char *copy(struct reader *reader, const char *text, size_t size)
{
    char *start = reader->out;
    memcpy(start, text, size);
    start[size] = '\0';
    reader->out += size + 1;
    return start;
}

/* A unix socket: a path with its slashes written %2F, which ids have as well. */
static enum weir_status read_path(struct reader *reader, const char *text,
                                  struct weiri_endpoint *node)
{
    char *path = copy(reader, text, strlen(text));
    const char *bad = percent_decode(path);
    if (bad != NULL) {
        bad = text + (bad - path);
        return refuse(reader, bad, strnlen(bad, 3), "%2F for each slash of a socket's path");
    }
    if (path[0] != '/' || strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
        return refuse(reader, text, strlen(text),
                      "the absolute path of a unix socket, of at most 107 bytes");
    }
    *node = (struct weiri_endpoint){.text = copy(reader, text, strlen(text)), .path = path};
    return WEIR_OK;
}

static enum weir_status add_node(struct reader *reader, const char *text)
{
    if (reader->options->node_count == WEIRI_NODES_MAX) {
        return refuse(reader, text, strlen(text), "at most 64 nodes");
    }
    struct weiri_endpoint *node = &reader->options->nodes[reader->options->node_count++];
    bool is_bracketed = text[0] == '[';
    if (!is_bracketed && strchr(text, '%') != NULL) {
        return read_path(reader, text, node);
    }
    const char *host = text + is_bracketed;
    size_t size = strcspn(host, is_bracketed ? "]" : ":");
    const char *end = host + size;
    bool is_closed = *end == ']';
    end += is_closed;
    bool is_host = size > 0 && size <= 255 && is_closed == is_bracketed &&
                   strspn(host, is_bracketed ? LETTERS ":.%" : LETTERS ".-_") >= size;
    if (!is_host || (*end != ':' && *end != '\0')) {
        return refuse(reader, text, strlen(text),
                      "HOST, HOST:PORT, [IPV6]:PORT or the path of a unix socket with "
                      "%2F for each slash");
    }
    uint64_t number;
    const char *port = *end == ':' ? end + 1 : DEFAULT_PORT;
    if (port[0] == '0' || !weiri_number_read(port, strlen(port), &number) || number > 65535) {
        return refuse(reader, port, strlen(port), "a port from 1 to 65535");
    }
    char *own = copy(reader, host, size);
    for (char *c = own; *c != '\0'; c++) {
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
    }
    *node = (struct weiri_endpoint){.text = reader->out, .host = own};
    reader->out += sprintf(reader->out, is_bracketed ? "[%s]:%s" : "%s:%s", own, port) + 1;
    node->port = strrchr(node->text, ':') + 1;
    return WEIR_OK;
}

/* --- parts --- */

/* One of NAME=VALUE: what receives it is not NULL. */
struct part {
    const char *name;
    const char **text;
    size_t *count;
    int64_t *time;
    bool *is_run;
    bool is_zero_ok; /* of a time: 0 means no limit */
};

/* Reads a value. Returns NULL, or what was expected. */
static const char *read_value(const struct part *part, const char *value)
{
    uint64_t count;
    int64_t time;
    if (part->text != NULL) {
        *part->text = value;
    } else if (part->count != NULL) {
        if (!weiri_number_read(value, strlen(value), &count) || count == 0 || count > 999) {
            return "a number of copies from 1 on";
        }
        *part->count = (size_t)count;
    } else if (part->time != NULL) {
        if (weir_duration_parse(value, &time, NULL) != WEIR_OK ||
            (time == 0 && !part->is_zero_ok)) {
            return part->is_zero_ok ? "a duration such as 30m, or 0 for no limit"
                                    : "a duration such as 5s";
        }
        *part->time = time == 0 ? WEIR_FOREVER : time;
    } else if (part->is_run != NULL) {
        *part->is_run = strcmp(value, "run") == 0;
        if (!*part->is_run && strcmp(value, "wait") != 0) {
            return "claims_away=wait or claims_away=run";
        }
    }
    return NULL;
}

static enum weir_status read_part(const struct reader *reader, char *text)
{
    struct weiri_cluster_options *options = reader->options;
    const struct part parts[] = {
        {"replicas", .count = &options->replicas},
        {"min_written", .count = &options->min_written},
        {"time_limit", .time = &options->time_limit_ns},
        {"late", .time = &options->late_ns, .is_zero_ok = true},
        {"lease", .time = &options->lease_ns},
        {"remember", .time = &options->remember_ns},
        {"claims", .text = &options->claims},
        {"claims_away", .is_run = &options->runs_unclaimed},
        {"hmac_key_file", .text = &options->hmac_key_file},
    };
    char *value = cut(text, "=");
    if (value == NULL) {
        return refuse(reader, text, strlen(text), "NAME=VALUE");
    }
    const char *bad = percent_decode(value);
    if (bad != NULL) {
        return refuse(reader, bad, strnlen(bad, 3), "two hexadecimal digits after %");
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcmp(text, parts[i].name) == 0) {
            const char *expected = read_value(&parts[i], value);
            value[-1] = '='; /* for a message */
            return expected == NULL ? WEIR_OK : refuse(reader, text, strlen(text), expected);
        }
    }
    return refuse(reader, text, strlen(text),
                  "replicas, min_written, time_limit, late, lease, remember, claims, claims_away "
                  "or hmac_key_file");
}

/* Fills in the defaults, and checks what the options say together. */
static enum weir_status finish(struct weiri_cluster_options *options, struct weir_error *ret_error)
{
    bool is_single = options->replicas == 1;
    if (options->replicas == 0) {
        options->replicas =
            options->node_count < REPLICAS_DEFAULT ? options->node_count : REPLICAS_DEFAULT;
    }
    if (options->min_written == 0) {
        options->min_written = is_single ? 1 : 2;
    }
    if (options->node_count < 2 && !is_single) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "the cluster names %zu node: expected at least 2, or replicas=1",
                          options->node_count);
    }
    if (options->replicas > options->node_count) {
        return weiri_fail(ret_error, WEIR_EINVAL, "replicas=%zu: there are %zu nodes",
                          options->replicas, options->node_count);
    }
    if (options->min_written > options->replicas) {
        return weiri_fail(ret_error, WEIR_EINVAL, "min_written=%zu: there are %zu replicas",
                          options->min_written, options->replicas);
    }
    if (options->remember_ns < REMEMBER_MIN) {
        return weiri_fail(ret_error, WEIR_ERANGE, "remember=%" PRId64 "ms: expected 2m at least",
                          options->remember_ns / WEIR_MS(1));
    }
    for (size_t i = 0; i < options->node_count && !is_single; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(options->nodes[i].text, options->nodes[j].text) == 0) {
                return weiri_fail(ret_error, WEIR_EINVAL,
                                  "the cluster names %s twice: expected different nodes, or "
                                  "replicas=1",
                                  options->nodes[i].text);
            }
        }
    }
    return WEIR_OK;
}

static enum weir_status read_pieces(struct reader *reader, char *text)
{
    if (strncmp(text, "//", 2) != 0) {
        return refuse(reader, text, strlen(text), "//HOST:PORT,HOST:PORT,...");
    }
    char *node = text + 2;
    char *part = cut(node, "?");
    const char *path = cut(node, "/");
    if (path != NULL && *path != '\0') {
        return refuse(reader, path, strlen(path), "? and NAME=VALUE, or the end");
    }
    enum weir_status status = WEIR_OK;
    for (char *next; node != NULL && status == WEIR_OK; node = next) {
        next = cut(node, ",");
        status = add_node(reader, node);
    }
    for (char *next; part != NULL && *part != '\0' && status == WEIR_OK; part = next) {
        next = cut(part, "&");
        status = read_part(reader, part);
    }
    return status;
}

enum weir_status weiri_cluster_url_parse(const struct weir_allocator *allocator,
                                         const char *location,
                                         struct weiri_cluster_options *ret_options,
                                         struct weir_error *ret_error)
{
    size_t size = strlen(location) + 1;
    struct weiri_cluster_options options = {
        .time_limit_ns = WEIR_SECONDS(5),
        .late_ns = WEIR_FOREVER,
        .lease_ns = WEIR_SECONDS(5),
        .remember_ns = WEIR_SECONDS(86400),
        .block_size = size * 4 + WEIRI_NODES_MAX * (size_t)NODE_EXTRA,
    };
    options.block = weiri_alloc(allocator, options.block_size);
    if (options.block == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    memcpy(options.block, location, size);
    struct reader reader = {&options, options.block, options.block + size, ret_error};
    enum weir_status status = read_pieces(&reader, options.block);
    status = status == WEIR_OK ? finish(&options, ret_error) : status;
    if (status != WEIR_OK) {
        weiri_release(allocator, options.block, options.block_size);
        return status;
    }
    *ret_options = options;
    return WEIR_OK;
}
