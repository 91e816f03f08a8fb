/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pipe2, F_SETPIPE_SZ */
#include "cli/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/weir.h>

#include "cli/child.h"
#include "support/harness.h"

/* A run of a script on a worker of a pool; our standard error is ours to choose. */
struct scene {
    const char *script;
    int64_t deadline_ns;
    int64_t grace_ns;
    int why;
    struct child_end end;
    sigset_t mask;
};

static int run_child(weir_context *context, void *payload)
{
    struct scene *scene = payload;
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)scene->script, NULL};
    const struct child_request request = {.path = "/bin/sh",
                                          .argv = argv,
                                          .environment = environ,
                                          .input = "",
                                          .grace_ns = scene->grace_ns,
                                          .mask = &scene->mask};
    struct control_run run = control_begin(context, NULL, 0);
    scene->why = child_run(&request, &run, &scene->end);
    return WEIR_OK;
}

/* Runs a script while standard error is this descriptor. */
static void run_on(struct scene *scene, int error)
{
    struct weir_pool_options options = {0};
    struct weir_envelope_options envelope_options = {0};
    weir_pool *pool;
    weir_envelope *envelope;
    sigset_t pipes;
    int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
    CHECK(saved >= 0);
    CHECK_INT(sigprocmask(SIG_SETMASK, NULL, &scene->mask), ==, 0);
    (void)sigemptyset(&pipes);
    (void)sigaddset(&pipes, SIGPIPE);
    CHECK_INT(pthread_sigmask(SIG_BLOCK, &pipes, NULL), ==, 0);
    scene->grace_ns = scene->grace_ns > 0 ? scene->grace_ns : WEIR_SECONDS(30);
    options.workers = 1;
    envelope_options.invoke = run_child;
    envelope_options.payload = scene;
    envelope_options.deadline_ns = scene->deadline_ns;
    CHECK_INT(dup2(error, STDERR_FILENO), ==, STDERR_FILENO);
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_envelope_new(&envelope_options, &envelope, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    CHECK_INT(dup2(saved, STDERR_FILENO), ==, STDERR_FILENO);
    (void)close(saved);
    CHECK_INT(scene->why, ==, 0);
}

static int open_file(void)
{
    int file = open("errors", O_CREAT | O_RDWR | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    CHECK(file >= 0);
    return file;
}

TEST(passed_on, "what a child writes is passed on byte for byte, and the end of it is kept")
{
    struct scene scene = {.script = "printf 'a\\000b\\377\\nc' >&2; exit 3"};
    char bytes[16];
    int file = open_file();
    run_on(&scene, file);
    CHECK_INT(pread(file, bytes, sizeof(bytes), 0), ==, 6);
    CHECK_INT(memcmp(bytes, "a\0b\377\nc", 6), ==, 0);
    CHECK_INT(scene.end.tail_size, ==, 6);
    CHECK_INT(memcmp(scene.end.tail, "a\0b\377\nc", 6), ==, 0);
    CHECK_INT(scene.end.number, ==, 3);
    (void)close(file);
}

TEST(much, "of much output nothing is lost, and the last bytes are kept")
{
    struct scene scene = {
        .script = "i=0; while [ $i -lt 9000 ]; do echo \"line $i of many more\"; i=$((i+1)); "
                  "done | tee out >&2; printf end >&2"};
    int file = open_file();
    run_on(&scene, file);
    int out = open("out", O_RDONLY | O_CLOEXEC);
    off_t size = lseek(out, 0, SEEK_END);
    CHECK_INT(size, >, 200000);
    CHECK_INT(lseek(file, 0, SEEK_END), ==, size + 3);
    char *wanted = malloc((size_t)size + 3);
    char *found = malloc((size_t)size + 3);
    CHECK(wanted != NULL && found != NULL);
    CHECK_INT(pread(out, wanted, (size_t)size, 0), ==, size);
    memcpy(wanted + size, "end", 3);
    CHECK_INT(pread(file, found, (size_t)size + 3, 0), ==, size + 3);
    CHECK_INT(memcmp(wanted, found, (size_t)size + 3), ==, 0);
    CHECK_INT(scene.end.tail_size, ==, CAPTURE_TAIL_SIZE);
    CHECK_INT(memcmp(scene.end.tail, wanted + size + 3 - CAPTURE_TAIL_SIZE, CAPTURE_TAIL_SIZE), ==,
              0);
    free(wanted);
    free(found);
    (void)close(out);
    (void)close(file);
}

TEST(stalled, "a reader that has stopped puts off neither the deadline nor the kept end")
{
    struct scene scene = {.script = "head -c 5000 /dev/zero | tr '\\0' x >&2; echo all >&2; "
                                    "exec sleep 1000",
                          .deadline_ns = WEIR_MS(300),
                          .grace_ns = WEIR_SECONDS(1)};
    int ends[2];
    char page[4096] = {0};
    CHECK_INT(pipe2(ends, O_CLOEXEC), ==, 0);
    CHECK_INT(fcntl(ends[1], F_SETPIPE_SZ, 4096), ==, 4096);
    CHECK_INT(write(ends[1], page, sizeof(page)), ==, 4096);
    run_on(&scene, ends[1]);
    CHECK_STATUS(scene.end.ended_by, WEIR_ETIMEDOUT);
    CHECK_INT(scene.end.tail_size, >, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

TEST(unheard, "a child that writes once nobody reads ends by that, as without us")
{
    struct scene scene = {.script = "while :; do echo x >&2; done"};
    int ends[2];
    CHECK_INT(pipe2(ends, O_CLOEXEC), ==, 0);
    (void)close(ends[0]);
    run_on(&scene, ends[1]);
    CHECK_INT(scene.end.number, !=, 0);
    (void)close(ends[1]);
}

TEST(outlived, "a process that outlives the child is not waited for, and is heard until it ends")
{
    struct scene scene = {
        .script = "(while [ ! -e go ]; do sleep 0.01; done; echo late >&2; : > done) >&2 & "
                  "echo early >&2"};
    int ends[2];
    char bytes[16] = {0};
    CHECK_INT(pipe2(ends, O_CLOEXEC), ==, 0);
    int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
    run_on(&scene, ends[1]);
    CHECK_INT(scene.end.tail_size, ==, 6);
    CHECK_INT(read(ends[0], bytes, sizeof(bytes)), ==, 6);
    /* The thread writes to what is standard error then. */
    CHECK_INT(dup2(ends[1], STDERR_FILENO), ==, STDERR_FILENO);
    CHECK_INT(close(open("go", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), ==, 0);
    CHECK_INT(read(ends[0], bytes, sizeof(bytes)), ==, 5);
    CHECK_INT(memcmp(bytes, "late\n", 5), ==, 0);
    CHECK_INT(dup2(saved, STDERR_FILENO), ==, STDERR_FILENO);
    (void)close(saved);
    (void)close(ends[0]);
    (void)close(ends[1]);
    /* Its end has the thread closed. */
    while (access("done", F_OK) != 0) {
        (void)poll(NULL, 0, 5);
    }
}
