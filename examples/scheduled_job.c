/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* A schedule that is kept in a store and puts a job ten times a second, once however many programs
 * like this one run. It is there again after a restart; here it is removed after three runs. */
#include <stdatomic.h>
#include <stdio.h>

#include <weir/jobs.h>

struct report {
    atomic_int runs;
    int64_t last_ns;
    weir_consumer *consumer;
};

static int make_report(weir_context *context, const struct weir_job *job, void *arg)
{
    struct report *report = arg;
    int runs = atomic_fetch_add(&report->runs, 1) + 1;
    (void)context;
    /* The run time is that of the schedule, however late the job runs. */
    if (runs > 1 && (job->run_at_ns - report->last_ns) % WEIR_MS(100) != 0) {
        return WEIR_EUSER;
    }
    report->last_ns = job->run_at_ns;
    if (runs <= 3) {
        (void)printf("report %d: %.*s\n", runs, (int)job->body_size, (const char *)job->body);
    }
    if (runs == 3) {
        (void)weir_consumer_end(report->consumer, WEIR_END_FINISH, 0, NULL);
    }
    return WEIR_OK;
}

static enum weir_status run(weir_broker *broker, struct report *report, struct weir_error *error)
{
    struct weir_job_schedule_options schedule = {0};
    schedule.name = "report";
    schedule.tube = "reports";
    schedule.interval_ns = WEIR_MS(100); /* or: schedule.cron = "30 2 * * *" */
    schedule.body = (struct weir_body){"all is well", 11, NULL};
    struct weir_consumer_options options = {0};
    options.handler = make_report;
    options.arg = report;
    enum weir_status status =
        weir_consumer_new(broker, "reports", &options, &report->consumer, error);
    if (status == WEIR_OK) {
        status = weir_broker_schedule_put(broker, &schedule, error);
    }
    if (status == WEIR_OK) {
        status = weir_consumer_start(report->consumer, error);
    }
    if (status == WEIR_OK) {
        status = weir_consumer_wait(report->consumer, WEIR_FOREVER, error);
    }
    weir_consumer_free(report->consumer);
    return status == WEIR_OK
               ? weir_broker_schedule_change(broker, "report", WEIR_SCHEDULE_REMOVE, NULL, error)
               : status;
}

int main(void)
{
    struct report report = {0, 0, NULL};
    weir_broker *broker;
    struct weir_error error = {0};
    enum weir_status status = weir_broker_open("sqlite:reports.db", NULL, &broker, &error);
    if (status == WEIR_OK) {
        status = run(broker, &report, &error);
        weir_broker_close(broker);
    }
    if (status != WEIR_OK) {
        (void)fprintf(stderr, "%s: %s\n", weir_status_text((int)status), error.text);
    }
    return status != WEIR_OK;
}
