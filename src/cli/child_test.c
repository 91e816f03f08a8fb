/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memfd_create */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <weir/weir.h>

#include "cli/session.h"
#include "support/forbid_call.h"
#include "support/harness.h"

/* Polls that would look again after a while do not: only a descriptor ends them. */
static atomic_bool is_patient;
static atomic_int polls;
/* Called once behind a poll, which has not seen what it does. */
static _Atomic(void (*)(void)) behind_poll;

int poll(struct pollfd *pollers, nfds_t count, int timeout_ms)
{
    bool is_endless = timeout_ms < 0 || (timeout_ms == 100 && atomic_load(&is_patient));
    atomic_fetch_add(&polls, 1);
    const struct timespec limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
    int ready = ppoll(pollers, count, is_endless ? NULL : &limit, NULL);
    void (*behind)(void) = timeout_ms == 100 ? atomic_exchange(&behind_poll, NULL) : NULL;
    if (behind != NULL) {
        behind();
    }
    return ready;
}

/* A process that signals do not reach. */
static struct {
    atomic_int pid;     /* 0: none */
    atomic_int failure; /* an errno; 0: the call succeeds, and nothing happens */
    atomic_int kills;   /* so many KILLs are sent to it */
    int ends_at;        /* this one reaches it */
} deaf;

int kill(pid_t pid, int number)
{
    if (pid == 0 || pid != atomic_load(&deaf.pid)) {
        return (int)syscall(SYS_kill, pid, number);
    }
    bool is_kill = number == SIGKILL;
    if (is_kill && atomic_fetch_add(&deaf.kills, 1) + 1 == deaf.ends_at) {
        return (int)syscall(SYS_kill, pid, number);
    }
    errno = atomic_load(&deaf.failure);
    return errno == 0 ? (int)syscall(SYS_kill, pid, 0) : -1;
}

/* One run on a worker of a pool, with what it wrote. */
struct scene {
    struct child_request request;
    int64_t deadline_ns;
    int why;
    struct child_end end;
    char output[4096];
    weir_pool *pool;
    weir_envelope *envelope;
    sigset_t mask;
};

static int run_child(weir_context *context, void *payload)
{
    struct scene *scene = payload;
    struct control_run run = control_begin(context, NULL, 0);
    scene->why = child_run(&scene->request, &run, &scene->end);
    return WEIR_OK;
}

static void scene_init(struct scene *scene, char *const *argv)
{
    memset(scene, 0, sizeof(*scene));
    CHECK_INT(sigprocmask(SIG_SETMASK, NULL, &scene->mask), ==, 0);
    scene->request = (struct child_request){.path = "/bin/sh",
                                            .argv = argv,
                                            .environment = environ,
                                            .input = "",
                                            .grace_ns = WEIR_SECONDS(30),
                                            .mask = &scene->mask};
}

