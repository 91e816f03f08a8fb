/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_ISOLATION_H
#define WEIR_ISOLATION_H

#include <stddef.h>
#include <stdint.h>

#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * An isolated task (isolation of struct weir_envelope_options) runs in a child process of its own.
 * A crash, exit(), a loop without end or memory without end then costs that run alone. The child is
 * forked from the program when the run begins. It has a copy of all memory, including the payload.
 * Only the task's status and its explanation come back; other results leave through files, pipes or
 * shared memory. Hooks and stamps run in the program, around the child.
 *
 * The run's status, and what its failure hook gets (struct weir_failure):
 *
 * | the child                            | status                         | signal | exit_status |
 * |--------------------------------------|--------------------------------|--------|-------------|
 * | returned from the task               | the task's                     | 0      | -1          |
 * | called weir_panic()                  | WEIR_EPANIC                    | 0      | -1          |
 * | was ended by a signal                | WEIR_EPANIC                    | signal | -1          |
 * | exited                               | WEIR_EPANIC                    | 0      | exit status |
 * | was killed at the deadline           | WEIR_ETIMEDOUT                 | -      | -           |
 * | was killed at a cancellation         | WEIR_ECANCELED                 | -      | -           |
 * | did not begin: no memory             | WEIR_ENOMEM                    | 0      | -1          |
 * | did not begin: another reason        | WEIR_EIO                       | 0      | -1          |
 *
 * Panics and crashes go to the pool's log, with the child's stack where it could still be read. The
 * status of a task that returned counts, even if the child was killed after that.
 *
 * What the child begins with:
 *
 * - No signal is blocked, whatever the program and its threads block; programs that the task starts
 *   inherit that. Signals that the program handles have their default action; signals that it
 *   ignores are ignored, except for SIGCHLD.
 * - It leads a process group of its own. Standard input is /dev/null. It has the program's other
 *   descriptors.
 * - It has one thread, the task's. Locks that other threads held at the fork stay locked. The GNU C
 *   library sees to its own locks (malloc(), stdio). Of other libraries and of the program the task
 *   may use functions that take no lock, or one that only tasks of the same worker take or that
 *   pthread_atfork() sees to; one that waits for any other lock is killed at its deadline.
 * - The task's context works, except for what another thread would do. The program's pools, queues,
 *   limiters and crews answer WEIR_EFORKED. The task flushes what it writes with stdio. atexit()
 *   functions run if the task calls exit().
 * - A process that the task forks ends with exec or _exit(). If it returns from the task's function
 *   or calls weir_panic(), it is aborted with a message.
 *
 * When the task ends, is killed, or the program ends in any way, every process below the child is
 * killed too, also one in a session of its own (setsid()), and the run ends after they have. To
 * this end a second process, the supervisor, runs between program and child. The supervisor is the
 * subreaper of what is below it: getppid() of an orphan is the supervisor's number. Not killed are:
 *
 * - a process that has changed its user, and what is below it;
 * - a process that something else started on the task's request, such as systemd or at;
 * - where /proc is not mounted, a process that has left the child's group;
 * - where the supervisor itself is killed with SIGKILL, all but the child.
 *
 * The program may ignore SIGCHLD and may wait for children it does not know. It has one child more,
 * the supervisor, while the run lasts, and may get a SIGCHLD for it. Requires Linux 5.4. */

/** Flags of struct weir_isolation. */
enum weir_isolation_flags {
    /** A crash may leave a core file, as the program's own would; without this it leaves none. */
    WEIR_ISOLATION_CORE = 1
};

/** How a task is isolated. Zero means the default of every field. The limits hold for each process
 * by itself: the child, and with the same values each process below it. They only lower the
 * program's own limits. */
struct weir_isolation {
    /** Processor time in nanoseconds, rounded up to seconds. After that the child gets SIGXCPU, and
     * SIGKILL a second later. 0: the program's limit. */
    int64_t cpu_limit_ns;
    /** Bytes of memory that the child may get beyond what the program has when it forks, rounded
     * down to whole pages. Beyond the limit malloc(), mmap() and mprotect() fail with ENOMEM.
     * Counted is what is private and writable (RLIMIT_DATA), whether it is used or not: the heap,
     * stacks of threads, private mappings. Not counted is memory that the program's allocator had
     * but did not use, which the child can use as well. Each program that the task starts begins
     * with no memory; its limit is the sum of this one and the program's memory. Where /proc is not
     * mounted a task with this limit does not begin (WEIR_EIO). 0: the program's limit. */
    uint64_t memory_limit;
    /** Most bytes of a file that it writes; beyond, SIGXFSZ. 0: the program's limit. */
    uint64_t file_limit;
    uint32_t flags; /**< Of enum weir_isolation_flags. */
};

WEIR_END_DECLS

#endif
