/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* A controller in one thread, on epoll and inotify: the files of one folder are published in
 * another one. Arguments: the folder of the desired files, the folder of the actual ones. TERM or
 * Ctrl-C ends it.
 *
 * - inotify tells names, and the queue keeps each name once: a file that is written a thousand
 *   times meanwhile is published once. The controller looks at the state and not at the events:
 *   where the kernel lost some, because its buffer was full, all names are added.
 * - What somebody changes in the other folder is an event as well, and is mended.
 * - A file that could not be published is tried again, later each time. The queue's descriptor is
 *   readable when it is due, so the loop has no timers.
 *
 * reconciler.c is its like with several workers. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <weir/weir.h>

#define FILE_SIZE_MAX 65536

struct content {
    size_t size;
    char bytes[FILE_SIZE_MAX];
};

struct controller {
    weir_limiter *limiter;
    weir_queue *queue;
    const char *folders[2]; /* desired, actual */
    int desired_fd;
    int actual_fd;
    int inotify_fd;
    int signal_fd;
    struct content desired;
    struct content actual;
};

/* True: the file is read, or there is none, which is a size of SIZE_MAX. */
static bool load(int folder_fd, const char *name, struct content *content)
{
    content->size = SIZE_MAX;
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return errno == ENOENT;
    }
    content->size = 0;
    ssize_t got = 0;
    do {
        content->size += (size_t)got;
        got = read(fd, content->bytes + content->size, FILE_SIZE_MAX - content->size);
    } while (got > 0);
    (void)close(fd);
    return got == 0 && content->size < FILE_SIZE_MAX;
}

/* The file gets its name once it is whole. Names that begin with a dot are no desired ones. */
static bool store(int folder_fd, const char *name, const struct content *content)
{
    char part[NAME_MAX + 8];
    (void)snprintf(part, sizeof(part), ".%s.part", name);
    int fd = openat(folder_fd, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool is_written = fd >= 0 && write(fd, content->bytes, content->size) == (ssize_t)content->size;
    is_written = fd >= 0 && close(fd) == 0 && is_written;
    if (!is_written || renameat(folder_fd, part, folder_fd, name) != 0) {
        (void)unlinkat(folder_fd, part, 0);
        return false;
    }
    return true;
}

/* Brings the actual file to its desired state, whatever has happened. NULL: that worked. */
static const char *reconcile(struct controller *controller, const char *name)
{
    struct content *desired = &controller->desired;
    struct content *actual = &controller->actual;
    if (!load(controller->desired_fd, name, desired)) {
        return "cannot be read";
    }
    if (!load(controller->actual_fd, name, actual)) {
        return "what is published cannot be read";
    }
    bool is_desired = desired->size != SIZE_MAX;
    if (desired->size == actual->size &&
        (!is_desired || memcmp(desired->bytes, actual->bytes, desired->size) == 0)) {
        return NULL; /* such as after the controller's own change */
    }
    if (is_desired && !store(controller->actual_fd, name, desired)) {
        return "cannot be published";
    }
    if (!is_desired && unlinkat(controller->actual_fd, name, 0) != 0) {
        return "cannot be withdrawn";
    }
    printf("%s: %s\n", name, is_desired ? "published" : "withdrawn");
    return NULL;
}

/* Takes one item, so that signals and events have their turns: the queue's descriptor stays
 * readable while there is work. A get with a timeout of 0 does not wait. */
static enum weir_status take_work(struct controller *controller)
{
    struct weir_work work;
    enum weir_status status = weir_queue_get(controller->queue, 0, &work);
    if (status == WEIR_OK) {
        char name[NAME_MAX + 1] = "";
        memcpy(name, work.key.data, work.key.size); /* a key is bytes, not a string */
        const char *fault = reconcile(controller, name);
        if (fault == NULL) {
            status = weir_queue_forget(controller->queue, work.key);
        } else {
            printf("%s: %s\n", name, fault);
            status = weir_queue_add_rate_limited(controller->queue, work.key);
        }
        /* Always, and last. */
        enum weir_status done = weir_queue_done(controller->queue, &work);
        status = status == WEIR_OK ? done : status;
    }
    return status == WEIR_ETIMEDOUT ? WEIR_OK : status;
}

static enum weir_status add(struct controller *controller, const char *name)
{
    return name[0] == '.' ? WEIR_OK : weir_queue_add(controller->queue, weir_key_string(name));
}

/* What is in either folder: a name that is only published is to be withdrawn. */
static enum weir_status add_all(struct controller *controller)
{
    enum weir_status status = WEIR_OK;
    for (int i = 0; i < 2 && status == WEIR_OK; i++) {
        struct dirent **entries;
        int count = scandir(controller->folders[i], &entries, NULL, NULL);
        for (int j = 0; j < count; j++) {
            status = status == WEIR_OK ? add(controller, entries[j]->d_name) : status;
            free(entries[j]);
        }
        if (count < 0) {
            return WEIR_EIO;
        }
        free(entries);
    }
    return status;
}

static enum weir_status take_event(struct controller *controller, const struct inotify_event *event)
{
    if ((event->mask & IN_IGNORED) != 0) {
        return WEIR_ENOTFOUND; /* one of the folders is gone */
    }
    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        return add_all(controller);
    }
    return event->len > 0 ? add(controller, event->name) : WEIR_OK;
}

