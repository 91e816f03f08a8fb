/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/tally.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include <weir/clock.h>
#include <weir/duration.h>

#include "cli/report.h"

void tally_add(struct tally *tally, enum weir_run_outcome outcome, int64_t run_ns)
{
    /* What was given back is no run, nor is what the store buried without one. */
    if (run_ns > 0 && outcome != WEIR_RUN_RETURNED) {
        histogram_record(&tally->run_ns, run_ns);
    }
    switch (outcome) {
    case WEIR_RUN_DONE:
        atomic_fetch_add(&tally->done, 1);
        break;
    case WEIR_RUN_RETRY:
        atomic_fetch_add(&tally->retried, 1);
        break;
    case WEIR_RUN_BURIED:
        atomic_fetch_add(&tally->buried, 1);
        break;
    case WEIR_RUN_LOST:
        atomic_fetch_add(&tally->lost, 1);
        break;
    default:
        break;
    }
}

double tally_seconds(const struct tally *tally)
{
    int64_t ended = atomic_load(&tally->ended_ns);
    int64_t passed =
        (ended != 0 ? ended : weir_clock_now(weir_clock_monotonic())) - tally->started_ns;
    return (double)(passed > 0 ? passed : 1) / 1e9;
}

double tally_rate(const struct tally *tally)
{
    return (double)atomic_load(&tally->done) / tally_seconds(tally);
}

static double run_seconds(const struct tally *tally, unsigned permille)
{
    return (double)histogram_permille(&tally->run_ns, permille) / 1e9;
}

void tally_report(const struct tally *tally, const char *tube)
{
    char half[32];
    char most[32];
    (void)weir_duration_format(histogram_permille(&tally->run_ns, 500), half, sizeof(half));
    (void)weir_duration_format(histogram_permille(&tally->run_ns, 990), most, sizeof(most));
    (void)report(EX_OK,
                 "%s: %" PRIuFAST64 " jobs done in %.2f s (%.1f/s), %" PRIu64
                 " runs (p50 %s, p99 %s), %" PRIuFAST64 " retries, %" PRIuFAST64
                 " buried, %" PRIuFAST64 " lost",
                 tube, atomic_load(&tally->done), tally_seconds(tally), tally_rate(tally),
                 histogram_count(&tally->run_ns), half, most, atomic_load(&tally->retried),
                 atomic_load(&tally->buried), atomic_load(&tally->lost));
}

static bool write_object(const struct tally *tally, const char *tube, FILE *file)
{
    json_t *object = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:{s:f, s:f, s:f, s:f}}", "tube", tube, "done",
        (json_int_t)atomic_load(&tally->done), "runs", (json_int_t)histogram_count(&tally->run_ns),
        "retried", (json_int_t)atomic_load(&tally->retried), "buried",
        (json_int_t)atomic_load(&tally->buried), "lost", (json_int_t)atomic_load(&tally->lost),
        "seconds", tally_seconds(tally), "done_per_second", tally_rate(tally), "run_seconds", "p50",
        run_seconds(tally, 500), "p90", run_seconds(tally, 900), "p99", run_seconds(tally, 990),
        "max", run_seconds(tally, 1000));
    bool written = object != NULL &&
                   json_dumpf(object, file, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0 &&
                   fputc('\n', file) != EOF;
    json_decref(object);
    return written;
}

int tally_write(const struct tally *tally, const char *tube, const char *path)
{
    if (path == NULL) {
        return write_object(tally, tube, stdout) && fflush(stdout) == 0
                   ? EX_OK
                   : report(EX_IOERR, "standard output: %s", strerror(errno));
    }
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        return report(EX_CANTCREAT, "--summary: %s: %s", quote(path).text, strerror(errno));
    }
    bool written = write_object(tally, tube, file);
    if (fclose(file) != 0 || !written) {
        return report(EX_IOERR, "--summary: %s: %s", quote(path).text, strerror(errno));
    }
    return EX_OK;
}
