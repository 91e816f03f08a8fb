/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cron/cron.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/panic.h"
#include "base/sync.h"
#include "base/time.h"
#include "cron/calendar.h"

#define ZONE_FOLDER "/usr/share/zoneinfo"
#define LOCAL_ZONE "/etc/localtime"
#define SECOND_NS WEIR_SECONDS(1)

/* The lowest bit of a mask not below from; from is at most 63. -1: none. */
static int next_bit(uint64_t mask, unsigned from)
{
    uint64_t left = mask >> from << from;
    return left == 0 ? -1 : __builtin_ctzll(left);
}

static bool day_matches(const struct weiri_cron_fields *f, int64_t days, unsigned day_of_month)
{
    bool by_month = (f->days >> day_of_month & 1) != 0;
    bool by_week = (f->weekdays >> weiri_weekday_of(days) & 1) != 0;
    return f->either_day ? by_month || by_week : by_month && by_week;
}

/* The first day that matches, not before from; INT64_MAX behind the end. */
static int64_t next_day(const struct weiri_cron_fields *f, int64_t from)
{
    int64_t end = WEIRI_ZONE_END / WEIRI_DAY_SECONDS + 2;
    int64_t days = from;
    while (days < end) {
        struct weiri_date date = weiri_date_of(days);
        int64_t month_end = days - date.day + 1 + weiri_days_in_month(date.year, date.month);
        if ((f->months >> date.month & 1) != 0) {
            for (; days < month_end; days++, date.day++) {
                if (day_matches(f, days, date.day)) {
                    return days;
                }
            }
        }
        days = month_end;
    }
    return INT64_MAX;
}

/* The first second of a day that matches, not before from; -1: none. */
static int64_t next_second_of_day(const struct weiri_cron_fields *f, int64_t from)
{
    unsigned hour = (unsigned)(from / 3600);
    unsigned minute = (unsigned)(from / 60 % 60);
    unsigned second = (unsigned)(from % 60);
    int hit = next_bit(f->hours, hour);
    while (hit >= 0) {
        if ((unsigned)hit > hour) {
            minute = second = 0;
        }
        hour = (unsigned)hit;
        int m = next_bit(f->minutes, minute);
        while (m >= 0) {
            int s = next_bit(f->seconds, (unsigned)m > minute ? 0 : second);
            if (s >= 0) {
                return (int64_t)hour * 3600 + (int64_t)m * 60 + s;
            }
            m = m < 59 ? next_bit(f->minutes, (unsigned)m + 1) : -1;
        }
        hit = hour < 23 ? next_bit(f->hours, hour + 1) : -1;
    }
    return -1;
}

int64_t weiri_cron_label(const struct weiri_cron_fields *fields, int64_t from_s)
{
    int64_t from_day = weiri_floor_div(from_s, WEIRI_DAY_SECONDS);
    int64_t day = next_day(fields, from_day);
    int64_t second = -1;
    if (day == from_day) {
        second = next_second_of_day(fields, from_s - from_day * WEIRI_DAY_SECONDS);
        if (second < 0) {
            day = next_day(fields, from_day + 1);
        }
    }
    if (day == INT64_MAX) {
        return WEIRI_LABEL_NEVER;
    }
    return day * WEIRI_DAY_SECONDS + (second >= 0 ? second : next_second_of_day(fields, 0));
}

/* The first second not before from_s at which the zone's clock shows a label that matches. */
static int64_t next_of_real_time(const weir_cron *cron, int64_t from_s)
{
    const struct weiri_zone *zone = cron->zone;
    size_t i = weiri_zone_span_at(zone, from_s);
    for (; i < zone->count; i++) {
        int64_t offset_s = zone->spans[i].offset_s;
        int64_t label_s = weiri_cron_label(&cron->fields, from_s + offset_s);
        int64_t end_s = weiri_zone_span_end(zone, i);
        if (label_s < end_s + offset_s) {
            return label_s - offset_s;
        }
        from_s = end_s;
    }
    return WEIRI_ZONE_END;
}

/* The first second not before from_s at which a label is dealt with that matches: where it is shown
 * first, and where it is skipped, at the end of the gap. Labels are dealt with in their order:
 * those below fresh_s before a span; from there to the label of its start, if that is higher, at
 * its start, for they are a gap; then one by one. So a label that a span does not deal with is not
 * below the fresh_s of the next, and is found once. */
static int64_t next_of_each_label(const weir_cron *cron, int64_t from_s)
{
    const struct weiri_zone *zone = cron->zone;
    size_t i = weiri_zone_span_at(zone, from_s);
    int64_t least_s = zone->spans[i].fresh_s;
    if (from_s > zone->spans[i].start_s && from_s + zone->spans[i].offset_s > least_s) {
        least_s = from_s + zone->spans[i].offset_s;
    }
    int64_t label_s = weiri_cron_label(&cron->fields, least_s);
    for (; i < zone->count; i++) {
        const struct weiri_span *span = &zone->spans[i];
        if (label_s < span->start_s + span->offset_s) {
            return span->start_s;
        }
        if (label_s < weiri_zone_span_end(zone, i) + span->offset_s) {
            return label_s - span->offset_s;
        }
    }
    return WEIRI_ZONE_END;
}

int64_t weiri_cron_after(const weir_cron *cron, int64_t after_ns)
{
    if (cron->fields.every_ns > 0) {
        int64_t since_ns = after_ns % cron->fields.every_ns;
        since_ns += since_ns < 0 ? cron->fields.every_ns : 0;
        return weiri_time_add(after_ns, cron->fields.every_ns - since_ns);
    }
    int64_t from_s = weiri_floor_div(after_ns, SECOND_NS) + 1;
    int64_t next_s = cron->fields.is_real_time ? next_of_real_time(cron, from_s)
                                               : next_of_each_label(cron, from_s);
    return next_s > INT64_MAX / SECOND_NS ? WEIR_FOREVER : next_s * SECOND_NS;
}

