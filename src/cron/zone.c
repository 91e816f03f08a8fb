/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cron/zone.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "cron/calendar.h"
#include "cron/zone_rule.h"

/* TZif (RFC 8536) is a header and a block of 32-bit times. From version 2 on a second header, a
 * block of 64-bit times and a rule for all later times follow. Only these are used then. */

#define HEADER_SIZE 44
/* The years for which a rule is unrolled: those of a zone, and one more at either end, since a
 * change may fall into the year before or after its own. Each year has two changes. */
#define FIRST_YEAR 1676
#define LAST_YEAR 2263
#define RULE_SPANS (2 * (LAST_YEAR - FIRST_YEAR + 1))

struct block {
    uint64_t utc_count, standard_count, leap_count, time_count, type_count, name_size;
    uint64_t time_size; /* 4 or 8 */
};

/* The part of the file that is still to be read. */
struct reader {
    const unsigned char *at;
    uint64_t left;
};

static const unsigned char *take(struct reader *r, uint64_t size)
{
    if (size > r->left) {
        return NULL;
    }
    const unsigned char *at = r->at;
    r->at += size;
    r->left -= size;
    return at;
}

static uint64_t number_at(const unsigned char *at, uint64_t size)
{
    uint64_t value = 0;
    for (uint64_t i = 0; i < size; i++) {
        value = value << 8 | at[i];
    }
    return value;
}

static int64_t signed_at(const unsigned char *at, uint64_t size)
{
    uint64_t value = number_at(at, size);
    return size == 4 ? (int64_t)(int32_t)(uint32_t)value : (int64_t)value;
}

static bool take_header(struct reader *r, struct block *block)
{
    const unsigned char *at = take(r, HEADER_SIZE);
    if (at == NULL || memcmp(at, "TZif", 4) != 0) {
        return false;
    }
    block->utc_count = number_at(at + 20, 4);
    block->standard_count = number_at(at + 24, 4);
    block->leap_count = number_at(at + 28, 4);
    block->time_count = number_at(at + 32, 4);
    block->type_count = number_at(at + 36, 4);
    block->name_size = number_at(at + 40, 4);
    return true;
}

/* The counts have 32 bits each, so the sum cannot overflow. */
static uint64_t block_size(const struct block *b)
{
    return b->time_count * (b->time_size + 1) + b->type_count * 6 + b->name_size +
           b->leap_count * (b->time_size + 4) + b->standard_count + b->utc_count;
}

/* Appends a span. It replaces those that start at or after its start. It is left out if it changes
 * nothing. */
static void push_span(struct weiri_zone *zone, int64_t start_s, int64_t offset_s)
{
    while (zone->count > 1 && zone->spans[zone->count - 1].start_s >= start_s) {
        zone->count--;
    }
    if (start_s >= WEIRI_ZONE_END) {
        return;
    }
    if (start_s <= WEIRI_ZONE_BEGIN) {
        zone->spans[0].offset_s = offset_s;
    } else if (zone->spans[zone->count - 1].offset_s != offset_s) {
        zone->spans[zone->count].start_s = start_s;
        zone->spans[zone->count].offset_s = offset_s;
        zone->count++;
    }
}

/* Fills the spans from the block's times and offsets. False: they do not fit together. *ret_last_s
 * is the last time; INT64_MIN: there is none. */
static bool read_spans(struct weiri_zone *zone, const struct block *b, const unsigned char *times,
                       int64_t *ret_last_s)
{
    const unsigned char *kinds = times + b->time_count * b->time_size;
    const unsigned char *types = kinds + b->time_count;
    for (uint64_t i = 0; i < b->type_count; i++) {
        int64_t offset_s = signed_at(types + i * 6, 4);
        if (offset_s < WEIRI_OFFSET_LEAST || offset_s > WEIRI_OFFSET_MOST) {
            return false;
        }
    }
    zone->spans[0].offset_s = signed_at(types, 4);
    int64_t last_s = INT64_MIN;
    for (uint64_t i = 0; i < b->time_count; i++) {
        int64_t start_s = signed_at(times + i * b->time_size, b->time_size);
        if ((i > 0 && start_s <= last_s) || kinds[i] >= b->type_count) {
            return false;
        }
        push_span(zone, start_s, signed_at(types + (uint64_t)kinds[i] * 6, 4));
        last_s = start_s;
    }
    *ret_last_s = last_s;
    return true;
}

/* Appends the changes of a rule after the last time of the table. Of two changes at the same time
 * the one that is appended last holds: a summer time that ends when the next begins never ends. */
