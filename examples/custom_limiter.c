/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* A limiter of one's own. Keys are "host/task". When a host is down, all its tasks fail; a limiter
 * per item would send each of them there again and again. This one, the pacer, lets the failed
 * tasks of a host come back one at a time, until a task succeeds there. It is combined with weir's
 * exponential limiter: of the two waits the longer counts.
 *
 * A manual clock takes the place of the real one, so the 30 seconds pass at once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/weir.h>

#define HOSTS 2 /* few, to show the case of a third */
#define PACE_NS WEIR_SECONDS(5)

/* A host's tries have slots, PACE_NS apart. A host with past slots only is like an unknown one: its
 * place is free for another, so that no host need be forgotten. */
struct host {
    uint64_t name;   /* a hash: two hosts of one hash would share their slots, no harm is done */
    int64_t free_ns; /* no slot is taken from here on; 0: none at all */
};

struct pacer {
    pthread_mutex_t mutex; /* limiters are called from any thread, possibly at once */
    struct host hosts[HOSTS];
};

/* False for embedded items, which have no name. */
static bool name_of(struct weir_key key, uint64_t *ret_name)
{
    if (key.size == WEIR_KEY_ITEM) {
        return false;
    }
    const unsigned char *bytes = (const unsigned char *)key.data;
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (size_t i = 0; i < key.size && bytes[i] != '/'; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    }
    *ret_name = hash;
    return true;
}

static struct host *find(struct pacer *pacer, uint64_t name)
{
    for (int i = 0; i < HOSTS; i++) {
        if (pacer->hosts[i].name == name) {
            return &pacer->hosts[i];
        }
    }
    return NULL;
}

/* Takes the host's next slot. The add returns any status other than WEIR_OK. */
static enum weir_status pacer_when(void *self, struct weir_key key, int64_t now_ns,
                                   int64_t *ret_delay_ns)
{
    struct pacer *pacer = (struct pacer *)self;
    uint64_t name;
    if (!name_of(key, &name)) {
        return WEIR_EINVAL;
    }
    enum weir_status status = WEIR_EFULL;
    (void)pthread_mutex_lock(&pacer->mutex);
    struct host *host = find(pacer, name);
    for (int i = 0; host == NULL && i < HOSTS; i++) {
        host = pacer->hosts[i].free_ns <= now_ns ? &pacer->hosts[i] : NULL;
    }
    if (host != NULL) {
        int64_t slot_ns = host->free_ns > now_ns ? host->free_ns : now_ns;
        if (slot_ns <= INT64_MAX - PACE_NS) {
            *host = (struct host){name, slot_ns + PACE_NS};
            *ret_delay_ns = slot_ns - now_ns;
            status = WEIR_OK;
        }
    }
    (void)pthread_mutex_unlock(&pacer->mutex);
    return status;
}

/* The try coalesced with an earlier one, or could not be made: its slot is free again. Otherwise a
 * task that is reported often would hold up the others of its host. */
static void pacer_give_back(void *self, struct weir_key key, int64_t now_ns)
{
    struct pacer *pacer = (struct pacer *)self;
    uint64_t name;
    if (name_of(key, &name)) {
        (void)pthread_mutex_lock(&pacer->mutex);
        struct host *host = find(pacer, name);
        /* Another thread's success may have freed all its slots since. */
        if (host != NULL && host->free_ns > now_ns) {
            host->free_ns -= PACE_NS;
        }
        (void)pthread_mutex_unlock(&pacer->mutex);
    }
}

/* A success: the host is well, and the next task that fails there need not queue behind the others.
 */
static void pacer_forget(void *self, struct weir_key key)
{
    struct pacer *pacer = (struct pacer *)self;
    uint64_t name;
    if (name_of(key, &name)) {
        (void)pthread_mutex_lock(&pacer->mutex);
        struct host *host = find(pacer, name);
        if (host != NULL) {
            host->free_ns = 0;
        }
        (void)pthread_mutex_unlock(&pacer->mutex);
    }
}

/* It counts nothing per item; the exponential one does, and the larger count is the result. */
static uint64_t pacer_num_requeues(void *self, struct weir_key key)
{
    (void)self;
    (void)key;
    return 0;
}

static void pacer_destroy(void *self)
{
    struct pacer *pacer = (struct pacer *)self;
    (void)pthread_mutex_destroy(&pacer->mutex);
    free(pacer);
}

