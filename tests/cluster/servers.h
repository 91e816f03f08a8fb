/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_SERVERS_H
#define WEIR_TEST_SERVERS_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/harness.h"
#include "support/port.h"

/* Real beanstalkds and a Redis on free ports of the loopback, in the test's own folder, each ended
 * by its process id. */

#define SERVER_NODES 3

struct server {
    pid_t pid; /* 0: does not run */
    int port;
};

struct servers {
    struct server node[SERVER_NODES];
    struct server redis;
};

/* A connection to a port of the loopback; -1: nobody listens. */
static inline int connect_port(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
        return fd;
    }
    (void)close(fd);
    return -1;
}

/* Starts a program and returns once it listens: it, and not another on its port. */
static inline void server_start(struct server *server, const char *const *argv)
{
    server->pid = fork();
    CHECK(server->pid >= 0);
    if (server->pid == 0) {
        int null = open("/dev/null", O_RDWR);
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
        (void)execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    while (!test_port_is_of(server->port, server->pid)) {
        int status;
        if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
            if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
                test_skip("%s cannot be started here: it is not installed", argv[0]);
            }
            test_fail(__FILE__, __LINE__, "%s on port %d ended with wait status %d", argv[0],
                      server->port, status);
        }
        const struct timespec pause = {0, 1000000};
        (void)nanosleep(&pause, NULL);
    }
}

static inline void node_start(struct servers *servers, int i)
{
    struct server *server = &servers->node[i];
    char folder[32];
    char port[16];
    if (server->port == 0) {
        server->port = test_port();
    }
    (void)snprintf(folder, sizeof(folder), "node%d", i);
    (void)snprintf(port, sizeof(port), "%d", server->port);
    CHECK(mkdir(folder, 0700) == 0 || errno == EEXIST);
    const char *const argv[] = {"beanstalkd", "-l",   "127.0.0.1", "-p", port,
                                "-b",         folder, "-f",        "0",  NULL};
    server_start(server, argv);
}

#define REDIS_OPTIONS_MAX 8

/* A Redis with more options, of which NULL is the last; options may be NULL. */
static inline void redis_start_with(struct server *server, const char *const *options)
{
    char port[16];
    if (server->port == 0) {
        server->port = test_port();
    }
    (void)snprintf(port, sizeof(port), "%d", server->port);
    const char *argv[9 + REDIS_OPTIONS_MAX + 1] = {
        "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", "."};
    for (int i = 0; options != NULL && options[i] != NULL; i++) {
        CHECK(i < REDIS_OPTIONS_MAX);
        argv[9 + i] = options[i];
    }
    server_start(server, argv);
}

static inline void redis_start(struct servers *servers)
{
    redis_start_with(&servers->redis, NULL);
}

/* Sends a command to a Redis, and reads all that it answers. */
static inline void redis_say(int port, const char *command, char *answer, size_t size)
{
    int fd = connect_port(port);
    CHECK(fd >= 0);
    char line[256];
    int length = snprintf(line, sizeof(line), "%s\r\n", command);
    CHECK(write(fd, line, (size_t)length) == length);
    CHECK(shutdown(fd, SHUT_WR) == 0); /* it answers what it has read, then closes */
    size_t used = 0;
    ssize_t count;
    while ((count = read(fd, answer + used, size - 1 - used)) > 0) {
        used += (size_t)count;
        CHECK(used < size - 1);
    }
    answer[used] = '\0';
    (void)close(fd);
}

/* Says it until the answer has these words. */
static inline void redis_wait(int port, const char *command, const char *words)
{
    char answer[16384];
    redis_say(port, command, answer, sizeof(answer));
    while (strstr(answer, words) == NULL) {
        const struct timespec pause = {0, 5000000};
        (void)nanosleep(&pause, NULL);
        redis_say(port, command, answer, sizeof(answer));
    }
}

static inline void server_end(struct server *server)
{
    if (server->pid > 0) {
        int status;
        (void)kill(server->pid, SIGKILL);
        CHECK(waitpid(server->pid, &status, 0) == server->pid);
        server->pid = 0;
    }
}

static inline void servers_start(struct servers *servers)
{
    memset(servers, 0, sizeof(*servers));
    for (int i = 0; i < SERVER_NODES; i++) {
        node_start(servers, i);
    }
    redis_start(servers);
}

static inline void servers_end(struct servers *servers)
{
    for (int i = 0; i < SERVER_NODES; i++) {
        server_end(&servers->node[i]);
    }
    server_end(&servers->redis);
}

/* The URL of the nodes, with parts behind it; %d in the parts is Redis' port. */
static inline void servers_url(const struct servers *servers, const char *parts, char *url,
                               size_t size)
{
    char tail[256];
    (void)snprintf(tail, sizeof(tail), "%s%s", parts[0] == '\0' ? "" : "/?", parts);
    char *place = strstr(tail, "REDIS");
    char redis[64];
    (void)snprintf(redis, sizeof(redis), "redis://127.0.0.1:%d", servers->redis.port);
    (void)snprintf(url, size, "beanstalk://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d%.*s%s%s",
                   servers->node[0].port, servers->node[1].port, servers->node[2].port,
                   place == NULL ? (int)strlen(tail) : (int)(place - tail), tail,
                   place == NULL ? "" : redis, place == NULL ? "" : place + strlen("REDIS"));
}

/* Sends bytes to a node and reads the first line of its answer, as a client that is none of ours.
 */
static inline void node_say(const struct servers *servers, int i, const char *bytes, char *answer,
                            size_t size)
{
    int fd = connect_port(servers->node[i].port);
    CHECK(fd >= 0);
    CHECK(write(fd, bytes, strlen(bytes)) == (ssize_t)strlen(bytes));
    size_t used = 0;
    while (used + 1 < size && (used == 0 || answer[used - 1] != '\n')) {
        ssize_t count = read(fd, answer + used, 1);
        CHECK(count == 1);
        used++;
    }
    answer[used] = '\0';
    (void)close(fd);
}

#endif
