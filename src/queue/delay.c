/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/delay.h"

#include "base/inline.h"
#include "base/panic.h"
#include "queue/delay_gaps.h"
#include "queue/delay_sort.h"

#define FIRST WEIRI_DELAY_FIRST
#define CHILDREN ((size_t)4)
#define SLAB_SIZE (WEIRI_DELAY_SLAB * sizeof(struct weiri_delay_entry))
/* How far ahead of the item that is taken the next ones are fetched into the cache. */
#define PREFETCH 8
/* How many entries of the inbox join the heap for each that is taken off it. More than one: where
 * as much comes as is taken, the inbox stays short, and never has to be looked at as a whole. */
#define ABSORBED 2
/* So many gaps stay for a while before an insert fills the first of them. */
#define GAPS_KEPT 4

static struct weiri_delay_entry *at(const struct weiri_delay *delay, size_t slot)
{
    return weiri_delay_at(delay, slot);
}

/* The children of a node are CHILDREN slots, of which the first is a multiple of CHILDREN: they lie
 * in one slab, because slots begin at 3. */
static size_t children_of(size_t slot)
{
    return (slot - FIRST + 1) * CHILDREN;
}

static size_t parent_of(size_t slot)
{
    return slot / CHILDREN - 1 + FIRST;
}

_Static_assert(WEIRI_DELAY_FIRST == CHILDREN - 1, "the root's children begin a group");

/* Puts an entry at a slot of the heap, or as far towards the root as it belongs. */
static void sift_up(struct weiri_delay *delay, size_t slot, struct weiri_delay_entry entry)
{
    while (slot > FIRST) {
        size_t parent = parent_of(slot);
        const struct weiri_delay_entry *above = at(delay, parent);
        if (!weiri_delay_is_before(&entry, above)) {
            break;
        }
        weiri_delay_place(delay, slot, *above);
        slot = parent;
    }
    weiri_delay_place(delay, slot, entry);
}

/* Which of up to CHILDREN entries comes first. Which one it is cannot be foretold, so the common
 * case has no branch that depends on it. */
static size_t first_of(const struct weiri_delay_entry *entries, size_t count)
{
    if (count == CHILDREN) {
        int64_t a = entries[0].time_ns;
        int64_t b = entries[1].time_ns;
        int64_t c = entries[2].time_ns;
        int64_t d = entries[3].time_ns;
        int64_t ab = b < a ? b : a;
        int64_t cd = d < c ? d : c;
        size_t in_ab = b < a;
        size_t in_cd = 2 + (size_t)(d < c);
        if (__builtin_expect((a != b) & (c != d) & (ab != cd), 1)) {
            return cd < ab ? in_cd : in_ab;
        }
    }
    size_t first = 0;
    for (size_t i = 1; i < count; i++) {
        if (weiri_delay_is_before(&entries[i], &entries[first])) {
            first = i;
        }
    }
    return first;
}

/* Puts an entry at a slot of the heap, or as far towards the leaves as it belongs. */
static void sift_down(struct weiri_delay *delay, size_t slot, struct weiri_delay_entry entry)
{
    for (;;) {
        size_t first = children_of(slot);
        if (first >= delay->heap_end) {
            break;
        }
        const struct weiri_delay_entry *children = at(delay, first);
        size_t count = delay->heap_end - first < CHILDREN ? delay->heap_end - first : CHILDREN;
        size_t least = first_of(children, count);
        if (!weiri_delay_is_before(&children[least], &entry)) {
            break;
        }
        weiri_delay_place(delay, slot, children[least]);
        slot = first + least;
    }
    weiri_delay_place(delay, slot, entry);
}

/* Puts an entry at a slot of the heap or wherever its order takes it from there. */
static void sift(struct weiri_delay *delay, size_t slot, struct weiri_delay_entry entry)
{
    if (slot > FIRST && weiri_delay_is_before(&entry, at(delay, parent_of(slot)))) {
        sift_up(delay, slot, entry);
    } else {
        sift_down(delay, slot, entry);
    }
}

static int64_t heap_next(const struct weiri_delay *delay)
{
    return delay->heap_end == FIRST ? INT64_MAX : at(delay, FIRST)->time_ns;
}

static void refresh_next(struct weiri_delay *delay)
{
    if (delay->due > 0) {
        delay->next_ns = at(delay, weiri_delay_end(delay) - 1)->time_ns;
        return;
    }
    int64_t heap_ns = heap_next(delay);
    delay->next_ns = delay->inbox_ns < heap_ns ? delay->inbox_ns : heap_ns;
}

static void empty_inbox(struct weiri_delay *delay)
{
    delay->inbox_ns = INT64_MAX;
    delay->inbox_first = 0;
    delay->gaps = 0;
}

/* What is at this slot is about to leave the inbox. The slots are compared, not the times, so that
 * the entry need not be looked at. */
static void note_leaving(struct weiri_delay *delay, size_t slot)
{
    if (slot == delay->inbox_first) {
        delay->inbox_first = 0;
    }
}

