/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "queue/poll_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The descriptor of a queue on a manual clock, after every call. */

TEST_BOTH(add_and_get, "readable from the first add until the last get")
{
    struct fixture f;
    setup(&f, is_embedded);
    CHECK(!is_readable(&f));
    for (int round = 0; round < 3; round++) {
        add(&f, 0);
        CHECK(is_readable(&f));
        add(&f, 1);
        add(&f, 0);
        struct weir_work first = get(&f);
        CHECK(is_readable(&f));
        struct weir_work second = get(&f);
        CHECK(!is_readable(&f));
        done(&f, &first);
        done(&f, &second);
        CHECK(!is_readable(&f));
    }
    teardown(&f);
}

TEST_BOTH(done_requeues, "an item added while it is processed makes it readable at its done")
{
    struct fixture f;
    setup(&f, is_embedded);
    add(&f, 0);
    struct weir_work work = get(&f);
    add(&f, 0);
    CHECK(!is_readable(&f));
    done(&f, &work);
    CHECK(is_readable(&f));
    work = get(&f);
    CHECK(!is_readable(&f));
    add(&f, 0);
    add(&f, 1);
    CHECK_STATUS(weir_queue_done_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
    CHECK(is_readable(&f));
    CHECK_STATUS(weir_queue_done_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
    CHECK(!is_readable(&f));
    done(&f, &work);
    teardown(&f);
}

TEST_BOTH(batches, "the batch forms change it as the single ones do")
{
    struct fixture f;
    setup(&f, is_embedded);
    struct weir_key keys[3] = {key_of(&f, 0), key_of(&f, 1), key_of(&f, 2)};
    CHECK_STATUS(weir_queue_add_batch(f.queue, keys, 3, NULL), WEIR_OK);
    CHECK(is_readable(&f));
    struct weir_work work[3];
    size_t count = 0;
    CHECK_STATUS(weir_queue_get_batch(f.queue, WEIR_FOREVER, work, 2, &count), WEIR_OK);
    CHECK_INT(count, ==, 2);
    CHECK(is_readable(&f));
    CHECK_STATUS(weir_queue_get_batch(f.queue, WEIR_FOREVER, &work[2], 1, &count), WEIR_OK);
    CHECK(!is_readable(&f));
    add(&f, 1);
    CHECK(!is_readable(&f));
    CHECK_STATUS(weir_queue_done_batch(f.queue, work, 3), WEIR_OK);
    CHECK(is_readable(&f));
    get_and_done(&f);
    CHECK(!is_readable(&f));
    teardown(&f);
}

TEST_BOTH(time_passes, "readable from the step on that makes the first item due")
{
    struct fixture f;
    setup(&f, is_embedded);
    add_after(&f, 0, 100);
    add_after(&f, 1, 200);
    CHECK(!is_readable(&f));
    pass(&f, 99);
    CHECK(!is_readable(&f));
    pass(&f, 1);
    CHECK(is_readable(&f));
    get_and_done(&f);
    CHECK(!is_readable(&f));
    pass(&f, 1000);
    CHECK(is_readable(&f));
    CHECK_INT(weir_queue_len(f.queue), ==, 1);
    CHECK(is_readable(&f));
    get_and_done(&f);
    CHECK(!is_readable(&f));
    add_after(&f, 0, 0);
    CHECK(is_readable(&f));
    get_and_done(&f);
    add_after(&f, 0, INT64_MAX);
    CHECK(!is_readable(&f));
    teardown(&f);
}

TEST_BOTH(times_change, "a time that is moved, superseded or cancelled counts no more")
{
    struct fixture f;
    setup(&f, is_embedded);
    add_after(&f, 0, 100);
    add_with(&f, 0, 300, WEIR_ADD_MOVE);
    pass(&f, 100);
    CHECK(!is_readable(&f));
    add_with(&f, 0, 50, WEIR_ADD_MOVE);
    pass(&f, 50);
    CHECK(is_readable(&f));
    get_and_done(&f);

    add_after(&f, 0, 100);
    add_with(&f, 0, 0, WEIR_ADD_SUPERSEDE);
    CHECK(is_readable(&f));
    get_and_done(&f);
    pass(&f, 100);
    CHECK(!is_readable(&f));

    add_after(&f, 0, 100);
    cancel(&f, 0);
    pass(&f, 100);
    CHECK(!is_readable(&f));
    add_after(&f, 0, 100);
    pass(&f, 100);
    CHECK(is_readable(&f));
    cancel(&f, 0);
    CHECK(!is_readable(&f));
    teardown(&f);
}

TEST_BOTH(cancels,
          "cancelling the last queued item ends it; a dirty one's done begins nothing then")
{
    struct fixture f;
    setup(&f, is_embedded);
    add(&f, 0);
    add(&f, 1);
    cancel(&f, 0);
    CHECK(is_readable(&f));
    cancel(&f, 1);
    CHECK(!is_readable(&f));
    add(&f, 2);
    struct weir_work work = get(&f);
    add(&f, 2);
    cancel(&f, 2);
    done(&f, &work);
    CHECK(!is_readable(&f));
    teardown(&f);
}

TEST_BOTH(shutdown, "readable for good from the shutdown on, whatever is left")
{
    struct fixture f;
    setup(&f, is_embedded);
    add(&f, 0);
    add(&f, 1);
    add_after(&f, 2, 100);
    struct weir_work work = get(&f);
    add(&f, 0);
    weir_queue_shutdown(f.queue);
    CHECK(is_readable(&f));
    get_and_done(&f);
    CHECK(is_readable(&f));
    check_status_of_get(&f, WEIR_ESHUTDOWN);
    CHECK(is_readable(&f));
    done(&f, &work);
    CHECK(is_readable(&f));
    get_and_done(&f);
    check_status_of_get(&f, WEIR_ESHUTDOWN);
    CHECK(is_readable(&f));
    teardown(&f);
}

TEST_BOTH(empty_shutdown, "a shutdown of an empty queue makes it readable, a drain too")
{
    struct fixture f;
    setup(&f, is_embedded);
    weir_queue_shutdown(f.queue);
    CHECK(is_readable(&f));
    check_status_of_get(&f, WEIR_ESHUTDOWN);
    teardown(&f);

    setup(&f, is_embedded);
    add_after(&f, 0, 100);
    CHECK(!is_readable(&f));
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, WEIR_FOREVER), WEIR_OK);
    CHECK(is_readable(&f));
    teardown(&f);
}

