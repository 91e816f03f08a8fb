/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_QUORUM_H
#define WEIRI_BEANSTALKD_QUORUM_H

#include "jobs/beanstalkd/connection.h"

/* What the answer to a put says of the node's copy: plain functions. A put is accepted with
 * min_written copies that are written, refused where all are absent, else unknown. */

/* What one node has of a job. */
enum weiri_copy_state {
    WEIRI_COPY_ABSENT = 1, /* certainly not there, or taken back */
    WEIRI_COPY_WRITTEN,
    WEIRI_COPY_MAYBE /* sent, and no answer that says */
};

/* What a node has after a put. reply is 0 unless answered. Only INSERTED counts as written: a
 * BURIED job is there, and will not run by itself, but a kick would run it. */
enum weiri_copy_state weiri_copy_of_put(enum weiri_delivery delivery, enum weiri_reply_kind reply);
/* Must the copy be taken back where the put is not accepted? Its id is known. */
bool weiri_copy_has_id(enum weiri_reply_kind reply);
/* What a node has after the copy was deleted there. Not found: it was reserved, and may be run. */
enum weiri_copy_state weiri_copy_of_delete(enum weiri_reply_kind reply);

#endif
