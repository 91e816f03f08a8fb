/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* Work that fails comes back, more slowly each time: two workers on one queue of keys, an
 * exponential limiter, and a task whose first three tries fail. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include <weir/weir.h>

#define WORKERS 2

static weir_queue *queue;
static atomic_int flaky_tries;
static atomic_int left = 4;

/* The task: everything succeeds but "flaky", and that from the fourth try on. */
static bool try_to_sync(struct weir_key key)
{
    const char *name = (const char *)key.data;
    return name[0] != 'f' || atomic_fetch_add(&flaky_tries, 1) >= 3;
}

static enum weir_status handle(const struct weir_work *work)
{
    int length = (int)work->key.size;
    const char *name = (const char *)work->key.data;
    if (!try_to_sync(work->key)) {
        printf("%.*s: failed, once more later\n", length, name);
        return weir_queue_add_rate_limited(queue, work->key);
    }
    uint64_t failures = 0;
    enum weir_status status = weir_queue_num_requeues(queue, work->key, &failures);
    printf("%.*s: done after %llu failures\n", length, name, (unsigned long long)failures);
    if (status == WEIR_OK) {
        status = weir_queue_forget(queue, work->key);
    }
    if (atomic_fetch_sub(&left, 1) == 1) {
        /* The last one: from now on get() returns WEIR_ESHUTDOWN to every worker. */
        weir_queue_shutdown(queue);
    }
    return status;
}

static void *run_worker(void *arg)
{
    int *ret_status = (int *)arg;
    struct weir_work work;
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && (status = weir_queue_get(queue, WEIR_FOREVER, &work)) == WEIR_OK) {
        status = handle(&work);
        /* Done comes last and always, also for a key that will be tried again. */
        enum weir_status done = weir_queue_done(queue, &work);
        status = status == WEIR_OK ? done : status;
    }
    *ret_status = status == WEIR_ESHUTDOWN ? WEIR_OK : (int)status;
    return NULL;
}

int main(void)
{
    weir_limiter *limiter;
    if (weir_limiter_exponential_new(WEIR_MS(20), WEIR_SECONDS(1), NULL, &limiter, NULL) !=
        WEIR_OK) {
        return 1;
    }
    struct weir_queue_options options = {0};
    options.limiter = limiter;
    const struct weir_key keys[] = {
        weir_key_string("db"),
        weir_key_string("flaky"),
        weir_key_string("web"),
        weir_key_string("cache"),
    };
    int failed = weir_queue_new(&options, &queue, NULL) != WEIR_OK ||
                 weir_queue_add_batch(queue, keys, sizeof(keys) / sizeof(keys[0]), NULL) != WEIR_OK;
    pthread_t threads[WORKERS];
    int statuses[WORKERS];
    int started = 0;
    while (!failed && started < WORKERS) {
        failed = pthread_create(&threads[started], NULL, run_worker, &statuses[started]) != 0;
        started += !failed;
    }
    if (failed) {
        weir_queue_shutdown(queue);
    }
    for (int i = 0; i < started; i++) {
        failed |= pthread_join(threads[i], NULL) != 0 || statuses[i] != WEIR_OK;
    }
    weir_queue_free(queue);
    weir_limiter_free(limiter);
    return failed;
}
