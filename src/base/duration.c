/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/duration.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int64_t ns;
} units[] = {
    {"d", WEIR_SECONDS(86400)},
    {"h", WEIR_SECONDS(3600)},
    {"ms", WEIR_MS(1)},
    {"m", WEIR_SECONDS(60)},
    {"s", WEIR_SECONDS(1)},
    {"us", WEIR_US(1)},
    {"ns", 1},
};

#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Finds the unit that is named at text. The name ends before the first character that is no letter.
 * 0: there is no such unit. */
static int64_t unit_at(const char *text, size_t *ret_length)
{
    size_t length = 0;
    while (text[length] >= 'a' && text[length] <= 'z') {
        length++;
    }
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        if (strlen(units[i].name) == length && memcmp(units[i].name, text, length) == 0) {
            *ret_length = length;
            return units[i].ns;
        }
    }
    return 0;
}

static enum weir_status fail(enum weir_status status, size_t offset, size_t *ret_offset)
{
    if (ret_offset != NULL) {
        *ret_offset = offset;
    }
    return status;
}

/* Returns the fraction 0.DIGITS of a unit, cut to whole nanoseconds. Goes from the last digit to
 * the first: part = (digit * unit + part) / 10. Cutting at each step has the same result as cutting
 * once at the end, so there may be any number of digits. */
static int64_t fraction_of(const char *digits, size_t count, int64_t unit)
{
    int64_t part = 0;
    for (size_t i = count; i > 0; i--) {
        part = ((digits[i - 1] - '0') * unit + part) / 10;
    }
    return part;
}

/* One number with its unit at text[*at]; adds it to *total and moves *at behind it. */
static enum weir_status parse_term(const char *text, size_t *at, int64_t *total, size_t *ret_offset)
{
    size_t start = *at;
    size_t i = start;
    int64_t whole = 0;
    bool too_large = false;
    for (; is_digit(text[i]); i++) {
        too_large |= __builtin_mul_overflow(whole, 10, &whole) ||
                     __builtin_add_overflow(whole, text[i] - '0', &whole);
    }
    if (i == start) {
        return fail(WEIR_EINVAL, i, ret_offset);
    }
    const char *fraction = text + i;
    size_t fraction_digits = 0;
    if (text[i] == '.') {
        fraction = text + ++i;
        for (; is_digit(text[i]); i++) {
            fraction_digits++;
        }
        if (fraction_digits == 0) {
            return fail(WEIR_EINVAL, i, ret_offset);
        }
    }
    size_t length = 0;
    int64_t unit = unit_at(text + i, &length);
    if (unit == 0) {
        return fail(WEIR_EINVAL, i, ret_offset);
    }
    int64_t part = fraction_of(fraction, fraction_digits, unit);
    if (too_large || __builtin_mul_overflow(whole, unit, &whole) ||
        __builtin_add_overflow(whole, part, &whole) ||
        __builtin_add_overflow(*total, whole, total)) {
        return fail(WEIR_ERANGE, start, ret_offset);
    }
    *at = i + length;
    return WEIR_OK;
}

enum weir_status weir_duration_parse(const char *text, int64_t *ret_ns, size_t *ret_offset)
{
    if (text == NULL || ret_ns == NULL) {
        return fail(WEIR_EINVAL, 0, ret_offset);
    }
    int64_t total = 0;
    if (strcmp(text, "0") != 0) {
        size_t at = 0;
        do {
            enum weir_status status = parse_term(text, &at, &total, ret_offset);
            if (status != WEIR_OK) {
                return status;
            }
        } while (text[at] != '\0');
    }
    *ret_ns = total;
    return WEIR_OK;
}

/* Appends like snprintf(): writes what fits, and returns the length of the whole. */
static size_t append_number(char *buffer, size_t size, size_t at, int64_t whole,
                            int64_t thousandths, const char *unit)
{
    char digits[8] = "";
    if (thousandths != 0) {
        (void)snprintf(digits, sizeof(digits), ".%03d", (int)thousandths);
        for (size_t i = strlen(digits); digits[i - 1] == '0'; i--) {
            digits[i - 1] = '\0';
        }
    }
    int length = snprintf(at < size ? buffer + at : NULL, at < size ? size - at : 0, "%lld%s%s",
                          (long long)whole, digits, unit);
    return at + (size_t)length;
}

size_t weir_duration_format(int64_t ns, char *buffer, size_t size)
{
    size_t at = 0;
    size = buffer == NULL ? 0 : size;
    if (ns < 0) {
        at += (size_t)snprintf(buffer, size, "-");
        ns = ns == INT64_MIN ? INT64_MAX : -ns;
    }
    if (ns < WEIR_US(1)) {
        return append_number(buffer, size, at, ns, 0, ns == 0 ? "s" : "ns");
    }
    if (ns < WEIR_MS(1)) {
        return append_number(buffer, size, at, ns / WEIR_US(1), ns % WEIR_US(1), "us");
    }
    if (ns < WEIR_SECONDS(1)) {
        return append_number(buffer, size, at, ns / WEIR_MS(1), ns % WEIR_MS(1) / WEIR_US(1), "ms");
    }
    int64_t seconds = ns / WEIR_SECONDS(1);
    static const struct {
        int64_t seconds;
        const char *unit;
    } steps[] = {{86400, "d"}, {3600, "h"}, {60, "m"}};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (seconds >= steps[i].seconds) {
            at = append_number(buffer, size, at, seconds / steps[i].seconds, 0, steps[i].unit);
            seconds %= steps[i].seconds;
        }
    }
    int64_t thousandths = ns % WEIR_SECONDS(1) / WEIR_MS(1);
    if (seconds != 0 || thousandths != 0) {
        at = append_number(buffer, size, at, seconds, thousandths, "s");
    }
    return at;
}
