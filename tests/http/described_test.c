/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/client.h"

#include <stdio.h>
#include <stdlib.h>

/* The served description: each path in it answers as it says. */

/* The schema behind a "$ref". */
static const json_t *resolve(const json_t *document, const json_t *schema)
{
    static const char head[] = "#/components/schemas/";
    const char *name = json_string_value(json_object_get(schema, "$ref"));
    if (name == NULL) {
        return schema;
    }
    CHECK_INT(strncmp(name, head, strlen(head)), ==, 0);
    const json_t *found = json_object_get(
        json_object_get(json_object_get(document, "components"), "schemas"), name + strlen(head));
    CHECK(found != NULL);
    return found;
}

static bool has_type(const json_t *value, const char *type)
{
    return strcmp(type, "object") == 0    ? json_is_object(value)
           : strcmp(type, "array") == 0   ? json_is_array(value)
           : strcmp(type, "string") == 0  ? json_is_string(value)
           : strcmp(type, "integer") == 0 ? json_is_integer(value)
           : strcmp(type, "number") == 0  ? json_is_number(value)
           : strcmp(type, "boolean") == 0 ? json_is_boolean(value)
                                          : false;
}

static bool is_among(const json_t *value, const json_t *values)
{
    for (size_t i = 0; i < json_array_size(values); i++) {
        if (json_equal(value, json_array_get(values, i))) {
            return true;
        }
    }
    return false;
}

/* Holds a value against the part of JSON Schema that the description uses. */
static void check_value(const json_t *document, const json_t *schema, json_t *value,
                        const char *where)
{
    const char *name;
    json_t *member;
    schema = resolve(document, schema);
    const json_t *members = json_object_get(schema, "properties");
    const json_t *required = json_object_get(schema, "required");
    const json_t *allowed = json_object_get(schema, "enum");
    const char *type = json_string_value(json_object_get(schema, "type"));
    CHECK(type != NULL);
    if (!has_type(value, type)) {
        test_fail(__FILE__, __LINE__, "%s is no %s", where, type);
    }
    if (allowed != NULL && !is_among(value, allowed)) {
        test_fail(__FILE__, __LINE__, "%s has a value that is not described", where);
    }
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *needed = json_string_value(json_array_get(required, i));
        if (json_object_get(value, needed) == NULL) {
            test_fail(__FILE__, __LINE__, "%s has no %s", where, needed);
        }
    }
    json_object_foreach(value, name, member)
    {
        const json_t *described = json_object_get(members, name);
        if (described != NULL) {
            check_value(document, described, member, name);
        } else if (members != NULL) {
            test_fail(__FILE__, __LINE__, "%s: %s is not described", where, name);
        }
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        check_value(document, json_object_get(schema, "items"), json_array_get(value, i), where);
    }
}

