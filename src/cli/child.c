/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memfd_create, closefrom in spawned children, P_PIDFD */
#include "cli/child.h"

#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/clock.h>
#include <weir/duration.h>

#include "cli/guard.h"
#include "cli/pipes.h"
#include "cli/report.h"
#include "cli/session.h"

/* Members of the session that outlive its leader are not our children, so they are polled for. */
#define SESSION_CHECK_NS WEIR_MS(20)

/* After KILL a member is nearly always gone at once. One that is in a call that nothing ends is
 * waited for. */
#define KILLS_QUICK 20
#define KILL_QUICK_MS 1

/* Descriptors for each child (its input while it is started, its pidfd, the pipes of its standard
 * error and its control channel, that of its run's context, a folder and a file of /proc while its
 * session is ended), and for everything else. */
#define FILES_A_CHILD 7
#define FILES_BESIDE 64

/* Whether the limit lets each worker have that of its context. */
static atomic_bool has_spare;

void child_raise_limit(uint32_t count)
{
    struct rlimit limit;
    rlim_t needed = (rlim_t)count * FILES_A_CHILD + FILES_BESIDE;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed) {
        limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    atomic_store(&has_spare, getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= needed);
}

int child_wake(const struct control_run *run)
{
    int fd;
    return atomic_load(&has_spare) && weir_context_fd(run->context, &fd) == WEIR_OK ? fd : -1;
}

