/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/schedule_entry.h"

#include <string.h>
#include <sysexits.h>

#include "cli/moment.h"
#include "cli/report.h"
#include "view/text.h"

static int read_missed(const char *name, const char *text, enum weir_missed *ret_missed)
{
    return text_read_missed(text, ret_missed)
               ? EX_OK
               : report(EX_USAGE, "%s: %s: unknown policy; expected one of once, skip, all", name,
                        quote(text).text);
}

int schedule_entry_set(int option, const char *name, const char *text, void *arg)
{
    struct weir_job_schedule_options *options = arg;
    int64_t number = 0;
    int code = EX_OK;
    switch ((enum schedule_option)option) {
    case SCHEDULE_CRON:
        options->cron = text;
        return EX_OK;
    case SCHEDULE_EVERY:
        return read_duration(name, text, WEIR_MS(100), &options->interval_ns);
    case SCHEDULE_ZONE:
        options->zone = text;
        return EX_OK;
    case SCHEDULE_FIRST:
        return read_moment(name, text, moment_now(), &options->first_at_ns);
    case SCHEDULE_MISSED:
        return read_missed(name, text, &options->missed);
    case SCHEDULE_TOLERANCE:
        return read_duration(name, text, 1, &options->tolerance_ns);
    case SCHEDULE_CATCH_UP:
        code = read_number(name, text, 1, WEIR_SCHEDULE_CATCH_UP_LIMIT, &number);
        options->catch_up_max = (uint32_t)number;
        return code;
    case SCHEDULE_PRIORITY:
        code = read_number(name, text, INT32_MIN, INT32_MAX, &number);
        options->priority = (int32_t)number;
        return code;
    case SCHEDULE_TTR:
        return read_duration(name, text, WEIR_MS(100), &options->ttr_ns);
    case SCHEDULE_NO_OVERLAP:
        options->flags |= WEIR_SCHEDULE_NO_OVERLAP;
        break;
    }
    return EX_OK;
}

int schedule_entry_check(const struct weir_job_schedule_options *options, const char *place,
                         const char *dashes)
{
    if ((options->cron != NULL) == (options->interval_ns != 0)) {
        if (options->cron == NULL) {
            return report(EX_USAGE, "%sno times; expected one of %scron and %severy", place, dashes,
                          dashes);
        }
        return report(EX_USAGE,
                      "%s%scron and %severy: both given; expected one of %scron and "
                      "%severy",
                      place, dashes, dashes, dashes, dashes);
    }
    if (options->zone != NULL && options->cron == NULL) {
        return report(EX_USAGE, "%s%szone: without %scron; expected it beside an expression", place,
                      dashes, dashes);
    }
    if (options->tolerance_ns > 0 && options->missed != WEIR_MISSED_SKIP) {
        return report(EX_USAGE, "%s%stolerance: expected it beside %smissed skip", place, dashes,
                      dashes);
    }
    if (options->catch_up_max > 0 && options->missed != WEIR_MISSED_ALL) {
        return report(EX_USAGE, "%s%scatch-up: expected it beside %smissed all", place, dashes,
                      dashes);
    }
    return EX_OK;
}

int schedule_entry_put(weir_broker *broker, const struct weir_job_schedule_options *options,
                       const char *place)
{
    struct weir_error error = {0};
    enum weir_status status = weir_broker_schedule_put(broker, options, &error);
    /* A name, an expression or a zone. */
    bool is_usage = status == WEIR_EINVAL || status == WEIR_ETOOBIG || status == WEIR_ERANGE ||
                    status == WEIR_ENOTFOUND;
    return status == WEIR_OK ? EX_OK
           : is_usage        ? report(EX_USAGE, "%s%s", place, error.text)
                             : report_status(status, quote(options->name).text, &error);
}
