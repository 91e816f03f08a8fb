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

/* The addresses as one text. */
static const char *seeds_of(const struct weiri_redis_url *url)
{
    static char text[600];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < url->seed_count; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %d", i == 0 ? "" : ", ",
                                 url->seeds[i].host, url->seeds[i].port);
    }
    return text;
}

TEST(reads_where_redis_is, "each form of the URL is read")
{
    static const struct {
        const char *url;
        enum weiri_redis_kind kind;
        const char *user;
        const char *password;
        const char *seeds;
        const char *where; /* a path, or the name of a master */
        int database;
    } rows[] = {
        {"redis://h", WEIRI_REDIS_ONE, "-", "-", "h 6379", "-", 0},
        {"redis://h:1/2", WEIRI_REDIS_ONE, "-", "-", "h 1", "-", 2},
        {"redis://u:p@h", WEIRI_REDIS_ONE, "u", "p", "h 6379", "-", 0},
        {"redis://:p@h/15", WEIRI_REDIS_ONE, "-", "p", "h 6379", "-", 15},
        {"redis://p@h", WEIRI_REDIS_ONE, "-", "p", "h 6379", "-", 0},
        {"redis://u:a@b:c@h:7", WEIRI_REDIS_ONE, "u", "a@b:c", "h 7", "-", 0},
        {"redis://[::1]:7/1", WEIRI_REDIS_ONE, "-", "-", "::1 7", "-", 1},
        {"redis://[::1]", WEIRI_REDIS_ONE, "-", "-", "::1 6379", "-", 0},
        {"redis+unix:///run/r.sock", WEIRI_REDIS_UNIX, "-", "-", "", "/run/r.sock", 0},
        {"redis+unix://u:p@/run/r.sock?3", WEIRI_REDIS_UNIX, "u", "p", "", "/run/r.sock", 3},
        {"redis+sentinel://h/m", WEIRI_REDIS_SENTINEL, "-", "-", "h 26379", "m", 0},
        {"redis+sentinel://u:p@a:1,[::2]:3,c/my-master/4", WEIRI_REDIS_SENTINEL, "u", "p",
         "a 1, ::2 3, c 26379", "my-master", 4},
        {"redis+cluster://a:7000,b", WEIRI_REDIS_CLUSTER, "-", "-", "a 7000, b 6379", "-", 0},
        {"redis+cluster://:p@[::1]", WEIRI_REDIS_CLUSTER, "-", "p", "::1 6379", "-", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[100];
        struct weiri_redis_url url;
        struct weir_error error;
        (void)snprintf(text, sizeof(text), "%s", rows[i].url);
        CHECK_STATUS(weiri_redis_url_parse(text, &url, &error), WEIR_OK);
        CHECK_INT(url.kind, ==, rows[i].kind);
        CHECK_STRING(or_none(url.user), rows[i].user);
        CHECK_STRING(or_none(url.password), rows[i].password);
        CHECK_STRING(seeds_of(&url), rows[i].seeds);
        CHECK_STRING(or_none(url.path != NULL ? url.path : url.name), rows[i].where);
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
                                       "redis://u:secret@h:1,i:2",
                                       "redis+unix://u:secret@run/r.sock",
                                       "redis+unix://",
                                       "redis+unix:///r?x",
                                       "redis+sentinel://u:secret@h",
                                       "redis+sentinel://u:secret@h/",
                                       "redis+sentinel://u:secret@h//1",
                                       "redis+sentinel://u:secret@h/m/x",
                                       "redis+sentinel://u:secret@h/m/1/2",
                                       "redis+sentinel://u:secret@h,/m",
                                       "redis+sentinel://u:secret@/m",
                                       "redis+cluster://u:secret@",
                                       "redis+cluster://u:secret@a,,b",
                                       "redis+cluster://u:secret@a/0",
                                       "redis+cluster://u:secret@a/",
                                       "redis+cluster://a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a"};
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

TEST(has_no_tls, "a URL that asks for TLS is refused in words of its own")
{
    static const char *const rows[] = {"rediss://u:secret@h", "rediss+sentinel://h/m"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[100];
        struct weiri_redis_url url;
        struct weir_error error;
        (void)snprintf(text, sizeof(text), "%s", rows[i]);
        CHECK_STATUS(weiri_redis_url_parse(text, &url, &error), WEIR_ENOTSUP);
        CHECK(strstr(error.text, "TLS is not supported") != NULL);
        CHECK(strstr(error.text, "secret") == NULL);
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
