/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_QUEUE_SAME_WORK_H
#define WEIR_TEST_QUEUE_SAME_WORK_H

#include <weir/queue.h>

/* Whether two works are equal in each member; the struct has padding, which need not be. */
static inline bool is_same_work(const struct weir_work *a, const struct weir_work *b)
{
    return a->key.data == b->key.data && a->key.size == b->key.size && a->item == b->item &&
           a->ticket == b->ticket && a->weir_record == b->weir_record && a->priority == b->priority;
}

#endif
