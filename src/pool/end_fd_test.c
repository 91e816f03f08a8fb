/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The descriptor of a pool's end. */

#include <poll.h>

#include "pool/pool.h"

#include "pool/crew.h"

static bool is_readable(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    int count = poll(&poller, 1, 0);
    CHECK_INT(count, >=, 0);
    CHECK(count == 0 || poller.revents == POLLIN);
    return count == 1;
}

static int fd_of(weir_pool *pool)
{
    int fd = -1;
    CHECK_STATUS(weir_pool_fd(pool, &fd), WEIR_OK);
    return fd;
}

TEST(readable, "it is readable while no worker is left after an end, not before the first start, "
               "and not again after a restart")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].is_held = true;
    int fd = fd_of(crew.pool);
    CHECK(!is_readable(fd));
    for (int round = 1; round <= 3; round++) {
        CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
        CHECK(!is_readable(fd));
        crew_send(&crew, 0);
        counter_wait(&crew.tasks[0].entered, round);
        CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_FINISH, WEIR_END_KEEP, 0), WEIR_OK);
        CHECK(!is_readable(fd)); /* the task still runs */
        counter_add(&crew.tasks[0].allowed, 1);
        struct pollfd poller = {.fd = fd, .events = POLLIN};
        CHECK_INT(poll(&poller, 1, -1), ==, 1);
        CHECK_INT(weir_pool_state(crew.pool), ==, WEIR_POOL_STATE_STOPPED);
        CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
        CHECK(is_readable(fd)); /* also after an end of a stopped pool */
        CHECK_INT(fd_of(crew.pool), ==, fd);
    }
    crew_fini(&crew);
}

TEST(made_late, "made after the end it is readable at once; a termination ends a new pool too")
{
    struct crew crew;
    crew_init(&crew, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK(is_readable(fd_of(crew.pool)));
    crew_fini(&crew);

    crew_init(&crew, 1);
    int fd = fd_of(crew.pool);
    CHECK(!is_readable(fd));
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_TERMINATE, 0, 0), WEIR_OK);
    CHECK(is_readable(fd));
    crew_fini(&crew);
}

TEST(own_end, "a task that ends its pool leaves it unreadable until its worker has left")
{
    struct crew crew;
    crew_init(&crew, 2);
    crew.tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    int fd = fd_of(crew.pool);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].entered, 1);
    for (int mode = WEIR_END_DRAIN; mode <= WEIR_END_TERMINATE; mode++) {
        CHECK_STATUS(weir_pool_end(crew.pool, (enum weir_end_mode)mode, 0, 0), WEIR_OK);
        CHECK(!is_readable(fd));
    }
    counter_add(&crew.tasks[0].allowed, 1);
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    CHECK_INT(poll(&poller, 1, -1), ==, 1);
    CHECK_INT(weir_pool_state(crew.pool), ==, WEIR_POOL_STATE_TERMINATED);
    crew_fini(&crew);
}

static int told_fd = -1;

static void check_unreadable(const struct weir_ended *ended, void *arg)
{
    struct counter *told = arg;
    CHECK_INT(ended->reason, ==, WEIR_ENDED_STOPPED);
    CHECK(!is_readable(told_fd));
    counter_add(told, 1);
}

TEST(closed_again, "while an end drops what a stopped pool has kept it is not readable")
{
    struct crew crew;
    struct counter told;
    crew_init(&crew, 1);
    counter_init(&told);
    weir_pool_free(crew.pool);
    struct weir_pool_options options = {
        .workers = 1, .ended = check_unreadable, .ended_arg = &told};
    options.allocator = *test_allocator();
    options.clock = crew.clock;
    CHECK_STATUS(weir_pool_new(&options, &crew.pool, NULL), WEIR_OK);
    told_fd = fd_of(crew.pool);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[0], 5), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, WEIR_END_KEEP, WEIR_FOREVER), WEIR_OK);
    CHECK(is_readable(told_fd));
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, 0), WEIR_OK);
    CHECK_INT(counter_value(&told), ==, 1);
    CHECK(is_readable(told_fd));
    crew_fini(&crew);
    counter_fini(&told);
}
