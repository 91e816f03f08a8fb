/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/redis/redis_url.h"

#include <stdio.h>

#include "jobs/redis/claims.h"
#include "support/harness.h"

static const char *or_none(const char *text)
{
    return text == NULL ? "-" : text;
}

TEST(reads_where_redis_is, "each form of the URL is read")
{
    static const struct {
        const char *url;
        const char *user;
        const char *password;
        const char *host;
        const char *path;
        int port;
        int database;
    } rows[] = {
        {"redis://h", "-", "-", "h", "-", 6379, 0},
        {"redis://h:1/2", "-", "-", "h", "-", 1, 2},
        {"redis://u:p@h", "u", "p", "h", "-", 6379, 0},
        {"redis://:p@h/15", "-", "p", "h", "-", 6379, 15},
        {"redis://p@h", "-", "p", "h", "-", 6379, 0},
        {"redis://u:a@b:c@h:7", "u", "a@b:c", "h", "-", 7, 0},
        {"redis://[::1]:7/1", "-", "-", "::1", "-", 7, 1},
        {"redis://[::1]", "-", "-", "::1", "-", 6379, 0},
        {"redis+unix:///run/r.sock", "-", "-", "-", "/run/r.sock", 6379, 0},
        {"redis+unix://u:p@/run/r.sock?3", "u", "p", "-", "/run/r.sock", 6379, 3},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[100];
        struct weiri_redis_url url;
        struct weir_error error;
        (void)snprintf(text, sizeof(text), "%s", rows[i].url);
        CHECK_STATUS(weiri_redis_url_parse(text, &url, &error), WEIR_OK);
        CHECK_STRING(or_none(url.user), rows[i].user);
        CHECK_STRING(or_none(url.password), rows[i].password);
        CHECK_STRING(or_none(url.host), rows[i].host);
        CHECK_STRING(or_none(url.path), rows[i].path);
        CHECK_INT(url.port, ==, rows[i].port);
        CHECK_INT(url.database, ==, rows[i].database);
    }
}

TEST(refuses_bad_urls, "anything else is refused, and a password is not repeated")
{
    static const char *const rows[] = {"",
                                       "h:1",
                                       "http://h",
                                       "redis://",
                                       "redis://u:secret@",
                                       "redis://u:secret@:1",
                                       "redis://u:secret@h:0",
                                       "redis://u:secret@h:65536",
                                       "redis://u:secret@h:x",
                                       "redis://u:secret@h/x",
                                       "redis://u:secret@h/-1",
                                       "redis://u:secret@h/1/2",
                                       "redis://u:secret@h h",
                                       "redis+unix://u:secret@run/r.sock",
                                       "redis+unix://",
                                       "redis+unix:///r?x"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[100];
        struct weiri_redis_url url;
        struct weir_error error;
        (void)snprintf(text, sizeof(text), "%s", rows[i]);
        if (weiri_redis_url_parse(text, &url, &error) != WEIR_EINVAL) {
            test_fail(__FILE__, __LINE__, "%s is read", rows[i]);
        }
        CHECK(strstr(error.text, "secret") == NULL && error.text[0] != '\0');
    }
}

TEST(names_claims_as_go_queue, "the key is the lower-case hexadecimal MD5 of the whole body")
{
    char key[WEIRI_CLAIM_KEY_SIZE];
    weiri_claim_key("1780000000000000000/hello", 25, key);
    CHECK_STRING(key, "7db73fdcac6988c4e76505dc8a503477");
    weiri_claim_key("", 0, key);
    CHECK_STRING(key, "d41d8cd98f00b204e9800998ecf8427e");
}
