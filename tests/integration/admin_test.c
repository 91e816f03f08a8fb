/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <signal.h>

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* What operators do with jobs: at a time, taken back, run again, set aside, deleted, listed. */

/* Puts a job and returns its id, to be freed. */
static char *put(const char *const words[])
{
    struct ended ended = program_expect(__FILE__, __LINE__, 0, words);
    ended.out[strcspn(ended.out, "\n")] = '\0';
    free(ended.err);
    return ended.out;
}

/* Buries so many jobs of a tube. */
static void fill_buried(const char *tube, int count)
{
    for (int i = 0; i < count; i++) {
        WEIR(0, "put", tube, "fails");
    }
    WEIR(1, "work", "-e", "--attempts", "1", tube, "--", "false");
    CHECK_INT(program_count(tube, "buried"), ==, count);
}

TEST(at_a_time, "put --at puts jobs for a time, from operand, input and lines, and says so in JSON")
{
    program_init();
    WEIR(0, "put", "--at", "2030-01-31T08:00:00Z", "t", "one");
    struct ended ended =
        program_run_with("two\nthree\n", 10, WORDS("put", "-l", "-q", "--at", "@1896076801", "t"));
    CHECK_INT(ended.code, ==, 0);
    CHECK_STRING(ended.out, "");
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "put", "--json", "--at", "2030-01-31T10:00:02.5+02:00", "t", "four");
    json_t *object = json_loads(ended.out, 0, NULL);
    CHECK_STRING(json_string_value(json_object_get(object, "id")), "4");
    CHECK_STRING(json_string_value(json_object_get(object, "run_at")),
                 "2030-01-31T08:00:02.500000000Z");
    json_decref(object);
    ended_free(&ended);
    CHECK_INT(program_count("t", "delayed"), ==, 4);
    ended = WEIR_EXPECT(0, "ls", "--next", "--json", "t");
    CHECK(strstr(ended.out, "\"run_at\":\"2030-01-31T08:00:00.000000000Z\"") != NULL);
    CHECK(strstr(ended.out, "\"run_at\":\"2030-01-31T08:00:01.000000000Z\"") != NULL);
    ended_free(&ended);
}

TEST(at_past, "a time that has passed is refused, or means at once where that is allowed")
{
    program_init();
    WEIR(64, "put", "--at", "@1000000000", "t", "x");
    CHECK_INT(program_count("t", "put"), ==, 0);
    WEIR(0, "put", "--past-ok", "--at", "@1000000000", "t", "x");
    WEIR(0, "put", "--past-ok", "--at", "@0", "t", "x");
    CHECK_INT(program_count("t", "ready"), ==, 2);
}

TEST(rm, "rm deletes jobs that do not run, and tells what became of each")
{
    program_init();
    char *delayed = put(WORDS("put", "--delay", "1h", "t", "x"));
    char *ready = put(WORDS("put", "t", "x"));
    char *kept = put(WORDS("put", "t", "x"));
    struct ended ended = WEIR_EXPECT(66, "rm", delayed, "999", ready);
    char expected[128];
    (void)snprintf(expected, sizeof(expected), "removed %s\nremoved %s\n", delayed, ready);
    CHECK_STRING(ended.out, expected);
    CHECK_STRING(ended.err, "weir rm: \"999\": no such job; it is done, was removed or never "
                            "was\n");
    ended_free(&ended);
    WEIR(0, "rm", ready); /* what is kept of it */
    ended = WEIR_EXPECT(66, "rm", "--json", kept, ready);
    (void)snprintf(expected, sizeof(expected),
                   "{\"id\":\"%s\",\"result\":\"removed\"}\n"
                   "{\"id\":\"%s\",\"result\":\"not found\"}\n",
                   kept, ready);
    CHECK_STRING(ended.out, expected);
    ended_free(&ended);
    CHECK_INT(program_count("t", "ready"), ==, 0);
    CHECK_INT(program_count("t", "delayed"), ==, 0);
    free(delayed);
    free(ready);
    free(kept);
}