TEST_BOTH(drain, "an event loop that serves a drain sees every item and then the end")
{
    struct fixture f;
    setup(&f, is_embedded);
    add(&f, 0);
    struct weir_work work = get(&f);
    add(&f, 0);
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, 0), WEIR_OK);
    CHECK(is_readable(&f));
    done(&f, &work);
    CHECK(is_readable(&f));
    get_and_done(&f);
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, WEIR_FOREVER), WEIR_OK);
    check_status_of_get(&f, WEIR_ESHUTDOWN);
    CHECK(is_readable(&f));
    teardown(&f);
}

TEST_BOTH(asked_late, "a descriptor that is made late shows the items that are there already")
{
    for (int state = 0; state < 4; state++) {
        struct fixture f;
        weir_clock *clock;
        CHECK_STATUS(weir_clock_manual_new(1000, test_allocator(), &clock), WEIR_OK);
        setup_on(&f, is_embedded, clock);
        if (state == 0) {
            add(&f, 0);
        } else if (state == 1) {
            add_after(&f, 0, 100);
            pass(&f, 100);
        } else if (state == 2) {
            weir_queue_shutdown(f.queue);
        } else {
            add_after(&f, 0, 100);
        }
        CHECK_STATUS(weir_queue_fd(f.queue, &f.fd), WEIR_OK);
        CHECK_INT(is_readable(&f), ==, state != 3);
        teardown(&f);
    }
}

