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
 * | second, only with WEIR_CRON_SECONDS, where it may be left out: 0 | 0 to 59 | |
 * | minute | 0 to 59 | |
 * | hour | 0 to 23 | |
 * | day of the month | 1 to 31 | |
 * | month | 1 to 12 | jan to dec |
 * | day of the week | 0 to 7, both 0 and 7 are Sunday | sun to sat |
 *
 * A field is a list, `1,15`, of values, ranges `9-17`, or `*` for all values. A range may have a
 * step, `9-17/2`, so may `*`; `9/2` is from 9 to the last value. A range that ends with `sun` ends
 * with 7. Names are of three letters in either case. Fields are separated by spaces or tabs.
 *
 * A day matches by its month, its day of the month and its day of the week. Where both of the last
 * two are restricted, which is to say that neither begins with a star, either is enough, as in
 * every cron: `0 0 13 * fri` is each 13th and each Friday. A date that no year has is refused.
 *
 * In place of the fields: `@yearly` or `@annually` (`0 0 1 1 *`), `@monthly` (`0 0 1 * *`),
 * `@weekly` (`0 0 * * 0`), `@daily` or `@midnight` (`0 0 * * *`), `@hourly` (`0 * * * *`), or
 * `@every DURATION` as of weir_duration_parse(): the times that are whole multiples of it since the
 * Unix epoch, in any zone. Before all of it `CRON_TZ=Zone` names the zone.
 *
 * Where clocks are changed, as in Debian's cron: an expression whose minute or hour (or second)
 * begins with a star is of real time: it fires at each moment at which clocks show a time that
 * matches, twice where they show it twice, and not where they skip it. Any other names times of the
 * day, of which each comes once: at its first occurrence; and where it is skipped, at the moment of
 * the change, once for all times that are. That holds for changes of any length, for whatever
 * reason, a skipped date included. */

/** An expression that has been read. Opaque, immutable, reference-counted. */
typedef struct weir_cron weir_cron;

/** Flags of weir_cron_new(). */
enum weir_cron_flags {
    WEIR_CRON_SECONDS = 1 /**< Six fields are allowed, of which the first is the second. */
};

/** How to read an expression. Zero means the default of every field. */
struct weir_cron_options {
    size_t size;                     /**< Set by WEIR_CRON_OPTIONS_INIT. */
    struct weir_allocator allocator; /**< Copied; all members NULL: libc's. */
    /** The zone where the text names none; a name of the tz database, or "UTC", which needs none.
     * NULL: the one of this system, /etc/localtime, or UTC where there is no such file. The
     * environment is not looked at. */
    const char *zone;
    const char *zone_folder; /**< The compiled tz database; NULL: /usr/share/zoneinfo. */
    uint32_t flags;          /**< Of enum weir_cron_flags. */
    uint32_t reserved0;      /**< Zero. */
};

/** Initialiser of struct weir_cron_options. */
#define WEIR_CRON_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(struct weir_cron_options), {0, 0, 0, 0}, 0, 0, 0, 0                                 \
    }

/** What is wrong with an expression. Caller-owned. */
struct weir_cron_error {
    size_t offset;  /**< Of the offending piece in the text. */
    size_t length;  /**< Of the piece; 0 where something is missing, or not in the text. */
    char text[208]; /**< One line: the piece, where it is and what was expected; ends in NUL. */
};

/** Reads an expression, and its zone out of the tz database: a zone that is changed later needs a
 * new one. Returns owned: weir_cron_unref(). ret_error (may be NULL) is set on failure by what
 * looked at the text or the zone. Files are read, which blocks.
 *
 * An expression takes some 16 KiB where its zone has summer time: share it.
 *
 * Errors: WEIR_EINVAL (text or ret_cron NULL, options of an unknown size, with an unknown field or
 * flag set, an allocator with some members NULL; a text that is no expression, a date that no year
 * has, a zone that is no name), WEIR_ERANGE (`@every` of no length or beyond 2^63-1 ns),
 * WEIR_ETOOBIG (a text of more than 1,000 bytes), WEIR_ENOTFOUND (there is no such zone),
 * WEIR_ENOTSUP (a zone that counts leap seconds), WEIR_ECORRUPT, WEIR_EACCESS, WEIR_EIO (a zone
 * that cannot be read), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_cron_new(const char *text,
                                                       const struct weir_cron_options *options,
                                                       weir_cron **ret_cron,
                                                       struct weir_cron_error *ret_error);

/** Takes one more reference, which the caller must have one for; returns cron. Takes NULL.
 * Thread-safe. */
WEIR_API weir_cron *weir_cron_ref(weir_cron *cron);

/** Gives one reference back; the last one frees it. Takes NULL. Thread-safe. */
WEIR_API void weir_cron_unref(weir_cron *cron);

/** The first time after after_ns at which it fires. Times are in nanoseconds since the Unix epoch,
 * and may be before it; all but those of `@every` are whole seconds. Does not block or allocate.
 * Thread-safe. Errors: WEIR_EINVAL (NULL), WEIR_ENOTFOUND (none before the last that fits into 64
 * bits, in the year 2262). */
WEIR_API WEIR_NODISCARD enum weir_status weir_cron_next(const weir_cron *cron, int64_t after_ns,
                                                        int64_t *ret_ns);

/** The first count times after after_ns at which it fires, in order; ret_count is how many there
 * were: fewer only at the end of the numbers. ret_times has room for count. Errors: WEIR_EINVAL
 * (cron or ret_count NULL, ret_times NULL with a count). */
WEIR_API WEIR_NODISCARD enum weir_status weir_cron_next_batch(const weir_cron *cron,
                                                              int64_t after_ns, size_t count,
                                                              int64_t *ret_times,
                                                              size_t *ret_count);

WEIR_END_DECLS

#endif
