/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* The queue in libuv's event loop, by a uv_poll_t on its descriptor, and handlers that end later
 * than they began: an item is gotten on the loop's thread, worked on by libuv's thread pool, and
 * done when that has come back. It is processing all the while, so the pool never has it twice, and
 * an add meanwhile makes it come again after its done.
 *
 * The items are embedded in the files they stand for: the queue copies and allocates nothing for
 * them. controller.c is the simpler case, with keys of bytes and handlers that end at once. */
#include <stddef.h>
#include <stdio.h>

#include <uv.h>
#include <weir/weir.h>

#define FILES 2

struct service;

struct file {
    struct weir_item item; /* zero: idle */
    struct weir_work work; /* while it is processing: for done */
    uv_work_t request;
    struct service *service;
    const char *name;
    bool changes_meanwhile; /* while its first reload is under way */
    bool fails;             /* on its first reload */
    bool has_failed;
    int reloads;
};

struct service {
    uv_loop_t loop;
    uv_timer_t changes;   /* another handle of the same loop */
    uv_poll_t queue_poll; /* watches the queue's descriptor */
    weir_queue *queue;
    enum weir_status status; /* the first that was not WEIR_OK */
    struct file files[FILES];
};

/* Keeps an error and ends the loop's work: items that are processing still come back. */
static void note(struct service *service, enum weir_status status)
{
    if (status != WEIR_OK && service->status == WEIR_OK) {
        service->status = status;
        weir_queue_shutdown(service->queue);
    }
}

/* On a thread of libuv's pool, where it may block. The file is this thread's as long as it is
 * processing; no lock is needed. */
static void reload(uv_work_t *request)
{
    struct file *file = (struct file *)request->data;
    file->has_failed = file->fails;
    file->fails = false;
    file->reloads += file->has_failed ? 0 : 1;
}

/* On the loop's thread again. */
static void after_reload(uv_work_t *request, int uv_status)
{
    struct file *file = (struct file *)request->data;
    struct service *service = file->service;
    if (uv_status != 0 || file->has_failed) {
        printf("%s: failed, once more later\n", file->name);
        note(service, weir_queue_add_rate_limited(service->queue, file->work.key));
    } else {
        printf("%s: reload %d\n", file->name, file->reloads);
        note(service, weir_queue_forget(service->queue, file->work.key));
    }
    note(service, weir_queue_done(service->queue, &file->work));

    /* The queue is idle if nothing is queued, waiting or processing. A service that runs for ever
     * leaves this to its signal handler, uv_signal_t. */
    struct weir_queue_counts counts = {0};
    note(service, weir_queue_count(service->queue, &counts));
    if (counts.queued + counts.waiting + counts.processing == 0) {
        weir_queue_shutdown(service->queue);
    }
}

static enum weir_status start_reload(struct service *service, const struct weir_work *work)
{
    /* From the item to the object in which it is embedded. */
    struct file *file = (struct file *)(void *)((char *)work->item - offsetof(struct file, item));
    file->work = *work;
    file->request.data = file;
    if (uv_queue_work(&service->loop, &file->request, reload, after_reload) != 0) {
        note(service, weir_queue_done(service->queue, work));
        return WEIR_ENOMEM;
    }
    if (file->changes_meanwhile) {
        file->changes_meanwhile = false;
        printf("%s: changes while it is reloaded\n", file->name);
        return weir_queue_add(service->queue, work->key);
    }
    return WEIR_OK;
}

/* Called while a get would not block. All is taken, but less would do: libuv would call again. */
static void on_queue(uv_poll_t *poll, int uv_status, int events)
{
    (void)events;
    struct service *service = (struct service *)poll->data;
    struct weir_work work;
    enum weir_status status = uv_status == 0 ? WEIR_OK : WEIR_EIO;
    while (status == WEIR_OK && (status = weir_queue_get(service->queue, 0, &work)) == WEIR_OK) {
        status = start_reload(service, &work);
    }
    if (status == WEIR_ESHUTDOWN) {
        /* The loop ends by itself once nothing is watched and no reload is under way. */
        uv_close((uv_handle_t *)poll, NULL);
    } else if (status != WEIR_ETIMEDOUT) {
        note(service, status);
    }
}

/* The source of changes, here a timer: several of a file at once are one reload. Any other thread
 * could call weir_queue_add() too, without a uv_async_t: the queue's descriptor wakes the loop. */
static void on_changes(uv_timer_t *timer)
{
    struct service *service = (struct service *)timer->data;
    for (int i = 0; i < 3 * FILES; i++) {
        note(service,
             weir_queue_add(service->queue, weir_key_item(&service->files[i % FILES].item)));
    }
    uv_close((uv_handle_t *)timer, NULL);
}

/* After an error the loop ends as soon as the queue is shut down. */
static enum weir_status start(struct service *service)
{
    int queue_fd;
    enum weir_status status = weir_queue_fd(service->queue, &queue_fd);
    if (status != WEIR_OK) {
        return status;
    }
    service->queue_poll.data = service;
    service->changes.data = service;
    if (uv_poll_init(&service->loop, &service->queue_poll, queue_fd) != 0 ||
        uv_timer_init(&service->loop, &service->changes) != 0) {
        return WEIR_EIO;
    }
    if (uv_poll_start(&service->queue_poll, UV_READABLE, on_queue) != 0 ||
        uv_timer_start(&service->changes, on_changes, 10, 0) != 0) {
        return WEIR_EIO;
    }
    return WEIR_OK;
}

int main(void)
{
    static struct service service;
    service.files[0].name = "db.conf";
    service.files[0].changes_meanwhile = true;
    service.files[1].name = "web.conf";
    service.files[1].fails = true;
    for (int i = 0; i < FILES; i++) {
        service.files[i].service = &service;
    }
    service.status = weir_queue_new(NULL, &service.queue, NULL);
    if (service.status == WEIR_OK && uv_loop_init(&service.loop) != 0) {
        service.status = WEIR_EIO;
    }
    if (service.status == WEIR_OK) {
        note(&service, start(&service));
        (void)uv_run(&service.loop, UV_RUN_DEFAULT);
        note(&service, uv_loop_close(&service.loop) == 0 ? WEIR_OK : WEIR_EBUSY);
    }
    /* Only now: the loop no longer uses the queue's descriptor. */
    weir_queue_free(service.queue);
    if (service.status != WEIR_OK) {
        (void)fprintf(stderr, "libuv_loop: %s\n", weir_status_text((int)service.status));
    }
    return service.status != WEIR_OK;
}
