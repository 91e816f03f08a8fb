/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include <weir/clock.h>
#include <weir/consumer.h>
#include <weir/parallel.h>

#include "cli/histogram.h"
#include "cli/report.h"
#include "cli/store.h"
#include "cli/table.h"

enum bench_option {
    OPTION_BODY_SIZE = OPTION_OWN,
    OPTION_JSON,
    OPTION_TIME
};

#define THREADS 16
#define WORKERS 4
#define BATCH 100
#define STARTS 200
#define TIME_DEFAULT WEIR_SECONDS(2)
#define BODY_DEFAULT 200
#define BODY_MOST (1 << 20)
#define NUMBER_SIZE 24

static const struct poptOption bench_options[] = {
    OPTION_VALUE("time", 't', OPTION_TIME, "Put for so long in each way (default: 2s)", "DURATION"),
    OPTION_VALUE("body-size", '\0', OPTION_BODY_SIZE, "Bytes of a body (default: 200)", "N"),
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object a line instead of a table"),
    POPT_TABLEEND,
};

static const struct table_column columns[] = {{"WHAT", false, false},
                                              {"PER SECOND", true, false},
                                              {"P50", true, false},
                                              {"P99", true, false}};

struct bench {
    const char *path; /* Of the store that is made; NULL: a cluster. */
    int64_t time_ns;
    size_t size;
    bool json;
    bool failed; /* Printing did. */
    struct libscols_table *table;
    struct store store;
    char tube[48];
    char *body;
    struct weir_error error;
    struct histogram times; /* Of what is measured now. */
    int64_t end_ns;
    atomic_size_t ran;          /* Handlers. */
    atomic_size_t last;         /* The largest number that one found in a body. */
    _Atomic int64_t started_ns; /* When it did. */
};

static atomic_bool is_ended; /* By a signal. */

static void end(int number)
{
    (void)number;
    atomic_store(&is_ended, true);
}

static int64_t now(void)
{
    return weir_clock_now(weir_clock_monotonic());
}

static bool is_over(const struct bench *bench)
{
    return atomic_load(&is_ended) || now() >= bench->end_ns;
}

static void begin(struct bench *bench)
{
    memset(&bench->times, 0, sizeof(bench->times));
    bench->end_ns = now() + bench->time_ns;
}

/* Shows what was measured: so many in a time. */
static void show(struct bench *bench, const char *what, uint64_t count, int64_t took_ns)
{
    char rate[32];
    char p50[32] = "";
    char p99[32] = "";
    double per_second = took_ns > 0 ? (double)count / ((double)took_ns / 1e9) : 0;
    int64_t median = histogram_permille(&bench->times, 500);
    int64_t most = histogram_permille(&bench->times, 990);
    bool has_times = histogram_count(&bench->times) > 0;
    if (bench->json) {
        json_t *object = json_pack("{s:s, s:f, s:I}", "what", what, "per_second", per_second,
                                   "count", (json_int_t)count);
        if (object != NULL && has_times) {
            (void)json_object_set_new(object, "p50_ns", json_integer((json_int_t)median));
            (void)json_object_set_new(object, "p99_ns", json_integer((json_int_t)most));
        }
        bench->failed = bench->failed || !table_print_json(object);
        return;
    }
    (void)snprintf(rate, sizeof(rate), "%.0f", per_second);
    if (has_times) {
        (void)snprintf(p50, sizeof(p50), "%.3f ms", (double)median / 1e6);
        (void)snprintf(p99, sizeof(p99), "%.3f ms", (double)most / 1e6);
    }
    const char *const cells[] = {what, rate, p50, p99};
    bench->failed = bench->failed || !table_add(bench->table, cells, 4);
}

/* --- the disk --- */

