/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "integration/refusals.h"

/* Words that are refused. */

#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

TEST(commands, "unknown commands and options, missing and surplus operands")
{
    static const struct row rows[] = {
        {64, "\"frobnicate\"", "expected one that `weir help` lists", {"frobnicate"}},
        {64, "\"wrok\"", "did you mean work?", {"wrok", "t", "--", "true"}},
        {64, "\"\"", "expected one", {""}},
        {64, "\"--frob\"", "expected --help, --version or a command", {"--frob"}},
        {64, "\"-x\"", "expected --help", {"-x", "put"}},
        {64, "\"nothing\"", "expected one that `weir help` lists", {"help", "nothing"}},
        {64, "\"--delya\"", "did you mean --delay?", {"put", "--delya", "5s", "t", "x"}},
        {64, "\"--frob\"", "expected one that `weir help put` lists", {"put", "--frob", "t"}},
        {64, "\"-Z\"", "expected one that `weir help work` lists", {"work", "-Z", "t"}},
        {64, "\"--quiet=yes\"", "expected no value", {"put", "--quiet=yes", "t", "x"}},
        {64, "no tube", "expected TUBE [BODY]", {"put"}},
        {64, "no tube", "expected TUBE[=WEIGHT]... -- PROGRAM", {"work"}},
        {64, "--next", "beside another filter", {"ls", "--next", "--text", "x", "t"}},
        {64, "\"peek\"", "unknown command", {"peek", "t"}},
        {64, "no --", "expected TUBE[=WEIGHT]... -- PROGRAM", {"work", "t"}},
        {64, "no program", "expected TUBE[=WEIGHT]... -- PROGRAM", {"work", "t", "--"}},
        {64, "\"z\"", "expected TUBE [BODY]", {"put", "t", "x", "z"}},
        {64, "\"u\"", "expected [TUBE]", {"stats", "t", "u"}},
        {64, "\"t\"", "expected one of them", {"ls", "--id", "1", "t"}},
        {64, "\"x\"", "expected one of them", {"put", "--lines", "t", "x"}},
        {64, "\"x\"", "expected one of them", {"put", "--input", "notes.txt", "t", "x"}},
        {64,
         "--delay and --at",
         "expected one of them",
         {"put", "--delay", "1s", "--at", "@9000000000", "t", "x"}},
        {64, "--past-ok", "without --at", {"put", "--past-ok", "t", "x"}},
        {64, "\"revoke\"", "unknown command", {"revoke", "1"}},
        {64, "\"at\"", "unknown command", {"at", "@9000000000", "t", "x"}},
        {64, "no id", "expected ID...", {"bury"}},
        {64, "no id", "expected ID... | --tube TUBE", {"rm"}},
        {64, "no --tube", "expected one beside --state", {"rm", "--state", "ready"}},
        {64, "no --tube", "expected one beside --dry-run", {"rm", "--dry-run"}},
        {64, "no --tube", "expected one beside --text", {"bury", "--text", "x", "1"}},
        {64, "no tube", "expected TUBE | --tube", {"kick", "--text", "x"}},
        {64, "no filter", "expected --state, --text", {"rm", "--tube", "t"}},
        {64, "no filter", "expected --state, --text", {"bury", "--tube", "t", "--dry-run"}},
        {64,
         "--state: \"ready\"",
         "a job that is buried or delayed",
         {"kick", "--tube", "t", "--state", "ready"}},
        {64, "--attempts: \"0\"", "from 1 to", {"bury", "--tube", "t", "--attempts", "0"}},
        {64, "--older: \"x\"", "expected", {"rm", "--tube", "t", "--older", "x"}},
        {64,
         "--state: \"reserved\"",
         "a job that is delayed, ready, buried or ended",
         {"rm", "--tube", "t", "--state", "reserved"}},
        {64,
         "\"1\": an id",
         "expected one of them",
         {"rm", "--tube", "t", "--state", "ready", "1"}},
        {64, "\"a b\"", "expected 1 to 200 characters", {"rm", "--tube", "a b", "1"}},
        {64, "no tube", "expected one beside options for jobs", {"ls", "--state", "ready"}},
        {64, "--state: \"gone\"", "expected one of", {"ls", "--state", "gone", "t"}},
        {64, "\"u\"", "expected [TUBE]", {"ls", "t", "u"}},
        {64, "--attempts: \"0\"", "from 1 to", {"ls", "--attempts", "0", "t"}},
        {64, "--limit: \"0\"", "from 1 to", {"ls", "--limit", "0", "t"}},
        {64, "--older: \"1\"", "such as 250ms", {"ls", "--older", "1", "t"}},
        {64, "no id", "expected ID", {"why"}},
        {64, "\"2\"", "expected ID", {"why", "1", "2"}},
        {64,
         "--durability: \"some\"",
         "expected one of full",
         {"put", "--durability", "some", "t", "x"}},
        {64, "no file", "expected FILE", {"backup"}},
        {64, "\"b\"", "expected FILE", {"backup", "a", "b"}},
        {64, "no tube", "expected TUBE [DURATION]", {"pause"}},
        {64, "\"u\"", "expected TUBE [DURATION]", {"pause", "t", "1s", "u"}},
        {64, "duration: \"5\"", "such as 250ms", {"pause", "t", "5"}},
        {64, "duration: \"0s\"", "at least 1ns", {"pause", "t", "0s"}},
        {64, "no tube", "expected TUBE", {"resume"}},
        {64, "\"u\"", "expected TUBE", {"resume", "t", "u"}},
        {64, "no tube", "expected FROM TO | --to URL TUBE", {"move", "--to", "sqlite:to.db"}},
        {64, "no --to", "expected a broker to move to", {"move", "t"}},
        {64, "\"t\": the same tube", "expected another one", {"move", "t", "t"}},
        {64, "\"v\"", "expected FROM TO", {"move", "t", "u", "v"}},
        {64,
         "--older and --to",
         "expected one of them",
         {"move", "--older", "1s", "--to", "sqlite:to.db", "t"}},
        {64, "\"reserved\"", "expected a job that is", {"move", "t", "u", "-s", "reserved"}},
        {64,
         "\"u\"",
         "expected FROM TO | --to URL TUBE",
         {"move", "--to", "sqlite:to.db", "t", "u"}},
        {64,
         "--from and --broker",
         "expected one of them",
         {"move", "--from", "sqlite:a.db", "-b", "sqlite:b.db", "--to", "sqlite:to.db", "t"}},
    };
    make_folder();
    CHECK_ROWS(rows);
}

