/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/routes.h"

#include <stddef.h>
#include <string.h>

const struct route routes[] = {
    {"GET", "/livez", TRUST_OPEN, ROUTE_DIRECT, api_livez},
    {"GET", "/readyz", TRUST_OPEN, ROUTE_READ, api_readyz},
    {"GET", "/healthz", TRUST_OPEN, ROUTE_READ, api_readyz},
    {"GET", "/version", TRUST_OPEN, ROUTE_DIRECT, api_version},
    {"GET", "/metrics", TRUST_OPEN, ROUTE_READ, api_metrics},
    {"GET", "/api/v1/openapi.json", TRUST_READ, ROUTE_DIRECT, api_openapi},
    {"GET", "/api/v1/events", TRUST_READ, ROUTE_EVENTS, NULL},
    {"GET", "/api/v1/samples", TRUST_READ, ROUTE_DIRECT, api_samples},
    {"GET", "/api/v1/stats", TRUST_READ, ROUTE_READ, api_stats},
    {"GET", "/api/v1/nodes", TRUST_READ, ROUTE_READ, api_nodes},
    {"GET", "/api/v1/workers", TRUST_READ, ROUTE_SEARCH, api_workers},
    {"GET", "/api/v1/tubes", TRUST_READ, ROUTE_READ, api_tubes},
    {"GET", "/api/v1/tubes/{tube}", TRUST_READ, ROUTE_READ, api_tube},
    {"GET", "/api/v1/tubes/{tube}/jobs", TRUST_READ, ROUTE_SEARCH, api_jobs},
    {"POST", "/api/v1/tubes/{tube}/jobs", TRUST_CHANGE, ROUTE_CHANGE, api_put},
    {"GET", "/api/v1/tubes/{tube}/peek", TRUST_READ, ROUTE_SEARCH, api_peek},
    {"POST", "/api/v1/tubes/{tube}/kick", TRUST_CHANGE, ROUTE_CHANGE, api_kick_tube},
    {"POST", "/api/v1/tubes/{tube}/pause", TRUST_CHANGE, ROUTE_CHANGE, api_pause},
    {"POST", "/api/v1/tubes/{tube}/resume", TRUST_CHANGE, ROUTE_CHANGE, api_resume},
    {"GET", "/api/v1/tubes/{tube}/policy", TRUST_READ, ROUTE_READ, api_policy},
    {"POST", "/api/v1/tubes/{tube}/policy", TRUST_CHANGE, ROUTE_CHANGE, api_policy_set},
    {"GET", "/api/v1/jobs/{id}", TRUST_READ, ROUTE_READ, api_job},
    {"POST", "/api/v1/kick", TRUST_CHANGE, ROUTE_CHANGE, api_change},
    {"POST", "/api/v1/run", TRUST_CHANGE, ROUTE_CHANGE, api_change},
    {"POST", "/api/v1/takeback", TRUST_CHANGE, ROUTE_CHANGE, api_change},
    {"POST", "/api/v1/bury", TRUST_CHANGE, ROUTE_CHANGE, api_change},
    {"POST", "/api/v1/cancel", TRUST_CHANGE, ROUTE_CHANGE, api_change},
    {"POST", "/api/v1/rm", TRUST_CHANGE, ROUTE_CHANGE, api_change},
    {"POST", "/api/v1/move", TRUST_CHANGE, ROUTE_CHANGE, api_change},
    {"GET", "/api/v1/schedules", TRUST_READ, ROUTE_READ, api_schedules},
    {"GET", "/api/v1/schedules/{schedule}", TRUST_READ, ROUTE_READ, api_schedule},
    {"POST", "/api/v1/schedules/{schedule}", TRUST_CHANGE, ROUTE_CHANGE, api_schedule_put},
    {"POST", "/api/v1/schedules/{schedule}/rm", TRUST_CHANGE, ROUTE_CHANGE, api_schedule_rm},
    {"POST", "/api/v1/schedules/{schedule}/pause", TRUST_CHANGE, ROUTE_CHANGE, api_schedule_pause},
    {"POST", "/api/v1/schedules/{schedule}/resume", TRUST_CHANGE, ROUTE_CHANGE,
     api_schedule_resume},
    {"POST", "/api/v1/schedules/{schedule}/run", TRUST_CHANGE, ROUTE_CHANGE, api_schedule_run},
    {"GET", "/", TRUST_OPEN, ROUTE_PAGE, NULL},
    {"GET", "/page.js", TRUST_OPEN, ROUTE_PAGE, NULL},
    {"GET", "/page.css", TRUST_OPEN, ROUTE_PAGE, NULL},
    {"GET", "/icon.svg", TRUST_OPEN, ROUTE_PAGE, NULL},
    {NULL, NULL, TRUST_OPEN, ROUTE_DIRECT, NULL},
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

bool route_is_api(const struct target *target)
{
    return target->segment_count > 0 && strcmp(target->segments[0], "api") == 0;
}
