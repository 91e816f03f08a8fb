/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <weir/duration.h>

#include "cli/arguments.h"
#include "cli/report.h"
#include "cli/store.h"
#include "http/listen.h"
#include "http/server.h"

enum {
    OPTION_HIDE_BODIES = OPTION_OWN,
    OPTION_HOST,
    OPTION_LISTEN,
    OPTION_PREFIX,
    OPTION_READ_ONLY,
    OPTION_TIME_LIMIT,
    OPTION_TOKEN_FILE
};

#define HOSTS_MAX 16
#define PREFIX_SIZE_MAX 200
#define TOKEN_SIZE_MIN 16
#define TOKEN_SIZE_MAX 1024

static const struct poptOption serve_options[] = {
    OPTION_VALUE("listen", 'l', OPTION_LISTEN,
                 "Where to listen: ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH (default: "
                 "127.0.0.1:8686)",
                 "WHERE"),
    OPTION_FLAG("read-only", 'r', OPTION_READ_ONLY, "Let nobody change anything"),
    OPTION_VALUE("token-file", '\0', OPTION_TOKEN_FILE,
                 "Answer below /api/ only to requests with the token in this file", "FILE"),
    OPTION_VALUE("host", '\0', OPTION_HOST,
                 "A name that the server may be called by, besides localhost and addresses; may be "
                 "given again",
                 "NAME"),
    OPTION_VALUE("prefix", '\0', OPTION_PREFIX,
                 "What all paths begin with, behind a reverse proxy, e.g. /weir", "PATH"),
    OPTION_FLAG("hide-bodies", '\0', OPTION_HIDE_BODIES, "Show no bodies of jobs"),
    OPTION_VALUE("time-limit", '\0', OPTION_TIME_LIMIT,
                 "Time for a request to arrive, and again for its answer (default: 10s)",
                 "DURATION"),
    POPT_TABLEEND,
};

struct serve {
    const char *listen;
    const char *token_file;
    const char *hosts[HOSTS_MAX];
    char token[TOKEN_SIZE_MAX + 2];
    struct server_options options;
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

static int add_host(const char *name, const char *text, struct serve *serve)
{
    struct trust *trust = &serve->options.trust;
    if (text[0] == '\0' || strlen(text) > 253 || strpbrk(text, ":/[] ") != NULL) {
        return report(EX_USAGE, "%s: %s: expected a name such as jobs.example.org, without a port",
                      name, quote(text).text);
    }
    if (trust->host_count == HOSTS_MAX) {
        return report(EX_USAGE, "%s: %s: expected at most %d names", name, quote(text).text,
                      HOSTS_MAX);
    }
    serve->hosts[trust->host_count++] = text;
    return EX_OK;
}

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct serve *serve = arg;
    switch (option) {
    case OPTION_LISTEN:
        serve->listen = text;
        return EX_OK;
    case OPTION_READ_ONLY:
        serve->options.trust.read_only = true;
        return EX_OK;
    case OPTION_TOKEN_FILE:
        serve->token_file = text;
        return EX_OK;
    case OPTION_HOST:
        return add_host(name, text, serve);
    case OPTION_PREFIX:
        return read_prefix(name, text, &serve->options.prefix);
    case OPTION_TIME_LIMIT:
        return read_duration(name, text, WEIR_MS(100), &serve->options.limit_ns);
    default:
        serve->options.hide_bodies = true;
        return EX_OK;
    }
}

/* Reads the whole file, which is the token, with or without a newline behind. */
static int read_token(struct serve *serve)
{
    const char *path = serve->token_file;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, serve->token, sizeof(serve->token)) : -1;
    int why = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (size < 0) {
        return report(EX_NOINPUT, "--token-file: %s: cannot be read: %s", quote(path).text,
                      strerror(why));
    }
    size_t length = (size_t)size;
    if (length > 0 && serve->token[length - 1] == '\n') {
        length--;
    }
    bool is_valid = length >= TOKEN_SIZE_MIN && length <= TOKEN_SIZE_MAX;
    for (size_t i = 0; i < length && is_valid; i++) {
        is_valid = serve->token[i] > ' ' && serve->token[i] < 0x7f;
    }
    if (!is_valid) {
        return report(EX_DATAERR,
                      "--token-file: %s: no token; expected one line of %d to %d visible ASCII "
                      "characters",
                      quote(path).text, TOKEN_SIZE_MIN, TOKEN_SIZE_MAX);
    }
    serve->token[length] = '\0';
    serve->options.trust.token = serve->token;
    return EX_OK;
}

