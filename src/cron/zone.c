/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cron/zone.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "cron/calendar.h"
#include "cron/zone_rule.h"

/* Reads TZif (RFC 8536): a header and a block of 32-bit times; from version 2 on a second header, a
 * block of 64-bit times and a rule for all times after them follow, and only these are looked at.
 */

#define HEADER_SIZE 44
/* The years that a rule is unrolled for at most, and its spans. */
#define FIRST_YEAR 1677
#define LAST_YEAR 2262
#define RULE_SPANS (2 * (LAST_YEAR - FIRST_YEAR + 3))

struct block {
    uint64_t utc_count, standard_count, leap_count, time_count, type_count, name_size;
    uint64_t time_size; /* 4 or 8 */
};

/* What has been read of the file so far. */
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

static bool take_header(struct reader *r, struct block *block, unsigned char *ret_version)
{
    const unsigned char *at = take(r, HEADER_SIZE);
    if (at == NULL || memcmp(at, "TZif", 4) != 0) {
        return false;
    }
    *ret_version = at[4];
    block->utc_count = number_at(at + 20, 4);
    block->standard_count = number_at(at + 24, 4);
    block->leap_count = number_at(at + 28, 4);
    block->time_count = number_at(at + 32, 4);
    block->type_count = number_at(at + 36, 4);
    block->name_size = number_at(at + 40, 4);
    return true;
}

/* The counts have 32 bits each, so that their sum fits. */
static uint64_t block_size(const struct block *b)
{
    return b->time_count * (b->time_size + 1) + b->type_count * 6 + b->name_size +
           b->leap_count * (b->time_size + 4) + b->standard_count + b->utc_count;
}

/* Zones are filled from the left. A span that starts with or before the one before it takes its
 * place, and one that changes nothing is left out. */
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

/* The block's times and offsets; false where something does not fit together. *ret_last_s is the
 * last time. */
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
    zone->spans[0] =
        (struct weiri_span){.start_s = WEIRI_ZONE_BEGIN, .offset_s = signed_at(types, 4)};
    zone->count = 1;
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

/* Unrolls a rule behind the last time of the table. Summer time that ends when the next begins
 * never ends: the later of two changes at the same time holds. */
static void unroll(struct weiri_zone *zone, const struct weiri_rule *rule, int64_t last_s)
{
    if (!rule->has_summer) {
        if (last_s < WEIRI_ZONE_BEGIN) {
            zone->spans[0].offset_s = rule->standard_s;
        }
        return;
    }
    int64_t year = FIRST_YEAR - 1;
    if (last_s > WEIRI_ZONE_BEGIN) {
        int64_t of_last = weiri_date_of(weiri_floor_div(last_s, WEIRI_DAY_SECONDS)).year - 1;
        year = of_last > year ? of_last : year;
    }
    for (; year <= LAST_YEAR + 1; year++) {
        int64_t times[2] = {weiri_rule_start(rule, year), weiri_rule_end(rule, year)};
        int64_t offsets[2] = {rule->summer_s, rule->standard_s};
        size_t first = times[1] < times[0];
        for (size_t i = 0; i < 2; i++) {
            size_t change = i ^ first;
            if (times[change] > last_s) {
                push_span(zone, times[change], offsets[change]);
            }
        }
    }
}

/* Which labels each span is the first to show. */
static void mark_fresh(struct weiri_zone *zone)
{
    int64_t fresh_s = zone->spans[0].start_s + zone->spans[0].offset_s;
    for (size_t i = 0; i < zone->count; i++) {
        zone->spans[i].fresh_s = fresh_s;
        int64_t end_s = weiri_zone_span_end(zone, i) + zone->spans[i].offset_s;
        fresh_s = end_s > fresh_s ? end_s : fresh_s;
    }
}

static struct weiri_zone *new_zone(const struct weir_allocator *allocator, size_t spans)
{
    size_t size = sizeof(struct weiri_zone) + spans * sizeof(struct weiri_span);
    struct weiri_zone *zone = weiri_alloc_zero(allocator, 1, size);
    if (zone != NULL) {
        zone->allocator = *allocator;
        zone->size = size;
    }
    return zone;
}

enum weir_status weiri_zone_utc(const struct weir_allocator *allocator,
                                struct weiri_zone **ret_zone)
{
    struct weiri_zone *zone = new_zone(allocator, 1);
    if (zone == NULL) {
        return WEIR_ENOMEM;
    }
    zone->count = 1;
    zone->spans[0].start_s = WEIRI_ZONE_BEGIN;
    zone->spans[0].fresh_s = WEIRI_ZONE_BEGIN;
    *ret_zone = zone;
    return WEIR_OK;
}

/* Gives back what the spans turned out not to need. */
static struct weiri_zone *without_room(struct weiri_zone *zone)
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

/* A rule in the footer: a line of its own behind the block. Empty: there is none. */
static bool take_rule(struct reader *r, struct weiri_rule *rule, bool *ret_has)
{
    const unsigned char *newline = take(r, 1);
    if (newline == NULL || *newline != '\n') {
        return false;
    }
    const unsigned char *end = memchr(r->at, '\n', (size_t)r->left);
    if (end == NULL) {
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
    unsigned char version = 0;
    struct weiri_rule rule;
    bool has_rule = false;
    if (!take_header(&r, &block, &version)) {
        return WEIR_ECORRUPT;
    }
    if (version >= '2') {
        if (take(&r, block_size(&block)) == NULL || !take_header(&r, &block, &version)) {
            return WEIR_ECORRUPT;
        }
        block.time_size = 8;
    }
    const unsigned char *times = take(&r, block_size(&block));
    if (times == NULL || block.type_count == 0 ||
        (version >= '2' && !take_rule(&r, &rule, &has_rule))) {
        return WEIR_ECORRUPT;
    }
    if (block.leap_count > 0) {
        return WEIR_ENOTSUP;
    }
    struct weiri_zone *zone =
        new_zone(allocator, (size_t)block.time_count + 1 + (has_rule ? RULE_SPANS : 0));
    if (zone == NULL) {
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
    *ret_zone = without_room(zone);
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
