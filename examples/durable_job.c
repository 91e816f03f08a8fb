/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* Jobs that survive the process: two mails are put into a file, one of them for later, and a
 * consumer sends them. The first try of each fails, so that the retry is seen too. Argument: the
 * broker's URL (default sqlite:mail.db). */
#include <stdio.h>

#include <weir/jobs.h>

/* A handler runs on a worker's thread; the job is deleted only after it returned WEIR_OK. */
static int send_mail(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)arg;
    if (job->attempts == 1) {
        return WEIR_EUSER; /* the mail server is busy */
    }
    printf("try %u: mail to %.*s\n", (unsigned)job->attempts, (int)job->body_size,
           (const char *)job->body);
    return WEIR_OK;
}

static enum weir_status put_mails(weir_broker *broker, struct weir_error *error)
{
    const struct weir_body now = {"anna@example.org", 16, NULL};
    const struct weir_body later = {"bert@example.org", 16, NULL};
    const struct weir_put_options half_a_second = {.delay_ns = WEIR_MS(500)};
    struct weir_job_id id;
    enum weir_status status =
        weir_broker_put(broker, "mail", &later, 1, &half_a_second, &id, error);
    if (status == WEIR_OK) {
        printf("job %s waits half a second\n", id.text);
        status = weir_broker_put(broker, "mail", &now, 1, NULL, NULL, error);
    }
    return status;
}

static enum weir_status send_mails(weir_broker *broker, struct weir_error *error)
{
    struct weir_consumer_options options = {.handler = send_mail, .workers = 2};
    options.retry.base_ns = WEIR_MS(50);
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    weir_consumer *consumer = NULL;
    enum weir_status status = weir_consumer_new(broker, "mail", &options, &consumer, error);
    if (status == WEIR_OK) {
        status = weir_consumer_start(consumer, error);
    }
    if (status == WEIR_OK) {
        status = weir_consumer_wait(consumer, WEIR_FOREVER, error);
    }
    weir_consumer_free(consumer);
    return status;
}

int main(int argc, char **argv)
{
    weir_broker *broker = NULL;
    struct weir_error error = {0};
    const char *url = argc > 1 ? argv[1] : "sqlite:mail.db";
    int failed = weir_broker_open(url, NULL, &broker, &error) || put_mails(broker, &error) ||
                 send_mails(broker, &error);
    if (failed) {
        (void)fprintf(stderr, "%s\n", error.text);
    }
    weir_broker_close(broker);
    return failed;
}