TEST(ids_or_tubes, "ids beside a tube, two tubes, a count that reads as an id, a tube for an id")
{
    static const struct row rows[] = {
        {64, "no tube", "expected TUBE | --tube TUBE | ID...", {"kick"}},
        {64, "\"u\"", "expected ids alone, or one tube", {"kick", "t", "1", "u"}},
        {64, "\"100\"", "a count is --limit N", {"kick", "t", "100"}},
        {64, "\"t\"", "expected ids alone", {"kick", "1", "t"}},
        {64, "\"u\"", "expected ids alone", {"kick", "t", "u"}},
        {64, "\"t\"", "expected ids alone", {"kick", "--tube", "u", "t"}},
        {64, "\"1\"", "expected ids alone", {"kick", "--tube", "u", "1"}},
        {64, "\"1\"", "expected ids alone", {"kick", "--limit", "5", "1"}},
        {64, "\"1\"", "expected ids alone", {"kick", "--text", "x", "1"}},
        {64, "--ids", "", {"kick", "--ids", "1"}},
        {64, "\"1\"", "expected ids alone", {"kick", "--retries", "1"}},
        {64, "\"1\"", "expected ids alone", {"kick", "--dead", "1"}},
        {64, "--force", "beside a tube", {"kick", "--force", "t"}},
        {64, "--dead", "beside other choices", {"kick", "--dead", "--retries"}},
        {64, "\"1\"", "expected ids alone", {"kick", "--rate", "5", "1"}},
        {64, "--rate: \"0\"", "expected a rate such as 50", {"kick", "--rate", "0", "t"}},
        {64, "--state: \"ready\"", "buried or delayed", {"kick", "--state", "ready", "t"}},
        {64, "--state: \"buried\"", "delayed", {"kick", "--retries", "--state", "buried", "t"}},
        {64, "\"mail\"", "expected an id that `weir put` printed, or --tube", {"bury", "mail"}},
        {64, "\"mail\"", "expected an id that `weir put` printed, or --tube", {"cancel", "mail"}},
        {64, "no id", "expected ID... | --tube TUBE", {"cancel"}},
        {64, "--retry", "a second verdict", {"cancel", "--bury", "--retry", "1"}},
        {64, "\"1\"", "an id beside --tube", {"cancel", "--tube", "t", "1"}},
        {64, "no filter", "expected --state, --text", {"cancel", "--tube", "t"}},
        {64,
         "--state: \"ready\"",
         "a job that is reserved",
         {"cancel", "--retry", "--tube", "t", "--state", "ready"}},
        {64, "\"mail\"", "expected an id that `weir put` printed, or --tube", {"rm", "1", "mail"}},
    };
    make_folder();
    CHECK_ROWS(rows);
}

