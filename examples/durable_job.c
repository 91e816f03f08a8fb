/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* Jobs that survive the process: two mails are put into a file, one of them for later, and a
 * consumer sends them. The first try of each fails, so that the retry is seen too. Argument: the
 * store's path (default ./mail.db). */
#include <stdio.h>

#include <weir/jobs.h>

/* A handler runs on a worker's thread; the job is deleted only after it returned WEIR_OK. */
static int send_mail(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)arg;
    if (job->attempts == 1) {
        return WEIR_EUSER; /* the mail server is busy */
    }
    printf("try %u: mail to %.*s\n", (unsigned)job->attempts, (int)job->body_size,
           (const char *)job->body);
    return (int)weir_context_check(context);
}

static enum weir_status put_mails(weir_broker *broker, struct weir_error *error)
{
    weir_producer *producer;
    enum weir_status status = weir_producer_open(broker, "mail", NULL, &producer, error);
    if (status != WEIR_OK) {
        return status;
    }
    const struct weir_body now = {"anna@example.org", 16};
    const struct weir_body later = {"bert@example.org", 16};
    struct weir_job_id id;
    status = weir_producer_delay(producer, later, WEIR_MS(500), &id, error);
    if (status == WEIR_OK) {
        printf("job %s waits half a second\n", id.text);
        status = weir_producer_delay(producer, now, 0, NULL, error);
    }
    weir_producer_close(producer);
    return status;
}

static enum weir_status send_mails(weir_broker *broker, struct weir_error *error)
{
    struct weir_consumer_options options = {0};
    options.handler = send_mail;
    options.workers = 2;
    options.retry.base_ns = WEIR_MS(50);
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    weir_consumer *consumer;
    enum weir_status status = weir_consumer_new(broker, "mail", &options, &consumer, error);
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
    char url[4096];
    (void)snprintf(url, sizeof(url), "sqlite:%s", argc > 1 ? argv[1] : "mail.db");
    weir_broker *broker;
    struct weir_error error = {0};
    enum weir_status status = weir_broker_open(url, NULL, &broker, &error);
    if (status == WEIR_OK) {
        status = put_mails(broker, &error);
        if (status == WEIR_OK) {
            status = send_mails(broker, &error);
        }
        weir_broker_close(broker);
    }
    if (status != WEIR_OK) {
        (void)fprintf(stderr, "%s: %s\n", weir_status_text((int)status), error.text);
    }
    return status != WEIR_OK;
}
