/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Clients that are slow, many, half there or hostile. */

static const char livez[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";

/* How much the server may grow. AddressSanitizer keeps what was freed. */
#ifdef __SANITIZE_ADDRESS__
#    define MEMORY_MOST (400 << 20)
#else
#    define MEMORY_MOST (10 << 20)
#endif

static void check_alive(const struct server *server)
{
    ASK_STATUS(server, 200, "GET /livez", "", NULL);
}

/* Waits until the server has closed all connections: the one asked here is accepted last. */
static void check_closed(const struct server *server)
{
    check_alive(server);
    WAIT_UNTIL(server_connections(server) == 0);
}

TEST(many, "10,000 idle connections do not keep others from an answer, and are ended")
{
    enum {
        COUNT = 10000
    };
    static int fds[COUNT];
    struct rlimit limit;
    program_init();
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    if (limit.rlim_cur < COUNT + 128) {
        test_skip("only %lu descriptors", (unsigned long)limit.rlim_cur);
    }
    struct server server = SERVER("--time-limit", "5s");
    check_alive(&server);
    for (size_t i = 0; i < COUNT; i++) {
        fds[i] = client_connect(&server);
    }
    check_alive(&server);
    ASK_STATUS(&server, 200, "GET /metrics", "", NULL);
    for (size_t i = 0; i < COUNT; i++) {
        client_drain(fds[i]);
        (void)close(fds[i]);
    }
    check_closed(&server);
    server_end(&server);
}

TEST(slow, "a request has to arrive within the time limit, however its bytes come")
{
    static const char body[] = "POST /api/v1/tubes/t/jobs HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{";
    static const char *const starts[] = {"", "G", "GET /livez HTTP/1.1\r\nHost: loc",
                                         "GET /livez HTTP/1.1\r\nHost: localhost\r\n", body};
    enum {
        COUNT = sizeof(starts) / sizeof(starts[0])
    };
    int fds[COUNT];
    program_init();
    struct server server = SERVER("--time-limit", "500ms");
    for (size_t i = 0; i < COUNT; i++) {
        fds[i] = client_connect(&server);
        CHECK(client_write(fds[i], starts[i], strlen(starts[i])));
    }
    /* One of them sends a byte whenever it can: this does not give it more time. */
    while (client_write(fds[2], "x", 1)) {
        program_pause();
        char byte;
        if (recv(fds[2], &byte, 1, MSG_DONTWAIT) == 0) {
            break;
        }
    }
    for (size_t i = 0; i < COUNT; i++) {
        client_drain(fds[i]);
        (void)close(fds[i]);
    }
    check_alive(&server);
    server_end(&server);
}

TEST(half_open, "a client that sends no more gets its answer; one that reads no more is ended")
{
    program_init();
    struct server server = SERVER("--time-limit", "500ms");
    int fd = client_connect(&server);
    CHECK(client_write(fd, livez, strlen(livez)));
    CHECK_INT(shutdown(fd, SHUT_WR), ==, 0);
    struct answer answer = client_read(fd);
    CHECK_INT(answer.status, ==, 200);
    answer_free(&answer);
    client_drain(fd);
    (void)close(fd);
    int stuck = client_connect(&server);
    int small = 2048;
    CHECK_INT(setsockopt(stuck, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), ==, 0);
    bool open = true;
    for (int i = 0; i < 2000 && open; i++) {
        static const char request[] =
            "GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
        ssize_t sent = send(stuck, request, strlen(request), MSG_DONTWAIT | MSG_NOSIGNAL);
        open = sent > 0;
    }
    check_closed(&server);
    (void)close(stuck);
    check_alive(&server);
    server_end(&server);
}

TEST(large, "heads and bodies have limits, and larger ones leave no memory behind")
{
    static char request[6 << 20];
    program_init();
    struct server server = SERVER(NULL);
    check_alive(&server);
    long memory = server_memory(&server);
    for (int i = 0; i < 20; i++) {
        int head = snprintf(request, sizeof(request), "GET /");
        memset(request + head, 'a', 5000);
        (void)snprintf(request + head + 5000, 64, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        struct answer answer = client_raw(&server, request, strlen(request));
        CHECK_INT(answer.status, ==, 414);
        answer_free(&answer);
        head = snprintf(request, sizeof(request), "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ");
        memset(request + head, 'a', 65536);
        (void)snprintf(request + head + 65536, 8, "\r\n\r\n");
        answer = client_raw(&server, request, strlen(request));
        CHECK(answer.status == 431 || answer.status == 0);
        answer_free(&answer);
        head = snprintf(request, sizeof(request), "GET /livez HTTP/1.1\r\nHost: localhost\r\n");
        for (int j = 0; j < 110; j++) {
            head += snprintf(request + head, 16, "X%d: y\r\n", j);
        }
        (void)snprintf(request + head, 8, "\r\n");
        answer = client_raw(&server, request, strlen(request));
        CHECK_INT(answer.status, ==, 431);
        answer_free(&answer);
        head = snprintf(request, sizeof(request),
                        "POST /api/v1/rm HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                        "application/json\r\nContent-Length: 5000000\r\n\r\n");
        answer = client_raw(&server, request, (size_t)head);
        CHECK_INT(answer.status, ==, 413);
        answer_free(&answer);
    }
    int head = snprintf(request, sizeof(request),
                        "POST /api/v1/rm HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                        "application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n",
                        5 << 20);
    memset(request + head, ' ', 5 << 20);
    (void)snprintf(request + head + (5 << 20), 16, "\r\n0\r\n\r\n");
    struct answer answer = client_raw(&server, request, (size_t)head + (5 << 20) + 7);
    CHECK_INT(answer.status, ==, 413);
    answer_free(&answer);
    check_closed(&server);
    CHECK_INT(server_memory(&server) - memory, <, MEMORY_MOST);
    server_end(&server);
}

TEST(ambiguous, "requests that two readers could read in two ways are refused")
{
    static const struct {
        int status;
        const char *text;
    } rows[] = {
        {400, "POST /api/v1/rm HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
              "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
        {400, "POST /api/v1/rm HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
              "Content-Length: 4\r\n\r\n{}{}"},
        {400, "GET /livez HTTP/1.1\r\n\r\n"},
        {403, "GET /livez HTTP/1.0\r\n\r\n"},
        {505, "GET /livez HTTP/1.2\r\nHost: localhost\r\n\r\n"},
    };
    program_init();
    struct server server = SERVER(NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct answer answer = client_raw(&server, rows[i].text, strlen(rows[i].text));
        if (answer.status != rows[i].status) {
            test_fail(__FILE__, __LINE__, "%s: %d, expected %d", rows[i].text, answer.status,
                      rows[i].status);
        }
        answer_free(&answer);
    }
    server_end(&server);
}

TEST(pipelined, "requests that come at once are answered in turn")
{
    char text[20 * 256] = "";
    program_init();
    struct server server = SERVER(NULL);
    for (int i = 0; i < 20; i++) {
        (void)strcat(text,
                     i % 2 == 0 ? livez : "GET /api/v1/tubes HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    int fd = client_connect(&server);
    CHECK(client_write(fd, text, strlen(text)));
    for (int i = 0; i < 20; i++) {
        struct answer answer = client_read(fd);
        CHECK_INT(answer.status, ==, 200);
        const char *rest = i % 2 == 0 ? answer.body : strstr(answer.body, "\"tubes\":");
        CHECK_STRING(rest, i % 2 == 0 ? "ok" : "\"tubes\":[]}");
        answer_free(&answer);
    }
    (void)close(fd);
    server_end(&server);
}

/* A request that is right but for a few bytes, or bytes without any sense. */
static size_t make_garbage(char *text, size_t size)
{
    static const char *const requests[] = {
        livez,
        "POST /api/v1/tubes/t/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        "application/json\r\nContent-Length: 12\r\n\r\n{\"body\":\"x\"}",
        "GET /api/v1/tubes/t/jobs?limit=2&state=ready HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST /api/v1/rm HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"ids\r\n8\r\n\":[\"1\"]}\r\n0\r\n\r\n"};
    if (test_random_below(8) == 0) {
        for (size_t i = 0; i < size; i++) {
            text[i] = (char)(unsigned char)test_random_below(256);
        }
        return (size_t)test_random_below(size);
    }
    const char *request = requests[test_random_below(4)];
    size_t length = strlen(request);
    memcpy(text, request, length);
    for (uint64_t i = 1 + test_random_below(4); i > 0; i--) {
        size_t at = (size_t)test_random_below(length);
        switch (test_random_below(3)) {
        case 0:
            text[at] = (char)(unsigned char)test_random_below(256);
            break;
        case 1:
            length = at + 1;
            break;
        default:
            text[at] = " \r\n\t:%/\0"[test_random_below(8)];
            break;
        }
    }
    return length;
}

TEST(garbage, "no bytes end the server or leave anything behind")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct server server = SERVER("--time-limit", "1s");
    check_alive(&server);
    for (uint64_t i = test_scaled(1500); i > 0; i--) {
        char text[512];
        size_t size = make_garbage(text, sizeof(text));
        int fd = client_connect(&server);
        (void)client_write(fd, text, size);
        if (test_random_below(2) == 0) {
            (void)shutdown(fd, SHUT_WR);
        }
        if (test_random_below(256) == 0) {
            client_drain(fd);
        }
        (void)close(fd);
    }
    check_closed(&server);
    check_alive(&server);
    server_end(&server);
}
