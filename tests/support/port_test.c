/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "support/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/harness.h"

/* A socket that listens on a port of the loopback. */
static int listen_on(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    CHECK_INT(listen(fd, 1), ==, 0);
    return fd;
}

/* The port that a child is given, which asks for the same one first as the test does next: both
 * have the same random numbers. The child ends when ports[0] is closed; its lease with it. */
static int childs_port(int ports[2], pid_t *ret_child)
{
    int port = 0;
    int told[2];
    CHECK_INT(pipe(ports), ==, 0);
    CHECK_INT(pipe(told), ==, 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char byte;
        (void)close(ports[1]);
        port = test_port();
        CHECK_INT(write(told[1], &port, sizeof(port)), ==, sizeof(port));
        CHECK_INT(read(ports[0], &byte, 1), ==, 0);
        _exit(0);
    }
    CHECK_INT(read(told[0], &port, sizeof(port)), ==, sizeof(port));
    CHECK_INT(close(told[0]), ==, 0);
    CHECK_INT(close(told[1]), ==, 0);
    *ret_child = child;
    return port;
}

static void end_child(const int ports[2], pid_t child)
{
    CHECK_INT(close(ports[0]), ==, 0);
    CHECK_INT(close(ports[1]), ==, 0);
    CHECK_INT(waitpid(child, NULL, 0), ==, child);
}

TEST(is_leased, "no other process is given a port before the test that has it ends")
{
    for (int i = 0; i < 20; i++) {
        int ports[2];
        pid_t child;
        int theirs = childs_port(ports, &child);
        CHECK_INT(test_port(), !=, theirs);
        end_child(ports, child);
    }
}

TEST(is_free, "a port on which a program listens that knows of no leases is not given")
{
    int ports[2];
    pid_t child;
    int theirs = childs_port(ports, &child);
    end_child(ports, child);
    int fd = listen_on(theirs);
    CHECK_INT(test_port(), !=, theirs);
    CHECK_INT(close(fd), ==, 0);
}

TEST(knows_whose, "who listens on a port is told from who does not")
{
    int port = test_port();
    CHECK(!test_port_is_of(port, getpid()));
    int fd = listen_on(port);
    CHECK(test_port_is_of(port, getpid()));
    CHECK(!test_port_is_of(port, getppid()));
    CHECK(!test_port_is_of(test_port(), getpid()));
    CHECK_INT(close(fd), ==, 0);
    CHECK(!test_port_is_of(port, getpid()));
}
