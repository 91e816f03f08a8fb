/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memfd_create, wait4's WNOWAIT */

#include "support/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* One pass of a test in a process, a process group and a folder of its own. The runner is the
 * "subreaper" of everything started under it: a process that a test leaves behind becomes the
 * runner's child, wherever it moved to, and is found and ended. */

#define OUTPUT_SHOWN_MAX 65536
#define MS INT64_C(1000000)
#define LIMIT_DEFAULT_SECONDS 60
/* How long processes that were told to end may take for it before they count as left running. */
#define SETTLE_MS 5000

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 * MS + now.tv_nsec;
}

static void pause_ms(long ms)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = ms * (long)MS}, NULL);
}

static int64_t limit_ns(void)
{
    const char *text = getenv("WEIR_TEST_TIMEOUT_MULT");
    double factor = 1;
    if (text != NULL && *text != '\0') {
        char *end;
        factor = strtod(text, &end);
        if (*end != '\0' || !(factor > 0 && factor <= 1e6)) {
            harness_die("WEIR_TEST_TIMEOUT_MULT: expected a positive number");
        }
    }
    return (int64_t)(factor * LIMIT_DEFAULT_SECONDS * 1e9);
}

static sigset_t waited_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    return set;
}

void harness_process_init(void)
{
    sigset_t waited = waited_signals();
    if (sigprocmask(SIG_BLOCK, &waited, NULL) != 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        harness_die("sigprocmask, prctl");
    }
    harness_report = mmap(NULL, sizeof(*harness_report), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (harness_report == MAP_FAILED) {
        harness_die("mmap");
    }
}

_Noreturn static void run_child(const struct harness_pass *pass, pid_t runner, const char *folder,
                                int output)
{
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != runner) {
        _exit(HARNESS_EXIT_FAILED);
    }
    sigset_t waited = waited_signals();
    /* A runner in the background of a shell has some of them ignored. */
    for (int i = 1; i < NSIG; i++) {
        if (sigismember(&waited, i) == 1) {
            (void)signal(i, SIG_DFL);
        }
    }
    (void)sigprocmask(SIG_UNBLOCK, &waited, NULL);
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (chdir(folder) != 0 || input < 0 || dup2(input, STDIN_FILENO) < 0 ||
        dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0) {
        harness_die("chdir, dup2");
    }
    (void)close(input);
    (void)close(output);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    harness_run_body(pass);
    /* exit(), not _exit(): the sanitizers look for leaks and report races at exit, and change the
     * exit status when they find any. */
    exit(0);
}

/* The name and state of each thread of a process that hangs. */
static void show_hang(int output, pid_t pid)
{
    (void)dprintf(output, "the time limit passed; threads (state, waits in):\n");
    char command[160];
    (void)snprintf(command, sizeof(command),
                   "cd /proc/%d/task && for t in *; do echo \"  $t $(cat $t/comm) "
                   "$(cut -d' ' -f3 $t/stat) $(cat $t/wchan)\"; done",
                   (int)pid);
    FILE *pipe = popen(command, "re");
    char line[256];
    while (pipe != NULL && fgets(line, sizeof(line), pipe) != NULL) {
        (void)dprintf(output, "%s", line);
    }
    if (pipe != NULL) {
        (void)pclose(pipe);
    }
}

/* Ends the runner on a signal as it would have ended, with the test's processes ended first. */
static void pass_on(int signal, pid_t pid, const char *folder)
{
    (void)killpg(pid, SIGKILL);
    harness_remove_tree(folder);
    (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    sigset_t only;
    (void)sigemptyset(&only);
    (void)sigaddset(&only, signal);
    (void)raise(signal);
    (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
}

/* Waits for the test's process, but leaves it as a zombie: its number, which is also its group's,
 * cannot be given to a stranger before killpg(). False: the time limit passed. */
static bool wait_ended(pid_t pid, const char *folder)
{
    sigset_t waited = waited_signals();
    int64_t end = now_ns() + limit_ns();
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
            info.si_pid == pid) {
            return true;
        }
        int64_t left = end - now_ns();
        if (left <= 0) {
            return false;
        }
        struct timespec pause = {.tv_sec = (time_t)(left / (1000 * MS)),
                                 .tv_nsec = (long)(left % (1000 * MS))};
        int signal = sigtimedwait(&waited, NULL, &pause);
        if (signal > 0 && signal != SIGCHLD) {
            pass_on(signal, pid, folder);
        }
    }
}

