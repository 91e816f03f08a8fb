/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Isolated tasks: their limits. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "isolate/task.h"
#include "support/sanitizer.h"

#define MIB ((size_t)1 << 20)
#define KIB ((size_t)1 << 10)
#define PIECE (64 * KIB)
#define PIECES_MAX ((int)(128 * MIB / PIECE))

/* The numbers of pieces are statuses: small enough to be returned. */
static int count_maps(int protection, int flags)
{
    int count = 0;
    while (count < PIECES_MAX &&
           mmap(NULL, PIECE, protection, flags | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
        count++;
    }
    return count;
}

static int map_private(struct task *task)
{
    (void)task;
    return count_maps(PROT_READ | PROT_WRITE, MAP_PRIVATE);
}

static int map_shared(struct task *task)
{
    (void)task;
    return count_maps(PROT_READ | PROT_WRITE, MAP_SHARED);
}

static int map_without_access(struct task *task)
{
    (void)task;
    return count_maps(PROT_NONE, MAP_PRIVATE);
}

TEST(memory, "a task that maps memory until it is refused gets its limit, to the page")
{
    struct task task = task_of(map_private);
    task.isolation.memory_limit = 64 * MIB;
    task_run(&task);
    task_check_returned(&task, (int)(64 * MIB / PIECE));
    task.isolation.memory_limit = 64 * MIB - 1;
    task_run(&task);
    task_check_returned(&task, (int)(64 * MIB / PIECE) - 1);
    task.isolation.memory_limit = 1;
    task_run(&task);
    task_check_returned(&task, 0);
    task.isolation.memory_limit = UINT64_MAX;
    task_run(&task);
    task_check_returned(&task, PIECES_MAX);
    task.isolation.memory_limit = 0;
    task_run(&task);
    task_check_returned(&task, PIECES_MAX);
}

TEST(uncounted_memory, "shared memory, and memory without access, do not count")
{
    static int (*const bodies[])(struct task *) = {map_shared, map_without_access};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct task task = task_of(bodies[i]);
        task.isolation.memory_limit = 64 * MIB;
        task_run(&task);
        task_check_returned(&task, PIECES_MAX);
    }
}

/* Memory that the program has reserved without access; the task makes it writable. */
static char *reserved;

static int use_reserved(struct task *task)
{
    (void)task;
    int count = 0;
    while (count < PIECES_MAX &&
           mprotect(reserved + (size_t)count * PIECE, PIECE, PROT_READ | PROT_WRITE) == 0) {
        count++;
    }
    return count;
}

TEST(reserved_memory,
     "what the program has reserved without access counts when it is made writable")
{
    reserved = mmap(NULL, 128 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(reserved != MAP_FAILED);
    struct task task = task_of(use_reserved);
    task.isolation.memory_limit = 64 * MIB;
    task_run(&task);
    task_check_returned(&task, (int)(64 * MIB / PIECE));
    CHECK_INT(munmap(reserved, 128 * MIB), ==, 0);
}

/* Uses each piece and keeps them all, in a chain. Returns the sum in KiB. */
static int allocate_all(struct task *task)
{
    static void *volatile last;
    int count = 0;
    void **memory;
    while (count < (int)(128 * KIB) && (memory = malloc((size_t)task->number)) != NULL) {
        memset(memory, 1, (size_t)task->number);
        *memory = last;
        last = memory;
        count += task->number / (int)KIB;
    }
    return count;
}

/* On a thread that has an arena of its own, as a worker does: 64 MiB reserved, little in use. */
static void allocate_on_thread(void *arg)
{
    struct task *task = arg;
    free(malloc(1));
    task_run(task);
}

TEST(allocations, "a task that allocates until that fails gets its limit, but for a mebibyte, in "
                  "small pieces and in large ones")
{
    if (TEST_ASAN || TEST_TSAN) {
        test_skip("the sanitizer's allocator ends the process where memory is refused");
    }
    static const int sizes[] = {(int)(8 * KIB), (int)(64 * KIB), (int)MIB};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct task task = task_of(allocate_all);
        task.isolation.memory_limit = 64 * MIB;
        task.number = sizes[i];
        test_join(test_start(allocate_on_thread, &task));
        CHECK_INT(task.result.end, ==, WEIRI_ISOLATED_RETURNED);
        CHECK_INT(task.result.status, <=, 65 * KIB);
        CHECK_INT(task.result.status, >=, 63 * KIB);
    }
}

static int loop(struct task *task)
{
    const volatile int *number = &task->number;
    while (*number == 0) {
    }
    return WEIR_OK;
}

TEST(processor, "a task that computes for too long is ended")
{
    struct task task = task_of(loop);
    task.isolation.cpu_limit_ns = 1; /* a second */
    task_run(&task);
    task_check_lost(&task, SIGXCPU, -1);
}

static int write_file(struct task *task)
{
    static const char bytes[4096];
    int fd = open("file", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    bool is_written = true;
    for (int i = 0; i < task->number; i++) {
        is_written = is_written && write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes);
    }
    return is_written ? WEIR_OK : WEIR_ENOSPACE;
}

TEST(files, "a task that writes a file past its limit is ended")
{
    struct task task = task_of(write_file);
    task.isolation.file_limit = 8192;
    task.number = 2;
    task_run(&task);
    task_check_returned(&task, WEIR_OK);
    task.number = 3;
    task_run(&task);
    task_check_lost(&task, SIGXFSZ, -1);
}

static int core_limit(struct task *task)
{
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_CORE, &limit), ==, 0);
    return limit.rlim_cur == (rlim_t)task->number ? WEIR_OK : WEIR_EUSER;
}

TEST(core, "a crash leaves a core file only if that was chosen")
{
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_CORE, &limit), ==, 0);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    CHECK_INT(setrlimit(RLIMIT_CORE, &limit), ==, 0);
    struct task task = task_of(core_limit);
    task_run(&task);
    task_check_returned(&task, WEIR_OK);
    task.isolation.flags = WEIR_ISOLATION_CORE;
    task.number = (int)limit.rlim_cur;
    task_run(&task);
    task_check_returned(&task, WEIR_OK);
}

static int data_limit(struct task *task)
{
    (void)task;
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_DATA, &limit), ==, 0);
    return limit.rlim_max == 4096 * MIB ? WEIR_OK : WEIR_EUSER;
}

TEST(lower_limits, "a limit of the program that is lower stays")
{
    if (TEST_ASAN || TEST_TSAN) {
        test_skip("the sanitizer maps more than that");
    }
    const struct rlimit low = {4096 * MIB, 4096 * MIB};
    CHECK_INT(setrlimit(RLIMIT_DATA, &low), ==, 0);
    struct task task = task_of(data_limit);
    task.isolation.memory_limit = 8192 * MIB;
    task_run(&task);
    task_check_returned(&task, WEIR_OK);
}
