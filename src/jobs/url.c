/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/url.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"

#define OPTIONS "durability=full, normal or memory, or shared=1"
#define EXPECTED "expected sqlite:PATH or beanstalk://HOST:PORT,HOST:PORT,..."

static enum weir_status refuse_scheme(const char *text, size_t size, struct weir_error *ret_error)
{
    /* A path alone is the likeliest mistake. */
    if (text[size] != ':') {
        return weiri_fail(ret_error, WEIR_EINVAL, "broker URL \"%.200s\" has no scheme: " EXPECTED,
                          text);
    }
    return weiri_fail(ret_error, WEIR_EINVAL,
                      "unknown scheme \"%.*s\" at offset 0 of broker URL \"%.200s\": " EXPECTED,
                      size < 40 ? (int)size : 40, text, text);
}

/* A store at such a path would be the lock, the log or the draft of the store beside it. */
const char *weiri_url_reserved_ending(const char *path, size_t length)
{
    static const char *const endings[] = {".lock", ".weir-new", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t size = strlen(endings[i]);
        if (length >= size && memcmp(path + length - size, endings[i], size) == 0) {
            return endings[i];
        }
    }
    return NULL;
}

static enum weir_status check_path(const char *text, const char *path, size_t length,
                                   struct weir_error *ret_error)
{
    size_t start = (size_t)(path - text);
    if (length == 0) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "no path at offset %zu of broker URL \"%s\": " EXPECTED, start, text);
    }
    if (path[0] == ':') {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "\":\" at offset %zu of broker URL \"%.200s\": a store is a file, "
                          "not one of SQLite's special names",
                          start, text);
    }
    if (path[0] == '/' && path[1] == '/') {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "\"//\" at offset %zu of broker URL \"%.200s\": " EXPECTED
                          ", as in sqlite:/var/lib/jobs.db or sqlite:jobs.db",
                          start, text);
    }
    for (size_t i = 0; i < length; i++) {
        if (path[i] == '#' || (unsigned char)path[i] < ' ' || path[i] == '\x7f') {
            return weiri_fail(ret_error, WEIR_EINVAL,
                              "byte 0x%02x at offset %zu of broker URL \"%.200s\" "
                              "may not be in a path",
                              (unsigned)(unsigned char)path[i], start + i, text);
        }
    }
    if (path[length - 1] == '/') {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "\"/\" at offset %zu of broker URL \"%.200s\" ends the name of a "
                          "folder: expected that of a file",
                          start + length - 1, text);
    }
    const char *ending = weiri_url_reserved_ending(path, length);
    if (ending != NULL) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "\"%s\" at offset %zu of broker URL \"%.200s\" is the ending of a file "
                          "that belongs to a store: expected another name",
                          ending, start + length - strlen(ending), text);
    }
    if (length >= PATH_MAX) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "the path at offset %zu of the broker URL has %zu bytes: at most %d",
                          start, length, PATH_MAX - 1);
    }
    return WEIR_OK;
}

/* Reads one option of NAME=VALUE. */
static bool read_option(const char *option, size_t size, struct weiri_url *url)
{
    static const struct {
        const char *text;
        uint32_t durability; /* 0: as it was */
        uint32_t flags;
    } known[] = {{"durability=full", WEIR_DURABILITY_FULL, 0},
                 {"durability=normal", WEIR_DURABILITY_NORMAL, 0},
                 {"durability=memory", WEIR_DURABILITY_MEMORY, 0},
                 {"shared=1", 0, WEIR_BROKER_SHARED}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strlen(known[i].text) == size && memcmp(known[i].text, option, size) == 0) {
            url->durability = known[i].durability == 0 ? url->durability : known[i].durability;
            url->flags |= known[i].flags;
            return true;
        }
    }
    return false;
}

/* Reads the options behind the path, which begin with a question mark; there may be none. */
static enum weir_status read_options(const char *text, struct weiri_url *url,
                                     struct weir_error *ret_error)
{
    const char *at = url->location + url->location_size;
    while (*at != '\0') {
        at++;
        size_t size = strcspn(at, "&");
        if (!read_option(at, size, url)) {
            return weiri_fail(ret_error, WEIR_EINVAL,
                              "unknown option \"%.*s\" at offset %zu of broker URL \"%.200s\": "
                              "expected " OPTIONS,
                              size < 40 ? (int)size : 40, at, (size_t)(at - text), text);
        }
        at += size;
    }
    return WEIR_OK;
}

enum weir_status weiri_url_parse(const char *text, struct weiri_url *ret_url,
                                 struct weir_error *ret_error)
{
    if (text == NULL) {
        return weiri_fail(ret_error, WEIR_EINVAL, "url is NULL: " EXPECTED);
    }
    size_t size = strcspn(text, ":");
    if (strncmp(text, "beanstalk:", size + 1) == 0) {
        /* The backend reads the rest. */
        const char *rest = text + size + 1;
        *ret_url = (struct weiri_url){text, size, rest, strlen(rest), 0, 0};
        return WEIR_OK;
    }
    if (size != strlen("sqlite") || memcmp(text, "sqlite", size) != 0 || text[size] != ':') {
        return refuse_scheme(text, size, ret_error);
    }
    const char *path = text + size + 1;
    struct weiri_url url = {text, size, path, strcspn(path, "?"), 0, 0};
    enum weir_status status = check_path(text, path, url.location_size, ret_error);
    if (status == WEIR_OK) {
        status = read_options(text, &url, ret_error);
    }
    if (status == WEIR_OK) {
        *ret_url = url;
    }
    return status;
}
