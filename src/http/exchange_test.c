/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Searches that take long: a server in this process, on a manual clock, with a planted one. The
 * linker hands its calls to the functions here (tests/integration/CMakeLists.txt). */
#include "http/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <weir/duration.h>

#include "http/listen.h"
#include "http/server.h"
#include "support/harness.h"

/* NOLINTBEGIN(readability-identifier-naming): the linker's names */
weir_clock *__wrap_weir_clock_monotonic(void);
enum weir_status __wrap_weir_broker_list(weir_broker *broker, const struct weir_job_filter *filter,
                                         weir_job_fn *fn, void *arg, struct weir_error *ret_error);
/* NOLINTEND(readability-identifier-naming) */

#define LIMIT_NS WEIR_SECONDS(10)

static weir_clock *clock_of_all;

weir_clock *__wrap_weir_clock_monotonic(void)
{
    return clock_of_all;
}

/* The planted search finds nothing. It asks at each turn whether it is to go on. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int under_way;
    int most; /* at a time */
    int asked;
    int turn;
    bool is_over; /* It has come to the end. */
} planted = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

enum weir_status __wrap_weir_broker_list(weir_broker *broker, const struct weir_job_filter *filter,
                                         weir_job_fn *fn, void *arg, struct weir_error *ret_error)
{
    bool is_ended = false;
    (void)broker;
    (void)fn;
    (void)ret_error;
    (void)pthread_mutex_lock(&planted.mutex);
    planted.under_way++;
    planted.most = planted.most > planted.under_way ? planted.most : planted.under_way;
    while (!planted.is_over && !is_ended) {
        int turn = planted.turn;
        (void)pthread_mutex_unlock(&planted.mutex);
        is_ended = filter->step("7", arg) != 0;
        (void)pthread_mutex_lock(&planted.mutex);
        planted.asked++;
        (void)pthread_cond_broadcast(&planted.changed);
        while (!planted.is_over && !is_ended && planted.turn == turn) {
            (void)pthread_cond_wait(&planted.changed, &planted.mutex);
        }
    }
    planted.under_way--;
    (void)pthread_cond_broadcast(&planted.changed);
    (void)pthread_mutex_unlock(&planted.mutex);
    return WEIR_OK;
}

/* Waits until that many are under way, and have asked that often in all. */
static void wait_for(int under_way, int asked)
{
    (void)pthread_mutex_lock(&planted.mutex);
    while (planted.under_way != under_way || planted.asked < asked) {
        (void)pthread_cond_wait(&planted.changed, &planted.mutex);
    }
    (void)pthread_mutex_unlock(&planted.mutex);
}

static void turn(bool is_over)
{
    (void)pthread_mutex_lock(&planted.mutex);
    planted.turn++;
    planted.is_over = is_over;
    (void)pthread_cond_broadcast(&planted.changed);
    (void)pthread_mutex_unlock(&planted.mutex);
}

static struct server *server;
static weir_broker *broker;

static void begin(void)
{
    struct listener listener;
    char problem[160];
    bool is_usage;
    CHECK_STATUS(weir_clock_manual_new(WEIR_SECONDS(1), NULL, &clock_of_all), WEIR_OK);
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &broker, NULL), WEIR_OK);
    CHECK(listen_open("unix:weir.sock", &listener, problem, sizeof(problem), &is_usage));
    const struct server_options options = {.broker = broker,
                                           .broker_kind = "sqlite",
                                           .prefix = "",
                                           .limit_ns = LIMIT_NS,
                                           .listener = listener.fd,
                                           .trust = {.local = true}};
    CHECK_STATUS(server_start(&options, &server), WEIR_OK);
}

static void end(void)
{
    server_stop(server);
    weir_broker_close(broker);
    CHECK_STATUS(weir_clock_free(clock_of_all), WEIR_OK);
}

static int ask(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "weir.sock"};
    char request[256];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_INT(connect(fd, (const struct sockaddr *)&address, sizeof(address)), ==, 0);
    int size = snprintf(request, sizeof(request),
                        "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    CHECK_INT(send(fd, request, (size_t)size, MSG_NOSIGNAL), ==, size);
    return fd;
}

static int search(void)
{
    return ask("/api/v1/tubes/t/jobs?text=x");
}

/* Reads an answer to its end, and closes. */
static void check_answer(int fd, const char *status, const char *text)
{
    char answer[65536] = "";
    size_t size = 0;
    ssize_t piece;
    while ((piece = recv(fd, answer + size, sizeof(answer) - 1 - size, 0)) > 0) {
        size += (size_t)piece;
    }
    (void)close(fd);
    if (strncmp(answer, status, strlen(status)) != 0 || strstr(answer, text) == NULL) {
        test_fail(__FILE__, __LINE__, "expected %s and %s: %s", status, text, answer);
    }
}

#define OK "HTTP/1.1 200"

TEST(beside, "health and metrics are answered beside any number of searches, which are bounded")
{
    static const char *const paths[] = {"/livez",   "/readyz",  "/healthz",
                                        "/metrics", "/version", "/api/v1/tubes"};
    int fds[40];
    begin();
    for (size_t i = 0; i < 40; i++) {
        fds[i] = search();
    }
    wait_for(4, 4);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        check_answer(ask(paths[i]), OK, "");
    }
    wait_for(4, 4);
    turn(true);
    for (size_t i = 0; i < 40; i++) {
        check_answer(fds[i], OK, "{\"jobs\":[]}");
    }
    CHECK_INT(planted.most, ==, 4);
    end();
}

TEST(second, "a search tells after a second how far it has come")
{
    begin();
    int fd = search();
    wait_for(1, 1);
    CHECK_STATUS(weir_clock_advance(clock_of_all, WEIR_SECONDS(1) - 1), WEIR_OK);
    turn(false);
    wait_for(1, 2);
    CHECK_STATUS(weir_clock_advance(clock_of_all, 1), WEIR_OK);
    turn(false);
    check_answer(fd, OK, "{\"jobs\":[],\"next\":\"7\"}");
    wait_for(0, 3);
    end();
}

TEST(left, "a search ends with its client")
{
    begin();
    int fd = search();
    wait_for(1, 1);
    turn(false);
    wait_for(1, 2);
    (void)close(fd);
    turn(false);
    wait_for(0, 3);
    end();
}

TEST(half_left, "a client that says no more has the answer of what was found")
{
    begin();
    int fd = search();
    wait_for(1, 1);
    CHECK_INT(shutdown(fd, SHUT_WR), ==, 0);
    turn(false);
    check_answer(fd, OK, "{\"jobs\":[],\"next\":\"7\"}");
    end();
}

TEST(late, "a search that was given up ends")
{
    begin();
    int fd = search();
    wait_for(1, 1);
    CHECK_STATUS(weir_clock_advance(clock_of_all, LIMIT_NS), WEIR_OK);
    check_answer(fd, "HTTP/1.1 503", "did not answer within the time limit");
    turn(false);
    wait_for(0, 2);
    end();
}

static void stop(void *arg)
{
    (void)arg;
    server_stop(server);
    server = NULL;
}

TEST(ended, "a server that ends does not wait for the end of a search")
{
    begin();
    int fd = search();
    wait_for(1, 1);
    struct test_thread *thread = test_start(stop, NULL);
    check_answer(fd, "HTTP/1.1 503", "");
    turn(false);
    test_join(thread);
    wait_for(0, 2);
    end();
}