/* A slot behind the heap has lost its item, which is counted no more. */
static void leave_gap(struct weiri_delay *delay, size_t slot)
{
    if (FIRST + delay->count == delay->heap_end) {
        empty_inbox(delay);
        return;
    }
    weiri_delay_leave_gap(delay, slot);
}

/* Takes up to most entries of the inbox into the heap. Most of them stay where they are, and their
 * items need not be touched. */
static void absorb(struct weiri_delay *delay, size_t most)
{
    weiri_delay_close_gaps(delay);
    size_t end = weiri_delay_end(delay);
    for (size_t n = 0; n < most && delay->heap_end < end; n++) {
        size_t slot = delay->heap_end++;
        struct weiri_delay_entry entry = *at(delay, slot);
        note_leaving(delay, slot);
        if (slot > FIRST && weiri_delay_is_before(&entry, at(delay, parent_of(slot)))) {
            sift_up(delay, slot, entry);
        }
    }
    if (delay->heap_end == end) {
        empty_inbox(delay);
    }
}

/* Moves what is due behind the rest; returns where it begins. */
static size_t partition(struct weiri_delay *delay, int64_t now_ns)
{
    size_t rest_end = FIRST;
    size_t due_start = weiri_delay_end(delay);
    for (;;) {
        while (rest_end < due_start && at(delay, rest_end)->time_ns > now_ns) {
            rest_end++;
        }
        while (rest_end < due_start && at(delay, due_start - 1)->time_ns <= now_ns) {
            due_start--;
        }
        if (rest_end == due_start) {
            return due_start;
        }
        struct weiri_delay_entry due = *at(delay, rest_end);
        weiri_delay_place(delay, rest_end++, *at(delay, --due_start));
        *at(delay, due_start) = due;
    }
}

/* Sorts what is due, and makes a heap of all the rest. */
static void gather_due(struct weiri_delay *delay, int64_t now_ns)
{
    size_t due_start = partition(delay, now_ns);
    delay->due = weiri_delay_end(delay) - due_start;
    delay->heap_end = due_start;
    empty_inbox(delay);
    for (size_t slot = due_start > FIRST + 1 ? parent_of(due_start - 1) + 1 : FIRST;
         slot-- > FIRST;) {
        sift_down(delay, slot, *at(delay, slot));
    }
    weiri_delay_sort(delay, due_start, delay->due);
}

void weiri_delay_init(struct weiri_delay *delay)
{
    *delay = (struct weiri_delay){.heap_end = FIRST, .next_ns = INT64_MAX};
    empty_inbox(delay);
}

void weiri_delay_fini(struct weiri_delay *delay, const struct weir_allocator *allocator)
{
    weiri_delay_close_gaps(delay);
    for (size_t slot = FIRST; slot < weiri_delay_end(delay); slot++) {
        at(delay, slot)->item->weir_wait = 0;
    }
    weiri_slabs_fini(&delay->slabs, allocator, SLAB_SIZE);
    weiri_delay_init(delay);
}

enum weir_status weiri_delay_reserve_slow(struct weiri_delay *delay,
                                          const struct weir_allocator *allocator, size_t count)
{
    if (count > UINT32_MAX - FIRST) {
        return WEIR_ENOMEM; /* weir_wait could not hold the slot */
    }
    while (delay->slabs.count << WEIRI_DELAY_SLAB_BITS < FIRST + count) {
        if (weiri_slabs_grow(&delay->slabs, allocator, SLAB_SIZE) != WEIR_OK) {
            return WEIR_ENOMEM;
        }
    }
    return WEIR_OK;
}

void weiri_delay_trim(struct weiri_delay *delay, const struct weir_allocator *allocator)
{
    size_t keep = weiri_slabs_to_keep(weiri_delay_end(delay), WEIRI_DELAY_SLAB);
    if (delay->slabs.count > keep) {
        weiri_slabs_trim(&delay->slabs, allocator, SLAB_SIZE, keep);
    }
}

/* What comes to this slot of the inbox has this time. */
static void note_time(struct weiri_delay *delay, size_t slot, int64_t time_ns)
{
    if (time_ns <= delay->inbox_ns) {
        delay->inbox_ns = time_ns;
        delay->inbox_first = slot;
    }
    if (time_ns < delay->next_ns) {
        delay->next_ns = time_ns;
    }
}

void weiri_delay_insert(struct weiri_delay *delay, struct weir_item *item, int64_t time_ns)
{
    size_t slot = weiri_delay_end(delay);
    size_t room = delay->slabs.count << WEIRI_DELAY_SLAB_BITS;
    if (delay->gaps > GAPS_KEPT || (delay->gaps > 0 && slot == room)) {
        slot = weiri_delay_take_gap(delay);
    }
    WEIRI_ASSERT(item->weir_wait == 0 && delay->due == 0 && slot < room);
    delay->count++;
    weiri_delay_place(delay, slot, (struct weiri_delay_entry){time_ns, delay->arrivals++, item});
    note_time(delay, slot, time_ns);
}

