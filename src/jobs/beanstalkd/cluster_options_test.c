/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/beanstalkd/cluster_options.h"

#include <stdio.h>

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
    weiri_cluster_options_free(test_allocator(), &options);
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
