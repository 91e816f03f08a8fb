/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Requests to bytes, and which replies they may have. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/panic.h"
#include "jobs/beanstalkd/codec.h"

/* What follows the word. */
enum arguments {
    NOTHING,
    ID,
    TUBE,
    COUNT,
    JOB,         /* priority, delay, TTR, size */
    ID_RELEASE,  /* id, priority, delay */
    ID_PRIORITY, /* id, priority */
    TUBE_DELAY
};

#define MASK(kind) (UINT32_C(1) << (kind))

static const struct {
    const char *name;
    enum arguments arguments;
    uint32_t replies; /* beside the errors that every verb may have */
} verbs[] = {
    [WEIRI_PUT] = {"put", JOB,
                   MASK(WEIRI_INSERTED) | MASK(WEIRI_BURIED) | MASK(WEIRI_EXPECTED_CRLF) |
                       MASK(WEIRI_JOB_TOO_BIG) | MASK(WEIRI_DRAINING)},
    [WEIRI_USE] = {"use", TUBE, MASK(WEIRI_USING)},
    [WEIRI_RESERVE] = {"reserve", NOTHING,
                       MASK(WEIRI_RESERVED) | MASK(WEIRI_DEADLINE_SOON) | MASK(WEIRI_TIMED_OUT)},
    [WEIRI_RESERVE_TIMEOUT] = {"reserve-with-timeout", COUNT,
                               MASK(WEIRI_RESERVED) | MASK(WEIRI_DEADLINE_SOON) |
                                   MASK(WEIRI_TIMED_OUT)},
    [WEIRI_RESERVE_JOB] = {"reserve-job", ID, MASK(WEIRI_RESERVED) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_DELETE] = {"delete", ID, MASK(WEIRI_DELETED) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_RELEASE] = {"release", ID_RELEASE,
                       MASK(WEIRI_RELEASED) | MASK(WEIRI_BURIED) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_BURY] = {"bury", ID_PRIORITY, MASK(WEIRI_BURIED) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_TOUCH] = {"touch", ID, MASK(WEIRI_TOUCHED) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_WATCH] = {"watch", TUBE, MASK(WEIRI_WATCHING)},
    [WEIRI_IGNORE] = {"ignore", TUBE, MASK(WEIRI_WATCHING) | MASK(WEIRI_NOT_IGNORED)},
    [WEIRI_PEEK] = {"peek", ID, MASK(WEIRI_FOUND) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_PEEK_READY] = {"peek-ready", NOTHING, MASK(WEIRI_FOUND) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_PEEK_DELAYED] = {"peek-delayed", NOTHING, MASK(WEIRI_FOUND) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_PEEK_BURIED] = {"peek-buried", NOTHING, MASK(WEIRI_FOUND) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_KICK] = {"kick", COUNT, MASK(WEIRI_KICKED)},
    [WEIRI_KICK_JOB] = {"kick-job", ID, MASK(WEIRI_KICKED) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_STATS] = {"stats", NOTHING, MASK(WEIRI_OK_BODY)},
    [WEIRI_STATS_JOB] = {"stats-job", ID, MASK(WEIRI_OK_BODY) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_STATS_TUBE] = {"stats-tube", TUBE, MASK(WEIRI_OK_BODY) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_LIST_TUBES] = {"list-tubes", NOTHING, MASK(WEIRI_OK_BODY)},
    [WEIRI_LIST_TUBE_USED] = {"list-tube-used", NOTHING, MASK(WEIRI_USING)},
    [WEIRI_LIST_TUBES_WATCHED] = {"list-tubes-watched", NOTHING, MASK(WEIRI_OK_BODY)},
    [WEIRI_PAUSE_TUBE] = {"pause-tube", TUBE_DELAY, MASK(WEIRI_PAUSED) | MASK(WEIRI_NOT_FOUND)},
    [WEIRI_QUIT] = {"quit", NOTHING, 0},
};

/* The node counts the body with a signed number of 32 bits, and its CR LF with it. */
#define BODY_SIZE_MAX ((size_t)INT32_MAX - 2)

const char *weiri_verb_name(enum weiri_verb verb)
{
    return verbs[verb].name;
}

static bool has_tube(enum arguments arguments)
{
    return arguments == TUBE || arguments == TUBE_DELAY;
}

bool weiri_request_write(const struct weiri_request *request, char line[WEIRI_LINE_SIZE],
                         size_t *ret_size)
{
    const struct weiri_request *r = request;
    const char *name = verbs[r->verb].name;
    enum arguments arguments = verbs[r->verb].arguments;
    if (has_tube(arguments) && weir_tube_check(r->tube, NULL) != WEIR_OK) {
        return false;
    }
    size_t size = 0;
    if (arguments == JOB &&
        (__builtin_add_overflow(r->prefix_size, r->body_size, &size) || size > BODY_SIZE_MAX)) {
        return false;
    }
    int length = 0;
    switch (arguments) {
    case NOTHING:
        length = snprintf(line, WEIRI_LINE_SIZE, "%s\r\n", name);
        break;
    case ID:
        length = snprintf(line, WEIRI_LINE_SIZE, "%s %" PRIu64 "\r\n", name, r->id);
        break;
    case TUBE:
        length = snprintf(line, WEIRI_LINE_SIZE, "%s %s\r\n", name, r->tube);
        break;
    case COUNT:
        length = snprintf(line, WEIRI_LINE_SIZE, "%s %" PRIu32 "\r\n", name, r->count);
        break;
    case JOB:
        length = snprintf(line, WEIRI_LINE_SIZE, "%s %" PRIu32 " %" PRIu32 " %" PRIu32 " %zu\r\n",
                          name, r->priority, r->delay_s, r->ttr_s, size);
        break;
    case ID_RELEASE:
        length = snprintf(line, WEIRI_LINE_SIZE, "%s %" PRIu64 " %" PRIu32 " %" PRIu32 "\r\n", name,
                          r->id, r->priority, r->delay_s);
        break;
    case ID_PRIORITY:
        length = snprintf(line, WEIRI_LINE_SIZE, "%s %" PRIu64 " %" PRIu32 "\r\n", name, r->id,
                          r->priority);
        break;
    case TUBE_DELAY:
        length =
            snprintf(line, WEIRI_LINE_SIZE, "%s %s %" PRIu32 "\r\n", name, r->tube, r->delay_s);
        break;
    }
    WEIRI_ASSERT(length > 0 && length < WEIRI_LINE_SIZE);
    *ret_size = (size_t)length;
    return true;
}

bool weiri_reply_fits(enum weiri_verb verb, const struct weiri_reply *reply)
{
    const uint32_t errors = MASK(WEIRI_OUT_OF_MEMORY) | MASK(WEIRI_INTERNAL_ERROR) |
                            MASK(WEIRI_BAD_FORMAT) | MASK(WEIRI_UNKNOWN_COMMAND);
    if (((verbs[verb].replies | errors) & MASK(reply->kind)) == 0) {
        return false;
    }
    if (reply->kind == WEIRI_BURIED) {
        return (verb == WEIRI_PUT) == (reply->id != 0);
    }
    return true;
}

bool weiri_reply_is_fatal(enum weiri_reply_kind kind)
{
    return kind == WEIRI_EXPECTED_CRLF || kind == WEIRI_JOB_TOO_BIG ||
           kind == WEIRI_INTERNAL_ERROR || kind == WEIRI_BAD_FORMAT ||
           kind == WEIRI_UNKNOWN_COMMAND;
}
