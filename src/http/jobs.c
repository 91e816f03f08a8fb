/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <weir/duration.h>

#include "http/api.h"
#include "http/fields.h"
#include "view/json.h"

/* Jobs: the list of a tube, its first ones, and one by its id. */

#define LIMIT_DEFAULT 100
#define LIMIT_MOST 1000
/* Larger bodies are not shown. A page of a list ends once it has so many bytes of them. */
#define BODY_SHOWN_MAX ((size_t)1 << 20)

/* A list under way. */
struct page {
    const struct api *api;
    const struct request *request;
    json_t *jobs; /* NULL: out of memory. */
    int64_t limit;
    int64_t count;
    size_t body_size;
    bool body;
    bool is_more;
    char last[WEIR_JOB_ID_SIZE];
};

/* A job with its body, where that may be shown, or the reason why it is not. */
static json_t *show(const struct api *api, const struct weir_job *job, bool body)
{
    const char *hidden = api->hide_bodies                  ? "this server hides bodies"
                         : job->body_size > BODY_SHOWN_MAX ? "larger than 1 MiB"
                                                           : NULL;
    json_t *object = json_of_job(job, body && hidden == NULL);
    api_hide(api, object, "reason");
    if (object != NULL && body && hidden != NULL &&
        json_object_set_new(object, "body_hidden", json_string(hidden)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static int add_job(const struct weir_job *job, void *arg)
{
    struct page *page = arg;
    if (page->count == page->limit || page->body_size > BODY_SHOWN_MAX) {
        page->is_more = true;
        return 1;
    }
    page->count++;
    page->body_size += page->body && job->body_size <= BODY_SHOWN_MAX ? job->body_size : 0;
    (void)snprintf(page->last, sizeof(page->last), "%s", job->id);
    return reply_append(&page->jobs, show(page->api, job, page->body));
}

/* So far the list has come. */
static int step(const char *id, void *arg)
{
    struct page *page = arg;
    page->is_more = !page->request->goes_on(page->request);
    (void)snprintf(page->last, sizeof(page->last), "%s", id);
    return page->is_more;
}

static bool read_filter(const struct api *api, const struct target *target,
                        struct weir_job_filter *filter, struct reply *reply)
{
    int64_t attempts = 0;
    int64_t older = -1;
    if (!fields_state(target, "state", &filter->state, reply) ||
        !fields_number(target, "attempts", 1, UINT32_MAX, &attempts, reply) ||
        !fields_duration(target, "older", &older, reply)) {
        return false;
    }
    filter->attempts_min = (uint32_t)attempts;
    filter->step = step;
    filter->after = target_value(target, "after");
    filter->text = target_value(target, "text");
    if (filter->text != NULL) {
        filter->text_size = strlen(filter->text);
    }
    /* A search would tell what is in a body, byte by byte. */
    if (filter->text != NULL && api->hide_bodies) {
        reply_error(reply, 403, "text: this server hides bodies; expected no search in them");
        return false;
    }
    if (older >= 0) {
        struct timespec now = {0, 0};
        (void)clock_gettime(CLOCK_REALTIME, &now);
        older = WEIR_SECONDS(now.tv_sec) + now.tv_nsec - older;
        filter->created_before_ns = older > 0 ? older : 1;
    }
    return true;
}

/* Answers with the page, and with the id to go on behind where a list has more. */
static void answer(struct page *page, struct weir_job_filter *filter, struct reply *reply)
{
    struct weir_error error = {0};
    filter->no_bodies = !page->body || page->api->hide_bodies;
    page->jobs = json_array();
    enum weir_status status = weir_broker_list(page->api->broker, filter, add_job, page, &error);
    if (status != WEIR_OK) {
        json_decref(page->jobs);
        reply_status(reply, status, filter->tube, &error);
        return;
    }
    json_t *object = json_pack("{s:o}", "jobs", page->jobs);
    if (object != NULL && page->is_more && filter->first == 0) {
        (void)json_object_set_new(object, "next", json_string(page->last));
    }
    reply_json(reply, 200, object);
}

void api_jobs(const struct api *api, const struct request *request, struct reply *reply)
{
    const struct target *target = &request->target;
    struct weir_job_filter filter = {.tube = target->segments[3]};
    struct page page = {.api = api, .request = request, .limit = LIMIT_DEFAULT};
    if (!read_filter(api, target, &filter, reply) ||
        !fields_number(target, "limit", 1, LIMIT_MOST, &page.limit, reply) ||
        !fields_flag(target, "body", &page.body, reply)) {
        return;
    }
    answer(&page, &filter, reply);
}

void api_peek(const struct api *api, const struct request *request, struct reply *reply)
{
    const struct target *target = &request->target;
    struct weir_job_filter filter = {.tube = target->segments[3]};
    struct page page = {.api = api, .limit = 10};
    if (!fields_state(target, "state", &filter.state, reply) ||
        !fields_number(target, "limit", 1, LIMIT_MOST, &page.limit, reply) ||
        !fields_flag(target, "body", &page.body, reply)) {
        return;
    }
    filter.first = (size_t)page.limit;
    answer(&page, &filter, reply);
}

struct single {
    const struct api *api;
    const char *id;
    json_t *object;
    json_t *history;
};

static int take_job(const struct weir_job *job, void *arg)
{
    struct single *single = arg;
    single->object = show(single->api, job, true);
    return 1;
}

static int add_attempt(const struct weir_attempt *attempt, void *arg)
{
    struct single *single = arg;
    json_t *object = json_of_attempt(single->id, attempt);
    (void)json_object_del(object, "id");
    api_hide(single->api, object, "reason");
    api_hide(single->api, object, "tail");
    api_hide(single->api, object, "encoding");
    return json_array_append_new(single->history, object) == 0 ? 0 : 1;
}

/* Adds what a cluster does not keep. */
static enum weir_status add_history(struct single *single, struct weir_error *error)
{
    single->history = json_array();
    enum weir_status status =
        weir_broker_attempts(single->api->broker, single->id, add_attempt, single, error);
    if (status == WEIR_OK && json_object_set(single->object, "history", single->history) != 0) {
        status = WEIR_ENOMEM;
    }
    json_decref(single->history);
    return status == WEIR_ENOTSUP ? WEIR_OK : status;
}

/* The job, its reason and its history are of three moments: where it ends in between, it is not
 * found. */
void api_job(const struct api *api, const struct request *request, struct reply *reply)
{
    const char *id = request->target.segments[3];
    struct single single = {.api = api, .id = id};
    struct weir_error error = {0};
    struct weir_why why;
    enum weir_status status = weir_broker_peek_id(api->broker, id, take_job, &single, &error);
    if (status == WEIR_OK) {
        status = weir_broker_why(api->broker, id, &why, &error);
    }
    if (status == WEIR_OK && single.object != NULL) {
        status = add_history(&single, &error);
    }
    if (status == WEIR_ENOTFOUND) {
        reply_error(reply, 404, "%.200s: no such job; it is done, was removed or never was", id);
    } else if (status != WEIR_OK) {
        reply_status(reply, status, "job", &error);
    } else {
        json_t *answer = json_of_why(id, &why);
        (void)json_object_del(answer, "id");
        api_hide(api, answer, "text");
        if (json_object_set_new(single.object, "why", answer) != 0) {
            json_decref(single.object);
            single.object = NULL;
        }
        reply_json(reply, 200, single.object);
        return;
    }
    json_decref(single.object);
}
