/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Requests to bytes, which replies they may have, and what those to a put say of its copy. */
#include <inttypes.h>
#include <stdio.h>

#include "base/panic.h"
#include "jobs/beanstalkd/codec.h"

#define MASK(kind) (UINT32_C(1) << (kind))

/* Arguments, in their order: i id, p priority, d delay, t TTR, c count, s size of the body, T tube.
 * Every verb may also be answered by an error. */
static const struct {
    const char *name;
    const char *arguments;
    uint32_t replies;
} verbs[] = {
    [WEIRI_PUT] = {"put", "pdts",
                   MASK(WEIRI_INSERTED) | MASK(WEIRI_BURIED) | MASK(WEIRI_EXPECTED_CRLF) |
                       MASK(WEIRI_JOB_TOO_BIG) | MASK(WEIRI_DRAINING)},
    [WEIRI_USE] = {"use", "T", MASK(WEIRI_USING)},
    [WEIRI_RESERVE_TIMEOUT] = {"reserve-with-timeout", "c",
                               MASK(WEIRI_RESERVED) | MASK(WEIRI_DEADLINE_SOON) |
                                   MASK(WEIRI_TIMED_OUT)},
    [WEIRI_RESERVE_JOB] = {"reserve-job", "i", MASK(WEIRI_RESERVED) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_DELETE] = {"delete", "i", MASK(WEIRI_DELETED) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_RELEASE] = {"release", "ipd",
                       MASK(WEIRI_RELEASED) | MASK(WEIRI_BURIED) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_BURY] = {"bury", "ip", MASK(WEIRI_BURIED) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_TOUCH] = {"touch", "i", MASK(WEIRI_TOUCHED) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_WATCH] = {"watch", "T", MASK(WEIRI_WATCHING)},
    [WEIRI_IGNORE] = {"ignore", "T", MASK(WEIRI_WATCHING) | MASK(WEIRI_NOT_IGNORED)},
    [WEIRI_PEEK] = {"peek", "i", MASK(WEIRI_FOUND) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_PEEK_READY] = {"peek-ready", "", MASK(WEIRI_FOUND) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_PEEK_DELAYED] = {"peek-delayed", "", MASK(WEIRI_FOUND) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_PEEK_BURIED] = {"peek-buried", "", MASK(WEIRI_FOUND) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_KICK_JOB] = {"kick-job", "i", MASK(WEIRI_KICKED) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_STATS] = {"stats", "", MASK(WEIRI_OK_BODY)},
    [WEIRI_STATS_JOB] = {"stats-job", "i", MASK(WEIRI_OK_BODY) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_STATS_TUBE] = {"stats-tube", "T", MASK(WEIRI_OK_BODY) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_LIST_TUBES] = {"list-tubes", "", MASK(WEIRI_OK_BODY)},
    [WEIRI_PAUSE_TUBE] = {"pause-tube", "Td", MASK(WEIRI_PAUSED) | MASK(WEIRI_NOT_FOUND)},
};

/* The node counts the body with a signed number of 32 bits, and its CR LF with it. */
#define BODY_SIZE_MAX ((size_t)INT32_MAX - 2)

const char *weiri_verb_name(enum weiri_verb verb)
{
    return verbs[verb].name;
}

bool weiri_request_write(const struct weiri_request *request, char line[WEIRI_LINE_SIZE],
                         size_t *ret_size)
{
    const struct weiri_request *r = request;
    int used = snprintf(line, WEIRI_LINE_SIZE, "%s", verbs[r->verb].name);
    for (const char *argument = verbs[r->verb].arguments; *argument != '\0'; argument++) {
        size_t size = 0;
        if (*argument == 'T') {
            if (weir_tube_check(r->tube, NULL) != WEIR_OK) {
                return false;
            }
            used += snprintf(line + used, WEIRI_LINE_SIZE - (size_t)used, " %s", r->tube);
            continue;
        }
        if (*argument == 's' &&
            (__builtin_add_overflow(r->prefix_size, r->body_size, &size) || size > BODY_SIZE_MAX)) {
            return false;
        }
        uint64_t number = *argument == 'i'   ? r->id
                          : *argument == 'p' ? r->priority
                          : *argument == 'd' ? r->delay_s
                          : *argument == 't' ? r->ttr_s
                          : *argument == 'c' ? r->count
                                             : size;
        used += snprintf(line + used, WEIRI_LINE_SIZE - (size_t)used, " %" PRIu64, number);
    }
    used += snprintf(line + used, WEIRI_LINE_SIZE - (size_t)used, "\r\n");
    WEIRI_ASSERT(used < WEIRI_LINE_SIZE);
    *ret_size = (size_t)used;
    return true;
}

bool weiri_reply_fits(enum weiri_verb verb, const struct weiri_reply *reply)
{
    const uint32_t errors = MASK(WEIRI_OUT_OF_MEMORY) | MASK(WEIRI_INTERNAL_ERROR) |
                            MASK(WEIRI_BAD_FORMAT) | MASK(WEIRI_UNKNOWN_COMMAND);
    if (((verbs[verb].replies | errors) & MASK(reply->kind)) == 0) {
        return false;
    }
    return reply->kind != WEIRI_BURIED || (verb == WEIRI_PUT) == (reply->id != 0);
}

bool weiri_reply_is_fatal(enum weiri_reply_kind kind)
{
    return kind == WEIRI_EXPECTED_CRLF || kind == WEIRI_JOB_TOO_BIG ||
           kind == WEIRI_INTERNAL_ERROR || kind == WEIRI_BAD_FORMAT ||
           kind == WEIRI_UNKNOWN_COMMAND;
}

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
