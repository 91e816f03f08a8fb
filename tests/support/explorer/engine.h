/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_EXPLORER_ENGINE_H
#define WEIR_EXPLORER_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sync.h"

#include "support/explorer/context.h"
#include "support/explorer/explorer.h"
#include "support/explorer/place.h"

/* The state of the schedule that runs, for the explorer's own files. Everything happens on one
 * thread of the system: no locks. */

#define EXPLORER_THREADS_MAX 24
#define EXPLORER_OBJECTS_MAX 64

enum explorer_state {
    EXPLORER_READY,
    EXPLORER_LOCKING, /* object: the mutex, which another thread holds */
    EXPLORER_WAITING, /* object: the condition, or the word */
    EXPLORER_JOINING, /* object: the struct weiri_thread */
    EXPLORER_ENDED
};

struct explorer_thread {
    struct explorer_context context;
    enum explorer_state state;
    bool timed_out;
    const void *object;
    int64_t limit_ns; /* while WAITING; INT64_MAX: none */
    unsigned locks_held;
    struct weiri_thread *handle; /* NULL: the scenario itself, or joined already */
    const char *name;
    struct explorer_place place; /* of the call the thread is in */
};

struct explorer_engine {
    struct explorer_thread threads[EXPLORER_THREADS_MAX];
    unsigned count;
    unsigned current;
    uint32_t ready;    /* a bit for each thread in state READY */
    uint32_t sleeping; /* a bit for each thread that WAITS with a limit */
    int64_t now_ns;
    uint64_t step;
    uint64_t steps_max;
    uint64_t refuse_thread; /* the thread start to refuse, counted from the next; 0: none */
    bool running;
    bool failed;
    bool tracing;
    bool early_time;
    bool spurious;
    explorer_scenario_fn *scenario;
    void *scenario_arg;
    struct explorer_context root; /* of explorer_run() */
    struct {
        const void *address; /* NULL: ended */
        char kind;           /* 'm', 'c' */
        unsigned number;     /* its number in the order of beginnings: its name */
    } objects[EXPLORER_OBJECTS_MAX];
    unsigned object_count; /* places in use up to now */
    unsigned objects_ever;
    char text[1024];
};
extern struct explorer_engine explorer;

/* Runs one schedule from its beginning to its end; the chooser has been set up. False: failed. */
bool explorer_engine_run(void);

/* Leaves the schedule as failed. */
_Noreturn void explorer_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline struct explorer_thread *explorer_self(void)
{
    return &explorer.threads[explorer.current];
}

/* Lets the chooser decide which thread runs next, the calling one included. */
void explorer_point(void);
/* The same without the calling thread, whose state is no longer READY; returns once it is. */
void explorer_block(enum explorer_state state, const void *object, int64_t limit_ns);
/* Makes a thread READY. */
void explorer_wake(unsigned index);
/* Makes a thread for handle; it will call run(arg) of that. */
void explorer_thread_add(struct weiri_thread *handle, const char *name);

/* A lock or condition has begun or ended its life. */
void explorer_object_begin(const void *address, char kind);
void explorer_object_end(const void *address);
/* Its name; one of a few static buffers. */
const char *explorer_object_name(const void *address);

void explorer_trace_begin(void);
/* A line about the action of the calling thread. The words are made only for a trace: the millions
 * of schedules that pass need none. */
#define explorer_trace(...) (explorer.tracing ? explorer_trace_line(__VA_ARGS__) : (void)0)
void explorer_trace_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the last lines. */
void explorer_trace_print(void);

/* A line for each thread: its state. */
void explorer_describe_threads(char *buffer, size_t size);

#endif
