/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Where a cluster is and how it is used: checks and defaults. */
#include "jobs/beanstalkd/cluster_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/alloc.h"
#include "base/error.h"
#include "jobs/core/number.h"

#define DEFAULT_PORT "11300"
#define REPLICAS_DEFAULT 3
/* A copy that is put off comes back after 64 s at most, and asks whether its job is done. */
#define REMEMBER_MIN WEIR_SECONDS(120)

enum weir_status weiri_piece_refuse(const struct weiri_url_reader *reader, const char *at,
                                    size_t size, const char *expected)
{
    int shown = size < 60 ? (int)size : 60;
    return weiri_fail(reader->ret_error, WEIR_EINVAL,
                      "\"%.*s\" at offset %zu of the broker URL: expected %s", shown, at,
                      sizeof("beanstalk:") - 1 + (size_t)(at - reader->url), expected);
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)(at - digits) % 16;
}

const char *weiri_percent_decode(char *text)
{
    char *out = text;
    for (const char *at = text; *at != '\0'; at++) {
        char c = *at;
        if (c == '%') {
            int high = hex_digit(at[1]);
            int low = high < 0 ? -1 : hex_digit(at[2]);
            if (low < 0 || (high == 0 && low == 0)) {
                return at;
            }
            c = (char)(high * 16 + low);
            at += 2;
        }
        *out++ = c;
    }
    *out = '\0';
    return NULL;
}

static char *copy(struct weiri_url_reader *reader, const char *text, size_t size)
{
    char *start = reader->out;
    memcpy(start, text, size);
    start[size] = '\0';
    reader->out += size + 1;
    return start;
}

static bool is_host(const char *host, bool is_bracketed)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (const char *c = host; *c != '\0'; c++) {
        if (strchr(letters, *c) == NULL && strchr(is_bracketed ? ":.%" : ".-_", *c) == NULL) {
            return false;
        }
    }
    return host[0] != '\0' && strlen(host) <= 255;
}

/* A unix socket: a path with its slashes written %2F, which ids have as well. */
static enum weir_status read_path(struct weiri_url_reader *reader, const char *text,
                                  struct weiri_endpoint *node)
{
    char *path = copy(reader, text, strlen(text));
    const char *bad = weiri_percent_decode(path);
    if (bad != NULL) {
        bad = text + (bad - path);
        return weiri_piece_refuse(reader, bad, strnlen(bad, 3),
                                  "%2F for each slash of a socket's path");
    }
    if (path[0] != '/' || strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
        return weiri_piece_refuse(reader, text, strlen(text),
                                  "the absolute path of a unix socket, of at most 107 bytes");
    }
    *node = (struct weiri_endpoint){.text = copy(reader, text, strlen(text)), .path = path};
    return WEIR_OK;
}

enum weir_status weiri_cluster_add_node(struct weiri_url_reader *reader, const char *text)
{
    if (reader->options->node_count == WEIRI_NODES_MAX) {
        return weiri_piece_refuse(reader, text, strlen(text), "at most 64 nodes");
    }
    struct weiri_endpoint *node = &reader->options->nodes[reader->options->node_count++];
    bool is_bracketed = text[0] == '[';
    const char *bracket = is_bracketed ? strchr(text, ']') : NULL;
    const char *colon = bracket == NULL ? strchr(text, ':') : bracket + 1;
    if (!is_bracketed && strchr(text, '%') != NULL) {
        return read_path(reader, text, node);
    }
    const char *port = colon != NULL && *colon == ':' ? colon + 1 : NULL;
    size_t host_size = bracket != NULL ? (size_t)(bracket - text) - 1
                       : colon != NULL ? (size_t)(colon - text)
                                       : strlen(text);
    char *host = copy(reader, text + is_bracketed, host_size);
    bool is_ended = port != NULL || colon == NULL || *colon == '\0';
    if (is_bracketed != (bracket != NULL) || !is_ended || !is_host(host, is_bracketed)) {
        return weiri_piece_refuse(reader, text, strlen(text),
                                  "HOST, HOST:PORT, [IPV6]:PORT or the path of a unix socket with "
                                  "%2F for each slash");
    }
    uint64_t number = 0;
    if (port != NULL &&
        (port[0] == '0' || !weiri_number_read(port, strlen(port), &number) || number > 65535)) {
        return weiri_piece_refuse(reader, port, strlen(port), "a port from 1 to 65535");
    }
    for (char *c = host; *c != '\0'; c++) {
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
    }
    port = port == NULL ? DEFAULT_PORT : port;
    *node = (struct weiri_endpoint){.host = host, .port = copy(reader, port, strlen(port))};
    node->text = reader->out;
    reader->out += sprintf(reader->out, is_bracketed ? "[%s]:%s" : "%s:%s", host, port) + 1;
    return WEIR_OK;
}

enum weir_status weiri_cluster_options_finish(struct weiri_cluster_options *options,
                                              struct weir_error *ret_error)
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

void weiri_cluster_options_free(const struct weir_allocator *allocator,
                                struct weiri_cluster_options *options)
{
    weiri_release(allocator, options->block, options->block_size);
    options->block = NULL;
}
