/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <sys/resource.h>
#include <unistd.h>

#include "conformance/bad_input.h"
#include "cron/crons.h"

/* Bad input to cron expressions. What is no expression, and what is said of it, has a table of its
 * own: src/cron/cron_parse_test.c. */

static struct weir_cron_options good_options(void)
{
    struct weir_cron_options options = {0};
    options.allocator = *test_allocator();
    return options;
}

/* Nothing may come out but the status; what does come out must work. */
static enum weir_status make(const char *text, const struct weir_cron_options *options)
{
    weir_cron *untouched = (weir_cron *)&row_count;
    weir_cron *cron = untouched;
    enum weir_status status = spoken(weir_cron_new(text, options, &cron, &said));
    if (status != WEIR_OK) {
        CHECK(cron == untouched);
    } else {
        int64_t next_ns;
        CHECK_STATUS(weir_cron_next(cron, 0, &next_ns), WEIR_OK);
        weir_cron_unref(cron);
    }
    return status;
}

static enum weir_status make_text(const char *text)
{
    struct weir_cron_options options = good_options();
    return make(text, &options);
}

ROW(weir_cron_new, text, null, WEIR_EINVAL)
{
    return make_text(NULL);
}

ROW(weir_cron_new, text, malformed, WEIR_EINVAL)
{
    CHECK_STATUS(make_text("* * 30 2 *"), WEIR_EINVAL);
    CHECK_STATUS(make_text("CRON_TZ=../UTC * * * * *"), WEIR_EINVAL);
    return make_text("");
}

ROW(weir_cron_new, text, out_of_range, WEIR_ERANGE)
{
    CHECK_STATUS(make_text("@every 0s"), WEIR_ERANGE);
    return make_text("@every 106752d");
}

