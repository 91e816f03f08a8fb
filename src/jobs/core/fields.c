/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/fields.h"

#include "base/error.h"
#include "jobs/core/backend.h"

const struct weir_job_field *weir_job_fields(void)
{
    static const struct weir_job_field fields[] = {
#define OF(type, name) offsetof(struct type, name)
#define ROW(name, kind, limit, feature)                                                            \
    {#name, WEIR_FIELD_##kind, limit, feature, OF(weir_put_options, name), OF(weir_job, name)},
        WEIRI_JOB_FIELDS(ROW){0}};
    return fields;
}

bool weiri_number_read(const char *text, size_t size, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number)) {
            return false;
        }
    }
    *ret_number = number;
    return size > 0;
}

enum weir_status weiri_put_check_can(const struct weiri_broker_config *config,
                                     const struct weiri_put *put, struct weir_error *ret_error)
{
    struct weir_error error = {0};
    uint32_t needs = 0;
    if (put->priority < WEIRI_PRIORITY_LEAST &&
        weiri_can_check(config, WEIRI_CAN(PRIORITIES), &error) != WEIR_OK) {
        return weiri_fail(ret_error, WEIR_ENOTSUP, "priority %d: %s", (int)put->priority,
                          error.text);
    }
#define NEED(name, kind, limit, feature)                                                           \
    needs |= put->name == NULL || put->name[0] == '\0' ? 0 : 1U << (feature);
    WEIRI_TEXT_FIELDS(NEED)
    WEIRI_PUT_FIELDS(NEED)
    return weiri_can_check(config, needs, ret_error);
}
