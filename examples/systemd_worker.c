/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* A worker as systemd starts it: a job names a file, whose lines are counted. Arguments: the
 * broker's URL, and a file of settings such as "workers 4 limit 30s", which a reload reads again.
 *
 *     [Service]
 *     Type=notify
 *     ExecStart=/usr/local/bin/systemd_worker sqlite:/var/lib/lines/jobs.db /etc/lines.conf
 *     ExecReload=/bin/kill -HUP $MAINPID
 *     WatchdogSec=30
 *     Restart=on-failure
 *     KillMode=mixed
 *     TimeoutStopSec=90
 *     DynamicUser=yes
 *     StateDirectory=lines
 *
 * - TERM lets the files in work be counted to their end, a second one gives them back; either way
 *   no job is lost, and none has an attempt less.
 * - While a file is in work long past its limit, as on a disk that does not answer, the watchdog
 *   gets no sign of life. systemd then kills the worker and starts it anew, and the job runs again
 *   once its TTR has passed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <weir/jobs.h>
#include <weir/weir.h>

#define WORKERS_MAX 64
#define GRACE_NS WEIR_SECONDS(1)

struct settings {
    uint32_t workers;
    int64_t limit_ns; /* of a run */
};

struct worker {
    weir_consumer *consumer;
    struct settings settings;
    const char *settings_path;
    int signal_fd;
    int terms;
    bool is_reload;
    struct weir_error error;
};

/* When the run of each thread must have ended; 0: it has none. */
static _Atomic int64_t ends_ns[WORKERS_MAX];

static bool is_healthy(void)
{
    int64_t now_ns = weir_clock_now(weir_clock_monotonic());
    bool is_late = false;
    for (int i = 0; i < WORKERS_MAX; i++) {
        int64_t end_ns = ends_ns[i];
        is_late = is_late || (end_ns != 0 && end_ns < now_ns);
    }
    return !is_late;
}

static const char *notify_socket;
static int watchdog_ms = -1; /* half of the time in which systemd wants a sign of life */

static void read_environment(void)
{
    const char *period = getenv("WATCHDOG_USEC");
    const char *pid = getenv("WATCHDOG_PID");
    bool is_watched = period != NULL && (pid == NULL || strtoll(pid, NULL, 10) == getpid());
    notify_socket = getenv("NOTIFY_SOCKET");
    watchdog_ms = is_watched ? (int)(strtoll(period, NULL, 10) / 2000) : -1;
}

/* The protocol of sd_notify(3). Without systemd there is no socket, and nobody is told. */
static void notify(const char *text)
{
    const char *path = notify_socket;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = path != NULL ? strlen(path) : 0;
    if (size == 0 || size > sizeof(address.sun_path)) {
        return;
    }
    memcpy(address.sun_path, path, size);
    address.sun_path[0] = path[0] == '@' ? '\0' : path[0]; /* an abstract address */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
        (void)close(fd);
    }
}

/* False, and the settings stay as they are: "workers N limit DURATION" was expected. */
static bool read_settings(struct worker *worker)
{
    char workers[16];
    char limit[32];
    char *end = workers;
    int64_t limit_ns;
    FILE *file = fopen(worker->settings_path, "r");
    bool is_read = file != NULL && fscanf(file, " workers %15s limit %31s", workers, limit) == 2;
    if (file != NULL) {
        (void)fclose(file);
    }
    unsigned long count = is_read ? strtoul(workers, &end, 10) : 0;
    if (count == 0 || count > WORKERS_MAX || *end != '\0' ||
        weir_duration_parse(limit, &limit_ns, NULL) != WEIR_OK || limit_ns == 0 ||
        limit_ns > WEIR_SECONDS(86400)) {
        (void)fprintf(stderr, "%s: expected workers N limit DURATION\n", worker->settings_path);
        return false;
    }
    worker->settings = (struct settings){(uint32_t)count, limit_ns};
    return true;
}