static void scene_start(struct scene *scene)
{
    struct weir_pool_options pool = {0};
    struct weir_envelope_options envelope = {0};
    pool.workers = 1;
    envelope.invoke = run_child;
    envelope.payload = scene;
    envelope.deadline_ns = scene->deadline_ns;
    CHECK_STATUS(weir_pool_new(&pool, &scene->pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_envelope_new(&envelope, &scene->envelope, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_send(scene->pool, scene->envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_start(scene->pool), WEIR_OK);
}

static void scene_end(struct scene *scene)
{
    weir_pool_free(scene->pool);
    weir_envelope_unref(scene->envelope);
}

/* Runs it to its end. Our standard output, which is also its own, goes into scene->output. */
static void run(struct scene *scene)
{
    int file = memfd_create("output", MFD_CLOEXEC);
    int saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100);
    CHECK(file >= 0 && saved >= 0);
    CHECK_INT(dup2(file, STDOUT_FILENO), ==, STDOUT_FILENO);
    scene_start(scene);
    CHECK_STATUS(weir_pool_end(scene->pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(dup2(saved, STDOUT_FILENO), ==, STDOUT_FILENO);
    CHECK_INT(pread(file, scene->output, sizeof(scene->output) - 1, 0), >=, 0);
    (void)close(file);
    (void)close(saved);
    scene_end(scene);
}

/* Runs a shell's script to its end. */
static void run_script(struct scene *scene, const char *script)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
    scene->request.argv = argv;
    run(scene);
}

/* Waits until a script has made this file. */
static void wait_for_file(const char *path)
{
    while (access(path, F_OK) != 0) {
        (void)poll(NULL, 0, 5);
    }
}

TEST(no_pidfd, "a child that no descriptor is left for runs to its end, or to the deadline")
{
    test_forbid_call(SYS_pidfd_open, SECCOMP_RET_ERRNO | EMFILE);
    struct scene scene;
    scene_init(&scene, NULL);
    run_script(&scene, "sleep 0.1; exit 3");
    CHECK_INT(scene.why, ==, 0);
    CHECK(scene.end.exited);
    CHECK_INT(scene.end.number, ==, 3);
    CHECK_STATUS(scene.end.ended_by, WEIR_OK);
    scene_init(&scene, NULL);
    scene.deadline_ns = WEIR_MS(200);
    run_script(&scene, "exec sleep 1000");
    CHECK_INT(scene.why, ==, 0);
    CHECK_INT(scene.end.number, ==, SIGTERM);
    CHECK_STATUS(scene.end.ended_by, WEIR_ETIMEDOUT);
}

TEST(exit_status, "the exit status comes back")
{
    struct scene scene;
    scene_init(&scene, NULL);
    run_script(&scene, "exit 75");
    CHECK_INT(scene.why, ==, 0);
    CHECK(scene.end.exited);
    CHECK_INT(scene.end.number, ==, 75);
    CHECK_STATUS(scene.end.ended_by, WEIR_OK);
}

TEST(ended_by_signal, "a signal that ended it comes back")
{
    struct scene scene;
    scene_init(&scene, NULL);
    run_script(&scene, "kill -ABRT $$");
    CHECK_INT(scene.why, ==, 0);
    CHECK(!scene.end.exited);
    CHECK_INT(scene.end.number, ==, SIGABRT);
}

TEST(argv_identical, "its words arrive byte for byte; no shell sees them")
{
    char *argv[] = {(char *)"the name",
                    (char *)"-c",
                    (char *)"cat /proc/$$/cmdline",
                    (char *)"two  spaces",
                    (char *)"; touch made $(touch made) `touch made`",
                    (char *)"new\nline",
                    (char *)"-rf",
                    (char *)"",
                    (char *)"*",
                    (char *)"\"'\\",
                    (char *)"\xff\xfe",
                    NULL};
    struct scene scene;
    scene_init(&scene, argv);
    run(&scene);
    CHECK_INT(scene.why, ==, 0);
    size_t at = 0;
    for (size_t i = 0; argv[i] != NULL; i++) {
        CHECK_STRING(scene.output + at, argv[i]);
        at += strlen(argv[i]) + 1;
    }
    CHECK_INT(scene.output[at], ==, '\0');
    CHECK(access("made", F_OK) != 0);
}

TEST(input, "its input is the body, as a file at its start, whatever bytes it has")
{
    static const char body[] = "first\nsecond\0third\xff";
    struct scene scene;
    scene_init(&scene, NULL);
    scene.request.input = body;
    scene.request.input_size = sizeof(body) - 1;
    run_script(&scene, "cat; cat");
    CHECK_INT(memcmp(scene.output, body, sizeof(body)), ==, 0);
}

TEST(input_unread, "one that does not read a large body holds nothing up")
{
    size_t size = (size_t)20 << 20;
    char *body = calloc(1, size);
    CHECK(body != NULL);
    struct scene scene;
    scene_init(&scene, NULL);
    scene.request.input = body;
    scene.request.input_size = size;
    run_script(&scene, "exit 0");
    CHECK_INT(scene.end.number, ==, 0);
    scene_init(&scene, NULL);
    scene.request.input = body;
    scene.request.input_size = size;
    run_script(&scene, "wc -c");
    CHECK_INT(atol(scene.output), ==, size);
    free(body);
}

TEST(descriptors, "it has the descriptors 0 to 3 and no other, whatever we have open")
{
    int open_too[50];
    for (size_t i = 0; i < 50; i++) {
        /* On purpose without O_CLOEXEC. */
        open_too[i] = dup(STDIN_FILENO);
        CHECK(open_too[i] > 2);
    }
    struct scene scene;
    scene_init(&scene, NULL);
    run_script(&scene, "ls /proc/$$/fd; exit 0");
    for (size_t i = 0; i < 50; i++) {
        (void)close(open_too[i]);
    }
    CHECK_STRING(scene.output, "0\n1\n2\n3\n");
}

TEST(own_session, "it leads a session and a process group of its own, without a terminal")
{
    struct scene scene;
    scene_init(&scene, NULL);
    run_script(&scene, "read -r pid name state parent group session terminal rest < /proc/$$/stat; "
                       "echo $((group - $$)) $((session - $$)) $terminal");
    CHECK_STRING(scene.output, "0 0 0\n");
}

TEST(signal_mask, "it has the chosen signals blocked")
{
    char *argv[] = {(char *)"grep", (char *)"SigBlk", (char *)"/proc/self/status", NULL};
    struct scene scene;
    scene_init(&scene, argv);
    scene.request.path = "/bin/grep";
    CHECK_INT(sigaddset(&scene.mask, SIGUSR1), ==, 0);
    run(&scene);
    CHECK_STRING(scene.output, "SigBlk:\t0000000000000200\n");
}

TEST(not_started, "a failed start is reported, and nothing is left")
{
    static const struct {
        const char *path;
        int why;
    } rows[] = {{"./missing", ENOENT}, {"./plain", EACCES}, {"./nonsense", ENOEXEC}, {".", EACCES}};
    char *argv[] = {(char *)"x", NULL};
    CHECK_INT(close(open("plain", O_CREAT | O_WRONLY | O_CLOEXEC, 0644)), ==, 0);
    CHECK_INT(close(open("nonsense", O_CREAT | O_WRONLY | O_CLOEXEC, 0755)), ==, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct scene scene;
        scene_init(&scene, argv);
        scene.request.path = rows[i].path;
        run(&scene);
        CHECK_INT(scene.why, ==, rows[i].why);
    }
}

TEST(deadline, "at the deadline the whole group is ended, and not before")
{
    struct scene scene;
    scene_init(&scene, NULL);
    scene.deadline_ns = WEIR_MS(200);
    int64_t start = weir_clock_now(weir_clock_monotonic());
    run_script(&scene, "sleep 1000 & (sleep 1000 & sleep 1000) & sleep 1000");
    CHECK_INT(weir_clock_now(weir_clock_monotonic()) - start, >=, scene.deadline_ns);
    CHECK_STATUS(scene.end.ended_by, WEIR_ETIMEDOUT);
    CHECK(!scene.end.exited);
    CHECK_INT(scene.end.number, ==, SIGTERM);
}

TEST(other_groups, "what has made a process group of its own is asked to end with the others")
{
    struct scene scene;
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)"timeout 1000 sh -c \"trap ': > asked; exit' TERM; : > started; "
                            "while :; do sleep 0.01; done\" & wait",
                    NULL};
    scene_init(&scene, argv);
    scene_start(&scene);
    wait_for_file("started");
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    scene_end(&scene);
    CHECK(access("asked", F_OK) == 0);
}

TEST(deaf_groups, "and is killed with them once the grace has passed")
{
    struct scene scene;
    scene_init(&scene, NULL);
    scene.deadline_ns = WEIR_MS(200);
    scene.request.grace_ns = WEIR_MS(200);
    run_script(&scene, "trap '' TERM; timeout 1000 sleep 1000 & exec sleep 1000");
    CHECK_STATUS(scene.end.ended_by, WEIR_ETIMEDOUT);
    CHECK_INT(scene.end.number, ==, SIGKILL);
    /* The harness fails a test that leaves processes. */
}

TEST(stopped_group, "one that is stopped is ended as well")
{
    struct scene scene;
    scene_init(&scene, NULL);
    scene.deadline_ns = WEIR_MS(200);
    run_script(&scene, "kill -STOP $$");
    CHECK_STATUS(scene.end.ended_by, WEIR_ETIMEDOUT);
    CHECK_INT(scene.end.number, ==, SIGTERM);
}

TEST(grace, "one that tidies up after TERM has the time for it")
{
    struct scene scene;
    scene_init(&scene, NULL);
    scene.deadline_ns = WEIR_MS(200);
    run_script(&scene, "trap 'sleep 0.3; echo tidy; exit 3' TERM; while :; do sleep 0.05; done");
    CHECK_STATUS(scene.end.ended_by, WEIR_ETIMEDOUT);
    CHECK(scene.end.exited);
    CHECK_INT(scene.end.number, ==, 3);
    CHECK_STRING(scene.output, "tidy\n");
}

TEST(kill_after_grace, "a group that ignores TERM is killed once the grace has passed")
{
    struct scene scene;
    scene_init(&scene, NULL);
    scene.deadline_ns = WEIR_MS(100);
    scene.request.grace_ns = WEIR_MS(200);
    int64_t start = weir_clock_now(weir_clock_monotonic());
    run_script(&scene, "trap '' TERM; sleep 1000 & sleep 1000 & wait");
    CHECK_INT(weir_clock_now(weir_clock_monotonic()) - start, >=, WEIR_MS(300));
    CHECK(!scene.end.exited);
    CHECK_INT(scene.end.number, ==, SIGKILL);
}

TEST(orphans, "members that outlive their leader get their grace too, and are killed after it")
{
    struct scene scene;
    scene_init(&scene, NULL);
    scene.deadline_ns = WEIR_MS(300);
    scene.request.grace_ns = WEIR_MS(500);
    run_script(&scene, "(trap 'sleep 0.1; echo tidy; exit' TERM; while :; do sleep 0.02; done) & "
                       "(trap '' TERM; sleep 1000) & wait");
    CHECK_STATUS(scene.end.ended_by, WEIR_ETIMEDOUT);
    CHECK_INT(scene.end.number, ==, SIGTERM);
    CHECK_STRING(scene.output, "tidy\n");
}

TEST(cancelled, "a cancellation ends the group as a deadline does")
{
    struct scene scene;
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)": > started; sleep 1000 & sleep 1000",
                    NULL};
    scene_init(&scene, argv);
    scene_start(&scene);
    wait_for_file("started");
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    scene_end(&scene);
    CHECK_STATUS(scene.end.ended_by, WEIR_ECANCELED);
    CHECK_INT(scene.end.number, ==, SIGTERM);
}

