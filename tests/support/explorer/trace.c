/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/explorer/engine.h"

/* Words about a schedule: the names of its locks, the actions of its threads, and a line for each
 * step. */

#define LINES_MAX 300
#define LINE_SIZE 200

static char lines[LINES_MAX][LINE_SIZE];
static uint64_t line_count;

void explorer_object_begin(const void *address, char kind)
{
    unsigned place = 0;
    while (place < explorer.object_count && explorer.objects[place].address != NULL) {
        place++;
    }
    if (place < EXPLORER_OBJECTS_MAX) {
        explorer.objects[place].address = address;
        explorer.objects[place].kind = kind;
        explorer.objects[place].number = ++explorer.objects_ever;
        explorer.object_count += place == explorer.object_count;
    }
}

void explorer_object_end(const void *address)
{
    for (unsigned i = 0; i < explorer.object_count; i++) {
        if (explorer.objects[i].address == address) {
            explorer.objects[i].address = NULL;
        }
    }
}

const char *explorer_object_name(const void *address)
{
    static char buffers[4][32];
    static unsigned turn;
    char *buffer = buffers[turn++ % 4];
    for (unsigned i = 0; i < explorer.object_count; i++) {
        if (explorer.objects[i].address == address) {
            (void)snprintf(buffer, sizeof(buffers[0]), "%s %u",
                           explorer.objects[i].kind == 'm' ? "mutex" : "condition",
                           explorer.objects[i].number);
            return buffer;
        }
    }
    return "a lock made before";
}

void explorer_trace_begin(void)
{
    line_count = 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

__attribute__((format(printf, 1, 0))) static void add_line(const char *format, va_list arguments)
{
    char *line = lines[line_count++ % LINES_MAX];
    const struct explorer_thread *self = explorer_self();
    char name[24];
    char place[96] = "";
    (void)snprintf(name, sizeof(name), "%u %s", explorer.current, self->name);
    if (self->place.file != NULL) {
        (void)snprintf(place, sizeof(place), "%s:%d %s", base_name(self->place.file),
                       self->place.line, self->place.function);
    }
    int length = snprintf(line, LINE_SIZE, "%5llu  %-16s %-40s ", (unsigned long long)explorer.step,
                          name, place);
    if (length > 0 && length < LINE_SIZE) {
        (void)vsnprintf(line + length, LINE_SIZE - (size_t)length, format, arguments);
    }
}

void explorer_trace_line(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_line(format, arguments);
    va_end(arguments);
}

void explorer_note(const char *format, ...)
{
    if (explorer.tracing && explorer.running) {
        va_list arguments;
        va_start(arguments, format);
        add_line(format, arguments);
        va_end(arguments);
    }
}

void explorer_trace_print(void)
{
    uint64_t first = line_count > LINES_MAX ? line_count - LINES_MAX : 0;
    if (first > 0) {
        (void)printf("(%llu lines before these are left out)\n", (unsigned long long)first);
    }
    (void)printf(" step  thread           place                                    what\n");
    for (uint64_t i = first; i < line_count; i++) {
        (void)printf("%s\n", lines[i % LINES_MAX]);
    }
}

__attribute__((format(printf, 3, 4))) static void append(char *buffer, size_t size,
                                                         const char *format, ...)
{
    size_t length = strlen(buffer);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(buffer + length, size - length, format, arguments);
    va_end(arguments);
}

static void describe_thread(const struct explorer_thread *thread, char *buffer, size_t size)
{
    append(buffer, size, "; %u %s ", (unsigned)(thread - explorer.threads), thread->name);
    switch (thread->state) {
    case EXPLORER_READY:
        append(buffer, size, "can run");
        break;
    case EXPLORER_LOCKING: {
        const struct weiri_mutex *mutex = thread->object;
        uintptr_t owner = atomic_load_explicit(&mutex->owner, memory_order_relaxed);
        append(buffer, size, "waits for %s", explorer_object_name(mutex));
        if (owner > 0 && owner <= explorer.count) {
            append(buffer, size, " held by %s", explorer.threads[owner - 1].name);
        }
        break;
    }
    case EXPLORER_WAITING:
        append(buffer, size, "sleeps on %s", explorer_object_name(thread->object));
        break;
    case EXPLORER_JOINING:
        append(buffer, size, "joins a thread");
        break;
    case EXPLORER_ENDED:
        append(buffer, size, "has ended");
        break;
    }
    if (thread->place.file != NULL && thread->state != EXPLORER_ENDED) {
        append(buffer, size, " at %s:%d", base_name(thread->place.file), thread->place.line);
    }
}

void explorer_describe_threads(char *buffer, size_t size)
{
    buffer[0] = '\0';
    for (unsigned i = 0; i < explorer.count; i++) {
        describe_thread(&explorer.threads[i], buffer, size);
    }
}
