/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The threads of crews: refused ones, those that a fork loses, those of a crew at rest. */
#define _GNU_SOURCE /* RTLD_NEXT, sched_setaffinity, syscall */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parallel/pieces.h"
#include "support/one_processor.h"
#include "support/sanitizer.h"

#define PIECES 1000

/* src/base calls this program's own pthread_create(). It refuses threads on command. Otherwise it
 * calls libc's, or a sanitizer's, which must see each thread. */
typedef int create_fn(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                      void *arg);
create_fn sanitizer_create __asm__("__interceptor_pthread_create") __attribute__((weak));

static atomic_int may_start; /* how many threads, in tests that set is_limited */
static atomic_bool is_limited;
static atomic_int refused;
static atomic_int started;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's names are reserved */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *arg)
{
    if (atomic_load(&is_limited) && atomic_fetch_sub(&may_start, 1) <= 0) {
        atomic_fetch_add(&refused, 1);
        return EAGAIN;
    }
    create_fn *create = sanitizer_create;
    if (create == NULL) {
        *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    }
    atomic_fetch_add(&started, 1);
    return create(thread, attributes, run, arg);
}

/* All processes have one number, as may a parent and a child in a PID namespace of its own. */
static atomic_bool is_one_number;

pid_t getpid(void)
{
    return atomic_load(&is_one_number) ? 1 : (pid_t)syscall(SYS_getpid);
}

/* In the same way, its own pthread_atfork() has no memory on command. */
static atomic_bool has_no_memory;

int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *); /* NOLINT: libc's */

/* ThreadSanitizer calls it before it is ready for code that reports to it. */
#ifdef __clang__
#    define WITHOUT_SANITIZER __attribute__((disable_sanitizer_instrumentation))
#else
#    define WITHOUT_SANITIZER
#endif

WITHOUT_SANITIZER
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's names are reserved */
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return has_no_memory ? ENOMEM : __register_atfork(prepare, parent, child, NULL);
}

static int count_piece(size_t piece, void *arg)
{
    (void)piece;
    atomic_fetch_add((atomic_size_t *)arg, 1);
    return WEIR_OK;
}

static void check_runs(weir_crew *crew)
{
    atomic_size_t count = 0;
    CHECK_STATUS(weir_crew_run(crew, PIECES, count_piece, &count, NULL), WEIR_OK);
    CHECK_INT(atomic_load(&count), ==, PIECES);
}

static void check_meets(weir_crew *crew, size_t pieces)
{
    struct meeting meeting;
    meeting_init(&meeting, pieces);
    CHECK_STATUS(weir_crew_run(crew, pieces, meet, &meeting, NULL), WEIR_OK);
    meeting_fini(&meeting);
}

TEST(no_threads, "without a thread the caller does everything itself; later runs get threads again")
{
    weir_crew *crew = crew_of(5);
    atomic_store(&is_limited, true);
    for (int allowed = 0; allowed < 3; allowed++) {
        atomic_store(&may_start, allowed);
        atomic_size_t count = 0;
        CHECK_STATUS(weir_parallelize(5, PIECES, count_piece, &count, NULL), WEIR_OK);
        CHECK_INT(atomic_load(&count), ==, PIECES);
    }
    for (int round = 0; round < 50; round++) {
        atomic_store(&may_start, round % 3 == 2);
        check_runs(crew);
    }
    CHECK_INT(atomic_load(&refused), >, 0);
    atomic_store(&is_limited, false);
    check_meets(crew, 5);
    weir_crew_free(crew);
}

TEST(started_when_needed, "a crew starts no thread before a run needs it, and then keeps it")
{
    int before = atomic_load(&started); /* a sanitizer's own */
    weir_crew *crew = crew_of(4);
    atomic_size_t count = 0;
    CHECK_STATUS(weir_crew_run(crew, 1, count_piece, &count, NULL), WEIR_OK);
    CHECK_INT(atomic_load(&started), ==, before);
    check_meets(crew, 4);
    CHECK_INT(atomic_load(&started), ==, before + 3);
    for (int i = 0; i < 20; i++) {
        check_runs(crew);
        check_meets(crew, 4);
    }
    CHECK_INT(atomic_load(&started), ==, before + 3);
    weir_crew_free(crew);
}

TEST(started_for_chunks, "a run starts no more threads than there are chunks for them")
{
    for (size_t chunks = 1; chunks <= 4; chunks++) {
        int before = atomic_load(&started);
        struct meeting meeting;
        meeting_init(&meeting, chunks);
        CHECK_STATUS(weir_parallelize(10, chunks, meet, &meeting, NULL), WEIR_OK);
        meeting_fini(&meeting);
        CHECK_INT(atomic_load(&started), ==, before + (int)chunks - 1);
    }
}

