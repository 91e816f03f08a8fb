/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/beanstalkd/quorum.h"

enum weiri_copy_state weiri_copy_of_put(enum weiri_delivery delivery, enum weiri_reply_kind reply)
{
    if (delivery == WEIRI_NOT_SENT) {
        return WEIRI_COPY_ABSENT;
    }
    if (delivery == WEIRI_LOST) {
        return WEIRI_COPY_MAYBE;
    }
    switch (reply) {
    case WEIRI_INSERTED:
        return WEIRI_COPY_WRITTEN;
    case WEIRI_JOB_TOO_BIG:
    case WEIRI_DRAINING:
    case WEIRI_OUT_OF_MEMORY:
    case WEIRI_EXPECTED_CRLF:
    case WEIRI_BAD_FORMAT:
    case WEIRI_UNKNOWN_COMMAND:
        return WEIRI_COPY_ABSENT;
    default: /* BURIED, INTERNAL_ERROR */
        return WEIRI_COPY_MAYBE;
    }
}

bool weiri_copy_has_id(enum weiri_reply_kind reply)
{
    return reply == WEIRI_INSERTED || reply == WEIRI_BURIED;
}

enum weiri_copy_state weiri_copy_of_delete(enum weiri_reply_kind reply)
{
    return reply == WEIRI_DELETED ? WEIRI_COPY_ABSENT : WEIRI_COPY_MAYBE;
}