static enum weir_status read_events(struct controller *controller)
{
    union {
        struct inotify_event first; /* so that they are aligned */
        char bytes[8192];
    } events;
    enum weir_status status = WEIR_OK;
    ssize_t size;
    while (status == WEIR_OK &&
           (size = read(controller->inotify_fd, events.bytes, sizeof(events))) > 0) {
        for (ssize_t at = 0; status == WEIR_OK && at < size;) {
            const void *event = &events.bytes[at];
            status = take_event(controller, (const struct inotify_event *)event);
            at += (ssize_t)(sizeof(events.first) + ((const struct inotify_event *)event)->len);
        }
    }
    return status == WEIR_OK && errno != EAGAIN ? WEIR_EIO : status;
}

static bool watch(int epoll_fd, int fd)
{
    struct epoll_event event = {EPOLLIN, {NULL}};
    event.data.fd = fd;
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Until an error, or WEIR_ESHUTDOWN: the clean end. A name that is dropped then is added again at
 * the next start, as all are. */
static enum weir_status run(struct controller *controller, int epoll_fd)
{
    int queue_fd = -1;
    enum weir_status status = weir_queue_fd(controller->queue, &queue_fd);
    if (status == WEIR_OK &&
        !(watch(epoll_fd, queue_fd) && watch(epoll_fd, controller->inotify_fd) &&
          watch(epoll_fd, controller->signal_fd))) {
        status = WEIR_EIO;
    }
    status = status == WEIR_OK ? add_all(controller) : status;
    while (status == WEIR_OK) {
        struct epoll_event event;
        int count = epoll_wait(epoll_fd, &event, 1, -1);
        if (count < 0) {
            status = errno == EINTR ? WEIR_OK : WEIR_EIO;
        } else if (event.data.fd == controller->inotify_fd) {
            status = read_events(controller);
        } else if (event.data.fd == queue_fd) {
            status = take_work(controller);
        } else {
            weir_queue_shutdown(controller->queue); /* its descriptor is readable from now on */
        }
    }
    return status;
}

static bool open_folder(struct controller *controller, const char *path, int *ret_fd)
{
    *ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret_fd >= 0 && inotify_add_watch(controller->inotify_fd, path,
                                             IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM |
                                                 IN_DELETE | IN_DELETE_SELF) >= 0;
}

static bool open_all(struct controller *controller, char **folders)
{
    controller->folders[0] = folders[0];
    controller->folders[1] = folders[1];
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    controller->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
    controller->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    return controller->signal_fd >= 0 && controller->inotify_fd >= 0 &&
           open_folder(controller, folders[0], &controller->desired_fd) &&
           open_folder(controller, folders[1], &controller->actual_fd);
}

int main(int argc, char **argv)
{
    static struct controller controller;
    static struct weir_queue_options options; /* all defaults */
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (argc != 3) {
        (void)fprintf(stderr, "usage: controller DESIRED ACTUAL\n");
        return 64;
    }
    if (epoll_fd < 0 || !open_all(&controller, &argv[1])) {
        perror("controller");
        return 1;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    enum weir_status status = weir_limiter_exponential_new(WEIR_MS(100), WEIR_SECONDS(60), NULL,
                                                           &controller.limiter, NULL);
    if (status == WEIR_OK) {
        options.limiter = controller.limiter;
        options.key_size_max = NAME_MAX;
        status = weir_queue_new(&options, &controller.queue, NULL);
    }
    if (status == WEIR_OK) {
        status = run(&controller, epoll_fd);
    }
    /* First the epoll, then the queue, which owns the descriptor in it. */
    (void)close(epoll_fd);
    weir_queue_free(controller.queue);
    weir_limiter_free(controller.limiter);
    if (status != WEIR_ESHUTDOWN) {
        (void)fprintf(stderr, "controller: %s\n", weir_status_text((int)status));
    }
    return status != WEIR_ESHUTDOWN;
}