TEST(pauses, "times until which a tube cannot be paused")
{
    static const struct row rows[] = {
        {64, "--until: \"@5\": has passed", "after now", {"pause", "--until", "@5", "t"}},
        {64, "--until: \"x\"", "expected one such as", {"pause", "--until", "x", "t"}},
        {64, "\"1s\"", "expected one of them", {"pause", "-u", "@9000000000", "t", "1s"}},
        {64, "\"--until\"", "unknown option", {"resume", "--until", "@9000000000", "t"}},
    };
    make_folder();
    CHECK_ROWS(rows);
}

TEST(setups, "set-up files that are not there, and words beside them")
{
    static const struct row rows[] = {
        {64, "no file", "expected FILE", {"run"}},
        {64, "\"y\"", "expected FILE", {"run", "x", "y"}},
        {64, "--broker and --lock-wait", "in the file", {"run", "-b", "sqlite:x.db", "x"}},
        {66, "\"none.conf\": No such file", "weir.conf(5)", {"run", "none.conf"}},
        {66, "\"folder\": Is a directory", "weir.conf(5)", {"run", "folder"}},
        {64, "no action", "expected check|show FILE", {"config"}},
        {64, "\"chekc\"", "expected check or show", {"config", "chekc", "x"}},
        {64, "no file", "expected check|show FILE", {"config", "show"}},
        {64, "--origin", "expected it beside show", {"config", "check", "--origin", "x"}},
        {66, "\"none.conf\": No such file", "weir.conf(5)", {"config", "check", "none.conf"}},
        {66, "\"jobs.db\": it has a byte 0", "weir.conf(5)", {"config", "show", "jobs.db"}},
    };
    make_folder();
    CHECK_ROWS(rows);
}

TEST(several_tubes, "tubes, weights and rates of workers that make no sense")
{
    static const struct row rows[] = {
        {64, "\"t\": named twice", "each tube once", {"work", "t", "t=2", "--", "true"}},
        {64, "weight: \"0\"", "from 1 to 1000", {"work", "t=0", "--", "true"}},
        {64, "weight: \"\"", "from 1 to 1000", {"work", "t=", "--", "true"}},
        {64, "tube: \"\"", "expected 1 to 200", {"work", "t", "=2", "--", "true"}},
        {64, "--rate: \"0\"", "a rate such as", {"work", "--rate", "0", "t", "--", "true"}},
        {64,
         "--persistent: \"x\"",
         "expected lines or frames",
         {"work", "--persistent", "x", "t", "--", "true"}},
        {64, "--rate: \"5/d\"", "a rate such as", {"work", "--rate", "5/d", "t", "--", "true"}},
    };
    make_folder();
    CHECK_ROWS(rows);
}

TEST(maintenance, "repair and shrink take no operand, and no store that is not there")
{
    static const struct row rows[] = {
        {64, "\"x\"", "expected", {"repair", "x"}},
        {64, "\"x\"", "expected", {"shrink", "x"}},
        {66, "does not exist", "expected", {"repair", "-b", "sqlite:none.db"}},
        {66, "does not exist", "expected", {"shrink", "-b", "sqlite:none.db"}},
    };
    make_folder();
    CHECK_ROWS(rows);
}

