/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ZONE_H
#define WEIRI_ZONE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/allocator.h>
#include <weir/status.h>

/* Time zones: what a clock on the wall shows, as a row of spans of constant offset. Read from the
 * system's tz database (TZif files of any version), never from the environment. A zone does not
 * change once it is made, so it may be used by any thread.
 *
 * All times are in seconds since the Unix epoch; a label is what the zone's clock shows then, as if
 * it were such a time of UTC. The rule of a file's footer is unrolled when it is read, up to the
 * last second that fits into 64 bits of nanoseconds: after that there is nothing but the table. */

/* A day more than what is representable at either end, so that no second is outside the spans. */
#define WEIRI_ZONE_BEGIN INT64_C(-9223458437)
#define WEIRI_ZONE_END INT64_C(9223458437)

/* No clock is set further from UTC (RFC 8536); files that say otherwise are refused. */
#define WEIRI_OFFSET_LEAST (-(25 * 3600 + 59 * 60 + 59))
#define WEIRI_OFFSET_MOST (26 * 3600 - 1)

/* From start_s to the start of the next span, the zone's clock shows time + offset_s. */
struct weiri_span {
    int64_t start_s;
    /* All labels before this one were shown in earlier spans, or skipped by them. */
    int64_t fresh_s;
    int64_t offset_s;
};

struct weiri_zone {
    struct weir_allocator allocator;
    size_t size;  /* of this block in bytes */
    size_t count; /* at least 1 */
    struct weiri_span spans[];
};

/* The zone of a name of the tz database, such as "Europe/Berlin", in a folder of TZif files; "UTC"
 * needs no file. Errors: WEIR_EINVAL (no name of a zone: empty, too long, absolute, a part that is
 * empty or begins with a dot, a character that no zone has), WEIR_ENOTFOUND, WEIR_EACCESS,
 * WEIR_EIO, WEIR_ECORRUPT (no TZif file, or a damaged one), WEIR_ENOTSUP (one that counts leap
 * seconds), WEIR_ENOMEM. */
WEIR_NODISCARD enum weir_status weiri_zone_load(const struct weir_allocator *allocator,
                                                const char *folder, const char *name,
                                                struct weiri_zone **ret_zone);

/* The zone of a TZif file at a path, which may be a link; UTC where there is none. Errors as above
 * but WEIR_EINVAL and WEIR_ENOTFOUND. */
WEIR_NODISCARD enum weir_status weiri_zone_load_local(const struct weir_allocator *allocator,
                                                      const char *path,
                                                      struct weiri_zone **ret_zone);

/* The zone of the bytes of a TZif file. Errors: WEIR_ECORRUPT, WEIR_ENOTSUP, WEIR_ENOMEM. */
WEIR_NODISCARD enum weir_status weiri_zone_decode(const struct weir_allocator *allocator,
                                                  const unsigned char *bytes, size_t size,
                                                  struct weiri_zone **ret_zone);

/* Errors: WEIR_ENOMEM. */
WEIR_NODISCARD enum weir_status weiri_zone_utc(const struct weir_allocator *allocator,
                                               struct weiri_zone **ret_zone);

/* Takes NULL. */
void weiri_zone_free(struct weiri_zone *zone);

/* The index of the span that a time lies in; the time is of [WEIRI_ZONE_BEGIN, WEIRI_ZONE_END). */
size_t weiri_zone_span_at(const struct weiri_zone *zone, int64_t time_s);

/* When a span ends: WEIRI_ZONE_END for the last. */
static inline int64_t weiri_zone_span_end(const struct weiri_zone *zone, size_t span)
{
    return span + 1 < zone->count ? zone->spans[span + 1].start_s : WEIRI_ZONE_END;
}

#endif
