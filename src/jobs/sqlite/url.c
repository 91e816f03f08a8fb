/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/place.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"

#define OPTIONS "durability=full, normal or memory, or shared=1"
#define EXPECTED "expected sqlite:PATH"
#define SCHEME_SIZE (sizeof("sqlite:") - 1) /* in front of what is read */

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

static enum weir_status check_path(const char *path, size_t length, struct weir_error *ret_error)
{
    if (length == 0) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "no path at offset %zu of broker URL \"sqlite:%s\": " EXPECTED,
                          SCHEME_SIZE, path);
    }
    for (size_t i = 0; i < length; i++) {
        if (path[i] == '#' || (unsigned char)path[i] < ' ' || path[i] == '\x7f') {
            return weiri_fail(ret_error, WEIR_EINVAL,
                              "byte 0x%02x at offset %zu of broker URL \"sqlite:%.200s\" "
                              "may not be in a path",
                              (unsigned)(unsigned char)path[i], SCHEME_SIZE + i, path);
        }
    }
    const char *ending = weiri_url_reserved_ending(path, length);
    const struct {
        const char *piece; /* NULL: it is not there */
        size_t offset;
        const char *why;
    } rows[] = {
        {path[0] == ':' ? ":" : NULL, 0, ": a store is a file, not one of SQLite's special names"},
        {strncmp(path, "//", 2) == 0 ? "//" : NULL, 0,
         ": " EXPECTED ", as in sqlite:/var/lib/jobs.db or sqlite:jobs.db"},
        {path[length - 1] == '/' ? "/" : NULL, length - 1,
         " ends the name of a folder: expected that of a file"},
        {ending, ending == NULL ? 0 : length - strlen(ending),
         " is the ending of a file that belongs to a store: expected another name"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].piece != NULL) {
            return weiri_fail(ret_error, WEIR_EINVAL,
                              "\"%s\" at offset %zu of broker URL \"sqlite:%.200s\"%s",
                              rows[i].piece, SCHEME_SIZE + rows[i].offset, path, rows[i].why);
        }
    }
    if (length >= PATH_MAX) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "the path at offset %zu of the broker URL has %zu bytes: at most %d",
                          SCHEME_SIZE, length, PATH_MAX - 1);
    }
    return WEIR_OK;
}

/* Reads one option of NAME=VALUE. */
static bool read_option(const char *option, size_t size, uint32_t *durability, uint32_t *flags)
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
            *durability = known[i].durability == 0 ? *durability : known[i].durability;
            *flags |= known[i].flags;
            return true;
        }
    }
    return false;
}

enum weir_status weiri_url_parse(const char *location, char ret_path[PATH_MAX],
                                 struct weiri_broker_config *config, struct weir_error *ret_error)
{
    size_t length = strcspn(location, "?");
    uint32_t durability = WEIR_DURABILITY_FULL;
    enum weir_status status = check_path(location, length, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    /* Each option is behind a question mark, or the ampersand behind another. */
    for (const char *at = location + length; *at != '\0';) {
        at++;
        size_t size = strcspn(at, "&");
        if (!read_option(at, size, &durability, &config->flags)) {
            return weiri_fail(ret_error, WEIR_EINVAL,
                              "unknown option \"%.*s\" at offset %zu of broker URL "
                              "\"sqlite:%.200s\": expected " OPTIONS,
                              size < 40 ? (int)size : 40, at, SCHEME_SIZE + (size_t)(at - location),
                              location);
        }
        at += size;
    }
    memcpy(ret_path, location, length);
    ret_path[length] = '\0';
    config->durability =
        config->durability == WEIR_DURABILITY_DEFAULT ? durability : config->durability;
    return WEIR_OK;
}
