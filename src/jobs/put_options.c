/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdint.h>

#include "base/error.h"
#include "base/time.h"
#include "jobs/broker.h"

#define KNOWN_FLAGS ((uint32_t)WEIR_PUT_PAST_OK)

enum weir_status weiri_tube_check(const char *tube, struct weir_error *ret_error)
{
    if (weiri_check_given("tube", tube, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    size_t offset;
    enum weir_status status = weir_tube_check(tube, &offset);
    if (status == WEIR_ETOOBIG) {
        return weiri_fail(ret_error, status, "tube \"%.60s...\" has more than %d bytes", tube,
                          WEIR_TUBE_SIZE_MAX);
    }
    if (status != WEIR_OK && tube[0] == '\0') {
        return weiri_fail(ret_error, status, "the tube's name is empty: expected 1 to %d bytes",
                          WEIR_TUBE_SIZE_MAX);
    }
    if (status != WEIR_OK) {
        return weiri_fail(ret_error, status,
                          "byte 0x%02x at offset %zu of tube \"%.200s\": expected A-Z a-z 0-9 - + "
                          "/ ; . $ _ ( ) and no - in front",
                          (unsigned)(unsigned char)tube[offset], offset, tube);
    }
    return WEIR_OK;
}

/* The absolute run time of a put. */
static enum weir_status resolve_run_time(const struct weir_put_options *options, int64_t now_ns,
                                         int64_t *ret_run_at_ns, struct weir_error *ret_error)
{
    if (options->run_at_ns < 0 || options->delay_ns < 0) {
        bool is_time = options->run_at_ns < 0;
        return weiri_check_number(is_time ? "run_at_ns" : "delay_ns",
                                  is_time ? options->run_at_ns : options->delay_ns, 0, INT64_MAX,
                                  ret_error);
    }
    if (options->run_at_ns > 0 && options->delay_ns > 0) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "run_at_ns and delay_ns are both set: expected one of them");
    }
    if (options->run_at_ns == 0) {
        if (options->delay_ns > INT64_MAX - now_ns) {
            return weiri_fail(ret_error, WEIR_ERANGE,
                              "delay_ns is %" PRId64 ": it ends after the year 2262",
                              options->delay_ns);
        }
        *ret_run_at_ns = now_ns + options->delay_ns;
        return WEIR_OK;
    }
    bool is_past_ok = (options->flags & WEIR_PUT_PAST_OK) != 0;
    if (options->run_at_ns < now_ns && !is_past_ok) {
        return weiri_fail(
            ret_error, WEIR_EPAST, "run_at_ns is %" PRId64 ", %" PRId64 " ms in the past",
            options->run_at_ns, weiri_time_sub(now_ns, options->run_at_ns) / WEIR_MS(1));
    }
    *ret_run_at_ns = options->run_at_ns < now_ns ? now_ns : options->run_at_ns;
    return WEIR_OK;
}

static enum weir_status check_key(const struct weir_put_options *options,
                                  struct weir_error *ret_error)
{
    bool is_throttled = options->on_duplicate == WEIR_DUPLICATE_THROTTLE;
    int mode = (int)options->on_duplicate;
    if (weiri_check_choice("on_duplicate", mode, WEIR_DUPLICATE_AGAIN, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (options->key == NULL && (mode != 0 || options->key_ns != 0)) {
        return weiri_fail(ret_error, WEIR_EINVAL, "key is NULL: expected one beside %s",
                          mode != 0 ? "on_duplicate" : "key_ns");
    }
    if (is_throttled ? options->key_ns <= 0 : options->key_ns != 0) {
        return weiri_fail(ret_error, WEIR_ERANGE, "key_ns is %" PRId64 ": expected %s",
                          options->key_ns, is_throttled ? "at least 1" : "0 unless throttled");
    }
    return WEIR_OK;
}

enum weir_status weiri_put_normalize(const struct weiri_broker_config *config,
                                     const struct weir_put_options *options,
                                     struct weiri_put *ret_put, struct weir_error *ret_error)
{
    struct weir_put_options copy = options != NULL ? *options : (struct weir_put_options){0};
    if (weiri_check_flags(copy.flags, KNOWN_FLAGS, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
#define COPY(name, kind, limit, feature) .name = copy.name,
    struct weiri_put put = {.is_at_once = copy.run_at_ns == 0 && copy.delay_ns == 0,
                            .key_ns = copy.key_ns,
                            .on_duplicate = copy.on_duplicate,
                            WEIRI_JOB_FIELDS(COPY)};
    put.ttr_ns = copy.ttr_ns == 0 ? WEIRI_TTR_DEFAULT_NS : copy.ttr_ns;
    enum weir_status status = weiri_fields_check(&copy, ret_error);
    if (status == WEIR_OK) {
        status = check_key(&copy, ret_error);
    }
    if (status == WEIR_OK) {
        status = resolve_run_time(&copy, config->now(config->now_arg), &put.run_at_ns, ret_error);
    }
    if (status == WEIR_OK) {
        *ret_put = put;
    }
    return status;
}
