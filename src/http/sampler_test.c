/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/sampler.h"

#include <stdlib.h>

#include "support/harness.h"

static void check_event(const struct tubes *before, const struct tubes *after,
                        const char *const *names)
{
    char *text = sampler_event(before, after);
    if (names[0] == NULL) {
        CHECK(text == NULL);
        return;
    }
    static const char head[] = "event: tubes\ndata: ";
    CHECK(text != NULL);
    CHECK_INT(strncmp(text, head, strlen(head)), ==, 0);
    CHECK_STRING(text + strlen(text) - 2, "\n\n");
    json_t *object = json_loads(text + strlen(head), JSON_DISABLE_EOF_CHECK, NULL);
    const json_t *array = json_object_get(object, "tubes");
    size_t i = 0;
    for (; names[i] != NULL; i++) {
        const json_t *tube = json_array_get(array, i);
        CHECK_STRING(json_string_value(json_object_get(tube, "tube")), names[i]);
    }
    CHECK_INT(json_array_size(array), ==, i);
    json_decref(object);
    free(text);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__})

TEST(changed, "an event has the tubes that are new or have other counts, in order")
{
    struct weir_tube_counts old[] = {{.tube = "a"}, {.tube = "c", .ready = 1}, {.tube = "d"}};
    struct weir_tube_counts new[] = {
        {.tube = "a"}, {.tube = "b"}, {.tube = "c", .ready = 2}, {.tube = "d"}};
    const struct tubes none = {.counts = NULL};
    const struct tubes before = {.counts = old, .count = 3};
    const struct tubes after = {.counts = new, .count = 4};
    check_event(&none, &none, NAMES(NULL));
    check_event(&none, &before, NAMES("a", "c", "d", NULL));
    check_event(&before, &before, NAMES(NULL));
    check_event(&before, &after, NAMES("b", "c", NULL));
    check_event(&after, &before, NAMES("c", NULL));
    check_event(&before, &none, NAMES(NULL));
    new[0].paused_until_ns = 1;
    new[3].expired = 1;
    check_event(&before, &after, NAMES("a", "b", "c", "d", NULL));
}
