/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_QUORUM_H
#define WEIRI_BEANSTALKD_QUORUM_H

#include <stddef.h>

#include "jobs/beanstalkd/connection.h"

/* What a put of several copies comes to: plain functions of what the nodes said. */

/* What one node has of a job. */
enum weiri_copy_state {
    WEIRI_COPY_ABSENT = 1, /* certainly not there, or taken back */
    WEIRI_COPY_WRITTEN,
    WEIRI_COPY_MAYBE /* sent, and no answer that says */
};

enum weiri_put_outcome {
    WEIRI_PUT_ACCEPTED = 1, /* min_written copies at least */
    WEIRI_PUT_REFUSED,      /* no copy: it cannot run */
    WEIRI_PUT_UNKNOWN       /* fewer copies than asked for, and it may run */
};

/* What a node has after a put. reply is 0 unless answered. Only INSERTED counts as written: a
 * BURIED job is there, and will not run by itself, but a kick would run it. */
enum weiri_copy_state weiri_copy_of_put(enum weiri_delivery delivery, enum weiri_reply_kind reply);
/* Must the copy be taken back where the put is not accepted? Its id is known. */
bool weiri_copy_has_id(enum weiri_delivery delivery, enum weiri_reply_kind reply);
/* What a node has after the copy was deleted there. Not found: it was reserved, and may be run. */
enum weiri_copy_state weiri_copy_of_delete(enum weiri_delivery delivery,
                                           enum weiri_reply_kind reply);

/* What the copies come to. Before copies are taken back: ACCEPTED ends it, anything else asks for
 * taking back; after it, what to tell. */
enum weiri_put_outcome weiri_quorum_judge(const enum weiri_copy_state *copies, size_t count,
                                          size_t min_written);

#endif