/* A read that hangs is not ended by the context: the watchdog is for that. */
static int count_lines(weir_context *context, const char *path)
{
    char block[65536];
    size_t lines = 0;
    ssize_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum weir_status status = fd >= 0 ? WEIR_OK : WEIR_EIO;
    while (status == WEIR_OK && (size = read(fd, block, sizeof(block))) > 0) {
        for (ssize_t i = 0; i < size; i++) {
            lines += block[i] == '\n';
        }
        status = weir_context_check(context);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    status = size < 0 ? WEIR_EIO : status;
    (void)snprintf(block, sizeof(block), "%zu lines", lines);
    (void)weir_context_explain(context, status == WEIR_OK ? block : weir_status_text((int)status));
    return (int)status;
}

static int handle(weir_context *context, const struct weir_job *job, void *arg)
{
    char path[4096];
    _Atomic int64_t *end_ns = &ends_ns[weir_context_worker(context)];
    (void)arg;
    if (job->body_size >= sizeof(path) || memchr(job->body, '\0', job->body_size) != NULL) {
        (void)weir_context_explain(context, "no name of a file");
        return WEIR_ESTOP; /* buried at once */
    }
    (void)snprintf(path, sizeof(path), "%.*s", (int)job->body_size, (const char *)job->body);
    *end_ns = weir_clock_now(weir_clock_monotonic()) + weir_context_remaining(context) + GRACE_NS;
    int status = count_lines(context, path);
    *end_ns = 0;
    return status;
}

static void tell_run(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                     int64_t run_ns, int64_t delay_ns, void *arg)
{
    (void)status;
    (void)run_ns;
    (void)delay_ns;
    (void)arg;
    printf("%.*s: %s%s%s\n", (int)job->body_size, (const char *)job->body,
           weir_job_outcome_name(outcome), *job->reason != '\0' ? ": " : "", job->reason);
}

static enum weir_status take_signal(struct worker *worker)
{
    struct signalfd_siginfo info;
    if (read(worker->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
        return WEIR_EIO;
    }
    if (info.ssi_signo != SIGHUP) {
        bool is_first = worker->terms++ == 0;
        worker->is_reload = false;
        (void)weir_consumer_end(worker->consumer, is_first ? WEIR_END_FINISH : WEIR_END_STOP, 0,
                                NULL);
        notify(is_first ? "STOPPING=1\nSTATUS=finishing" : "STATUS=stopping");
    } else if (worker->terms == 0) {
        struct timespec now = {0};
        char text[80];
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        (void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lld",
                       (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
        notify(text);
        if (read_settings(worker)) {
            worker->is_reload = true; /* the next consumer begins when this one has ended */
            (void)weir_consumer_end(worker->consumer, WEIR_END_FINISH, 0, NULL);
        } else {
            notify("READY=1\nSTATUS=the settings have a fault, and stay as they were");
        }
    }
    return WEIR_OK;
}

/* Until the consumer has ended: after a signal, or because the store failed for good. */
static enum weir_status serve(struct worker *worker)
{
    struct pollfd polled[2] = {{.fd = worker->signal_fd, .events = POLLIN}, {.events = POLLIN}};
    enum weir_status status = weir_consumer_fd(worker->consumer, &polled[1].fd, &worker->error);
    while (status == WEIR_OK) {
        if (watchdog_ms >= 0 && is_healthy()) {
            notify("WATCHDOG=1");
        }
        int ready = poll(polled, 2, watchdog_ms);
        if (ready < 0) {
            status = errno == EINTR ? WEIR_OK : WEIR_EIO;
        } else if (ready > 0 && polled[1].revents != 0) {
            return weir_consumer_wait(worker->consumer, 0, &worker->error);
        } else if (ready > 0) {
            status = take_signal(worker);
        }
    }
    return status;
}

static enum weir_status consume(struct worker *worker, weir_broker *broker)
{
    const struct weir_consumer_options options = {.handler = handle,
                                                  .after_run = tell_run,
                                                  .workers = worker->settings.workers,
                                                  .deadline_ns = worker->settings.limit_ns};
    worker->is_reload = false;
    enum weir_status status =
        weir_consumer_new(broker, "lines", &options, &worker->consumer, &worker->error);
    if (status == WEIR_OK) {
        status = weir_consumer_start(worker->consumer, &worker->error);
    }
    if (status == WEIR_OK) {
        notify("READY=1\nSTATUS=");
        status = serve(worker);
    }
    weir_consumer_free(worker->consumer);
    worker->consumer = NULL;
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: systemd_worker BROKER SETTINGS\n");
        return 64;
    }
    read_environment();
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGHUP);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL); /* the consumer's threads inherit it */
    struct worker worker = {.settings_path = argv[2],
                            .signal_fd = signalfd(-1, &signals, SFD_CLOEXEC)};
    if (worker.signal_fd < 0 || !read_settings(&worker)) {
        return 78; /* EX_CONFIG */
    }
    weir_broker *broker = NULL;
    enum weir_status status = weir_broker_open(argv[1], NULL, &broker, &worker.error);
    do {
        status = status == WEIR_OK ? consume(&worker, broker) : status;
    } while (status == WEIR_OK && worker.is_reload);
    weir_broker_close(broker);
    if (status != WEIR_OK) {
        (void)fprintf(stderr, "%s: %s\n", weir_status_text((int)status), worker.error.text);
    }
    return status != WEIR_OK;
}
