/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "metrics/registry.h"

#include <stdio.h>

#include "support/harness.h"
#include "support/touched.h"

static weir_metrics *make(void)
{
    struct weir_metrics_options options = {0};
    options.allocator = *test_allocator();
    weir_metrics *metrics;
    CHECK_STATUS(weir_metrics_new(&options, &metrics, NULL), WEIR_OK);
    return metrics;
}

static void collect(struct weiri_source *source, union weiri_sample *ret_sample)
{
    memset(ret_sample, 0, sizeof(*ret_sample));
    ret_sample->queue.depth = (uint64_t)(unsigned char)source->name[0];
}

static char text[65536];
static size_t text_size;

static int receive(const char *piece, size_t size, void *arg)
{
    (void)arg;
    CHECK_INT(text_size + size, <, sizeof(text));
    memcpy(text + text_size, piece, size);
    text_size += size;
    text[text_size] = '\0';
    return WEIR_OK;
}

TEST(order, "sources come in the order of their names, whatever the order they came in")
{
    weir_metrics *metrics = make();
    struct weiri_source sources[3] = {{.name = "b", .collect = collect},
                                      {.name = "c", .collect = collect},
                                      {.name = "a", .collect = collect}};
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(weiri_metrics_add(metrics, &sources[i], NULL), WEIR_OK);
    }
    CHECK_STATUS(weir_metrics_write(metrics, receive, NULL), WEIR_OK);
    CHECK(strstr(text, "workqueue_depth{name=\"a\"} 97\nworkqueue_depth{name=\"b\"} 98\n"
                       "workqueue_depth{name=\"c\"} 99\n# HELP ") != NULL);
    for (int i = 0; i < 3; i++) {
        weiri_metrics_remove(metrics, &sources[i]);
    }
    weir_metrics_free(metrics);
}

enum {
    MANY = 1000,
    LOOKS_MOST = 100
};

/* What a writing has asked since the last one. */
static struct {
    const char *last_name;
    int count;
} asked;

static void collect_ordered(struct weiri_source *source, union weiri_sample *ret_sample)
{
    CHECK(asked.last_name == NULL || strcmp(asked.last_name, source->name) < 0);
    asked.last_name = source->name;
    asked.count++;
    collect(source, ret_sample);
}

static int pass_by(const char *piece, size_t size, void *arg)
{
    (void)piece;
    (void)size;
    (void)arg;
    return WEIR_OK;
}

static void check_order(weir_metrics *metrics, int count)
{
    asked.last_name = NULL;
    asked.count = 0;
    CHECK_STATUS(weir_metrics_write(metrics, pass_by, NULL), WEIR_OK);
    CHECK_INT(asked.count, ==, count);
}

/* Names that are added in order, in reverse, and mixed; each lies on a page of its own. */
TEST(many, "a source is added and removed with few looks at the names of others")
{
    static const int steps[] = {1, MANY - 1, 387};
    touched_init(MANY * sizeof(steps) / sizeof(steps[0]));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        weir_metrics *metrics = make();
        static struct weiri_source sources[MANY];
        for (int j = 0; j < MANY; j++) {
            char *name = touched_new(16);
            (void)snprintf(name, 16, "queue-%03d", j * steps[i] % MANY);
            sources[j] = (struct weiri_source){.name = name, .collect = collect_ordered};
        }
        size_t most = 0;
        for (int j = 0; j < 2 * MANY; j++) {
            touched_watch();
            if (j < MANY) {
                CHECK_STATUS(weiri_metrics_add(metrics, &sources[j], NULL), WEIR_OK);
            } else {
                weiri_metrics_remove(metrics, &sources[j - MANY]);
            }
            most = touched_count() > most ? touched_count() : most;
            if (j + 1 == MANY || j == MANY + MANY / 2) {
                check_order(metrics, 2 * MANY - 1 - j);
            }
        }
        CHECK_INT(most, <=, LOOKS_MOST);
        CHECK_STATUS(weir_metrics_free(metrics), WEIR_OK);
    }
}

