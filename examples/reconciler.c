/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* A reconciler, built as controllers are on client-go, in C11 and C++17. An informer adds the names
 * of changed objects; workers bring each object to its desired state.
 *
 * - The queue carries names, not changes. A worker reads the object when it gets its name, so a
 *   thousand updates before that are one reconciliation, and no update is missed.
 * - No object is processed by two workers at once, so no worker overtakes another.
 * - A failed object comes back, later each time; a success forgets the failures.
 * - Each object is reconciled again after a while, so a change without an add is mended too. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <weir/weir.h>

#define OBJECTS 4
#define WORKERS 3
#define UPDATES 4000 /* the first half of them before any worker is there */
#define RESYNC_NS WEIR_MS(50)

struct object {
    const char *name;
    int desired;
    int actual;
    int failures_left; /* so many tries fail before one succeeds */
};

/* In place of the API server and the outer world of a controller. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct object objects[OBJECTS] = {
    {"cache", 0, 0, 0}, {"db", 0, 0, 0}, {"mail", 0, 0, 0}, {"web", 0, 0, 3}};
static int updates;
static int reconciles;
static enum weir_status first_error = WEIR_OK;
static weir_queue *queue;

/* Keeps the first error. WEIR_ESHUTDOWN is none: it is how a queue ends. */
static void note(enum weir_status status)
{
    if (status != WEIR_OK && status != WEIR_ESHUTDOWN) {
        (void)pthread_mutex_lock(&mutex);
        first_error = first_error == WEIR_OK ? status : first_error;
        (void)pthread_cond_broadcast(&changed);
        (void)pthread_mutex_unlock(&mutex);
    }
}

/* The informer: changes objects in turn and tells of each change. It never waits for a worker. */
static void *run_informer(void *arg)
{
    (void)arg;
    for (int i = 0; i < UPDATES; i++) {
        struct object *object = &objects[i % OBJECTS];
        (void)pthread_mutex_lock(&mutex);
        object->desired++;
        updates++;
        (void)pthread_cond_broadcast(&changed);
        (void)pthread_mutex_unlock(&mutex);
        /* First the change, then the add: the worker that gets this name sees the change. */
        note(weir_queue_add(queue, weir_key_string(object->name)));
    }
    return NULL;
}

static struct object *find(struct weir_key key)
{
    for (int i = 0; i < OBJECTS; i++) {
        const char *name = objects[i].name;
        if (key.size == strlen(name) && memcmp(key.data, name, key.size) == 0) {
            return &objects[i];
        }
    }
    return NULL;
}

/* Brings an object to its desired state. False: it did not work this time. */
static bool reconcile(struct object *object)
{
    (void)pthread_mutex_lock(&mutex);
    int desired = object->desired;
    bool works = object->failures_left == 0;
    object->failures_left -= works ? 0 : 1;
    reconciles++;
    (void)pthread_mutex_unlock(&mutex);
    /* Here a controller talks to the outer world, which takes long. An update meanwhile makes the
     * item dirty: no other worker gets it, and done queues it once more. */
    (void)pthread_mutex_lock(&mutex);
    object->actual = works ? desired : object->actual;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&mutex);
    return works;
}

static enum weir_status handle(struct weir_key key)
{
    struct object *object = find(key);
    if (object == NULL) {
        return weir_queue_forget(queue, key); /* deleted since: nothing ought to be */
    }
    if (!reconcile(object)) {
        return weir_queue_add_rate_limited(queue, key);
    }
    uint64_t failures = 0;
    enum weir_status status = weir_queue_num_requeues(queue, key, &failures);
    if (failures > 0) {
        printf("%s: %llu failures, then success\n", object->name, (unsigned long long)failures);
    }
    if (status == WEIR_OK) {
        status = weir_queue_forget(queue, key);
    }
    /* Of two pending times the earlier stays: one more reconciliation, however often it is asked
     * for. */
    return status == WEIR_OK ? weir_queue_add_after(queue, key, RESYNC_NS) : status;
}

static void *run_worker(void *arg)
{
    (void)arg;
    struct weir_work work;
    enum weir_status status;
    while ((status = weir_queue_get(queue, WEIR_FOREVER, &work)) == WEIR_OK) {
        note(handle(work.key)); /* a queue that drains refuses the adds of handle */
        note(weir_queue_done(queue, &work));
    }
    note(status);
    return NULL;
}

/* Waits for so many updates (of all: until they are carried out), or for an error. */
static enum weir_status wait_for(int count)
{
    (void)pthread_mutex_lock(&mutex);
    bool is_there = false;
    while (!is_there && first_error == WEIR_OK) {
        is_there = updates >= count;
        for (int i = 0; i < OBJECTS && count == UPDATES; i++) {
            is_there = is_there && objects[i].actual == objects[i].desired;
        }
        if (!is_there) {
            (void)pthread_cond_wait(&changed, &mutex);
        }
    }
    enum weir_status status = first_error;
    (void)pthread_mutex_unlock(&mutex);
    return status;
}

static int start(pthread_t *thread, void *(*run)(void *arg))
{
    int error = pthread_create(thread, NULL, run, NULL);
    note(error == 0 ? WEIR_OK : WEIR_ETHREAD);
    return error == 0 ? 1 : 0;
}

static void run(void)
{
    pthread_t threads[1 + WORKERS];
    int started = start(&threads[0], run_informer);
    if (wait_for(UPDATES / 2) == WEIR_OK) {
        printf("%d updates, %zu items\n", UPDATES / 2, weir_queue_len(queue));
    }
    for (int i = 0; i < WORKERS; i++) {
        started += start(&threads[started], run_worker);
    }
    if (wait_for(UPDATES) == WEIR_OK) {
        /* An object changes without an add: the next reconciliation finds it. */
        (void)pthread_mutex_lock(&mutex);
        objects[1].actual = -1;
        (void)pthread_mutex_unlock(&mutex);
    }
    /* A drain drops waiting items, and returns once the workers have done the queued ones. */
    if (wait_for(UPDATES) == WEIR_OK) {
        note(weir_queue_shutdown_drain(queue, WEIR_FOREVER));
    }
    weir_queue_shutdown(queue);
    for (int i = 0; i < started; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

int main(void)
{
    static struct weir_queue_options options; /* all defaults */
    enum weir_status status =
        weir_limiter_default_new(NULL, &options.limiter, NULL); /* client-go's */
    if (status == WEIR_OK && (status = weir_queue_new(&options, &queue, NULL)) == WEIR_OK) {
        run();
        status = first_error;
    }
    weir_queue_free(queue);
    weir_limiter_free(options.limiter);
    for (int i = 0; i < OBJECTS; i++) {
        printf("%s: desired %d, actual %d\n", objects[i].name, objects[i].desired,
               objects[i].actual);
    }
    (void)fprintf(stderr, "%d updates, %d reconciliations: %s\n", updates, reconciles,
                  weir_status_text((int)status));
    return status == WEIR_OK ? 0 : 1;
}
