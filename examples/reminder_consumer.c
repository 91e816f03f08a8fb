/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* Tells the reminders of reminder_producer.c when they are due, as a consumer of go-queue's dq
 * would, but deletes each only once it has been told, and ends when there are no more. Argument:
 * the broker's URL (default: sqlite:reminders.db). */
#include <stdio.h>

#include <weir/jobs.h>

/* What it returns decides: WEIR_OK deletes the job, anything else brings it back later. */
static int remind(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)arg;
    return printf("remember: %.*s\n", (int)job->body_size, (const char *)job->body) > 0
               ? WEIR_OK
               : WEIR_EUSER;
}

static enum weir_status consume(weir_broker *broker, struct weir_error *error)
{
    struct weir_consumer_options options = {0};
    options.handler = remind;
    options.workers = 1;
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    weir_consumer *consumer;
    enum weir_status status = weir_consumer_new(broker, "reminders", &options, &consumer, error);
    if (status == WEIR_OK) {
        status = weir_consumer_start(consumer, error);
        if (status == WEIR_OK) {
            status = weir_consumer_wait(consumer, WEIR_FOREVER, error);
        }
        weir_consumer_free(consumer);
    }
    return status;
}

int main(int argc, char **argv)
{
    weir_broker *broker;
    struct weir_error error = {0};
    enum weir_status status =
        weir_broker_open(argc > 1 ? argv[1] : "sqlite:reminders.db", NULL, &broker, &error);
    if (status == WEIR_OK) {
        status = consume(broker, &error);
        weir_broker_close(broker);
    }
    if (status != WEIR_OK) {
        (void)fprintf(stderr, "%s: %s\n", weir_status_text((int)status), error.text);
    }
    return status != WEIR_OK;
}
