/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/beanstalkd/cluster_options.h"

#include <stdio.h>

#include "base/alloc.h"
#include "support/harness.h"

TEST(fills_in_defaults, "every part of a URL but the nodes has a default")
{
    struct weiri_cluster_options options;
    struct weir_error error;
    CHECK_STATUS(weiri_cluster_url_parse(test_allocator(), "//A.example:1,[::1],%2Frun%2Fb.sock",
                                         &options, &error),
                 WEIR_OK);
    CHECK_INT(options.replicas, ==, 3);
    CHECK_INT(options.min_written, ==, 2);
    CHECK_INT(options.time_limit_ns, ==, WEIR_SECONDS(5));
    CHECK_INT(options.late_ns, ==, WEIR_FOREVER);
    CHECK_INT(options.lease_ns, ==, WEIR_SECONDS(5));
    CHECK_INT(options.remember_ns, ==, WEIR_SECONDS(86400));
    CHECK(options.claims == NULL && !options.runs_unclaimed);
    weiri_release(test_allocator(), options.block, options.block_size);
}

TEST_OOM(reads_a_whole_url, "nodes and parts of a URL are read")
{
    struct weiri_cluster_options url;
    struct weir_error error;
    enum weir_status status = weiri_cluster_url_parse(
        test_allocator(),
        "//A.example:1,[::1],%2Frun%2Fb.sock/"
        "?replicas=2&min_written=1&time_limit=250ms&late=0&lease=30s&remember=2h&"
        "claims=redis://u:p%40ss@h:6379/2&claims_away=run&"
        "hmac_key_file=/etc/weir/key",
        &url, &error);
    if (CHECK_OR_OOM(status)) {
        return;
    }
    CHECK_INT(url.node_count, ==, 3);
    CHECK_STRING(url.nodes[0].text, "a.example:1");
    CHECK_STRING(url.nodes[0].host, "a.example");
    CHECK_STRING(url.nodes[0].port, "1");
    CHECK_STRING(url.nodes[1].text, "[::1]:11300");
    CHECK_STRING(url.nodes[1].host, "::1");
    CHECK_STRING(url.nodes[2].text, "%2Frun%2Fb.sock");
    CHECK_STRING(url.nodes[2].path, "/run/b.sock");
    CHECK(url.nodes[2].host == NULL);
    CHECK_INT(url.replicas, ==, 2);
    CHECK_INT(url.min_written, ==, 1);
    CHECK_INT(url.time_limit_ns, ==, WEIR_MS(250));
    CHECK_INT(url.late_ns, ==, WEIR_FOREVER);
    CHECK_INT(url.lease_ns, ==, WEIR_SECONDS(30));
    CHECK_INT(url.remember_ns, ==, WEIR_SECONDS(7200));
    CHECK_STRING(url.claims, "redis://u:p@ss@h:6379/2");
    CHECK(url.runs_unclaimed);
    CHECK_STRING(url.hmac_key_file, "/etc/weir/key");
    weiri_release(test_allocator(), url.block, url.block_size);
}

static void check_defaults(const char *location, size_t replicas, size_t min_written)
{
    struct weiri_cluster_options url;
    struct weir_error error;
    CHECK_STATUS(weiri_cluster_url_parse(test_allocator(), location, &url, &error), WEIR_OK);
    CHECK_INT(url.replicas, ==, replicas);
    CHECK_INT(url.min_written, ==, min_written);
    CHECK(url.claims == NULL && !url.runs_unclaimed && url.hmac_key_file == NULL);
    weiri_release(test_allocator(), url.block, url.block_size);
}

TEST(has_defaults, "three copies of which two must be written; all nodes where there are fewer")
{
    check_defaults("//a,b,c,d", 3, 2);
    check_defaults("//a,b,c/", 3, 2);
    check_defaults("//a,b/?", 2, 2);
    check_defaults("//a,b?min_written=1", 2, 1);
    check_defaults("//a?replicas=1", 1, 1);
    check_defaults("//a,a/?replicas=1", 1, 1);
}

