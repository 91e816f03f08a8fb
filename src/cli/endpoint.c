/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <weir/duration.h>

#include "cli/report.h"

#define PREFIX_SIZE_MAX 200
#define TOKEN_SIZE_MIN 16

const struct poptOption endpoint_options[] = {
    OPTION_VALUE("listen", 'l', ENDPOINT_LISTEN,
                 "Where to listen: ADDRESS:PORT, [ADDRESS]:PORT, unix:PATH or systemd: (default: "
                 "127.0.0.1:8686)",
                 "WHERE"),
    OPTION_FLAG("read-only", 'r', ENDPOINT_READ_ONLY, "Let nobody change anything"),
    OPTION_VALUE("token-file", '\0', ENDPOINT_TOKEN_FILE,
                 "Answer below /api/ only to requests with the token in this file", "FILE"),
    OPTION_VALUE("host", '\0', ENDPOINT_HOST,
                 "A name that the server may be called by, besides localhost and addresses; may be "
                 "given again",
                 "NAME"),
    OPTION_VALUE("prefix", '\0', ENDPOINT_PREFIX,
                 "What all paths begin with, behind a reverse proxy, e.g. /weir", "PATH"),
    OPTION_FLAG("hide-bodies", '\0', ENDPOINT_HIDE_BODIES, "Show no bodies of jobs"),
    OPTION_VALUE("time-limit", '\0', ENDPOINT_TIME_LIMIT,
                 "Time for a request to arrive, and again for its answer (default: 10s)",
                 "DURATION"),
    POPT_TABLEEND,
};

/* A slash before each segment, none at the end, and nothing that would need an escape. */
static int read_prefix(const char *name, const char *text, const char **ret_prefix)
{
    size_t size = strlen(text);
    bool is_valid = size <= PREFIX_SIZE_MAX && size > 1 && text[0] == '/' &&
                    text[size - 1] != '/' && strstr(text, "//") == NULL &&
                    strspn(text, "/-._0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
                                 "WXYZ") == size;
    if (!is_valid) {
        return report(EX_USAGE, "%s: %s: expected a path such as /weir, of at most %d characters",
                      name, quote(text).text, PREFIX_SIZE_MAX);
    }
    *ret_prefix = text;
    return EX_OK;
}

static int add_host(const char *name, const char *text, struct endpoint *endpoint)
{
    struct trust *trust = &endpoint->options.trust;
    if (text[0] == '\0' || strlen(text) > 253 || strpbrk(text, ":/[] ") != NULL) {
        return report(EX_USAGE, "%s: %s: expected a name such as jobs.example.org, without a port",
                      name, quote(text).text);
    }
    if (trust->host_count == ENDPOINT_HOSTS_MAX) {
        return report(EX_USAGE, "%s: %s: expected at most %d names", name, quote(text).text,
                      ENDPOINT_HOSTS_MAX);
    }
    endpoint->hosts[trust->host_count++] = text;
    return EX_OK;
}

/* Reads the whole file, which is the token, with or without a newline behind. */
static int read_token(const char *name, const char *path, struct endpoint *endpoint)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, endpoint->token, sizeof(endpoint->token)) : -1;
    int why = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (size < 0) {
        return report(EX_NOINPUT, "%s: %s: cannot be read: %s", name, quote(path).text,
                      strerror(why));
    }
    size_t length = (size_t)size;
    if (length > 0 && endpoint->token[length - 1] == '\n') {
        length--;
    }
    bool is_valid = length >= TOKEN_SIZE_MIN && length <= ENDPOINT_TOKEN_SIZE_MAX;
    for (size_t i = 0; i < length && is_valid; i++) {
        is_valid = endpoint->token[i] > ' ' && endpoint->token[i] < 0x7f;
    }
    if (!is_valid) {
        return report(EX_DATAERR,
                      "%s: %s: no token; expected one line of %d to %d visible ASCII "
                      "characters",
                      name, quote(path).text, TOKEN_SIZE_MIN, ENDPOINT_TOKEN_SIZE_MAX);
    }
    endpoint->token[length] = '\0';
    endpoint->options.trust.token = endpoint->token;
    return EX_OK;
}

