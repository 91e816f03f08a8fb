/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/routes.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "http/document.h"
#include "support/harness.h"

static const struct route *find(const char *method, const char *path, const char **ret_allowed)
{
    struct target target;
    CHECK_INT(target_read(&target, path, ""), ==, TARGET_READ);
    const struct route *route = route_find(method, &target, ret_allowed);
    target_free(&target);
    return route;
}

static void check_path(const char *method, const char *path, const char *expected)
{
    const char *allowed = "?";
    const struct route *route = find(method, path, &allowed);
    if (route == NULL || strcmp(route->path, expected) != 0) {
        test_fail(__FILE__, __LINE__, "%s %s: %s, expected %s", method, path,
                  route != NULL ? route->path : allowed, expected);
    }
}

static void check_none(const char *method, const char *path, const char *expected)
{
    const char *allowed = "?";
    CHECK(find(method, path, &allowed) == NULL);
    CHECK_STRING(allowed, expected);
}

TEST(found, "paths and methods lead to their routes, names match any segment")
{
    check_path("GET", "/livez", "/livez");
    check_path("HEAD", "/livez/", "/livez");
    check_path("GET", "/api/v1/tubes", "/api/v1/tubes");
    check_path("GET", "/api/v1/tubes/a%2Fb", "/api/v1/tubes/{tube}");
    check_path("GET", "/api/v1/tubes/jobs/jobs", "/api/v1/tubes/{tube}/jobs");
    check_path("POST", "/api/v1/tubes/t/jobs", "/api/v1/tubes/{tube}/jobs");
    check_path("GET", "/api/v1/jobs/h%3A1%2Ft%2F2", "/api/v1/jobs/{id}");
    check_path("POST", "/api/v1/kick", "/api/v1/kick");
    check_path("GET", "/", "/");
}

TEST(not_found, "other paths are none, other methods are told of those that there are")
{
    check_none("POST", "/", "GET, HEAD");
    check_none("GET", "/page", "");
    check_none("GET", "/api", "");
    check_none("GET", "/api/v1", "");
    check_none("GET", "/api/v1/tubes/t/jobs/1", "");
    check_none("GET", "/livezz", "");
    check_none("GET", "/Livez", "");
    check_none("POST", "/livez", "GET, HEAD");
    check_none("GET", "/api/v1/kick", "POST");
    check_none("HEAD", "/api/v1/kick", "POST");
    check_none("DELETE", "/api/v1/tubes/t/jobs", "GET, HEAD, POST");
    check_none("get", "/livez", "GET, HEAD");
}

TEST(uses, "all below /api/ is the API, and what is posted changes")
{
    for (const struct route *route = routes; route->path != NULL; route++) {
        bool is_api = strncmp(route->path, "/api/", 5) == 0;
        bool posts = strcmp(route->method, "POST") == 0;
        CHECK_INT(route->use, ==, posts ? TRUST_CHANGE : is_api ? TRUST_READ : TRUST_OPEN);
        CHECK_INT(route->handle == NULL, ==,
                  route->kind == ROUTE_EVENTS || route->kind == ROUTE_PAGE);
    }
}

TEST(described, "the description has exactly the routes that there are, but for the page")
{
    json_error_t error;
    json_t *document =
        json_loadb(document_openapi, (size_t)(document_openapi_end - document_openapi), 0, &error);
    CHECK(document != NULL);
    const json_t *paths = json_object_get(document, "paths");
    size_t described = 0;
    size_t served = 0;
    const char *path;
    json_t *methods;
    json_object_foreach((json_t *)paths, path, methods)
    {
        described += json_object_size(methods);
    }
    for (const struct route *route = routes; route->path != NULL; route++) {
        char method[8] = "get";
        if (route->kind == ROUTE_PAGE) {
            continue;
        }
        if (strcmp(route->method, "POST") == 0) {
            (void)strcpy(method, "post");
        }
        served++;
        if (json_object_get(json_object_get(paths, route->path), method) == NULL) {
            test_fail(__FILE__, __LINE__, "%s %s is not described", method, route->path);
        }
    }
    CHECK_INT(described, ==, served);
    json_decref(document);
}
