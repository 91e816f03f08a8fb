/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cron/cron.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/panic.h"
#include "base/sync.h"
#include "base/time.h"
#include "cron/calendar.h"

#define ZONE_FOLDER "/usr/share/zoneinfo"
#define LOCAL_ZONE "/etc/localtime"
#define SECOND_NS WEIR_SECONDS(1)

/* Past the last label of any zone, in days. */
#define LAST_DAY (WEIRI_ZONE_END / WEIRI_DAY_SECONDS + 2)

static bool has(uint64_t mask, int64_t value)
{
    return (mask >> value & 1) != 0;
}

static bool day_matches(const struct weiri_cron_fields *f, int64_t days, unsigned day_of_month)
{
    bool by_month = has(f->days, day_of_month);
    bool by_week = has(f->weekdays, weiri_weekday_of(days));
    return f->either_day ? by_month || by_week : by_month && by_week;
}

/* The first second of a day that matches, not before from; WEIRI_DAY_SECONDS: none. */
static int64_t next_second_of_day(const struct weiri_cron_fields *f, int64_t from)
{
    int64_t second = from;
    while (second < WEIRI_DAY_SECONDS) {
        if (!has(f->hours, second / 3600)) {
            second += 3600 - second % 3600;
        } else if (!has(f->minutes, second / 60 % 60)) {
            second += 60 - second % 60;
        } else if (!has(f->seconds, second % 60)) {
            second++;
        } else {
            break;
        }
    }
    return second;
}

int64_t weiri_cron_label(const struct weiri_cron_fields *f, int64_t from_s)
{
    int64_t days = weiri_floor_div(from_s, WEIRI_DAY_SECONDS);
    int64_t second = from_s - days * WEIRI_DAY_SECONDS;
    while (days < LAST_DAY) {
        struct weiri_date date = weiri_date_of(days);
        bool is_month = has(f->months, date.month);
        if (is_month && day_matches(f, days, date.day)) {
            second = next_second_of_day(f, second);
            if (second < WEIRI_DAY_SECONDS) {
                return days * WEIRI_DAY_SECONDS + second;
            }
        }
        days += is_month ? 1 : weiri_days_in_month(date.year, date.month) - date.day + 1;
        second = 0;
    }
    return WEIRI_LABEL_NEVER;
}

/* The first second not before from_s at which the expression fires. With real time a label fires
 * each time a clock shows it. Otherwise it fires once: labels below a span's fresh_s fired earlier;
 * labels from there to the label of the span's start were skipped, and fire at the start. */