/* A page beside the store is written anew and flushed. */
static int measure_disk(struct bench *bench)
{
    static char page[4096];
    char path[1024];
    (void)snprintf(path, sizeof(path), "%s-page", bench->path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool worked = fd >= 0 && pwrite(fd, page, sizeof(page), 0) == sizeof(page) && fsync(fd) == 0;
    uint64_t count = 0;
    begin(bench);
    int64_t start = now();
    while (worked && !is_over(bench)) {
        int64_t before = now();
        worked = pwrite(fd, page, sizeof(page), 0) == sizeof(page) && fdatasync(fd) == 0;
        histogram_record(&bench->times, now() - before);
        count++;
    }
    int why = errno;
    if (worked) {
        show(bench, "the disk: pages written and flushed", count, now() - start);
    }
    if (fd >= 0) {
        (void)close(fd);
        (void)unlink(path);
    }
    return worked ? EX_OK : report(EX_CANTCREAT, "%s: %s", quote(path).text, strerror(why));
}

/* --- puts --- */

static int put_alone(size_t piece, void *arg)
{
    struct bench *bench = arg;
    const struct weir_body body = {bench->body, bench->size, NULL};
    enum weir_status status = WEIR_OK;
    (void)piece;
    while (status == WEIR_OK && !is_over(bench)) {
        int64_t before = now();
        status = weir_broker_put(bench->store.broker, bench->tube, &body, 1, NULL, NULL, NULL);
        histogram_record(&bench->times, now() - before);
    }
    return (int)status;
}

static int put_batches(size_t piece, void *arg)
{
    struct bench *bench = arg;
    struct weir_body bodies[BATCH];
    enum weir_status status = WEIR_OK;
    (void)piece;
    for (size_t i = 0; i < BATCH; i++) {
        bodies[i] = (struct weir_body){bench->body, bench->size, NULL};
    }
    while (status == WEIR_OK && !is_over(bench)) {
        int64_t before = now();
        status = weir_broker_put(bench->store.broker, bench->tube, bodies, BATCH, NULL, NULL, NULL);
        histogram_record(&bench->times, now() - before);
    }
    return (int)status;
}

static int measure_puts(struct bench *bench)
{
    static const struct {
        const char *what;
        size_t threads;
        weir_piece_fn *fn;
        uint64_t each; /* jobs of a call */
    } ways[] = {{"puts, one after the other", 1, put_alone, 1},
                {"puts of 16 threads", THREADS, put_alone, 1},
                {"puts in batches of 100", 1, put_batches, BATCH}};
    struct weir_parallel_options options = {0};
    options.eager = THREADS;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && !atomic_load(&is_ended); i++) {
        begin(bench);
        int64_t start = now();
        int status =
            weir_parallelize(ways[i].threads, ways[i].threads, ways[i].fn, bench, &options);
        if (status != WEIR_OK) {
            return report_status((enum weir_status)status, "put", NULL);
        }
        show(bench, ways[i].what, histogram_count(&bench->times) * ways[i].each, now() - start);
    }
    return EX_OK;
}

/* --- runs --- */

/* A body may be a number. A cluster without claims runs each copy of its job: the first counts. */
static int note_start(weir_context *context, const struct weir_job *job, void *arg)
{
    struct bench *bench = arg;
    char text[NUMBER_SIZE] = "";
    (void)context;
    memcpy(text, job->body, job->body_size < sizeof(text) ? job->body_size : sizeof(text) - 1);
    size_t number = strtoull(text, NULL, 10);
    if (number > atomic_load(&bench->last)) {
        atomic_store(&bench->started_ns, now());
        atomic_store(&bench->last, number);
    }
    atomic_fetch_add(&bench->ran, 1);
    return WEIR_OK;
}

static enum weir_status start_consumer(struct bench *bench, uint32_t workers, uint32_t flags,
                                       weir_consumer **ret_consumer)
{
    struct weir_consumer_options options = {0};
    options.handler = note_start;
    options.arg = bench;
    options.workers = workers;
    options.flags = flags;
    atomic_store(&bench->ran, 0);
    enum weir_status status =
        weir_consumer_new(bench->store.broker, bench->tube, &options, ret_consumer, &bench->error);
    return status == WEIR_OK ? weir_consumer_start(*ret_consumer, &bench->error) : status;
}

/* Works off what was put, also after a signal: a cluster keeps nothing of it. */
static int work_off(struct bench *bench)
{
    weir_consumer *consumer = NULL;
    enum weir_status status = start_consumer(bench, WORKERS, WEIR_CONSUMER_UNTIL_EMPTY, &consumer);
    if (status == WEIR_OK) {
        status = weir_consumer_wait(consumer, WEIR_FOREVER, &bench->error);
    }
    weir_consumer_free(consumer);
    return status == WEIR_OK ? EX_OK : report_status(status, "work", &bench->error);
}

static int measure_work(struct bench *bench)
{
    int64_t start = now();
    int code = work_off(bench);
    memset(&bench->times, 0, sizeof(bench->times));
    if (code == EX_OK) {
        show(bench, "jobs worked off by 4 workers", atomic_load(&bench->ran), now() - start);
    }
    return code;
}

