/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <sysexits.h>

#include "cli/arguments.h"
#include "cli/endpoint.h"
#include "cli/signals.h"
#include "cli/store.h"

/* Serves until a signal. */
static int serve(struct arguments *arguments, void *arg)
{
    struct endpoint *endpoint = arg;
    struct store store = {.url = NULL};
    struct signals signals;
    int signal_number = 0;
    signals_block(&signals, false);
    int code = endpoint_open(endpoint, NULL);
    if (code == EX_OK) {
        code = store_open(&store, arguments,
                          endpoint_may_change(endpoint) ? STORE_CHANGE : STORE_READ);
    }
    if (code == EX_OK) {
        code = endpoint_start(endpoint, &store);
    }
    while (code == EX_OK && sigwait(&signals.taken, &signal_number) != 0) {
    }
    endpoint_end(endpoint);
    store_close(&store);
    return code;
}

const struct command command_serve = {
    .name = "serve",
    .operands = "",
    .summary = "answer over HTTP: metrics, health, and an API for jobs",
    .examples = "  weir serve                              on 127.0.0.1:8686\n"
                "  weir serve --listen unix:/run/weir.sock\n"
                "  weir serve -l 0.0.0.0:8686 --host jobs.example.org --token-file token\n",
    .options = endpoint_options,
    .set = endpoint_set,
    .act = serve,
    .state = &(struct endpoint)ENDPOINT_INIT,
};
