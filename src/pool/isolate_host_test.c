/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Isolated tasks: limits, what the child gets of the program, and what the program does meanwhile.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, NSIG */
#include "pool/isolate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/isolated.h"
#include "support/forbid_call.h"

#define MIB ((size_t)1 << 20)
#define PROCESSES 3

static int map_memory(weir_context *context, struct isolated *isolated)
{
    (void)context;
    void *memory = mmap(NULL, (size_t)isolated->number * MIB, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? WEIR_ENOMEM : WEIR_OK;
}

TEST(memory, "a task cannot have more memory than its limit beyond what the program has")
{
    struct isolated isolated;
    struct weir_isolation isolation = WEIR_ISOLATION_INIT;
    isolation.memory_limit = 64 * MIB;
    isolated_init(&isolated, map_memory);
    weir_pool *pool = isolated_pool(NULL, NULL, NULL);
    isolated.number = 32;
    isolated_run(pool, &isolated, &isolation);
    CHECK_STATUS(isolated.status, WEIR_OK);
    isolated.number = 65;
    isolated_run(pool, &isolated, &isolation);
    CHECK_STATUS(isolated.status, WEIR_ENOMEM);
    isolation.memory_limit = 0;
    isolated_run(pool, &isolated, &isolation);
    CHECK_STATUS(isolated.status, WEIR_OK);
    isolation.memory_limit = UINT64_MAX;
    isolated_run(pool, &isolated, &isolation);
    CHECK_STATUS(isolated.status, WEIR_OK);
    weir_pool_free(pool);
    counter_fini(&isolated.outcomes);
}

static int loop(weir_context *context, struct isolated *isolated)
{
    (void)context;
    const volatile int *number = &isolated->number;
    while (*number == 0) {
    }
    return WEIR_OK;
}

TEST(processor, "a task that computes for too long is ended")
{
    struct weir_isolation isolation = WEIR_ISOLATION_INIT;
    isolation.cpu_limit_ns = 1; /* a second */
    struct isolated isolated = isolated_once(loop, &isolation);
    CHECK_STATUS(isolated.status, WEIR_EPANIC);
    CHECK_INT(isolated.failure.signal, ==, SIGXCPU);
}

static int write_file(weir_context *context, struct isolated *isolated)
{
    (void)context;
    static const char bytes[4096];
    int fd = open("file", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    bool is_written = true;
    for (int i = 0; i < isolated->number; i++) {
        is_written = is_written && write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes);
    }
    return is_written ? WEIR_OK : WEIR_ENOSPACE;
}

TEST(files, "a task that writes a file past its limit is ended")
{
    struct isolated isolated;
    struct weir_isolation isolation = WEIR_ISOLATION_INIT;
    isolation.file_limit = 8192;
    isolated_init(&isolated, write_file);
    weir_pool *pool = isolated_pool(NULL, NULL, NULL);
    isolated.number = 2;
    isolated_run(pool, &isolated, &isolation);
    CHECK_STATUS(isolated.status, WEIR_OK);
    isolated.number = 3;
    isolated_run(pool, &isolated, &isolation);
    CHECK_STATUS(isolated.status, WEIR_EPANIC);
    CHECK_INT(isolated.failure.signal, ==, SIGXFSZ);
    weir_pool_free(pool);
    counter_fini(&isolated.outcomes);
}

static int core_limit(weir_context *context, struct isolated *isolated)
{
    (void)context;
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_CORE, &limit), ==, 0);
    return limit.rlim_cur == (rlim_t)isolated->number ? WEIR_OK : WEIR_EUSER;
}

TEST(core, "a crash leaves a core file only where that is asked for")
{
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_CORE, &limit), ==, 0);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    CHECK_INT(setrlimit(RLIMIT_CORE, &limit), ==, 0);
    struct isolated isolated;
    struct weir_isolation isolation = WEIR_ISOLATION_INIT;
    isolated_init(&isolated, core_limit);
    weir_pool *pool = isolated_pool(NULL, NULL, NULL);
    isolated_run(pool, &isolated, &isolation);
    CHECK_STATUS(isolated.status, WEIR_OK);
    isolation.flags = WEIR_ISOLATION_CORE;
    isolated.number = (int)limit.rlim_cur;
    isolated_run(pool, &isolated, &isolation);
    CHECK_STATUS(isolated.status, WEIR_OK);
    weir_pool_free(pool);
    counter_fini(&isolated.outcomes);
}

static void ignore(int signal)
{
    (void)signal;
}

