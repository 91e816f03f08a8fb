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
#include <sys/stat.h>
#include <unistd.h>

#include <weir/weir.h>

#define FILE_SIZE_MAX 65536
#define PART ".part" /* a name made of the file's might be too long */
#define EVENTS (IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE)

struct content {
    size_t size;
    char bytes[FILE_SIZE_MAX];
};

struct controller {
    weir_limiter *limiter;
    weir_queue *queue;
    const char *folders[2]; /* desired, actual */
    int fds[2];             /* of these */
    int inotify_fd;
    int signal_fd;
    struct content desired;
    struct content actual;
};

/* How many names a file has. 0: it has none, as a folder that is gone but is open still. */
static nlink_t links(int folder_fd, const char *name)
{
    struct stat found;
    return fstatat(folder_fd, name, &found, AT_SYMLINK_NOFOLLOW) == 0 ? found.st_nlink : 0;
}

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
    int fd = openat(folder_fd, PART, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool is_written = fd >= 0 && write(fd, content->bytes, content->size) == (ssize_t)content->size;
    is_written = fd >= 0 && close(fd) == 0 && is_written;
    if (!is_written || renameat(folder_fd, PART, folder_fd, name) != 0) {
        (void)unlinkat(folder_fd, PART, 0);
        return false;
    }
    return true;
}

/* Brings the actual file to its desired state, whatever has happened. NULL: that worked. */
static const char *reconcile(struct controller *controller, const char *name)
{
    struct content *desired = &controller->desired;
    struct content *actual = &controller->actual;
    if (!load(controller->fds[0], name, desired) || !load(controller->fds[1], name, actual)) {
        return "cannot be read";
    }
    bool is_desired = desired->size != SIZE_MAX;
    if (desired->size == actual->size &&
        (!is_desired || memcmp(desired->bytes, actual->bytes, desired->size) == 0)) {
        return NULL; /* such as after the controller's own change */
    }
    if (is_desired ? !store(controller->fds[1], name, desired)
                   : unlinkat(controller->fds[1], name, 0) != 0) {
        return is_desired ? "cannot be published" : "cannot be withdrawn";
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
        struct dirent **entries = NULL;
        int count = scandir(controller->folders[i], &entries, NULL, NULL);
        for (int j = 0; j < count; j++) {
            status = status == WEIR_OK ? add(controller, entries[j]->d_name) : status;
            free(entries[j]);
        }
        status = count < 0 ? WEIR_EIO : status;
        free(entries);
    }
    return status;
}

static enum weir_status take_event(struct controller *controller, const struct inotify_event *event)
{
    const int *fds = controller->fds;
    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        return add_all(controller);
    }
    /* A new file has another event once it is written. One that is linked has none. */
    bool is_whole = (event->mask & IN_CREATE) == 0 || links(fds[0], event->name) > 1 ||
                    links(fds[1], event->name) > 1;
    return links(fds[0], ".") == 0 || links(fds[1], ".") == 0 ? WEIR_ENOTFOUND
           : event->len > 0 && is_whole                       ? add(controller, event->name)
                                                              : WEIR_OK;
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
    if (status == WEIR_OK) {
        status = watch(epoll_fd, queue_fd) && watch(epoll_fd, controller->inotify_fd) &&
                         watch(epoll_fd, controller->signal_fd)
                     ? add_all(controller)
                     : WEIR_EIO;
    }
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

/* The end of a folder that is open is an event of its parent's only. */
static bool open_folder(struct controller *controller, int which, const char *path)
{
    char parent[PATH_MAX];
    (void)snprintf(parent, sizeof(parent), "%s/..", path);
    controller->folders[which] = path;
    controller->fds[which] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return controller->fds[which] >= 0 &&
           inotify_add_watch(controller->inotify_fd, path, EVENTS) >= 0 &&
           inotify_add_watch(controller->inotify_fd, parent, IN_DELETE | IN_MASK_ADD) >= 0;
}

static bool open_all(struct controller *controller, char **folders)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    controller->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
    controller->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    return controller->signal_fd >= 0 && controller->inotify_fd >= 0 &&
           open_folder(controller, 0, folders[0]) && open_folder(controller, 1, folders[1]);
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