ROW(weir_cron_new, text, too_long, WEIR_ETOOBIG)
{
    char text[1002];
    memset(text, '*', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    return make_text(text);
}

ROW(weir_cron_new, text, no_such_zone, WEIR_ENOTFOUND)
{
    return make_text("CRON_TZ=Nowhere/Nowhere @daily");
}

ROW(weir_cron_new, text, leap_seconds, WEIR_ENOTSUP)
{
    return make_text("CRON_TZ=right/Europe/Berlin @daily");
}

ROW(weir_cron_new, options, null, WEIR_OK)
{
    return make("* * * * *", NULL);
}

ROW(weir_cron_new, options, allocator, WEIR_EINVAL)
{
    for (unsigned members = 1; members < 7; members++) {
        struct weir_cron_options options = good_options();
        options.allocator.alloc = (members & 1) != 0 ? test_allocator()->alloc : NULL;
        options.allocator.resize = (members & 2) != 0 ? test_allocator()->resize : NULL;
        options.allocator.release = (members & 4) != 0 ? test_allocator()->release : NULL;
        CHECK_STATUS(make("* * * * *", &options), WEIR_EINVAL);
    }
    return WEIR_EINVAL;
}

ROW(weir_cron_new, options, zone, WEIR_EINVAL)
{
    struct weir_cron_options options = good_options();
    options.zone = "Nowhere/Nowhere";
    CHECK_STATUS(make("* * * * *", &options), WEIR_ENOTFOUND);
    CHECK_STATUS(make("CRON_TZ=UTC * * * * *", &options), WEIR_OK);
    options.zone = "/etc/localtime";
    return make("* * * * *", &options);
}

ROW(weir_cron_new, options, zone_folder, WEIR_ENOTFOUND)
{
    struct weir_cron_options options = good_options();
    options.zone = "Europe/Berlin";
    options.zone_folder = "";
    CHECK_STATUS(make("* * * * *", &options), WEIR_ENOTFOUND);
    options.zone_folder = "nowhere";
    return make("* * * * *", &options);
}

/* A folder with a zone that is a file of this name. */
static enum weir_status make_in_folder(const char *zone)
{
    struct weir_cron_options options = good_options();
    options.zone = zone;
    options.zone_folder = ".";
    return make("* * * * *", &options);
}

ROW(weir_cron_new, options, zone_corrupt, WEIR_ECORRUPT)
{
    FILE *file = fopen("Zone", "wb");
    CHECK(file != NULL && fputs("TZif", file) >= 0 && fclose(file) == 0);
    enum weir_status status = make_in_folder("Zone");
    CHECK(unlink("Zone") == 0);
    return status;
}

ROW(weir_cron_new, options, zone_closed, WEIR_EACCESS)
{
    CHECK(symlink("Zone", "Zone") == 0);
    enum weir_status status = make_in_folder("Zone");
    CHECK(unlink("Zone") == 0);
    return status;
}

ROW(weir_cron_new, options, flags, WEIR_EINVAL)
{
    struct weir_cron_options options = good_options();
    options.flags = WEIR_CRON_SECONDS;
    CHECK_STATUS(make("* * * * * *", &options), WEIR_OK);
    options.flags = 2;
    return make("* * * * *", &options);
}

ROW(weir_cron_new, ret_cron, null, WEIR_EINVAL)
{
    struct weir_cron_options options = good_options();
    return spoken(weir_cron_new("* * * * *", &options, NULL, &said));
}

ROW(weir_cron_new, ret_error, null, WEIR_OK)
{
    struct weir_cron_options options = good_options();
    weir_cron *cron = NULL;
    CHECK_STATUS(weir_cron_new("", &options, &cron, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_cron_new("* * * * *", &options, &cron, NULL), WEIR_OK);
    weir_cron_unref(cron);
    return WEIR_OK;
}

ROW(weir_cron_new, memory, none, WEIR_ENOMEM)
{
    struct weir_cron_options options = good_options();
    test_fail_allocation(1 + test_random_below(3), true);
    return make("CRON_TZ=Europe/Berlin * * * * *", &options);
}

ROW(weir_cron_new, descriptors, none, WEIR_EIO)
{
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
    enum weir_status status = make_text("CRON_TZ=Europe/Berlin * * * * *");
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    return status;
}

ROW(weir_cron_unref, cron, null, WEIR_OK)
{
    weir_cron_unref(NULL);
    return WEIR_OK;
}

ROW(weir_cron_next, cron, null, WEIR_EINVAL)
{
    int64_t next_ns = UNTOUCHED;
    enum weir_status status = weir_cron_next(NULL, 0, &next_ns);
    CHECK_INT(next_ns, ==, UNTOUCHED);
    return status;
}

/* The call with an expression that fires each day. */
static enum weir_status next_of_daily(int64_t after_ns, int64_t *ret_ns)
{
    weir_cron *cron = cron_new("@daily");
    enum weir_status status = weir_cron_next(cron, after_ns, ret_ns);
    weir_cron_unref(cron);
    return status;
}

ROW(weir_cron_next, after_ns, least, WEIR_OK)
{
    int64_t next_ns = UNTOUCHED;
    enum weir_status status = next_of_daily(INT64_MIN, &next_ns);
    CHECK_INT(next_ns, ==, cron_time("1677-09-22 00:00"));
    return status;
}

ROW(weir_cron_next, after_ns, most, WEIR_ENOTFOUND)
{
    int64_t next_ns = UNTOUCHED;
    CHECK_STATUS(next_of_daily(cron_time("2262-04-11 00:00"), &next_ns), WEIR_ENOTFOUND);
    enum weir_status status = next_of_daily(INT64_MAX, &next_ns);
    CHECK_INT(next_ns, ==, UNTOUCHED);
    return status;
}

ROW(weir_cron_next, ret_ns, null, WEIR_EINVAL)
{
    return next_of_daily(0, NULL);
}

/* The call with an expression in UTC. */
static enum weir_status check_format(int64_t time_ns, const char *expected)
{
    weir_cron *cron = cron_new("CRON_TZ=UTC @daily");
    char text[64];
    CHECK_INT(weir_cron_format(cron, time_ns, text, sizeof(text)), ==, strlen(expected));
    CHECK_STRING(text, expected);
    CHECK_INT(weir_cron_format(cron, time_ns, NULL, 0), ==, strlen(expected));
    CHECK_INT(weir_cron_format(cron, time_ns, NULL, 64), ==, strlen(expected));
    CHECK_INT(weir_cron_format(cron, time_ns, text, 4), ==, strlen(expected));
    CHECK_INT(strlen(text), ==, 3);
    text[0] = '?';
    CHECK_INT(weir_cron_format(cron, time_ns, text, 0), ==, strlen(expected));
    CHECK_INT(text[0], ==, '?');
    weir_cron_unref(cron);
    return WEIR_OK;
}

ROW(weir_cron_format, cron, null, WEIR_OK)
{
    char text[] = "as before";
    CHECK_INT(weir_cron_format(NULL, 0, text, sizeof(text)), ==, 0);
    CHECK_STRING(text, "");
    return WEIR_OK;
}

ROW(weir_cron_format, time_ns, least, WEIR_OK)
{
    return check_format(INT64_MIN, "Tue 1677-09-21 00:12:43 +00:00");
}

ROW(weir_cron_format, time_ns, most, WEIR_OK)
{
    return check_format(INT64_MAX, "Fri 2262-04-11 23:47:16 +00:00");
}

ROW(weir_cron_format, buffer, null, WEIR_OK)
{
    return check_format(0, "Thu 1970-01-01 00:00:00 +00:00");
}

ROW(weir_cron_format, size, zero, WEIR_OK)
{
    return check_format(0, "Thu 1970-01-01 00:00:00 +00:00");
}
