/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/limiter.h"

#include <stdio.h>
#include <string.h>

#include "queue/limiters.h"

/* The limiters that are per item, by random operations against a list that is searched from end to
 * end. Both must agree in the count of every key after every step, and in each answer of a bucket.
 * The list has a bucket limiter for each key, which is tested against golang's. */

#define KEYS 40
#define LIMIT 12
#define AGE 50
/* A bucket fills in 15 ns. */
#define QPS 2e8
#define BURST 3

struct entry {
    size_t key;
    uint64_t count;
    int64_t last_ns;
    weir_limiter *bucket;
};

/* In order of last use, the oldest first. */
struct reference {
    struct entry entries[LIMIT];
    size_t count;
    int64_t now_ns;
};

static void take_out(struct reference *reference, size_t index)
{
    weir_limiter_free(reference->entries[index].bucket);
    reference->count--;
    memmove(&reference->entries[index], &reference->entries[index + 1],
            (reference->count - index) * sizeof(struct entry));
}

static void drop_old(struct reference *reference)
{
    while (reference->count > 0 && reference->now_ns - reference->entries[0].last_ns >= AGE) {
        take_out(reference, 0);
    }
}

static size_t position(const struct reference *reference, size_t key)
{
    size_t index = 0;
    while (index < reference->count && reference->entries[index].key != key) {
        index++;
    }
    return index;
}

static uint64_t reference_read(const struct reference *reference, size_t key)
{
    size_t index = position(reference, key);
    return index < reference->count ? reference->entries[index].count : 0;
}

/* The key's entry, which is the last now. */
static struct entry *reference_use(struct reference *reference, size_t key, int64_t now_ns)
{
    reference->now_ns = now_ns > reference->now_ns ? now_ns : reference->now_ns;
    drop_old(reference);
    struct entry entry = {.key = key};
    size_t index = position(reference, key);
    if (index < reference->count) {
        entry = reference->entries[index];
        reference->entries[index].bucket = NULL;
        take_out(reference, index);
    } else if (reference->count == LIMIT) {
        take_out(reference, 0);
    }
    entry.count++;
    entry.last_ns = reference->now_ns;
    reference->entries[reference->count] = entry;
    return &reference->entries[reference->count++];
}

static void reference_remove(struct reference *reference, size_t key, uint64_t count)
{
    size_t index = position(reference, key);
    if (index < reference->count && reference->entries[index].count <= count) {
        take_out(reference, index);
    } else if (index < reference->count) {
        reference->entries[index].count -= count;
    }
}

/* Short keys, long keys and embedded items. */
static char names[KEYS][64];
static struct weir_item items[KEYS];

static struct weir_key key_of(size_t index)
{
    if (index % 3 == 0) {
        return weir_key_item(&items[index]);
    }
    (void)snprintf(names[index], sizeof(names[index]), "%s%zu",
                   index % 3 == 1 ? "" : "a-name-longer-than-a-record-holds-", index);
    return weir_key_string(names[index]);
}

static weir_limiter *make(bool is_bucket)
{
    struct weir_limiter_options options = limiter_options();
    options.items_max = LIMIT;
    options.forget_after_ns = AGE;
    weir_limiter *limiter;
    CHECK_STATUS(is_bucket ? weir_limiter_item_bucket_new(QPS, BURST, &options, &limiter, NULL)
                           : weir_limiter_exponential_new(1, INT64_MAX, &options, &limiter, NULL),
                 WEIR_OK);
    return limiter;
}

static void check_counts(weir_limiter *limiter, const struct reference *reference)
{
    for (size_t i = 0; i < KEYS; i++) {
        uint64_t count = weir_limiter_num_requeues(limiter, key_of(i));
        CHECK_INT(count, ==, reference_read(reference, i));
    }
}

/* The time of the next step: sometimes late. */
static int64_t next_time(int64_t *now_ns)
{
    if (test_random_below(9) == 0) {
        *now_ns += (int64_t)test_random_below(test_random_below(8) == 0 ? 3 * AGE : 8);
    }
    return *now_ns - (int64_t)test_random_below(3);
}

static size_t next_key(void)
{
    return (size_t)test_random_below(test_random_below(2) == 0 ? 6 : KEYS);
}

