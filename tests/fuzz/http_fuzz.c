/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Requests to the API, on a real store. libmicrohttpd has taken them apart by then: a line with the
 * method and the target, lines of headers, an empty line and the body. Each is answered, in JSON
 * where that is the type; one that only looks, or is refused, changes no tube; one for another
 * host, or from another site, is refused. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/panic.h"
#include "http/routes.h"
#include "http/target.h"
#include "http/trust.h"

/* A store that has had so many puts is made anew. */
#define PUTS_MAX 500

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/weir-fuzz.XXXXXX";
static struct readings readings;
static struct api api = {.readings = &readings, .broker_kind = "sqlite", .may_change = true};

/* A sum over all counts that tells of any change. */
struct sum {
    uint64_t value;
    uint64_t put;
};

static int add(const struct weir_tube_counts *counts, void *arg)
{
    struct sum *sum = arg;
    const uint64_t numbers[] = {counts->delayed,
                                counts->ready,
                                counts->reserved,
                                counts->buried,
                                counts->put,
                                counts->done,
                                (uint64_t)counts->paused_until_ns};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sum->value = sum->value * UINT64_C(1099511628211) + numbers[i];
    }
    sum->put += counts->put;
    return 0;
}

static struct sum sum_up(void)
{
    struct sum sum = {1, 0};
    enum weir_status status = weir_broker_tubes(api.broker, NULL, add, &sum, NULL);
    WEIRI_ASSERT(status == WEIR_OK);
    return sum;
}

static void clean_up(void)
{
    char command[64];
    weir_broker_close(api.broker);
    samples_free(api.samples);
    readings_fini(&readings);
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    /* NOLINTNEXTLINE(cert-env33-c): a name of our own */
    WEIRI_ASSERT(system(command) == 0);
}

static void open_store(void)
{
    char path[64];
    char url[128];
    static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
    weir_broker_close(api.broker);
    api.broker = NULL;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/j.db%s", folder, ends[i]);
        (void)unlink(path);
    }
    (void)snprintf(url, sizeof(url), "sqlite:%s/j.db?durability=memory", folder);
    enum weir_status status = weir_broker_open(url, NULL, &api.broker, NULL);
    WEIRI_ASSERT(status == WEIR_OK);
    if (readings.broker != NULL) {
        readings_fini(&readings);
    }
    readings_init(&readings, api.broker);
    const struct weir_body bodies[] = {{"one", 3, NULL}, {"{\"two\":2}", 9, NULL}};
    status = weir_broker_put(api.broker, "t", bodies, 2, NULL, NULL, NULL);
    WEIRI_ASSERT(status == WEIR_OK);
}

static void begin(void)
{
    if (api.samples == NULL) {
        api.samples = samples_new();
        WEIRI_ASSERT(api.samples != NULL && mkdtemp(folder) != NULL && atexit(clean_up) == 0);
        open_store();
    } else if (sum_up().put > PUTS_MAX) {
        open_store();
    }
}

/* Ends the line that *rest begins with, and steps behind it. */
static char *take_line(char **rest)
{
    char *line = *rest;
    char *end = line + strcspn(line, "\n");
    *rest = *end == '\0' ? end : end + 1;
    *end = '\0';
    return line;
}

static void read_header(char *line, struct trust_headers *headers)
{
    const struct {
        const char *name;
        const char **value;
    } known[] = {
        {"Host", &headers->host},
        {"Origin", &headers->origin},
        {"Authorization", &headers->authorization},
        {"Content-Type", &headers->content_type},
        {"Content-Length", &headers->content_length},
        {"Transfer-Encoding", &headers->transfer_encoding},
        {"Sec-Fetch-Site", &headers->fetch_site},
        {"Sec-Fetch-Mode", &headers->fetch_mode},
        {"Sec-Fetch-Dest", &headers->fetch_dest},
    };
    size_t size = strcspn(line, ":");
    headers->count++;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (line[size] == ':' && strlen(known[i].name) == size &&
            memcmp(line, known[i].name, size) == 0) {
            headers->repeated = headers->repeated || *known[i].value != NULL;
            *known[i].value = line + size + 1 + strspn(line + size + 1, " ");
        }
    }
}

static bool is_foreign(const struct trust_headers *headers)
{
    return headers->host == NULL || strcmp(headers->host, "evil.example") == 0 ||
           (headers->origin != NULL && strcmp(headers->origin, "http://evil.example") == 0) ||
           (headers->fetch_site != NULL && strcmp(headers->fetch_site, "cross-site") == 0);
}

/* A list ends after its first read, so that the answer tells how far it came. */
static bool goes_on(const struct request *request)
{
    (void)request;
    return false;
}

/* Answers as the server does; the status of the answer. */
static int answer(const char *method, const char *raw, const struct trust_headers *headers,
                  const char *body)
{
    static const struct trust trust = {.local = true};
    struct request request = {.text = body, .size = strlen(body), .goes_on = goes_on};
    struct reply reply = {.status = 0};
    const char *allowed = NULL;
    bool is_get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    struct trust_refusal refusal = trust_check(&trust, headers, is_get);
    if (refusal.status != 0) {
        return refusal.status;
    }
    if (target_read(&request.target, raw, "") != TARGET_READ) {
        return 400;
    }
    const struct route *route = route_find(method, &request.target, &allowed);
    refusal = trust_check_use(&trust, headers, route == NULL ? TRUST_READ : route->use);
    int status = route == NULL ? 404 : refusal.status;
    if (status == 0 && route->handle == NULL) {
        status = 200; /* the page, or events */
    } else if (status == 0) {
        route_answer(route, &api, &request, &reply);
        status = reply.status;
        WEIRI_ASSERT(reply.text != NULL && reply.type != NULL);
        if (strcmp(reply.type, "application/json") == 0) {
            json_t *value = json_loadb(reply.text, reply.size, 0, NULL);
            WEIRI_ASSERT(json_is_object(value));
            WEIRI_ASSERT(status < 400 || json_is_string(json_object_get(value, "error")));
            json_decref(value);
        }
        WEIRI_ASSERT(route->use != TRUST_CHANGE || !is_get);
    }
    reply_free(&reply);
    target_free(&request.target);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    WEIRI_ASSERT(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    begin();
    char *rest = text;
    char *method = take_line(&rest);
    char *target = method + strcspn(method, " ");
    target += *target == ' ';
    target[target == method ? 0 : -1] = '\0';
    struct trust_headers headers = {.host = NULL};
    for (char *line = take_line(&rest); line[0] != '\0'; line = take_line(&rest)) {
        read_header(line, &headers);
    }
    uint64_t before = sum_up().value;
    int status = answer(method, target, &headers, rest);
    WEIRI_ASSERT(status >= 200 && status < 600);
    WEIRI_ASSERT(!is_foreign(&headers) || status >= 400);
    bool is_look = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    WEIRI_ASSERT((!is_look && status < 400) || sum_up().value == before);
    free(text);
    return 0;
}
