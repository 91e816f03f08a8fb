/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_QUEUE_MODEL_H
#define WEIR_TEST_QUEUE_MODEL_H

#include <stdarg.h>

#include <weir/snapshot.h>

#include "queue/queue.h"

#include "models/queue_operation.h"

/* The queue and its reference side by side: each operation is done on both, and everything that can
 * be observed is compared after it. */

#define MESSAGE_SIZE 256
/* A work in a consumer's hand, or one that was. */
struct hand {
    bool is_there;
    struct weir_work work;
    unsigned item;
    uint64_t processing; /* the reference's name of it */
};

struct model {
    weir_clock *clock;
    weir_limiter *limiter;
    weir_queue *queue;
    struct weir_item nodes[MODEL_ITEMS];
    struct reference reference;
    struct hand held[MODEL_ITEMS];  /* by item */
    struct hand stale[MODEL_ITEMS]; /* the last that has ended, by item */
    uint64_t last_ticket;
    /* What the limiter was told. */
    uint64_t tries[MODEL_ITEMS];
    int64_t reserved;
    char *message;
};

/* Leaves the calling function with false, and with a message, unless the condition holds. */
#define EXPECT(m, condition, ...)                                                                  \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)snprintf((m)->message, MESSAGE_SIZE, __VA_ARGS__);                               \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

#define EXPECT_STATUS(m, got, want)                                                                \
    EXPECT(m, (got) == (want), "status %s, expected %s", weir_status_name((int)(got)),             \
           weir_status_name((int)(want)))

static inline struct weir_key model_key(struct model *m, unsigned item)
{
    static const char *const names[] = {"0", "1", "2", "a key that fits into no record: 3",
                                        "a key that fits into no record: 4"};
    return item < 5 ? weir_key_string(names[item]) : weir_key_item(&m->nodes[item]);
}

static inline unsigned model_item(struct model *m, struct weir_key key)
{
    for (unsigned i = 0; i < MODEL_ITEMS; i++) {
        struct weir_key mine = model_key(m, i);
        if (mine.size == key.size &&
            (i < 5 ? memcmp(mine.data, key.data, key.size) == 0 : mine.data == key.data)) {
            return i;
        }
    }
    return MODEL_ITEMS;
}

/* The limiter: counts tries, and what came to nothing. */
static inline enum weir_status model_when(void *self, struct weir_key key, int64_t now_ns,
                                          int64_t *ret_delay_ns)
{
    struct model *m = self;
    (void)now_ns;
    *ret_delay_ns = reference_delay(m->tries[model_item(m, key)]++);
    m->reserved++;
    return WEIR_OK;
}

static inline void model_forget(void *self, struct weir_key key)
{
    struct model *m = self;
    m->tries[model_item(m, key)] = 0;
}

static inline uint64_t model_num_requeues(void *self, struct weir_key key)
{
    struct model *m = self;
    return m->tries[model_item(m, key)];
}

static inline void model_destroy(void *self)
{
    (void)self;
}

static inline void model_give_back(void *self, struct weir_key key, int64_t now_ns)
{
    struct model *m = self;
    (void)key;
    (void)now_ns;
    m->reserved--;
}

static inline void model_undo(void *self, struct weir_key key, int64_t now_ns)
{
    struct model *m = self;
    (void)now_ns;
    m->tries[model_item(m, key)]--;
    m->reserved--;
}

/* Of the options of the queues that are made from now on. */
static uint32_t model_queue_flags;

static inline void model_start(struct model *m, enum flaw flaw, char *message)
{
    static const struct weir_limiter_ops ops = {
        .when = model_when,
        .forget = model_forget,
        .num_requeues = model_num_requeues,
        .destroy = model_destroy,
        .give_back = model_give_back,
        .undo = model_undo,
    };
    *m = (struct model){.reference = {.flaw = flaw, .now_ns = 1000}, .message = message};
    m->reference.supersedes = (model_queue_flags & WEIR_QUEUE_SUPERSEDE) != 0;
    CHECK_STATUS(weir_clock_manual_new(1000, test_allocator(), &m->clock), WEIR_OK);
    CHECK_STATUS(weir_limiter_new(&ops, m, test_allocator(), &m->limiter, NULL), WEIR_OK);
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    options.clock = m->clock;
    options.limiter = m->limiter;
    options.flags = model_queue_flags;
    CHECK_STATUS(weir_queue_new(&options, &m->queue, NULL), WEIR_OK);
}

