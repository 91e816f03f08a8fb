/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/queue.h"

#include "support/harness.h"

TEST(tickets, "a ticket, which is no secret, does not tell the seed of the hash, which is one")
{
    weir_queue *queue;
    struct weir_work work;
    CHECK_STATUS(weir_queue_new(NULL, &queue, NULL), WEIR_OK);
    CHECK_STATUS(weir_queue_add(queue, weir_key_string("a")), WEIR_OK);
    CHECK_STATUS(weir_queue_get(queue, WEIR_FOREVER, &work), WEIR_OK);
    weiri_queue_lock(queue);
    uint64_t seed = queue->core.table.seed;
    weiri_queue_unlock(queue);
    CHECK_INT(work.ticket - 1, !=, seed >> 2);
    weir_queue_free(queue);
}
