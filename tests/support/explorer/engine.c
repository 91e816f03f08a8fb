/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */

#include "support/explorer/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "support/explorer/choose.h"
#include "support/harness.h"

/* One schedule: coroutines, which of them can run, and the time. */

#define STACK_SIZE ((size_t)256 * 1024)
#define GUARD_SIZE ((size_t)4096)
/* Virtual time starts here, so that times before it can be named. */
#define START_NS INT64_C(1000000000)

struct explorer_engine explorer;
struct explorer_place explorer_place;

/* Kept from schedule to schedule. */
static void *stacks[EXPLORER_THREADS_MAX];

static void *stack_of(unsigned index)
{
    if (stacks[index] == NULL) {
        char *memory = mmap(NULL, GUARD_SIZE + STACK_SIZE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED || mprotect(memory, GUARD_SIZE, PROT_NONE) != 0) {
            test_fail(__FILE__, __LINE__, "no memory for a coroutine's stack");
        }
        stacks[index] = memory + GUARD_SIZE;
    }
    return stacks[index];
}

_Noreturn static void leave(void)
{
    explorer.running = false;
    explorer_context_switch(&explorer_self()->context, &explorer.root, true);
    abort();
}

_Noreturn void explorer_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(explorer.text, sizeof(explorer.text), format, arguments);
    va_end(arguments);
    if (!explorer.running) {
        test_on_failure(NULL);
        test_fail(__FILE__, __LINE__, "%s", explorer.text);
    }
    explorer_trace("FAILS: %s", explorer.text);
    explorer.failed = true;
    leave();
}

_Noreturn static void fail_with_threads(const char *what)
{
    char threads[900];
    explorer_describe_threads(threads, sizeof(threads));
    explorer_fail("%s%s", what, threads);
}

/* Moves the time to the earliest limit of a sleeping thread, and wakes those that have reached
 * theirs. */
static void jump(void)
{
    int64_t earliest = INT64_MAX;
    for (uint32_t left = explorer.sleeping; left != 0; left &= left - 1) {
        int64_t limit = explorer.threads[__builtin_ctz(left)].limit_ns;
        earliest = limit < earliest ? limit : earliest;
    }
    explorer.now_ns = earliest > explorer.now_ns ? earliest : explorer.now_ns;
    for (uint32_t left = explorer.sleeping; left != 0; left &= left - 1) {
        unsigned index = (unsigned)__builtin_ctz(left);
        if (explorer.threads[index].limit_ns <= explorer.now_ns) {
            explorer.threads[index].timed_out = true;
            explorer_wake(index);
        }
    }
    explorer_trace("time is now %lld ns", (long long)explorer.now_ns);
}

static unsigned next_thread(void)
{
    for (;;) {
        if (++explorer.step > explorer.steps_max) {
            fail_with_threads("no end in sight: too many steps");
        }
        if (explorer.ready == 0) {
            if (explorer.sleeping == 0) {
                fail_with_threads("deadlock: nobody can run, nobody sleeps with a limit");
            }
            jump();
            continue;
        }
        bool may_jump = explorer.early_time && explorer.sleeping != 0;
        if (!may_jump && (explorer.ready & (explorer.ready - 1)) == 0) {
            return (unsigned)__builtin_ctz(explorer.ready);
        }
        unsigned next = explorer_choose_thread(explorer.ready, explorer.current, may_jump);
        if (next != EXPLORER_JUMP) {
            return next;
        }
        jump();
    }
}

static void go_on(void)
{
    unsigned from = explorer.current;
    unsigned next = next_thread();
    if (next != from) {
        explorer.current = next;
        explorer_context_switch(&explorer.threads[from].context, &explorer.threads[next].context,
                                explorer.threads[from].state == EXPLORER_ENDED);
    }
}

void explorer_point(void)
{
    if (explorer.running) {
        go_on();
    }
}