TEST(rm_running, "a job that runs is left alone, and the exit status is 75")
{
    program_init();
    CHECK_INT(mkfifo("go", 0600), ==, 0);
    char *id = put(WORDS("put", "t", "x"));
    struct running worker =
        program_start("", 0, WORDS("work", "-e", "t", "--", "sh", "-c", "read -r line <go"));
    WAIT_UNTIL(program_count("t", "reserved") == 1);
    struct ended ended = WEIR_EXPECT(75, "rm", id);
    CHECK_STRING(ended.out, "");
    CHECK(strstr(ended.err, "has it; expected a job that is delayed, ready, buried") != NULL);
    ended_free(&ended);
    int go = open("go", O_WRONLY | O_CLOEXEC);
    CHECK_INT(write(go, "\n", 1), ==, 1);
    (void)close(go);
    ended = program_wait(&worker);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    free(id);
}

TEST(kick_tube, "kick runs buried jobs of a tube again: so many, or all that are there")
{
    program_init();
    fill_buried("t", 5);
    struct ended ended = WEIR_EXPECT(0, "kick", "--limit", "2", "t");
    CHECK_STRING(ended.out, "kicked 2 jobs\n");
    ended_free(&ended);
    CHECK_INT(program_count("t", "ready"), ==, 2);
    ended = WEIR_EXPECT(0, "kick", "--json", "t");
    CHECK_STRING(ended.out, "{\"tube\":\"t\",\"kicked\":3}\n");
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "kick", "t");
    CHECK_STRING(ended.out, "kicked 0 jobs\n");
    ended_free(&ended);
    WEIR(0, "work", "-e", "t", "--", "true");
    CHECK_INT(program_count("t", "done"), ==, 5);
}

TEST(kick_of_what, "a number is an id, also where a tube has that name, which --tube names")
{
    program_init();
    fill_buried("7", 3);
    struct ended ended = WEIR_EXPECT(0, "kick", "2");
    CHECK_STRING(ended.out, "kicked 2\n");
    ended_free(&ended);
    WEIR(66, "kick", "7");
    CHECK_INT(program_count("7", "buried"), ==, 2);
    ended = WEIR_EXPECT(0, "kick", "--tube", "7", "--limit", "1");
    CHECK_STRING(ended.out, "kicked 1 job\n");
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "kick", "--tube", "7", "--dry-run");
    CHECK_STRING(ended.out, "would kick 1 job\n");
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "kick", "--tube", "7", "--attempts", "1", "--limit", "5");
    CHECK_STRING(ended.out, "kicked 1 job\n");
    ended_free(&ended);
    CHECK_INT(program_count("7", "buried"), ==, 0);
}

TEST(kick_ids, "kick by id runs these jobs again, and no others")
{
    program_init();
    fill_buried("t", 3);
    struct ended ended = WEIR_EXPECT(66, "kick", "1", "3", "17");
    CHECK_STRING(ended.out, "kicked 1\nkicked 3\n");
    ended_free(&ended);
    CHECK_INT(program_count("t", "ready"), ==, 2);
    CHECK_INT(program_count("t", "buried"), ==, 1);
    WEIR(65, "kick", "1");
}

/* Puts `0` to `count - 1`, each in a job of its own. */
static void put_many(const char *tube, int count)
{
    char *text = malloc((size_t)count * 12);
    CHECK(text != NULL);
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        size += (size_t)sprintf(text + size, "%d\n", i);
    }
    struct ended ended = program_run_with(text, size, WORDS("put", "-l", "-q", tube));
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    free(text);
}

static size_t lines_of(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += *text == '\n' ? 1 : 0;
    }
    return count;
}

TEST(bury, "bury sets jobs aside with a reason, and kick runs them again")
{
    program_init();
    put_many("t", 3);
    struct ended ended = WEIR_EXPECT(66, "bury", "--reason", "on fire", "1", "77", "2");
    CHECK_STRING(ended.out, "buried 1\nburied 2\n");
    ended_free(&ended);
    WEIR(65, "bury", "1");
    CHECK_INT(program_count("t", "buried"), ==, 2);
    ended = WEIR_EXPECT(0, "ls", "--id", "1", "--json");
    CHECK(strstr(ended.out, "\"reason\":\"on fire\"") != NULL);
    ended_free(&ended);
    WEIR(0, "bury", "3");
    ended = WEIR_EXPECT(0, "ls", "--id", "3", "--json");
    CHECK(strstr(ended.out, "\"reason\":\"buried by hand\"") != NULL);
    ended_free(&ended);
    WEIR(0, "work", "-e", "t", "--", "false");
    WEIR(0, "kick", "t");
    CHECK_INT(program_count("t", "ready"), ==, 3);
}

