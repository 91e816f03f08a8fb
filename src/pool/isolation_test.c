/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Isolated tasks in a pool. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/panic.h>

#include "pool/isolated.h"
#include "support/forbid_call.h"

static int return_number(weir_context *context, struct isolated *isolated)
{
    (void)context;
    int number = isolated->number;
    isolated->number = -1; /* in the child's memory */
    return number;
}

TEST(returns, "the status of an isolated task is what it returned; its memory is a copy")
{
    struct isolated isolated;
    isolated_init(&isolated, return_number);
    weir_pool *pool = isolated_pool(NULL, NULL, NULL);
    static const int numbers[] = {WEIR_OK, WEIR_EUSER + 5, WEIR_ESTOP, WEIR_EPANIC};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        isolated.number = numbers[i];
        isolated_run(pool, &isolated, NULL);
        CHECK_INT(isolated.status, ==, numbers[i]);
        CHECK_INT(isolated.number, ==, numbers[i]);
        if (isolated.has_failed) {
            CHECK_INT(isolated.failure.signal, ==, 0);
            CHECK_INT(isolated.failure.exit_status, ==, -1);
            CHECK_STRING(isolated.message, "");
        }
    }
    CHECK(isolated.has_failed);
    weir_pool_free(pool);
    counter_fini(&isolated.outcomes);
}

static void be_hit(int signal)
{
    (void)raise(signal);
}

static int end_by_signal(weir_context *context, struct isolated *isolated)
{
    (void)context;
    be_hit(isolated->number);
    return WEIR_OK;
}

TEST(signals, "a signal that ends the child is WEIR_EPANIC, and the failure hook hears which")
{
    static const int numbers[] = {SIGSEGV, SIGABRT, SIGBUS,  SIGFPE,  SIGILL,
                                  SIGKILL, SIGTERM, SIGUSR1, SIGXCPU, SIGSYS};
    struct isolated isolated;
    isolated_init(&isolated, end_by_signal);
    weir_pool *pool = isolated_pool(NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        isolated.number = numbers[i];
        isolated_run(pool, &isolated, NULL);
        CHECK_STATUS(isolated.status, WEIR_EPANIC);
        CHECK(isolated.has_failed);
        CHECK_INT(isolated.failure.signal, ==, numbers[i]);
        CHECK_INT(isolated.failure.exit_status, ==, -1);
        char expected[32];
        (void)snprintf(expected, sizeof(expected), "ended by signal %d (", numbers[i]);
        CHECK(strncmp(isolated.message, expected, strlen(expected)) == 0);
    }
    isolated.body = return_number;
    isolated.number = WEIR_OK;
    isolated_run(pool, &isolated, NULL);
    CHECK_STATUS(isolated.status, WEIR_OK);
    weir_pool_free(pool);
    counter_fini(&isolated.outcomes);
}

/* Where nothing is ever mapped, but not at NULL, before which a sanitizer would stop. */
static int write_to_nowhere(weir_context *context, struct isolated *isolated)
{
    (void)context;
    (void)isolated;
    int *volatile nowhere = (int *)(uintptr_t)4096; /* NOLINT(performance-no-int-to-ptr) */
    *nowhere = 1;
    return WEIR_OK;
}

static int leave(weir_context *context, struct isolated *isolated)
{
    (void)context;
    _exit(isolated->number);
}

TEST(exits, "an exit is WEIR_EPANIC, also one that says all is well")
{
    struct isolated isolated;
    isolated_init(&isolated, leave);
    weir_pool *pool = isolated_pool(NULL, NULL, NULL);
    for (int number = 0; number <= 255; number += 51) {
        isolated.number = number;
        isolated_run(pool, &isolated, NULL);
        CHECK_STATUS(isolated.status, WEIR_EPANIC);
        CHECK_INT(isolated.failure.exit_status, ==, number);
        CHECK_INT(isolated.failure.signal, ==, 0);
    }
    CHECK_STRING(isolated.message, "exited with status 255");
    weir_pool_free(pool);
    counter_fini(&isolated.outcomes);
}

