/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/routes.h"

#include <stddef.h>
#include <string.h>

#include "http/fields.h"

#define CHANGE TRUST_CHANGE, ROUTE_CHANGE
#define PEEK_FIELDS "state", "limit", "body"
#define JOBS_FIELDS PEEK_FIELDS, "after", "text", "attempts", "older"

const struct route routes[] = {
    {"GET", "/livez", TRUST_OPEN, ROUTE_DIRECT, api_livez, {"verbose"}},
    {"GET", "/readyz", TRUST_OPEN, ROUTE_READ, api_readyz, {"verbose"}},
    {"GET", "/healthz", TRUST_OPEN, ROUTE_READ, api_readyz, {"verbose"}},
    {"GET", "/version", TRUST_OPEN, ROUTE_DIRECT, api_version, {NULL}},
    {"GET", "/metrics", TRUST_OPEN, ROUTE_READ, api_metrics, {NULL}},
    {"GET", "/api/v1/openapi.json", TRUST_READ, ROUTE_DIRECT, api_openapi, {NULL}},
    {"GET", "/api/v1/events", TRUST_READ, ROUTE_EVENTS, NULL, {NULL}},
    {"GET", "/api/v1/samples", TRUST_READ, ROUTE_DIRECT, api_samples, {"tube", "step"}},
    {"GET", "/api/v1/stats", TRUST_READ, ROUTE_READ, api_stats, {NULL}},
    {"GET", "/api/v1/nodes", TRUST_READ, ROUTE_READ, api_nodes, {NULL}},
    {"GET", "/api/v1/workers", TRUST_READ, ROUTE_SEARCH, api_workers, {NULL}},
    {"GET", "/api/v1/tubes", TRUST_READ, ROUTE_READ, api_tubes, {NULL}},
    {"GET", "/api/v1/tubes/{tube}", TRUST_READ, ROUTE_READ, api_tube, {NULL}},
    {"GET", "/api/v1/tubes/{tube}/jobs", TRUST_READ, ROUTE_SEARCH, api_jobs, {JOBS_FIELDS}},
    {"POST", "/api/v1/tubes/{tube}/jobs", CHANGE, api_put, {NULL}},
    {"GET", "/api/v1/tubes/{tube}/peek", TRUST_READ, ROUTE_SEARCH, api_peek, {PEEK_FIELDS}},
    {"POST", "/api/v1/tubes/{tube}/kick", CHANGE, api_kick_tube, {NULL}},
    {"POST", "/api/v1/tubes/{tube}/pause", CHANGE, api_pause, {NULL}},
    {"POST", "/api/v1/tubes/{tube}/resume", CHANGE, api_resume, {NULL}},
    {"GET", "/api/v1/tubes/{tube}/policy", TRUST_READ, ROUTE_READ, api_policy, {NULL}},
    {"POST", "/api/v1/tubes/{tube}/policy", CHANGE, api_policy_set, {NULL}},
    {"GET", "/api/v1/jobs/{id}", TRUST_READ, ROUTE_READ, api_job, {NULL}},
    {"POST", "/api/v1/kick", CHANGE, api_change, {NULL}},
    {"POST", "/api/v1/run", CHANGE, api_change, {NULL}},
    {"POST", "/api/v1/takeback", CHANGE, api_change, {NULL}},
    {"POST", "/api/v1/bury", CHANGE, api_change, {NULL}},
    {"POST", "/api/v1/cancel", CHANGE, api_change, {NULL}},
    {"POST", "/api/v1/rm", CHANGE, api_change, {NULL}},
    {"POST", "/api/v1/move", CHANGE, api_change, {NULL}},
    {"GET", "/api/v1/schedules", TRUST_READ, ROUTE_READ, api_schedules, {NULL}},
    {"GET", "/api/v1/schedules/{schedule}", TRUST_READ, ROUTE_READ, api_schedule, {NULL}},
    {"POST", "/api/v1/schedules/{schedule}", CHANGE, api_schedule_put, {NULL}},
    {"POST", "/api/v1/schedules/{schedule}/rm", CHANGE, api_schedule_rm, {NULL}},
    {"POST", "/api/v1/schedules/{schedule}/pause", CHANGE, api_schedule_pause, {NULL}},
    {"POST", "/api/v1/schedules/{schedule}/resume", CHANGE, api_schedule_resume, {NULL}},
    {"POST", "/api/v1/schedules/{schedule}/run", CHANGE, api_schedule_run, {NULL}},
    {"GET", "/", TRUST_OPEN, ROUTE_PAGE, NULL, {NULL}},
    {"GET", "/page.js", TRUST_OPEN, ROUTE_PAGE, NULL, {NULL}},
    {"GET", "/page.css", TRUST_OPEN, ROUTE_PAGE, NULL, {NULL}},
    {"GET", "/icon.svg", TRUST_OPEN, ROUTE_PAGE, NULL, {NULL}},
    {NULL, NULL, TRUST_OPEN, ROUTE_DIRECT, NULL, {NULL}},
};

static bool matches(const char *path, const struct target *target)
{
    for (size_t i = 0; i < target->segment_count; i++) {
        size_t size = strcspn(path + (path[0] == '/'), "/");
        if (path[0] != '/') {
            return false;
        }
        path++;
        if (path[0] != '{' &&
            (strlen(target->segments[i]) != size || memcmp(target->segments[i], path, size) != 0)) {
            return false;
        }
        path += size;
    }
    return path[path[0] == '/'] == '\0';
}

const struct route *route_find(const char *method, const struct target *target,
                               const char **ret_allowed)
{
    bool gets = false;
    bool posts = false;
    for (const struct route *route = routes; route->path != NULL; route++) {
        if (!matches(route->path, target)) {
            continue;
        }
        bool is_get = strcmp(route->method, "GET") == 0;
        if (strcmp(route->method, method) == 0 || (is_get && strcmp(method, "HEAD") == 0)) {
            return route;
        }
        gets = gets || is_get;
        posts = posts || !is_get;
    }
    *ret_allowed = gets && posts ? "GET, HEAD, POST" : gets ? "GET, HEAD" : posts ? "POST" : "";
    return NULL;
}

void route_answer(const struct route *route, const struct api *api, const struct request *request,
                  struct reply *reply)
{
    if (fields_check(&request->target, route->fields, reply) &&
        (strstr(route->path, "{tube}") == NULL ||
         fields_tube(request->target.segments[3], reply))) {
        route->handle(api, request, reply);
        if (route->use == TRUST_CHANGE) {
            readings_age(api->readings); /* a list shows it */
        }
    }
}

bool route_is_api(const struct target *target)
{
    return target->segment_count > 0 && strcmp(target->segments[0], "api") == 0;
}
