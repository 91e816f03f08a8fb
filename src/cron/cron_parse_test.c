/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "cron/cron.h"
#include "cron/crons.h"

/* A text that is no expression: what is said of it. */
struct bad_text {
    const char *text;
    size_t offset, length;
    const char *message;
    enum weir_status status;
};

static void check_bad(const struct bad_text *row)
{
    struct weir_cron_options options = {0};
    struct weir_error error = {.text = ""};
    weir_cron *cron = NULL;
    options.allocator = *test_allocator();
    options.zone = "UTC";
    options.flags = WEIR_CRON_SECONDS;
    enum weir_status want = row->status == WEIR_OK ? WEIR_EINVAL : row->status;
    enum weir_status status = weir_cron_new(row->text, &options, &cron, &error);
    if (status != want || error.offset != row->offset || error.length != row->length ||
        strcmp(error.text, row->message) != 0) {
        test_fail(__FILE__, __LINE__, "\"%s\": %s, %zu, %zu, %s", row->text,
                  weir_status_name((int)status), error.offset, error.length, error.text);
    }
    CHECK(cron == NULL);
    CHECK_STATUS(weir_cron_new(row->text, &options, &cron, NULL), want);
}

#define BAD(text, offset, length, message)                                                         \
    {                                                                                              \
        text, offset, length, message, WEIR_OK                                                     \
    }

TEST(bad_fields, "the piece that is wrong is named, and where it is")
{
    static const struct bad_text rows[] = {
        BAD("60 * * * *", 0, 2, "minute \"60\" at offset 0: expected 0 to 59"),
        BAD("* 24 * * *", 2, 2, "hour \"24\" at offset 2: expected 0 to 23"),
        BAD("* * 0 * *", 4, 1, "day of the month \"0\" at offset 4: expected 1 to 31"),
        BAD("* * 32 * *", 4, 2, "day of the month \"32\" at offset 4: expected 1 to 31"),
        BAD("* * * 0 *", 6, 1, "month \"0\" at offset 6: expected 1 to 12 or jan to dec"),
        BAD("* * * 13 *", 6, 2, "month \"13\" at offset 6: expected 1 to 12 or jan to dec"),
        BAD("* * * * 8", 8, 1, "day of the week \"8\" at offset 8: expected 0 to 7 or sun to sat"),
        BAD("60 * * * * *", 0, 2, "second \"60\" at offset 0: expected 0 to 59"),
        BAD("100 * * * *", 0, 3, "minute \"100\" at offset 0: expected 0 to 59"),
        BAD("18446744073709551616 * * * *", 0, 20,
            "minute \"18446744073709551616\" at offset 0: expected 0 to 59"),
        BAD("-1 * * * *", 0, 0, "minute missing at offset 0: expected 0 to 59"),
        BAD("+1 * * * *", 0, 2, "minute \"+1\" at offset 0: expected 0 to 59"),
        BAD("1.5 * * * *", 0, 3, "minute \"1.5\" at offset 0: expected 0 to 59"),
        BAD("jan * * * *", 0, 3, "minute \"jan\" at offset 0: expected 0 to 59"),
        BAD("* * * sun *", 6, 3, "month \"sun\" at offset 6: expected 1 to 12 or jan to dec"),
        BAD("* * * january *", 6, 7,
            "month \"january\" at offset 6: expected 1 to 12 or jan to dec"),
        BAD("* * L * *", 4, 1, "day of the month \"L\" at offset 4: expected 1 to 31"),
        BAD("* * ? * *", 4, 1, "day of the month \"?\" at offset 4: expected 1 to 31"),
        BAD("* * * * 1#2", 8, 3,
            "day of the week \"1#2\" at offset 8: expected 0 to 7 or sun to sat"),
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_bad(&rows[i]);
    }
}

