/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ZONE_H
#define WEIRI_ZONE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/allocator.h>
#include <weir/status.h>

/* A time zone is a row of spans of constant offset from UTC. It is read from the system's tz
 * database (TZif files of any version), never from the environment. It is immutable, so any thread
 * may use it.
 *
 * All times are in seconds since the Unix epoch. A label is what a clock of the zone shows at a
 * time, counted as if it were a time of UTC. The rule in a file's footer is unrolled into spans
 * when the file is read, up to the last second that fits into 64 bits of nanoseconds. */

/* A day more at either end than 64 bits of nanoseconds hold, so that every second has a span. */
#define WEIRI_ZONE_BEGIN INT64_C(-9223458437)
#define WEIRI_ZONE_END INT64_C(9223458437)

/* The largest offsets of RFC 8536. A file with a larger one is refused. */
#define WEIRI_OFFSET_LEAST (-(25 * 3600 + 59 * 60 + 59))
#define WEIRI_OFFSET_MOST (26 * 3600 - 1)

/* From start_s to the start of the next span, the zone's clock shows time + offset_s. */
struct weiri_span {
    int64_t start_s;
    /* Labels below this one were shown or skipped before the span: the highest end of the labels of
     * all earlier spans. Of the first span it is the label of its start. */
    int64_t fresh_s;
    int64_t offset_s;
};

struct weiri_zone {
    struct weir_allocator allocator;
    size_t size;  /* of this block in bytes */
    size_t count; /* at least 1 */
    struct weiri_span spans[];
};

/* Loads a zone by its name in the tz database, such as "Europe/Berlin", from a folder of TZif
 * files. "UTC" needs no file. Returns owned: weiri_zone_free(). Errors: WEIR_EINVAL (not a zone's
 * name: empty, too long, absolute, a part that is empty or begins with a dot or a dash, a character
 * that no zone has), WEIR_ENOTFOUND, WEIR_EACCESS, WEIR_EIO, WEIR_ECORRUPT (not a TZif file, or a
 * damaged one), WEIR_ENOTSUP (a zone that counts leap seconds), WEIR_ENOMEM. */
WEIR_NODISCARD enum weir_status weiri_zone_load(const struct weir_allocator *allocator,
                                                const char *folder, const char *name,
                                                struct weiri_zone **ret_zone);

/* Loads the TZif file at a path, which may be a link. UTC if there is no file. Errors: as above,
 * without WEIR_EINVAL and WEIR_ENOTFOUND. */
WEIR_NODISCARD enum weir_status weiri_zone_load_local(const struct weir_allocator *allocator,
                                                      const char *path,
                                                      struct weiri_zone **ret_zone);

/* Decodes the bytes of a TZif file. Errors: WEIR_ECORRUPT, WEIR_ENOTSUP, WEIR_ENOMEM. */
WEIR_NODISCARD enum weir_status weiri_zone_decode(const struct weir_allocator *allocator,
                                                  const unsigned char *bytes, size_t size,
                                                  struct weiri_zone **ret_zone);

/* Makes UTC, with memory for so many spans. Errors: WEIR_ENOMEM. */
WEIR_NODISCARD enum weir_status weiri_zone_new(const struct weir_allocator *allocator, size_t spans,
                                               struct weiri_zone **ret_zone);

/* Takes NULL. */
void weiri_zone_free(struct weiri_zone *zone);

/* The index of the span of a time in [WEIRI_ZONE_BEGIN, WEIRI_ZONE_END). */
size_t weiri_zone_span_at(const struct weiri_zone *zone, int64_t time_s);

/* The end of a span; WEIRI_ZONE_END for the last. */
static inline int64_t weiri_zone_span_end(const struct weiri_zone *zone, size_t span)
{
    return span + 1 < zone->count ? zone->spans[span + 1].start_s : WEIRI_ZONE_END;
}

#endif
