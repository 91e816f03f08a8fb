/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pipe2, writev */
#include "cli/resident.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <weir/clock.h>
#include <weir/duration.h>

#include "cli/pipes.h"

#define ANSWER_SIZE_MAX 1024
#define HEAD_SIZE (WEIR_JOB_ID_SIZE + WEIR_TUBE_SIZE_MAX + WEIR_PUT_ID_SIZE_MAX + 128)

/* How often the end of all asks whether it is hurried. */
#define HURRY_CHECK_NS WEIR_MS(100)

struct resident {
    struct resident *next;
    struct child child;
    int input;  /* our ends of its pipes */
    int output; /* -1: it has closed it */
    bool has_answered;
    char answer[ANSWER_SIZE_MAX];
    size_t used;
};

/* A job on its way into the pipe. */
struct frame {
    struct iovec parts[3];
    int next; /* part to be written; 3: all are */
    size_t written;
};

/* --- starting and ending --- */

/* Makes its pipes, whose ends that are ours do not block. Returns 0 or an errno. */
static int open_pipes(struct resident *resident, int *ret_input, int *ret_output)
{
    int input[2];
    if (pipe2(input, O_CLOEXEC) != 0) {
        return errno;
    }
    *ret_input = input[0];
    resident->input = input[1];
    (void)fcntl(resident->input, F_SETFL, O_NONBLOCK);
    return pipe_open(&resident->output, ret_output);
}

static int start(const struct child_request *request, struct resident **ret_resident)
{
    struct resident *resident = calloc(1, sizeof(*resident));
    int input = -1;
    int output = -1;
    if (resident == NULL) {
        return ENOMEM;
    }
    resident->input = resident->output = -1;
    int why = open_pipes(resident, &input, &output);
    if (why == 0) {
        why = child_start(request, input, output, &resident->child);
    }
    pipe_close(&input);
    pipe_close(&output);
    if (why != 0) {
        pipe_close(&resident->input);
        pipe_close(&resident->output);
        free(resident);
        return why;
    }
    *ret_resident = resident;
    return 0;
}

/* Waits for its end, which it has been brought to, and frees it. */
static void finish(struct resident *resident, int64_t grace_ns, struct child_end *ret_end)
{
    pipe_close(&resident->input);
    pipe_close(&resident->output);
    (void)child_finish(&resident->child, grace_ns, ret_end);
    free(resident);
}

static void discard(struct resident *resident, int64_t grace_ns)
{
    struct child_end end = {.ended_by = WEIR_OK};
    child_end_session(&resident->child, grace_ns);
    finish(resident, grace_ns, &end);
}

/* --- a job --- */

static struct frame make_frame(enum resident_mode mode, const struct weir_job *job,
                               char head[HEAD_SIZE])
{
    static char newline[] = "\n";
    struct frame frame = {.next = 0};
    int size = 0;
    if (mode == RESIDENT_FRAMES) {
        size = snprintf(head, HEAD_SIZE, "%zu %s %s %" PRIu32 " %" PRIu64 " %s\n", job->body_size,
                        job->id, job->tube, job->attempts, job->fence, job->identity);
    }
    frame.parts[0] = (struct iovec){head, (size_t)size};
    frame.parts[1] = (struct iovec){(void *)(uintptr_t)job->body, job->body_size};
    frame.parts[2] = (struct iovec){newline, mode == RESIDENT_LINES ? 1 : 0};
    return frame;
}

