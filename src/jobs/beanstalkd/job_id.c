/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a job is on a node: ids, run times, facts. Plain functions. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "jobs/beanstalkd/cluster.h"
#include "jobs/core/fields.h"

bool weiri_id_add(struct weir_job_id *id, const char *endpoint, const char *tube, uint64_t number,
                  const char *key)
{
    size_t used = strlen(id->text);
    int length = snprintf(id->text + used, sizeof(id->text) - used, "%s%s/%s/%" PRIu64 "%s%.*s",
                          used == 0 ? "" : ",", endpoint, tube, number, key[0] == '\0' ? "" : ".",
                          WEIRI_TAG_SIZE, key);
    if (length < 0 || (size_t)length >= sizeof(id->text) - used) {
        id->text[used] = '\0';
        return false;
    }
    return true;
}

/* Reads an endpoint: a host and its port, or the path of a socket. */
static bool read_endpoint(const struct weiri_cluster *cluster, const char *text, size_t size,
                          size_t *ret_node)
{
    size_t digits = 0;
    size_t node = 0;
    for (; node < cluster->options.node_count; node++) {
        const char *endpoint = cluster->options.nodes[node].text;
        if (strlen(endpoint) == size && memcmp(endpoint, text, size) == 0) {
            break;
        }
    }
    *ret_node = node;
    while (digits < size && text[size - digits - 1] >= '0' && text[size - digits - 1] <= '9') {
        digits++;
    }
    return text[0] == '%' || (digits > 0 && size > digits + 1 && text[size - digits - 1] == ':');
}

/* Reads one copy of an id. A tube's name may hold slashes and dots, an endpoint no slash, a number
 * neither. */
static bool read_copy(const struct weiri_cluster *cluster, const char *text, size_t size,
                      struct weiri_copy_id *ret_copy)
{
    const char *end = text + size;
    const char *tube = memchr(text, '/', size);
    const char *number = end;
    while (number > text && number[-1] != '/') {
        number--;
    }
    if (tube == NULL || number - tube < 2 || number - tube > WEIR_TUBE_SIZE_MAX + 2) {
        return false;
    }
    size_t tube_size = (size_t)(number - tube) - 2;
    ret_copy->text = text;
    memcpy(ret_copy->tube, tube + 1, tube_size);
    ret_copy->tube[tube_size] = '\0';
    const char *dot = memchr(number, '.', (size_t)(end - number));
    bool is_tag = dot == NULL || (end - dot == 1 + WEIRI_TAG_SIZE &&
                                  strspn(dot + 1, "0123456789abcdef") >= WEIRI_TAG_SIZE);
    size_t digits = (size_t)((dot == NULL ? end : dot) - number);
    (void)snprintf(ret_copy->tag, sizeof(ret_copy->tag), "%s", dot == NULL ? "" : dot + 1);
    return read_endpoint(cluster, text, (size_t)(tube - text), &ret_copy->node) && is_tag &&
           (number[0] != '0' || digits == 1) && weir_tube_check(ret_copy->tube, NULL) == WEIR_OK &&
           weiri_number_read(number, digits, &ret_copy->number);
}

enum weir_status weiri_id_parse(const struct weiri_cluster *cluster, const char *text,
                                struct weiri_copy_id *ret_copies, size_t *ret_count,
                                struct weir_error *ret_error)
{
    size_t count = 0;
    for (const char *at = text;; at++) {
        size_t size = strcspn(at, ",");
        if (count == WEIRI_NODES_MAX || !read_copy(cluster, at, size, &ret_copies[count])) {
            return weiri_fail(ret_error, WEIR_EINVAL,
                              "\"%.*s\" at offset %zu of job id \"%.100s\": expected "
                              "endpoint/tube/number, the endpoint being that of a node",
                              size < 80 ? (int)size : 80, at, (size_t)(at - text), text);
        }
        count++;
        at += size;
        if (*at == '\0') {
            *ret_count = count;
            return WEIR_OK;
        }
    }
}

