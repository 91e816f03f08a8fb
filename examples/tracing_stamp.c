/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* A stamp that makes each run a span of a distributed trace, as W3C's Trace Context has it
 * (https://www.w3.org/TR/trace-context/): it takes the traceparent that came with the work, makes a
 * span below it, and leaves that in the context, where the task finds it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

#define TRACEPARENT_SIZE 56 /* 00-<32 hex>-<16 hex>-<2 hex>, and a NUL */
#define TRACE_AT 3
#define SPAN_AT 36
#define FLAGS_AT 53

struct message {
    const char *traceparent; /* NULL: it came without */
    const char *body;
};

/* The key under which a run's own traceparent is found. */
static const char traceparent_key;

static bool is_hex(const char *text, size_t size)
{
    return strspn(text, "0123456789abcdef") >= size;
}

static bool is_zero(const char *text, size_t size)
{
    return strspn(text, "0") >= size;
}

static bool is_traceparent(const char *text)
{
    return text != NULL && strlen(text) == TRACEPARENT_SIZE - 1 && strncmp(text, "00-", 3) == 0 &&
           is_hex(text + TRACE_AT, 32) && !is_zero(text + TRACE_AT, 32) && text[35] == '-' &&
           is_hex(text + SPAN_AT, 16) && !is_zero(text + SPAN_AT, 16) && text[52] == '-' &&
           is_hex(text + FLAGS_AT, 2);
}

/* Ids must be random in earnest. Here they count up, so that the output is the same each time. */
static unsigned long long new_id(void)
{
    static unsigned long long last;
    return ++last;
}

static int trace(weir_context *context, weir_envelope *envelope, const weir_next *next, void *arg)
{
    const struct message *message = (const struct message *)weir_envelope_payload(envelope);
    char own[TRACEPARENT_SIZE];
    unsigned long long span = new_id();
    (void)arg;
    if (is_traceparent(message->traceparent)) {
        (void)snprintf(own, sizeof(own), "%.35s-%016llx-%.2s", message->traceparent, span,
                       message->traceparent + FLAGS_AT);
    } else { /* not traced yet: a trace of its own, sampled */
        (void)snprintf(own, sizeof(own), "00-%032llx-%016llx-01", new_id(), span);
    }
    if (weir_context_set(context, &traceparent_key, own) != WEIR_OK) {
        return weir_next_run(next, context); /* the work goes on, untraced */
    }
    int status = weir_next_run(next, context);
    printf("span %.16s of %.32s: %s\n", own + SPAN_AT, own + TRACE_AT, weir_status_text(status));
    /* The value is on this stack and ends here: a later part of the run must not find it. */
    return weir_context_set(context, &traceparent_key, NULL) == WEIR_OK ? status : WEIR_EINVAL;
}

static int handle(weir_context *context, void *payload)
{
    const struct message *message = (const struct message *)payload;
    const char *traceparent = (const char *)weir_context_get(context, &traceparent_key);
    printf("%s: asking the next service with traceparent: %s\n", message->body,
           traceparent != NULL ? traceparent : "(none)");
    return WEIR_OK;
}

int main(void)
{
    struct message messages[] = {
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "order 1"},
        {NULL, "order 2"},
        {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "order 3"}};
    struct weir_stamp stamps[] = {{trace, NULL}};
    struct weir_pool_options options = {0};
    options.workers = 1;
    options.stamps = stamps;
    options.stamp_count = 1;
    weir_pool *pool = NULL;
    int failed = weir_pool_new(&options, &pool, NULL) != WEIR_OK;
    for (int i = 0; i < 3 && !failed; i++) {
        /* The pool takes the copy, and frees it once its task has ended. */
        struct message *copy = malloc(sizeof(*copy));
        if (copy != NULL) {
            *copy = messages[i];
        }
        failed = copy == NULL || weir_pool_run(pool, handle, copy, free) != WEIR_OK;
        if (failed) {
            free(copy);
        }
    }
    failed =
        failed || weir_pool_start(pool) || weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER);
    weir_pool_free(pool);
    return failed;
}
