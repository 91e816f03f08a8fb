/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memrchr */
#include "cli/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <weir/clock.h>

#include "cli/pipes.h"
#include "cli/report.h"

/* The run is checked so often while our standard error takes nothing. */
#define CHECK_MS 100

static void keep_tail(struct capture *capture, const char *bytes, size_t size)
{
    size_t kept = size < CAPTURE_TAIL_SIZE ? CAPTURE_TAIL_SIZE - size : 0;
    kept = kept < capture->tail_size ? kept : capture->tail_size;
    memmove(capture->tail, capture->tail + capture->tail_size - kept, kept);
    size_t added = size < CAPTURE_TAIL_SIZE ? size : CAPTURE_TAIL_SIZE;
    memcpy(capture->tail + kept, bytes + size - added, added);
    capture->tail_size = kept + added;
}

/* Fills the chunk. Of a full one only whole lines are ready, if it has any, so that lines of
 * children that run at once stay whole. */
static void fill(struct capture *capture)
{
    char *end = capture->chunk + capture->used;
    ssize_t size = read(capture->reader, end, CAPTURE_CHUNK - capture->used);
    if (size > 0) {
        keep_tail(capture, end, (size_t)size);
        capture->used += (size_t)size;
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        pipe_close(&capture->reader);
    }
    const char *last =
        capture->used < CAPTURE_CHUNK ? NULL : memrchr(capture->chunk, '\n', CAPTURE_CHUNK);
    capture->ready = last == NULL ? capture->used : (size_t)(last - capture->chunk) + 1;
}

/* Writes what is ready, as far as standard error takes it within the time. */
static void pass_on(struct capture *capture, int wait_ms)
{
    ssize_t size = report_write(capture->chunk, capture->ready, wait_ms);
    if (size < 0) {
        /* Nobody reads it any more: the child learns that from the pipe. Other errors lose text. */
        if (errno == EPIPE) {
            pipe_close(&capture->reader);
        }
        size = (ssize_t)capture->ready;
    }
    capture->used -= (size_t)size;
    capture->ready -= (size_t)size;
    memmove(capture->chunk, capture->chunk + size, capture->used);
}

void capture_poll(struct capture *capture, struct pollfd *pollers, size_t count, int timeout_ms)
{
    bool is_writing = capture->ready > 0;
    pollers[0] = (struct pollfd){.fd = is_writing ? STDERR_FILENO : capture->reader,
                                 .events = is_writing ? POLLOUT : POLLIN};
    if (poll(pollers, count, timeout_ms) > 0 && pollers[0].revents != 0) {
        if (!is_writing) {
            fill(capture);
        }
        if (capture->ready > 0) {
            pass_on(capture, 0);
        }
        if (capture->ready == 0 && capture->used > 0) {
            fill(capture);
        }
    }
}

/* A thread for a pipe that outlives its child. */
static void *pass_on_rest(void *arg)
{
    int reader = (int)(intptr_t)arg;
    char bytes[CAPTURE_CHUNK];
    ssize_t size;
    while ((size = read(reader, bytes, sizeof(bytes))) > 0 || (size < 0 && errno == EINTR)) {
        if (size > 0 && report_write(bytes, (size_t)size, -1) < 0 && errno == EPIPE) {
            break;
        }
    }
    (void)close(reader);
    return NULL;
}

static void leave_rest(struct capture *capture)
{
    pthread_t thread;
    (void)fcntl(capture->reader, F_SETFL, 0);
    if (pthread_create(&thread, NULL, pass_on_rest, (void *)(intptr_t)capture->reader) == 0) {
        (void)pthread_detach(thread);
        capture->reader = -1;
    }
}

void capture_close(struct capture *capture, const struct control_run *run, int64_t grace_ns)
{
    /* What other processes write meanwhile does not prolong this. */
    int unread = 0;
    weir_clock *clock = weir_clock_monotonic();
    int64_t ended_ns = run == NULL ? weir_clock_now(clock) : INT64_MAX;
    if (capture->reader >= 0) {
        (void)ioctl(capture->reader, FIONREAD, &unread);
    }
    size_t rounds = (size_t)unread / CAPTURE_CHUNK + 2;
    while (capture->ready > 0 || (capture->reader >= 0 && rounds > 0)) {
        if (capture->ready == 0) {
            rounds--;
            fill(capture);
            continue;
        }
        pass_on(capture, CHECK_MS);
        if (ended_ns == INT64_MAX && control_check(run) != WEIR_OK) {
            ended_ns = weir_clock_now(clock);
        }
        if (capture->ready > 0 && ended_ns < INT64_MAX &&
            weir_clock_now(clock) - ended_ns >= grace_ns) {
            break;
        }
    }
    if (capture->reader >= 0) {
        leave_rest(capture);
    }
    pipe_close(&capture->reader);
}
