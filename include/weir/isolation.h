/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_ISOLATION_H
#define WEIR_ISOLATION_H

#include <stddef.h>
#include <stdint.h>

#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * An isolated task runs in a child process of its own, so that whatever it does costs that run
 * alone: a crash, exit(), memory without end, a loop that asks nobody.
 *
 * The child is a fork of the program at the moment of the run: it has a copy of the whole memory,
 * the payload included, and what it changes there is lost. What comes back is the task's status;
 * results leave through files, pipes or shared memory. Hooks and stamps run in the program itself,
 * around it.
 *
 * What the run's status is, and what its failure hook is told (struct weir_failure):
 *
 * | the child                            | status                         | signal | exit_status |
 * |--------------------------------------|--------------------------------|--------|-------------|
 * | returned from the task               | what that returned             | 0      | -1          |
 * | called weir_panic()                  | WEIR_EPANIC                    | 0      | -1          |
 * | was ended by a signal                | WEIR_EPANIC                    | it     | -1          |
 * | exited                               | WEIR_EPANIC                    | 0      | it          |
 * | was killed at the deadline           | WEIR_ETIMEDOUT                 | -      | -           |
 * | was killed at a cancellation         | WEIR_ECANCELED                 | -      | -           |
 * | could not be made                    | WEIR_EIO, WEIR_ENOMEM          | 0      | -1          |
 *
 * Panics and crashes go to the pool's log, with the stack where the child could still tell it. A
 * task that returned just before it would have been killed has returned.
 *
 * The child is the leader of a process group of its own. When the task has ended, or has to, or the
 * program itself has ended, killed or not, all of that group is killed. It begins with no signal
 * blocked, and with the default action for each that the program handles. Its standard input is
 * /dev/null; all other descriptors are the program's, but for those of weir.
 *
 * Other threads do not exist in the child, and what they held locked stays locked there. The C
 * library of GNU sees to its own locks (malloc(), stdio); of other libraries, and of the program
 * itself, the task may use what takes no lock, or locks that only tasks of the same worker take, or
 * that pthread_atfork() sees to. A task that waits for such a lock is killed at its deadline, so it
 * should have one. In the child's context everything works but what is of another thread; the
 * program's pools, queues, limiters and crews answer WEIR_EFORKED. What it has written with stdio
 * it must flush. atexit() functions run only if it calls exit(), and are then the program's.
 *
 * The program's handling of SIGCHLD does not matter, nor that it waits for children it does not
 * know: it has one more for the time of the run, for which a SIGCHLD may come. */

/** Flags of struct weir_isolation. */
enum weir_isolation_flags {
    /** A crash may leave a core file, as the program's own would; without this it leaves none. */
    WEIR_ISOLATION_CORE = 1
};

/** How a task is isolated. Zero means the default of every field. */
struct weir_isolation {
    size_t size;          /**< Set by WEIR_ISOLATION_INIT. */
    int64_t cpu_limit_ns; /**< Processor time it may use, rounded up to seconds; past it comes
                             SIGXCPU, and SIGKILL a second later. 0: as the program. */
    /** Bytes of address space that it may have beyond what the program has when it begins; past it
     * its allocations fail. 0: as the program. */
    uint64_t memory_limit;
    uint64_t file_limit; /**< Bytes of the largest file it may write; past it comes SIGXFSZ. 0: as
                            the program. */
    uint32_t flags;      /**< Of enum weir_isolation_flags. */
    uint32_t reserved0;  /**< Zero. */
};

/** Initialiser of struct weir_isolation. */
#define WEIR_ISOLATION_INIT                                                                        \
    {                                                                                              \
        sizeof(struct weir_isolation), 0, 0, 0, 0, 0                                               \
    }

WEIR_END_DECLS

#endif
