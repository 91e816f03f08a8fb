/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Cron expressions: any text is read or refused in words, and what is read fires when it says. */

#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "cron/calendar.h"
#include "cron/cron.h"

#define FIRINGS 8
#define NS_PER_SECOND INT64_C(1000000000)

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The words are a line, of bytes that harm no terminal; the piece is in the text. */
static void check_error(const struct weir_error *error, const char *text)
{
    const char *end = memchr(error->text, '\0', sizeof(error->text));
    WEIRI_ASSERT(end != NULL && end > error->text);
    for (const char *c = error->text; c < end; c++) {
        WEIRI_ASSERT(*c >= ' ' && *c <= '~');
    }
    WEIRI_ASSERT(error->offset <= strlen(text) && error->length <= strlen(text) - error->offset);
}

static bool has(uint64_t mask, int64_t bit)
{
    return (mask >> bit & 1) != 0;
}

/* A firing in UTC, where each label is shown once, is one of the labels that the text names. */
static void check_firing(const struct weiri_cron_fields *f, int64_t time_ns)
{
    int64_t time_s = time_ns / NS_PER_SECOND - (time_ns % NS_PER_SECOND < 0);
    if (f->every_ns > 0) {
        WEIRI_ASSERT(time_ns % f->every_ns == 0);
        return;
    }
    WEIRI_ASSERT(time_ns % NS_PER_SECOND == 0);
    int64_t days = weiri_floor_div(time_s, WEIRI_DAY_SECONDS);
    int64_t second = time_s - days * WEIRI_DAY_SECONDS;
    struct weiri_date date = weiri_date_of(days);
    bool is_day = has(f->days, date.day);
    bool is_weekday = has(f->weekdays, weiri_weekday_of(days));
    WEIRI_ASSERT(has(f->seconds, second % 60) && has(f->minutes, second / 60 % 60));
    WEIRI_ASSERT(has(f->hours, second / 3600) && has(f->months, date.month));
    WEIRI_ASSERT(f->either_day ? is_day || is_weekday : is_day && is_weekday);
}

static void check_firings(const weir_cron *cron, int64_t from_ns)
{
    int64_t at_ns = from_ns;
    int64_t next_ns = 0;
    for (int i = 0; i < FIRINGS && weir_cron_next(cron, at_ns, &next_ns) == WEIR_OK; i++) {
        WEIRI_ASSERT(next_ns > at_ns);
        if (cron->fields.zone.length == 0) {
            check_firing(&cron->fields, next_ns);
        }
        at_ns = next_ns;
    }
}

/* The first byte says how to read the rest, which is the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    char *text = malloc(size); /* of its exact size, for the sanitizers to watch */
    WEIRI_ASSERT(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    struct weir_cron_options options = {0};
    options.zone = "UTC"; /* where the text names none of this system's */
    options.flags = data[0] & WEIR_CRON_SECONDS;
    struct weir_error error;
    memset(&error, 0x7f, sizeof(error));
    weir_cron *cron = NULL;
    enum weir_status status = weir_cron_new(text, &options, &cron, &error);
    WEIRI_ASSERT((cron != NULL) == (status == WEIR_OK));
    if (status == WEIR_OK) {
        check_firings(cron, INT64_MIN);
        check_firings(cron, -1);
        check_firings(cron, INT64_C(1709209000) * NS_PER_SECOND); /* 29 February 2024 */
        check_firings(cron, INT64_MAX - NS_PER_SECOND);
        weir_cron_unref(cron);
    } else {
        check_error(&error, text);
    }
    free(text);
    return 0;
}
