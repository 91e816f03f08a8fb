/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* A user's program: a little of each library, so that both are really linked. consumer.cpp is the
 * same in C++. Argument: a folder for the store. */
#include <stdio.h>
#include <string.h>

#include <weir/jobs.h>
#include <weir/weir.h>

static int use_queue(void)
{
    weir_queue *queue;
    struct weir_queue_options options = {0};
    struct weir_work work;
    if (weir_queue_new(&options, &queue, NULL) != WEIR_OK ||
        weir_queue_add(queue, weir_key_string("once")) != WEIR_OK ||
        weir_queue_add(queue, weir_key_string("once")) != WEIR_OK ||
        weir_queue_get(queue, 0, &work) != WEIR_OK || work.key.size != 4 ||
        weir_queue_done(queue, &work) != WEIR_OK ||
        weir_queue_get(queue, 0, &work) != WEIR_ETIMEDOUT) {
        return 1;
    }
    weir_queue_free(queue);
    return 0;
}

static int count_tube(const struct weir_tube_counts *counts, void *arg)
{
    *(uint64_t *)arg += counts->ready;
    return 0;
}

static int use_broker(const char *folder)
{
    char url[4096];
    (void)snprintf(url, sizeof(url), "sqlite:%s/jobs.db", folder);
    weir_broker *broker;
    struct weir_error error;
    if (weir_broker_open(url, NULL, &broker, &error) != WEIR_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    struct weir_body body = {"hello", 5, NULL};
    uint64_t ready = 0;
    enum weir_status put = weir_broker_put(broker, "tube", &body, 1, NULL, NULL, &error);
    enum weir_status counted = weir_broker_tubes(broker, NULL, count_tube, &ready, &error);
    weir_broker_close(broker);
    return put == WEIR_OK && counted == WEIR_OK && ready == 1 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc != 2 || use_queue() != 0 || use_broker(argv[1]) != 0) {
        printf("failed\n");
        return 1;
    }
    printf("works\n");
    return 0;
}