TEST(policies, "policies of tubes that make no sense")
{
    static const struct row rows[] = {
        {64, "no tube", "expected TUBE", {"policy"}},
        {64, "\"u\"", "expected TUBE", {"policy", "t", "u"}},
        {64, "--keep: \"7\"", "such as 250ms", {"policy", "t", "--keep", "7"}},
        {64, "--archive: \"7d\"", "expected yes or no", {"policy", "t", "--archive", "7d"}},
        {64, "--keep-count: \"-1\"", "from 0", {"policy", "t", "--keep-count", "-1"}},
        {64, "--late: \"never\"", "expected run, bury or drop", {"policy", "t", "--late", "never"}},
        {64, "--late-after: \"0\"", "at least 1ns", {"policy", "t", "--late-after", "0"}},
        {64,
         "late jobs run",
         "expected --late bury or drop",
         {"policy", "t", "--late", "run", "--late-after", "1m"}},
        {64, "--per-group: \"x\"", "from 0", {"policy", "t", "--per-group", "x"}},
    };
    make_folder();
    CHECK_ROWS(rows);
}

TEST(tubes, "names of tubes that are not allowed, in every command")
{
    static const char *const commands[] = {"put",  "stats", "ls",    "work",   "kick",
                                           "move", "ls",    "pause", "resume", "policy"};
    static const struct {
        const char *tube;
        const char *value;
    } tubes[] = {
        {"", "\"\""},
        {"a b", "\"a b\": not allowed at character 2"},
        {"a\nb", "\"a\\nb\": not allowed at character 2"},
        {"caf\xc3\xa9", "\"caf\xc3\xa9\": not allowed at character 4"},
        {"\xff", "\"\\xff\": not allowed at character 1"},
        {"\033[31m", "\"\\x1b[31m\": not allowed at character 1"},
        {"a*", "\"a*\": not allowed at character 2"},
        {X50 X50 X50 X50 "x", "(201 bytes)"},
    };
    make_folder();
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        bool work = strcmp(commands[i], "work") == 0;
        for (size_t j = 0; j < sizeof(tubes) / sizeof(tubes[0]); j++) {
            struct row row = {64,
                              tubes[j].value,
                              "expected 1 to 200 characters out of A-Z a-z 0-9 - + / ; . $ _ ( )",
                              {commands[i], tubes[j].tube, work ? "--" : NULL, "true"}};
            check_rows(&row, 1);
        }
        struct row dash = {64,
                           "\"-x\": not allowed at character 1",
                           "the first of them not -",
                           {commands[i], "--", "-x", NULL}};
        if (!work) {
            check_rows(&dash, 1);
        }
    }
    WEIR(0, "put", X50 X50 X50 X50, "200 bytes are allowed");
}

