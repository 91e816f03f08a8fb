/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A cluster's URL: `//NODE,NODE.../?NAME=VALUE&...` into options. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "jobs/beanstalkd/cluster_options.h"
#include "jobs/core/number.h"

static const char names[] =
    "replicas, min_written, time_limit, late, lease, remember, claims, claims_away or "
    "hmac_key_file";

#define TIME_LIMIT_DEFAULT WEIR_SECONDS(5)
#define LEASE_DEFAULT WEIR_SECONDS(5)
#define REMEMBER_DEFAULT WEIR_SECONDS(86400)
/* What a node's texts may have beyond three copies of its piece: a port, NULs. */
#define NODE_EXTRA 32

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

/* Refuses a part, whose name was cut from its value. */
static enum weir_status refuse_part(const struct weiri_url_reader *reader, const char *part,
                                    char *value, const char *expected)
{
    value[-1] = '=';
    return weiri_piece_refuse(reader, part, strlen(part), expected);
}

static enum weir_status read_count(const struct weiri_url_reader *reader, const char *part,
                                   char *value, size_t *ret_count)
{
    uint64_t count;
    if (!weiri_number_read(value, strlen(value), &count) || count == 0 || count > 999) {
        return refuse_part(reader, part, value, "a number of copies from 1 on");
    }
    *ret_count = (size_t)count;
    return WEIR_OK;
}

/* A duration. is_zero_ok: 0 means that there is no limit. */
static enum weir_status read_time(const struct weiri_url_reader *reader, const char *part,
                                  char *value, bool is_zero_ok, int64_t *ret_time)
{
    int64_t time;
    if (weir_duration_parse(value, &time, NULL) != WEIR_OK || time < 0 ||
        (time == 0 && !is_zero_ok)) {
        return refuse_part(reader, part, value,
                           is_zero_ok ? "a duration such as 30m, or 0 for no limit"
                                      : "a duration such as 5s");
    }
    *ret_time = time == 0 ? WEIR_FOREVER : time;
    return WEIR_OK;
}

/* Sets what `name=value` says. */
static enum weir_status set_part(struct weiri_url_reader *reader, char *part)
{
    struct weiri_cluster_options *options = reader->options;
    char *value = cut(part, "=");
    if (value == NULL) {
        return weiri_piece_refuse(reader, part, strlen(part), "NAME=VALUE");
    }
    const char *bad = weiri_percent_decode(value);
    if (bad != NULL) {
        return weiri_piece_refuse(reader, bad, strnlen(bad, 3), "two hexadecimal digits after %");
    }
    if (strcmp(part, "replicas") == 0) {
        return read_count(reader, part, value, &options->replicas);
    }
    if (strcmp(part, "min_written") == 0) {
        return read_count(reader, part, value, &options->min_written);
    }
    if (strcmp(part, "time_limit") == 0) {
        return read_time(reader, part, value, false, &options->time_limit_ns);
    }
    if (strcmp(part, "late") == 0) {
        return read_time(reader, part, value, true, &options->late_ns);
    }
    if (strcmp(part, "lease") == 0) {
        return read_time(reader, part, value, false, &options->lease_ns);
    }
    if (strcmp(part, "remember") == 0) {
        return read_time(reader, part, value, false, &options->remember_ns);
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
        return weiri_piece_refuse(reader, part, strlen(part), names);
    }
    if (!is_run && strcmp(value, "wait") != 0) {
        return refuse_part(reader, part, value, "claims_away=wait or claims_away=run");
    }
    options->runs_unclaimed = is_run;
    return WEIR_OK;
}

static enum weir_status read_pieces(struct weiri_url_reader *reader, char *text)
{
    if (strncmp(text, "//", 2) != 0) {
        return weiri_piece_refuse(reader, text, strlen(text), "//HOST:PORT,HOST:PORT,...");
    }
    char *node = text + 2;
    char *question = node + strcspn(node, "?");
    char *part = *question == '?' ? question + 1 : NULL;
    *question = '\0';
    const char *path = cut(node, "/");
    if (path != NULL && *path != '\0') {
        return weiri_piece_refuse(reader, path, strlen(path), "? and NAME=VALUE, or the end");
    }
    enum weir_status status = WEIR_OK;
    for (char *next; node != NULL && status == WEIR_OK; node = next) {
        next = cut(node, ",");
        status = weiri_cluster_add_node(reader, node);
    }
    for (char *next; part != NULL && *part != '\0' && status == WEIR_OK; part = next) {
        next = cut(part, "&");
        status = set_part(reader, part);
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
        .time_limit_ns = TIME_LIMIT_DEFAULT,
        .late_ns = WEIR_FOREVER,
        .lease_ns = LEASE_DEFAULT,
        .remember_ns = REMEMBER_DEFAULT,
        .block_size = size * 4 + WEIRI_NODES_MAX * (size_t)NODE_EXTRA,
    };
    options.block = weiri_alloc(allocator, options.block_size);
    if (options.block == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    memcpy(options.block, location, size);
    struct weiri_url_reader reader = {&options, options.block, options.block + size, ret_error};
    enum weir_status status = read_pieces(&reader, options.block);
    status = status == WEIR_OK ? weiri_cluster_options_finish(&options, ret_error) : status;
    if (status != WEIR_OK) {
        weiri_cluster_options_free(allocator, &options);
        return status;
    }
    *ret_options = options;
    return WEIR_OK;
}