TEST(bad_forms, "lists, ranges and steps that are none are named")
{
    static const struct bad_text rows[] = {
        BAD("1,,2 * * * *", 2, 0, "minute missing at offset 2: expected 0 to 59"),
        BAD("1, * * * *", 2, 0, "minute missing at offset 2: expected 0 to 59"),
        BAD(",1 * * * *", 0, 0, "minute missing at offset 0: expected 0 to 59"),
        BAD("1-61 * * * *", 2, 2, "minute \"61\" at offset 2: expected 0 to 59"),
        BAD("1- * * * *", 2, 0, "minute missing at offset 2: expected 0 to 59"),
        BAD("5-1 * * * *", 0, 3,
            "minute \"5-1\" at offset 0: expected a range that ends after its start"),
        BAD("* * * * fri-mon", 8, 7,
            "day of the week \"fri-mon\" at offset 8: expected a range that ends after its start"),
        BAD("*/0 * * * *", 2, 1, "minute \"0\" at offset 2: expected a step of 1 to 59"),
        BAD("*/60 * * * *", 2, 2, "minute \"60\" at offset 2: expected a step of 1 to 59"),
        BAD("*/ * * * *", 2, 0, "minute missing at offset 2: expected a step of 1 to 59"),
        BAD("*/x * * * *", 2, 1, "minute \"x\" at offset 2: expected a step of 1 to 59"),
        BAD("* */24 * * *", 4, 2, "hour \"24\" at offset 4: expected a step of 1 to 23"),
        BAD("*1 * * * *", 0, 2,
            "minute \"*1\" at offset 0: expected a value, a range or a star, and a step"),
        BAD("1-2-3 * * * *", 0, 5,
            "minute \"1-2-3\" at offset 0: expected a value, a range or a star, and a step"),
        BAD("1/2/3 * * * *", 0, 5,
            "minute \"1/2/3\" at offset 0: expected a value, a range or a star, and a step"),
        BAD("*-5 * * * *", 0, 3,
            "minute \"*-5\" at offset 0: expected a value, a range or a star, and a step"),
        BAD("", 0, 0, "minute missing at offset 0: expected 0 to 59"),
        BAD(" \t", 2, 0, "minute missing at offset 2: expected 0 to 59"),
        BAD("* * * *", 7, 0, "day of the week missing at offset 7: expected 0 to 7 or sun to sat"),
        BAD("* * * * * * *", 12, 1, "piece \"*\" at offset 12: expected nothing more"),
        BAD("* * * * *\n", 8, 2,
            "day of the week \"*?\" at offset 8: expected a value, a range or a star, and a step"),
        BAD("\"\x1b[31m\xff * * * *", 0, 7, "minute \"??[31m?\" at offset 0: expected 0 to 59"),
        BAD("00000000000000000000000000000000000000000000 * * * *", 0, 44,
            "minute \"0000000000000000000000000000000000000000...\" at offset 0: expected 0 to 59"),
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_bad(&rows[i]);
    }
}

TEST(bad_dates, "a date that no year has is refused")
{
    static const struct bad_text rows[] = {
        BAD("0 0 30 2 *", 4, 2,
            "day of the month \"30\" at offset 4: expected a day that one of the months has"),
        BAD("0 0 30,31 feb *", 4, 5,
            "day of the month \"30,31\" at offset 4: expected a day that one of the months has"),
        BAD("0 0 31 2,4,6,9,11 *", 4, 2,
            "day of the month \"31\" at offset 4: expected a day that one of the months has"),
        BAD("0 0 31 4 */2", 4, 2,
            "day of the month \"31\" at offset 4: expected a day that one of the months has"),
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_bad(&rows[i]);
    }
    weir_cron_unref(cron_new("0 0 31 4,5 *"));
    weir_cron_unref(cron_new("0 0 29 2 *"));
    weir_cron_unref(cron_new("0 0 31 4 mon")); /* each Monday of April */
}

TEST(bad_names, "nicknames, durations and zones that are none are named")
{
    static const struct bad_text rows[] = {
        BAD("@dayly", 0, 6,
            "name \"@dayly\" at offset 0: expected @hourly, @daily, @weekly, @monthly, @yearly or "
            "@every"),
        BAD("@reboot", 0, 7,
            "name \"@reboot\" at offset 0: expected @hourly, @daily, @weekly, @monthly, @yearly or "
            "@every"),
        BAD("@", 0, 1,
            "name \"@\" at offset 0: expected @hourly, @daily, @weekly, @monthly, @yearly or "
            "@every"),
        BAD("@daily 1", 7, 1, "piece \"1\" at offset 7: expected nothing more"),
        BAD("@every", 6, 0,
            "duration missing at offset 6: expected a duration above 0, such as 90s or 1h30m"),
        BAD("@every 5x", 8, 1,
            "duration \"x\" at offset 8: expected a duration above 0, such as 90s or 1h30m"),
        BAD("@every -5s", 7, 3,
            "duration \"-5s\" at offset 7: expected a duration above 0, such as 90s or 1h30m"),
        {"@every 0", 7, 1,
         "duration \"0\" at offset 7: expected a duration above 0, such as 90s or 1h30m",
         WEIR_ERANGE},
        {"@every 999999999d", 7, 10,
         "duration \"999999999d\" at offset 7: expected a duration above 0, such as 90s or 1h30m",
         WEIR_ERANGE},
        BAD("@every 1h 30m", 10, 3, "piece \"30m\" at offset 10: expected nothing more"),
        BAD("CRON_TZ=", 8, 0,
            "zone missing at offset 8: expected the name of a zone of the tz database"),
        BAD("CRON_TZ= * * * * *", 8, 0,
            "zone missing at offset 8: expected the name of a zone of the tz database"),
        BAD("CRON_TZ=../../etc/passwd @daily", 8, 16,
            "zone \"../../etc/passwd\" at offset 8: expected the name of a zone of the tz "
            "database"),
        BAD("  CRON_TZ=/etc/localtime @daily", 10, 14,
            "zone \"/etc/localtime\" at offset 10: expected the name of a zone of the tz database"),
        {"CRON_TZ=Europe/Nowhere @daily", 8, 14,
         "zone \"Europe/Nowhere\" at offset 8: expected the name of a zone of the tz database",
         WEIR_ENOTFOUND},
        {"CRON_TZ=zone.tab @daily", 8, 8,
         "zone \"zone.tab\" at offset 8: expected a file that can be used, but: damaged data",
         WEIR_ECORRUPT},
        {"CRON_TZ=right/UTC @daily", 8, 9,
         "zone \"right/UTC\" at offset 8: expected a file that can be used, but: not supported",
         WEIR_ENOTSUP},
        BAD("CRON_TZ=UTC", 11, 0, "minute missing at offset 11: expected 0 to 59"),
        BAD("TZ=UTC * * * * *", 0, 6, "second \"TZ=UTC\" at offset 0: expected 0 to 59"),
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_bad(&rows[i]);
    }
}