size_t weiri_stamp_write(int64_t run_at_ns, char text[WEIRI_STAMP_SIZE])
{
    return (size_t)snprintf(text, WEIRI_STAMP_SIZE, "%" PRId64 "/", run_at_ns);
}

bool weiri_stamp_read(const char *body, size_t size, int64_t *ret_run_at_ns, size_t *ret_size)
{
    const char *slash = memchr(body, '/', size < WEIRI_STAMP_SIZE ? size : WEIRI_STAMP_SIZE);
    uint64_t number;
    if (slash == NULL || !weiri_number_read(body, (size_t)(slash - body), &number) ||
        number > INT64_MAX) {
        return false;
    }
    *ret_run_at_ns = (int64_t)number;
    *ret_size = (size_t)(slash - body) + 1;
    return true;
}

const char *weiri_shown_read(const struct weiri_cluster *cluster, const char *endpoint,
                             const char *tube, uint64_t number, const char *body, size_t size,
                             struct weiri_shown *ret_shown)
{
    struct weiri_shown *shown = ret_shown;
    struct weir_job *job = &shown->job;
    size_t prefix = 0;
    const char *why;
    if (body == NULL) {
        why = "its body is longer than this broker's body_size_max, or its node did not write all "
              "of it";
    } else if (!weiri_stamp_read(body, size, &job->run_at_ns, &prefix)) {
        why = "its body does not begin with a run time and a slash";
    } else {
        why = weiri_mac_read(&cluster->keys, tube, body, size, &prefix);
    }
    weiri_claim_key(body, size, shown->key);
    shown->id.text[0] = '\0';
    (void)weiri_id_add(&shown->id, endpoint, tube, number, shown->key); /* one copy fits */
    (void)snprintf(shown->identity, sizeof(shown->identity), "%s%s%s",
                   shown->key[0] == '\0' ? "" : tube, shown->key[0] == '\0' ? "" : ":", shown->key);
    job->id = shown->id.text;
    job->tube = tube;
    job->identity = shown->identity;
    job->reason = "";
    job->body = body == NULL ? "" : body + prefix;
    job->body_size = size - prefix;
    return why;
}

bool weiri_job_stats_read(const char *body, size_t size, int64_t now_ns,
                          struct weiri_job_stats *ret_facts, struct weir_job *ret_job)
{
    static const char *const names[] = {"pri", "ttr", "age", "reserves", "kicks", "time-left"};
    uint64_t numbers[6];
    char state[16];
    struct weiri_job_stats facts = {.priority = 0};
    for (size_t i = 0; i < 6; i++) {
        if (!weiri_stats_number(body, size, names[i], &numbers[i])) {
            return false;
        }
        numbers[i] = numbers[i] > UINT32_MAX ? UINT32_MAX : numbers[i];
    }
    if (!weiri_stats_text(body, size, "state", state, sizeof(state)) ||
        !weiri_stats_text(body, size, "tube", facts.tube, sizeof(facts.tube))) {
        return false;
    }
    for (int i = WEIR_JOB_DELAYED; i <= WEIR_JOB_BURIED; i++) {
        if (strcmp(weir_job_state_name((enum weir_job_state)i), state) == 0) {
            ret_job->state = (enum weir_job_state)i;
        }
    }
    int64_t priority = (int64_t)numbers[0] - WEIRI_PRIORITY_OFFSET;
    facts.priority = (uint32_t)numbers[0];
    facts.kicks = numbers[4];
    ret_job->priority = priority > INT32_MAX ? INT32_MAX : (int32_t)priority;
    ret_job->ttr_ns = WEIR_SECONDS(numbers[1] == 0 ? 1 : numbers[1]);
    ret_job->created_ns = now_ns - WEIR_SECONDS(numbers[2]);
    ret_job->attempts = (uint32_t)numbers[3];
    if (ret_job->state == WEIR_JOB_RESERVED) {
        ret_job->reserved_until_ns = now_ns + WEIR_SECONDS(numbers[5]);
    }
    *ret_facts = facts;
    return true;
}
