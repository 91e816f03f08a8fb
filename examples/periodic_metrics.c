/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* A metric that is read at a fixed rate, four times, and then no more. A manual clock takes the
 * place of the real one: its minute passes at once. */
#include <pthread.h>
#include <stdio.h>

#include <weir/weir.h>

struct metric {
    const char *name;
    weir_clock *clock;
    int value;
    int readings; /* it is read so often, and then no more */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int done;

static int read_metric(weir_context *context, void *payload)
{
    struct metric *metric = (struct metric *)payload;
    metric->value++;
    /* At a fixed rate the time for which a run was planned is known, however late it is. */
    printf("%s = %d, due at %lld s\n", metric->name, metric->value,
           (long long)(weir_context_due(context) / WEIR_SECONDS(1)));
    return metric->value < metric->readings ? WEIR_OK : WEIR_ESTOP;
}

static void note_run(weir_envelope *envelope, int status, void *payload)
{
    (void)envelope;
    (void)status;
    (void)payload;
    pthread_mutex_lock(&mutex);
    done++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void wait_for_runs(int count)
{
    pthread_mutex_lock(&mutex);
    while (done < count) {
        pthread_cond_wait(&changed, &mutex);
    }
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    struct metric load = {"load", NULL, 0, 4};
    struct weir_schedule schedule = {0};
    schedule.kind = WEIR_SCHEDULE_RATE;
    struct weir_envelope_options of_envelope = {0};
    of_envelope.type = "metric";
    of_envelope.payload = &load;
    of_envelope.invoke = read_metric;
    of_envelope.outcome = note_run;
    of_envelope.interval_ns = WEIR_SECONDS(15);
    of_envelope.deadline_ns = WEIR_SECONDS(5);
    of_envelope.schedule = &schedule;

    struct weir_pool_options of_pool = {0};
    of_pool.workers = 1;
    weir_pool *pool = NULL;
    weir_envelope *envelope = NULL;
    int failed = weir_clock_manual_new(WEIR_SECONDS(100), NULL, &load.clock) != WEIR_OK;
    of_pool.clock = load.clock;
    failed = failed || weir_envelope_new(&of_envelope, &envelope, NULL) ||
             weir_pool_new(&of_pool, &pool, NULL) || weir_pool_start(pool) ||
             weir_pool_send(pool, envelope);
    for (int run = 1; run <= load.readings && !failed; run++) {
        wait_for_runs(run);
        failed = weir_clock_advance(load.clock, WEIR_SECONDS(15)) != WEIR_OK;
    }
    /* Nothing is left: the last run said WEIR_ESTOP. */
    failed = failed || weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER);
    struct weir_pool_counts counts;
    if (!failed && weir_pool_count(pool, &counts) == WEIR_OK) {
        printf("%llu runs, %llu stopped, %llu dropped\n", (unsigned long long)counts.runs,
               (unsigned long long)counts.stopped, (unsigned long long)counts.dropped);
    }
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    weir_clock_free(load.clock);
    return failed;
}
