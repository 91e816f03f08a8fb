/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* tm_gmtoff */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include <weir/cron.h>

#include "cli/arguments.h"
#include "cli/moment.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/when.h"
#include "view/timestamp.h"

enum cron_option {
    OPTION_COUNT = OPTION_OWN,
    OPTION_FROM,
    OPTION_JSON,
    OPTION_ZONE
};

#define COUNT_MOST 1000

static const struct poptOption cron_options[] = {
    OPTION_VALUE("count", 'n', OPTION_COUNT, "How many times to show (default: 5)", "N"),
    OPTION_VALUE("zone", 'z', OPTION_ZONE,
                 "The zone of an expression that names none, e.g. Europe/Berlin (default: that of "
                 "$TZ, or this system's)",
                 "ZONE"),
    OPTION_VALUE("from", '\0', OPTION_FROM, "Begin after this time instead of now", "TIME"),
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object a time instead of words"),
    POPT_TABLEEND,
};

struct explain {
    const char *zone;
    int64_t count;
    int64_t from_ns;
    bool json;
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct explain *explain = arg;
    switch ((enum cron_option)option) {
    case OPTION_COUNT:
        return read_number(name, text, 1, COUNT_MOST, &explain->count);
    case OPTION_FROM:
        return read_moment(name, text, explain->from_ns, &explain->from_ns);
    case OPTION_ZONE:
        explain->zone = text;
        return EX_OK;
    case OPTION_JSON:
        explain->json = true;
        break;
    }
    return EX_OK;
}

/* How far the zone's clocks are before those of UTC: the end of a time that is shown. */
static int64_t offset_of(const char *shown)
{
    char sign = '+';
    int hours = 0;
    int minutes = 0;
    (void)sscanf(shown + strlen("Thu 1970-01-01 00:00:00 "), "%c%2d:%2d", &sign, &hours, &minutes);
    int64_t offset_ns = WEIR_SECONDS(hours * 3600 + minutes * 60);
    return sign == '-' ? -offset_ns : offset_ns;
}

static bool print_time(const struct explain *explain, const weir_cron *cron, int64_t at_ns,
                       int64_t before_ns)
{
    char at[WHEN_SIZE];
    char before[WHEN_SIZE];
    char wait[32];
    char change[80] = "";
    char by[32];
    (void)weir_cron_format(cron, at_ns, at, sizeof(at));
    (void)weir_cron_format(cron, before_ns, before, sizeof(before));
    int64_t changed_ns = offset_of(at) - offset_of(before);
    int64_t wait_ns = at_ns - explain->from_ns;
    wait_ns -= wait_ns < WEIR_SECONDS(10) ? 0 : wait_ns % WEIR_SECONDS(1);
    (void)weir_duration_format(wait_ns, wait, sizeof(wait));
    if (explain->json) {
        char utc[TIMESTAMP_SIZE];
        timestamp_write(at_ns, utc);
        return table_print_json(json_pack("{s:s, s:s, s:I}", "at", utc, "local", at,
                                          "clocks_changed_ns", (json_int_t)changed_ns));
    }
    if (changed_ns != 0) {
        (void)weir_duration_format(llabs(changed_ns), by, sizeof(by));
        (void)snprintf(change, sizeof(change), "  clocks were put %s by %s in between",
                       changed_ns > 0 ? "forward" : "back", by);
    }
    return printf("%s  in %s%s\n", at, wait, change) >= 0;
}

static int print_times(const struct explain *explain, const weir_cron *cron)
{
    int64_t before_ns = explain->from_ns;
    for (int64_t i = 0; i < explain->count; i++) {
        int64_t at_ns = 0;
        if (weir_cron_next(cron, before_ns, &at_ns) != WEIR_OK) {
            return i > 0 ? EX_OK : report(EX_DATAERR, "it never fires after that");
        }
        if (!print_time(explain, cron, at_ns, before_ns)) {
            return table_refuse();
        }
        before_ns = at_ns;
    }
    return EX_OK;
}

static int explain_text(struct arguments *arguments, void *arg)
{
    const struct explain *explain = arg;
    const char *text = arguments->operands[1];
    struct weir_cron_options options = {0};
    struct weir_error error;
    weir_cron *cron = NULL;
    if (strcmp(arguments->operands[0], "explain") != 0) {
        return report(EX_USAGE, "%s: expected explain", quote(arguments->operands[0]).text);
    }
    options.zone = explain->zone;
    options.flags = WEIR_CRON_SECONDS;
    enum weir_status status = weir_cron_new(text, &options, &cron, &error);
    if (status != WEIR_OK) {
        return report(status == WEIR_ENOMEM ? EX_OSERR : EX_USAGE, "%s: %s", quote(text).text,
                      error.text);
    }
    int code = print_times(explain, cron);
    weir_cron_unref(cron);
    return code;
}

static int run_cron(const struct command *command, int argc, char **argv)
{
    const char *zone = getenv("TZ");
    zone = zone != NULL && zone[0] == '\0' ? "UTC" : zone; /* as the system's calls take it */
    struct explain explain = {.count = 5, .from_ns = moment_now(), .zone = zone};
    return arguments_run(command, argc, argv, set_option, explain_text, &explain);
}

const struct command command_cron = {
    .name = "cron",
    .operands = "explain EXPRESSION",
    .names = {"explain", "expression"},
    .summary = "tell when a cron expression fires",
    .examples = "  weir cron explain '*/15 9-17 * * mon-fri'\n"
                "  weir cron explain -n 3 --zone Europe/Berlin '30 2 * * *'\n",
    .options = cron_options,
    .run = run_cron,
};
