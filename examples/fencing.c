/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* An effect that is made once although jobs run at least once. Each reservation of a job has a
 * number that rises (job->fence). The service that makes the effect keeps the highest number it has
 * seen of each job: it refuses a worker that was given up and comes late, and does nothing twice.
 */
#include <stdio.h>

#include <weir/jobs.h>

/* The service, which would be another program with a database. */
struct account {
    int balance;
    uint64_t fence; /* the highest one of the job: a table with a row for each job, in earnest */
    int is_done;
    uint64_t late_fence; /* of the worker that hangs */
};

/* A worker says that it begins. */
static void begin(struct account *account, uint64_t fence)
{
    account->fence = fence > account->fence ? fence : account->fence;
}

/* Makes the effect, unless it was made or the worker is an old one. */
static const char *pay_in(struct account *account, uint64_t fence, int amount)
{
    if (fence < account->fence) {
        return "refused: a newer worker has begun";
    }
    if (account->is_done) {
        return "had been done";
    }
    account->balance += amount;
    account->is_done = 1;
    return "done";
}

static int handle(weir_context *context, const struct weir_job *job, void *arg)
{
    struct account *account = arg;
    (void)context;
    begin(account, job->fence);
    if (job->attempts == 1) {
        (void)printf("attempt 1: hangs before it pays in\n");
        account->late_fence = job->fence;
        return WEIR_EUSER;
    }
    (void)printf("attempt %u: %s\n", (unsigned)job->attempts, pay_in(account, job->fence, 10));
    /* The answer of the second attempt is lost, so that the job runs once more. */
    return job->attempts == 2 ? WEIR_EUSER : WEIR_OK;
}

static enum weir_status run(weir_broker *broker, struct account *account, struct weir_error *error)
{
    const struct weir_body body = {"pay in 10", 9};
    struct weir_consumer_options options = {0};
    options.handler = handle;
    options.arg = account;
    options.retry.base_ns = WEIR_MS(1);
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    weir_consumer *consumer = NULL;
    enum weir_status status = weir_broker_put(broker, "payments", &body, 1, NULL, NULL, error);
    if (status == WEIR_OK) {
        status = weir_consumer_new(broker, "payments", &options, &consumer, error);
    }
    if (status == WEIR_OK) {
        status = weir_consumer_start(consumer, error);
    }
    if (status == WEIR_OK) {
        status = weir_consumer_wait(consumer, WEIR_FOREVER, error);
    }
    weir_consumer_free(consumer);
    return status;
}

int main(void)
{
    struct account account = {0, 0, 0, 0};
    weir_broker *broker;
    struct weir_error error = {0};
    enum weir_status status = weir_broker_open("sqlite:payments.db", NULL, &broker, &error);
    if (status == WEIR_OK) {
        status = run(broker, &account, &error);
        weir_broker_close(broker);
    }
    if (status != WEIR_OK) {
        (void)fprintf(stderr, "%s: %s\n", weir_status_text((int)status), error.text);
        return 1;
    }
    (void)printf("the worker that hung: %s\n", pay_in(&account, account.late_fence, 10));
    (void)printf("balance: %d\n", account.balance);
    return 0;
}
