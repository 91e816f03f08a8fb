/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_PAGE_H
#define WEIRI_HTTP_PAGE_H

#include <microhttpd.h>

#include "http/target.h"

/* The page for browsers: the files of web/dist, kept in the program as they are and compressed. */

/* Answers with the file that the path names, compressed where the client takes that; with 304 where
 * the client has it. target: of a route of kind ROUTE_PAGE. */
enum MHD_Result page_send(struct MHD_Connection *connection, const struct target *target);

#endif
