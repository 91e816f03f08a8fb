/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/store.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "cli/guard.h"
#include "cli/report.h"

static const char scheme[] = "sqlite:";

/* The origin of a URL, for messages. */
static const char from_option[] = "--broker";
static const char from_environment[] = "$WEIR_BROKER";
static const char from_default[] = "default broker";

static char *join(const char *first, const char *second, const char *third)
{
    size_t size = strlen(first) + strlen(second) + strlen(third) + 1;
    char *result = malloc(size);
    if (result != NULL) {
        (void)snprintf(result, size, "%s%s%s", first, second, third);
    }
    return result;
}

/* The XDG state folder's file. A relative $XDG_STATE_HOME is to be ignored, as that standard says.
 */
static int default_url(char **ret_url)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    if (state != NULL && state[0] == '/') {
        *ret_url = join(scheme, state, "/weir/weir.db");
    } else if (home != NULL && home[0] == '/') {
        *ret_url = join(scheme, home, "/.local/state/weir/weir.db");
    } else {
        return report(EX_CONFIG, "no broker: neither --broker, $WEIR_BROKER, $XDG_STATE_HOME nor "
                                 "$HOME says where; expected e.g. --broker sqlite:/srv/jobs.db");
    }
    return *ret_url != NULL ? EX_OK : report_status(WEIR_ENOMEM, from_default, NULL);
}

/* Makes the folders of path that are missing, for their owner alone. */
static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int failed = mkdir(path, 0700) != 0 && errno != EEXIST;
        int why = errno;
        if (failed) {
            int code = why == EACCES || why == EPERM || why == EROFS ? EX_NOPERM : EX_CANTCREAT;
            code = report(code, "%s: %s: cannot make this folder: %s", from_default,
                          quote(path).text, strerror(why));
            *slash = '/';
            return code;
        }
        *slash = '/';
    }
    return EX_OK;
}

/* The exit status for a status of weir_broker_open(). It depends on the origin of the URL, and on
 * whether the file was to be made. */
static int open_exit_code(enum weir_status status, const char *origin, enum store_use use)
{
    if (status == WEIR_EINVAL && origin == from_environment) {
        return EX_CONFIG;
    }
    if (status == WEIR_ENOTFOUND && use == STORE_CHANGE) {
        return EX_CANTCREAT;
    }
    return report_exit_code(status);
}

/* A limit on the size of files must be reported like a full disk, not end the program. */
static void block_size_signal(void)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGXFSZ);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

/* Opens store->url. The wait for a lock may be long: meanwhile TERM and INT end the program,
 * whatever it makes of them later. */
static int open_broker(struct store *store, const struct arguments *arguments, const char *origin,
                       enum store_use use)
{
    struct weir_broker_options options = {0};
    options.log = arguments->log != NULL ? arguments->log : report_log;
    options.log_arg = arguments->log_arg;
    options.busy_ns = arguments->lock_wait_ns;
    options.durability = arguments->durability;
    options.body_size_max = STORE_BODY_SIZE_MAX;
    options.guard = guard_pid();
    options.flags = use == STORE_READ    ? WEIR_BROKER_READ_ONLY
                    : use == STORE_ALTER ? WEIR_BROKER_EXISTING
                                         : 0;
    struct weir_error error = {0};
    sigset_t ends;
    sigset_t before;
    block_size_signal();
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    (void)pthread_sigmask(SIG_UNBLOCK, &ends, &before);
    enum weir_status status = weir_broker_open(store->url, &options, &store->broker, &error);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status == WEIR_OK) {
        return EX_OK;
    }
    return report(open_exit_code(status, origin, use), "%s: %s", origin,
                  error.text[0] != '\0' ? error.text : weir_status_text((int)status));
}

int store_open_url(struct store *store, const struct arguments *arguments, const char *url,
                   const char *origin, enum store_use use)
{
    memset(store, 0, sizeof(*store));
    store->url = join(url, "", "");
    return store->url != NULL ? open_broker(store, arguments, origin, use)
                              : report_status(WEIR_ENOMEM, origin, NULL);
}

int store_open(struct store *store, const struct arguments *arguments, enum store_use use)
{
    const char *environment = getenv("WEIR_BROKER");
    memset(store, 0, sizeof(*store));
    if (arguments->broker != NULL) {
        return store_open_url(store, arguments, arguments->broker, from_option, use);
    }
    if (environment != NULL && environment[0] != '\0') {
        return store_open_url(store, arguments, environment, from_environment, use);
    }
    int code = default_url(&store->url);
    if (code == EX_OK && use == STORE_CHANGE) {
        code = make_folders(store->url + sizeof(scheme) - 1);
    }
    return code == EX_OK ? open_broker(store, arguments, from_default, use) : code;
}

void store_close(struct store *store)
{
    weir_broker_close(store->broker);
    free(store->url);
}

int store_keep_counts(const struct weir_tube_counts *counts, void *arg)
{
    *(struct weir_tube_counts *)arg = *counts;
    return 1;
}

void store_remove(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        char name[1024];
        (void)snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
        (void)unlink(name);
    }
}