static void unroll(struct weiri_zone *zone, const struct weiri_rule *rule, int64_t last_s)
{
    if (!rule->has_summer && last_s < WEIRI_ZONE_BEGIN) {
        zone->spans[0].offset_s = rule->standard_s;
    }
    for (int64_t year = FIRST_YEAR; rule->has_summer && year <= LAST_YEAR; year++) {
        int64_t start_s = weiri_rule_time(&rule->start, year, rule->standard_s);
        int64_t end_s = weiri_rule_time(&rule->end, year, rule->summer_s);
        bool is_end_first = end_s < start_s;
        if (is_end_first && end_s > last_s) {
            push_span(zone, end_s, rule->standard_s);
        }
        if (start_s > last_s) {
            push_span(zone, start_s, rule->summer_s);
        }
        if (!is_end_first && end_s > last_s) {
            push_span(zone, end_s, rule->standard_s);
        }
    }
}

/* Sets the fresh_s of each span. */
static void mark_fresh(struct weiri_zone *zone)
{
    int64_t fresh_s = zone->spans[0].start_s + zone->spans[0].offset_s;
    for (size_t i = 0; i < zone->count; i++) {
        zone->spans[i].fresh_s = fresh_s;
        int64_t end_s = weiri_zone_span_end(zone, i) + zone->spans[i].offset_s;
        fresh_s = end_s > fresh_s ? end_s : fresh_s;
    }
}

enum weir_status weiri_zone_new(const struct weir_allocator *allocator, size_t spans,
                                struct weiri_zone **ret_zone)
{
    size_t size = sizeof(struct weiri_zone) + spans * sizeof(struct weiri_span);
    struct weiri_zone *zone = weiri_alloc_zero(allocator, 1, size);
    if (zone == NULL) {
        return WEIR_ENOMEM;
    }
    zone->allocator = *allocator;
    zone->size = size;
    zone->count = 1;
    zone->spans[0].start_s = WEIRI_ZONE_BEGIN;
    zone->spans[0].fresh_s = WEIRI_ZONE_BEGIN;
    *ret_zone = zone;
    return WEIR_OK;
}

/* Shrinks a zone to the spans that it has; it stays as it is if there is no memory to move it. */
static struct weiri_zone *shrink(struct weiri_zone *zone)
{
    struct weir_allocator memory = zone->allocator;
    size_t size = sizeof(*zone) + zone->count * sizeof(zone->spans[0]);
    struct weiri_zone *smaller = weiri_resize(&memory, zone, zone->size, size, 1);
    if (smaller == NULL) {
        return zone;
    }
    smaller->size = size;
    return smaller;
}

/* Reads the rule in the footer, which is a line behind the block. An empty line is no rule. */
static bool take_rule(struct reader *r, struct weiri_rule *rule, bool *ret_has)
{
    const unsigned char *newline = take(r, 1);
    const unsigned char *end = newline == NULL ? NULL : memchr(r->at, '\n', (size_t)r->left);
    if (end == NULL || *newline != '\n') {
        return false;
    }
    size_t size = (size_t)(end - r->at);
    *ret_has = size > 0;
    return size == 0 || weiri_rule_parse((const char *)r->at, size, rule);
}

enum weir_status weiri_zone_decode(const struct weir_allocator *allocator,
                                   const unsigned char *bytes, size_t size,
                                   struct weiri_zone **ret_zone)
{
    struct reader r = {bytes, size};
    struct block block = {.time_size = 4};
    struct weiri_rule rule;
    bool has_rule = false;
    if (!take_header(&r, &block)) {
        return WEIR_ECORRUPT;
    }
    bool has_footer = bytes[4] >= '2'; /* the version */
    if (has_footer) {
        if (take(&r, block_size(&block)) == NULL || !take_header(&r, &block)) {
            return WEIR_ECORRUPT;
        }
        block.time_size = 8;
    }
    const unsigned char *times = take(&r, block_size(&block));
    if (times == NULL || block.type_count == 0 ||
        (has_footer && !take_rule(&r, &rule, &has_rule))) {
        return WEIR_ECORRUPT;
    }
    if (block.leap_count > 0) {
        return WEIR_ENOTSUP;
    }
    struct weiri_zone *zone;
    size_t spans = (size_t)block.time_count + 1 + (has_rule ? RULE_SPANS : 0);
    if (weiri_zone_new(allocator, spans, &zone) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    int64_t last_s = INT64_MIN;
    if (!read_spans(zone, &block, times, &last_s)) {
        weiri_zone_free(zone);
        return WEIR_ECORRUPT;
    }
    if (has_rule) {
        unroll(zone, &rule, last_s);
    }
    mark_fresh(zone);
    *ret_zone = shrink(zone);
    return WEIR_OK;
}

void weiri_zone_free(struct weiri_zone *zone)
{
    if (zone != NULL) {
        struct weir_allocator memory = zone->allocator;
        weiri_release(&memory, zone, zone->size);
    }
}

size_t weiri_zone_span_at(const struct weiri_zone *zone, int64_t time_s)
{
    size_t least = 0; /* the span is in [least, most) */
    size_t most = zone->count;
    while (most - least > 1) {
        size_t middle = least + (most - least) / 2;
        if (zone->spans[middle].start_s <= time_s) {
            least = middle;
        } else {
            most = middle;
        }
    }
    return least;
}
