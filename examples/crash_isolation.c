/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Reads documents from strangers with a reader that is not to be trusted. Each is read in a process
 * of its own: a crash of the reader costs that document alone. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/weir.h>

/* The reader, with a flaw or two. */
static int read_document(weir_context *context, void *payload)
{
    const char *text = payload;
    (void)context;
    if (strcmp(text, "bomb") == 0) {
        abort();
    }
    volatile bool is_endless = strcmp(text, "maze") == 0;
    while (is_endless) {
    }
    if (strcmp(text, "") == 0) {
        weir_panic(context, "nothing in it");
    }
    return WEIR_OK;
}

static int64_t note_failure(weir_context *context, weir_envelope *envelope,
                            const struct weir_failure *failure, void *payload)
{
    (void)context;
    (void)envelope;
    printf("\"%s\" failed: %s%s%s\n", (char *)payload, weir_status_text(failure->status),
           *failure->message != '\0' ? ": " : "", failure->message);
    return WEIR_DROP; /* there is no use in reading it again */
}

static void note_success(weir_context *context, weir_envelope *envelope, void *payload)
{
    (void)context;
    (void)envelope;
    printf("\"%s\" read\n", (char *)payload);
}

static enum weir_status send_document(weir_pool *pool, char *text)
{
    struct weir_isolation isolation = {0};
    isolation.memory_limit = (uint64_t)256 << 20;
    struct weir_envelope_options options = {0};
    options.type = "document";
    options.payload = text;
    options.invoke = read_document;
    options.success = note_success;
    options.failure = note_failure;
    options.deadline_ns = WEIR_MS(200); /* it is killed then */
    options.isolation = &isolation;
    weir_envelope *envelope;
    enum weir_status status = weir_envelope_new(&options, &envelope, NULL);
    if (status == WEIR_OK) {
        status = weir_pool_send(pool, envelope);
        weir_envelope_unref(envelope);
    }
    return status;
}

int main(void)
{
    static char documents[][8] = {"letter", "bomb", "maze", "", "report"};
    struct weir_pool_options options = {0};
    options.workers = 1;
    options.flags = WEIR_POOL_TIMEOUTS_FAIL; /* note_failure() is called for them too */
    weir_pool *pool;
    if (weir_pool_new(&options, &pool, NULL) != WEIR_OK) {
        return 1;
    }
    enum weir_status status = weir_pool_start(pool);
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]) && status == WEIR_OK; i++) {
        status = send_document(pool, documents[i]);
    }
    if (status == WEIR_OK) {
        status = weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER);
    }
    weir_pool_free(pool);
    return status == WEIR_OK ? 0 : 1;
}