struct log {
    int panics;
    int frames;
    char panic[512];
};

static void note(enum weir_log_level level, const char *message, void *arg)
{
    struct log *log = arg;
    (void)level;
    if (strncmp(message, "panic", 5) == 0) {
        log->panics++;
        (void)snprintf(log->panic, sizeof(log->panic), "%s", message);
    }
    log->frames += strncmp(message, "  #", 3) == 0;
}

static int give_up(weir_context *context, struct isolated *isolated)
{
    weir_panic(context, "number %d", isolated->number);
}

TEST(logged, "panics and crashes of a child are logged by the program, with the child's stack")
{
    struct log log = {0};
    struct isolated isolated;
    isolated_init(&isolated, give_up);
    weir_pool *pool = isolated_pool(NULL, note, &log);
    isolated.number = 3;
    isolated_run(pool, &isolated, NULL);
    CHECK_STATUS(isolated.status, WEIR_EPANIC);
    CHECK_STRING(isolated.message, "number 3");
    CHECK_INT(isolated.failure.signal, ==, 0);
    CHECK_INT(isolated.failure.exit_status, ==, -1);
    CHECK_STRING(log.panic, "panic in envelope 7 \"letter\": number 3");
    CHECK_INT(log.panics, ==, 1);
    CHECK_INT(log.frames, >=, 4);

    log = (struct log){0};
    isolated.body = write_to_nowhere;
    isolated_run(pool, &isolated, NULL);
    CHECK_STRING(log.panic,
                 "panic in envelope 7 \"letter\": ended by signal 11 (Segmentation fault)");
    CHECK_INT(log.panics, ==, 1);
    CHECK_INT(log.frames, >=, 4);

    log = (struct log){0};
    isolated.body = leave;
    isolated.number = 0;
    isolated_run(pool, &isolated, NULL);
    CHECK_STRING(log.panic, "panic in envelope 7 \"letter\": exited with status 0");
    CHECK_INT(log.frames, ==, 0);
    weir_pool_free(pool);
    counter_fini(&isolated.outcomes);
}

static char key;

static int look_around(weir_context *context, struct isolated *isolated)
{
    bool is_right = weir_envelope_id(weir_context_envelope(context)) == 7 &&
                    weir_envelope_payload(weir_context_envelope(context)) == isolated &&
                    weir_context_pool(context) != NULL && weir_context_attempt(context) == 1 &&
                    weir_context_worker(context) == 0 && weir_context_get(context, &key) == &key &&
                    weir_context_check(context) == WEIR_OK &&
                    weir_context_remaining(context) > WEIR_SECONDS(3000) &&
                    weir_context_remaining(context) <= WEIR_SECONDS(3600) &&
                    weir_context_sleep(context, WEIR_MS(1)) == WEIR_OK;
    return is_right ? WEIR_EUSER + 1 : WEIR_EUSER;
}

static int leave_value(weir_context *context, weir_envelope *envelope, void *payload)
{
    (void)envelope;
    (void)payload;
    return (int)weir_context_set(context, &key, &key);
}

TEST(context, "in the child the context works, with the values that were left in it")
{
    struct isolated isolated;
    struct weir_isolation isolation = {0};
    isolated_init(&isolated, look_around);
    weir_pool *pool = isolated_pool(NULL, NULL, NULL);
    struct weir_envelope_options options = {0};
    options.allocator = *test_allocator();
    options.id = 7;
    options.payload = &isolated;
    options.before = leave_value;
    options.invoke = isolated_invoke;
    options.outcome = isolated_ended;
    options.deadline_ns = WEIR_SECONDS(3600);
    options.isolation = &isolation;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(isolated.status, ==, WEIR_EUSER + 1);
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    counter_fini(&isolated.outcomes);
}

