/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A cluster's URL: `//NODE,NODE.../?NAME=VALUE&...` into options. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "jobs/beanstalkd/cluster_options.h"
#include "jobs/number.h"

static const char names[] =
    "replicas, min_written, time_limit, late, lease, remember, claims, claims_away or "
    "hmac_key_file";

/* The pieces are cut out of one copy of the URL; the options point into it. */
struct pieces {
    struct weir_cluster_options options;
    const char *nodes[WEIRI_NODES_MAX];
    const char *url;
    struct weir_error *ret_error;
};

static enum weir_status refuse(const struct pieces *pieces, const char *at, size_t size,
                               const char *expected)
{
    return weiri_piece_refuse(pieces->url, at, size, expected, pieces->ret_error);
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

static enum weir_status read_count(const struct pieces *pieces, const char *part, size_t size,
                                   const char *value, uint32_t *ret_count)
{
    uint64_t count;
    if (!weiri_number_read(value, strlen(value), &count) || count == 0 || count > 999) {
        return refuse(pieces, part, size, "a number of copies from 1 on");
    }
    *ret_count = (uint32_t)count;
    return WEIR_OK;
}

/* A duration. is_zero_ok: 0 means that there is no limit. */
static enum weir_status read_time(const struct pieces *pieces, const char *part, size_t size,
                                  const char *value, bool is_zero_ok, int64_t *ret_time)
{
    int64_t time;
    if (weir_duration_parse(value, &time, NULL) != WEIR_OK || time < 0 ||
        (time == 0 && !is_zero_ok)) {
        return refuse(pieces, part, size,
                      is_zero_ok ? "a duration such as 30m, or 0 for no limit"
                                 : "a duration such as 5s");
    }
    *ret_time = time == 0 ? WEIR_FOREVER : time;
    return WEIR_OK;
}

/* Sets what `name=value` says. */
static enum weir_status set_part(struct pieces *pieces, char *part)
{
    struct weir_cluster_options *options = &pieces->options;
    size_t size = strlen(part);
    char *value = cut(part, "=");
    if (value == NULL) {
        return refuse(pieces, part, size, "NAME=VALUE");
    }
    const char *bad = weiri_percent_decode(value);
    if (bad != NULL) {
        return refuse(pieces, bad, strnlen(bad, 3), "two hexadecimal digits after %");
    }
    if (strcmp(part, "replicas") == 0) {
        return read_count(pieces, part, size, value, &options->replicas);
    }
    if (strcmp(part, "min_written") == 0) {
        return read_count(pieces, part, size, value, &options->min_written);
    }
    if (strcmp(part, "time_limit") == 0) {
        return read_time(pieces, part, size, value, false, &options->time_limit_ns);
    }
    if (strcmp(part, "late") == 0) {
        return read_time(pieces, part, size, value, true, &options->late_ns);
    }
    if (strcmp(part, "lease") == 0) {
        return read_time(pieces, part, size, value, false, &options->lease_ns);
    }
    if (strcmp(part, "remember") == 0) {
        return read_time(pieces, part, size, value, false, &options->remember_ns);
    }
    if (strcmp(part, "claims") == 0) {
        options->claims = value;
        return WEIR_OK;
    }
    if (strcmp(part, "hmac_key_file") == 0) {
        options->hmac_key_file = value;
        return WEIR_OK;
    }
    bool is_run = strcmp(value, "run") == 0;
    if (strcmp(part, "claims_away") != 0) {
        return refuse(pieces, part, strlen(part), names);
    }
    if (!is_run && strcmp(value, "wait") != 0) {
        return refuse(pieces, part, size, "claims_away=wait or claims_away=run");
    }
    options->flags = is_run ? WEIR_CLUSTER_RUN_UNCLAIMED : 0;
    return WEIR_OK;
}

static enum weir_status read_pieces(struct pieces *pieces, char *text)
{
    if (strncmp(text, "//", 2) != 0) {
        return refuse(pieces, text, strlen(text), "//HOST:PORT,HOST:PORT,...");
    }
    char *node = text + 2;
    char *question = node + strcspn(node, "?");
    char *part = *question == '?' ? question + 1 : NULL;
    *question = '\0';
    const char *path = cut(node, "/");
    if (path != NULL && *path != '\0') {
        return refuse(pieces, path, strlen(path), "? and NAME=VALUE, or the end");
    }
    for (char *next; node != NULL; node = next) {
        next = cut(node, ",");
        if (pieces->options.node_count == WEIRI_NODES_MAX) {
            return refuse(pieces, node, strlen(node), "at most 64 nodes");
        }
        pieces->nodes[pieces->options.node_count++] = node;
    }
    enum weir_status status = WEIR_OK;
    for (char *next; part != NULL && *part != '\0' && status == WEIR_OK; part = next) {
        next = cut(part, "&");
        status = set_part(pieces, part);
    }
    return status;
}

enum weir_status weiri_cluster_url_parse(const struct weir_allocator *allocator,
                                         const char *location,
                                         struct weiri_cluster_options *ret_options,
                                         struct weir_error *ret_error)
{
    size_t size = strlen(location) + 1;
    char *text = weiri_alloc(allocator, size);
    if (text == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    memcpy(text, location, size);
    struct pieces pieces = {.options = {0}, .url = text, .ret_error = ret_error};
    pieces.options.nodes = pieces.nodes;
    enum weir_status status = read_pieces(&pieces, text);
    if (status == WEIR_OK) {
        status =
            weiri_cluster_options_read(allocator, &pieces.options, text, ret_options, ret_error);
    }
    weiri_release(allocator, text, size);
    return status;
}
