/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The process of an isolated task. */
#define _GNU_SOURCE /* NSIG */
#include "pool/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <weir/duration.h>

#include "pool/panic.h"

#define CRASH_STACK_SIZE 65536

static int crash_socket;
/* Only ever used by one process with one thread: nothing else of the program's touches them. */
static char crash_stack[CRASH_STACK_SIZE];
static struct weiri_message crash_message;

static _Noreturn void fail(int socket, const char *what)
{
    struct weiri_message message = {.word = WEIRI_WORD_FAILED, .error = errno};
    strncpy(message.text, what, sizeof(message.text) - 1);
    weiri_isolate_say(socket, &message);
    _exit(1);
}

/* Says where it crashed, and crashes for good: the signal is not handled any more. */
static void on_crash(int signal)
{
    crash_message.word = WEIRI_WORD_TRACE;
    crash_message.frame_count = weiri_panic_stack(crash_message.frames, WEIRI_FRAMES_MAX);
    weiri_isolate_say(crash_socket, &crash_message);
    (void)raise(signal);
}

/* As after exec: what the program handles it handles in its own memory. */
static void reset_signals(void)
{
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction action;
        if (sigaction(signal, NULL, &action) == 0 &&
            (action.sa_handler != SIG_IGN || signal == SIGCHLD)) {
            (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        }
    }
}

static void watch_crashes(int socket)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};
    crash_socket = socket;
    const stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof(crash_stack)};
    (void)sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++) {
        (void)sigaction(crashes[i], &action, NULL);
    }
}

static void limit_to(int socket, __rlimit_resource_t resource, rlim_t soft, rlim_t hard)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) == 0) {
        limit.rlim_max = hard < limit.rlim_max ? hard : limit.rlim_max;
        limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
        if (setrlimit(resource, &limit) == 0) {
            return;
        }
    }
    fail(socket, "setrlimit");
}

/* Bytes of address space that this process has; the first word of the file counts its pages. */
static rlim_t address_space(int socket)
{
    char text[32] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0) {
        fail(socket, "/proc/self/statm");
    }
    (void)close(fd);
    return (rlim_t)strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void set_limits(int socket, const struct weir_isolation *isolation)
{
    if (isolation->cpu_limit_ns > 0) {
        int64_t seconds = (isolation->cpu_limit_ns - 1) / WEIR_SECONDS(1) + 1;
        limit_to(socket, RLIMIT_CPU, (rlim_t)seconds, (rlim_t)seconds + 1);
    }
    if (isolation->memory_limit > 0) {
        rlim_t now = address_space(socket);
        rlim_t most = isolation->memory_limit < RLIM_INFINITY - now ? now + isolation->memory_limit
                                                                    : RLIM_INFINITY;
        limit_to(socket, RLIMIT_AS, most, most);
    }
    if (isolation->file_limit > 0) {
        limit_to(socket, RLIMIT_FSIZE, isolation->file_limit, isolation->file_limit);
    }
    if ((isolation->flags & WEIR_ISOLATION_CORE) == 0) {
        limit_to(socket, RLIMIT_CORE, 0, 0);
    }
}

static void set_input(int socket)
{
    int fd = open("/dev/null", O_RDONLY);
    if (fd < 0 || dup2(fd, STDIN_FILENO) < 0) {
        fail(socket, "/dev/null");
    }
    if (fd != STDIN_FILENO) {
        (void)close(fd);
    }
}

static int invoke(void *arg)
{
    weir_context *context = arg;
    return context->envelope->invoke(context, context->envelope->payload);
}

/* The run in a context of its own: the other's lock may be held by a thread that is not here, and
 * its descriptor is the program's. */
static void copy_context(int socket, const weir_context *from, struct weiri_scope *scope,
                         weir_context *to)
{
    if (weiri_scope_init_alone(scope, from->scope->clock) != WEIR_OK ||
        weiri_context_init(to, scope) != WEIR_OK) {
        errno = ENOMEM;
        fail(socket, "context");
    }
    to->pool = from->pool;
    to->thread = from->thread; /* the fork has only this one, and it is still itself */
    to->report_socket = socket;
    to->values = from->values;
    weiri_context_describe(to, from->envelope, from->attempt, from->due_ns);
    int64_t deadline = atomic_load_explicit(&from->run_deadline_ns, memory_order_relaxed);
    atomic_init(&to->run_deadline_ns, deadline);
    atomic_init(&to->deadline_ns, deadline);
}

void weiri_task_main(int socket, pid_t keeper, const weir_context *context)
{
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) {
        _exit(1);
    }
    set_input(socket);
    set_limits(socket, weiri_envelope_isolation(context->envelope));
    reset_signals();
    watch_crashes(socket);
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* NOLINT(concurrency-mt-unsafe): one thread */
    struct weiri_scope scope;
    weir_context own;
    copy_context(socket, context, &scope, &own);
    const struct weiri_message message = {.word = WEIRI_WORD_RESULT,
                                          .status = weiri_guarded(&own, invoke, &own)};
    weiri_isolate_say(socket, &message);
    _exit(0);
}