void explorer_block(enum explorer_state state, const void *object, int64_t limit_ns)
{
    if (!explorer.running) {
        explorer_fail("a thread outside of a schedule would sleep for ever");
    }
    struct explorer_thread *self = explorer_self();
    self->state = state;
    self->object = object;
    self->limit_ns = limit_ns;
    self->timed_out = false;
    explorer.ready &= ~(UINT32_C(1) << explorer.current);
    if (limit_ns != INT64_MAX) {
        explorer.sleeping |= UINT32_C(1) << explorer.current;
    }
    go_on();
}

void explorer_wake(unsigned index)
{
    explorer.threads[index].state = EXPLORER_READY;
    explorer.ready |= UINT32_C(1) << index;
    explorer.sleeping &= ~(UINT32_C(1) << index);
}

static void end_scenario(void)
{
    for (unsigned i = 1; i < explorer.count; i++) {
        if (explorer.threads[i].handle != NULL) {
            explorer_fail("the scenario ended and thread %s is not joined",
                          explorer.threads[i].name);
        }
    }
}

/* The function of a coroutine, from the first switch to it. */
static void entry(void)
{
    bool is_scenario = explorer.current == 0;
    explorer_context_entered(is_scenario ? &explorer.root : NULL);
    struct explorer_thread *self = explorer_self();
    if (is_scenario) {
        explorer.scenario(explorer.scenario_arg);
    } else {
        self->handle->run(self->handle->arg);
    }
    if (self->locks_held != 0) {
        explorer_fail("thread %s ended and holds a lock", self->name);
    }
    if (is_scenario) {
        end_scenario();
        leave();
    }
    explorer_trace("ends");
    for (unsigned i = 0; i < explorer.count; i++) {
        if (explorer.threads[i].state == EXPLORER_JOINING &&
            explorer.threads[i].object == self->handle) {
            explorer_wake(i);
        }
    }
    self->state = EXPLORER_ENDED;
    explorer.ready &= ~(UINT32_C(1) << explorer.current);
    go_on();
    abort();
}

void explorer_thread_add(struct weiri_thread *handle, const char *name)
{
    if (explorer.count == EXPLORER_THREADS_MAX) {
        explorer_fail("more than %d threads", EXPLORER_THREADS_MAX);
    }
    unsigned index = explorer.count++;
    struct explorer_thread *thread = &explorer.threads[index];
    thread->handle = handle;
    thread->name = name;
    thread->object = NULL;
    thread->limit_ns = INT64_MAX;
    thread->timed_out = false;
    thread->locks_held = 0;
    thread->place = (struct explorer_place){NULL, NULL, 0};
    explorer_context_make(&thread->context, stack_of(index), STACK_SIZE, entry);
    explorer_wake(index);
    explorer_choose_thread_added(index);
}

static void fail_schedule(const char *text)
{
    if (explorer.running) {
        explorer_fail("%s", text);
    }
}

bool explorer_engine_run(void)
{
    explorer.count = 0;
    explorer.current = 0;
    explorer.ready = 0;
    explorer.sleeping = 0;
    explorer.now_ns = START_NS;
    explorer.step = 0;
    explorer.failed = false;
    explorer.object_count = 0;
    explorer.objects_ever = 0;
    explorer.refuse_thread = 0;
    explorer.text[0] = '\0';
    if (explorer.tracing) {
        explorer_trace_begin();
    }
    size_t blocks = test_allocated_blocks();
    test_on_failure(fail_schedule);
    explorer_thread_add(NULL, "scenario");
    explorer.running = true;
    explorer_context_switch(&explorer.root, &explorer.threads[0].context, false);
    test_on_failure(NULL);
    test_fail_allocation(0, false);
    if (!explorer.failed && test_allocated_blocks() != blocks) {
        explorer.failed = true;
        (void)snprintf(explorer.text, sizeof(explorer.text),
                       "%zu blocks of test_allocator() are left", test_allocated_blocks() - blocks);
    }
    return !explorer.failed;
}
