/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Zone files: any bytes are refused or make a row of spans, on which cron expressions go forward.
 */

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/panic.h"
#include "cron/cron.h"

#define FIRINGS 6

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_spans(const struct weiri_zone *zone)
{
    WEIRI_ASSERT(zone->count >= 1 && zone->spans[0].start_s == WEIRI_ZONE_BEGIN);
    for (size_t i = 0; i < zone->count; i++) {
        const struct weiri_span *span = &zone->spans[i];
        int64_t end_s = weiri_zone_span_end(zone, i);
        WEIRI_ASSERT(span->start_s < end_s);
        WEIRI_ASSERT(span->offset_s >= WEIRI_OFFSET_LEAST && span->offset_s <= WEIRI_OFFSET_MOST);
        WEIRI_ASSERT(i == 0 || span->fresh_s >= zone->spans[i - 1].fresh_s);
        WEIRI_ASSERT(weiri_zone_span_at(zone, span->start_s) == i);
        WEIRI_ASSERT(weiri_zone_span_at(zone, end_s - 1) == i);
    }
}

/* Firings go forward; those of real time are labels that the zone's clock shows then. */
static void check_firings(const weir_cron *cron, int64_t from_ns)
{
    const struct weiri_zone *zone = cron->zone;
    int64_t at_ns = from_ns;
    for (int i = 0; i < FIRINGS; i++) {
        int64_t next_ns = 0;
        if (weir_cron_next(cron, at_ns, &next_ns) != WEIR_OK) {
            return;
        }
        WEIRI_ASSERT(next_ns > at_ns && next_ns % WEIR_SECONDS(1) == 0);
        int64_t time_s = next_ns / WEIR_SECONDS(1);
        int64_t label_s = time_s + zone->spans[weiri_zone_span_at(zone, time_s)].offset_s;
        WEIRI_ASSERT(!cron->fields.is_real_time ||
                     weiri_cron_label(&cron->fields, label_s) == label_s);
        at_ns = next_ns;
    }
}

static void check_crons(struct weiri_zone *zone)
{
    static const char *const texts[] = {"*/7 * * * *", "30 2 * * *", "0 0 29 2 *", "0 12 1 * sun"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct weir_error error;
        weir_cron cron = {.allocator = zone->allocator, .zone = zone};
        WEIRI_ASSERT(weiri_cron_parse(texts[i], 0, &cron.fields, &error) == WEIR_OK);
        check_firings(&cron, INT64_MIN);
        check_firings(&cron, 0);
        /* Before a change in the middle, where there is one. */
        int64_t start_s = zone->spans[zone->count / 2].start_s;
        if (start_s > -INT64_C(9000000000) && start_s < INT64_C(9000000000)) {
            check_firings(&cron, WEIR_SECONDS(start_s) - WEIR_SECONDS(3 * 3600));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_allocator memory;
    WEIRI_ASSERT(weiri_allocator_init(&memory, NULL, NULL) == WEIR_OK);
    struct weiri_zone *zone = NULL;
    enum weir_status status = weiri_zone_decode(&memory, data, size, &zone);
    WEIRI_ASSERT((zone != NULL) == (status == WEIR_OK));
    WEIRI_ASSERT(status == WEIR_OK || status == WEIR_ECORRUPT || status == WEIR_ENOTSUP);
    if (zone != NULL) {
        check_spans(zone);
        check_crons(zone);
        weiri_zone_free(zone);
    }
    return 0;
}
