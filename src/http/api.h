/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_API_H
#define WEIRI_HTTP_API_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include <weir/admin.h>
#include <weir/metrics.h>

#include "http/reply.h"
#include "http/samples.h"
#include "http/target.h"
#include "http/tubes.h"

/* What handlers work with. All borrowed; the same for every request. */
struct api {
    weir_broker *broker;
    struct readings *readings; /* Thread-safe. */
    weir_metrics *metrics;     /* Of consumers of this process; NULL: there are none. */
    struct samples *samples;   /* Thread-safe. */
    const char *broker_kind;   /* "sqlite" or "beanstalk". */
    bool may_change;
    bool hide_bodies;
};

/* A request that was let through. */
struct request {
    struct target target;
    const char *text; /* The body; "" where there is none. */
    size_t size;
    /* Whether an answer that takes long is still worth its work; false: it ends with what it has.
     */
    bool (*goes_on)(const struct request *request);
};

/* Removes a member that may repeat a body, as the words of a program do, where bodies are hidden.
 */
static inline void api_hide(const struct api *api, json_t *object, const char *name)
{
    if (api->hide_bodies) {
        (void)json_object_del(object, name);
    }
}

/* Answers a request: fills in the reply. */
typedef void api_fn(const struct api *api, const struct request *request, struct reply *reply);

/* health.c */
api_fn api_livez;
api_fn api_readyz;
api_fn api_version;
/* exposition.c */
api_fn api_metrics;
/* document.c */
api_fn api_openapi;
/* look.c */
api_fn api_stats;
api_fn api_tubes;
api_fn api_tube;
api_fn api_nodes;
api_fn api_samples;
/* jobs.c */
api_fn api_jobs;
api_fn api_peek;
api_fn api_job;
/* workers.c */
api_fn api_workers;
/* put.c */
api_fn api_put;
/* change.c */
api_fn api_kick_tube;
api_fn api_pause;
api_fn api_resume;
api_fn api_change;
api_fn api_policy;
api_fn api_policy_set;
/* schedules.c */
api_fn api_schedules;
api_fn api_schedule;
api_fn api_schedule_put;
api_fn api_schedule_rm;
api_fn api_schedule_pause;
api_fn api_schedule_resume;
api_fn api_schedule_run;

#endif