TEST(names_the_bad_piece, "a malformed URL is refused with the piece and its offset")
{
    static const struct {
        const char *location;
        const char *words; /* in the error */
    } rows[] = {
        {"", "offset 10"},
        {"/a,b", "\"/a,b\" at offset 10"},
        {"//", "\"\" at offset 12"},
        {"//a", "names 1 node"},
        {"//a,", "\"\" at offset 14"},
        {"//a,,b", "\"\" at offset 14"},
        {"//a b,c", "\"a b\" at offset 12"},
        {"//a:,c", "\"\" at offset 14"},
        {"//a:0,c", "\"0\" at offset 14"},
        {"//a:65536,c", "\"65536\" at offset 14"},
        {"//a:1x,c", "\"1x\" at offset 14"},
        {"//a:99999999999,c", "offset 14"},
        {"//::1,c", "offset 12"},
        {"//[::1,c", "offset 12"},
        {"//[::1]x,c", "offset 12"},
        {"//[],c", "offset 12"},
        {"//u@h,c", "\"u@h\" at offset 12"},
        {"//a,a", "names a:11300 twice"},
        {"//a,A:11300", "names a:11300 twice"},
        {"//a,b/path", "\"path\" at offset 16"},
        {"//a?claims=redis://u:secret@h", "names 1 node"},
        {"//a,b?claim=redis://u:secret@h", "\"claim\" at offset 16"},
        {"//a,b?x", "\"x\" at offset 16"},
        {"//a,b?x=1", "\"x\" at offset 16"},
        {"//a,b?replicas=0", "offset 16"},
        {"//a,b?replicas=-1", "offset 16"},
        {"//a,b?replicas=3", "there are 2 nodes"},
        {"//a,b?replicas=9999999999999999999999", "offset 16"},
        {"//a,b?min_written=3", "there are 2 replicas"},
        {"//a,b?min_written=", "offset 16"},
        {"//a,b?time_limit=0", "offset 16"},
        {"//a,b?time_limit=5", "offset 16"},
        {"//a,b?late=x", "offset 16"},
        {"//a,b?remember=0", "offset 16"},
        {"//a,b?late=1s&claims_away=maybe", "offset 24"},
        {"//a,b?claims=%", "\"%\" at offset 23"},
        {"//a,b?claims=%0", "\"%0\" at offset 23"},
        {"//a,b?claims=%00x", "offset 23"},
        {"//a,b?claims=%zz", "\"%zz\" at offset 23"},
        {"//%2Fa%2,b", "offset 16"},
        {"//a%2Fb,c", "offset 12"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_cluster_options url;
        struct weir_error error;
        enum weir_status status =
            weiri_cluster_url_parse(test_allocator(), rows[i].location, &url, &error);
        CHECK(strstr(error.text, "secret") == NULL);
        if (status != WEIR_EINVAL || strstr(error.text, rows[i].words) == NULL) {
            test_fail(__FILE__, __LINE__, "%s: %s: %s", rows[i].location,
                      weir_status_name((int)status), status == WEIR_OK ? "" : error.text);
        }
    }
}

TEST(bounds_remember, "less than two minutes is too short for what is remembered")
{
    static const char *const rows[] = {"//a,b?remember=100us", "//a,b?remember=119s"};
    struct weiri_cluster_options url;
    struct weir_error error;
    for (size_t i = 0; i < 2; i++) {
        CHECK_STATUS(weiri_cluster_url_parse(test_allocator(), rows[i], &url, &error), WEIR_ERANGE);
        CHECK(strstr(error.text, "expected 2m at least") != NULL);
    }
    CHECK_STATUS(weiri_cluster_url_parse(test_allocator(), "//a,b?remember=2m", &url, &error),
                 WEIR_OK);
    weiri_release(test_allocator(), url.block, url.block_size);
}

static struct weir_broker_options broker_options(void)
{
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    return options;
}

/* Opens what is to be refused, and checks the words. */
static void check_refused(const char *url, enum weir_status wanted, const char *words)
{
    weir_broker *broker = NULL;
    struct weir_error error;
    struct weir_broker_options options = broker_options();
    enum weir_status status = weir_broker_open(url, &options, &broker, &error);
    CHECK(broker == NULL);
    CHECK(strstr(error.text, "secret") == NULL);
    if (status != wanted || strstr(error.text, words) == NULL) {
        test_fail(__FILE__, __LINE__, "%.80s: %s: %s", url, weir_status_name((int)status),
                  error.text);
    }
}

TEST(refuses_bad_options, "each part that is wrong is refused, and the message says which")
{
    static const struct {
        const char *words; /* in the error */
        enum weir_status status;
        const char *rest; /* of the URL */
    } rows[] = {
        {"\"\" at offset 12", WEIR_EINVAL, ""},
        {"\"\" at offset 14", WEIR_EINVAL, "a,"},
        {"names 1 node", WEIR_EINVAL, "a"},
        {"names a:11300 twice", WEIR_EINVAL, "a,A:11300"},
        {"\"b c\"", WEIR_EINVAL, "a,b c"},
        {"replicas=3", WEIR_EINVAL, "a,b?replicas=3"},
        {"replicas=4294967295", WEIR_EINVAL, "a,b?replicas=4294967295"},
        {"min_written=3", WEIR_EINVAL, "a,b?min_written=3"},
        {"time_limit=-1s", WEIR_EINVAL, "a,b?time_limit=-1s"},
        {"late=-1h", WEIR_EINVAL, "a,b?late=-1h"},
        {"lease=-1s", WEIR_EINVAL, "a,b?lease=-1s"},
        {"remember=-1s", WEIR_EINVAL, "a,b?remember=-1s"},
        {"remember=0ms: expected 2m", WEIR_ERANGE, "a,b?remember=1ns"},
        {"remember=119999ms", WEIR_ERANGE, "a,b?remember=119999999999ns"},
        {"claims_away=2\" at offset 23 of the broker URL: expected claims_away=wait or",
         WEIR_EINVAL, "a,b?late=0&claims_away=2"},
        {"claims", WEIR_EINVAL, "a,b?claims=http://u:secret@h"},
        {"claims", WEIR_EINVAL, "a,b?claims="},
    };
    char url[256] = "beanstalk://";
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)snprintf(url, sizeof(url), "beanstalk://%s", rows[i].rest);
        check_refused(url, rows[i].status, rows[i].words);
    }
    char *end = url + strlen("beanstalk://");
    for (size_t i = 0; i < 65; i++) {
        end += sprintf(end, "a,");
    }
    (void)strcpy(end - 1, "?replicas=1");
    check_refused(url, WEIR_EINVAL, "at most 64 nodes");
}

TEST(refuses_null, "no URL, and no place for the result, are refused; a message may be unwanted")
{
    weir_broker *broker = NULL;
    struct weir_error error;
    CHECK_STATUS(weir_broker_open(NULL, NULL, &broker, &error), WEIR_EINVAL);
    CHECK(strstr(error.text, "url is NULL") != NULL);
    CHECK_STATUS(weir_broker_open("beanstalk://a,b", NULL, NULL, &error), WEIR_EINVAL);
    CHECK(strstr(error.text, "ret_broker is NULL") != NULL);
    CHECK_STATUS(weir_broker_open(NULL, NULL, NULL, NULL), WEIR_EINVAL);
}

TEST_OOM(opens_without_memory, "opening survives every allocation that fails")
{
    weir_broker *broker = NULL;
    struct weir_error error;
    struct weir_broker_options options = broker_options();
    enum weir_status status =
        weir_broker_open("beanstalk://127.0.0.1:1,127.0.0.1:2?claims=redis://127.0.0.1:1", &options,
                         &broker, &error);
    weir_broker_close(broker);
    CHECK(!CHECK_OR_OOM(status) || status != WEIR_OK);
}