TEST(names, "a name is not empty, UTF-8, and no other source's")
{
    weir_metrics *metrics = make();
    struct weiri_source source = {.name = "a", .collect = collect};
    struct weiri_source again = {.name = "a", .collect = collect};
    struct weiri_source empty = {.name = "", .collect = collect};
    struct weiri_source bytes = {.name = "\xff", .collect = collect};
    CHECK_STATUS(weiri_metrics_add(metrics, &source, NULL), WEIR_OK);
    CHECK_STATUS(weiri_metrics_add(metrics, &again, NULL), WEIR_EBUSY);
    CHECK_STATUS(weiri_metrics_add(metrics, &empty, NULL), WEIR_EINVAL);
    CHECK_STATUS(weiri_metrics_add(metrics, &bytes, NULL), WEIR_EINVAL);
    CHECK_STATUS(weiri_metrics_add(NULL, &again, NULL), WEIR_EINVAL);
    weiri_metrics_remove(metrics, &source);
    CHECK_STATUS(weiri_metrics_add(metrics, &again, NULL), WEIR_OK);
    weiri_metrics_remove(metrics, &again);
    weir_metrics_free(metrics);
}

TEST(empty, "a registry without sources has no text, and needs no memory for that")
{
    weir_metrics *metrics = make();
    test_fail_allocation(1, true);
    CHECK_STATUS(weir_metrics_write(metrics, receive, NULL), WEIR_OK);
    test_fail_allocation(0, false);
    CHECK_INT(text_size, ==, 0);
    weir_metrics_free(metrics);
}

static int refuse(const char *piece, size_t size, void *arg)
{
    (void)piece;
    (void)size;
    ++*(int *)arg;
    return WEIR_EUSER + 1;
}

TEST(refused, "the receiver's refusal ends the writing and is its result")
{
    weir_metrics *metrics = make();
    struct weiri_source source = {.name = "a", .collect = collect};
    CHECK_STATUS(weiri_metrics_add(metrics, &source, NULL), WEIR_OK);
    int calls = 0;
    CHECK_INT(weir_metrics_write(metrics, refuse, &calls), ==, WEIR_EUSER + 1);
    CHECK_INT(calls, ==, 1);
    weiri_metrics_remove(metrics, &source);
    weir_metrics_free(metrics);
}

TEST(misuse, "what is not there is refused")
{
    weir_metrics *metrics = NULL;
    struct weir_metrics_options options = {0};
    CHECK_STATUS(weir_metrics_new(&options, NULL, NULL), WEIR_EINVAL);
    options.allocator.alloc = test_allocator()->alloc;
    CHECK_STATUS(weir_metrics_new(&options, &metrics, NULL), WEIR_EINVAL);
    CHECK(metrics == NULL);
    CHECK_STATUS(weir_metrics_new(NULL, &metrics, NULL), WEIR_OK);
    CHECK_STATUS(weir_metrics_write(NULL, receive, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_metrics_write(metrics, NULL, NULL), WEIR_EINVAL);
    weir_metrics_free(metrics);
    weir_metrics_free(NULL);
}

TEST(freed_while_used, "freeing a registry that a queue uses is refused")
{
    struct weiri_source source = {.name = "a", .collect = collect};
    weir_metrics *metrics;
    CHECK_STATUS(weir_metrics_new(NULL, &metrics, NULL), WEIR_OK);
    CHECK_STATUS(weiri_metrics_add(metrics, &source, NULL), WEIR_OK);
    CHECK_STATUS(weir_metrics_free(metrics), WEIR_EBUSY);
    weiri_metrics_remove(metrics, &source);
    CHECK_STATUS(weir_metrics_free(metrics), WEIR_OK);
    CHECK_STATUS(weir_metrics_free(NULL), WEIR_OK);
}