static int64_t next_second(const weir_cron *cron, int64_t from_s)
{
    const struct weiri_zone *zone = cron->zone;
    for (size_t i = weiri_zone_span_at(zone, from_s); i < zone->count; i++) {
        const struct weiri_span *span = &zone->spans[i];
        bool is_at_start = from_s <= span->start_s;
        int64_t least_s = (is_at_start ? span->start_s : from_s) + span->offset_s;
        if (!cron->fields.is_real_time && (is_at_start || least_s < span->fresh_s)) {
            least_s = span->fresh_s;
        }
        int64_t label_s = weiri_cron_label(&cron->fields, least_s);
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
    int64_t next_s = next_second(cron, weiri_floor_div(after_ns, SECOND_NS) + 1);
    return next_s > INT64_MAX / SECOND_NS ? WEIR_FOREVER : next_s * SECOND_NS;
}

/* The zone that the text names, else the one of the options, else the system's. */
static enum weir_status load_zone(weir_cron *cron, const char *text,
                                  const struct weir_cron_options *options, struct weir_error *error)
{
    const struct weiri_cron_piece *piece = &cron->fields.zone;
    const char *folder = options->zone_folder == NULL ? ZONE_FOLDER : options->zone_folder;
    char in_text[256];
    const char *name = options->zone;
    const size_t *offset = NULL;
    if (piece->length > 0) {
        /* A longer name is cut; it is refused all the same. */
        (void)snprintf(in_text, sizeof(in_text), "%.*s", (int)piece->length, text + piece->offset);
        name = in_text;
        offset = &piece->offset;
    }
    enum weir_status status = name == NULL
                                  ? weiri_zone_load_local(&cron->allocator, LOCAL_ZONE, &cron->zone)
                                  : weiri_zone_load(&cron->allocator, folder, name, &cron->zone);
    if (status != WEIR_OK) {
        char expected[80] = "the name of a zone of the tz database";
        if (status != WEIR_EINVAL && status != WEIR_ENOTFOUND) {
            (void)snprintf(expected, sizeof(expected), "a file that can be used, but: %s",
                           weir_status_text((int)status));
        }
        name = name == NULL ? LOCAL_ZONE : name;
        weiri_cron_explain(error, "zone", name, offset == NULL ? strlen(name) : piece->length,
                           offset, expected);
    }
    return status;
}

static enum weir_status normalize(const struct weir_cron_options *given,
                                  struct weir_cron_options *options, struct weir_error *ret_error)
{
    *options = given != NULL ? *given : (struct weir_cron_options){0};
    enum weir_status status = weiri_check_flags(options->flags, WEIR_CRON_SECONDS, ret_error);
    return status == WEIR_OK
               ? weiri_allocator_init(&options->allocator, &options->allocator, ret_error)
               : status;
}

enum weir_status weir_cron_new(const char *text, const struct weir_cron_options *given,
                               weir_cron **ret_cron, struct weir_error *ret_error)
{
    struct weir_cron_options options;
    struct weir_error unwanted;
    struct weir_error *error = ret_error != NULL ? ret_error : &unwanted;
    struct weiri_cron_fields fields;
    weiri_error_clear(error);
    if (weiri_check_given("text", text, error) != WEIR_OK ||
        weiri_check_given("ret_cron", ret_cron, error) != WEIR_OK ||
        normalize(given, &options, error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    enum weir_status status = weiri_cron_parse(text, options.flags, &fields, error);
    if (status == WEIR_OK) {
        weir_cron *cron = weiri_alloc_zero(&options.allocator, 1, sizeof(*cron));
        if (cron == NULL) {
            return weiri_explain(error, WEIR_ENOMEM);
        }
        cron->allocator = options.allocator;
        cron->fields = fields;
        atomic_init(&cron->references, 1);
        status = load_zone(cron, text, &options, error);
        if (status == WEIR_OK) {
            *ret_cron = cron;
            return WEIR_OK;
        }
        weir_cron_unref(cron);
    }
    return status;
}

weir_cron *weiri_cron_ref(weir_cron *cron)
{
    if (cron != NULL) {
        /* Relaxed: the caller has a reference, so it learns nothing from the count. */
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
    /* Release: this holder's accesses happen before the free. Acquire: so do those of all others.
     */
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

size_t weir_cron_format(const weir_cron *cron, int64_t time_ns, char *buffer, size_t size)
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    char text[64] = "";
    int length = 0;
    if (cron != NULL) {
        int64_t time_s = weiri_floor_div(time_ns, SECOND_NS);
        int64_t offset_s = cron->zone->spans[weiri_zone_span_at(cron->zone, time_s)].offset_s;
        int64_t day = weiri_floor_div(time_s + offset_s, WEIRI_DAY_SECONDS);
        int second = (int)(time_s + offset_s - day * WEIRI_DAY_SECONDS);
        int offset = (int)(offset_s < 0 ? -offset_s : offset_s);
        struct weiri_date date = weiri_date_of(day);
        length = snprintf(text, sizeof(text), "%s %04d-%02u-%02u %02d:%02d:%02d %c%02d:%02d",
                          days[weiri_weekday_of(day)], (int)date.year, date.month, date.day,
                          second / 3600, second / 60 % 60, second % 60, offset_s < 0 ? '-' : '+',
                          offset / 3600, offset / 60 % 60);
        if (offset % 60 != 0) {
            length += snprintf(text + length, sizeof(text) - (size_t)length, ":%02d", offset % 60);
        }
    }
    if (buffer != NULL) {
        (void)snprintf(buffer, size, "%s", text);
    }
    return (size_t)length;
}
