/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/head.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static enum MHD_Result keep_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct trust_headers *headers = arg;
    const struct {
        const char *name;
        const char **place;
    } wanted[] = {
        {"Host", &headers->host},
        {"Origin", &headers->origin},
        {"Authorization", &headers->authorization},
        {"Content-Type", &headers->content_type},
        {"Content-Length", &headers->content_length},
        {"Transfer-Encoding", &headers->transfer_encoding},
        {"Sec-Fetch-Site", &headers->fetch_site},
        {"Sec-Fetch-Mode", &headers->fetch_mode},
        {"Sec-Fetch-Dest", &headers->fetch_dest},
    };
    (void)kind;
    headers->count++;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (strcasecmp(name, wanted[i].name) == 0) {
            headers->repeated = headers->repeated || *wanted[i].place != NULL;
            *wanted[i].place = value != NULL ? value : "";
        }
    }
    return MHD_YES;
}

void head_read(struct MHD_Connection *connection, struct trust_headers *ret_headers)
{
    memset(ret_headers, 0, sizeof(*ret_headers));
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, keep_header, ret_headers);
}

/* A page of another site can neither frame an answer, nor have it guessed to be a script, nor find
 * it in a cache; and a page of ours loads nothing from elsewhere. */
static const char *const common[][2] = {
    {"Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; "
                                "frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

enum MHD_Result head_send_response(struct MHD_Connection *connection, struct MHD_Response *response,
                                   int status, const char *type)
{
    enum MHD_Result result = MHD_add_response_header(response, "Content-Type", type);
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]) && result == MHD_YES; i++) {
        result = MHD_add_response_header(response, common[i][0], common[i][1]);
    }
    if (result == MHD_YES && MHD_get_response_header(response, "Cache-Control") == NULL) {
        result = MHD_add_response_header(response, "Cache-Control", "no-store");
    }
    if (result == MHD_YES) {
        result = MHD_queue_response(connection, (unsigned)status, response);
    }
    MHD_destroy_response(response);
    return result;
}

enum MHD_Result head_send(struct MHD_Connection *connection, struct reply *reply, const char *allow)
{
    static char no_memory[] = "{\"error\":\"out of memory\"}";
    bool has_text = reply->text != NULL;
    int status = has_text ? reply->status : 503;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        has_text ? reply->size : strlen(no_memory), has_text ? reply->text : no_memory,
        has_text ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (response == NULL) {
        return MHD_NO;
    }
    const char *type = has_text ? reply->type : "application/json";
    reply->text = NULL;
    enum MHD_Result result = MHD_YES;
    if (status == 405) {
        result = MHD_add_response_header(response, "Allow", allow);
    } else if (status == 401) {
        result = MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    } else if (status == 503) {
        result = MHD_add_response_header(response, "Retry-After", "1");
    }
    if (result != MHD_YES) {
        MHD_destroy_response(response);
        return MHD_NO;
    }
    return head_send_response(connection, response, status, type);
}
