/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_RESIDENT_H
#define WEIRI_CLI_RESIDENT_H

#include <pthread.h>
#include <stdatomic.h>

#include <weir/consumer.h>

#include "cli/child.h"

/* Programs that take one job after another (`weir work --persistent`), so that a job does not cost
 * a process. A program reads jobs from its standard input and answers each with a line on standard
 * output: an exit status, and after a space a reason if there is one. There is one process for each
 * worker, started when it is needed, and again after it has ended.
 *
 * A process that ends in a job ends that run as if it were the job's own. So does one that breaks
 * the protocol: writes without being asked, or an answer that is none. */

enum resident_mode {
    RESIDENT_NONE = 0, /* a process for each job */
    RESIDENT_LINES,    /* a job is a line: its body, which has no newline */
    RESIDENT_FRAMES    /* "SIZE ID TUBE ATTEMPT FENCE IDENTITY\n", and SIZE bytes */
};

#define RESIDENT_REASON_SIZE 200
/* The exit status of a run in which the process broke the protocol: EX_PROTOCOL. */
#define RESIDENT_PROTOCOL 76

struct residents {
    enum resident_mode mode;
    pthread_mutex_t mutex;
    struct resident *idle;  /* guarded by it */
    atomic_bool is_hurried; /* set on any thread: residents_end() is to ask for their ends */
};

/* The end of a run. */
struct resident_end {
    struct child_end child;            /* of an answer: as if the process had exited with it */
    char reason[RESIDENT_REASON_SIZE]; /* of the answer, or of a broken protocol; "": none */
};

/* Whether a job can be handed over; a line cannot have a newline. */
bool resident_takes(const struct residents *residents, const struct weir_job *job);

/* Hands a job to an idle process, or to a new one that is started as the request says (which has no
 * input), and waits for the answer. When the context or the run's deadline ends first, the
 * process's session is ended. Returns 0, or an errno: there is no process. Thread-safe. */
int resident_run(struct residents *residents, const struct child_request *request,
                 struct control_run *run, struct resident_end *ret_end);

/* Ends all, once none runs: closes their input, sends TERM if it is hurried, and kills what is left
 * after the grace. */
void residents_end(struct residents *residents, int64_t grace_ns);

#endif
