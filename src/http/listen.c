/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024
#define UNIX_PREFIX "unix:"
#define INHERITED "systemd:"
/* The first of the descriptors that sd_listen_fds(3) tells of. */
#define INHERITED_FD 3

static bool fail(int fd, int why, char *problem, size_t size)
{
    if (fd >= 0) {
        (void)close(fd);
    }
    (void)snprintf(problem, size, "%s", strerror(why));
    return false;
}

/* --- unix sockets --- */

/* Whether a socket lies at the address that nobody listens at. */
static bool is_stale(const struct sockaddr_un *address)
{
    struct stat facts;
    if (lstat(address->sun_path, &facts) != 0 || !S_ISSOCK(facts.st_mode)) {
        return false;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
              errno == ECONNREFUSED;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is;
}

/* The mask is the process's, so this is for its beginning, when it has one thread. */
static int bind_private(int fd, const struct sockaddr_un *address)
{
    mode_t mask = umask(0177);
    int failed = bind(fd, (const struct sockaddr *)address, sizeof(*address));
    int why = failed != 0 ? errno : 0;
    (void)umask(mask);
    return why;
}

static bool open_unix(const char *path, struct listener *listener, char *problem, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path[0] == '\0' || strlen(path) >= sizeof(address.sun_path)) {
        (void)snprintf(problem, size, "a path of 1 to %zu bytes was expected",
                       sizeof(address.sun_path) - 1);
        return false;
    }
    (void)strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int why = fd < 0 ? errno : bind_private(fd, &address);
    if (why == EADDRINUSE && is_stale(&address) && unlink(path) == 0) {
        why = bind_private(fd, &address);
    }
    if (why != 0) {
        return fail(fd, why, problem, size);
    }
    if (listen(fd, BACKLOG) != 0) {
        why = errno;
        (void)unlink(path);
        return fail(fd, why, problem, size);
    }
    listener->fd = fd;
    listener->local = true;
    listener->path = path;
    (void)snprintf(listener->url, sizeof(listener->url), "%s%s", UNIX_PREFIX, path);
    return true;
}

/* --- addresses --- */

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
        return ntohl(four->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
    return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/* Splits "ADDRESS:PORT". False: it is none. */
static bool split(const char *text, char host[256], char port[8])
{
    const char *colon = strrchr(text, ':');
    bool bracketed = text[0] == '[';
    const char *start = text + (bracketed ? 1 : 0);
    const char *end = colon == NULL ? NULL : bracketed ? colon - 1 : colon;
    if (end == NULL || end <= start || (bracketed && *end != ']') || end - start > 255) {
        return false;
    }
    size_t digits = strspn(colon + 1, "0123456789");
    if (digits == 0 || digits > 5 || colon[1 + digits] != '\0' ||
        strtoul(colon + 1, NULL, 10) > 65535) {
        return false;
    }
    (void)snprintf(host, 256, "%.*s", (int)(end - start), start);
    (void)snprintf(port, 8, "%s", colon + 1);
    /* A bare IPv6 address would be cut at its last colon. */
    return bracketed || strchr(host, ':') == NULL;
}

/* Fills in what was bound: the port is the system's where 0 was asked for. */
static bool describe(struct listener *listener)
{
    struct sockaddr_storage bound;
    socklen_t size = sizeof(bound);
    char host[INET6_ADDRSTRLEN + 32];
    char port[16];
    if (getsockname(listener->fd, (struct sockaddr *)&bound, &size) != 0 ||
        getnameinfo((const struct sockaddr *)&bound, size, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return false;
    }
    bool is_six = bound.ss_family == AF_INET6;
    listener->local = is_loopback((const struct sockaddr *)&bound);
    (void)snprintf(listener->url, sizeof(listener->url), "http://%s%.100s%s:%.10s",
                   is_six ? "[" : "", host, is_six ? "]" : "", port);
    return true;
}

static bool open_address(const struct addrinfo *info, struct listener *listener, char *problem,
                         size_t size)
{
    int one = 1;
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
        bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        return fail(fd, errno, problem, size);
    }
    listener->fd = fd;
    return describe(listener) || fail(fd, errno, problem, size);
}

/* --- a socket that systemd opened --- */

static bool describe_inherited(struct listener *listener)
{
    struct sockaddr_un bound = {.sun_family = AF_UNSPEC};
    socklen_t size = sizeof(bound);
    if (getsockname(listener->fd, (struct sockaddr *)&bound, &size) != 0) {
        return false;
    }
    if (bound.sun_family != AF_UNIX) {
        return describe(listener);
    }
    listener->local = true;
    (void)snprintf(listener->url, sizeof(listener->url), "%s%.*s", UNIX_PREFIX,
                   (int)sizeof(bound.sun_path), bound.sun_path);
    return true;
}

static bool open_inherited(struct listener *listener, char *problem, size_t size)
{
    const char *pid = getenv("LISTEN_PID");
    const char *count = getenv("LISTEN_FDS");
    int is_listening = 0;
    socklen_t option = sizeof(is_listening);
    if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != (long)getpid() ||
        strtol(count, NULL, 10) != 1) {
        (void)snprintf(problem, size, "one socket was expected from systemd ($LISTEN_FDS)");
        return false;
    }
    if (getsockopt(INHERITED_FD, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &option) != 0 ||
        is_listening == 0) {
        (void)snprintf(problem, size, "descriptor 3 is no socket that listens");
        return false;
    }
    listener->fd = INHERITED_FD;
    if (fcntl(INHERITED_FD, F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(INHERITED_FD, F_SETFL, O_NONBLOCK) != 0 || !describe_inherited(listener)) {
        return fail(INHERITED_FD, errno, problem, size);
    }
    return true;
}

bool listen_open(const char *text, struct listener *ret_listener, char *problem, size_t size,
                 bool *ret_usage)
{
    char host[256];
    char port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *info = NULL;
    *ret_usage = false;
    *ret_listener = (struct listener){.fd = -1};
    if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0) {
        return open_unix(text + strlen(UNIX_PREFIX), ret_listener, problem, size);
    }
    if (strcmp(text, INHERITED) == 0) {
        return open_inherited(ret_listener, problem, size);
    }
    if (!split(text, host, port)) {
        *ret_usage = true;
        return false;
    }
    int failed = getaddrinfo(host, port, &hints, &info);
    if (failed != 0) {
        (void)snprintf(problem, size, "%s", gai_strerror(failed));
        return false;
    }
    bool opened = open_address(info, ret_listener, problem, size);
    freeaddrinfo(info);
    return opened;
}

void listen_remove(const struct listener *listener)
{
    if (listener->path != NULL) {
        (void)unlink(listener->path);
    }
}
