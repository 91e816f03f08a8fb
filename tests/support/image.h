/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_IMAGE_H
#define WEIR_TEST_IMAGE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "support/harness.h"

/* A file as the disk has it. */
struct image {
    unsigned char *bytes;
    int64_t size;
    int64_t capacity;
};

static inline void image_load(struct image *image, const char *path)
{
    struct stat facts;
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL && stat(path, &facts) == 0);
    image->size = facts.st_size;
    image->capacity = facts.st_size;
    image->bytes = malloc((size_t)facts.st_size);
    CHECK(image->bytes != NULL);
    CHECK_INT(fread(image->bytes, 1, (size_t)facts.st_size, file), ==, facts.st_size);
    (void)fclose(file);
}

static inline void image_save(const struct image *image, const char *path)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK_INT(fwrite(image->bytes, 1, (size_t)image->size, file), ==, image->size);
    CHECK_INT(fclose(file), ==, 0);
}

#endif
