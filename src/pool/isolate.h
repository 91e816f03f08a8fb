/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ISOLATE_H
#define WEIRI_ISOLATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <weir/isolation.h>

#include "pool/context.h"
#include "pool/envelope.h"

/* A task in a process of its own. There are three processes:
 *
 *   the program      waits for messages, for the keeper's end, and on the run's descriptor
 *   the keeper       its child: makes the task's process, kills it on command, waits for it
 *   the task         the keeper's child
 *
 * The keeper is there because only a parent learns how a process ended, and in the program somebody
 * else may take that away: by ignoring SIGCHLD, or by waiting for any child. In the keeper there is
 * nobody else.
 *
 * They speak through one pair of sockets that keep messages apart: the program has one end, keeper
 * and task share the other. */

#define WEIRI_FRAMES_MAX 64

enum weiri_word {
    /* To the keeper. */
    WEIRI_WORD_BEGIN = 1, /* the program holds on to you: make the task */
    WEIRI_WORD_KILL,      /* end it */
    /* From the task. */
    WEIRI_WORD_TRACE,  /* about to panic or to crash here: frames, and of a panic the message */
    WEIRI_WORD_RESULT, /* the status it returned */
    /* From the keeper, its last. */
    WEIRI_WORD_ENDED, /* how the task's process ended: signal, exit_status */
    WEIRI_WORD_FAILED /* it could not be made: error */
};

struct weiri_message {
    enum weiri_word word;
    int status;
    int signal;
    int exit_status;
    int error;
    int frame_count;
    char text[WEIRI_MESSAGE_SIZE];
    void *frames[WEIRI_FRAMES_MAX]; /* the task's addresses, which are the program's too */
};

/* Sends a message; a failure is not told, since nobody could be. Async-signal-safe. */
void weiri_isolate_say(int socket, const struct weiri_message *message);
/* False: there is none (with wait: ever again). */
bool weiri_isolate_hear(int socket, bool wait, struct weiri_message *ret_message);

/* What the keeper does. */
_Noreturn void weiri_keeper_main(int socket, pid_t program, const weir_context *context);
/* What the task's process does. */
_Noreturn void weiri_task_main(int socket, pid_t keeper, const weir_context *context);

/* Invokes the task of the context's envelope in a process of its own; its status. How it was lost,
 * if it was, is noted in the context. */
int weiri_isolated_invoke(weir_context *context);

/* Invokes the task of the context's envelope, here or there. */
static inline int weiri_invoke(weir_context *context)
{
    weir_envelope *envelope = context->envelope;
    return weiri_envelope_has(envelope, WEIRI_PART_ISOLATION)
               ? weiri_isolated_invoke(context)
               : envelope->invoke(context, envelope->payload);
}

/* Checks options. WEIR_EINVAL, WEIR_ERANGE. */
WEIR_NODISCARD enum weir_status weiri_isolation_copy(struct weir_isolation *dst,
                                                     const struct weir_isolation *src);

#endif
