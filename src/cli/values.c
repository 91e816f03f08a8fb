/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>
#include <sysexits.h>

#include <weir/broker.h>
#include <weir/duration.h>
#include <weir/job.h>

#include "cli/arguments.h"
#include "cli/report.h"

#define DURATION_EXAMPLES "expected a duration such as 250ms, 1.5s, 2m30s"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The problem of a duration at the offset where its reader stopped. */
static const char *duration_problem(const char *text, size_t offset)
{
    if (text[offset] == '\0') {
        return offset == 0 ? "empty" : is_digit(text[offset - 1]) ? "no unit" : "no digit";
    }
    if (text[offset] == '-') {
        return "negative";
    }
    if (offset > 0 && is_digit(text[offset - 1])) {
        return "unknown unit";
    }
    return "not a digit";
}

int read_duration(const char *name, const char *text, int64_t least, int64_t *ret_ns)
{
    int64_t ns = 0;
    size_t offset = 0;
    enum weir_status status = weir_duration_parse(text, &ns, &offset);
    if (status == WEIR_ERANGE) {
        return report(EX_USAGE,
                      "%s: %s: too long at character %zu; expected a duration of at most 292 years",
                      name, quote(text).text, offset + 1);
    }
    if (status != WEIR_OK) {
        return report(EX_USAGE, "%s: %s: %s at character %zu; " DURATION_EXAMPLES, name,
                      quote(text).text, duration_problem(text, offset), offset + 1);
    }
    if (ns < least) {
        char limit[32];
        (void)weir_duration_format(least, limit, sizeof(limit));
        return report(EX_USAGE, "%s: %s: too short; expected a duration of at least %s", name,
                      quote(text).text, limit);
    }
    *ret_ns = ns;
    return EX_OK;
}

/* Decimal digits with an optional minus sign, no more than 18: they cannot overflow. */
static bool parse_number(const char *text, int64_t *ret_number)
{
    bool negative = text[0] == '-';
    const char *digits = text + (negative ? 1 : 0);
    size_t count = strlen(digits);
    if (count == 0 || count > 18) {
        return false;
    }
    int64_t number = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_digit(digits[i])) {
            return false;
        }
        number = number * 10 + (digits[i] - '0');
    }
    *ret_number = negative ? -number : number;
    return true;
}

int read_number(const char *name, const char *text, int64_t least, int64_t most,
                int64_t *ret_number)
{
    int64_t number = 0;
    if (!parse_number(text, &number) || number < least || number > most) {
        return report(EX_USAGE, "%s: %s: expected a whole number from %" PRId64 " to %" PRId64 "",
                      name, quote(text).text, least, most);
    }
    *ret_number = number;
    return EX_OK;
}

int read_tube(const char *text)
{
    static const char expected[] = "expected 1 to 200 characters out of A-Z a-z 0-9 - + / ; . $ _ "
                                   "( ), the first of them not -";
    size_t offset = 0;
    enum weir_status status = weir_tube_check(text, &offset);
    if (status == WEIR_OK) {
        return EX_OK;
    }
    if (text[0] == '\0') {
        return report(EX_USAGE, "tube: \"\": empty; %s", expected);
    }
    if (status == WEIR_ETOOBIG) {
        return report(EX_USAGE, "tube: %s: too long; %s", quote(text).text, expected);
    }
    return report(EX_USAGE, "tube: %s: not allowed at character %zu; %s", quote(text).text,
                  offset + 1, expected);
}

int read_durability(const char *name, const char *text, uint32_t *ret_durability)
{
    static const char *const levels[] = {"full", "normal", "memory"};
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (strcmp(text, levels[i]) == 0) {
            *ret_durability = WEIR_DURABILITY_FULL + (uint32_t)i;
            return EX_OK;
        }
    }
    return report(EX_USAGE, "%s: %s: unknown level; expected one of full, normal, memory", name,
                  quote(text).text);
}
