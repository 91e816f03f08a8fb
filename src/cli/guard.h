/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_GUARD_H
#define WEIRI_CLI_GUARD_H

/* A process that ends what a worker leaves behind when it is killed. Else programs of its jobs
 * would run on beside those of the next worker.
 *
 * Every program of the worker has a random word in its environment (WEIR_GUARD), and so has what it
 * starts. The guard waits for the worker's end, and kills each process with this word, and its
 * group, until there is none. */

/* Starts the guard. Called before there are threads and before a store is open. Without one (no
 * processes left) nothing is guarded. */
void guard_start(void);
/* Ends it, and leaves all others alone. */
void guard_stop(void);

#endif