TEST(rm_ids, "rm deletes jobs by id, and says which are not there")
{
    program_init();
    put_many("t", 3);
    struct ended ended = WEIR_EXPECT(66, "rm", "1", "9", "3");
    CHECK_STRING(ended.out, "removed 1\nremoved 3\n");
    ended_free(&ended);
    CHECK_INT(program_count("t", "ready"), ==, 1);
}

TEST(rm_tube, "rm deletes all jobs of a tube in one state, more than a step has, and no others")
{
    program_init();
    put_many("t", 600);
    WEIR(0, "put", "--delay", "1h", "t", "later");
    WEIR(0, "put", "other", "x");
    struct ended ended = WEIR_EXPECT(0, "rm", "--tube", "t", "--state", "ready", "--dry-run");
    CHECK_STRING(ended.out, "would remove 600 jobs\n");
    ended_free(&ended);
    CHECK_INT(program_count("t", "ready"), ==, 600);
    ended = WEIR_EXPECT(0, "rm", "--json", "--tube", "t", "--state", "ready");
    CHECK_STRING(ended.out, "{\"tube\":\"t\",\"state\":\"ready\",\"removed\":600}\n");
    ended_free(&ended);
    CHECK_INT(program_count("t", "ready"), ==, 0);
    CHECK_INT(program_count("t", "delayed"), ==, 1);
    CHECK_INT(program_count("other", "ready"), ==, 1);
}

static void expect_out(const char *const words[], const char *out)
{
    struct ended ended = program_expect(__FILE__, __LINE__, 0, words);
    CHECK_STRING(ended.out, out);
    ended_free(&ended);
}

TEST(matching, "kick, bury and rm change all jobs that match a filter, or tell how many")
{
    program_init();
    WEIR(0, "put", "t", "apple pie");
    WEIR(0, "put", "t", "apple juice");
    WEIR(0, "put", "t", "pear");
    WEIR(0, "put", "--delay", "1h", "t", "apple later");
    WEIR(0, "put", "other", "apple");
    expect_out(WORDS("bury", "--tube", "t", "--text", "apple", "--dry-run"), "would bury 3 jobs\n");
    CHECK_INT(program_count("t", "buried"), ==, 0);
    expect_out(
        WORDS("bury", "--tube", "t", "--text", "apple", "--reason", "bad fruit", "-s", "ready"),
        "buried 2 jobs\n");
    expect_out(WORDS("kick", "--tube", "t", "--text", "fruit", "--dry-run", "--json"),
               "{\"tube\":\"t\",\"would_kick\":2}\n");
    expect_out(WORDS("kick", "--tube", "t", "--text", "juice"), "kicked 1 job\n");
    CHECK_INT(program_count("t", "buried"), ==, 1);
    expect_out(WORDS("rm", "--tube", "t", "--text", "apple", "--older", "1h"), "removed 0 jobs\n");
    expect_out(WORDS("rm", "--tube", "t", "--attempts", "1"), "removed 0 jobs\n");
    expect_out(WORDS("rm", "--tube", "t", "--text", "apple", "--older", "0s", "--state", "delayed"),
               "removed 1 job\n");
    expect_out(WORDS("rm", "--tube", "t", "--text", "apple"), "removed 2 jobs\n");
    CHECK_INT(program_count("t", "ready"), ==, 1);
    CHECK_INT(program_count("other", "ready"), ==, 1);
    WEIR(66, "rm", "--tube", "nope", "--state", "ready");
}

