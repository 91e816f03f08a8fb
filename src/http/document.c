/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/document.h"

#include <stdlib.h>
#include <string.h>

#include "http/api.h"

/* The file as it stands in the tree. WEIR_OPENAPI is its path, given by the build. */
__asm__(".section .rodata\n"
        ".global document_openapi\n"
        ".hidden document_openapi\n"
        ".global document_openapi_end\n"
        ".hidden document_openapi_end\n"
        "document_openapi:\n"
        ".incbin \"" WEIR_OPENAPI "\"\n"
        "document_openapi_end:\n"
        ".previous\n");

void api_openapi(const struct api *api, const struct request *request, struct reply *reply)
{
    (void)api;
    (void)request;
    size_t size = (size_t)(document_openapi_end - document_openapi);
    char *text = malloc(size);
    if (text != NULL) {
        memcpy(text, document_openapi, size);
    }
    reply_text(reply, 200, "application/json", text, size);
}
