/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/setup.h"

#include <stdlib.h>
#include <string.h>

#include "support/harness.h"

/* What files say, and what of them changes. */

static void write_setup(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK_INT(fclose(file), ==, 0);
}

static struct setup read_setup(const char *path, const char *text)
{
    struct setup setup;
    write_setup(path, text);
    CHECK_INT(setup_read(path, &setup), ==, 0);
    return setup;
}

static void check_setting(const struct section *section, const char *name, unsigned line,
                          size_t count, const char *text)
{
    CHECK(section != NULL);
    const struct setting *setting = section_find(section, name);
    CHECK(setting != NULL);
    CHECK_INT(setting->line, ==, line);
    CHECK_INT(setting->count, ==, count);
    CHECK_STRING(setting->texts[count - 1], text);
}

TEST(mark, "a byte order mark before the text is no setting")
{
    struct setup setup = read_setup("a.conf", "\xef\xbb\xbf"
                                              "broker = sqlite:a.db\n");
    check_setting(setup.sections[0], "broker", 1, 1, "sqlite:a.db");
    setup_free(&setup);
}

TEST(reads, "settings have their texts and lines, whatever comments and quotes stand around them")
{
    struct setup setup =
        read_setup("a.conf", "# a comment\n"
                             "broker = \"sqlite:a b.db\" // and another\n"
                             "/* a third,\n"
                             "   of two lines */ lock-wait = 3s\n"
                             "consumer \"mail\" { # \"quoted\n"
                             "    tubes = {\"mail=3\",\n"
                             "             'news'}\n"
                             "    program = {\"sh\", \"-c\", \"echo '#' \\\"//\\\" \\\\\"}\n"
                             "    rate = 100/m # slash\n"
                             "    verbose = yes\n"
                             "}\n"
                             "http { listen = \"unix:/tmp/x#y\" }\n");
    check_setting(setup.sections[0], "broker", 2, 1, "sqlite:a b.db");
    check_setting(setup.sections[0], "lock-wait", 4, 1, "3s");
    const struct section *mail = setup_find(&setup, SECTION_CONSUMER, "mail");
    check_setting(mail, "tubes", 7, 2, "news");
    check_setting(mail, "program", 8, 3, "echo '#' \"//\" \\");
    check_setting(mail, "rate", 9, 1, "100/m");
    check_setting(mail, "verbose", 10, 1, "true");
    CHECK_INT(mail->line, ==, 11);
    CHECK(section_find(mail, "jobs") == NULL);
    CHECK(setup_find(&setup, SECTION_CONSUMER, "news") == NULL);
    check_setting(setup_find(&setup, SECTION_HTTP, NULL), "listen", 12, 1, "unix:/tmp/x#y");
    CHECK_INT(setup.count, ==, 3);
    setup_free(&setup);
}

TEST(changes, "a section that says the same is the same object afterwards, and no other is")
{
    static const char first[] = "consumer a { program = {x, y}\n jobs = 2 }\n"
                                "consumer b { program = x }\n"
                                "consumer c { program = x }\n"
                                "consumer d { program = x }\n"
                                "schedule a { tube = t\n every = 1s }\n";
    static const char second[] = "# moved, and in another order\n\n"
                                 "schedule a { every = 1s\n tube = \"t\" }\n"
                                 "consumer b { program = {x, x} }\n"
                                 "consumer c { program = x\n jobs = 1 }\n"
                                 "consumer e { program = x }\n"
                                 "consumer a { jobs = 2\n program = {\"x\", 'y'} }\n";
    struct setup before = read_setup("a.conf", first);
    struct setup next = read_setup("b.conf", second);
    const struct section *consumer = setup_find(&before, SECTION_CONSUMER, "a");
    const struct section *schedule = setup_find(&before, SECTION_SCHEDULE, "a");
    setup_keep(&before, &next);
    CHECK(setup_find(&next, SECTION_CONSUMER, "a") == consumer);
    CHECK(setup_find(&next, SECTION_SCHEDULE, "a") == schedule);
    CHECK(setup_has(&next, consumer) && setup_has(&before, consumer));
    for (const char *title = "b"; title != NULL; title = *title == 'b' ? "c" : NULL) {
        CHECK(!section_equal(setup_find(&before, SECTION_CONSUMER, title),
                             setup_find(&next, SECTION_CONSUMER, title)));
    }
    CHECK(setup_find(&next, SECTION_CONSUMER, "d") == NULL);
    CHECK(setup_find(&before, SECTION_CONSUMER, "e") == NULL);
    CHECK_INT(before.count, ==, 6);
    CHECK_INT(next.count, ==, 6);
    setup_free(&before);
    setup_free(&next);
}

TEST(shows, "what is shown can be read again, and says the same")
{
    struct setup setup =
        read_setup("a.conf", "broker = \"a\\\"b\\\\c\\nd $ e\"\n"
                             "consumer \"x y\" { program = {sh, \"-c\", \"#\\t//\"}\n"
                             "verbose = false }\n"
                             "http { host = {a, b}\n read-only = true }\n");
    FILE *file = fopen("b.conf", "we");
    CHECK(file != NULL);
    CHECK(setup_print(&setup, true, file));
    CHECK_INT(fclose(file), ==, 0);
    struct setup again;
    CHECK_INT(setup_read("b.conf", &again), ==, 0);
    CHECK_INT(again.count, ==, setup.count);
    for (size_t i = 0; i < setup.count; i++) {
        CHECK(section_equal(setup.sections[i], again.sections[i]));
    }
    setup_free(&setup);
    setup_free(&again);
}