TEST(matching_many, "a filter changes more jobs than a step has, and leaves those that run alone")
{
    program_init();
    put_many("t", 600);
    struct running worker = program_start("", 0, WORDS("work", "t", "--", "sh", "-c", "sleep 100"));
    WAIT_UNTIL(program_count("t", "reserved") == 1);
    expect_out(WORDS("bury", "--tube", "t", "--older", "0s"), "buried 599 jobs\n");
    expect_out(WORDS("kick", "--tube", "t", "--older", "0s"), "kicked 599 jobs\n");
    expect_out(WORDS("rm", "--tube", "t", "--older", "0s", "--dry-run"), "would remove 599 jobs\n");
    expect_out(WORDS("rm", "--tube", "t", "--older", "0s"), "removed 599 jobs\n");
    CHECK_INT(program_count("t", "reserved"), ==, 1);
    CHECK_INT(kill(worker.pid, SIGKILL), ==, 0);
    struct ended ended = program_wait(&worker);
    ended_free(&ended);
}

TEST(ls_tubes, "ls lists the tubes")
{
    program_init();
    WEIR(0, "put", "b", "x");
    WEIR(0, "put", "a", "x");
    struct ended ended = WEIR_EXPECT(0, "ls");
    CHECK_STRING(ended.out, "a\nb\n");
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "ls", "--json");
    CHECK_STRING(ended.out, "{\"tube\":\"a\"}\n{\"tube\":\"b\"}\n");
    ended_free(&ended);
}

TEST(ls_jobs, "ls lists the jobs of a tube in order, filtered, a page at a time")
{
    program_init();
    put_many("t", 250);
    WEIR(0, "put", "--delay", "1h", "t", "a needle");
    struct ended ended = WEIR_EXPECT(0, "ls", "--json", "t");
    CHECK_INT(lines_of(ended.out), ==, 100);
    CHECK_STRING(ended.err, "weir ls: there are more; --after 100 goes on\n");
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "ls", "--json", "--after", "200", "t");
    CHECK_INT(lines_of(ended.out), ==, 51);
    CHECK_STRING(ended.err, "");
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "ls", "--json", "--limit", "251", "--state", "ready", "t");
    CHECK_INT(lines_of(ended.out), ==, 250);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "ls", "--body", "--text", "needle", "t");
    CHECK_INT(lines_of(ended.out), ==, 2);
    CHECK(strstr(ended.out, "a needle") != NULL);
    ended_free(&ended);
    static const char *const none[][2] = {
        {"--attempts", "1"}, {"--older", "1h"}, {"--text", "haystack"}, {"--state", "buried"}};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        ended = WEIR_EXPECT(0, "ls", none[i][0], none[i][1], "t");
        CHECK_STRING(ended.out, "");
        ended_free(&ended);
    }
}

TEST(pause, "pause holds a tube back, for a time or until resume; stats shows it")
{
    program_init();
    WEIR(0, "put", "t", "x");
    WEIR(0, "put", "u", "x");
    struct ended ended = WEIR_EXPECT(0, "stats");
    CHECK(strstr(ended.out, "PAUSED") == NULL);
    ended_free(&ended);
    WEIR(0, "pause", "t");
    ended = WEIR_EXPECT(0, "stats");
    CHECK(strstr(ended.out, "BURIALS PAUSED UNTIL\n") != NULL);
    CHECK(strstr(ended.out, " resumed\n") != NULL);
    ended_free(&ended);
    WEIR(0, "pause", "t", "1h");
    ended = WEIR_EXPECT(0, "stats", "--json", "t");
    CHECK(strstr(ended.out, "\"paused_until\":\"20") != NULL);
    ended_free(&ended);
    WEIR(0, "pause", "--until", "2100-01-01T00:00:00Z", "t");
    ended = WEIR_EXPECT(0, "stats", "--json", "t");
    CHECK(strstr(ended.out, "\"paused_until\":\"2100-01-01T00:0") != NULL);
    ended_free(&ended);
    WEIR(0, "pause", "t", "100ms");
    WEIR(0, "work", "-e", "t", "--", "true");
    CHECK_INT(program_count("t", "done"), ==, 1);
    WEIR(0, "pause", "t");
    WEIR(0, "resume", "t");
    WEIR(0, "put", "t", "x");
    WEIR(0, "work", "-e", "t", "--", "true");
    CHECK_INT(program_count("t", "done"), ==, 2);
}

static void check_quiet_pause(const char *duration)
{
    struct ended ended = WEIR_EXPECT(0, "pause", "t", duration);
    CHECK_STRING(ended.err, "");
    ended_free(&ended);
}