static int check_signals(size_t piece, void *meeting)
{
    sigset_t blocked;
    CHECK_INT(pthread_sigmask(SIG_SETMASK, NULL, &blocked), ==, 0);
    CHECK_INT(sigismember(&blocked, SIGINT), ==, 0);
    CHECK_INT(sigismember(&blocked, SIGUSR1), ==, 1);
    return meet(piece, meeting);
}

TEST(signals, "a crew's threads have the signal mask of the thread whose run starts them")
{
    weir_crew *crew = crew_of(3);
    struct meeting meeting;
    sigset_t one;
    sigset_t before;
    CHECK_INT(sigemptyset(&one), ==, 0);
    CHECK_INT(sigaddset(&one, SIGUSR1), ==, 0);
    CHECK_INT(pthread_sigmask(SIG_SETMASK, &one, &before), ==, 0);
    meeting_init(&meeting, 3);
    CHECK_STATUS(weir_crew_run(crew, 3, check_signals, &meeting, NULL), WEIR_OK);
    meeting_fini(&meeting);
    weir_crew_free(crew);
    CHECK_INT(pthread_sigmask(SIG_SETMASK, &before, NULL), ==, 0);
}

TEST(one_processor, "pieces that block get all the workers on a single processor, too")
{
    test_keep_to_one_processor();
    weir_crew *crew = crew_of(6);
    for (size_t i = 0; i < 30; i++) {
        check_meets(crew, 2 + i % 5);
        check_runs(crew);
    }
    weir_crew_free(crew);
}

/* ThreadSanitizer lets no thread start after the fork of a process with threads. */
#define CHILD_WORKERS (TEST_TSAN ? 1 : 3)

/* What a child may do with its parent's crew, and that it can have its own. */
static int use_forked(weir_crew *crew)
{
    if (weir_crew_run(crew, 3, must_not_run, NULL, NULL) != WEIR_EFORKED ||
        weir_crew_run(crew, 0, must_not_run, NULL, NULL) != WEIR_EFORKED) {
        return 1;
    }
    weir_crew_free(crew);
    weir_crew *own = crew_of(CHILD_WORKERS);
    check_meets(own, CHILD_WORKERS);
    weir_crew_free(own);
    struct meeting meeting;
    meeting_init(&meeting, CHILD_WORKERS);
    return weir_parallelize(CHILD_WORKERS, CHILD_WORKERS, meet, &meeting, NULL) == WEIR_OK ? 0 : 2;
}

TEST(forked, "a child is refused its parent's crew, may free it, and makes its own")
{
    weir_crew *crew = crew_of(3);
    check_meets(crew, 3);
    for (int i = 0; i < 5; i++) {
        check_runs(crew); /* the fork comes in any state of the helpers */
        pid_t child = fork();
        CHECK_INT(child, >=, 0);
        if (child == 0) {
            _exit(use_forked(crew));
        }
        int status;
        CHECK_INT(waitpid(child, &status, 0), ==, child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        check_meets(crew, 3);
    }
    weir_crew_free(crew);
}

TEST(forked_same_number, "so it is where the child's number is its parent's")
{
    atomic_store(&is_one_number, true);
    weir_crew *crew = crew_of(3);
    pid_t child = fork();
    CHECK_INT(child, >=, 0);
    if (child == 0) {
        _exit(use_forked(crew));
    }
    atomic_store(&is_one_number, false);
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    weir_crew_free(crew);
}

TEST(no_memory, "without memory to learn of forks no crew is made")
{
    struct weir_crew_options options = {0};
    options.workers = 1;
    weir_crew *crew = NULL;
    has_no_memory = true;
    CHECK_STATUS(weir_crew_new(&options, &crew, NULL), WEIR_ENOMEM);
    CHECK_STATUS(weir_parallelize(1, 1, must_not_run, NULL, NULL), WEIR_ENOMEM);
    has_no_memory = false;
    CHECK(crew == NULL);
}

TEST(exit_at_rest, "a process ends while its crew is at rest")
{
    pid_t child = fork();
    CHECK_INT(child, >=, 0);
    if (child == 0) {
        weir_crew *crew = crew_of(3);
        check_meets(crew, 3);
        exit(7);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static int free_crew(size_t piece, void *arg)
{
    (void)piece;
    CHECK_STATUS(weir_crew_free(arg), WEIR_EBUSY);
    return WEIR_OK;
}

TEST(freed_inside, "a piece cannot free its own crew")
{
    weir_crew *crew = crew_of(2);
    CHECK_STATUS(weir_crew_run(crew, 1, free_crew, crew, NULL), WEIR_OK);
    CHECK_STATUS(weir_crew_run(crew, 3, free_crew, crew, NULL), WEIR_OK);
    CHECK_STATUS(weir_crew_free(crew), WEIR_OK);
}
