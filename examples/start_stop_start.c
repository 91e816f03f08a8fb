/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A pool that is stopped for a while, say for a change of its configuration, and started again:
 * envelopes that wait for their time are kept if the end says so, and else told of as dropped. */

#include <stdio.h>
#include <weir/weir.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int status_ = (int)(call);                                                                 \
        if (status_ != WEIR_OK) {                                                                  \
            (void)fprintf(stderr, "%s: %s\n", #call, weir_status_text(status_));                   \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static int report(weir_context *context, void *payload)
{
    (void)context;
    (void)printf("  runs: %s\n", (const char *)payload);
    return WEIR_OK;
}

static void tell(const struct weir_ended *ended, void *arg)
{
    (void)arg;
    (void)printf("  ended, %s: %s\n", weir_ended_reason_text(ended->reason),
                 (const char *)weir_envelope_payload(ended->envelope));
}

static weir_envelope *make(char *payload)
{
    struct weir_envelope_options options = {0};
    options.payload = payload;
    options.invoke = report;
    weir_envelope *envelope = NULL;
    return weir_envelope_new(&options, &envelope, NULL) == WEIR_OK ? envelope : NULL;
}

int main(void)
{
    static char hello[] = "a greeting";
    static char later[] = "a reminder";
    struct weir_pool_options options = {0};
    weir_clock *clock; /* manual, so that the program need not wait */
    CHECK(weir_clock_manual_new(0, NULL, &clock));
    options.clock = clock;
    options.workers = 2;
    options.ended = tell;
    weir_pool *pool;
    CHECK(weir_pool_new(&options, &pool, NULL));
    weir_envelope *greeting = make(hello);
    weir_envelope *reminder = make(later);
    if (greeting == NULL || reminder == NULL) {
        return 1;
    }

    (void)printf("started\n");
    CHECK(weir_pool_send(pool, greeting)); /* before the start: it waits for that */
    CHECK(weir_pool_start(pool));
    CHECK(weir_pool_send_after(pool, reminder, WEIR_SECONDS(60)));

    /* A drain that keeps waiting envelopes. */
    CHECK(weir_pool_end(pool, WEIR_END_DRAIN, WEIR_END_KEEP, WEIR_FOREVER));
    (void)printf("drained; a send now: %s\n",
                 weir_status_name((int)weir_pool_send(pool, greeting)));

    CHECK(weir_pool_start(pool));
    (void)printf("started again\n");
    CHECK(weir_clock_advance(clock, WEIR_SECONDS(60)));
    CHECK(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER));

    CHECK(weir_pool_start(pool));
    CHECK(weir_pool_send_after(pool, reminder, WEIR_SECONDS(60)));
    CHECK(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER));
    (void)printf("stopped\n");

    CHECK(weir_pool_end(pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER));
    (void)printf("terminated; a start now: %s\n", weir_status_name((int)weir_pool_start(pool)));
    weir_envelope_unref(greeting);
    weir_envelope_unref(reminder);
    weir_pool_free(pool);
    weir_clock_free(clock);
    return 0;
}
