/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/trust.h"

#include "support/harness.h"

static const char *const hosts[] = {"jobs.example.org", "w"};
static const struct trust local = {.local = true, .hosts = hosts, .host_count = 2};

/* The status of a GET with this host. */
static int host_status(const char *host)
{
    const struct trust_headers headers = {.host = host, .count = 1};
    return trust_check(&local, &headers, true).status;
}

TEST(hosts,
     "the server is called by localhost, an address or a name that it was given: no rebinding")
{
    static const char *const good[] = {"localhost", "LOCALHOST:8686",   "127.0.0.1:1",
                                       "10.1.2.3",  "[::1]:8686",       "[2001:db8::1]",
                                       "w",         "jobs.example.org", "JOBS.example.org:443"};
    static const char *const bad[] = {"",
                                      "evil.example",
                                      "localhost.evil.example",
                                      "127.0.0.1.evil.example",
                                      "127.0.0.1:80:80",
                                      "127.0.0.1:x",
                                      "[::1",
                                      "[::1]x",
                                      "::1",
                                      "[127.0.0.1]",
                                      "2130706433",
                                      "jobs.example.org.",
                                      "w w",
                                      ":8686"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (host_status(good[i]) != 0) {
            test_fail(__FILE__, __LINE__, "%s is refused", good[i]);
        }
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (host_status(bad[i]) != 403) {
            test_fail(__FILE__, __LINE__, "%s is not refused", bad[i]);
        }
    }
    CHECK_INT(host_status(NULL), ==, 403);
}

static int check(struct trust_headers headers, bool is_get)
{
    headers.host = headers.host == NULL ? "localhost:8686" : headers.host;
    return trust_check(&local, &headers, is_get).status;
}

#define HEADERS(...) ((struct trust_headers){__VA_ARGS__})

TEST(sites, "what a page of another site starts is refused, but for a link to a page")
{
    CHECK_INT(check(HEADERS(.origin = "http://localhost:8686"), false), ==, 0);
    CHECK_INT(check(HEADERS(.origin = "https://localhost:8686"), false), ==, 0);
    CHECK_INT(check(HEADERS(.origin = "http://localhost:8687"), false), ==, 403);
    CHECK_INT(check(HEADERS(.origin = "http://localhost:8686.evil.example"), false), ==, 403);
    CHECK_INT(check(HEADERS(.origin = "http://evil.example"), true), ==, 403);
    CHECK_INT(check(HEADERS(.origin = "null"), true), ==, 403);
    CHECK_INT(check(HEADERS(.fetch_site = "same-origin"), false), ==, 0);
    CHECK_INT(check(HEADERS(.fetch_site = "none"), true), ==, 0);
    CHECK_INT(check(HEADERS(.fetch_site = "same-site"), true), ==, 403);
    CHECK_INT(check(HEADERS(.fetch_site = "cross-site"), true), ==, 403);
    CHECK_INT(check(HEADERS(.fetch_site = "?"), true), ==, 403);
    struct trust_headers link = {
        .fetch_site = "cross-site", .fetch_mode = "navigate", .fetch_dest = "document"};
    CHECK_INT(check(link, true), ==, 0);
    CHECK_INT(check(link, false), ==, 403);
    link.fetch_dest = "iframe";
    CHECK_INT(check(link, true), ==, 403);
    link.fetch_dest = NULL;
    CHECK_INT(check(link, true), ==, 403);
}

TEST(heads, "heads that can be read in two ways are refused")
{
    CHECK_INT(check(HEADERS(.count = TRUST_HEADERS_MAX), true), ==, 0);
    CHECK_INT(check(HEADERS(.count = TRUST_HEADERS_MAX + 1), true), ==, 431);
    CHECK_INT(check(HEADERS(.repeated = true), true), ==, 400);
    CHECK_INT(check(HEADERS(.content_length = "1", .transfer_encoding = "chunked"), false), ==,
              400);
    CHECK_INT(check(HEADERS(.transfer_encoding = "gzip, chunked"), false), ==, 501);
    CHECK_INT(check(HEADERS(.transfer_encoding = "Chunked"), false), ==, 0);
}

static int use(const struct trust *trust, enum trust_use what, const char *authorization,
               const char *type)
{
    const struct trust_headers headers = {.authorization = authorization, .content_type = type};
    return trust_check_use(trust, &headers, what).status;
}

TEST(changes, "changes are for a local server or one with a token, and come as JSON")
{
    static const char json[] = "application/json";
    const struct trust far = {.local = false};
    const struct trust read_only = {.local = true, .read_only = true};
    CHECK_INT(use(&local, TRUST_CHANGE, NULL, json), ==, 0);
    CHECK_INT(use(&local, TRUST_CHANGE, NULL, "Application/JSON; charset=utf-8"), ==, 0);
    CHECK_INT(use(&local, TRUST_CHANGE, NULL, NULL), ==, 415);
    CHECK_INT(use(&local, TRUST_CHANGE, NULL, "text/plain"), ==, 415);
    CHECK_INT(use(&local, TRUST_CHANGE, NULL, "application/jsonx"), ==, 415);
    CHECK_INT(use(&far, TRUST_CHANGE, NULL, json), ==, 403);
    CHECK_INT(use(&read_only, TRUST_CHANGE, NULL, json), ==, 403);
    CHECK_INT(use(&far, TRUST_READ, NULL, NULL), ==, 0);
    CHECK(trust_may_change(&local));
    CHECK(!trust_may_change(&far));
    CHECK(!trust_may_change(&read_only));
}

TEST(tokens, "with a token the whole API asks for it, health and metrics do not")
{
    static const char json[] = "application/json";
    struct trust far = {.token = "0123456789abcdef"};
    CHECK_INT(use(&far, TRUST_OPEN, NULL, NULL), ==, 0);
    CHECK_INT(use(&far, TRUST_READ, NULL, NULL), ==, 401);
    CHECK_INT(use(&far, TRUST_READ, "Bearer 0123456789abcdef", NULL), ==, 0);
    CHECK_INT(use(&far, TRUST_CHANGE, "bearer 0123456789abcdef", json), ==, 0);
    CHECK_INT(use(&far, TRUST_CHANGE, "Bearer 0123456789abcdeF", json), ==, 401);
    CHECK_INT(use(&far, TRUST_CHANGE, "Basic 0123456789abcdef", json), ==, 401);
    CHECK_INT(use(&far, TRUST_CHANGE, "Bearer ", json), ==, 401);
    CHECK_INT(use(&far, TRUST_CHANGE, "0123456789abcdef", json), ==, 401);
    far.read_only = true;
    CHECK_INT(use(&far, TRUST_CHANGE, "Bearer 0123456789abcdef", json), ==, 403);
    CHECK(!trust_may_change(&far));
}

TEST(equal, "texts are compared as wholes")
{
    CHECK(trust_equal("", ""));
    CHECK(trust_equal("abc", "abc"));
    CHECK(!trust_equal("abc", ""));
    CHECK(!trust_equal("", "abc"));
    CHECK(!trust_equal("abc", "ab"));
    CHECK(!trust_equal("abc", "abcabc"));
    CHECK(!trust_equal("abcabc", "abc"));
    CHECK(!trust_equal("abc", "abd"));
    CHECK(!trust_equal("abc", "Abc"));
}