/* What to ask: one call for each method of each path. */
static const struct call {
    const char *method;
    const char *path;   /* As it is described. */
    const char *target; /* As it is asked for. */
    const char *body;
} calls[] = {
    {"get", "/livez", "/livez", NULL},
    {"get", "/readyz", "/readyz?verbose=1", NULL},
    {"get", "/healthz", "/healthz", NULL},
    {"get", "/version", "/version", NULL},
    {"get", "/metrics", "/metrics", NULL},
    {"get", "/api/v1/openapi.json", "/api/v1/openapi.json", NULL},
    {"get", "/api/v1/samples", "/api/v1/samples?step=1s", NULL},
    {"get", "/api/v1/stats", "/api/v1/stats", NULL},
    {"get", "/api/v1/nodes", "/api/v1/nodes", NULL},
    {"get", "/api/v1/workers", "/api/v1/workers", NULL},
    {"get", "/api/v1/tubes", "/api/v1/tubes", NULL},
    {"get", "/api/v1/tubes/{tube}", "/api/v1/tubes/t", NULL},
    {"get", "/api/v1/tubes/{tube}/jobs",
     "/api/v1/tubes/t/jobs?state=ready&after=1&limit=1&text=o&older=0s&body=true", NULL},
    {"get", "/api/v1/tubes/{tube}/jobs", "/api/v1/tubes/t/jobs?attempts=1", NULL},
    {"post", "/api/v1/tubes/{tube}/jobs", "/api/v1/tubes/t/jobs",
     "{\"body\":\"eA==\",\"encoding\":\"base64\",\"delay\":\"1h\",\"ttr\":\"1s\",\"priority\":1}"},
    {"post", "/api/v1/tubes/{tube}/jobs", "/api/v1/tubes/t/jobs",
     "{\"body\":\"x\",\"run_at\":\"@4000000000\"}"},
    {"get", "/api/v1/tubes/{tube}/peek", "/api/v1/tubes/t/peek?state=delayed&limit=9&body=true",
     NULL},
    {"post", "/api/v1/tubes/{tube}/pause", "/api/v1/tubes/t/pause", "{\"duration\":\"1h\"}"},
    {"get", "/api/v1/tubes/{tube}", "/api/v1/tubes/t", NULL},
    {"get", "/api/v1/jobs/{id}", "/api/v1/jobs/1", NULL},
    {"post", "/api/v1/tubes/{tube}/resume", "/api/v1/tubes/t/resume", "{}"},
    {"post", "/api/v1/bury", "/api/v1/bury", "{\"ids\":[\"1\",\"99\"],\"reason\":\"x\"}"},
    {"get", "/api/v1/jobs/{id}", "/api/v1/jobs/1", NULL},
    {"post", "/api/v1/tubes/{tube}/policy", "/api/v1/tubes/t/policy",
     "{\"keep\":\"7d\",\"keep_count\":10,\"archive\":true,\"late\":\"bury\",\"late_after\":\"1h\","
     "\"group_"
     "limit\":5}"},
    {"get", "/api/v1/tubes/{tube}/policy", "/api/v1/tubes/t/policy", NULL},
    {"post", "/api/v1/move", "/api/v1/move", "{\"ids\":[\"1\",\"99\"],\"to\":\"t\"}"},
    {"post", "/api/v1/tubes/{tube}/kick", "/api/v1/tubes/t/kick", "{\"count\":1}"},
    {"post", "/api/v1/kick", "/api/v1/kick", "{\"ids\":[\"1\",\"2\"]}"},
    {"post", "/api/v1/schedules/{schedule}", "/api/v1/schedules/s",
     "{\"tube\":\"t\",\"cron\":\"* * * * "
     "*\",\"zone\":\"UTC\",\"first_at\":\"@4000000000\",\"missed\":"
     "\"skip\",\"tolerance\":\"5s\",\"ttr\":\"1s\",\"priority\":1,\"body\":\"eA==\",\"encoding\":"
     "\"base64\"}"},
    {"post", "/api/v1/schedules/{schedule}", "/api/v1/schedules/r",
     "{\"tube\":\"t\",\"every\":\"1h\",\"missed\":\"all\",\"catch_up\":3,\"overlap\":false}"},
    {"post", "/api/v1/schedules/{schedule}/run", "/api/v1/schedules/r/run", "{}"},
    {"post", "/api/v1/schedules/{schedule}/pause", "/api/v1/schedules/s/pause", "{}"},
    {"get", "/api/v1/schedules", "/api/v1/schedules", NULL},
    {"get", "/api/v1/schedules/{schedule}", "/api/v1/schedules/r", NULL},
    {"post", "/api/v1/schedules/{schedule}/resume", "/api/v1/schedules/s/resume", "{}"},
    {"post", "/api/v1/schedules/{schedule}/rm", "/api/v1/schedules/s/rm", "{}"},
    {"post", "/api/v1/run", "/api/v1/run", "{\"ids\":[\"1\",\"2\"]}"},
    {"post", "/api/v1/takeback", "/api/v1/takeback", "{\"ids\":[\"1\",\"2\"]}"},
    {"post", "/api/v1/cancel", "/api/v1/cancel",
     "{\"ids\":[\"1\",\"2\"],\"verdict\":\"bury\",\"reason\":\"no need\"}"},
    {"post", "/api/v1/rm", "/api/v1/rm", "{\"ids\":[\"1\",\"2\"]}"},
};

/* The schema of what an operation answers with success. NULL: it answers with a text. */
static const json_t *success_of(const json_t *operation, int status)
{
    char code[8];
    (void)snprintf(code, sizeof(code), "%d", status);
    const json_t *response = json_object_get(json_object_get(operation, "responses"), code);
    CHECK(response != NULL);
    const json_t *content = json_object_get(response, "content");
    return json_object_get(json_object_get(content, "application/json"), "schema");
}