static inline void model_end(struct model *m)
{
    weir_queue_free(m->queue);
    weir_limiter_free(m->limiter);
    weir_clock_free(m->clock);
}

/* Everything that can be asked, except the order, which shows when items are gotten. */
static inline bool model_compare(struct model *m)
{
    const struct reference *r = &m->reference;
    struct weir_queue_counts counts;
    enum weir_status status = weir_queue_count(m->queue, &counts);
    EXPECT_STATUS(m, status, WEIR_OK);
    EXPECT(m, counts.queued == r->queued, "%zu queued, expected %zu", counts.queued, r->queued);
    EXPECT(m, weir_queue_len(m->queue) == r->queued, "len differs from the count of queued items");
    size_t waiting = reference_count(r, false);
    EXPECT(m, counts.waiting == waiting, "%zu waiting, expected %zu", counts.waiting, waiting);
    size_t processing = reference_count(r, true);
    EXPECT(m, counts.processing == processing, "%zu processing, expected %zu", counts.processing,
           processing);
    EXPECT(m, counts.dropped == r->dropped, "%llu dropped, expected %llu",
           (unsigned long long)counts.dropped, (unsigned long long)r->dropped);
    EXPECT(m, weir_queue_shutting_down(m->queue) == r->shut, "shutting down: %d, expected %d",
           weir_queue_shutting_down(m->queue), r->shut);
    for (unsigned i = 0; i < MODEL_ITEMS; i++) {
        struct weir_snapshot_item item;
        status = weir_queue_lookup(m->queue, model_key(m, i), &item);
        EXPECT_STATUS(m, status, WEIR_OK);
        const struct reference_item *want = &r->items[i];
        EXPECT(m, (int)item.place == (int)want->place, "%s is at place %d, expected %d",
               item_name(i), (int)item.place, (int)want->place);
        EXPECT(m, item.due_ns == (want->waiting ? want->time_ns : -1), "%s is due at %lld",
               item_name(i), (long long)item.due_ns);
        uint64_t tries = 0;
        status = weir_queue_num_requeues(m->queue, model_key(m, i), &tries);
        EXPECT_STATUS(m, status, WEIR_OK);
        EXPECT(m, tries == r->items[i].tries, "%llu requeues of %s, expected %llu",
               (unsigned long long)tries, item_name(i), (unsigned long long)r->items[i].tries);
    }
    EXPECT(m, m->reserved == r->reserved, "the limiter holds %lld reservations, expected %lld",
           (long long)m->reserved, (long long)r->reserved);
    for (unsigned i = 0; i < MODEL_ITEMS; i++) {
        EXPECT(m, !m->held[i].is_there || model_item(m, m->held[i].work.key) == i,
               "the key of %s in a consumer's hand has changed", item_name(i));
    }
    return true;
}

/* Takes what the queue handed out; the reference must hand out the same. */
static inline bool model_hand_out(struct model *m, const struct weir_work *work)
{
    unsigned got = model_item(m, work->key);
    EXPECT(m, got < MODEL_ITEMS, "handed out something that was never added");
    EXPECT(m, m->reference.queued > 0, "handed out %s, expected nothing", item_name(got));
    unsigned want = reference_get(&m->reference);
    EXPECT(m, got == want, "handed out %s, expected %s", item_name(got), item_name(want));
    EXPECT(m, work->item == (got < 5 ? NULL : &m->nodes[got]), "the wrong item for the key");
    EXPECT(m, m->last_ticket == 0 || work->ticket > m->last_ticket, "the ticket did not rise");
    m->last_ticket = work->ticket;
    m->held[got] = (struct hand){true, *work, got, m->reference.items[got].processing};
    return true;
}

/* The processing has ended. */
static inline void model_put_down(struct model *m, const struct hand *hand)
{
    m->stale[hand->item] = *hand;
    m->held[hand->item].is_there = false;
}

#endif