TEST(pause_warns, "a pause that is longer than jobs of its tube may be late is told of")
{
    program_init();
    WEIR(0, "put", "t", "x");
    check_quiet_pause("1h");
    WEIR(0, "policy", "t", "--late", "drop", "--late-after", "30m");
    check_quiet_pause("30m");
    struct ended ended = WEIR_EXPECT(0, "pause", "t", "31m");
    CHECK(strstr(ended.err, "tube t: the pause is longer than 30m, after which a job is late") !=
          NULL);
    ended_free(&ended);
}

static void check_why(const char *id, const char *begin, const char *end)
{
    struct ended ended = WEIR_EXPECT(0, "why", id);
    size_t size = strlen(ended.out);
    if (strncmp(ended.out, begin, strlen(begin)) != 0 || size < strlen(end) ||
        strcmp(ended.out + size - strlen(end), end) != 0) {
        test_fail(__FILE__, __LINE__, "expected \"%s...%s\", found \"%s\"", begin, end, ended.out);
    }
    ended_free(&ended);
}

TEST(why, "why tells in a sentence why a job does not run, and when it can")
{
    program_init();
    WEIR(0, "put", "--at", "2030-01-31T08:00:00Z", "t", "x");
    WEIR(0, "put", "t", "x");
    check_why("1", "1 is delayed: its time has not come; it can start at 2030-01-31T08:00:00",
              "Z\n");
    check_why("2", "2 is ready: no worker has taken it yet", "; it can start now\n");
    WEIR(0, "pause", "t");
    check_why("2", "2 is ready: tube t is paused; ", "it can start when that is resumed\n");
    WEIR(0, "pause", "t", "1h");
    check_why("2", "2 is ready: tube t is paused; it can start at 20", "Z\n");
    WEIR(0, "resume", "t");
    WEIR(0, "bury", "2");
    check_why("2", "2 is buried: buried after run 0: buried by hand; ",
              "it starts when it is kicked\n");
    struct ended ended = WEIR_EXPECT(0, "why", "--json", "2");
    CHECK_STRING(ended.out, "{\"id\":\"2\",\"state\":\"buried\",\"reason\":\"buried\",\"text\":"
                            "\"buried after run 0: buried by hand\"}\n");
    ended_free(&ended);
    WEIR(66, "why", "9");
    WEIR(64, "why", "x");
}

TEST(backup, "backup copies a store that a worker may use, and overwrites nothing")
{
    program_init();
    WEIR(0, "put", "t", "x");
    WEIR(0, "backup", "copy.db");
    struct ended ended = WEIR_EXPECT(0, "stats", "-b", "sqlite:copy.db");
    CHECK(strstr(ended.out, "t ") != NULL);
    ended_free(&ended);
    ended = WEIR_EXPECT(73, "backup", "copy.db");
    CHECK(strstr(ended.err, "exists") != NULL);
    ended_free(&ended);
    WEIR(73, "backup", "none/copy.db");
    WEIR(64, "backup", "copy.db-wal");
}

/* What a command prints has a text. */
static void prints(struct ended ended, const char *text)
{
    CHECK(strstr(ended.out, text) != NULL);
    ended_free(&ended);
}

