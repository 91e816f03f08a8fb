/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What was due before the wall clock was set back must not wait again. meta notes by how much it
 * was ahead of the clock of the boot, which nobody sets: that changes neither where the pace of
 * clocks is adjusted nor while the machine sleeps. All delayed jobs were written by a clock that
 * was not behind the note, but for SLACK_NS. So the note is lowered first, and a delayed job
 * written then. */
#include <inttypes.h>

#include "base/error.h"
#include "base/time.h"
#include "jobs/sqlite/row.h"
#include "jobs/sqlite/write.h"

/* The note is exact to 1 ms. */
#define SLACK_NS WEIR_MS(10)
/* By a clock that was further ahead nothing was due. */
#define STEP_MAX_NS WEIR_SECONDS(86400)

bool weiri_clock_follow(struct weiri_store *store, bool is_look, struct weiri_now *ret_now)
{
    struct weiri_connection *writer = &store->writer;
    const struct weiri_clocks *clocks = &store->config->clocks;
    int64_t noted;
    int64_t start;
    int64_t end;
    do { /* again, where the thread stood still in between */
        start = clocks->boot(clocks->arg);
        *ret_now = weiri_store_times(store);
        end = clocks->boot(clocks->arg);
    } while (end - start > WEIR_MS(1));
    int64_t ahead = weiri_time_sub(ret_now->wall_ns, end);
    bool is_noted = weiri_sql_find(writer, WEIRI_SQL_CLOCK, WEIRI_VALUES(store->clock), &noted);
    int64_t back_ns = is_noted ? weiri_time_sub(noted, ahead) : 0;
    /* A full disk has no space for what was due: it waits for its time. */
    if (back_ns > STEP_MAX_NS || (back_ns > SLACK_NS && store->is_full)) {
        store->remark = (struct weiri_remark){.level = WEIR_LOG_WARNING, .after = ""};
        (void)weiri_fail(&store->remark.error, WEIR_EPAST,
                         "the wall clock was set back by %" PRId64
                         " s: delayed jobs wait for their times, also where they were due",
                         back_ns / WEIR_SECONDS(1));
    } else if (back_ns > SLACK_NS) {
        int64_t due_ns = weiri_time_add(ret_now->wall_ns, back_ns - SLACK_NS);
        weiri_sql_run(writer, WEIRI_SQL_MAKE_READY,
                      WEIRI_VALUES(ret_now->wall_ns, due_ns, store->follow_left));
        int64_t count = sqlite3_changes(writer->db);
        store->follow_left -= count;
        /* Any tube may have some. */
        for (unsigned channel = 0; channel < WEIRI_CHANNELS && count > 0; channel++) {
            weiri_write_notify(store, channel, INT_MAX);
        }
        if (store->follow_left == 0) {
            return false;
        }
    }
    if (!is_noted || back_ns > SLACK_NS || (is_look && back_ns < -SLACK_NS)) {
        weiri_sql_run(writer, WEIRI_SQL_NOTE_CLOCK, WEIRI_VALUES(store->clock, ahead));
    }
    return true;
}