void weiri_delay_move(struct weiri_delay *delay, struct weir_item *item, int64_t time_ns)
{
    WEIRI_ASSERT(weiri_delay_has(delay, item) && delay->due == 0);
    size_t slot = item->weir_wait;
    struct weiri_delay_entry entry = {time_ns, delay->arrivals++, item};
    if (slot < delay->heap_end) {
        sift(delay, slot, entry);
        delay->next_ns = time_ns < delay->next_ns ? time_ns : delay->next_ns;
    } else {
        note_leaving(delay, slot);
        *at(delay, slot) = entry;
        note_time(delay, slot, time_ns);
    }
}

/* A function of its own, so that what leaves the inbox need not save the registers it takes. */
static WEIRI_NOINLINE void take_out_of_heap(struct weiri_delay *delay, size_t slot)
{
    /* The heap's last entry fills its gap. */
    size_t last = --delay->heap_end;
    if (slot != last) {
        sift(delay, slot, *at(delay, last));
    }
    leave_gap(delay, last);
}

void weiri_delay_remove(struct weiri_delay *delay, struct weir_item *item)
{
    size_t slot = item->weir_wait;
    WEIRI_ASSERT(slot < weiri_delay_end(delay) && delay->due == 0);
    WEIRI_DEBUG_ASSERT(weiri_delay_has(delay, item));
    item->weir_wait = 0;
    delay->count--;
    if (slot < delay->heap_end) {
        take_out_of_heap(delay, slot);
        return;
    }
    note_leaving(delay, slot);
    leave_gap(delay, slot);
}

int64_t weiri_delay_next(struct weiri_delay *delay)
{
    if (delay->inbox_first == 0 && delay->inbox_ns < heap_next(delay)) {
        absorb(delay, SIZE_MAX);
    }
    refresh_next(delay);
    return delay->next_ns;
}

/* Something may be due: brings it to the end, sorted, or to the top of the heap. Looking at all
 * entries is paid for by the half of them that leave the inbox by it, or by the eighth that was
 * taken off the heap one by one before. */
static void arrange(struct weiri_delay *delay, int64_t now_ns)
{
    if (now_ns != delay->taken_ns) {
        delay->taken_ns = now_ns;
        delay->taken = 0;
    }
    size_t heap = delay->heap_end - FIRST;
    bool is_inbox_due = delay->inbox_ns <= now_ns;
    if ((is_inbox_due && delay->count - heap >= heap) || delay->taken > delay->count / 8) {
        delay->taken = 0;
        gather_due(delay, now_ns);
    } else if (is_inbox_due) {
        absorb(delay, SIZE_MAX);
    }
}

static struct weir_item *pop_last(struct weiri_delay *delay, int64_t *ret_time_ns)
{
    delay->count--;
    delay->due--;
    size_t slot = weiri_delay_end(delay);
    if (delay->due > PREFETCH) {
        __builtin_prefetch(at(delay, slot - PREFETCH)->item, 1);
    }
    const struct weiri_delay_entry *last = at(delay, slot);
    last->item->weir_wait = 0;
    *ret_time_ns = last->time_ns;
    return last->item;
}

/* The only entry, as it often is, needs no order. */
static struct weir_item *pop_only(struct weiri_delay *delay, int64_t now_ns, int64_t *ret_time_ns)
{
    const struct weiri_delay_entry *only = at(delay, FIRST);
    if (only->time_ns > now_ns) {
        delay->next_ns = only->time_ns;
        return NULL;
    }
    delay->count = 0;
    delay->due = 0;
    delay->heap_end = FIRST;
    delay->next_ns = INT64_MAX;
    empty_inbox(delay);
    only->item->weir_wait = 0;
    *ret_time_ns = only->time_ns;
    return only->item;
}

static WEIRI_NOINLINE struct weir_item *pop_first(struct weiri_delay *delay, int64_t now_ns,
                                                  int64_t *ret_time_ns)
{
    if (delay->due == 0) {
        arrange(delay, now_ns);
    }
    struct weir_item *item = NULL;
    if (delay->due > 0) {
        item = pop_last(delay, ret_time_ns);
    } else if (delay->heap_end > FIRST && at(delay, FIRST)->time_ns <= now_ns) {
        item = at(delay, FIRST)->item;
        *ret_time_ns = at(delay, FIRST)->time_ns;
        weiri_delay_remove(delay, item);
        delay->taken++;
        absorb(delay, ABSORBED);
    }
    refresh_next(delay);
    return item;
}

struct weir_item *weiri_delay_pop_due_slow(struct weiri_delay *delay, int64_t now_ns,
                                           int64_t *ret_time_ns)
{
    if (delay->gaps > 0) {
        weiri_delay_close_gaps(delay);
    }
    return delay->count == 1 ? pop_only(delay, now_ns, ret_time_ns)
                             : pop_first(delay, now_ns, ret_time_ns);
}
