/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/connections.h"

#include <sys/socket.h>
#include <unistd.h>

#include "support/harness.h"

static bool has_ended(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

TEST(expire, "connections are shut down at their deadline, and not after they were removed")
{
    struct connections connections;
    struct connection *entries[3];
    int ends[3][2];
    connections_init(&connections);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]), ==, 0);
        entries[i] = connections_add(&connections, ends[i][0], 10 * (i + 1));
        CHECK(entries[i] != NULL);
    }
    connections_expire(&connections, 9);
    CHECK(!has_ended(ends[0][1]));
    connections_renew(&connections, entries[0], 25);
    connections_renew(&connections, NULL, 25);
    connections_expire(&connections, 20);
    CHECK(!has_ended(ends[0][1]));
    CHECK(has_ended(ends[1][1]));
    connections_remove(&connections, entries[1]);
    connections_remove(&connections, entries[2]);
    connections_expire(&connections, 100);
    CHECK(has_ended(ends[0][1]));
    CHECK(!has_ended(ends[2][1]));
    connections_remove(&connections, entries[0]);
    connections_remove(&connections, NULL);
    connections_expire(&connections, 1000);
    connections_fini(&connections);
    for (int i = 0; i < 3; i++) {
        (void)close(ends[i][0]);
        (void)close(ends[i][1]);
    }
}
