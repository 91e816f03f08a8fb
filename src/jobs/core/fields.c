/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/fields.h"

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

enum weir_status weiri_put_check_can(const struct weiri_broker_ops *ops,
                                     const struct weiri_put *put, struct weir_error *ret_error)
{
    enum weir_status status = WEIR_OK;
#define CHECK(name, kind, limit, feature)                                                          \
    if (status == WEIR_OK && put->name != NULL && put->name[0] != '\0') {                          \
        status = weiri_can_check(ops, 1U << (feature), ret_error);                                 \
    }
    WEIRI_TEXT_FIELDS(CHECK)
    WEIRI_PUT_FIELDS(CHECK)
    return status;
}