static enum weir_status pacer_new(weir_limiter **ret_limiter)
{
    static const struct weir_limiter_ops ops = {
        .when = pacer_when,
        .forget = pacer_forget,
        .num_requeues = pacer_num_requeues,
        .destroy = pacer_destroy,
        .give_back = pacer_give_back,
        .undo = pacer_give_back, /* a slot is all that when() changes */
    };
    struct pacer *pacer = (struct pacer *)calloc(1, sizeof(*pacer));
    if (pacer == NULL) {
        return WEIR_ENOMEM;
    }
    (void)pthread_mutex_init(&pacer->mutex, NULL);
    /* From here on the limiter owns the pacer, unless making it fails. The allocator is for the
     * memory of weir itself. */
    enum weir_status status = weir_limiter_new(&ops, pacer, NULL, ret_limiter, NULL);
    if (status != WEIR_OK) {
        pacer_destroy(pacer);
    }
    return status;
}

/* Both limiters as one, which takes them: the longer wait counts. */
static enum weir_status limiter_new(weir_limiter **ret_limiter)
{
    weir_limiter *parts[2] = {NULL, NULL};
    enum weir_status status =
        weir_limiter_exponential_new(WEIR_SECONDS(1), WEIR_SECONDS(60), NULL, &parts[0], NULL);
    if (status == WEIR_OK) {
        status = pacer_new(&parts[1]);
    }
    if (status == WEIR_OK) {
        status = weir_limiter_max_of_new(parts, 2, NULL, ret_limiter, NULL);
    }
    if (status != WEIR_OK) {
        weir_limiter_free(parts[0]);
        weir_limiter_free(parts[1]);
    }
    return status;
}

static weir_clock *manual;
static weir_limiter *limiter;
static weir_queue *queue;

static void say(struct weir_key key, const char *text)
{
    printf("%2d s  %.*s: %s\n", (int)(weir_clock_now(manual) / WEIR_SECONDS(1)), (int)key.size,
           (const char *)key.data, text);
}

/* The world: nothing works on db before the 12th second, nor on web before the first. */
static bool works(struct weir_key key)
{
    bool is_db = ((const char *)key.data)[0] == 'd';
    return weir_clock_now(manual) >= WEIR_SECONDS(is_db ? 12 : 1);
}

/* Works until so many tasks have succeeded. */
static enum weir_status work_off(int left)
{
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && left > 0) {
        struct weir_work work;
        status = weir_queue_get(queue, 0, &work);
        if (status == WEIR_ETIMEDOUT) {
            status = weir_clock_advance(manual, WEIR_SECONDS(1));
        } else if (status == WEIR_OK) {
            bool is_well = works(work.key);
            say(work.key, is_well ? "done" : "failed");
            left -= is_well;
            status = is_well ? weir_queue_forget(queue, work.key)
                             : weir_queue_add_rate_limited(queue, work.key);
            enum weir_status done = weir_queue_done(queue, &work);
            status = status == WEIR_OK ? done : status;
        }
    }
    return status;
}

/* Another part of the program saw a task fail. */
static void report(const char *name)
{
    struct weir_key key = weir_key_string(name);
    enum weir_status status = weir_queue_add_rate_limited(queue, key);
    char text[80];
    (void)snprintf(text, sizeof(text), "%s, %d failures", weir_status_name((int)status),
                   (int)weir_limiter_num_requeues(limiter, key));
    say(key, text);
}

static enum weir_status run(void)
{
    const struct weir_key keys[] = {weir_key_string("db/orders"), weir_key_string("db/users"),
                                    weir_key_string("db/stock"), weir_key_string("web/index")};
    enum weir_status status = weir_queue_add_batch(queue, keys, 4, NULL);
    if (status == WEIR_OK) {
        status = work_off(4);
    }
    if (status == WEIR_OK) {
        report("db/orders");
        report("db/orders"); /* the same try: one more failure, but no slot */
        report("db/users");
        report("web/index");
        report("mail/in"); /* a third host is refused: the exponential limiter has not counted it */
        status = work_off(3);
    }
    weir_queue_shutdown(queue);
    report("db/users"); /* refused by the queue: slot and count are undone, as one can ask */
    int64_t delay_ns = 0;
    if (status == WEIR_OK) {
        status = weir_limiter_when(limiter, keys[0], weir_clock_now(manual), &delay_ns);
        printf("the next one would wait %d s\n", (int)(delay_ns / WEIR_SECONDS(1)));
    }
    return status;
}

int main(void)
{
    enum weir_status status = limiter_new(&limiter);
    if (status == WEIR_OK && (status = weir_clock_manual_new(0, NULL, &manual)) == WEIR_OK) {
        struct weir_queue_options options = {0};
        options.clock = manual;
        options.limiter = limiter;
        status = weir_queue_new(&options, &queue, NULL);
    }
    if (status == WEIR_OK) {
        status = run();
    }
    weir_queue_free(queue);
    weir_clock_free(manual);
    weir_limiter_free(limiter); /* frees the pacer too */
    return status == WEIR_OK ? 0 : 1;
}