TEST(bad_options, "a zone out of the options is named too")
{
    struct weir_cron_options options = {0};
    struct weir_error error;
    weir_cron *cron = NULL;
    options.zone = "Europe/Nowhere";
    CHECK_STATUS(weir_cron_new("@daily", &options, &cron, &error), WEIR_ENOTFOUND);
    CHECK_STRING(error.text,
                 "zone \"Europe/Nowhere\": expected the name of a zone of the tz database");
    CHECK_INT(error.offset, ==, 0);
    CHECK_INT(error.length, ==, 0);
    options.zone = "";
    CHECK_STATUS(weir_cron_new("@daily", &options, &cron, &error), WEIR_EINVAL);
    CHECK_STRING(error.text, "zone missing: expected the name of a zone of the tz database");
    options.zone = "Europe/Berlin";
    options.zone_folder = "nowhere";
    CHECK_STATUS(weir_cron_new("@daily", &options, &cron, &error), WEIR_ENOTFOUND);
    CHECK_STATUS(weir_cron_new("CRON_TZ=UTC @daily", &options, &cron, &error), WEIR_OK);
    weir_cron_unref(cron);
}

TEST(long_text, "a text has a thousand bytes at most")
{
    char text[1102];
    memset(text, ' ', sizeof(text));
    memcpy(text, "* * * * *", 9);
    text[1000] = '\0';
    weir_cron_unref(cron_new(text));
    text[1000] = ' ';
    text[1001] = '\0';
    struct weir_error error;
    weir_cron *cron = NULL;
    CHECK_STATUS(weir_cron_new(text, NULL, &cron, &error), WEIR_ETOOBIG);
    CHECK_STRING(error.text, "text \"* * * * *                               ...\" at offset 0: "
                             "expected at most 1,000 bytes");
}

/* Pieces that expressions are made of, and what is near them. */
static const char *const pieces[] = {
    "*",       " ",         ",",           "-",         "/",
    "0",       "1",         "5",           "7",         "12",
    "23",      "31",        "59",          "60",        "99",
    "jan",     "sun",       "SAT",         "\t",        "@daily",
    "@every ", "1h",        "CRON_TZ=",    "UTC",       "Europe/Berlin",
    "../",     "?",         "L",           "#",         "\n",
    "\x80",    "* * * * *", "*/5 * * * *", "0 0 1 1 *", "",
};

static size_t random_text(char *text, size_t room)
{
    size_t size = 0;
    for (uint64_t n = test_random_below(14); n > 0; n--) {
        const char *piece = pieces[test_random_below(sizeof(pieces) / sizeof(pieces[0]))];
        size_t length = strlen(piece);
        if (size + length + 1 < room) {
            memcpy(text + size, piece, length);
            size += length;
        }
    }
    if (size > 0 && test_random_below(3) == 0) {
        text[test_random_below(size)] = (char)(1 + test_random_below(255));
    }
    text[size] = '\0';
    return strlen(text);
}

TEST(random_texts, "any text is an expression or refused with a piece that is in it")
{
    uint64_t taken = 0;
    uint64_t refused = 0;
    for (uint64_t i = 0; i < test_scaled(100000); i++) {
        char text[256];
        size_t size = random_text(text, sizeof(text));
        char *exact = malloc(size + 1); /* for the sanitizers to watch */
        CHECK(exact != NULL);
        memcpy(exact, text, size + 1);
        struct weiri_cron_fields fields;
        struct weir_error error = {.text = ""};
        enum weir_status status =
            weiri_cron_parse(exact, (uint32_t)test_random_below(2), &fields, &error);
        if (status == WEIR_OK) {
            CHECK(fields.every_ns > 0 ||
                  weiri_cron_label(&fields, WEIRI_ZONE_BEGIN) < WEIRI_LABEL_NEVER);
            taken++;
        } else {
            CHECK(status == WEIR_EINVAL || status == WEIR_ERANGE);
            CHECK(error.offset + error.length <= size);
            CHECK(memchr(error.text, '\0', sizeof(error.text)) != NULL && error.text[0] != '\0');
            for (const char *c = error.text; *c != '\0'; c++) {
                CHECK(*c >= ' ' && *c <= '~');
            }
            refused++;
        }
        free(exact);
    }
    printf("%llu taken, %llu refused\n", (unsigned long long)taken, (unsigned long long)refused);
    CHECK(taken > 0 && refused > 0);
}
