/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* The default allocator: libc's. */

static void *default_alloc(size_t size, void *arg)
{
    (void)arg;
    return malloc(size);
}

static void *default_resize(void *block, size_t old_size, size_t new_size, void *arg)
{
    (void)old_size;
    (void)arg;
    return realloc(block, new_size);
}

static void default_release(void *block, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    free(block);
}

enum weir_status weiri_allocator_init(struct weir_allocator *dst, const struct weir_allocator *src,
                                      struct weir_error *ret_error)
{
    if (src == NULL || (src->alloc == NULL && src->resize == NULL && src->release == NULL)) {
        *dst = (struct weir_allocator){default_alloc, default_resize, default_release, NULL};
        return WEIR_OK;
    }
    if (src->alloc == NULL || src->resize == NULL || src->release == NULL) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "the allocator lacks a function: expected all three or none");
    }
    *dst = *src;
    return WEIR_OK;
}

void *weiri_alloc(const struct weir_allocator *allocator, size_t size)
{
    return allocator->alloc(size, allocator->arg);
}

void *weiri_alloc_zero(const struct weir_allocator *allocator, size_t count, size_t size)
{
    void *block = weiri_alloc_array(allocator, count, size);
    if (block != NULL) {
        memset(block, 0, count * size);
    }
    return block;
}

void *weiri_alloc_array(const struct weir_allocator *allocator, size_t count, size_t size)
{
    size_t total;
    return __builtin_mul_overflow(count, size, &total) ? NULL : weiri_alloc(allocator, total);
}

void *weiri_resize(const struct weir_allocator *allocator, void *block, size_t old_count,
                   size_t new_count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(new_count, size, &total)) {
        return NULL;
    }
    if (block == NULL) {
        return weiri_alloc(allocator, total);
    }
    return allocator->resize(block, old_count * size, total, allocator->arg);
}

void weiri_release(const struct weir_allocator *allocator, void *block, size_t size)
{
    if (block != NULL) {
        allocator->release(block, size, allocator->arg);
    }
}

char *weiri_copy_string(const struct weir_allocator *allocator, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = weiri_alloc(allocator, size);
    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}

void weiri_release_string(const struct weir_allocator *allocator, char *text)
{
    if (text != NULL) {
        weiri_release(allocator, text, strlen(text) + 1);
    }
}
