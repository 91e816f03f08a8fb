/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The program's side of an isolated task. */
#define _GNU_SOURCE /* pidfd_open, P_PIDFD, sigdescr_np */
#include "pool/isolate.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/options.h"
#include "pool/panic.h"

_Static_assert(offsetof(struct weir_isolation, reserved0) + sizeof(uint32_t) ==
                   sizeof(struct weir_isolation),
               "no padding at the end of an options struct");

enum weir_status weiri_isolation_copy(struct weir_isolation *dst, const struct weir_isolation *src)
{
    if (weiri_options_copy(dst, sizeof(*dst), src) != WEIR_OK || dst->reserved0 != 0 ||
        (dst->flags & ~(uint32_t)WEIR_ISOLATION_CORE) != 0) {
        return WEIR_EINVAL;
    }
    return dst->cpu_limit_ns < 0 ? WEIR_ERANGE : WEIR_OK;
}

void weiri_isolate_say(int socket, const struct weiri_message *message)
{
    ssize_t size;
    do {
        size = send(socket, message, sizeof(*message), MSG_NOSIGNAL);
    } while (size < 0 && errno == EINTR);
}

bool weiri_isolate_hear(int socket, bool wait, struct weiri_message *ret_message)
{
    ssize_t size;
    do {
        size = recv(socket, ret_message, sizeof(*ret_message), wait ? 0 : MSG_DONTWAIT);
    } while (size < 0 && errno == EINTR);
    return size == (ssize_t)sizeof(*ret_message);
}

/* The keeper, and what was heard of the task. */
struct isolated {
    weir_context *context;
    int socket;
    int pidfd;      /* the keeper's; it cannot come to mean another process, as its number could */
    int context_fd; /* -1: it has been told to kill */
    enum weir_status killed_as; /* WEIR_OK: it was not */
    bool has_result;
    bool has_ended;
    struct weiri_message result;
    struct weiri_message trace; /* frame_count 0: none */
    struct weiri_message end;
};

static void say(int socket, enum weiri_word word)
{
    const struct weiri_message message = {.word = word};
    weiri_isolate_say(socket, &message);
}

/* A process that is not begun: errno says why. */
static enum weir_status cannot_begin(weir_context *context, const char *what)
{
    int why = errno;
    char text[WEIRI_MESSAGE_SIZE];
    char words[128];
    (void)snprintf(text, sizeof(text), "not begun: %s: %s", what,
                   strerror_r(why, words, sizeof(words)));
    weiri_context_note_loss(context, text, 0, -1);
    return why == ENOMEM ? WEIR_ENOMEM : WEIR_EIO;
}

static enum weir_status begin(struct isolated *task)
{
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
        return cannot_begin(task->context, "socketpair");
    }
    void *first[1];
    (void)weiri_panic_stack(first, 1); /* its first call loads what a crash in the child needs */
    pid_t program = getpid();
    pid_t keeper = fork();
    if (keeper == 0) {
        (void)close(sockets[0]);
        weiri_keeper_main(sockets[1], program, task->context);
    }
    int why = errno;
    (void)close(sockets[1]);
    errno = why;
    if (keeper < 0) {
        enum weir_status status = cannot_begin(task->context, "fork");
        (void)close(sockets[0]);
        return status;
    }
    /* It waits for a word, so its number is its own still. Without one it ends by itself. */
    task->pidfd = pidfd_open(keeper, 0);
    if (task->pidfd < 0) {
        enum weir_status status = cannot_begin(task->context, "pidfd_open");
        (void)close(sockets[0]);
        (void)waitpid(keeper, NULL, 0);
        return status;
    }
    task->socket = sockets[0];
    say(task->socket, WEIRI_WORD_BEGIN);
    return WEIR_OK;
}

static void note(struct isolated *task, const struct weiri_message *message)
{
    switch (message->word) {
    case WEIRI_WORD_TRACE:
        task->trace = *message;
        return;
    case WEIRI_WORD_RESULT:
        task->result = *message;
        task->has_result = true;
        return;
    case WEIRI_WORD_ENDED:
    case WEIRI_WORD_FAILED:
        if (!task->has_ended) { /* a task that could not begin says so before it ends */
            task->end = *message;
            task->has_ended = true;
        }
        return;
    case WEIRI_WORD_BEGIN:
    case WEIRI_WORD_KILL:
        return;
    }
}

/* Until the keeper has said its last word, or ended without. */
static void wait_end(struct isolated *task)
{
    bool is_gone = false;
    while (!task->has_ended && !is_gone) {
        struct pollfd pollers[] = {
            {.fd = task->socket, .events = POLLIN},
            {.fd = task->pidfd, .events = POLLIN},
            {.fd = task->context_fd, .events = POLLIN},
        };
        (void)poll(pollers, 3, -1);
        is_gone = pollers[1].revents != 0;
        struct weiri_message message;
        while (weiri_isolate_hear(task->socket, false, &message)) {
            note(task, &message);
        }
        if (pollers[2].revents != 0 && !task->has_ended) {
            task->killed_as = weir_context_check(task->context);
            task->context_fd = -1;
            say(task->socket, WEIRI_WORD_KILL);
        }
    }
    (void)close(task->socket);
    siginfo_t info;
    /* ECHILD: the program has it that children leave no word, or took it. */
    while (waitid(P_PIDFD, (id_t)task->pidfd, &info, WEXITED) != 0 && errno == EINTR) {
    }
    (void)close(task->pidfd);
}

static enum weir_status lose(struct isolated *task, const char *text, int signal, int exit_status)
{
    weiri_context_note_loss(task->context, text, signal, exit_status);
    weiri_panic_log(task->context, text, task->trace.frames, task->trace.frame_count);
    return WEIR_EPANIC;
}

/* What became of a task that gave no status. */
static enum weir_status judge(struct isolated *task)
{
    char text[WEIRI_MESSAGE_SIZE];
    if (!task->has_ended) {
        return lose(task, "its process and its keeper's were killed", 0, -1);
    }
    if (task->end.word == WEIRI_WORD_FAILED) {
        errno = task->end.error;
        return cannot_begin(task->context, task->end.text);
    }
    int signal = task->end.signal;
    if (signal == SIGKILL && task->killed_as != WEIR_OK) {
        return task->killed_as;
    }
    if (signal != 0) {
        const char *words = sigdescr_np(signal);
        (void)snprintf(text, sizeof(text), "ended by signal %d (%s)", signal,
                       words != NULL ? words : "unknown");
        return lose(task, text, signal, -1);
    }
    (void)snprintf(text, sizeof(text), "exited with status %d", task->end.exit_status);
    return lose(task, text, 0, task->end.exit_status);
}

int weiri_isolated_invoke(weir_context *context)
{
    struct isolated task = {.context = context, .killed_as = WEIR_OK};
    context->is_lost = false; /* a stamp may have it run again */
    enum weir_status status = weir_context_check(context);
    if (status != WEIR_OK) {
        return (int)status;
    }
    status = weir_context_fd(context, &task.context_fd);
    if (status != WEIR_OK) {
        return (int)cannot_begin(context, "timerfd_create");
    }
    status = begin(&task);
    if (status != WEIR_OK) {
        return (int)status;
    }
    wait_end(&task);
    if (!task.has_result) {
        return (int)judge(&task);
    }
    if (task.trace.word == WEIRI_WORD_TRACE) { /* a panic: nothing else returns after a trace */
        return (int)lose(&task, task.trace.text, 0, -1);
    }
    return task.result.status;
}
