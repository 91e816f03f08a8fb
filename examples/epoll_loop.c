/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* The queue beside another descriptor in one event loop on epoll, in one thread. A daemon is told
 * through a socket which of its files have changed, and loads them again:
 *
 * - several changes of a file before the loop comes round to it are one reload;
 * - a reload that failed is tried again, later each time;
 * - the log is rotated when its time has come.
 *
 * The loop has no timers: the queue's descriptor becomes readable by itself when something is due.
 * libuv_loop.c is its like for handlers that end later than they began. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weir/weir.h>

struct service {
    weir_queue *queue;
    int input_fd; /* -1 once the other side has hung up */
    int changes;
    int reloads;
    int failures_left; /* of the reload of "web.conf" */
};

static bool is_named(struct weir_key key, const char *name)
{
    return key.size == strlen(name) && memcmp(key.data, name, key.size) == 0;
}

/* The work for one item; a key is bytes, not a string. A handler in an event loop must not block:
 * long work belongs into threads. */
static enum weir_status handle(struct service *service, const struct weir_work *work)
{
    int length = (int)work->key.size;
    const char *name = (const char *)work->key.data;
    if (is_named(work->key, "rotate the log")) {
        printf("%.*s\n", length, name);
        return WEIR_OK;
    }
    if (is_named(work->key, "web.conf") && service->failures_left > 0) {
        service->failures_left--;
        printf("reload %.*s: failed, once more later\n", length, name);
        return weir_queue_add_rate_limited(service->queue, work->key);
    }
    service->reloads++;
    printf("reload %.*s\n", length, name);
    return weir_queue_forget(service->queue, work->key);
}

/* Takes work until there is none. Fewer rounds are as good where other descriptors must not be
 * kept waiting: epoll tells again of a queue that still has work. */
static enum weir_status take_work(struct service *service)
{
    struct weir_work work;
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && (status = weir_queue_get(service->queue, 0, &work)) == WEIR_OK) {
        status = handle(service, &work);
        /* Always, and last: until then no other consumer gets this item. */
        enum weir_status done = weir_queue_done(service->queue, &work);
        status = status == WEIR_OK ? done : status;
    }
    return status == WEIR_ETIMEDOUT ? WEIR_OK : status;
}

/* Reads the messages that have come: each is a file's name. Nothing is gotten from the queue
 * meanwhile, so however often a name comes here, it is one item. */
static enum weir_status read_changes(struct service *service)
{
    char name[64];
    ssize_t size;
    while ((size = recv(service->input_fd, name, sizeof(name), MSG_DONTWAIT)) > 0) {
        service->changes++;
        enum weir_status status =
            weir_queue_add(service->queue, weir_key_bytes(name, (size_t)size));
        if (status != WEIR_OK) {
            return status;
        }
    }
    if (size < 0) {
        return errno == EAGAIN || errno == EINTR ? WEIR_OK : WEIR_EIO;
    }
    printf("hung up\n");
    (void)close(service->input_fd); /* which also takes it out of the epoll */
    service->input_fd = -1;
    return WEIR_OK;
}

/* After the other side has hung up the daemon finishes its items, delayed ones too, and ends: a
 * shutdown makes the descriptor readable for good, and get tells why. */
static enum weir_status end_when_idle(struct service *service)
{
    struct weir_queue_counts counts;
    enum weir_status status = weir_queue_count(service->queue, &counts);
    if (status == WEIR_OK && service->input_fd < 0 && counts.queued == 0 && counts.waiting == 0) {
        weir_queue_shutdown(service->queue);
    }
    return status;
}

static bool watch(int epoll_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Runs until an error, or WEIR_ESHUTDOWN: the clean end. */
static enum weir_status run(struct service *service, int epoll_fd)
{
    int queue_fd;
    enum weir_status status = weir_queue_fd(service->queue, &queue_fd);
    if (status == WEIR_OK && !(watch(epoll_fd, queue_fd) && watch(epoll_fd, service->input_fd))) {
        status = WEIR_EIO;
    }
    while (status == WEIR_OK) {
        struct epoll_event events[2];
        int count = epoll_wait(epoll_fd, events, 2, -1);
        if (count < 0 && errno != EINTR) {
            status = WEIR_EIO;
        }
        for (int i = 0; i < count && status == WEIR_OK; i++) {
            status = events[i].data.fd == queue_fd ? take_work(service) : read_changes(service);
        }
        if (status == WEIR_OK) {
            status = end_when_idle(service);
        }
    }
    return status;
}

/* The other side, which is another process in real life. */
static bool send_changes(int fd)
{
    static const char *const names[] = {"db.conf", "web.conf", "db.conf", "db.conf"};
    bool is_sent = true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        is_sent = is_sent && send(fd, names[i], strlen(names[i]), 0) == (ssize_t)strlen(names[i]);
    }
    return close(fd) == 0 && is_sent;
}

int main(void)
{
    struct service service = {.failures_left = 2};
    int sockets[2];
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) != 0) {
        perror("epoll_loop");
        return 1;
    }
    service.input_fd = sockets[0];
    enum weir_status status = send_changes(sockets[1]) ? WEIR_OK : WEIR_EIO;
    if (status == WEIR_OK) {
        status = weir_queue_new(NULL, &service.queue, NULL);
    }
    if (status == WEIR_OK) {
        status =
            weir_queue_add_after(service.queue, weir_key_string("rotate the log"), WEIR_MS(200));
    }
    if (status == WEIR_OK) {
        status = run(&service, epoll_fd);
    }
    /* First the epoll, then the queue, which owns the descriptor in it. */
    (void)close(epoll_fd);
    weir_queue_free(service.queue);
    if (status != WEIR_ESHUTDOWN) {
        (void)fprintf(stderr, "epoll_loop: %s\n", weir_status_text((int)status));
        return 1;
    }
    printf("%d changes, %d reloads\n", service.changes, service.reloads);
    return 0;
}
