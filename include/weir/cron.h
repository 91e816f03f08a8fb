/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_CRON_H
#define WEIR_CRON_H

#include <stddef.h>
#include <stdint.h>

#include <weir/allocator.h>
#include <weir/duration.h>
#include <weir/export.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * Cron expressions: times of the calendar in a time zone, such as `30 2 * * mon-fri`.
 *
 * | field | values | names |
 * |---|---|---|
 * | second: only with WEIR_CRON_SECONDS; 0 if it is left out | 0 to 59 | |
 * | minute | 0 to 59 | |
 * | hour | 0 to 23 | |
 * | day of the month | 1 to 31 | |
 * | month | 1 to 12 | jan to dec |
 * | day of the week | 0 to 7, both 0 and 7 are Sunday | sun to sat |
 *
 * Fields are separated by spaces or tabs. A field is a list of items, `1,15`. An item is a value, a
 * range `9-17`, or `*` for all values. A range or `*` may have a step: `9-17/2` is 9, 11, 13, 15
 * and 17. A value with a step is a range to the field's last value: `9/2` in the hour is `9-23/2`,
 * and `3/1` in the day of the week is `3-7/1`, so it includes Sunday. A range that ends with `sun`
 * ends with 7. A step is at least 1 and at most the field's last value. Names have three letters,
 * in either case.
 *
 * A day matches by its month, its day of the month and its day of the week. The last two are
 * restricted if they do not begin with a star. If both are restricted, either is enough, as in
 * every cron: `0 0 13 * fri` is each 13th and each Friday. A date that no year has is refused.
 *
 * In place of the fields: `@yearly` or `@annually` (`0 0 1 1 *`), `@monthly` (`0 0 1 * *`),
 * `@weekly` (`0 0 * * 0`), `@daily` or `@midnight` (`0 0 * * *`), `@hourly` (`0 * * * *`), or
 * `@every DURATION`, with a duration as weir_duration_parse() reads it. `@every` fires at the whole
 * multiples of the duration since the Unix epoch, in any zone. `CRON_TZ=Zone` before the fields
 * names the zone.
 *
 * Changes of the clocks are handled as in Debian's cron. There are two kinds of expressions:
 *
 * - One whose minute, hour or second begins with a star follows real time. It fires at each moment
 *   at which clocks show a time that matches: twice if they show it twice, never if they skip it.
 * - Any other names times of the day. Each of them comes once: at its first occurrence if clocks
 *   show it twice. If clocks skip it, it comes at the moment of the change, and all that are
 *   skipped come together.
 *
 * This holds for changes of any length and for any reason, also where a whole date is skipped. */

/** An expression that has been read. Opaque, immutable, reference-counted. */
typedef struct weir_cron weir_cron;

/** Flags of weir_cron_new(). */
enum weir_cron_flags {
    WEIR_CRON_SECONDS = 1 /**< Six fields are allowed; the first of six is the second. */
};

/** How to read an expression. Zero means the default of every field. */
struct weir_cron_options {
    struct weir_allocator allocator; /**< Copied; all members NULL: libc's. */
    /** The zone if the text names none: a name of the tz database, or "UTC", which needs no
     * database. NULL: the zone of this system, /etc/localtime, or UTC if there is no such file. The
     * environment is not read. Borrowed during weir_cron_new(). */
    const char *zone;
    /** The folder of the compiled tz database; NULL: /usr/share/zoneinfo. Borrowed during
     * weir_cron_new(). */
    const char *zone_folder;
    uint32_t flags; /**< Of enum weir_cron_flags. */
};

/** Reads an expression, and loads its zone from the tz database. A zone that is changed on disk
 * later needs a new expression. Borrows text and options; returns owned: weir_cron_unref(). Reads
 * files, so it may block. An expression takes some 16 KiB if its zone has summer time: share it.
 * Errors: WEIR_EINVAL (an unknown flag, allocator, no expression, a date that no year has, no name
 * of a zone), WEIR_ERANGE (the duration of `@every` is 0 or above 2^63-1 ns), WEIR_ETOOBIG (more
 * than 1,000 bytes), WEIR_ENOTFOUND (there is no such zone), WEIR_ENOTSUP (the zone counts leap
 * seconds), WEIR_ECORRUPT, WEIR_EACCESS, WEIR_EIO (the zone's file is damaged or cannot be read),
 * WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_cron_new(const char *text,
                                                       const struct weir_cron_options *options,
                                                       weir_cron **ret_cron,
                                                       struct weir_error *ret_error);

/** Gives the caller's reference back; the last one, of an envelope too, frees the expression. Takes
 * NULL. Thread-safe. */
WEIR_API void weir_cron_unref(weir_cron *cron);

/** Finds the first time after after_ns at which the expression fires. Times are in nanoseconds
 * since the Unix epoch, and may be before it. All are whole seconds, except those of `@every`. Does
 * not block or allocate. Thread-safe. Errors: WEIR_EINVAL, WEIR_ENOTFOUND (it does not fire again
 * before 64 bits end, in the year 2262). */
WEIR_API WEIR_NODISCARD enum weir_status weir_cron_next(const weir_cron *cron, int64_t after_ns,
                                                        int64_t *ret_ns);

/** Writes a time, in nanoseconds since the Unix epoch, as clocks of the expression's zone show it:
 * "Thu 2024-10-31 02:30:00 +01:00", without a fraction of a second, and with the seconds of an
 * offset that has any. The text in buffer always ends in NUL, unless size is 0 or buffer NULL.
 * Returns the length of the whole text, as snprintf does; that of "", where cron is NULL. Does not
 * block or allocate. Thread-safe. */
WEIR_API size_t weir_cron_format(const weir_cron *cron, int64_t time_ns, char *buffer, size_t size);

WEIR_END_DECLS

#endif
