/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* Reminders for later, as a producer of go-queue's dq makes them (docs/migration-go-queue.md): one
 * after a while, one at a time, and one that is taken back. Argument: the broker's URL, e.g.
 * beanstalk://h1,h2,h3/?claims=redis://h4 (default: sqlite:reminders.db). */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <weir/jobs.h>

static struct weir_body text(const char *words)
{
    return (struct weir_body){words, strlen(words), NULL};
}

static int64_t wall_now(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return WEIR_SECONDS(now.tv_sec) + now.tv_nsec;
}

static enum weir_status put_reminders(weir_producer *producer, struct weir_error *error)
{
    struct weir_job_id id;
    enum weir_status status =
        weir_producer_delay(producer, text("call Anna"), WEIR_MS(200), NULL, error);
    if (status == WEIR_OK) {
        status = weir_producer_at(producer, text("send the invoice"), wall_now() + WEIR_MS(400),
                                  NULL, error);
    }
    if (status == WEIR_OK) {
        status = weir_producer_delay(producer, text("buy milk"), WEIR_MS(100), &id, error);
    }
    /* There is milk. */
    return status == WEIR_OK ? weir_producer_revoke(producer, id.text, error) : status;
}

int main(int argc, char **argv)
{
    weir_broker *broker;
    weir_producer *producer;
    struct weir_error error = {0};
    enum weir_status status =
        weir_broker_open(argc > 1 ? argv[1] : "sqlite:reminders.db", NULL, &broker, &error);
    if (status == WEIR_OK) {
        status = weir_producer_open(broker, "reminders", NULL, &producer, &error);
        if (status == WEIR_OK) {
            status = put_reminders(producer, &error);
            weir_producer_close(producer);
        }
        weir_broker_close(broker);
    }
    if (status != WEIR_OK) {
        (void)fprintf(stderr, "%s: %s\n", weir_status_text((int)status), error.text);
    }
    return status != WEIR_OK;
}
