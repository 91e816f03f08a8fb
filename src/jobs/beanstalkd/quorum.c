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

bool weiri_copy_has_id(enum weiri_delivery delivery, enum weiri_reply_kind reply)
{
    return delivery == WEIRI_ANSWERED && (reply == WEIRI_INSERTED || reply == WEIRI_BURIED);
}

enum weiri_copy_state weiri_copy_of_delete(enum weiri_delivery delivery,
                                           enum weiri_reply_kind reply)
{
    bool is_deleted = delivery == WEIRI_ANSWERED && reply == WEIRI_DELETED;
    return is_deleted ? WEIRI_COPY_ABSENT : WEIRI_COPY_MAYBE;
}

enum weiri_put_outcome weiri_quorum_judge(const enum weiri_copy_state *copies, size_t count,
                                          size_t min_written)
{
    size_t written = 0;
    size_t absent = 0;
    for (size_t i = 0; i < count; i++) {
        written += copies[i] == WEIRI_COPY_WRITTEN;
        absent += copies[i] == WEIRI_COPY_ABSENT;
    }
    if (written >= min_written) {
        return WEIRI_PUT_ACCEPTED;
    }
    return absent == count ? WEIRI_PUT_REFUSED : WEIRI_PUT_UNKNOWN;
}