TEST(cancelled_at_once,
     "a cancellation is seen by its descriptor, not when the run is looked at again")
{
    struct scene scene;
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)": > started; exec sleep 1000", NULL};
    child_raise_limit(1);
    atomic_store(&is_patient, true);
    scene_init(&scene, argv);
    scene_start(&scene);
    wait_for_file("started");
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    scene_end(&scene);
    CHECK_STATUS(scene.end.ended_by, WEIR_ECANCELED);
    CHECK_INT(scene.end.number, ==, SIGTERM);
}

static weir_pool *stopped_pool;

/* Cancels the run, and has its program end by itself before anybody sees that. */
static void end_just_before(void)
{
    struct process process;
    pid_t pid = 0;
    FILE *file = fopen("started", "re");
    CHECK(file != NULL && fscanf(file, "%d", &pid) == 1);
    (void)fclose(file);
    CHECK_STATUS(weir_pool_end(stopped_pool, WEIR_END_STOP, 0, 0), WEIR_OK);
    CHECK_INT(close(open("go", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), ==, 0);
    while (process_read(pid, &process)) {
        (void)sched_yield();
    }
}

TEST(ended_before_asked, "one that has ended by itself when it is to be asked counts as that")
{
    struct scene scene;
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)"echo $$ > pid; mv pid started; until [ -e go ]; do sleep 0.01; done",
                    NULL};
    scene_init(&scene, argv);
    scene_start(&scene);
    wait_for_file("started");
    stopped_pool = scene.pool;
    atomic_store(&behind_poll, end_just_before);
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_ECANCELED);
    scene_end(&scene);
    CHECK_STATUS(scene.end.ended_by, WEIR_OK);
    CHECK(scene.end.exited);
    CHECK_INT(scene.end.number, ==, 0);
}

