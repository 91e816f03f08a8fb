/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/page.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/head.h"

/* WEIR_PAGE and WEIR_PAGE_GZ are folders with the files, given by the build. */
#define FILE_BYTES(name, path)                                                                     \
    extern const char page_##name[];                                                               \
    extern const char page_##name##_end[];                                                         \
    __asm__(".section .rodata\n"                                                                   \
            ".global page_" #name "\n"                                                             \
            ".hidden page_" #name "\n"                                                             \
            ".global page_" #name "_end\n"                                                         \
            ".hidden page_" #name "_end\n"                                                         \
            "page_" #name ":\n"                                                                    \
            ".incbin \"" path "\"\n"                                                               \
            "page_" #name "_end:\n"                                                                \
            ".previous\n")

FILE_BYTES(html, WEIR_PAGE "/page.html");
FILE_BYTES(html_gz, WEIR_PAGE_GZ "/page.html.gz");
FILE_BYTES(js, WEIR_PAGE "/page.js");
FILE_BYTES(js_gz, WEIR_PAGE_GZ "/page.js.gz");
FILE_BYTES(css, WEIR_PAGE "/page.css");
FILE_BYTES(css_gz, WEIR_PAGE_GZ "/page.css.gz");
FILE_BYTES(icon, WEIR_PAGE "/icon.svg");
FILE_BYTES(icon_gz, WEIR_PAGE_GZ "/icon.svg.gz");

static const struct file {
    const char *name; /* The last segment of the path; "" is the page itself. */
    const char *type;
    const char *plain;
    const char *plain_end;
    const char *gz;
    const char *gz_end;
} files[] = {
    {"", "text/html; charset=utf-8", page_html, page_html_end, page_html_gz, page_html_gz_end},
    {"page.js", "text/javascript; charset=utf-8", page_js, page_js_end, page_js_gz, page_js_gz_end},
    {"page.css", "text/css; charset=utf-8", page_css, page_css_end, page_css_gz, page_css_gz_end},
    {"icon.svg", "image/svg+xml", page_icon, page_icon_end, page_icon_gz, page_icon_gz_end},
};

static const struct file *find(const char *name)
{
    size_t i = 0;
    while (i + 1 < sizeof(files) / sizeof(files[0]) && strcmp(files[i].name, name) != 0) {
        i++;
    }
    return &files[i];
}

/* Does a client that says this take gzip? A quality of 0 is a no. */
static bool takes_gzip(const char *encodings)
{
    const char *gzip = encodings != NULL ? strstr(encodings, "gzip") : NULL;
    if (gzip == NULL) {
        return false;
    }
    const char *quality = gzip + strlen("gzip");
    quality += strspn(quality, " \t");
    if (quality[0] != ';') {
        return true;
    }
    quality += 1 + strspn(quality + 1, " \t");
    return strncmp(quality, "q=", 2) != 0 || strtod(quality + 2, NULL) > 0;
}

/* FNV-1a: another build has another page, and nobody gains by a page that has the same number. */
static void write_tag(const char *bytes, size_t size, char ret_tag[20])
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
    }
    (void)snprintf(ret_tag, 20, "\"%016llx\"", (unsigned long long)hash);
}

enum MHD_Result page_send(struct MHD_Connection *connection, const struct target *target)
{
    const struct file *file = find(target->segment_count > 0 ? target->segments[0] : "");
    bool is_gz = takes_gzip(
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT_ENCODING));
    const char *bytes = is_gz ? file->gz : file->plain;
    size_t size = (size_t)((is_gz ? file->gz_end : file->plain_end) - bytes);
    char tag[20];
    write_tag(bytes, size, tag);
    const char *has =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_IF_NONE_MATCH);
    bool is_known = has != NULL && strstr(has, tag) != NULL;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        is_known ? 0 : size, (void *)(uintptr_t)bytes, MHD_RESPMEM_PERSISTENT);
    if (response == NULL) {
        return MHD_NO;
    }
    /* The browser keeps it and asks each time whether it is still the one. */
    enum MHD_Result result =
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    if (result == MHD_YES) {
        result = MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, tag);
    }
    if (result == MHD_YES) {
        result = MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Accept-Encoding");
    }
    if (result == MHD_YES && is_gz && !is_known) {
        result = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    }
    if (result != MHD_YES) {
        MHD_destroy_response(response);
        return MHD_NO;
    }
    return head_send_response(connection, response, is_known ? 304 : 200, file->type);
}
