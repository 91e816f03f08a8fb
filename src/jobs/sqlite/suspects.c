/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The suspects that a process keeps: jobs whose last runs were lost with their workers. */
#include "jobs/sqlite/exchange.h"

#include "base/time.h"

void weiri_store_let_go(void *arg, struct weiri_reservation *reservation)
{
    struct weiri_store *store = arg;
    unsigned first = 0;
    unsigned end = 0;
    weiri_mutex_lock(&store->mutex);
    weiri_list_remove(&reservation->kept);
    if (reservation->job.is_suspect) {
        first = store->suspects_first;
        end = store->suspects_end;
        store->suspects_end = 0;
    }
    weiri_mutex_unlock(&store->mutex);
    for (unsigned channel = first; channel < end; channel++) {
        weiri_channel_notify(&store->lock_file, channel, INT_MAX);
    }
}

/* Whether the exchange itself ends a reservation, which is kept until its answer. */
static bool is_ending(const struct weiri_exchange *exchange,
                      const struct weiri_reservation *reservation)
{
    const struct weiri_settlement *settlement = exchange->settlements;
    while (settlement != NULL &&
           (settlement->reservation != reservation || settlement->event == WEIRI_JOB_TOUCH)) {
        settlement = settlement->next;
    }
    return settlement != NULL;
}

struct weiri_suspects weiri_suspects_here(struct weiri_store *store,
                                          const struct weiri_exchange *exchange, int64_t tube)
{
    int64_t now = weiri_store_lease_now(store);
    struct weiri_suspects here = {.is_awaited =
                                      store->awaited_tube != tube && now < store->awaited_until_ns};
    weiri_mutex_lock(&store->mutex);
    for (struct weiri_list *link = store->kept.next; link != &store->kept; link = link->next) {
        const struct weiri_reservation *one = WEIRI_CONTAINER(link, struct weiri_reservation, kept);
        int64_t new_in_ns = weiri_time_sub(one->new_until_ns, now);
        if (one->job.is_suspect && !is_ending(exchange, one)) {
            here.is_there = true;
            here.is_alone = here.is_alone || one->is_alone;
            here.new_in_ns = here.new_in_ns > new_in_ns ? here.new_in_ns : new_in_ns;
        }
    }
    if (here.is_there) {
        /* Under the mutex under which the last of these is let go. */
        unsigned channel = weiri_store_channel(tube);
        bool is_first = store->suspects_end == 0 || channel < store->suspects_first;
        store->suspects_first = is_first ? channel : store->suspects_first;
        store->suspects_end = channel < store->suspects_end ? store->suspects_end : channel + 1;
    }
    weiri_mutex_unlock(&store->mutex);
    return here;
}