int endpoint_set(int option, const char *name, const char *text, void *arg)
{
    struct endpoint *endpoint = arg;
    switch ((enum endpoint_option)option) {
    case ENDPOINT_LISTEN:
        endpoint->listen = text;
        (void)snprintf(endpoint->listen_name, sizeof(endpoint->listen_name), "%s", name);
        return EX_OK;
    case ENDPOINT_READ_ONLY:
        endpoint->options.trust.read_only = true;
        return EX_OK;
    case ENDPOINT_TOKEN_FILE:
        return read_token(name, text, endpoint);
    case ENDPOINT_HOST:
        return add_host(name, text, endpoint);
    case ENDPOINT_PREFIX:
        return read_prefix(name, text, &endpoint->options.prefix);
    case ENDPOINT_TIME_LIMIT:
        return read_duration(name, text, WEIR_MS(100), &endpoint->options.limit_ns);
    case ENDPOINT_HIDE_BODIES:
        endpoint->options.hide_bodies = true;
        break;
    }
    return EX_OK;
}

int endpoint_open(struct endpoint *endpoint, struct endpoint *other)
{
    char problem[160];
    bool is_usage = false;
    if (other != NULL && strcmp(endpoint->listen, other->listen) == 0) {
        endpoint->listener = other->listener;
        endpoint->listener.fd = fcntl(other->listener.fd, F_DUPFD_CLOEXEC, 0);
        if (endpoint->listener.fd < 0) {
            return report(EX_OSERR, "%s: %s", endpoint->listen_name, strerror(errno));
        }
        if (other->listener.path != NULL) {
            endpoint->listener.path = endpoint->listen + (other->listener.path - other->listen);
            other->listener.path = NULL;
        }
        return EX_OK;
    }
    if (listen_open(endpoint->listen, &endpoint->listener, problem, sizeof(problem), &is_usage)) {
        return EX_OK;
    }
    if (is_usage) {
        return report(EX_USAGE,
                      "%s: %s: expected ADDRESS:PORT such as " LISTEN_DEFAULT
                      ", [ADDRESS]:PORT, unix:PATH or systemd:",
                      endpoint->listen_name, quote(endpoint->listen).text);
    }
    return report(EX_UNAVAILABLE, "%s: %s: cannot listen there: %s", endpoint->listen_name,
                  quote(endpoint->listen).text, problem);
}

bool endpoint_may_change(const struct endpoint *endpoint)
{
    struct trust trust = endpoint->options.trust;
    trust.local = endpoint->listener.local;
    return trust_may_change(&trust);
}

int endpoint_start(struct endpoint *endpoint, const struct store *store)
{
    struct server_options *options = &endpoint->options;
    const struct listener *listener = &endpoint->listener;
    bool is_sqlite = strncmp(store->url, "sqlite:", strlen("sqlite:")) == 0;
    options->broker = store->broker;
    options->broker_kind = is_sqlite ? "sqlite" : "beanstalk";
    options->trust.local = listener->local;
    options->trust.hosts = endpoint->hosts;
    options->listener = listener->fd;
    enum weir_status status = server_start(options, &endpoint->server);
    endpoint->listener.fd = endpoint->server != NULL ? listener->fd : -1; /* else it is closed */
    if (status != WEIR_OK) {
        return report_status(status, "server", NULL);
    }
    return report(EX_OK, "%s%s%s%s", listener->url, options->prefix,
                  listener->path == NULL ? "/" : "",
                  endpoint_may_change(endpoint) ? "" : " (read-only)");
}

void endpoint_end(struct endpoint *endpoint)
{
    if (endpoint->server != NULL) {
        server_stop(endpoint->server);
    } else if (endpoint->listener.fd >= 0) {
        (void)close(endpoint->listener.fd);
    }
    endpoint->server = NULL;
    endpoint->listener.fd = -1;
    listen_remove(&endpoint->listener);
}