/* Sends SIGKILL to every child of this process; names them where output is not -1. */
static void kill_children(int output)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        harness_die(path);
    }
    int pid;
    while (fscanf(file, "%d", &pid) == 1) {
        if (output != -1) {
            (void)dprintf(output, "left running: process %d\n", pid);
        }
        (void)kill(pid, SIGKILL);
    }
    (void)fclose(file);
}

/* Waits for processes that the test left behind, and ends those that do not end. True: one had to
 * be ended. Children of a killed process become the runner's in turn, hence the loop. */
static bool sweep(bool passed, int output)
{
    bool found = false;
    int64_t end = now_ns() + (passed ? SETTLE_MS * MS : 0);
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0 && errno == ECHILD) {
            return found;
        }
        if (pid == 0) {
            if (now_ns() >= end) {
                kill_children(found ? -1 : output);
                found = true;
            }
            pause_ms(1);
        }
    }
}

static char *read_output(int output)
{
    struct stat stat;
    if (fstat(output, &stat) != 0) {
        harness_die("fstat");
    }
    off_t start = stat.st_size > OUTPUT_SHOWN_MAX ? stat.st_size - OUTPUT_SHOWN_MAX : 0;
    char *text = calloc(1, OUTPUT_SHOWN_MAX + 1);
    if (text == NULL || pread(output, text, OUTPUT_SHOWN_MAX, start) < 0) {
        harness_die("reading the test's output");
    }
    return text;
}

static enum harness_outcome judge(int status, bool in_time, bool left, char *why, size_t why_size)
{
    int outcome = atomic_load(&harness_report->outcome);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (!in_time) {
        (void)snprintf(why, why_size, "not finished after %g s", (double)limit_ns() / 1e9);
    } else if (WIFSIGNALED(status)) {
        (void)snprintf(why, why_size, "ended by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    } else if (outcome == HARNESS_SKIPPED && code == HARNESS_EXIT_SKIPPED) {
        (void)snprintf(why, why_size, "%s", harness_report->text);
        return HARNESS_SKIPPED;
    } else if (outcome == HARNESS_RUNNING) {
        (void)snprintf(why, why_size, "the process ended before the test, with exit status %d",
                       code);
    } else if (outcome == HARNESS_PASSED && code != 0) {
        (void)snprintf(why, why_size, "exit status %d after the test: see the report above", code);
    } else if (outcome == HARNESS_PASSED && left) {
        (void)snprintf(why, why_size, "processes are left running");
    } else if (outcome == HARNESS_PASSED) {
        why[0] = '\0';
        return HARNESS_PASSED;
    } else {
        (void)snprintf(why, why_size, "a check failed");
    }
    return HARNESS_FAILED;
}

enum harness_outcome harness_run_process(const struct harness_pass *pass, char **ret_output,
                                         char *ret_why, size_t why_size)
{
    const char *base = getenv("TMPDIR");
    char folder[512];
    (void)snprintf(folder, sizeof(folder), "%s/weir-test.XXXXXX",
                   base != NULL && base[0] == '/' ? base : "/tmp");
    int output = memfd_create("output", MFD_CLOEXEC);
    if (mkdtemp(folder) == NULL || output < 0) {
        harness_die("mkdtemp, memfd_create");
    }
    memset(harness_report, 0, sizeof(*harness_report));
    atomic_store(&harness_report->repeat_seed, pass->seed);
    (void)fflush(NULL);
    pid_t runner = getpid();
    pid_t pid = fork();
    if (pid < 0) {
        harness_die("fork");
    }
    if (pid == 0) {
        run_child(pass, runner, folder, output);
    }
    (void)setpgid(pid, pid);

    bool in_time = wait_ended(pid, folder);
    if (!in_time) {
        show_hang(output, pid);
    }
    bool passed = in_time && atomic_load(&harness_report->outcome) == HARNESS_PASSED;
    if (!passed) {
        (void)killpg(pid, SIGKILL);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    bool left = sweep(passed, output);
    *ret_output = read_output(output);
    (void)close(output);
    harness_remove_tree(folder);
    return judge(status, in_time, left, ret_why, why_size);
}
