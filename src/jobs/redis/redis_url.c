/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/redis/redis_url.h"

#include <stdbool.h>
#include <string.h>

#include "jobs/error.h"
#include "jobs/number.h"

#define EXPECTED                                                                                   \
    "expected redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE] or "                                \
    "redis+unix://[USER[:PASSWORD]@]/PATH[?DATABASE]"

static bool read_number(const char *text, int most, int *ret_number)
{
    uint64_t number;
    if (!weiri_number_read(text, strlen(text), &number) || number > (uint64_t)most) {
        return false;
    }
    *ret_number = (int)number;
    return true;
}

/* Ends the text at the last byte c and returns what follows it; NULL: there is none. */
static char *cut(char *text, char c)
{
    char *at = strrchr(text, c);
    if (at == NULL) {
        return NULL;
    }
    *at = '\0';
    return at + 1;
}

static void read_login(char *login, struct weiri_redis_url *url)
{
    char *colon = strchr(login, ':');
    if (colon == NULL) {
        url->password = login; /* as redis-cli: a login without a colon is a password */
        return;
    }
    *colon = '\0';
    url->password = colon + 1;
    url->user = login[0] != '\0' ? login : NULL;
}

enum weir_status weiri_redis_url_parse(char *text, struct weiri_redis_url *ret_url,
                                       struct weir_error *ret_error)
{
    static const char tcp[] = "redis://";
    static const char local[] = "redis+unix://";
    struct weiri_redis_url url = {.port = 6379};
    bool is_local = strncmp(text, local, sizeof(local) - 1) == 0;
    if (!is_local && strncmp(text, tcp, sizeof(tcp) - 1) != 0) {
        return weiri_fail(ret_error, WEIR_EINVAL, "claims: unknown scheme: " EXPECTED);
    }
    char *place = text + (is_local ? sizeof(local) : sizeof(tcp)) - 1;
    char *after_login = cut(place, '@');
    if (after_login != NULL) {
        read_login(place, &url);
        place = after_login;
    }
    char *database = cut(place, is_local ? '?' : '/');
    if (database != NULL && !read_number(database, 65535, &url.database)) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "claims: database \"%.40s\" is no number: " EXPECTED, database);
    }
    if (is_local) {
        url.path = place;
        if (place[0] != '/') {
            return weiri_fail(ret_error, WEIR_EINVAL,
                              "claims: \"%.100s\" is no absolute path: " EXPECTED, place);
        }
        *ret_url = url;
        return WEIR_OK;
    }
    char *bracket = place[0] == '[' ? strrchr(place, ']') : NULL;
    char *port = cut(bracket != NULL ? bracket : place, ':');
    if (port != NULL && (!read_number(port, 65535, &url.port) || url.port == 0)) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "claims: port \"%.40s\": expected one from 1 to 65535", port);
    }
    if (bracket != NULL) {
        *bracket = '\0';
        place++;
    }
    url.host = place;
    if (place[0] == '\0' || strpbrk(place, " /") != NULL) {
        return weiri_fail(ret_error, WEIR_EINVAL, "claims: \"%.100s\" is no host: " EXPECTED,
                          place);
    }
    *ret_url = url;
    return WEIR_OK;
}
