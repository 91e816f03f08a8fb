/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Each call of the API with each of its allocations failing once: our own, those of the store and
 * those of jansson. The linker hands ours to the functions here (tests/integration/CMakeLists.txt).
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "http/fields.h"
#include "http/routes.h"
#include "support/harness.h"

/* NOLINTBEGIN(readability-identifier-naming): the linker's names */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
/* NOLINTEND(readability-identifier-naming) */

static int64_t left = -1; /* until the one that fails; below 0: none does */
static bool has_failed;

static bool fails(void)
{
    bool does = left == 0;
    left -= left >= 0;
    has_failed = has_failed || does;
    return does;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

/* The store's, on the test's allocator, which finds leaks. */
static void *store_alloc(size_t size, void *arg)
{
    const struct weir_allocator *real = test_allocator();
    (void)arg;
    return fails() ? NULL : real->alloc(size, real->arg);
}

static void *store_resize(void *block, size_t old_size, size_t new_size, void *arg)
{
    const struct weir_allocator *real = test_allocator();
    (void)arg;
    return fails() ? NULL : real->resize(block, old_size, new_size, real->arg);
}

static void store_release(void *block, size_t size, void *arg)
{
    const struct weir_allocator *real = test_allocator();
    (void)arg;
    real->release(block, size, real->arg);
}

static const struct call {
    const char *method;
    const char *target;
    const char *body;
} calls[] = {
    {"GET", "/readyz?verbose=1", ""},
    {"GET", "/version", ""},
    {"GET", "/metrics", ""},
    {"GET", "/api/v1/openapi.json", ""},
    {"GET", "/api/v1/samples?step=1s", ""},
    {"GET", "/api/v1/stats", ""},
    {"GET", "/api/v1/nodes", ""},
    {"GET", "/api/v1/workers", ""},
    {"GET", "/api/v1/tubes", ""},
    {"GET", "/api/v1/tubes/t", ""},
    {"GET", "/api/v1/tubes/t/policy", ""},
    {"GET", "/api/v1/tubes/t/jobs?limit=2&text=o&body=true", ""},
    {"GET", "/api/v1/tubes/t/peek?body=true", ""},
    {"GET", "/api/v1/jobs/1", ""},
    {"GET", "/api/v1/schedules", ""},
    {"POST", "/api/v1/tubes/t/jobs",
     "{\"body\":\"eA==\",\"encoding\":\"base64\",\"group\":\"g\",\"headers\":{\"a\":\"b\"}}"},
    {"POST", "/api/v1/tubes/t/pause", "{\"duration\":\"1h\"}"},
    {"POST", "/api/v1/tubes/t/resume", "{}"},
    {"POST", "/api/v1/tubes/t/policy", "{\"keep\":\"7d\"}"},
    {"POST", "/api/v1/cancel", "{\"ids\":[\"99\"],\"verdict\":\"remove\"}"},
    {"POST", "/api/v1/run", "{\"ids\":[\"99\"]}"},
    {"POST", "/api/v1/takeback", "{\"ids\":[\"99\"]}"},
    {"POST", "/api/v1/bury", "{\"ids\":[\"1\",\"99\"],\"reason\":\"x\"}"},
    {"POST", "/api/v1/tubes/t/kick", "{\"count\":1}"},
    {"POST", "/api/v1/kick", "{\"ids\":[\"1\"]}"},
    {"POST", "/api/v1/move", "{\"ids\":[\"1\"],\"to\":\"t\"}"},
    {"POST", "/api/v1/schedules/s", "{\"tube\":\"t\",\"every\":\"1h\",\"body\":\"x\"}"},
    {"GET", "/api/v1/schedules/s", ""},
    {"POST", "/api/v1/schedules/s/run", "{}"},
};

/* Makes a call, with its nth allocation failing (below 0: none). Returns the status. */
static int make_call(const struct api *api, const struct call *call, int64_t nth)
{
    struct request request = {.text = call->body, .size = strlen(call->body)};
    struct reply reply = {.status = 0};
    const char *allowed;
    CHECK_INT(target_read(&request.target, call->target, ""), ==, TARGET_READ);
    const struct route *route = route_find(call->method, &request.target, &allowed);
    CHECK(route != NULL);
    readings_age(api->readings);
    left = nth;
    route_answer(route, api, &request, &reply);
    left = -1;
    int status = reply.status;
    if (reply.text == NULL) {
        CHECK_INT(status, ==, 503);
    } else if (strcmp(reply.type, "application/json") == 0) {
        json_t *value = json_loadb(reply.text, reply.size, 0, NULL);
        if (!json_is_object(value)) {
            test_fail(__FILE__, __LINE__, "%s, allocation %lld: %.*s", call->target, (long long)nth,
                      (int)reply.size, reply.text);
        }
        CHECK(status < 400 || json_is_string(json_object_get(value, "error")));
        json_decref(value);
    }
    reply_free(&reply);
    target_free(&request.target);
    return status;
}

TEST(each, "a call without memory is answered, leaks nothing, and succeeds when there is some")
{
    struct weir_broker_options options = {0};
    const struct weir_body bodies[] = {{"one", 3, NULL}, {"two", 3, NULL}};
    struct api api = {.broker_kind = "sqlite", .may_change = true};
    options.allocator = (struct weir_allocator){
        .alloc = store_alloc, .resize = store_resize, .release = store_release};
    fields_watch_memory();
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &api.broker, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_put(api.broker, "t", bodies, 2, NULL, NULL, NULL), WEIR_OK);
    struct readings readings;
    readings_init(&readings, api.broker);
    api.readings = &readings;
    api.samples = samples_new();
    CHECK(api.samples != NULL);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        int64_t nth = 0;
        do {
            has_failed = false;
            int status = make_call(&api, &calls[i], nth++);
            if (has_failed ? status != 503 && status >= 400 : status >= 300) {
                test_fail(__FILE__, __LINE__, "%s %s: allocation %lld: status %d", calls[i].method,
                          calls[i].target, (long long)nth, status);
            }
        } while (has_failed);
        CHECK(nth > 1);
    }
    samples_free(api.samples);
    readings_fini(&readings);
    weir_broker_close(api.broker);
}