static void step(weir_limiter *limiter, struct reference *reference, int64_t *now_ns)
{
    size_t index = next_key();
    struct weir_key key = key_of(index);
    int64_t time_ns = next_time(now_ns);
    int64_t delay_ns = -1;
    switch (test_random_below(10)) {
    case 0:
        weir_limiter_forget(limiter, key);
        reference_remove(reference, index, UINT64_MAX);
        break;
    case 1:
        weiri_limiter_undo(limiter, key, time_ns);
        reference_remove(reference, index, 1);
        break;
    default:
        CHECK_STATUS(weir_limiter_when(limiter, key, time_ns, &delay_ns), WEIR_OK);
        uint64_t before = reference_use(reference, index, time_ns)->count - 1;
        CHECK_INT(delay_ns, ==, before < 63 ? INT64_C(1) << before : INT64_MAX);
    }
    check_counts(limiter, reference);
}

TEST(model, "failures are remembered as by a plain list, after each of many random steps")
{
    uint64_t rounds = test_scaled(40);
    for (uint64_t i = 0; i < rounds; i++) {
        weir_limiter *limiter = make(false);
        struct reference reference = {.now_ns = INT64_MIN / 2};
        int64_t now_ns = 1000;
        for (int n = 0; n < 1000; n++) {
            step(limiter, &reference, &now_ns);
        }
        weir_limiter_free(limiter);
    }
}

static void step_bucket(weir_limiter *limiter, struct reference *reference, int64_t *now_ns)
{
    size_t index = next_key();
    struct weir_key key = key_of(index);
    int64_t time_ns = next_time(now_ns);
    struct entry *entry = reference_use(reference, index, time_ns);
    if (entry->bucket == NULL) {
        entry->bucket = bucket(QPS, BURST);
    }
    int64_t delay_ns = -1;
    int64_t expected_ns = -2;
    CHECK_STATUS(weir_limiter_when(limiter, key, time_ns, &delay_ns), WEIR_OK);
    CHECK_STATUS(weir_limiter_when(entry->bucket, key, reference->now_ns, &expected_ns), WEIR_OK);
    CHECK_INT(delay_ns, ==, expected_ns);
    index = next_key();
    if (test_random_below(3) == 0) { /* also of a key that is not remembered */
        size_t at = position(reference, index);
        weiri_limiter_give_back(limiter, key_of(index), time_ns);
        if (at < reference->count) {
            weiri_limiter_give_back(reference->entries[at].bucket, key, time_ns);
        }
    }
    weir_limiter_forget(limiter, key);
    CHECK_INT(weir_limiter_num_requeues(limiter, key), ==, 0);
}

TEST(buckets, "each key has its own bucket, full when it is new or was forgotten by the bounds")
{
    uint64_t rounds = test_scaled(40);
    for (uint64_t i = 0; i < rounds; i++) {
        weir_limiter *limiter = make(true);
        struct reference reference = {.now_ns = INT64_MIN / 2};
        int64_t now_ns = 1000;
        for (int n = 0; n < 1000; n++) {
            step_bucket(limiter, &reference, &now_ns);
        }
        while (reference.count > 0) {
            take_out(&reference, 0);
        }
        weir_limiter_free(limiter);
    }
}

TEST(no_memory, "a failure that cannot be stored is not counted, and nothing else changes")
{
    weir_limiter *limiter = make(false);
    struct reference reference = {.now_ns = 0};
    unsigned refused = 0;
    for (int n = 0; n < 4000; n++) {
        size_t index = (size_t)test_random_below(KEYS);
        struct weir_key key = key_of(index);
        int64_t delay_ns = 12345;
        if (test_random_below(8) == 0) {
            weir_limiter_forget(limiter, key);
            reference_remove(&reference, index, UINT64_MAX);
        }
        test_fail_allocation(test_random_below(3), false);
        enum weir_status status = weir_limiter_when(limiter, key, 0, &delay_ns);
        test_fail_allocation(0, false);
        if (status == WEIR_OK) {
            (void)reference_use(&reference, index, 0);
        } else {
            CHECK_STATUS(status, WEIR_ENOMEM);
            CHECK_INT(delay_ns, ==, 12345);
            refused++;
        }
        check_counts(limiter, &reference);
    }
    CHECK_INT(refused, >, 100);
    weir_limiter_free(limiter);
}