TEST(times, "durations and times that are none, too long, or past")
{
    static const struct row rows[] = {
        {64, "--at: \"\"", "expected one such as 2030-01-31", {"put", "--at", "", "t", "x"}},
        {64, "--at: \"soon\"", "expected one such as", {"put", "--at", "soon", "t", "x"}},
        {64, "at character 9", "expected one such", {"put", "--at", "2026-02-30T00:00:00Z", "t"}},
        {64, "--at: \"@5\": has passed", "expected a time after now", {"put", "--at", "@5", "t"}},
        {64, "--at: \"@1e9\"", "expected one such", {"put", "--at", "@1e9", "t", "x"}},
        {64,
         "--delay: \"100000d\"",
         "expected one that ends before 2262-04-11",
         {"put", "--delay", "100000d", "t", "x"}},
        {64,
         "--at: \"soon\"",
         "expected one such as 2030-01-31",
         {"put", "--at", "soon", "t", "x"}},
        {64,
         "--at: \"@5\": has passed",
         "expected a time after now",
         {"put", "--at", "@5", "t", "x"}},
        {64, "--at: \"@5\"", ", or --past-ok", {"put", "--at", "@5", "t", "x"}},
        {64, "--ttr: \"0\"", "at least 100ms", {"put", "--ttr", "0", "t", "x"}},
        {64, "--color: \"red\"", "auto, always or never", {"ls", "--color", "red"}},
        {64, "--lock-wait: \"0\"", "at least 1ns", {"put", "--lock-wait", "0", "t", "x"}},
        {64, "--lock-wait: \"5\"", "such as 250ms", {"kick", "--lock-wait", "5", "t"}},
        {64,
         "--lock-wait: \"-1s\"",
         "such as 250ms",
         {"work", "--lock-wait", "-1s", "t", "--", "true"}},
        {64, "--ttr: \"99ms\"", "at least 100ms", {"put", "--ttr", "99ms", "t", "x"}},
        {64, "--deadline: \"0\"", "at least 1ns", {"work", "--deadline", "0", "t", "--", "true"}},
        {64,
         "--retry-delay: \"0s\"",
         "at least 1ns",
         {"work", "--retry-delay", "0s", "t", "--", "true"}},
        {64,
         "--retry-max",
         "expected at least that",
         {"work", "--retry-delay", "2s", "--retry-max", "1s", "t", "--", "true"}},
    };
    static const struct {
        const char *text;
        const char *problem;
        const char *expected;
    } durations[] = {
        {"5x", "\"5x\": unknown unit at character 2", "such as 250ms, 1.5s, 2m30s"},
        {"-1s", "\"-1s\": negative at character 1", "such as 250ms"},
        {"1e400s", "\"1e400s\": unknown unit at character 2", "such as 250ms"},
        {"", "\"\": empty at character 1", "such as 250ms"},
        {"5", "\"5\": no unit at character 2", "such as 250ms"},
        {"s", "\"s\": not a digit at character 1", "such as 250ms"},
        {"1.s", "\"1.s\": not a digit at character 3", "such as 250ms"},
        {"1.5", "\"1.5\": no unit at character 4", "such as 250ms"},
        {" 1s", "\" 1s\": not a digit at character 1", "such as 250ms"},
        {"1s ", "\"1s \": not a digit at character 3", "such as 250ms"},
        {"inf", "\"inf\": not a digit at character 1", "such as 250ms"},
        {"nan", "\"nan\": not a digit at character 1", "such as 250ms"},
        {"1S", "\"1S\": unknown unit at character 2", "such as 250ms"},
        {"1s-1s", "\"1s-1s\": negative at character 3", "such as 250ms"},
        {"106752d", "\"106752d\": too long at character 1", "at most 292 years"},
        {"99999999999999999999s", "s\": too long at character 1", "at most 292 years"},
        {"\xff", "\"\\xff\": not a digit at character 1", "such as 250ms"},
    };
    static const char *const options[] = {"--delay",       "--ttr",       "--deadline",
                                          "--retry-delay", "--retry-max", "--grace"};
    make_folder();
    CHECK_ROWS(rows);
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        for (size_t j = 0; j < sizeof(durations) / sizeof(durations[0]); j++) {
            char value[80];
            (void)snprintf(value, sizeof(value), "%s: %s", options[i],
                           strcmp(durations[j].problem, "s\": too long at character 1") == 0
                               ? "\"9999"
                               : durations[j].problem);
            struct row row = {64, value, durations[j].expected, {0}};
            const char *const put[] = {"put", options[i], durations[j].text, "t", "x"};
            const char *const work[] = {"work", options[i], durations[j].text, "t", "--", "true"};
            bool is_put = i < 2;
            memcpy(row.words, is_put ? put : work, is_put ? sizeof(put) : sizeof(work));
            check_rows(&row, 1);
        }
    }
}