/* From a put to the start of its job by a worker that is idle. */
static int measure_starts(struct bench *bench)
{
    static const struct timespec pause = {0, 100000};
    char text[NUMBER_SIZE];
    weir_consumer *consumer = NULL;
    begin(bench);
    int64_t start = now();
    enum weir_status status = start_consumer(bench, 1, 0, &consumer);
    size_t count = 0;
    while (count < STARTS && status == WEIR_OK && !atomic_load(&is_ended)) {
        const struct weir_body body = {text, (size_t)snprintf(text, sizeof(text), "%zu", ++count),
                                       NULL};
        int64_t before = now();
        status =
            weir_broker_put(bench->store.broker, bench->tube, &body, 1, NULL, NULL, &bench->error);
        while (status == WEIR_OK && atomic_load(&bench->last) < count && !atomic_load(&is_ended)) {
            (void)nanosleep(&pause, NULL);
        }
        if (atomic_load(&bench->last) == count) {
            histogram_record(&bench->times, atomic_load(&bench->started_ns) - before);
        }
    }
    if (status == WEIR_OK && count > 0) {
        show(bench, "from a put to its start", histogram_count(&bench->times), now() - start);
    }
    weir_consumer_free(consumer);
    return status == WEIR_OK ? EX_OK : report_status(status, "work", &bench->error);
}

/* --- the whole --- */

static int measure(struct bench *bench)
{
    int code = bench->path != NULL ? measure_disk(bench) : EX_OK;
    if (code == EX_OK) {
        code = measure_puts(bench);
    }
    int worked = measure_work(bench);
    code = code == EX_OK ? worked : code;
    if (code == EX_OK && !atomic_load(&is_ended)) {
        code = measure_starts(bench);
        worked = work_off(bench);
        code = code == EX_OK ? worked : code;
    }
    if (code == EX_OK && (bench->failed || (!bench->json && table_print(bench->table) != EX_OK))) {
        code = table_refuse();
    }
    return code;
}

static int run_on(struct bench *bench, const struct arguments *arguments, const char *url)
{
    static const char scheme[] = "sqlite:";
    bool is_store = strncmp(url, scheme, strlen(scheme)) == 0;
    bench->path = is_store ? url + strlen(scheme) : NULL;
    if (is_store && strlen(bench->path) > 900) {
        return report(EX_USAGE, "%s: too long", quote(url).text);
    }
    if (is_store && access(bench->path, F_OK) == 0) {
        return report(EX_CANTCREAT,
                      "%s: exists; expected a path where a store can be made, "
                      "which is removed afterwards",
                      quote(bench->path).text);
    }
    (void)snprintf(bench->tube, sizeof(bench->tube), "weir-bench-%ld", (long)getpid());
    bench->body = calloc(1, bench->size + 1);
    bench->table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    if (bench->body == NULL || bench->table == NULL) {
        return report_status(WEIR_ENOMEM, "bench", NULL);
    }
    int code = store_open_url(&bench->store, arguments, url, "url", STORE_CHANGE);
    bool is_open = code == EX_OK;
    if (is_open) {
        code = measure(bench);
    }
    store_close(&bench->store);
    if (is_open && is_store) {
        store_remove(bench->path);
    }
    return code;
}

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct bench *bench = arg;
    int64_t number = 0;
    int code = EX_OK;
    switch ((enum bench_option)option) {
    case OPTION_TIME:
        return read_duration(name, text, WEIR_MS(1), &bench->time_ns);
    case OPTION_BODY_SIZE:
        code = read_number(name, text, 0, BODY_MOST, &number);
        bench->size = (size_t)number;
        return code;
    case OPTION_JSON:
        bench->json = true;
        break;
    }
    return EX_OK;
}

static int act(struct arguments *arguments, void *arg)
{
    struct bench *bench = arg;
    struct sigaction action = {.sa_handler = end, .sa_flags = SA_RESTART};
    if (arguments->broker != NULL) {
        return report(EX_USAGE, "--broker: %s: expected none beside the URL",
                      quote(arguments->broker).text);
    }
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    int code = run_on(bench, arguments, arguments->operands[0]);
    scols_unref_table(bench->table);
    free(bench->body);
    return code;
}

const struct command command_bench = {
    .name = "bench",
    .operands = "URL",
    .names = {"url"},
    .summary = "measure what a broker does on this machine",
    .examples = "  weir bench sqlite:/srv/bench.db    a store made there, and removed\n"
                "  weir bench beanstalk://a,b,c/      in a tube of its own\n",
    .options = bench_options,
    .set = set_option,
    .act = act,
    .state = &(struct bench){.time_ns = TIME_DEFAULT, .size = BODY_DEFAULT},
};
