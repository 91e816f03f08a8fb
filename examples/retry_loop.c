/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <weir/weir.h>

/* The work itself, which succeeds at the third try. */
static bool sync_host(struct weir_key host)
{
    static int tries = 0;
    tries++;
    printf("%.*s: ", (int)host.size, (const char *)host.data);
    printf(tries < 3 ? "failed\n" : "done\n");
    return tries >= 3;
}

int main(void)
{
    weir_queue *queue = NULL;
    struct weir_work work;
    enum weir_status status = weir_queue_new(NULL, &queue, NULL);
    if (status == WEIR_OK) {
        status = weir_queue_add(queue, weir_key_string("db"));
    }
    while (status == WEIR_OK) {
        /* Sleeps while nothing is queued, until the next try is due. */
        status = weir_queue_get(queue, WEIR_FOREVER, &work);
        if (status != WEIR_OK) {
            break;
        }
        if (sync_host(work.key)) {
            status = weir_queue_forget(queue, work.key);
            weir_queue_shutdown(queue); /* that was all */
        } else {
            status = weir_queue_add_rate_limited(queue, work.key);
        }
        /* Always, and last, also after a failure. */
        if (weir_queue_done(queue, &work) != WEIR_OK) {
            status = WEIR_ENOTPROCESSING;
        }
    }
    weir_queue_free(queue);
    return status == WEIR_ESHUTDOWN ? 0 : 1;
}