static int open_listener(const struct serve *serve, struct listener *listener)
{
    char problem[160];
    bool is_usage = false;
    if (listen_open(serve->listen, listener, problem, sizeof(problem), &is_usage)) {
        return EX_OK;
    }
    if (is_usage) {
        return report(EX_USAGE,
                      "--listen: %s: expected ADDRESS:PORT such as " LISTEN_DEFAULT
                      ", [ADDRESS]:PORT or unix:PATH",
                      quote(serve->listen).text);
    }
    return report(EX_UNAVAILABLE, "--listen: %s: cannot listen there: %s",
                  quote(serve->listen).text, problem);
}

static void block_signals(sigset_t *signals)
{
    sigset_t blocked;
    (void)sigemptyset(signals);
    (void)sigaddset(signals, SIGINT);
    (void)sigaddset(signals, SIGTERM);
    (void)sigaddset(signals, SIGHUP);
    blocked = *signals;
    (void)sigaddset(&blocked, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &blocked, NULL);
}

/* Serves until a signal. */
static int run_server(struct serve *serve, const struct listener *listener, const sigset_t *signals)
{
    struct server *server = NULL;
    int signal_number = 0;
    serve->options.listener = listener->fd;
    enum weir_status status = server_start(&serve->options, &server);
    if (status != WEIR_OK) {
        return report_status(status, "server", NULL);
    }
    (void)report(EX_OK, "%s%s%s%s", listener->url, serve->options.prefix,
                 listener->path == NULL ? "/" : "",
                 trust_may_change(&serve->options.trust) ? "" : " (read-only)");
    while (sigwait(signals, &signal_number) != 0) {
    }
    server_stop(server);
    return EX_OK;
}

/* All steps between the checks and the exit. */
static int run_checked(struct serve *serve, const struct arguments *arguments)
{
    struct store store = {.url = NULL};
    struct listener listener;
    sigset_t signals;
    block_signals(&signals);
    int code = open_listener(serve, &listener);
    if (code != EX_OK) {
        return code;
    }
    struct trust *trust = &serve->options.trust;
    trust->local = listener.local;
    trust->hosts = serve->hosts;
    code = store_open(&store, arguments, trust_may_change(trust) ? STORE_CHANGE : STORE_READ);
    if (code == EX_OK) {
        serve->options.broker = store.broker;
        serve->options.broker_kind =
            strncmp(store.url, "sqlite:", strlen("sqlite:")) == 0 ? "sqlite" : "beanstalk";
        code = run_server(serve, &listener, &signals);
    } else {
        (void)close(listener.fd);
    }
    listen_remove(&listener);
    store_close(&store);
    return code;
}

static int run_serve(const struct command *command, int argc, char **argv)
{
    static struct serve serve = {.listen = LISTEN_DEFAULT,
                                 .options = {.prefix = "", .limit_ns = WEIR_SECONDS(10)}};
    struct arguments arguments;
    int code = arguments_parse(&arguments, command, argc, argv, set_option, &serve);
    if (code == EX_OK && !arguments.helped) {
        code = arguments_expect(&arguments, NULL, 0, 0);
        if (code == EX_OK && serve.token_file != NULL) {
            code = read_token(&serve);
        }
        if (code == EX_OK) {
            code = run_checked(&serve, &arguments);
        }
    }
    arguments_free(&arguments);
    return code;
}

const struct command command_serve = {
    .name = "serve",
    .operands = "",
    .summary = "answer over HTTP: metrics, health, and an API for jobs",
    .examples = "  weir serve                              on 127.0.0.1:8686\n"
                "  weir serve --listen unix:/run/weir.sock\n"
                "  weir serve -l 0.0.0.0:8686 --host jobs.example.org --token-file token\n",
    .options = serve_options,
    .run = run_serve,
};
