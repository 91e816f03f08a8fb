/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <weir/weir.h>

int main(void)
{
    /* "db" comes twice before a consumer takes it: that is one piece of work. "cache" waits. */
    const struct weir_key arrivals[] = {weir_key_string("db"), weir_key_string("web"),
                                        weir_key_string("db")};
    weir_queue *queue = NULL;
    int failed = weir_queue_new(NULL, &queue, NULL) ||
                 weir_queue_add_batch(queue, arrivals, 3, NULL) ||
                 weir_queue_add_after(queue, weir_key_string("cache"), WEIR_MS(250));

    struct weir_work work;
    for (int n = 0; n < 3 && !failed; n++) {
        failed = weir_queue_get(queue, WEIR_FOREVER, &work) != WEIR_OK;
        if (!failed) {
            printf("syncing %.*s\n", (int)work.key.size, (const char *)work.key.data);
            failed = weir_queue_done(queue, &work) != WEIR_OK;
        }
    }
    weir_queue_free(queue);
    return failed;
}
