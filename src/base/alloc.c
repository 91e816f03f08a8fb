/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"

/* Without an allocator of one's own: large blocks are pages, the others libc's. */

static void *default_alloc(size_t size, void *arg)
{
    (void)arg;
    return weiri_pages_suit(size) ? weiri_pages_alloc(size) : malloc(size);
}

static void default_release(void *block, size_t size, void *arg)
{
    (void)arg;
    if (weiri_pages_suit(size)) {
        weiri_pages_release(block, size);
    } else {
        free(block);
    }
}

static void *default_resize(void *block, size_t old_size, size_t new_size, void *arg)
{
    bool was_pages = weiri_pages_suit(old_size);
    if (was_pages != weiri_pages_suit(new_size)) {
        void *moved = default_alloc(new_size, arg);
        if (moved != NULL) {
            memcpy(moved, block, old_size < new_size ? old_size : new_size);
            default_release(block, old_size, arg);
        }
        return moved;
    }
    return was_pages ? weiri_pages_resize(block, old_size, new_size) : realloc(block, new_size);
}

enum weir_status weiri_allocator_init(struct weir_allocator *dst, const struct weir_allocator *src)
{
    if (src == NULL || (src->alloc == NULL && src->resize == NULL && src->release == NULL)) {
        *dst = (struct weir_allocator){default_alloc, default_resize, default_release, NULL};
        return WEIR_OK;
    }
    if (src->alloc == NULL || src->resize == NULL || src->release == NULL) {
        return WEIR_EINVAL;
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
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        return NULL;
    }
    void *block = weiri_alloc(allocator, total);
    bool is_zero = allocator->alloc == default_alloc && weiri_pages_suit(total);
    if (block != NULL && !is_zero) {
        memset(block, 0, total);
    }
    return block;
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