static int check_signals(weir_context *context, struct isolated *isolated)
{
    (void)context;
    (void)isolated;
    sigset_t blocked;
    CHECK_INT(sigprocmask(SIG_SETMASK, NULL, &blocked), ==, 0);
    for (int signal = 1; signal < NSIG; signal++) {
        CHECK(sigismember(&blocked, signal) != 1);
    }
    struct sigaction action;
    CHECK_INT(sigaction(SIGUSR1, NULL, &action), ==, 0);
    CHECK(action.sa_handler == SIG_DFL);
    CHECK_INT(sigaction(SIGUSR2, NULL, &action), ==, 0);
    CHECK(action.sa_handler == SIG_IGN);
    char byte;
    CHECK_INT(read(STDIN_FILENO, &byte, 1), ==, 0);
    CHECK_INT(getpgrp(), ==, getpid());
    return WEIR_EUSER;
}

TEST(inherits, "the child has no signal blocked or handled, and nothing to read on standard input")
{
    int pipes[2];
    CHECK_INT(pipe(pipes), ==, 0);
    CHECK_INT(dup2(pipes[0], STDIN_FILENO), ==, STDIN_FILENO);
    (void)close(pipes[0]);
    CHECK(write(pipes[1], "x", 1) == 1);
    CHECK_INT(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = ignore}, NULL), ==, 0);
    CHECK_INT(sigaction(SIGUSR2, &(struct sigaction){.sa_handler = SIG_IGN}, NULL), ==, 0);
    struct isolated isolated = isolated_once(check_signals, NULL);
    CHECK_STATUS(isolated.status, WEIR_EUSER);
    char byte = 0;
    CHECK(read(STDIN_FILENO, &byte, 1) == 1);
    (void)close(pipes[1]);
}

static int crash(weir_context *context, struct isolated *isolated)
{
    (void)context;
    (void)isolated;
    (void)raise(SIGSEGV);
    return WEIR_OK;
}

TEST(children_ignored, "a program that ignores SIGCHLD hears how its task ended all the same")
{
    CHECK_INT(sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_IGN}, NULL), ==, 0);
    struct isolated isolated = isolated_once(crash, NULL);
    CHECK_STATUS(isolated.status, WEIR_EPANIC);
    CHECK_INT(isolated.failure.signal, ==, SIGSEGV);
}

static atomic_bool reaper_ends;

static void reap_all(void *arg)
{
    (void)arg;
    while (!atomic_load(&reaper_ends)) {
        (void)waitpid(-1, NULL, 0); /* without a child it fails at once */
    }
}

TEST(children_reaped, "so does one in which a thread waits for any child there is")
{
    struct isolated isolated;
    isolated_init(&isolated, crash);
    weir_pool *pool = isolated_pool(NULL, NULL, NULL);
    struct test_thread *reaper = test_start(reap_all, NULL);
    for (int i = 0; i < 20; i++) {
        isolated_run(pool, &isolated, NULL);
        CHECK_STATUS(isolated.status, WEIR_EPANIC);
        CHECK_INT(isolated.failure.signal, ==, SIGSEGV);
    }
    atomic_store(&reaper_ends, true);
    test_join(reaper);
    weir_pool_free(pool);
    counter_fini(&isolated.outcomes);
}

static int open_files(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    while (readdir(folder) != NULL) {
        count++;
    }
    (void)closedir(folder);
    return count;
}

TEST(nothing_left, "after many runs there is no zombie, and no descriptor but the worker's one")
{
    struct isolated isolated;
    isolated_init(&isolated, crash);
    int before = open_files();
    weir_pool *pool = isolated_pool(NULL, NULL, NULL);
    for (int i = 0; i < 20; i++) {
        isolated_run(pool, &isolated, NULL);
        CHECK_INT(open_files(), ==, before + 1);
        errno = 0;
        CHECK_INT(waitpid(-1, NULL, WNOHANG), ==, -1);
        CHECK_INT(errno, ==, ECHILD);
    }
    weir_pool_free(pool);
    CHECK_INT(open_files(), ==, before);
    counter_fini(&isolated.outcomes);
}

/* On the worker's thread: from now on its calls of this kind fail. */
static int forbid(weir_context *context, void *payload)
{
    (void)context;
    const unsigned *call = payload;
    test_forbid_call(call[0], SECCOMP_RET_ERRNO | call[1]);
    return WEIR_OK;
}

static void refuse(unsigned call, unsigned error, enum weir_status expected, const char *message)
{
    struct isolated isolated;
    isolated_init(&isolated, crash);
    weir_pool *pool = isolated_pool(NULL, NULL, NULL);
    unsigned facts[] = {call, error};
    struct weir_envelope_options options = WEIR_ENVELOPE_OPTIONS_INIT;
    options.allocator = *test_allocator();
    options.payload = facts;
    options.invoke = forbid;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    weir_envelope_unref(envelope);
    isolated_run(pool, &isolated, NULL);
    CHECK_STATUS(isolated.status, expected);
    CHECK_STRING(isolated.message, message);
    CHECK_INT(isolated.failure.signal, ==, 0);
    CHECK_INT(isolated.failure.exit_status, ==, -1);
    weir_pool_free(pool);
    counter_fini(&isolated.outcomes);
}

