/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_METRICS_H
#define WEIR_TEST_CONFORMANCE_METRICS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/metrics.h>

#include "conformance/fixture.h"

/* A registry, and its text as it was read last. */
struct page {
    weir_metrics *metrics;
    size_t size;
    char text[65536];
};

static inline void page_init(struct page *page)
{
    struct weir_metrics_options options = {0};
    options.allocator = *test_allocator();
    memset(page, 0, sizeof(*page));
    CHECK_STATUS(weir_metrics_new(&options, &page->metrics, NULL), WEIR_OK);
}

static inline int page_write(const char *text, size_t size, void *arg)
{
    struct page *page = arg;
    CHECK_INT(size, >, 0);
    CHECK_INT(size, <=, 4096);
    CHECK_INT(page->size + size, <, sizeof(page->text));
    memcpy(page->text + page->size, text, size);
    page->size += size;
    page->text[page->size] = '\0';
    return WEIR_OK;
}

static inline void page_read(struct page *page)
{
    page->size = 0;
    page->text[0] = '\0';
    CHECK_STATUS(weir_metrics_write(page->metrics, page_write, page), WEIR_OK);
}

/* The value of a line that starts with series and a space. */
static inline const char *page_find(struct page *page, const char *series)
{
    size_t size = strlen(series);
    for (const char *line = page->text; *line != '\0'; line = strchr(line, '\n') + 1) {
        if (strncmp(line, series, size) == 0 && line[size] == ' ') {
            return line + size + 1;
        }
    }
    test_fail(__FILE__, __LINE__, "no line for %s", series);
}

/* The series of the queue "q" must have a value, written so. */
#define CHECK_SERIES(page, series, value)                                                          \
    do {                                                                                           \
        const char *check_at = page_find(page, series);                                            \
        size_t check_size = strcspn(check_at, "\n");                                               \
        if (check_size != strlen(value) || strncmp(check_at, value, check_size) != 0) {            \
            test_fail(__FILE__, __LINE__, "%s is %.*s, not %s", series, (int)check_size, check_at, \
                      value);                                                                      \
        }                                                                                          \
    } while (0)

/* The same of a family's only line; the text is read anew. */
#define CHECK_FAMILY(page, family, value)                                                          \
    do {                                                                                           \
        page_read(page);                                                                           \
        CHECK_SERIES(page, family "{name=\"q\"}", value);                                          \
    } while (0)

/* As setup() of the fixture; the queue is "q" in the page's registry. */
static inline void setup_named(struct fixture *f, enum kind kind, struct page *page)
{
    page_init(page);
    struct weir_queue_options options = {0};
    options.name = "q";
    options.metrics = page->metrics;
    setup_options(f, kind, &options);
}

static inline void teardown_named(struct fixture *f, struct page *page)
{
    teardown(f);
    page_read(page);
    CHECK_STRING(page->text, "");
    weir_metrics_free(page->metrics);
}

#endif