static int sleep_on(weir_context *context, struct isolated *isolated)
{
    CHECK(write(isolated->pipes[1], "x", 1) == 1);
    if (fork() == 0) { /* one more of the group, which does not go by itself either */
        CHECK(write(isolated->pipes[1], "x", 1) == 1);
    }
    (void)context;
    for (;;) {
        (void)pause();
    }
}

/* Runs a task that never ends, until something else ends it. */
static void end_endless(int64_t deadline_ns, void (*end)(weir_pool *pool, weir_clock *clock),
                        enum weir_status expected)
{
    struct isolated isolated;
    isolated_init(&isolated, sleep_on);
    CHECK_INT(pipe(isolated.pipes), ==, 0);
    weir_clock *clock = manual_clock(0);
    weir_pool *pool = isolated_pool(clock, NULL, NULL);
    weir_envelope *envelope = isolated_envelope(&isolated, NULL, deadline_ns);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    char bytes[2];
    CHECK(read(isolated.pipes[0], bytes, 1) == 1);
    CHECK(read(isolated.pipes[0], bytes, 1) == 1);
    end(pool, clock);
    counter_wait(&isolated.outcomes, 1);
    CHECK_STATUS(isolated.status, expected);
    CHECK(!isolated.has_failed);
    /* Nobody else has the other end any more: the whole group has gone. */
    (void)close(isolated.pipes[1]);
    CHECK(read(isolated.pipes[0], bytes, 1) == 0);
    (void)close(isolated.pipes[0]);
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    weir_clock_free(clock);
    counter_fini(&isolated.outcomes);
}

static void step(weir_pool *pool, weir_clock *clock)
{
    (void)pool;
    CHECK_STATUS(weir_clock_advance(clock, 10), WEIR_OK);
}

static void stop(weir_pool *pool, weir_clock *clock)
{
    (void)clock;
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
}

TEST(deadline, "at its deadline a child that asks nobody is killed, with all of its group")
{
    end_endless(10, step, WEIR_ETIMEDOUT);
}

TEST(cancelled, "and so it is at a cancellation")
{
    end_endless(0, stop, WEIR_ECANCELED);
}

static int cancel_in_child(weir_context *context, struct isolated *isolated)
{
    (void)isolated;
    weir_context_cancel(context);
    return (int)weir_context_check(context);
}

TEST(cancels_itself, "a child that cancels its context is told so by it")
{
    struct isolated isolated = isolated_once(cancel_in_child, NULL);
    CHECK_STATUS(isolated.status, WEIR_ECANCELED);
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

TEST(limits, "the limits of the envelope are those of its task")
{
    struct isolated isolated;
    struct weir_isolation isolation = {0};
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
    isolated_init(&isolated, leave);
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
    isolated_init(&isolated, leave);
    weir_pool *pool = isolated_pool(NULL, NULL, NULL);
    unsigned facts[] = {call, error};
    struct weir_envelope_options options = {0};
    options.allocator = *test_allocator();
    options.payload = facts;
    options.invoke = forbid;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
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
    refuse(SYS_clone, ENOMEM, WEIR_ENOMEM, "not begun: fork: Cannot allocate memory");
    refuse(SYS_pipe2, EMFILE, WEIR_EIO, "not begun: pipe2: Too many open files");
    refuse(SYS_timerfd_create, EMFILE, WEIR_EIO, "not begun: timerfd_create: Too many open files");
}

TEST(bad_options, "isolation options are checked when the envelope is made")
{
    static const struct {
        struct weir_isolation isolation;
        enum weir_status status;
    } cases[] = {
        {{.flags = 2}, WEIR_EINVAL},
        {{.cpu_limit_ns = -1}, WEIR_ERANGE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weir_envelope_options options = {0};
        options.invoke = forbid;
        options.isolation = &cases[i].isolation;
        weir_envelope *envelope = NULL;
        CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), cases[i].status);
        CHECK(envelope == NULL);
    }
}
