/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cron/calendar.h"
#include "cron/cron.h"

#define TEXT_SIZE_MAX 1000
#define BLANKS " \t"

enum field_name {
    SECOND,
    MINUTE,
    HOUR,
    DAY,
    MONTH,
    WEEKDAY,
    FIELD_COUNT
};

static const struct field {
    const char *name;
    unsigned least, most; /* of values */
    const char *names;    /* three letters each, from the value least on; NULL: none */
    const char *expected;
} fields[FIELD_COUNT] = {
    [SECOND] = {"second", 0, 59, NULL, "0 to 59"},
    [MINUTE] = {"minute", 0, 59, NULL, "0 to 59"},
    [HOUR] = {"hour", 0, 23, NULL, "0 to 23"},
    [DAY] = {"day of the month", 1, 31, NULL, "1 to 31"},
    [MONTH] = {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec", "1 to 12 or jan to dec"},
    [WEEKDAY] = {"day of the week", 0, 7, "sunmontuewedthufrisat", "0 to 7 or sun to sat"},
};

struct parser {
    const char *text;
    size_t at;
    struct weir_error *error;
};

/* A field that has been read. */
struct field_value {
    struct weiri_cron_piece piece;
    uint64_t mask; /* of the values that match */
    bool has_star; /* it begins with a star */
};

void weiri_cron_explain(struct weir_error *error, const char *what, const char *piece,
                        size_t length, const size_t *offset, const char *expected)
{
    char shown[41];
    char quoted[64] = "missing";
    char place[40] = "";
    (void)snprintf(shown, sizeof(shown), "%.*s", (int)length, piece);
    for (char *c = shown; *c != '\0'; c++) {
        *c = (char)(*c < ' ' || *c > '~' || *c == '"' ? '?' : *c);
    }
    if (length > 0) {
        const char *dots = length < sizeof(shown) ? "" : "...";
        (void)snprintf(quoted, sizeof(quoted), "\"%s%s\"", shown, dots);
    }
    if (offset != NULL) {
        (void)snprintf(place, sizeof(place), " at offset %zu", *offset);
    }
    error->offset = offset == NULL ? 0 : *offset;
    error->length = offset == NULL ? 0 : length;
    (void)snprintf(error->text, sizeof(error->text), "%s %s%s: expected %s", what, quoted, place,
                   expected);
}

static void skip_blanks(struct parser *p)
{
    p->at += strspn(p->text + p->at, BLANKS);
}

/* The count of bytes from an offset to a blank or the end. */
static size_t word_length(const struct parser *p, size_t at)
{
    return strcspn(p->text + at, BLANKS);
}

static bool refuse(struct parser *p, const char *what, size_t at, size_t length,
                   const char *expected)
{
    weiri_cron_explain(p->error, what, p->text + at, length, &at, expected);
    return false;
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool read_name(const struct field *field, const char *text, unsigned *ret_value)
{
    for (size_t i = 0; field->names != NULL && field->names[i] != '\0'; i += 3) {
        if (lower(text[0]) == field->names[i] && lower(text[1]) == field->names[i + 1] &&
            lower(text[2]) == field->names[i + 2]) {
            *ret_value = field->least + (unsigned)(i / 3);
            return true;
        }
    }
    return false;
}

/* A number of at most two digits. */
static bool read_number(const char *text, size_t length, unsigned *ret_value)
{
    unsigned value = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (unsigned)(text[i] - '0');
    }
    *ret_value = value;
    return length > 0 && length <= 2;
}

static bool take_value(struct parser *p, const struct field *field, unsigned *ret_value)
{
    size_t length = strcspn(p->text + p->at, BLANKS ",-/");
    const char *text = p->text + p->at;
    bool is_good =
        read_number(text, length, ret_value) || (length == 3 && read_name(field, text, ret_value));
    if (!is_good || *ret_value < field->least || *ret_value > field->most) {
        return refuse(p, field->name, p->at, length, field->expected);
    }
    p->at += length;
    return true;
}

static bool take_step(struct parser *p, const struct field *field, unsigned *ret_step)
{
    size_t length = strcspn(p->text + p->at, BLANKS ",-/");
    if (!read_number(p->text + p->at, length, ret_step) || *ret_step < 1 ||
        *ret_step > field->most) {
        char expected[32];
        (void)snprintf(expected, sizeof(expected), "a step of 1 to %u", field->most);
        return refuse(p, field->name, p->at, length, expected);
    }
    p->at += length;
    return true;
}

/* Reads a value, a range or a star, with or without a step; adds its values to the mask. */
static bool take_item(struct parser *p, const struct field *field, uint64_t *mask)
{
    size_t start = p->at;
    unsigned low = field->least;
    unsigned high = field->most; /* of a star, and of a value with a step */
    unsigned step = 1;
    if (p->text[p->at] == '*') {
        p->at++;
    } else if (!take_value(p, field, &low)) {
        return false;
    } else if (p->text[p->at] == '-') {
        p->at++;
        if (!take_value(p, field, &high)) {
            return false;
        }
        /* The week of a range such as fri-sun ends with 7. */
        high = field == &fields[WEEKDAY] && high == 0 && low > 0 ? 7 : high;
        if (high < low) {
            return refuse(p, field->name, start, p->at - start,
                          "a range that ends after its start");
        }
    } else if (p->text[p->at] != '/') {
        high = low;
    }
    if (p->text[p->at] == '/') {
        p->at++;
        if (!take_step(p, field, &step)) {
            return false;
        }
    }
    size_t rest = strcspn(p->text + p->at, BLANKS ",");
    if (rest > 0) {
        return refuse(p, field->name, start, p->at - start + rest,
                      "a value, a range or a star, and a step");
    }
    for (unsigned value = low; value <= high; value += step) {
        *mask |= UINT64_C(1) << value;
    }
    return true;
}

static bool take_field(struct parser *p, const struct field *field, struct field_value *value)
{
    size_t start = p->at;
    *value = (struct field_value){.has_star = p->text[start] == '*'};
    do {
        p->at += value->mask != 0; /* the comma */
        if (!take_item(p, field, &value->mask)) {
            return false;
        }
    } while (p->text[p->at] == ',');
    value->piece = (struct weiri_cron_piece){start, p->at - start};
    return true;
}

static unsigned count_fields(const struct parser *p)
{
    unsigned count = 0;
    for (const char *c = p->text + p->at; *c != '\0'; count++) {
        c += strcspn(c, BLANKS);
        c += strspn(c, BLANKS);
    }
    return count;
}

/* Does any day of any year match? */
static bool has_day(const struct weiri_cron_fields *f)
{
    for (unsigned month = 1; month <= 12; month++) {
        unsigned most = weiri_days_in_month(2000, month); /* a leap year */
        uint64_t days_of_month = (UINT64_C(1) << (most + 1)) - 1;
        if ((f->months >> month & 1) != 0 && (f->days & days_of_month) != 0) {
            return true;
        }
    }
    return f->either_day;
}

static bool take_fields(struct parser *p, uint32_t flags, struct weiri_cron_fields *f)
{
    struct field_value values[FIELD_COUNT] = {[SECOND] = {.mask = 1}};
    unsigned first = MINUTE;
    if ((flags & WEIR_CRON_SECONDS) != 0 && count_fields(p) >= FIELD_COUNT) {
        first = SECOND;
    }
    for (unsigned i = first; i < FIELD_COUNT; i++) {
        if (!take_field(p, &fields[i], &values[i])) {
            return false;
        }
        skip_blanks(p);
    }
    f->seconds = values[SECOND].mask;
    f->minutes = values[MINUTE].mask;
    f->hours = (uint32_t)values[HOUR].mask;
    f->days = (uint32_t)values[DAY].mask;
    f->months = (uint16_t)values[MONTH].mask;
    f->weekdays = (uint8_t)((values[WEEKDAY].mask | values[WEEKDAY].mask >> 7) & 0x7f);
    f->either_day = !values[DAY].has_star && !values[WEEKDAY].has_star;
    f->is_real_time = values[SECOND].has_star || values[MINUTE].has_star || values[HOUR].has_star;
    if (!has_day(f)) {
        return refuse(p, fields[DAY].name, values[DAY].piece.offset, values[DAY].piece.length,
                      "a day that one of the months has");
    }
    return true;
}

/* The duration of `@every`. */
static enum weir_status take_duration(struct parser *p, int64_t *ret_ns)
{
    static const char expected[] = "a duration above 0, such as 90s or 1h30m";
    char duration[TEXT_SIZE_MAX + 1];
    skip_blanks(p);
    size_t length = word_length(p, p->at);
    memcpy(duration, p->text + p->at, length);
    duration[length] = '\0';
    size_t bad = 0;
    enum weir_status status = weir_duration_parse(duration, ret_ns, &bad);
    if (status == WEIR_OK && *ret_ns == 0) {
        status = WEIR_ERANGE;
    }
    if (status != WEIR_OK) {
        (void)refuse(p, "duration", p->at + bad, length - bad, expected);
        return status;
    }
    p->at += length;
    return WEIR_OK;
}

static enum weir_status take_nickname(struct parser *p, struct weiri_cron_fields *f)
{
    static const struct {
        const char *name;
        const char *text;
    } nicknames[] = {
        {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"}, {"@every", NULL},
    };
    size_t start = p->at;
    size_t length = word_length(p, start);
    p->at += length;
    for (size_t i = 0; i < sizeof(nicknames) / sizeof(nicknames[0]); i++) {
        if (strlen(nicknames[i].name) == length &&
            memcmp(p->text + start, nicknames[i].name, length) == 0) {
            if (nicknames[i].text == NULL) {
                return take_duration(p, &f->every_ns);
            }
            struct parser of_text = {nicknames[i].text, 0, p->error};
            return take_fields(&of_text, 0, f) ? WEIR_OK : WEIR_EINVAL;
        }
    }
    (void)refuse(p, "name", start, length, "@hourly, @daily, @weekly, @monthly, @yearly or @every");
    return WEIR_EINVAL;
}

static bool take_zone(struct parser *p, struct weiri_cron_piece *ret_zone)
{
    static const char prefix[] = "CRON_TZ=";
    if (strncmp(p->text + p->at, prefix, sizeof(prefix) - 1) == 0) {
        p->at += sizeof(prefix) - 1;
        size_t length = word_length(p, p->at);
        if (length == 0) {
            return refuse(p, "zone", p->at, 0, "the name of a zone of the tz database");
        }
        *ret_zone = (struct weiri_cron_piece){p->at, length};
        p->at += length;
        skip_blanks(p);
    }
    return true;
}

enum weir_status weiri_cron_parse(const char *text, uint32_t flags,
                                  struct weiri_cron_fields *ret_fields, struct weir_error *error)
{
    struct parser p = {text, 0, error};
    struct weiri_cron_fields f = {0};
    if (strnlen(text, TEXT_SIZE_MAX + 1) > TEXT_SIZE_MAX) {
        (void)refuse(&p, "text", 0, TEXT_SIZE_MAX + 1, "at most 1,000 bytes");
        return WEIR_ETOOBIG;
    }
    skip_blanks(&p);
    if (!take_zone(&p, &f.zone)) {
        return WEIR_EINVAL;
    }
    enum weir_status status = WEIR_OK;
    if (text[p.at] == '@') {
        status = take_nickname(&p, &f);
    } else if (!take_fields(&p, flags, &f)) {
        status = WEIR_EINVAL;
    }
    skip_blanks(&p);
    if (status == WEIR_OK && text[p.at] != '\0') {
        (void)refuse(&p, "piece", p.at, word_length(&p, p.at), "nothing more");
        status = WEIR_EINVAL;
    }
    if (status == WEIR_OK) {
        *ret_fields = f;
    }
    return status;
}
