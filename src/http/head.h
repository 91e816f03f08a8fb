/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_HEAD_H
#define WEIRI_HTTP_HEAD_H

#include <microhttpd.h>

#include "http/reply.h"
#include "http/trust.h"

/* The headers of requests and answers. */

/* Reads those that decisions need. They are borrowed as long as the request. */
void head_read(struct MHD_Connection *connection, struct trust_headers *ret_headers);

/* Sends a reply and takes its text. allow: the methods of the path, for a 405; else not used. */
enum MHD_Result head_send(struct MHD_Connection *connection, struct reply *reply,
                          const char *allow);

/* Takes a response and sends it, with the headers that every answer has. No cache keeps it unless
 * it has a Cache-Control of its own. */
enum MHD_Result head_send_response(struct MHD_Connection *connection, struct MHD_Response *response,
                                   int status, const char *type);

#endif
