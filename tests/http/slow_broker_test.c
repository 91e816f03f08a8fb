/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/client.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

/* A broker that does not answer: another process has the store's lock, so that no put ends. */

static int lock_store(void)
{
    int fd = open("jobs.db.lock", O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(flock(fd, LOCK_EX), ==, 0);
    return fd;
}

static const char put[] = "POST /api/v1/tubes/t/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                          "application/json\r\nContent-Length: 12\r\n\r\n{\"body\":\"x\"}";

TEST(late, "a request that the broker does not answer is told so in time, and others go on")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct server server = SERVER("--time-limit", "500ms");
    int lock = lock_store();
    struct answer answer = client_ask(&server, "POST /api/v1/tubes/t/jobs", "", "{\"body\":\"x\"}");
    CHECK_INT(answer.status, ==, 503);
    CHECK(strstr(answer.body, "may have been done") != NULL);
    CHECK(answer_has(&answer, "Retry-After: 1"));
    answer_free(&answer);
    ASK_STATUS(&server, 200, "GET /livez", "", NULL);
    ASK_STATUS(&server, 200, "GET /api/v1/tubes/t", "", NULL);
    (void)close(lock);
    /* The one that was given up is done after all. */
    WAIT_UNTIL(program_count("t", "put") == 2);
    ASK_STATUS(&server, 201, "POST /api/v1/tubes/t/jobs", "", "{\"body\":\"x\"}");
    server_end(&server);
    CHECK_INT(program_count("t", "put"), ==, 3);
}

TEST(bounded, "requests that wait are bounded: more are refused at once, and health still answers")
{
    enum {
        COUNT = 400
    };
    int fds[COUNT];
    size_t refused = 0;
    program_init();
    WEIR(0, "put", "t", "x");
    struct server server = SERVER("--time-limit", "3s");
    int lock = lock_store();
    for (size_t i = 0; i < COUNT; i++) {
        fds[i] = client_connect(&server);
        CHECK(client_write(fds[i], put, strlen(put)));
    }
    ASK_STATUS(&server, 200, "GET /livez", "", NULL);
    ASK_STATUS(&server, 200, "GET /api/v1/tubes/t", "", NULL);
    for (size_t i = 0; i < COUNT; i++) {
        struct answer answer = client_read(fds[i]);
        CHECK_INT(answer.status, ==, 503);
        refused += strstr(answer.body, "too many requests") != NULL ? 1 : 0;
        answer_free(&answer);
        (void)close(fds[i]);
    }
    CHECK_INT(refused, >, 0);
    CHECK_INT(refused, <, COUNT);
    (void)close(lock);
    server_end(&server);
}

TEST(gone, "clients that go away while they wait leave nothing behind")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct server server = SERVER("--time-limit", "500ms");
    int lock = lock_store();
    for (int i = 0; i < 50; i++) {
        int fd = client_connect(&server);
        CHECK(client_write(fd, put, strlen(put)));
        (void)close(fd);
    }
    /* This one is accepted after them. */
    ASK_STATUS(&server, 200, "GET /livez", "", NULL);
    WAIT_UNTIL(server_connections(&server) == 0);
    (void)close(lock);
    ASK_STATUS(&server, 200, "GET /livez", "", NULL);
    server_end(&server);
}

TEST(ended, "a server ends while requests wait, which get an answer or their connection's end")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct server server = SERVER(NULL);
    int lock = lock_store();
    int fds[20];
    for (size_t i = 0; i < 20; i++) {
        fds[i] = client_connect(&server);
        CHECK(client_write(fds[i], put, strlen(put)));
    }
    ASK_STATUS(&server, 200, "GET /api/v1/tubes/t", "", NULL);
    (void)kill(server.running.pid, SIGTERM);
    for (size_t i = 0; i < 20; i++) {
        struct answer answer = client_read(fds[i]);
        CHECK(answer.status == 503 || answer.status == 0);
        answer_free(&answer);
        (void)close(fds[i]);
    }
    (void)close(lock);
    struct ended ended = program_wait(&server.running);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
}

TEST(ended_at_answers, "a server ends at the moment at which requests that waited are answered")
{
    program_init();
    WEIR(0, "put", "t", "x");
    for (int round = 0; round < 20; round++) {
        struct server server = SERVER(NULL);
        int lock = lock_store();
        int fds[50];
        for (size_t i = 0; i < 50; i++) {
            fds[i] = client_connect(&server);
            CHECK(client_write(fds[i], put, strlen(put)));
        }
        ASK_STATUS(&server, 200, "GET /api/v1/tubes/t", "", NULL);
        (void)close(lock);
        server_end(&server);
        for (size_t i = 0; i < 50; i++) {
            (void)close(fds[i]);
        }
    }
}
