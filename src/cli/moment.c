/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/moment.h"

#include <sysexits.h>
#include <time.h>

#include <weir/duration.h>

#include "cli/report.h"
#include "cli/when.h"
#include "view/timestamp.h"

int64_t moment_now(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return WEIR_SECONDS(now.tv_sec) + now.tv_nsec;
}

int read_moment(const char *name, const char *text, int64_t now_ns, int64_t *ret_ns)
{
    size_t offset = 0;
    size_t word = 0;
    char understood[WHEN_SIZE];
    if (timestamp_read(text, ret_ns, &offset)) {
        return EX_OK;
    }
    enum when_result result = when_read(text, now_ns, ret_ns, &word);
    if (result == WHEN_SKIPPED) {
        return report(EX_USAGE,
                      "%s: %s: does not exist, because clocks skip it; expected a time that they "
                      "show",
                      name, quote(text).text);
    }
    if (result != WHEN_READ) {
        return report(EX_USAGE,
                      "%s: %s: not a time at character %zu; expected one such as "
                      "2030-01-31T08:00:00Z, @1896076800, 'now + 10 minutes', 'tomorrow 9:00' or "
                      "'friday 5pm'",
                      name, quote(text).text, (offset > word ? offset : word) + 1);
    }
    when_write(*ret_ns, understood);
    return report(EX_OK, "%s: %s", name, understood);
}