TEST(numbers, "numbers that are none or out of their range, and other values")
{
    static const char *const numbers[] = {"0",  "-1", "abc", "1e9", "",     "1.5",  "4294967296",
                                          "+1", " 1", "0x1", "1 ",  "\xff", "1e309"};
    static const char *const options[] = {"--jobs", "--attempts", "--limit"};
    static const struct row rows[] = {
        {64, "-j", "from 1 to 4096", {"work", "-j4097", "t", "--", "true"}},
        {64,
         "--priority: \"x\"",
         "from -2147483648 to 2147483647",
         {"put", "--priority", "x", "t", "x"}},
        {64,
         "--priority: \"2147483648\"",
         "from -2147483648",
         {"put", "--priority", "2147483648", "t", "x"}},
        {64,
         "--priority: \"99999999999999999999\"",
         "from -2147483648",
         {"put", "--priority", "99999999999999999999", "t", "x"}},
        {64, "--priority: \"-\"", "from -2147483648", {"put", "--priority", "-", "t", "x"}},
        {64,
         "--state: \"gone\"",
         "expected one of delayed, ready, reserved, buried",
         {"ls", "--next", "--state", "gone", "t"}},
        {64, "--state: \"\"", "expected one of", {"ls", "--next", "--state", "", "t"}},
        {64,
         "--bury-on: \"0\"",
         "such as 1,3,64-70",
         {"work", "--bury-on", "0", "t", "--", "true"}},
        {64, "--bury-on: \"1,,2\"", "such as", {"work", "--bury-on", "1,,2", "t", "--", "true"}},
        {64, "--bury-on: \"75\"", "without 75", {"work", "--bury-on", "75", "t", "--", "true"}},
        {64, "--bury-on: \"9-5\"", "such as", {"work", "--bury-on", "9-5", "t", "--", "true"}},
        {64, "--bury-on: \"256\"", "to 255", {"work", "--bury-on", "256", "t", "--", "true"}},
        {64, "--bury-on: \"\"", "such as", {"work", "--bury-on", "", "t", "--", "true"}},
    };
    make_folder();
    CHECK_ROWS(rows);
    for (size_t j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++) {
        struct row row = {64,
                          "--limit: ",
                          "expected a whole number from 1 to ",
                          {"kick", "--limit", numbers[j], "t"}};
        check_rows(&row, 1);
    }
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        for (size_t j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++) {
            bool is_ls = strcmp(options[i], "--limit") == 0;
            struct row row = {
                64,
                options[i],
                "expected a whole number from 1 to ",
                {is_ls ? "ls" : "work", options[i], numbers[j], "t", is_ls ? NULL : "--", "true"}};
            check_rows(&row, 1);
        }
    }
}

TEST(ids, "ids that are none, of jobs that are not there, and of jobs in another state")
{
    static const struct row rows[] = {
        {64, "\"12x\"", "expected an id that `weir put` printed", {"rm", "12x"}},
        {64, "\"\"", "expected an id that `weir put` printed", {"rm", ""}},
        {64, "\"0\"", "expected an id that `weir put` printed", {"kick", "0"}},
        {64, "\"99999999999999999999\"", "expected an id", {"rm", "1", "99999999999999999999"}},
        {66, "no such tube", "expected one that a job was put into", {"kick", "nope"}},
        {64,
         "--to: broker URL \"sqlite\"",
         "expected sqlite:PATH",
         {"move", "--to", "sqlite", "t"}},
        {64,
         "--to: \"sqlite:jobs.db\"",
         "expected another broker",
         {"move", "--from", "sqlite:jobs.db", "--to", "sqlite:jobs.db", "t"}},
        {73,
         "--to: the folder no",
         "expected one that exists",
         {"move", "--to", "sqlite:no/such.db", "t"}},
        {64, "--after: after \"x\"", "expected an id", {"ls", "--after", "x", "t"}},
        {66, "\"nope\": no such tube", "expected one that", {"ls", "nope"}},
        {64, "\"x\"", "expected an id that", {"why", "x"}},
        {66, "\"9\": no such job", "never was", {"why", "9"}},
        {66, "\"nope\": no such tube", "expected one that", {"pause", "nope"}},
        {66, "\"nope\": no such tube", "expected one that", {"resume", "nope"}},
        {66,
         "\"nope\": no such tube",
         "expected one that",
         {"rm", "--tube", "nope", "--state", "ready"}},
        {64, "\"x\"", "expected an id that", {"bury", "x"}},
        {64, "\"x\"", "expected an id that", {"rm", "1", "x"}},
        {65, "\"1\": is ready", "expected a job that is buried or delayed", {"kick", "1"}},
    };
    static const struct row no_store[] = {
        {66,
         "no.db does not exist",
         "expected a weir store",
         {"rm", "--broker", "sqlite:no.db", "1"}},
        {66,
         "no.db does not exist",
         "expected a weir store",
         {"kick", "--broker", "sqlite:no.db", "t"}},
        {66,
         "--from",
         "expected a weir store",
         {"move", "--from", "sqlite:no.db", "--to", "sqlite:to.db", "t"}},
    };
    make_folder();
    CHECK_ROWS(no_store);
    char *before = read_file("jobs.db", NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ended ended = program_run(rows[i].words);
        check_refusal(&ended, &rows[i]);
        ended_free(&ended);
    }
    /* Only the lock file was written to. */
    size_t size;
    char *after = read_file("jobs.db", &size);
    CHECK(memcmp(before, after, size) == 0);
    free(before);
    free(after);
}

