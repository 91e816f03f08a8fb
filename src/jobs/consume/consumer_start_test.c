/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a start does when the system refuses a thread. */
#define _GNU_SOURCE /* RTLD_NEXT */

#include "support/consumer.h"
#include "support/refuse_thread.h"

static struct scene scene;

/* While it starts the consumer is ended, and started once more. */
static void meddle(void)
{
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_STOP, 0, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(scene.consumer, NULL), WEIR_ESTATE);
}

TEST(refused, "a start that fails leaves a consumer that was never started, though it was ended")
{
    struct weir_error error;
    scene_open(&scene);
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    options.workers = 2;
    before_refusal = meddle;
    for (int nth = 1; nth <= 3; nth++) {
        (void)jobs_put(scene.broker, "t", "x", NULL);
        CHECK_STATUS(weir_consumer_new(scene.broker, "t", &options, &scene.consumer, NULL),
                     WEIR_OK);
        calls_count = true;
        atomic_store(&refuse_nth, nth);
        CHECK_STATUS(weir_consumer_start(scene.consumer, &error), WEIR_ETHREAD);
        calls_count = false;
        CHECK_STRING(error.text, "2 workers: a thread could not be started");
        CHECK_STATUS(weir_consumer_wait(scene.consumer, WEIR_FOREVER, NULL), WEIR_ESTATE);
        CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_STOP, 0, NULL), WEIR_ESTATE);
        CHECK_STATUS(weir_consumer_start(scene.consumer, NULL), WEIR_OK);
        scene_wait_for_end(&scene);
        CHECK_INT(scene.runs, ==, nth);
        weir_consumer_free(scene.consumer);
        scene.consumer = NULL;
    }
    scene_close(&scene);
}
