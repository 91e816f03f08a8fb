/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_WORKER_H
#define WEIRI_SQLITE_WORKER_H

#include "jobs/sqlite/row.h"

/* Which process reserved a job, and whether it is known not to live. Its row of workers has its pid
 * and start time, those of its guard, the name of the boot and its namespaces. Who asks has to have
 * the same boot and namespaces: a pid means nothing in others, and start times count from what the
 * time namespace says. What cannot be told is unknown, since a job that is taken from a worker that
 * lives runs twice at the same time. */

enum weiri_life { /* as weir_job.owner_life has it */
    WEIRI_LIFE_UNKNOWN,
    WEIRI_LIVES,
    WEIRI_LIVES_NOT
};

/* What /proc says of a process. */
struct weiri_process {
    int64_t pid;
    int64_t started; /* in clock ticks of the boot; 0: not known */
    int64_t threads;
    char state;
};

/* False: /proc does not tell, as where it hides the processes of others (hidepid), is not mounted,
 * or is that of another pid namespace. */
bool weiri_process_read(int64_t pid, struct weiri_process *ret_process);

/* A process does not live where there is none with its pid, where that one began at another time,
 * or where it has ended and only its parent has not asked for its status. One whose first thread
 * has ended lives as long as another thread does. */
enum weiri_life weiri_process_life(int64_t pid, int64_t started);

/* The namespaces of this process; "": not known. */
void weiri_worker_space(char space[WEIRI_SPACE_SIZE]);

/* Inside a transaction that reserves: the number of this store's row of workers, which is added
 * where it is not there. 0: there is none, since the process could not be told apart, or the disk
 * is full: reserving must need no space. */
int64_t weiri_worker_enter(struct weiri_store *store);

/* Whether the worker of a reserved row lives, or its guard. A lease of 0 is of an earlier boot, or
 * of what a backup was made of. */
enum weiri_life weiri_worker_life(const struct weiri_store *store,
                                  struct weiri_connection *connection,
                                  const struct weiri_job_row *row);

#endif
