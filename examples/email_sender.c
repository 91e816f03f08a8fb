/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* E-mails that are sent once, and tried again if that fails: a busy server is asked again later and
 * later, up to five times; an address that does not exist is given up at once. */
#include <pthread.h>
#include <stdio.h>

#include <weir/weir.h>

/* The task's own statuses. */
enum {
    SERVER_BUSY = WEIR_EUSER,
    NO_SUCH_ADDRESS
};

struct email {
    const char *to;
    int busy; /* how often the server will say so: there is no real one here */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int left;

static int send_email(weir_context *context, void *payload)
{
    struct email *email = (struct email *)payload;
    if (email->to[0] == '?') {
        return NO_SUCH_ADDRESS;
    }
    if (email->busy > 0) {
        email->busy--;
        return SERVER_BUSY;
    }
    printf("%s: sent at attempt %u\n", email->to, (unsigned)weir_context_attempt(context));
    return WEIR_OK;
}

static int64_t decide(weir_context *context, weir_envelope *envelope,
                      const struct weir_failure *failure, void *payload)
{
    const struct email *email = (const struct email *)payload;
    (void)context;
    (void)envelope;
    if (failure->status == SERVER_BUSY) {
        return WEIR_RETRY;
    }
    printf("%s: no such address\n", email->to);
    return WEIR_DROP;
}

static void tell_end(const struct weir_ended *ended, void *arg)
{
    const struct email *email = (const struct email *)weir_envelope_payload(ended->envelope);
    (void)arg;
    if (ended->reason != WEIR_ENDED_DONE) {
        printf("%s: not sent: %s\n", email->to, weir_ended_reason_text(ended->reason));
    }
}

/* The last reference to an envelope was given back: its e-mail is done with. */
static void note_end(void *payload)
{
    (void)payload;
    pthread_mutex_lock(&mutex);
    left--;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static int post(weir_pool *pool, struct email *email)
{
    struct weir_envelope_options options = {0};
    options.type = "e-mail";
    options.payload = email;
    options.invoke = send_email;
    options.failure = decide;
    options.release = note_end;
    options.retry.attempts = 5;
    options.deadline_ns = WEIR_SECONDS(10);
    weir_envelope *envelope;
    if (weir_envelope_new(&options, &envelope, NULL) != WEIR_OK) {
        return 1;
    }
    pthread_mutex_lock(&mutex);
    left++;
    pthread_mutex_unlock(&mutex);
    int failed = weir_pool_send(pool, envelope) != WEIR_OK;
    weir_envelope_unref(envelope); /* the pool has one of its own */
    return failed;
}

int main(void)
{
    struct email emails[] = {{"ann@example.org", 0},
                             {"bob@example.org", 2},
                             {"?@example.org", 0},
                             {"eve@example.org", 99}};
    struct weir_pool_options options = {0};
    options.workers = 2;
    options.ended = tell_end;
    weir_pool *pool = NULL;
    int failed = weir_pool_new(&options, &pool, NULL) || weir_pool_start(pool);
    for (size_t i = 0; i < sizeof(emails) / sizeof(emails[0]) && !failed; i++) {
        failed = post(pool, &emails[i]);
    }
    pthread_mutex_lock(&mutex);
    while (left > 0 && !failed) {
        pthread_cond_wait(&changed, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    weir_pool_free(pool);
    return failed;
}