TEST(missing_values, "every option with a value, at the end of the line without one")
{
    static const struct {
        const char *command;
        const char *option;
    } rows[] = {
        {"put", "--delay"},      {"put", "-d"},
        {"put", "--at"},         {"put", "--priority"},
        {"put", "-p"},           {"put", "--ttr"},
        {"put", "--input"},      {"put", "-i"},
        {"put", "--broker"},     {"put", "-b"},
        {"work", "--jobs"},      {"work", "-j"},
        {"work", "--deadline"},  {"work", "--grace"},
        {"work", "--attempts"},  {"work", "--retry-delay"},
        {"work", "--retry-max"}, {"work", "--bury-on"},
        {"work", "--summary"},   {"work", "--broker"},
        {"ls", "--state"},       {"ls", "--limit"},
        {"ls", "--id"},          {"ls", "--broker"},
        {"stats", "--broker"},   {"help", "--broker"},
        {"rm", "--broker"},      {"kick", "--broker"},
        {"move", "--from"},      {"move", "--to"},
        {"bury", "--reason"},    {"rm", "--tube"},
        {"rm", "--state"},       {"ls", "--state"},
        {"ls", "--text"},        {"ls", "--attempts"},
        {"ls", "--older"},       {"ls", "--after"},
        {"ls", "--limit"},
    };
    make_folder();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct row row = {64,
                          rows[i].option,
                          "no value; expected one after it",
                          {rows[i].command, rows[i].option}};
        check_rows(&row, 1);
    }
}

TEST(control_characters, "none of C0 or C1 in a value or a path gets to the terminal")
{
    static const char *const rows[][6] = {
        {"stats", "--broker", "sqlite:no\xc2\x9b.db"},
        {"stats", "--broker", "sqlite:no\x9b.db"},
        {"stats", "--broker", "\xc2\x9b:no.db"},
        {"stats", "\xc2\x9b\x90\033"},
        {"work", "t", "--", "no\xc2\x85such"},
        {"\xc2\x9b"},
        {"put", "-i", "no\xc2\x9b", "t"},
        {"put", "--\xc2\x9b", "t"},
    };
    make_folder();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ended ended = program_run(rows[i]);
        CHECK_INT(ended.code, !=, 0);
        CHECK(strstr(ended.err, "\\x") != NULL);
        for (const char *at = ended.err; *at != '\0'; at++) {
            unsigned char byte = (unsigned char)*at;
            CHECK(byte == '\n' || (byte >= ' ' && byte < 0x7f));
        }
        ended_free(&ended);
    }
}

TEST(long_values, "a value of 100,000 bytes is refused in a line of at most 1024")
{
    static const struct {
        int code;
        const char *command;
        const char *option;
    } rows[] = {
        {64, "put", "--delay"},    {64, "put", "--at"},        {64, "put", "--priority"},
        {64, "put", "--ttr"},      {66, "put", "--input"},     {64, "put", "--broker"},
        {64, "work", "--jobs"},    {64, "work", "--deadline"}, {64, "work", "--attempts"},
        {64, "work", "--bury-on"}, {73, "work", "--summary"},  {64, "ls", "--state"},
        {64, "ls", "--limit"},     {64, "ls", "--id"},         {64, "stats", "--broker"},
    };
    make_folder();
    char *value = malloc(100001);
    CHECK(value != NULL);
    memset(value, 'z', 100000);
    value[100000] = '\0';
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool work = strcmp(rows[i].command, "work") == 0;
        bool id = strcmp(rows[i].option, "--id") == 0;
        struct row row = {
            rows[i].code,
            "zzzz",
            "expected",
            {rows[i].command, rows[i].option, value, id ? NULL : "t", work ? "--" : NULL, "true"}};
        struct ended ended = program_run(row.words);
        check_refusal(&ended, &row);
        CHECK_INT(strlen(ended.err), <=, 1024);
        ended_free(&ended);
    }
    free(value);
}