/* A zone out of the options has no place in the text. */
static void explain_zone(struct weir_cron_error *error, const char *name,
                         const struct weiri_cron_piece *piece, const char *expected)
{
    bool is_in_text = piece->length > 0;
    weiri_cron_explain(error, "zone", name, is_in_text ? piece->length : strlen(name),
                       is_in_text ? &piece->offset : NULL, expected);
}

static enum weir_status load_zone(weir_cron *cron, const char *text,
                                  const struct weir_cron_options *options,
                                  struct weir_cron_error *error)
{
    struct weiri_cron_piece piece = cron->fields.zone;
    const char *folder = options->zone_folder == NULL ? ZONE_FOLDER : options->zone_folder;
    bool is_local = options->zone == NULL && piece.length == 0;
    const char *name = is_local ? LOCAL_ZONE : options->zone;
    char named[256];
    if (piece.length > 0) {
        /* Longer ones are cut, and refused all the same. */
        (void)snprintf(named, sizeof(named), "%.*s", (int)piece.length, text + piece.offset);
        name = named;
    }
    enum weir_status status = is_local
                                  ? weiri_zone_load_local(&cron->allocator, name, &cron->zone)
                                  : weiri_zone_load(&cron->allocator, folder, name, &cron->zone);
    if (status == WEIR_EINVAL || status == WEIR_ENOTFOUND) {
        explain_zone(error, name, &piece, "the name of a zone of the tz database");
    } else if (status != WEIR_OK) {
        char expected[80];
        (void)snprintf(expected, sizeof(expected), "a file that can be used, but: %s",
                       weir_status_text((int)status));
        explain_zone(error, name, &piece, expected);
    }
    return status;
}

static enum weir_status normalize(const struct weir_cron_options *given,
                                  struct weir_cron_options *options)
{
    if (weiri_options_copy(options, sizeof(*options), given) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    struct weir_allocator memory = options->allocator;
    if (weiri_allocator_init(&options->allocator, &memory) != WEIR_OK ||
        (options->flags & ~(uint32_t)WEIR_CRON_SECONDS) != 0 || options->reserved0 != 0) {
        return WEIR_EINVAL;
    }
    return WEIR_OK;
}

enum weir_status weir_cron_new(const char *text, const struct weir_cron_options *given,
                               weir_cron **ret_cron, struct weir_cron_error *ret_error)
{
    struct weir_cron_options options;
    struct weir_cron_error error;
    struct weiri_cron_fields fields;
    if (text == NULL || ret_cron == NULL || normalize(given, &options) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    enum weir_status status = weiri_cron_parse(text, options.flags, &fields, &error);
    if (status == WEIR_OK) {
        weir_cron *cron = weiri_alloc_zero(&options.allocator, 1, sizeof(*cron));
        if (cron == NULL) {
            return WEIR_ENOMEM;
        }
        cron->allocator = options.allocator;
        cron->fields = fields;
        atomic_init(&cron->references, 1);
        status = load_zone(cron, text, &options, &error);
        if (status == WEIR_OK) {
            *ret_cron = cron;
            return WEIR_OK;
        }
        weir_cron_unref(cron);
    }
    if (ret_error != NULL && status != WEIR_ENOMEM) {
        *ret_error = error;
    }
    return status;
}

weir_cron *weir_cron_ref(weir_cron *cron)
{
    if (cron != NULL) {
        /* Relaxed: whoever takes a reference has one, so nothing is learnt from the count. */
        weiri_sync_point();
        size_t before = atomic_fetch_add_explicit(&cron->references, 1, memory_order_relaxed);
        WEIRI_ASSERT(before > 0 && before < SIZE_MAX / 2);
    }
    return cron;
}

void weir_cron_unref(weir_cron *cron)
{
    if (cron == NULL) {
        return;
    }
    /* Release: what this holder did happens before the freeing. Acquire: what all others did. */
    weiri_sync_point();
    size_t before = atomic_fetch_sub_explicit(&cron->references, 1, memory_order_acq_rel);
    WEIRI_ASSERT(before > 0);
    if (before == 1) {
        struct weir_allocator memory = cron->allocator;
        weiri_zone_free(cron->zone);
        weiri_release(&memory, cron, sizeof(*cron));
    }
}

enum weir_status weir_cron_next(const weir_cron *cron, int64_t after_ns, int64_t *ret_ns)
{
    if (cron == NULL || ret_ns == NULL) {
        return WEIR_EINVAL;
    }
    int64_t next_ns = weiri_cron_after(cron, after_ns);
    if (next_ns == WEIR_FOREVER) {
        return WEIR_ENOTFOUND;
    }
    *ret_ns = next_ns;
    return WEIR_OK;
}

enum weir_status weir_cron_next_batch(const weir_cron *cron, int64_t after_ns, size_t count,
                                      int64_t *ret_times, size_t *ret_count)
{
    if (cron == NULL || ret_count == NULL || (ret_times == NULL && count > 0)) {
        return WEIR_EINVAL;
    }
    size_t found = 0;
    int64_t next_ns = after_ns;
    while (found < count && (next_ns = weiri_cron_after(cron, next_ns)) != WEIR_FOREVER) {
        ret_times[found++] = next_ns;
    }
    *ret_count = found;
    return WEIR_OK;
}