/* Writes what the pipe takes. False: nobody reads it any more. */
static bool write_some(struct resident *resident, struct frame *frame)
{
    while (frame->next < 3) {
        ssize_t size = writev(resident->input, frame->parts + frame->next, 3 - frame->next);
        if (size < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        size_t left = (size_t)size;
        frame->written += left;
        while (frame->next < 3 && left >= frame->parts[frame->next].iov_len) {
            left -= frame->parts[frame->next++].iov_len;
        }
        if (frame->next < 3) {
            frame->parts[frame->next].iov_base = (char *)frame->parts[frame->next].iov_base + left;
            frame->parts[frame->next].iov_len -= left;
        }
    }
    return true;
}

/* Reads what there is of an answer. */
static void read_some(struct resident *resident)
{
    ssize_t size = resident->output < 0 ? 0
                                        : read(resident->output, resident->answer + resident->used,
                                               ANSWER_SIZE_MAX - resident->used);
    if (size > 0) {
        resident->used += (size_t)size;
    } else if (size == 0 && resident->output >= 0) {
        pipe_close(&resident->output);
    }
}

/* Reads "3 cannot connect" and its newline. False: it is no answer. */
static bool read_answer(struct resident *resident, struct resident_end *end)
{
    char *newline = memchr(resident->answer, '\n', resident->used);
    unsigned status = 0;
    size_t digits = 0;
    if (newline == NULL || newline + 1 != resident->answer + resident->used) {
        return false;
    }
    *newline = '\0';
    for (; digits < 3 && resident->answer[digits] >= '0' && resident->answer[digits] <= '9';
         digits++) {
        status = status * 10 + (unsigned)(resident->answer[digits] - '0');
    }
    const char *rest = resident->answer + digits;
    if (digits == 0 || status > 255 || (rest[0] != '\0' && rest[0] != ' ')) {
        return false;
    }
    end->child.exited = true;
    end->child.number = (int)status;
    (void)snprintf(end->reason, sizeof(end->reason), "%s", rest[0] == ' ' ? rest + 1 : "");
    resident->used = 0;
    resident->has_answered = true;
    return true;
}

enum course {
    ANSWERED, /* by a whole line */
    ENDED,    /* the process has, or does, since it has closed a pipe */
    LIMITED,  /* the context or the deadline */
    BROKEN    /* the protocol */
};

/* Gives it the job and waits until something is clear. */
static enum course converse(struct resident *resident, struct frame *frame,
                            const struct control_run *run, enum weir_status *ret_status)
{
    bool is_read = write_some(resident, frame);
    int wake = child_wake(run);
    while (true) {
        /* Before the answer is read: what has ended by now has written all of it. */
        bool has_ended = !is_read || resident->output < 0 || child_wait(&resident->child, 0);
        read_some(resident);
        if (memchr(resident->answer, '\n', resident->used) != NULL) {
            return frame->next == 3 ? ANSWERED : BROKEN;
        }
        if (has_ended || resident->used == ANSWER_SIZE_MAX) {
            return has_ended ? ENDED : BROKEN;
        }
        *ret_status = control_check(run);
        if (*ret_status != WEIR_OK) {
            return LIMITED;
        }
        struct pollfd pollers[] = {
            {.fd = -1},
            {.fd = frame->next < 3 ? resident->input : -1, .events = POLLOUT},
            {.fd = resident->output, .events = POLLIN},
            {.fd = resident->child.pidfd, .events = POLLIN},
            {.fd = resident->child.control.reader, .events = POLLIN},
            {.fd = wake, .events = POLLIN},
        };
        capture_poll(&resident->child.capture, pollers, 6,
                     (int)((control_check_ns(run) + WEIR_MS(1) - 1) / WEIR_MS(1)));
        is_read = frame->next == 3 || write_some(resident, frame);
    }
}

bool resident_takes(const struct residents *residents, const struct weir_job *job)
{
    return residents->mode != RESIDENT_LINES || memchr(job->body, '\n', job->body_size) == NULL;
}

/* An idle process that is sound; NULL: there is none. One that has ended, or has written without
 * being asked, is discarded. What it told of no run is dropped. */
static struct resident *take(struct residents *residents, int64_t grace_ns)
{
    while (true) {
        (void)pthread_mutex_lock(&residents->mutex);
        struct resident *resident = residents->idle;
        residents->idle = resident != NULL ? resident->next : NULL;
        (void)pthread_mutex_unlock(&residents->mutex);
        if (resident == NULL) {
            return NULL;
        }
        read_some(resident);
        if (resident->used == 0 && resident->output >= 0 && !child_wait(&resident->child, 0)) {
            resident->child.capture.tail_size = 0;
            return resident;
        }
        discard(resident, grace_ns);
    }
}

static void put_back(struct residents *residents, struct resident *resident)
{
    (void)pthread_mutex_lock(&residents->mutex);
    resident->next = residents->idle;
    residents->idle = resident;
    (void)pthread_mutex_unlock(&residents->mutex);
}

static void keep_tail(const struct resident *resident, struct child_end *end)
{
    end->tail_size = resident->child.capture.tail_size;
    memcpy(end->tail, resident->child.capture.tail, end->tail_size);
}

/* Brings the process to its end, and reads it. Returns whether it had to be ended. */
static bool end_process(struct resident *resident, enum course course, int64_t grace_ns,
                        struct child_end *end)
{
    /* One that has closed a pipe may go on for a while; what ends it then is no end of its own. */
    bool is_left = course != ENDED || !child_wait(&resident->child, grace_ns);
    if (is_left) {
        child_end_session(&resident->child, grace_ns);
    }
    finish(resident, grace_ns, end);
    return is_left;
}

/* One that has ended in order with all in the pipe that was written has not begun the job. */
static bool is_unbegun(enum course course, bool has_answered, const struct frame *frame, int unread,
                       const struct child_end *end)
{
    return course == ENDED && has_answered && (size_t)unread == frame->written && end->exited &&
           end->number == 0;
}

/* Gives the job to a process. False: it has not begun it. */
static bool run_on(struct residents *residents, struct resident *resident, int64_t grace_ns,
                   struct control_run *run, struct resident_end *ret_end)
{
    char head[HEAD_SIZE];
    struct frame frame = make_frame(residents->mode, run->job, head);
    struct child_end *end = &ret_end->child;
    bool has_answered = resident->has_answered;
    int unread = 0;
    control_restart(run); /* the end of another process may have taken its time */
    resident->child.run = run;
    enum course course = converse(resident, &frame, run, &end->ended_by);
    if (course == ANSWERED && read_answer(resident, ret_end)) {
        (void)child_wait(&resident->child, 0); /* what it wrote before is this job's */
        control_finish(&resident->child.control, run);
        resident->child.run = NULL;
        keep_tail(resident, end);
        put_back(residents, resident);
        return true;
    }
    (void)ioctl(resident->input, FIONREAD, &unread);
    bool is_left = end_process(resident, course, grace_ns, end);
    if (is_unbegun(course, has_answered, &frame, unread, end)) {
        return false;
    }
    const char *reason = course == ANSWERED || course == BROKEN
                             ? "it answered no line with an exit status, or too early"
                         : course == ENDED && is_left ? "it closed its output without an answer"
                         : course == ENDED && end->exited && end->number == 0
                             ? "it ended without an answer"
                             : NULL;
    if (reason != NULL) {
        end->exited = true;
        end->number = RESIDENT_PROTOCOL;
        (void)snprintf(ret_end->reason, sizeof(ret_end->reason), "%s", reason);
    }
    return true;
}

int resident_run(struct residents *residents, const struct child_request *request,
                 struct control_run *run, struct resident_end *ret_end)
{
    bool is_run = false;
    while (!is_run) {
        struct resident *resident = take(residents, request->grace_ns);
        int why = resident == NULL ? start(request, &resident) : 0;
        if (why != 0) {
            return why;
        }
        *ret_end = (struct resident_end){.reason = ""};
        is_run = run_on(residents, resident, request->grace_ns, run, ret_end);
    }
    return 0;
}

void residents_end(struct residents *residents, int64_t grace_ns)
{
    weir_clock *clock = weir_clock_monotonic();
    int64_t now_ns = weir_clock_now(clock);
    int64_t until = grace_ns < INT64_MAX - now_ns ? now_ns + grace_ns : INT64_MAX;
    for (struct resident *i = residents->idle; i != NULL; i = i->next) {
        pipe_close(&i->input);
    }
    while (residents->idle != NULL) {
        struct resident *resident = residents->idle;
        residents->idle = resident->next;
        while (weir_clock_now(clock) < until && !child_wait(&resident->child, HURRY_CHECK_NS)) {
            bool is_hurried = atomic_exchange(&residents->is_hurried, false);
            for (struct resident *i = resident; is_hurried && i != NULL; i = i->next) {
                (void)child_ask(&i->child);
            }
        }
        struct child_end end = {.ended_by = WEIR_OK};
        if (!child_wait(&resident->child, 0)) {
            child_end_session(&resident->child, 0);
        }
        finish(resident, until - weir_clock_now(clock), &end);
    }
}
