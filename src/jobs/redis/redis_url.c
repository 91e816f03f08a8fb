/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/redis/redis_url.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "jobs/core/fields.h"

static const struct form {
    const char *prefix;
    const char *whole; /* for messages */
    enum weiri_redis_kind kind;
    int port;
} forms[] = {
    {"redis://", "redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE]", WEIRI_REDIS_ONE, 6379},
    {"redis+unix://", "redis+unix://[USER[:PASSWORD]@]/PATH[?DATABASE]", WEIRI_REDIS_UNIX, 0},
    {"redis+sentinel://", "redis+sentinel://[USER[:PASSWORD]@]HOST[:PORT],.../NAME[/DATABASE]",
     WEIRI_REDIS_SENTINEL, 26379},
    {"redis+cluster://", "redis+cluster://[USER[:PASSWORD]@]HOST[:PORT],...", WEIRI_REDIS_CLUSTER,
     6379},
};

struct reader {
    struct weiri_redis_url url;
    const struct form *form;
    struct weir_error *ret_error;
};

static enum weir_status refuse(const struct reader *reader, const char *piece, const char *what)
{
    return weiri_fail(reader->ret_error, WEIR_EINVAL, "claims: \"%.100s\" is no %s: expected %s",
                      piece, what, reader->form->whole);
}

static bool read_number(const char *text, int most, int *ret_number)
{
    uint64_t number;
    if (!weiri_number_read(text, strlen(text), &number) || number > (uint64_t)most) {
        return false;
    }
    *ret_number = (int)number;
    return true;
}

/* Ends the text at a byte of it (may be NULL) and returns what follows; NULL: there is none. */
static char *cut_at(char *at)
{
    if (at == NULL) {
        return NULL;
    }
    *at = '\0';
    return at + 1;
}

static void read_login(char *login, struct weiri_redis_url *url)
{
    url->password = cut_at(strchr(login, ':'));
    if (url->password == NULL) {
        url->password = login; /* as redis-cli: a login without a colon is a password */
    } else if (login[0] != '\0') {
        url->user = login;
    }
}

static enum weir_status read_database(struct reader *reader, const char *text)
{
    bool is_good = text == NULL || read_number(text, 65535, &reader->url.database);
    return is_good ? WEIR_OK : refuse(reader, text, "number of a database");
}

/* HOST[:PORT] or [IPV6][:PORT]. */
static enum weir_status read_seed(struct reader *reader, char *text)
{
    struct weiri_redis_address seed = {text, reader->form->port};
    char *bracket = text[0] == '[' ? strrchr(text, ']') : NULL;
    const char *port = cut_at(strrchr(bracket != NULL ? bracket : text, ':'));
    if (port != NULL && (!read_number(port, 65535, &seed.port) || seed.port == 0)) {
        return refuse(reader, port, "port from 1 to 65535");
    }
    if (bracket != NULL) {
        *bracket = '\0';
        seed.host++;
    }
    if (seed.host[0] == '\0' || strpbrk(seed.host, " /,") != NULL || strlen(seed.host) > 255) {
        return refuse(reader, seed.host, "host");
    }
    if (reader->url.seed_count == WEIRI_REDIS_SEEDS_MAX) {
        return weiri_fail(reader->ret_error, WEIR_EINVAL, "claims: more than %d hosts",
                          WEIRI_REDIS_SEEDS_MAX);
    }
    reader->url.seeds[reader->url.seed_count++] = seed;
    return WEIR_OK;
}

/* What follows the login, over TCP. */
static enum weir_status read_seeds(struct reader *reader, char *place)
{
    enum weiri_redis_kind kind = reader->url.kind;
    char *path = cut_at(strchr(place, '/'));
    const char *database = path;
    enum weir_status status = WEIR_OK;
    if (kind == WEIRI_REDIS_SENTINEL) {
        database = path == NULL ? NULL : cut_at(strchr(path, '/'));
        reader->url.name = path;
        if (path == NULL || path[0] == '\0') {
            return refuse(reader, "", "name of a master");
        }
    }
    if (kind == WEIRI_REDIS_CLUSTER && path != NULL) {
        return refuse(reader, path, "part of the URL");
    }
    for (char *next; place != NULL && status == WEIR_OK; place = next) {
        next = kind == WEIRI_REDIS_ONE ? NULL : cut_at(strchr(place, ','));
        status = read_seed(reader, place);
    }
    return status == WEIR_OK ? read_database(reader, database) : status;
}

static enum weir_status read_path(struct reader *reader, char *place)
{
    const char *database = cut_at(strrchr(place, '?'));
    reader->url.path = place;
    if (place[0] != '/') {
        return refuse(reader, place, "absolute path");
    }
    return read_database(reader, database);
}

enum weir_status weiri_redis_url_parse(char *text, struct weiri_redis_url *ret_url,
                                       struct weir_error *ret_error)
{
    struct reader reader = {.ret_error = ret_error};
    char *place = NULL;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (strncmp(text, forms[i].prefix, strlen(forms[i].prefix)) == 0) {
            reader.url.kind = forms[i].kind;
            reader.form = &forms[i];
            place = text + strlen(forms[i].prefix);
        }
    }
    if (place == NULL && strncmp(text, "rediss", 6) == 0) {
        return weiri_fail(ret_error, WEIR_ENOTSUP,
                          "claims: TLS is not supported, since the hiredis that weir is built with "
                          "has none: expected a tunnel and redis://");
    }
    if (place == NULL) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "claims: unknown scheme: expected %s, %s, %s or %s", forms[0].whole,
                          forms[1].whole, forms[2].whole, forms[3].whole);
    }
    char *after_login = cut_at(strrchr(place, '@'));
    if (after_login != NULL) {
        read_login(place, &reader.url);
        place = after_login;
    }
    enum weir_status status = reader.url.kind == WEIRI_REDIS_UNIX ? read_path(&reader, place)
                                                                  : read_seeds(&reader, place);
    if (status == WEIR_OK) {
        *ret_url = reader.url;
    }
    return status;
}