/* Each field of the query and member of the body of a call is described. */
static void check_asked(const json_t *document, const json_t *operation, const struct call *call)
{
    const json_t *parameters = json_object_get(operation, "parameters");
    const char *at = strchr(call->target, '?');
    while (at != NULL) {
        size_t size = strcspn(at + 1, "=&");
        bool found = false;
        for (size_t i = 0; i < json_array_size(parameters); i++) {
            const char *name =
                json_string_value(json_object_get(json_array_get(parameters, i), "name"));
            found = found || (strlen(name) == size && memcmp(name, at + 1, size) == 0);
        }
        if (!found) {
            test_fail(__FILE__, __LINE__, "%s: %.*s is not described", call->path, (int)size,
                      at + 1);
        }
        at = strchr(at + 1, '&');
    }
    if (call->body != NULL) {
        const json_t *content =
            json_object_get(json_object_get(operation, "requestBody"), "content");
        json_t *body = json_loads(call->body, 0, NULL);
        check_value(document,
                    json_object_get(json_object_get(content, "application/json"), "schema"), body,
                    call->path);
        json_decref(body);
    }
}

TEST(conforms, "each path of the description takes and answers what it says")
{
    program_init();
    WEIR(0, "put", "t", "one");
    WEIR(0, "put", "t", "two");
    struct server server = SERVER(NULL);
    json_t *document = ASK(&server, 200, "GET /api/v1/openapi.json", NULL);
    CHECK(document != NULL);
    const json_t *paths = json_object_get(document, "paths");
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        char line[256];
        bool posts = strcmp(calls[i].method, "post") == 0;
        const json_t *operation =
            json_object_get(json_object_get(paths, calls[i].path), calls[i].method);
        CHECK(operation != NULL);
        check_asked(document, operation, &calls[i]);
        (void)snprintf(line, sizeof(line), "%s %s", posts ? "POST" : "GET", calls[i].target);
        struct answer answer = client_ask(&server, line, "", calls[i].body);
        const json_t *schema = success_of(operation, answer.status);
        json_t *value = json_loadb(answer.body, answer.size, 0, NULL);
        CHECK_INT(answer_has(&answer, "Content-Type: application/json"), ==, schema != NULL);
        if (schema != NULL) {
            CHECK(value != NULL);
            check_value(document, schema, value, calls[i].path);
        }
        json_decref(value);
        answer_free(&answer);
    }
    json_decref(document);
    server_end(&server);
}

TEST(complete,
     "each method of each path is among the calls of this test, the stream of events apart")
{
    program_init();
    struct server server = SERVER(NULL);
    json_t *document = ASK(&server, 200, "GET /api/v1/openapi.json", NULL);
    const char *path;
    const char *method;
    json_t *methods;
    json_t *operation;
    json_object_foreach(json_object_get(document, "paths"), path, methods)
    {
        json_object_foreach(methods, method, operation)
        {
            bool found = strcmp(path, "/api/v1/events") == 0;
            for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
                found = found ||
                        (strcmp(calls[i].path, path) == 0 && strcmp(calls[i].method, method) == 0);
            }
            if (!found) {
                test_fail(__FILE__, __LINE__, "%s %s is not called", method, path);
            }
        }
    }
    json_decref(document);
    server_end(&server);
}

TEST(refusals, "what is refused has an error in the words of the description")
{
    program_init();
    struct server server = SERVER(NULL);
    json_t *document = ASK(&server, 200, "GET /api/v1/openapi.json", NULL);
    static const char *const lines[] = {"GET /nope", "DELETE /livez", "GET /api/v1/jobs/x",
                                        "GET /a%"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct answer answer = client_ask(&server, lines[i], "", NULL);
        json_t *value = json_loadb(answer.body, answer.size, 0, NULL);
        CHECK(value != NULL);
        const json_t *schema = json_object_get(
            json_object_get(json_object_get(document, "components"), "schemas"), "Error");
        check_value(document, schema, value, lines[i]);
        json_decref(value);
        answer_free(&answer);
    }
    json_decref(document);
    server_end(&server);
}
