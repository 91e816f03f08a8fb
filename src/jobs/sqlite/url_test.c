/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/place.h"

#include <limits.h>
#include <stdio.h>

#include "support/harness.h"

TEST(paths, "everything after sqlite: is the path")
{
    static const char *const urls[] = {"sqlite:/var/lib/jobs.db",
                                       "sqlite:jobs.db",
                                       "sqlite:../a b/%41&c=d.db",
                                       "sqlite:a:b",
                                       "sqlite:-",
                                       "sqlite:caf\xc3\xa9"};
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        struct weiri_broker_config config = {.flags = 0};
        char path[PATH_MAX];
        CHECK_STATUS(weiri_url_parse(urls[i] + 7, path, &config, NULL), WEIR_OK);
        CHECK_STRING(path, urls[i] + 7);
        CHECK_INT(config.flags, ==, 0);
    }
}

TEST(durability, "options after the path say the durability, the last of them; the broker's "
                 "own comes first")
{
    static const struct {
        const char *location;
        uint32_t durability;
        uint32_t given; /* by the broker's options */
    } rows[] = {{"a.db", WEIR_DURABILITY_FULL, 0},
                {"a.db?durability=full", WEIR_DURABILITY_FULL, 0},
                {"a.db?durability=memory", WEIR_DURABILITY_MEMORY, 0},
                {"a.db?durability=full&durability=normal", WEIR_DURABILITY_NORMAL, 0},
                {"a.db?durability=full", WEIR_DURABILITY_MEMORY, WEIR_DURABILITY_MEMORY}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_broker_config config = {.durability = rows[i].given};
        char path[PATH_MAX];
        CHECK_STATUS(weiri_url_parse(rows[i].location, path, &config, NULL), WEIR_OK);
        CHECK_STRING(path, "a.db");
        CHECK_INT(config.durability, ==, rows[i].durability);
    }
}

TEST(refused, "anything else is refused, naming the piece and where it stands")
{
    static const struct {
        const char *url;
        const char *says;
    } rows[] = {
        {NULL, "url is NULL"},
        {"", "has no scheme"},
        {"jobs.db", "\"jobs.db\" has no scheme: expected sqlite:PATH"},
        {"/var/lib/jobs.db", "has no scheme"},
        {":jobs.db", "unknown scheme \"\" at offset 0"},
        {"beanstalks://localhost", "unknown scheme \"beanstalks\" at offset 0"},
        {"SQLITE:jobs.db", "unknown scheme \"SQLITE\""},
        {"sqlite3:jobs.db", "unknown scheme \"sqlite3\""},
        {" sqlite:jobs.db", "unknown scheme \" sqlite\""},
        {"sqlite", "has no scheme"},
        {"sqlite:", "no path at offset 7"},
        {"sqlite::memory:", "\":\" at offset 7"},
        {"sqlite://jobs.db", "\"//\" at offset 7"},
        {"sqlite:///jobs.db", "\"//\" at offset 7"},
        {"sqlite:jobs.db?mode=ro", "unknown option \"mode=ro\" at offset 15"},
        {"sqlite:jobs.db?", "unknown option \"\" at offset 15"},
        {"sqlite:jobs.db?durability=normal&", "unknown option \"\" at offset 33"},
        {"sqlite:jobs.db?durability=norma", "unknown option \"durability=norma\" at offset 15"},
        {"sqlite:?durability=normal", "no path at offset 7"},
        {"sqlite:x.lock?durability=full", "\".lock\" at offset 8"},
        {"sqlite:jobs#1", "0x23 at offset 11"},
        {"sqlite:x.lock", "\".lock\" at offset 8"},
        {"sqlite:x-wal", "\"-wal\" at offset 8"},
        {"sqlite:x-shm", "\"-shm\" at offset 8"},
        {"sqlite:x-journal", "\"-journal\" at offset 8"},
        {"sqlite:x.weir-new", "\".weir-new\" at offset 8"},
        {"sqlite:a\nb", "0x0a at offset 8 of broker URL \"sqlite:a?b\""},
        {"sqlite:a\x1b[2J", "0x1b at offset 8"},
        {"sqlite:a\x7f", "0x7f at offset 8"},
        {"sqlite:folder/", "\"/\" at offset 13"},
        {"sqlite:/", "\"/\" at offset 7"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weir_error error = {0};
        weir_broker *broker = NULL;
        CHECK_STATUS(weir_broker_open(rows[i].url, NULL, &broker, &error), WEIR_EINVAL);
        if (strstr(error.text, rows[i].says) == NULL) {
            test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, rows[i].says);
        }
        for (const char *c = error.text; *c != '\0'; c++) {
            CHECK((unsigned char)*c >= ' ' && *c != '\x7f');
        }
        CHECK_STATUS(weir_broker_open(rows[i].url, NULL, &broker, NULL), WEIR_EINVAL);
        CHECK(broker == NULL);
    }
}

TEST(long_paths, "a path that the system could not take is refused with its length")
{
    static char text[PATH_MAX + 93];
    char path[PATH_MAX];
    struct weiri_broker_config config = {.flags = 0};
    memset(text, 'a', sizeof(text) - 1);
    struct weir_error error = {0};
    CHECK_STATUS(weiri_url_parse(text, path, &config, &error), WEIR_EINVAL);
    CHECK(strstr(error.text, "has 4188 bytes: at most 4095") != NULL);
    text[PATH_MAX - 1] = '\0';
    CHECK_STATUS(weiri_url_parse(text, path, &config, &error), WEIR_OK);
    CHECK_STRING(path, text);
}
