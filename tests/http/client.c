/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/client.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct server start(const char *where, const char *const words[])
{
    const char *all[24] = {"serve", "--listen", where};
    size_t count = 3;
    for (size_t i = 0; words[i] != NULL; i++) {
        CHECK_INT(count, <, 23);
        all[count++] = words[i];
    }
    struct server server = {.running = program_start("", 0, all)};
    char *line = NULL;
    do {
        free(line);
        program_pause();
        line = program_err(&server.running);
    } while (strchr(line, '\n') == NULL);
    const char *at = strstr(line, "http://127.0.0.1:");
    if (at != NULL) {
        server.port = atoi(at + strlen("http://127.0.0.1:"));
    } else if (strstr(line, "unix:") == NULL) {
        test_fail(__FILE__, __LINE__, "no server: %s", line);
    }
    free(line);
    return server;
}

struct server server_start(const char *const words[])
{
    return start("127.0.0.1:0", words);
}

struct server server_start_unix(const char *const words[])
{
    return start("unix:weir.sock", words);
}

void server_end(struct server *server)
{
    CHECK_INT(kill(server->running.pid, SIGTERM), ==, 0);
    struct ended ended = program_wait(&server->running);
    if (ended.code != 0 || strchr(ended.err, '\n') != strrchr(ended.err, '\n')) {
        test_fail(__FILE__, __LINE__, "exit status %d, signal %d: %s", ended.code, ended.signal,
                  ended.err);
    }
    CHECK_STRING(ended.out, "");
    ended_free(&ended);
}

/* Its sockets without the one that listens. Files of the broker come and go as calls need them. */
unsigned server_connections(const struct server *server)
{
    char path[64];
    unsigned count = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)server->running.pid);
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char target[64] = "";
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        count += size > 0 && strncmp(target, "socket:", 7) == 0 ? 1 : 0;
    }
    (void)closedir(folder);
    CHECK_INT(count, >, 0);
    return count - 1;
}

long server_memory(const struct server *server)
{
    char path[64];
    long pages = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)server->running.pid);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    CHECK_INT(fscanf(file, "%*d %ld", &pages), ==, 1);
    (void)fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

int client_connect(const struct server *server)
{
    struct sockaddr_in four = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)server->port),
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "weir.sock"};
    bool is_unix = server->port == 0;
    int fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    int failed = is_unix ? connect(fd, (const struct sockaddr *)&local, sizeof(local))
                         : connect(fd, (const struct sockaddr *)&four, sizeof(four));
    CHECK_INT(failed, ==, 0);
    return fd;
}

bool client_write(int fd, const char *text, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t written = send(fd, text + done, size - done, MSG_NOSIGNAL);
        if (written < 0) {
            return false;
        }
        done += (size_t)written;
    }
    return true;
}

/* Reads a byte; false: the server has closed. */
static bool read_byte(int fd, char *byte)
{
    ssize_t size = recv(fd, byte, 1, 0);
    return size == 1;
}

static size_t content_length(const char *head)
{
    for (const char *line = head; line != NULL; line = strchr(line + 1, '\n')) {
        const char *at = line + (line[0] == '\n' ? 1 : 0);
        if (strncasecmp(at, "Content-Length:", 15) == 0) {
            return strtoul(at + 15, NULL, 10);
        }
    }
    return 0;
}

struct answer client_read(int fd)
{
    struct answer answer = {.status = 0};
    size_t size = 0;
    answer.head = calloc(1, 16384);
    CHECK(answer.head != NULL);
    while (size < 16383 && read_byte(fd, answer.head + size)) {
        size++;
        if (size >= 4 && memcmp(answer.head + size - 4, "\r\n\r\n", 4) == 0) {
            CHECK_INT(sscanf(answer.head, "HTTP/1.%*d %d", &answer.status), ==, 1);
            break;
        }
    }
    answer.size = content_length(answer.head);
    answer.body = calloc(1, answer.size + 1);
    CHECK(answer.body != NULL);
    size_t got = 0;
    while (got < answer.size) {
        ssize_t piece = recv(fd, answer.body + got, answer.size - got, 0);
        if (piece <= 0) {
            break;
        }
        got += (size_t)piece;
    }
    answer.size = got;
    return answer;
}

void client_drain(int fd)
{
    char bytes[4096];
    while (recv(fd, bytes, sizeof(bytes), 0) > 0) {
    }
}

void answer_free(struct answer *answer)
{
    free(answer->head);
    free(answer->body);
}

struct answer client_raw(const struct server *server, const char *request, size_t size)
{
    int fd = client_connect(server);
    (void)client_write(fd, request, size);
    struct answer answer = client_read(fd);
    (void)close(fd);
    return answer;
}

struct answer client_ask(const struct server *server, const char *line, const char *extra,
                         const char *body)
{
    size_t size = strlen(line) + strlen(extra) + (body != NULL ? strlen(body) : 0) + 256;
    char *request = malloc(size);
    char length[96] = "";
    CHECK(request != NULL);
    if (body != NULL) {
        (void)snprintf(
            length, sizeof(length), "%sContent-Length: %zu\r\n",
            strstr(extra, "Content-Type:") != NULL ? "" : "Content-Type: application/json\r\n",
            strlen(body));
    }
    int used = snprintf(request, size, "%s HTTP/1.1\r\n%s%s%sConnection: close\r\n\r\n%s", line,
                        strstr(extra, "Host:") != NULL ? "" : "Host: localhost\r\n", extra, length,
                        body != NULL ? body : "");
    struct answer answer = client_raw(server, request, (size_t)used);
    free(request);
    return answer;
}

json_t *client_json(const char *file, int line, const struct server *server, int status,
                    const char *request, const char *body)
{
    struct answer answer = client_ask(server, request, "", body);
    if (answer.status != status) {
        test_fail(file, line, "%s: %d, expected %d: %s", request, answer.status, status,
                  answer.body);
    }
    json_t *object = json_loadb(answer.body, answer.size, 0, NULL);
    answer_free(&answer);
    return object;
}

void client_status(const char *file, int line, const struct server *server, int status,
                   const char *request, const char *extra, const char *body)
{
    struct answer answer = client_ask(server, request, extra, body);
    if (answer.status != status) {
        test_fail(file, line, "%s with \"%s\": %d, expected %d: %s", request, extra, answer.status,
                  status, answer.body);
    }
    answer_free(&answer);
}

bool answer_has(const struct answer *answer, const char *line)
{
    size_t size = strlen(line);
    for (const char *at = answer->head; at != NULL; at = strchr(at, '\n')) {
        at += at[0] == '\n' ? 1 : 0;
        if (strncasecmp(at, line, size) == 0 && at[size] == '\r') {
            return true;
        }
    }
    return false;
}
