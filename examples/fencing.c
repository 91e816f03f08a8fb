/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* An effect that is made once although jobs run at least once. A job's identity (job->identity) is
 * the same in all its runs, and that of no other job: the service that makes the effect does so
 * once for each. Each reservation has a number that rises (job->fence): the service keeps the
 * highest one it has seen, and refuses a worker that was given up and comes late. */
#include <stdio.h>
#include <string.h>

#include <weir/jobs.h>

/* The service, which would be another program with a database. */
struct account {
    int balance;
    /* In earnest a table with a row for each identity. */
    char work[240];
    uint64_t fence; /* the highest one */
    int is_done;
    uint64_t late_fence; /* of the worker that hangs */
};

/* A worker says that it begins. */
static void begin(struct account *account, const struct weir_job *job)
{
    (void)snprintf(account->work, sizeof(account->work), "%s", job->identity);
    account->fence = job->fence > account->fence ? job->fence : account->fence;
}

/* Makes the effect, unless it was made or the worker is an old one. */
static const char *pay_in(struct account *account, const char *work, uint64_t fence, int amount)
{
    if (strcmp(work, account->work) != 0) {
        return "refused: it has not begun";
    }
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
    begin(account, job);
    if (job->attempts == 1) {
        (void)printf("attempt 1: hangs before it pays in\n");
        account->late_fence = job->fence;
        return WEIR_EUSER;
    }
    (void)printf("attempt %u: %s\n", (unsigned)job->attempts,
                 pay_in(account, job->identity, job->fence, 10));
    /* The answer of the second attempt is lost, so that the job runs once more. */
    return job->attempts == 2 ? WEIR_EUSER : WEIR_OK;
}

static enum weir_status run(weir_broker *broker, struct account *account, struct weir_error *error)
{
    const struct weir_body body = {"pay in 10", 9, NULL};
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
    struct account account = {0};
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
    (void)printf("the worker that hung: %s\n",
                 pay_in(&account, account.work, account.late_fence, 10));
    (void)printf("balance: %d\n", account.balance);
    return 0;
}