TEST(refused, "what the system refuses is the run's status and message, and nothing is left of it")
{
    refuse(SYS_clone, EAGAIN, WEIR_EIO, "not begun: fork: Resource temporarily unavailable");
    refuse(SYS_clone, ENOMEM, WEIR_ENOMEM, "not begun: fork: Cannot allocate memory");
    refuse(SYS_socketpair, EMFILE, WEIR_EIO, "not begun: socketpair: Too many open files");
    refuse(SYS_timerfd_create, EMFILE, WEIR_EIO, "not begun: timerfd_create: Too many open files");
    refuse(SYS_pidfd_open, EMFILE, WEIR_EIO, "not begun: pidfd_open: Too many open files");
    refuse(SYS_prlimit64, EPERM, WEIR_EIO, "not begun: setrlimit: Operation not permitted");
}

static int kill_keeper(weir_context *context, struct isolated *isolated)
{
    (void)context;
    (void)kill(getppid(), SIGKILL);
    while (isolated->number == 0) {
        (void)pause();
    }
    return WEIR_OK;
}

TEST(keeper_killed, "a task whose keeper is killed is lost, and killed with it")
{
    struct isolated isolated = isolated_once(kill_keeper, NULL);
    CHECK_STATUS(isolated.status, WEIR_EPANIC);
    CHECK_STRING(isolated.message, "its process and its keeper's were killed");
}

/* Tells who it is, who keeps it, and what it has started; the end is left to others. */
static int name_processes(weir_context *context, struct isolated *isolated)
{
    (void)context;
    pid_t left = fork();
    if (left > 0) {
        const pid_t processes[PROCESSES] = {getpid(), getppid(), left};
        CHECK(write(isolated->pipes[1], processes, sizeof(processes)) == sizeof(processes));
    }
    for (;;) {
        (void)pause();
    }
}

static _Noreturn void run_program(const int *pipes)
{
    struct isolated isolated;
    isolated_init(&isolated, name_processes);
    memcpy(isolated.pipes, pipes, sizeof(isolated.pipes));
    isolated_run(isolated_pool(NULL, NULL, NULL), &isolated, NULL);
    _exit(1); /* the task does not end by itself */
}

TEST(program_killed, "when the program is killed its task ends, and its keeper, and what the task "
                     "has started (decision 0022)")
{
    int pipes[2];
    CHECK_INT(pipe(pipes), ==, 0);
    pid_t program = fork();
    CHECK_INT(program, >=, 0);
    if (program == 0) {
        run_program(pipes);
    }
    pid_t processes[PROCESSES];
    CHECK(read(pipes[0], processes, sizeof(processes)) == sizeof(processes));
    struct pollfd ends[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        ends[i] = (struct pollfd){.fd = pidfd_open(processes[i], 0), .events = POLLIN};
        CHECK_INT(ends[i].fd, >=, 0);
    }
    CHECK_INT(poll(ends, PROCESSES, 0), ==, 0); /* all live */
    CHECK_INT(kill(program, SIGKILL), ==, 0);
    CHECK_INT(waitpid(program, NULL, 0), ==, program);
    for (int i = 0; i < PROCESSES; i++) {
        CHECK_INT(poll(&ends[i], 1, -1), ==, 1);
        (void)close(ends[i].fd);
    }
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

TEST(bad_options, "isolation options are checked when the envelope is made")
{
    static const struct {
        struct weir_isolation isolation;
        enum weir_status status;
    } cases[] = {
        {{.size = 7}, WEIR_EINVAL},
        {{.size = sizeof(struct weir_isolation), .flags = 2}, WEIR_EINVAL},
        {{.size = sizeof(struct weir_isolation), .reserved0 = 1}, WEIR_EINVAL},
        {{.size = sizeof(struct weir_isolation), .cpu_limit_ns = -1}, WEIR_ERANGE},
        {{.size = sizeof(struct weir_isolation), .cpu_limit_ns = INT64_MIN}, WEIR_ERANGE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weir_envelope_options options = WEIR_ENVELOPE_OPTIONS_INIT;
        options.invoke = forbid;
        options.isolation = &cases[i].isolation;
        weir_envelope *envelope = NULL;
        CHECK_STATUS(weir_envelope_new(&options, &envelope), cases[i].status);
        CHECK(envelope == NULL);
    }
}
