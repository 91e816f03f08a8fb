/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/backend.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/random.h"
#include "base/time.h"

static const char *const features[] = {
#define FEATURE_TEXT(name, text) text,
    WEIR_FEATURE_MAP(FEATURE_TEXT)
#undef FEATURE_TEXT
};

enum weir_status weiri_can_check(const struct weiri_broker_config *config, uint32_t needs,
                                 struct weir_error *ret_error)
{
    uint32_t missing = needs & ~config->can;
    return missing == 0 ? WEIR_OK
                        : weiri_fail(ret_error, WEIR_ENOTSUP, "a %s: broker has no %s",
                                     config->scheme, features[__builtin_ctz(missing)]);
}

enum weir_status weiri_put_blame(const struct weiri_put *put, size_t body, enum weir_status status,
                                 struct weir_error *ret_error)
{
    struct weir_error error = ret_error == NULL ? (struct weir_error){0} : *ret_error;
    return put->each == NULL || status == WEIR_OK
               ? status
               : weiri_fail(ret_error, status, "bodies[%zu]: %s", body, error.text);
}

void weiri_broker_log(const struct weiri_broker_config *config, enum weir_log_level level,
                      const char *format, ...)
{
    if (config->log != NULL) {
        char text[512];
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        config->log(level, text, config->log_arg);
    }
}

int64_t weiri_retry_ns(uint32_t failures)
{
    int64_t pause = weiri_time_shift(WEIR_MS(50), failures - 1, WEIRI_RETRY_MAX_NS);
    return pause - (int64_t)(weiri_random_seed() % (uint64_t)(pause / 4 + 1));
}

bool weiri_find(struct weiri_check *check, const char *name, enum weir_finding_level level,
                const char *subject, const char *advice, const char *format, ...)
{
    struct weir_error about;
    struct weir_error text;
    char line[sizeof(text.text)];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(line, sizeof(line), format, values);
    va_end(values);
    /* Without control characters, which a path may have. */
    (void)weiri_fail(&about, WEIR_OK, "%s", subject);
    (void)weiri_fail(&text, WEIR_OK, "%s", line);
    const struct weir_finding finding = {
        .name = name, .subject = about.text, .text = text.text, .advice = advice, .level = level};
    check->is_over = check->is_over || check->fn(&finding, check->arg) != 0;
    return !check->is_over;
}
