/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_DUPLICATE_H
#define WEIRI_CORE_DUPLICATE_H

#include <stdbool.h>

#include <weir/broker.h>

/* What becomes of a put whose key a job has: a plain function of the mode and of that job. */

enum weiri_duplicate_action {
    WEIRI_DUPLICATE_PUT,     /* the key is free: a job is put, and has it */
    WEIRI_DUPLICATE_REFUSE,  /* nothing changes, and the put fails */
    WEIRI_DUPLICATE_NOTHING, /* nothing changes */
    WEIRI_DUPLICATE_EARLIER, /* the job has the earlier of both run times */
    WEIRI_DUPLICATE_RENEW,   /* the job becomes the new one */
    WEIRI_DUPLICATE_AFTER    /* the job runs once more after this run, as the new one */
};

/* older is the state of the job that had the key last; one that is due is ready. It is 0 for one
 * that has ended: is_throttled tells whether its key is not free yet. */
enum weiri_duplicate_action weiri_duplicate_decide(enum weir_duplicate mode,
                                                   enum weir_job_state older, bool is_throttled);

#endif
