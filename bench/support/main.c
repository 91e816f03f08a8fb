/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/support/bench.h"
#include "bench/support/run.h"

/* The command line, and rounds of samples, each in a child process that writes its line of JSON
 * into a pipe. */

struct request {
    const struct bench_measurement *const *tables;
    const char *filter;
    const char *one;
    size_t rounds;
    bool quick;
    bool pin;
    bool json;
    bool list;
};

static const char *const usage =
    "  --list           print workload and subject of every measurement\n"
    "  --filter=TEXT    only those whose WORKLOAD/SUBJECT contains TEXT\n"
    "  --rounds=N       take N interleaved samples of each (5)\n"
    "  --run=NAME       take one sample of WORKLOAD/SUBJECT, print it as JSON\n"
    "  --json           print every sample as a line of JSON instead of a table\n"
    "  --quick          less work, and no long measurements\n"
    "  --pin            tie each thread to a processor\n";

static bool selected(const struct request *request, const struct bench_measurement *measurement)
{
    if (request->quick && (measurement->flags & BENCH_FULL) != 0) {
        return false;
    }
    char name[128];
    snprintf(name, sizeof(name), "%s/%s", measurement->workload, measurement->subject);
    if (request->one != NULL) {
        return strcmp(name, request->one) == 0;
    }
    return request->filter == NULL || strstr(name, request->filter) != NULL;
}

/* The nth selected measurement; NULL past the last. */
static const struct bench_measurement *nth(const struct request *request, size_t n)
{
    for (size_t t = 0; request->tables[t] != NULL; t++) {
        for (const struct bench_measurement *m = request->tables[t]; m->workload != NULL; m++) {
            if (selected(request, m) && n-- == 0) {
                return m;
            }
        }
    }
    return NULL;
}

static void take(const struct request *request, const struct bench_measurement *measurement,
                 struct bench_run *run)
{
    memset(run, 0, sizeof(*run));
    run->measurement = measurement;
    run->quick = request->quick;
    run->pin = request->pin;
    bench_keep_company();
    measurement->run(run);
}

/* One sample in a child process. False: it failed, and has said why. */
static bool take_apart(const struct request *request, const struct bench_measurement *measurement,
                       struct bench_run *run)
{
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0) {
        bench_fail("pipe: errno %d", errno);
    }
    pid_t child = fork();
    if (child < 0) {
        bench_fail("fork: errno %d", errno);
    }
    if (child == 0) {
        take(request, measurement, run);
        bool written = write(ends[1], run, sizeof(*run)) == (ssize_t)sizeof(*run);
        _exit(written ? 0 : 1);
    }
    close(ends[1]);
    ssize_t length = read(ends[0], run, sizeof(*run));
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (length != (ssize_t)sizeof(*run) || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "FAILED: %s/%s: no figure\n", measurement->workload, measurement->subject);
        return false;
    }
    return true;
}

/* The next selected measurement of a workload from index on; NULL where there is none. */
static const struct bench_measurement *next_of(const struct request *request, const char *workload,
                                               size_t *index)
{
    const struct bench_measurement *m;
    while ((m = nth(request, *index)) != NULL) {
        *index += 1;
        if (strcmp(m->workload, workload) == 0) {
            return m;
        }
    }
    return NULL;
}

/* All rounds of one workload, each with every subject once. Returns the count of failures. */
static size_t rounds_of(const struct request *request, const char *workload,
                        struct bench_table *table)
{
    size_t failures = 0;
    for (size_t round = 0; round < request->rounds; round++) {
        const struct bench_measurement *m;
        for (size_t index = 0; (m = next_of(request, workload, &index)) != NULL;) {
            struct bench_run run;
            if (!take_apart(request, m, &run)) {
                failures++;
            } else if (request->json) {
                bench_print_json(&run, round);
            } else {
                bench_table_put(table, &run);
            }
        }
    }
    bench_table_print(table);
    return failures;
}

static int rounds(const struct request *request)
{
    struct bench_table *table = bench_table_new();
    size_t failures = 0;
    const struct bench_measurement *m;
    for (size_t i = 0; (m = nth(request, i)) != NULL; i++) {
        size_t index = 0;
        if (next_of(request, m->workload, &index) == m) {
            failures += rounds_of(request, m->workload, table);
        }
    }
    bench_table_free(table);
    return failures == 0 ? 0 : 1;
}

static int run_one(const struct request *request)
{
    const struct bench_measurement *measurement = nth(request, 0);
    if (measurement == NULL) {
        bench_fail("no measurement \"%s\": --list shows what there is", request->one);
    }
    struct bench_run run;
    take(request, measurement, &run);
    bench_print_json(&run, 0);
    return 0;
}

static bool parse(struct request *request, const char *word)
{
    if (strncmp(word, "--filter=", 9) == 0) {
        request->filter = word + 9;
    } else if (strncmp(word, "--run=", 6) == 0) {
        request->one = word + 6;
    } else if (strncmp(word, "--rounds=", 9) == 0) {
        request->rounds = strtoul(word + 9, NULL, 10);
        return request->rounds > 0 && request->rounds < 10000;
    } else if (strcmp(word, "--quick") == 0) {
        request->quick = true;
    } else if (strcmp(word, "--pin") == 0) {
        request->pin = true;
    } else if (strcmp(word, "--json") == 0) {
        request->json = true;
    } else if (strcmp(word, "--list") == 0) {
        request->list = true;
    } else {
        return false;
    }
    return true;
}

int bench_main(int argc, char **argv, const struct bench_measurement *const *tables,
               const char *const *missing)
{
    struct request request = {.tables = tables, .rounds = 5};
    for (int i = 1; i < argc; i++) {
        if (!parse(&request, argv[i])) {
            fprintf(stderr, "%s: %s?\n%s", argv[0], argv[i], usage);
            return 64;
        }
    }
    if (request.one != NULL) {
        return run_one(&request);
    }
    for (size_t i = 0; missing[i] != NULL; i++) {
        fprintf(stderr, "SKIPPED: %s was not there when this was built\n", missing[i]);
    }
    if (nth(&request, 0) == NULL) {
        fprintf(stderr, "%s: nothing matches \"%s\"\n", argv[0],
                request.filter == NULL ? "" : request.filter);
        return 64;
    }
    if (!request.list) {
        return rounds(&request);
    }
    const struct bench_measurement *m;
    for (size_t i = 0; (m = nth(&request, i)) != NULL; i++) {
        printf("%s %s\n", m->workload, m->subject);
    }
    return 0;
}
