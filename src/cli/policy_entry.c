/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/policy_entry.h"

#include <string.h>
#include <sysexits.h>

#include <weir/duration.h>

#include "cli/report.h"
#include "view/text.h"

int policy_entry_set(int option, const char *name, const char *text, void *arg)
{
    struct weir_tube_policy *change = arg;
    int64_t number = WEIR_FOREVER;
    int code = EX_OK;
    switch ((enum policy_option)option) {
    case POLICY_KEEP:
        change->members |= WEIR_POLICY_KEEP_NS;
        code = strcmp(text, "forever") == 0 ? EX_OK : read_duration(name, text, 0, &number);
        change->keep_ns = number == 0 ? WEIR_KEEP_NONE : number;
        return code;
    case POLICY_ARCHIVE:
        change->members |= WEIR_POLICY_ARCHIVE;
        change->archive = strcmp(text, "yes") == 0;
        return change->archive != 0 || strcmp(text, "no") == 0
                   ? EX_OK
                   : report(EX_USAGE, "%s: %s: expected yes or no", name, quote(text).text);
    case POLICY_KEEP_COUNT:
        change->members |= WEIR_POLICY_KEEP_COUNT;
        code = read_number(name, text, 0, INT64_C(999999999999999999), &number);
        change->keep_count = (uint64_t)number;
        return code;
    case POLICY_LATE:
        change->members |= WEIR_POLICY_LATE;
        return text_read_late(text, &change->late)
                   ? EX_OK
                   : report(EX_USAGE, "%s: %s: expected run, bury or drop", name, quote(text).text);
    case POLICY_LATE_AFTER:
        change->members |= WEIR_POLICY_LATE_NS;
        return read_duration(name, text, 1, &change->late_ns);
    case POLICY_PER_GROUP:
        change->members |= WEIR_POLICY_GROUP_LIMIT;
        code = read_number(name, text, 0, UINT32_MAX, &number);
        change->group_limit = (uint32_t)number;
        return code;
    }
    return EX_OK;
}

int policy_entry_check(const struct weir_tube_policy *change, const char *place, const char *dashes)
{
    if ((change->members & WEIR_POLICY_LATE) != 0 && change->late == WEIR_LATE_RUN &&
        change->late_ns > 0) {
        return report(EX_USAGE, "%s%slate-after: late jobs run; expected %slate bury or drop",
                      place, dashes, dashes);
    }
    return EX_OK;
}

int policy_entry_apply(weir_broker *broker, const char *tube, const struct weir_tube_policy *change)
{
    struct weir_error error = {0};
    enum weir_status status =
        change->members == 0 ? WEIR_OK : weir_broker_set_policy(broker, tube, change, &error);
    return status == WEIR_OK ? EX_OK : report_status(status, quote(tube).text, &error);
}
