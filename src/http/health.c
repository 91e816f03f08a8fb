/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <weir/version.h>

#include "http/api.h"

/* Health as Kubernetes asks for it: the status tells, and with ?verbose each check has a line. */

#define TEXT_TYPE "text/plain; charset=utf-8"

static void answer(struct reply *reply, int status, const char *text)
{
    char *copy = strdup(text);
    reply_text(reply, status, TEXT_TYPE, copy, strlen(text));
}

void api_livez(const struct api *api, const struct request *request, struct reply *reply)
{
    bool verbose = target_value(&request->target, "verbose") != NULL;
    (void)api;
    answer(reply, 200, verbose ? "[+]ping ok\nlivez check passed\n" : "ok");
}

static int ignore(const struct weir_tube_counts *counts, void *arg)
{
    (void)counts;
    (void)arg;
    return 1;
}

/* Ready is a server that gets answers from its broker: one that asks for a single tube, which need
 * not be there. The reason of a failure is in the log and in the API, where it may need a token. */
void api_readyz(const struct api *api, const struct request *request, struct reply *reply)
{
    bool ready = weir_broker_find_tubes(api->broker, "readyz", ignore, NULL, NULL) == WEIR_OK;
    bool verbose = target_value(&request->target, "verbose") != NULL;
    char text[128] = "ok";
    if (!ready || verbose) {
        (void)snprintf(text, sizeof(text), "[+]ping ok\n[%c]broker %s\n%s check %s\n",
                       ready ? '+' : '-', ready ? "ok" : "failed: reason withheld",
                       request->target.segments[0], ready ? "passed" : "failed");
    }
    answer(reply, ready ? 200 : 503, text);
}

void api_version(const struct api *api, const struct request *request, struct reply *reply)
{
    (void)api;
    (void)request;
    reply_json(reply, 200, json_pack("{s:s}", "version", weir_version()));
}
