/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* mremap, madvise */

#include "base/pages.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of the sanitizers' run-time libraries, NULL in a program without them. The library itself need
 * not be built with one. */
void leak_checker(const void *begin, size_t size) __asm__("__lsan_register_root_region")
    __attribute__((weak));
void thread_checker(void) __asm__("__tsan_init") __attribute__((weak));

bool weiri_pages_suit(size_t size)
{
    return size >= WEIRI_PAGES_MIN && leak_checker == NULL && thread_checker == NULL;
}

static void *map(size_t size)
{
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

/* Of more than is needed stays what begins where a huge page does. */
void *weiri_pages_alloc(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t kept;
    size_t asked;
    if (__builtin_add_overflow(size, page - 1, &kept) ||
        __builtin_add_overflow(kept, WEIRI_PAGES_MIN, &asked)) {
        return NULL;
    }
    kept &= ~(page - 1);
    char *mapped = map(asked);
    if (mapped == NULL) {
        return NULL;
    }
    size_t before = (size_t)(-(uintptr_t)mapped & (WEIRI_PAGES_MIN - 1));
    char *block = mapped + before;
    if (before > 0) {
        weiri_pages_release(mapped, before);
    }
    weiri_pages_release(block + kept, asked - before - kept);
    (void)madvise(block, size, MADV_HUGEPAGE); /* a kernel without them does without */
    return block;
}

/* NULL: the kernel cannot, or may not in a sandbox that knows mmap() and not mremap(). */
static void *remap(void *block, size_t old_size, size_t new_size)
{
    void *moved = mremap(block, old_size, new_size, 0);
    if (moved == MAP_FAILED && errno == ENOMEM) {
        /* There is no room behind it: it goes where it can begin with a huge page again. Should
         * that fail, the target may be unmapped by then, or be another's, and is left alone. */
        void *target = weiri_pages_alloc(new_size);
        if (target != NULL) {
            moved = mremap(block, old_size, new_size, MREMAP_MAYMOVE | MREMAP_FIXED, target);
        }
    }
    return moved == MAP_FAILED ? NULL : moved;
}

void *weiri_pages_resize(void *block, size_t old_size, size_t new_size)
{
    void *moved = remap(block, old_size, new_size);
    if (moved == NULL) {
        moved = weiri_pages_alloc(new_size);
        if (moved != NULL) {
            memcpy(moved, block, old_size < new_size ? old_size : new_size);
            weiri_pages_release(block, old_size);
        }
    }
    return moved;
}

/* It fails where the kernel has no memory to split a mapping in two; the block is lost then, as it
 * is in free(). */
void weiri_pages_release(void *block, size_t size)
{
    (void)munmap(block, size);
}
