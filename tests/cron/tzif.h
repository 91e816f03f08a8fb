/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_TZIF_H
#define WEIR_TEST_TZIF_H

#include <stdio.h>
#include <string.h>

#include "support/harness.h"

/* TZif files (RFC 8536) made by hand, right ones and such as no zic ever wrote. */

#define TZIF_SIZE_MAX 4096
#define TZIF_CHANGES_MAX 64

/* What a zone consists of: its first offset, and each change with the offset from then on. */
struct tzif {
    char version; /* '\0' for version 1 */
    int32_t first_s;
    size_t count;
    int64_t times[TZIF_CHANGES_MAX];
    int32_t offsets[TZIF_CHANGES_MAX];
    const char *footer; /* NULL: "" */
};

struct tzif_bytes {
    unsigned char bytes[TZIF_SIZE_MAX];
    size_t size;
};

static inline void tzif_number(struct tzif_bytes *b, uint64_t value, int size)
{
    for (int i = size - 1; i >= 0; i--) {
        CHECK(b->size < TZIF_SIZE_MAX);
        b->bytes[b->size++] = (unsigned char)(value >> (8 * i));
    }
}

static inline void tzif_text(struct tzif_bytes *b, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        tzif_number(b, (unsigned char)text[i], 1);
    }
}

/* A header and its block, each change with a type of its own. */
static inline void tzif_block(struct tzif_bytes *b, const struct tzif *zone, int time_size)
{
    static const char zeros[15];
    tzif_text(b, "TZif", 4);
    tzif_text(b, &zone->version, 1);
    tzif_text(b, zeros, sizeof(zeros));
    const size_t counts[] = {0, 0, 0, zone->count, zone->count + 1, 4};
    for (size_t i = 0; i < 6; i++) {
        tzif_number(b, counts[i], 4);
    }
    for (size_t i = 0; i < zone->count; i++) {
        tzif_number(b, (uint64_t)zone->times[i], time_size);
    }
    for (size_t i = 0; i < zone->count; i++) {
        tzif_number(b, i + 1, 1);
    }
    for (size_t i = 0; i <= zone->count; i++) {
        int32_t offset_s = i == 0 ? zone->first_s : zone->offsets[i - 1];
        tzif_number(b, (uint32_t)offset_s, 4);
        tzif_number(b, 0, 2);
    }
    tzif_text(b, "LMT", 4);
}

static inline struct tzif_bytes tzif_encode(const struct tzif *zone)
{
    struct tzif_bytes b = {.size = 0};
    tzif_block(&b, zone, 4);
    if (zone->version != '\0') {
        const char *footer = zone->footer == NULL ? "" : zone->footer;
        tzif_block(&b, zone, 8);
        tzif_text(&b, "\n", 1);
        tzif_text(&b, footer, strlen(footer));
        tzif_text(&b, "\n", 1);
    }
    return b;
}

static inline void tzif_write(const struct tzif *zone, const char *path)
{
    struct tzif_bytes b = tzif_encode(zone);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(b.bytes, 1, b.size, file) == b.size);
    CHECK(fclose(file) == 0);
}

#endif
