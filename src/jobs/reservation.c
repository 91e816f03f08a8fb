/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/alloc.h"
#include "jobs/broker.h"

struct weiri_reservation *weiri_reservation_new(const struct weir_allocator *allocator,
                                                const char *id, const char *tube, size_t body_size,
                                                const char *reason, const char *headers,
                                                void **ret_body)
{
    size_t id_size = strlen(id) + 1;
    size_t tube_size = strlen(tube) + 1;
    size_t reason_size = strlen(reason) + 1;
    size_t headers_size = headers == NULL ? 0 : strlen(headers) + 1;
    size_t size =
        sizeof(struct weiri_reservation) + id_size + tube_size + reason_size + headers_size;
    /* The body is last, and one byte longer, so that it is not NULL when empty. */
    if (__builtin_add_overflow(size, body_size, &size) || __builtin_add_overflow(size, 1, &size)) {
        return NULL;
    }
    struct weiri_reservation *reservation = weiri_alloc(allocator, size);
    if (reservation == NULL) {
        return NULL;
    }
    char *id_copy = (char *)(reservation + 1);
    char *tube_copy = id_copy + id_size;
    char *reason_copy = tube_copy + tube_size;
    char *headers_copy = headers == NULL ? NULL : reason_copy + reason_size;
    char *body = reason_copy + reason_size + headers_size;
    memcpy(id_copy, id, id_size);
    memcpy(tube_copy, tube, tube_size);
    memcpy(reason_copy, reason, reason_size);
    if (headers != NULL) {
        memcpy(headers_copy, headers, headers_size);
    }
    body[body_size] = '\0';
    *reservation = (struct weiri_reservation){
        .job = {.id = id_copy,
                .tube = tube_copy,
                .body = body,
                .body_size = body_size,
                .reason = reason_copy,
                .headers = headers_copy,
                .progress = -1},
        .size = size,
    };
    weiri_list_init(&reservation->link);
    weiri_list_init(&reservation->kept);
    *ret_body = body;
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