/* The input as a file at its start, or -1 with errno. */
static int input_open(const void *input, size_t size)
{
    int fd = memfd_create("weir-job", MFD_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    for (size_t done = 0; done < size;) {
        ssize_t count = pwrite(fd, (const char *)input + done, size - done, (off_t)done);
        if (count < 0 && errno != EINTR) {
            int why = errno;
            (void)close(fd);
            errno = why;
            return -1;
        }
        done += count > 0 ? (size_t)count : 0;
    }
    return fd;
}

/* Returns 0 or an errno. */
static int spawn(const struct child_request *request, int input, int output, int error, int control,
                 pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int why = posix_spawn_file_actions_init(&actions);
    if (why != 0) {
        return why;
    }
    why = posix_spawnattr_init(&attributes);
    if (why != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return why;
    }
    /* The control channel comes last: any of the others may have its number here. */
    const int fds[][2] = {{input, STDIN_FILENO},
                          {output, STDOUT_FILENO},
                          {error, STDERR_FILENO},
                          {control, CONTROL_FD}};
    for (size_t i = 0; i < 4 && why == 0; i++) {
        if (fds[i][0] >= 0) {
            why = posix_spawn_file_actions_adddup2(&actions, fds[i][0], fds[i][1]);
        }
    }
    if (why == 0) {
        why = posix_spawn_file_actions_addclosefrom_np(&actions, CONTROL_FD + 1);
    }
    if (why == 0) {
        /* Neither can fail with valid values. */
        (void)posix_spawnattr_setsigmask(&attributes, request->mask);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
        why = posix_spawn(ret_pid, request->path, &actions, &attributes, request->argv,
                          request->environment);
    }
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return why;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int child_start(const struct child_request *request, int input, int output, struct child *child)
{
    int error = -1;
    int control = -1;
    *child = (struct child){.control = {.reader = -1}, .wake = -1};
    int why = pipe_open(&child->capture.reader, &error);
    if (why == 0) {
        why = pipe_open(&child->control.reader, &control);
    }
    if (why == 0) {
        why = spawn(request, input, output, error, control, &child->pid);
    }
    pipe_close(&error);
    pipe_close(&control);
    if (why != 0) {
        pipe_close(&child->capture.reader);
        pipe_close(&child->control.reader);
        return why;
    }
    /* The child is ours and unreaped, so the number is still its own. */
    child->pidfd = pidfd_open(child->pid, 0);
    guard_add(child->pid);
    return 0;
}

static bool has_ended_now(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* A program that is stopped is waited for, which looks like one that works. */
static void tell_of_stop(const struct child *child)
{
    siginfo_t info = {.si_pid = 0};
    if (child->run != NULL && child->run->job != NULL &&
        waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0) {
        (void)report(0, "job %s: its program, process %d, is stopped by signal %d",
                     child->run->job->id, (int)child->pid, info.si_status);
    }
}

/* Without a descriptor it polls, since a child that runs already is not killed for that. */
bool child_wait(struct child *child, int64_t wait_ns)
{
    if (child->pidfd < 0) {
        wait_ns = least(wait_ns, SESSION_CHECK_NS);
    }
    struct pollfd pollers[] = {{.fd = -1},
                               {.fd = child->pidfd, .events = POLLIN},
                               {.fd = child->control.reader, .events = POLLIN},
                               {.fd = child->wake, .events = POLLIN}};
    /* poll() would take a negative time for ever. */
    capture_poll(&child->capture, pollers, 4,
                 wait_ns > 0 ? (int)((wait_ns + WEIR_MS(1) - 1) / WEIR_MS(1)) : 0);
    control_read(&child->control, child->run);
    tell_of_stop(child);
    return child->pidfd < 0 ? has_ended_now(child->pid) : pollers[1].revents != 0;
}

/* Waits for the end of the child, of the context or of the time that the run has. */
static enum weir_status wait_run(struct child *child)
{
    enum weir_status status = WEIR_OK;
    bool has_ended = false;
    child->wake = child_wake(child->run);
    while (!has_ended && status == WEIR_OK) {
        has_ended = child_wait(child, control_check_ns(child->run));
        status = has_ended ? WEIR_OK : control_check(child->run);
    }
    child->wake = -1; /* once the context has ended it would end each wait at once */
    /* What has ended by itself by now needs not be asked. */
    return has_ended_now(child->pid) ? WEIR_OK : status;
}

bool child_ask(const struct child *child)
{
    bool is_left = session_signal(child->pid, SIGTERM) != SESSION_GONE;
    /* A stopped process could not handle SIGTERM. */
    (void)session_signal(child->pid, SIGCONT);
    return is_left;
}

/* Tells of members that do not end, since their run goes on as long, or may go on beside the next.
 */
static void tell_of_left(const struct child *child, const char *why)
{
    const struct weir_job *job = child->run == NULL ? NULL : child->run->job;
    (void)report(0, "job %s: of its program, process %d, something is left after KILL: %s",
                 job == NULL ? "-" : job->id, (int)child->pid, why);
}

/* Asks, waits, kills. */
void child_end_session(struct child *child, int64_t grace_ns)
{
    pid_t pid = child->pid;
    weir_clock *clock = weir_clock_monotonic();
    int64_t start = weir_clock_now(clock);
    bool has_ended = false; /* the leader */
    bool is_left = child_ask(child);
    enum session_left killed;
    for (int64_t left = grace_ns; left > 0 && is_left;
         left = grace_ns - (weir_clock_now(clock) - start)) {
        if (!has_ended) {
            has_ended = child_wait(child, least(left, WEIR_SECONDS(3600)));
        } else {
            struct pollfd poller;
            capture_poll(&child->capture, &poller, 1,
                         (int)(least(left, SESSION_CHECK_NS) / WEIR_MS(1)) + 1);
        }
        is_left = !has_ended || session_signal(pid, 0) != SESSION_GONE;
    }
    for (int i = 0; (killed = session_signal(pid, SIGKILL)) == SESSION_LEFT; i++) {
        if (i == KILLS_QUICK) {
            tell_of_left(child, "the run goes on until it has ended");
        }
        (void)poll(NULL, 0, i < KILLS_QUICK ? KILL_QUICK_MS : (int)(SESSION_CHECK_NS / WEIR_MS(1)));
    }
    if (killed == SESSION_FOREIGN) {
        tell_of_left(child, "this process may not end it, and the job may run beside it");
    }
}

/* Waits for the child's end and reaps it. */
static int reap(pid_t pid, struct child_end *ret_end)
{
    siginfo_t info;
    int failed;
    do {
        failed = waitid(P_PID, (id_t)pid, &info, WEXITED);
    } while (failed != 0 && errno == EINTR);
    if (failed != 0) {
        return errno;
    }
    ret_end->exited = info.si_code == CLD_EXITED;
    ret_end->number = info.si_status;
    return 0;
}

int child_finish(struct child *child, int64_t grace_ns, struct child_end *ret_end)
{
    guard_remove(child->pid);
    int why = reap(child->pid, ret_end);
    if (child->pidfd >= 0) {
        (void)close(child->pidfd);
    }
    /* The bytes that it wrote are all in the pipes now. */
    control_finish(&child->control, child->run);
    pipe_close(&child->control.reader);
    capture_close(&child->capture, child->run, grace_ns);
    ret_end->tail_size = child->capture.tail_size;
    memcpy(ret_end->tail, child->capture.tail, child->capture.tail_size);
    return why;
}

int child_run(const struct child_request *request, struct control_run *run,
              struct child_end *ret_end)
{
    struct child child;
    struct child_end end = {.ended_by = WEIR_OK};
    int input = input_open(request->input, request->input_size);
    if (input < 0) {
        return errno;
    }
    int why = child_start(request, input, -1, &child);
    (void)close(input);
    if (why != 0) {
        return why;
    }
    child.run = run;
    end.ended_by = wait_run(&child);
    if (end.ended_by != WEIR_OK) {
        child_end_session(&child, request->grace_ns);
    }
    why = child_finish(&child, request->grace_ns, &end);
    if (why == 0) {
        *ret_end = end;
    }
    return why;
}