TEST_BOTH(waits_in_epoll, "it can be watched by an epoll of the user's, level-triggered")
{
    struct fixture f;
    setup(&f, is_embedded);
    int loop = epoll_create1(EPOLL_CLOEXEC);
    CHECK_INT(loop, >=, 0);
    struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = 77}};
    CHECK_INT(epoll_ctl(loop, EPOLL_CTL_ADD, f.fd, &event), ==, 0);
    struct epoll_event seen;
    CHECK_INT(epoll_wait(loop, &seen, 1, 0), ==, 0);
    add(&f, 0);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(epoll_wait(loop, &seen, 1, 0), ==, 1);
        CHECK_INT(seen.data.u32, ==, 77);
    }
    get_and_done(&f);
    CHECK_INT(epoll_wait(loop, &seen, 1, 0), ==, 0);
    CHECK_INT(close(loop), ==, 0);
    teardown(&f);
}

TEST(same_each_time, "every call gives the same descriptor, which exec closes; NULL is refused")
{
    struct fixture f;
    setup(&f, false);
    int again = -1;
    CHECK_STATUS(weir_queue_fd(f.queue, &again), WEIR_OK);
    CHECK_INT(again, ==, f.fd);
    CHECK((fcntl(f.fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK_STATUS(weir_queue_fd(f.queue, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_fd(NULL, &again), WEIR_EINVAL);
    CHECK_INT(again, ==, f.fd);
    teardown(&f);
}

/* What another call does while the first one makes its descriptors. */
static struct {
    weir_queue *queue; /* NULL: nothing */
    bool is_failing;   /* the first call gets none after that */
    int fd;
} meanwhile;

/* In place of the C library's. */
int epoll_create1(int flags)
{
    weir_queue *queue = meanwhile.queue;
    meanwhile.queue = NULL;
    if (queue != NULL) {
        CHECK_STATUS(weir_queue_fd(queue, &meanwhile.fd), WEIR_OK);
        if (meanwhile.is_failing) {
            errno = EMFILE;
            return -1;
        }
    }
    return (int)syscall(SYS_epoll_create1, flags);
}

TEST_BOTH(made_twice,
          "descriptors are made without the lock; of two calls at once both get the same")
{
    for (int failing = 0; failing < 2; failing++) {
        struct fixture f;
        setup_on(&f, is_embedded, weir_clock_monotonic());
        int next = dup(STDIN_FILENO); /* the lowest that is free */
        CHECK_INT(close(next), ==, 0);
        meanwhile.queue = f.queue;
        meanwhile.is_failing = failing == 1;
        CHECK_STATUS(weir_queue_fd(f.queue, &f.fd), WEIR_OK);
        CHECK(meanwhile.queue == NULL);
        CHECK_INT(f.fd, ==, meanwhile.fd);
        int after = dup(STDIN_FILENO);
        CHECK_INT(after, ==, next + 3);
        CHECK_INT(close(after), ==, 0);
        add(&f, 0);
        CHECK(is_readable(&f));
        teardown(&f);
    }
}

TEST_BOTH(no_descriptors_left, "where the system has no descriptors left the queue is as it was")
{
    struct fixture f;
    setup_on(&f, is_embedded, weir_clock_monotonic());
    add(&f, 0);
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
    int fd = -7;
    CHECK_STATUS(weir_queue_fd(f.queue, &fd), WEIR_EIO);
    CHECK_INT(fd, ==, -7);
    add(&f, 1);
    get_and_done(&f);
    CHECK_INT(weir_queue_len(f.queue), ==, 1);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    CHECK_STATUS(weir_queue_fd(f.queue, &f.fd), WEIR_OK);
    CHECK(is_readable(&f));
    teardown(&f);
}
