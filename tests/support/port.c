/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "support/port.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/internal.h"

/* A lease is a lock on a file named by the port. Scripts take the same locks: tests/support/port.py
 * and tests/interop/servers.sh. */
#define FOLDER "/tmp/weir-test-ports"
#define PORT_FIRST 20000
#define PORT_COUNT 10000
#define LEASES_MAX 32

static int leases[LEASES_MAX];
static int lease_count;

/* The system's outgoing connections must not take our ports. */
static void check_range(void)
{
    int first = 0;
    int last = 0;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    CHECK(file != NULL && fscanf(file, "%d %d", &first, &last) == 2);
    (void)fclose(file);
    if (first < PORT_FIRST + PORT_COUNT && last >= PORT_FIRST) {
        test_skip("outgoing connections use the ports %d to %d here, servers of tests those from "
                  "%d to %d",
                  first, last, PORT_FIRST, PORT_FIRST + PORT_COUNT - 1);
    }
}

/* Whether nobody listens there, not even a program that knows of no leases. */
static bool is_free(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    bool is_bound = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    (void)close(fd);
    return is_bound;
}

static bool lease(int port)
{
    char path[64];
    (void)snprintf(path, sizeof(path), FOLDER "/%d", port);
    int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        return false; /* another user's */
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || !is_free(port)) {
        (void)close(fd);
        return false;
    }
    leases[lease_count++] = fd;
    return true;
}

int test_port(void)
{
    check_range();
    CHECK(lease_count < LEASES_MAX);
    CHECK(mkdir(FOLDER, 0777) == 0 || errno == EEXIST);
    (void)chmod(FOLDER, 01777); /* of another user: as it is */
    int start = (int)test_random_below(PORT_COUNT);
    for (int i = 0; i < PORT_COUNT; i++) {
        int port = PORT_FIRST + (start + i) % PORT_COUNT;
        if (lease(port)) {
            return port;
        }
    }
    test_fail(__FILE__, __LINE__, "no port is free");
}

void harness_ports_end(void)
{
    while (lease_count > 0) {
        (void)close(leases[--lease_count]);
    }
}

/* The inode of the socket that listens on a port, in the network of a process; 0: none does. */
static unsigned long listener(int port, pid_t pid)
{
    char path[64];
    char line[512];
    unsigned long found = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/net/tcp", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && found == 0 && fgets(line, sizeof(line), file) != NULL) {
        unsigned address;
        unsigned local_port;
        unsigned state;
        unsigned long inode;
        if (sscanf(line, " %*d: %x:%x %*x:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %lu", &address,
                   &local_port, &state, &inode) == 4 &&
            address == htonl(INADDR_LOOPBACK) && local_port == (unsigned)port && state == 0x0A) {
            found = inode;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

bool test_port_is_of(int port, pid_t pid)
{
    char path[64];
    char wanted[64];
    bool found = false;
    unsigned long inode = listener(port, pid);
    (void)snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *dir = inode == 0 ? NULL : opendir(path);
    struct dirent *entry;
    while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
        char link[64];
        ssize_t length = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
        if (length > 0) {
            link[length] = '\0';
            found = strcmp(link, wanted) == 0;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return found;
}
