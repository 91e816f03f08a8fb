/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/alloc.h"
#include "jobs/core/backend.h"

struct weiri_reservation *weiri_reservation_new(const struct weir_allocator *allocator,
                                                const struct weir_job *job, size_t body_size,
                                                void **ret_body)
{
    struct weir_job copy = *job;
    /* Each may be NULL. */
#define TEXT(name, kind, limit, feature) &copy.name,
    const char **texts[] = {&copy.id, &copy.tube, &copy.reason, &copy.identity,
                            WEIRI_TEXT_FIELDS(TEXT)};
    const size_t count = sizeof(texts) / sizeof(texts[0]);
    size_t size = sizeof(struct weiri_reservation);
    for (size_t i = 0; i < count; i++) {
        size += *texts[i] == NULL ? 0 : strlen(*texts[i]) + 1;
    }
    /* The body is last, and one byte longer, so that it is not NULL when empty. */
    if (__builtin_add_overflow(size, body_size, &size) || __builtin_add_overflow(size, 1, &size)) {
        return NULL;
    }
    struct weiri_reservation *reservation = weiri_alloc(allocator, size);
    if (reservation == NULL) {
        return NULL;
    }
    char *end = (char *)(reservation + 1);
    for (size_t i = 0; i < count; i++) {
        size_t text_size = *texts[i] == NULL ? 0 : strlen(*texts[i]) + 1;
        if (text_size > 0) {
            *texts[i] = memcpy(end, *texts[i], text_size);
        }
        end += text_size;
    }
    end[body_size] = '\0';
    copy.body = end;
    copy.body_size = body_size;
    *reservation = (struct weiri_reservation){.job = copy, .size = size};
    weiri_list_init(&reservation->link);
    weiri_list_init(&reservation->kept);
    *ret_body = end;
    return reservation;
}

void weiri_reservation_free(const struct weir_allocator *allocator,
                            struct weiri_reservation *reservation)
{
    if (reservation != NULL) {
        weiri_release(allocator, reservation, reservation->size);
    }
}

void weiri_reservations_free(const struct weir_allocator *allocator, struct weiri_list *list)
{
    while (!weiri_list_is_empty(list)) {
        struct weiri_reservation *first =
            WEIRI_CONTAINER(list->next, struct weiri_reservation, link);
        weiri_list_remove(&first->link);
        weiri_reservation_free(allocator, first);
    }
}
