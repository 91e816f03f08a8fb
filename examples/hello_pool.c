/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <weir/weir.h>

/* The task. The mail server is busy at first. */
static int send_mail(weir_context *context, void *payload)
{
    printf("attempt %u for %s\n", (unsigned)weir_context_attempt(context), (const char *)payload);
    return weir_context_attempt(context) < 2 ? WEIR_EUSER : WEIR_OK;
}

/* Told once of each envelope that has ended, however it did. */
static void tell_end(const struct weir_ended *ended, void *arg)
{
    (void)arg;
    printf("%s: %s, %u runs\n", (const char *)weir_envelope_payload(ended->envelope),
           weir_ended_reason_text(ended->reason), (unsigned)ended->runs);
}

static int post(weir_pool *pool, char *to)
{
    struct weir_envelope_options options = {.invoke = send_mail, .payload = to};
    options.retry.attempts = 5; /* again 5 ms later, then 10 ms, and so on */
    options.deadline_ns = WEIR_SECONDS(10);
    weir_envelope *envelope = NULL;
    int failed = weir_envelope_new(&options, &envelope, NULL) || weir_pool_send(pool, envelope);
    weir_envelope_unref(envelope); /* the pool has a reference of its own */
    return failed;
}

int main(void)
{
    char anna[] = "anna";
    char bert[] = "bert";
    const struct weir_pool_options options = {.workers = 2, .ended = tell_end};
    weir_pool *pool = NULL;
    int failed = weir_pool_new(&options, &pool, NULL) || weir_pool_start(pool) ||
                 post(pool, anna) || post(pool, bert) ||
                 weir_pool_wait_idle(pool, WEIR_FOREVER) || /* a drain drops retries that wait */
                 weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER);
    weir_pool_free(pool);
    return failed;
}
