/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/script.h"
#include "queue/limiter.h"

/* What becomes of the token of a retry by the pool's limiter (decision_test.c has the rest). */

/* The answer to one more try, whose token is given back. */
static int64_t next_answer(weir_limiter *limiter, const struct script *script)
{
    struct weir_key key = weir_key_string("another");
    int64_t now_ns = weir_clock_now(script->clock);
    int64_t delay_ns = -1;
    CHECK_STATUS(weir_limiter_when(limiter, key, now_ns, &delay_ns), WEIR_OK);
    weiri_limiter_give_back(limiter, key, now_ns);
    return delay_ns;
}

static int64_t limited_beside_send(weir_context *context, weir_envelope *envelope,
                                   const struct weir_failure *failure, void *payload)
{
    const struct script *script = payload;
    (void)context;
    (void)failure;
    CHECK_STATUS(weir_pool_send_after(script->pool, envelope, script->hook_ns), WEIR_OK);
    return WEIR_RETRY;
}

/* A bucket of one token a second, whose first is taken. Until the run has failed the envelope is
 * sent for sent_ns later, and then the limiter answers a second; what it answers next. */
static int64_t answer_after_retry(int64_t sent_ns)
{
    struct script script;
    weir_limiter *limiter;
    int64_t delay_ns = -1;
    script_init(&script);
    script.statuses[0] = WEIR_EUSER;
    script.hook_ns = sent_ns;
    CHECK_STATUS(weir_limiter_bucket_new(1, 1, test_allocator(), &limiter, NULL), WEIR_OK);
    CHECK_STATUS(weir_limiter_when(limiter, weir_key_string("first"), weir_clock_now(script.clock),
                                   &delay_ns),
                 WEIR_OK);
    CHECK_INT(delay_ns, ==, 0);
    struct weir_pool_options pool = script_pool(&script);
    pool.limiter = limiter;
    struct weir_envelope_options envelope = script_envelope(&script, 0);
    envelope.failure = limited_beside_send;
    envelope.success = NULL;
    script_start(&script, &envelope, &pool);
    script_wait(&script, 1);
    int64_t answer_ns = next_answer(limiter, &script);

    /* One run for both, at the earlier of the two times. */
    int64_t due_ns = sent_ns < WEIR_SECONDS(1) ? sent_ns : WEIR_SECONDS(1);
    CHECK_STATUS(weir_clock_advance(script.clock, due_ns - 1), WEIR_OK);
    CHECK_INT(counts_of(script.pool).waiting, ==, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, 1), WEIR_OK);
    script_wait(&script, 2);
    script_end(&script, 2, 0);
    CHECK_INT(counts_of(script.pool).retries, ==, 1);
    script_fini(&script);
    weir_limiter_free(limiter);
    return answer_ns;
}

TEST(joins, "a retry that comes no earlier than a send made meanwhile gives its token back (W7)")
{
    CHECK_INT(answer_after_retry(WEIR_MS(500)), ==, WEIR_SECONDS(1));
    CHECK_INT(answer_after_retry(WEIR_SECONDS(1)), ==, WEIR_SECONDS(1));
}

TEST(comes_earlier, "one that does come earlier keeps it")
{
    CHECK_INT(answer_after_retry(WEIR_SECONDS(1) + 1), ==, WEIR_SECONDS(2));
}