TEST(policy, "policy sets what is asked for, ended jobs are shown, and late ones are buried")
{
    program_init();
    WEIR(0, "policy", "t", "--archive", "yes", "--keep-count", "2", "--per-group", "5");
    WEIR(0, "policy", "t", "--late-after", "30m");
    prints(WEIR_EXPECT(0, "policy", "t"), "keep          7d\nkeep-count    2\narchive       yes\n"
                                          "late          bury\nlate-after    30m\n"
                                          "per-group     5\nended         0\n");
    WEIR(66, "policy", "u");
    WEIR(0, "put", "t", "one");
    WEIR(0, "work", "-e", "t", "--", "true");
    prints(WEIR_EXPECT(0, "ls", "t", "--state", "ended"), "ended");
    prints(WEIR_EXPECT(0, "ls", "--json", "--body", "--id", "1"), "\"body\":\"one\"");
    prints(WEIR_EXPECT(0, "log", "1"), "done");
    prints(WEIR_EXPECT(0, "why", "1"), "1 is ended: it is done, after run 1");
    WEIR(0, "wait", "1");
    WEIR(0, "policy", "t", "--late-after", "1ns");
    WEIR(0, "put", "t", "two");
    WEIR(1, "work", "-e", "t", "--", "true");
    prints(WEIR_EXPECT(0, "policy", "t", "--json"),
           "\"late_ns\":1,\"group_limit\":5,\"ended\":1,\"late_buried\":1,");
    WEIR(0, "policy", "t", "--keep", "0", "--late", "run");
    prints(WEIR_EXPECT(0, "policy", "t"), "keep          none\nkeep-count    2\narchive       yes\n"
                                          "late          run\nlate-after    -\n");
    WEIR(0, "kick", "t");
    WEIR(0, "work", "-e", "t", "--", "true");
    prints(WEIR_EXPECT(0, "policy", "t"), "ended         0\n");
}

TEST(ended, "what has ended is shown with its end, without its body, until it is removed")
{
    program_init();
    WEIR(0, "put", "t", "one");
    WEIR(0, "put", "t", "two");
    WEIR(0, "put", "--delay", "1h", "t", "three");
    WEIR(0, "rm", "2");
    WEIR(0, "cancel", "--remove", "--reason", "no need", "3");
    WEIR(0, "work", "-e", "t", "--", "true");
    prints(WEIR_EXPECT(0, "ls", "--json", "--body", "--id", "1"),
           "\"end\":\"done\",\"ended_at\":\"20");
    prints(WEIR_EXPECT(0, "ls", "--json", "--body", "--id", "1"), "\"size\":0,");
    prints(WEIR_EXPECT(0, "why", "2"), "2 is ended: it was removed, after run 0");
    prints(WEIR_EXPECT(0, "why", "3"), "3 is ended: it was canceled, after run 0: no need");
    WEIR(0, "wait", "1");
    WEIR(1, "wait", "2");
    WEIR(1, "wait", "3");
    WEIR(0, "rm", "--tube", "t", "--state", "ended", "--yes");
    WEIR(66, "why", "1");
    WEIR(0, "wait", "3");
}

TEST(move_over, "move takes the jobs of a tube that match to another one")
{
    program_init();
    WEIR(0, "put", "t", "red");
    WEIR(0, "put", "t", "green");
    WEIR(0, "put", "--delay", "1h", "t", "blue");
    prints(WEIR_EXPECT(0, "move", "t", "u", "--text", "re", "--dry-run"), "would move 2 jobs\n");
    prints(WEIR_EXPECT(0, "move", "t", "u", "--text", "green"), "moved 1 job\n");
    prints(WEIR_EXPECT(0, "move", "t", "u", "--json"), "\"moved\":2");
    CHECK_INT(program_count("u", "ready"), ==, 2);
    CHECK_INT(program_count("u", "delayed"), ==, 1);
    CHECK_INT(program_count("t", "ready"), ==, 0);
    WEIR(66, "move", "v", "u");
    WEIR(69, "move", "-b", "beanstalk://127.0.0.1:1,127.0.0.1:2", "v", "u");
}

TEST(maintenance, "repair tells what it found, and shrink how large the store is")
{
    program_init();
    WEIR(0, "put", "t", "x");
    prints(WEIR_EXPECT(0, "repair"), "1 jobs, 0 damaged, 0 pieces");
    prints(WEIR_EXPECT(0, "repair", "--json"), "{\"jobs\":1,\"damaged\":0,\"orphans\":0}\n");
    prints(WEIR_EXPECT(0, "shrink"), " bytes, before ");
    prints(WEIR_EXPECT(0, "shrink", "--json"), "{\"before\":");
    WEIR(69, "repair", "-b", "beanstalk://127.0.0.1:1,127.0.0.1:2");
    WEIR(69, "shrink", "-b", "beanstalk://127.0.0.1:1,127.0.0.1:2");
    WEIR(69, "policy", "t", "-b", "beanstalk://127.0.0.1:1,127.0.0.1:2");
    CHECK_INT(program_count("t", "ready"), ==, 1);
}
