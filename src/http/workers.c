/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "http/api.h"
#include "view/json.h"

/* The processes that have jobs reserved, and these jobs. */

#define JOBS_MAX 1000

struct running {
    const struct api *api;
    json_t *processes; /* An object: arrays of jobs by the number of the process; NULL: failed. */
    size_t count;
    bool is_more;
    enum weir_status status; /* Of the last tube. */
    struct weir_error error;
};

static int add_job(const struct weir_job *job, void *arg)
{
    struct running *running = arg;
    char process[24];
    if (running->count == JOBS_MAX) {
        running->is_more = true;
        return 1;
    }
    running->count++;
    (void)snprintf(process, sizeof(process), "%" PRId64, job->owner);
    if (json_object_get(running->processes, process) == NULL) {
        (void)json_object_set_new(running->processes, process, json_array());
    }
    json_t *jobs = json_object_get(running->processes, process);
    json_t *object = json_of_job(job, false);
    api_hide(running->api, object, "reason");
    if (json_array_append_new(jobs, object) != 0) {
        json_decref(running->processes);
        running->processes = NULL;
        return 1;
    }
    return 0;
}

/* Adds the reserved jobs of a tube. */
static int add_tube(const struct weir_tube_counts *tube, void *arg)
{
    struct running *running = arg;
    const struct weir_job_filter first = {.tube = tube->tube,
                                          .state = WEIR_JOB_RESERVED,
                                          .first = JOBS_MAX + 1 - running->count,
                                          .no_bodies = 1};
    running->status =
        weir_broker_list(running->api->broker, &first, add_job, running, &running->error);
    return running->status != WEIR_OK || running->processes == NULL || running->is_more;
}

/* Takes the object. */
static json_t *list_processes(json_t *processes)
{
    json_t *list = json_array();
    const char *process;
    json_t *jobs;
    json_object_foreach(processes, process, jobs)
    {
        json_int_t number = (json_int_t)strtoll(process, NULL, 10);
        (void)reply_append(&list, json_pack("{s:I, s:O}", "process", number, "jobs", jobs));
    }
    json_decref(processes);
    return list;
}

void api_workers(const struct api *api, const struct request *request, struct reply *reply)
{
    struct weir_error error = {0};
    (void)request;
    struct running running = {.api = api, .processes = json_object()};
    enum weir_status status = weir_broker_find_tubes(api->broker, NULL, add_tube, &running, &error);
    if (status == WEIR_OK && running.status != WEIR_ENOTSUP) {
        status = running.status;
        error = running.error;
    }
    if (status != WEIR_OK) {
        json_decref(running.processes);
        reply_status(reply, status, "jobs", &error);
        return;
    }
    json_t *list = running.processes == NULL ? NULL : list_processes(running.processes);
    reply_json(reply, 200, json_pack("{s:o, s:b}", "processes", list, "more", running.is_more));
}
