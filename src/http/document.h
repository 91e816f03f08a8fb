/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_DOCUMENT_H
#define WEIRI_HTTP_DOCUMENT_H

/* src/http/openapi.json, kept in the program; not ended by a NUL. */
extern const char document_openapi[];
extern const char document_openapi_end[];

#endif