TEST(no_spin, "one that tidies up after a cancellation is waited for asleep")
{
    struct scene scene;
    char *argv[] = {
        (char *)"sh", (char *)"-c",
        (char *)"trap 'sleep 0.5; exit 3' TERM; : > started; while :; do sleep 0.01; done", NULL};
    child_raise_limit(1);
    scene_init(&scene, argv);
    scene_start(&scene);
    wait_for_file("started");
    int before = atomic_load(&polls);
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    scene_end(&scene);
    CHECK_INT(scene.end.number, ==, 3);
    CHECK_INT(atomic_load(&polls) - before, <, 100);
}

/* Starts a program with a member in a group of its own, which is deaf from then on, and ends its
 * session. What was said on standard error is in the scene's output. */
static void end_deaf(struct scene *scene)
{
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)"timeout 1000 sh -c \"trap '' TERM; echo \\$\\$ > pid; mv pid started; "
                            "exec sleep 1000\" & wait",
                    NULL};
    struct child child;
    scene_init(scene, argv);
    CHECK_INT(child_start(&scene->request, -1, -1, &child), ==, 0);
    wait_for_file("started");
    FILE *file = fopen("started", "re");
    int pid = 0;
    CHECK(file != NULL && fscanf(file, "%d", &pid) == 1);
    (void)fclose(file);
    atomic_store(&deaf.pid, pid);
    int output = memfd_create("output", MFD_CLOEXEC);
    int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
    CHECK(output >= 0 && saved >= 0);
    CHECK_INT(dup2(output, STDERR_FILENO), ==, STDERR_FILENO);
    child_end_session(&child, 0);
    CHECK_INT(dup2(saved, STDERR_FILENO), ==, STDERR_FILENO);
    CHECK_INT(pread(output, scene->output, sizeof(scene->output) - 1, 0), >=, 0);
    (void)close(output);
    (void)close(saved);
    CHECK_INT(child_finish(&child, 0, &scene->end), ==, 0);
}

TEST(waits_for_members, "a run is not over while a member lives that KILL reaches and does not end")
{
    struct scene scene;
    struct process process;
    deaf.ends_at = 30;
    end_deaf(&scene);
    CHECK_INT(atomic_load(&deaf.kills), >=, deaf.ends_at);
    CHECK(strstr(scene.output, "the run goes on until it has ended\n") != NULL);
    CHECK(strstr(strstr(scene.output, "goes on") + 1, "goes on") == NULL);
    CHECK(!process_read(atomic_load(&deaf.pid), &process));
}

TEST(leaves_foreign, "a member that may not be killed is told of, and does not hold up its worker")
{
    struct scene scene;
    atomic_store(&deaf.failure, EPERM);
    end_deaf(&scene);
    CHECK(strstr(scene.output, "this process may not end it, and the job may run beside it\n") !=
          NULL);
    CHECK_INT(syscall(SYS_kill, atomic_load(&deaf.pid), SIGKILL), ==, 0);
}

TEST(many, "of many runs no zombie and no descriptor stays")
{
    for (int i = 0; i < 100; i++) {
        struct scene scene;
        scene_init(&scene, NULL);
        run_script(&scene, "exit 0");
        CHECK_INT(scene.why, ==, 0);
    }
}
