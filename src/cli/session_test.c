/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/session.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/harness.h"

static void *stay(void *arg)
{
    (void)arg;
    while (true) {
        (void)pause();
    }
    return NULL;
}

/* A process that leads a session, and goes on as a thread after its main thread has ended. */
static pid_t start_headless(void)
{
    pid_t pid = fork();
    pthread_t thread;
    if (pid == 0) {
        (void)setsid();
        if (pthread_create(&thread, NULL, stay, NULL) != 0) {
            _exit(1);
        }
        pthread_exit(NULL);
    }
    CHECK_INT(pid, >, 0);
    return pid;
}

/* Waits until its main thread is a zombie. */
static void wait_headless(pid_t pid)
{
    char path[64];
    char text[512] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    while (strstr(text, ") Z ") == NULL) {
        FILE *file = fopen(path, "re");
        CHECK(file != NULL && fgets(text, sizeof(text), file) != NULL);
        (void)fclose(file);
    }
}

TEST(headless, "a process whose main thread has ended lives while another thread does")
{
    struct process process;
    pid_t pid = start_headless();
    wait_headless(pid);
    CHECK(process_read(pid, &process));
    CHECK_INT(process.session, ==, pid);
    CHECK_INT(session_signal(pid, 0), ==, SESSION_LEFT);
    (void)session_signal(pid, SIGKILL);
    siginfo_t info;
    CHECK_INT(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), ==, 0);
    CHECK(!process_read(pid, &process));
    CHECK_INT(session_signal(pid, 0), ==, SESSION_GONE);
    CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
}
