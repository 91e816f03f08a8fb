/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/limiter.h"

#include <math.h>

#include "support/harness.h"

/* The interface, limiters of one's own, misuse, lack of memory. */

/* A user's own limiter that records its calls. */
struct own {
    int64_t answer_ns;
    enum weir_status status;
    int64_t now_ns;
    const void *data;
    uint64_t whens;
    uint64_t forgets;
    uint64_t give_backs;
    uint64_t undos;
    unsigned destroyed;
};

static enum weir_status own_when(void *self, struct weir_key key, int64_t now_ns,
                                 int64_t *ret_delay_ns)
{
    struct own *own = self;
    own->now_ns = now_ns;
    own->data = key.data;
    if (own->status == WEIR_OK) {
        own->whens++;
        *ret_delay_ns = own->answer_ns;
    }
    return own->status;
}

static void own_forget(void *self, struct weir_key key)
{
    struct own *own = self;
    own->data = key.data;
    own->forgets++;
}

static uint64_t own_num_requeues(void *self, struct weir_key key)
{
    struct own *own = self;
    own->data = key.data;
    return own->whens;
}

static void own_destroy(void *self)
{
    struct own *own = self;
    own->destroyed++;
}

static void own_give_back(void *self, struct weir_key key, int64_t now_ns)
{
    struct own *own = self;
    own->data = key.data;
    own->now_ns = now_ns;
    own->give_backs++;
}

static void own_undo(void *self, struct weir_key key, int64_t now_ns)
{
    struct own *own = self;
    own->data = key.data;
    own->now_ns = now_ns;
    own->undos++;
}

static const struct weir_limiter_ops own_ops = {
    .when = own_when,
    .forget = own_forget,
    .num_requeues = own_num_requeues,
    .destroy = own_destroy,
    .give_back = own_give_back,
    .undo = own_undo,
};

static weir_limiter *own_new(const struct weir_limiter_ops *ops, struct own *own)
{
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_new(ops, own, test_allocator(), &limiter, NULL), WEIR_OK);
    return limiter;
}

TEST(own, "a limiter of one's own gets every call with its arguments and is destroyed once")
{
    struct own own = {.answer_ns = 70};
    weir_limiter *limiter = own_new(&own_ops, &own);
    struct weir_key key = weir_key_string("a");
    int64_t delay_ns = -1;
    CHECK_STATUS(weir_limiter_when(limiter, key, 5, &delay_ns), WEIR_OK);
    CHECK_INT(delay_ns, ==, 70);
    CHECK_INT(own.now_ns, ==, 5);
    CHECK(own.data == key.data);
    CHECK_INT(weir_limiter_num_requeues(limiter, key), ==, 1);
    weiri_limiter_give_back(limiter, key, 6);
    CHECK_INT(own.give_backs, ==, 1);
    CHECK_INT(own.now_ns, ==, 6);
    weiri_limiter_undo(limiter, key, 7);
    CHECK_INT(own.undos, ==, 1);
    CHECK_INT(own.now_ns, ==, 7);
    weir_limiter_forget(limiter, key);
    CHECK_INT(own.forgets, ==, 1);
    CHECK_INT(own.destroyed, ==, 0);
    weir_limiter_free(limiter);
    CHECK_INT(own.destroyed, ==, 1);
}

TEST(own_answers, "an error passes through and sets nothing; less than nothing is nothing")
{
    struct own own = {.answer_ns = -5};
    weir_limiter *limiter = own_new(&own_ops, &own);
    struct weir_key key = weir_key_string("a");
    int64_t delay_ns = 123;
    CHECK_STATUS(weir_limiter_when(limiter, key, 0, &delay_ns), WEIR_OK);
    CHECK_INT(delay_ns, ==, 0);
    own.status = (enum weir_status)(WEIR_EUSER + 1);
    delay_ns = 123;
    CHECK_INT(weir_limiter_when(limiter, key, 0, &delay_ns), ==, WEIR_EUSER + 1);
    CHECK_INT(delay_ns, ==, 123);
    weir_limiter_free(limiter);
}

TEST(own_optional, "give_back and undo may be absent")
{
    struct own own = {.answer_ns = 1};
    struct weir_limiter_ops ops = own_ops;
    ops.give_back = NULL;
    ops.undo = NULL;
    struct weir_key key = weir_key_string("a");
    weir_limiter *limiter = own_new(&ops, &own);
    weiri_limiter_give_back(limiter, key, 0);
    weiri_limiter_undo(limiter, key, 0);
    weir_limiter_free(limiter);
    CHECK_INT(own.give_backs + own.undos, ==, 0);
    CHECK_INT(own.destroyed, ==, 1);
}

TEST(own_refused, "an incomplete table is refused, and self is not taken")
{
    struct own own = {0};
    weir_limiter *untouched = (weir_limiter *)&own;
    weir_limiter *limiter = untouched;
    CHECK_STATUS(weir_limiter_new(NULL, &own, NULL, &limiter, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_new(&own_ops, &own, NULL, NULL, NULL), WEIR_EINVAL);
    struct weir_limiter_ops ops = own_ops;
    ops.when = NULL;
    CHECK_STATUS(weir_limiter_new(&ops, &own, NULL, &limiter, NULL), WEIR_EINVAL);
    ops = own_ops;
    ops.forget = NULL;
    CHECK_STATUS(weir_limiter_new(&ops, &own, NULL, &limiter, NULL), WEIR_EINVAL);
    ops = own_ops;
    ops.num_requeues = NULL;
    CHECK_STATUS(weir_limiter_new(&ops, &own, NULL, &limiter, NULL), WEIR_EINVAL);
    ops = own_ops;
    ops.destroy = NULL;
    CHECK_STATUS(weir_limiter_new(&ops, &own, NULL, &limiter, NULL), WEIR_EINVAL);
    struct weir_allocator half = *test_allocator();
    half.release = NULL;
    CHECK_STATUS(weir_limiter_new(&own_ops, &own, &half, &limiter, NULL), WEIR_EINVAL);
    CHECK(limiter == untouched);
    CHECK_INT(own.destroyed, ==, 0);
}

TEST(new_refused, "bad arguments of every constructor are refused with their status")
{
    weir_limiter *untouched = (weir_limiter *)&own_ops;
    weir_limiter *made = untouched;
    struct weir_allocator half = {.alloc = test_allocator()->alloc};
    struct weir_limiter_options options = {0};

    CHECK_STATUS(weir_limiter_exponential_new(1, 2, NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_exponential_new(-1, 2, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_exponential_new(3, 2, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_exponential_new(0, INT64_MIN, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_fast_slow_new(1, 2, 3, NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_fast_slow_new(-1, 2, 3, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_fast_slow_new(1, INT64_MIN, 3, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_default_new(NULL, NULL, NULL), WEIR_EINVAL);

    options.allocator = half;
    CHECK_STATUS(weir_limiter_exponential_new(1, 2, &options, &made, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_fast_slow_new(1, 2, 3, &options, &made, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_default_new(&options, &made, NULL), WEIR_EINVAL);
    options = (struct weir_limiter_options){0};
    options.items_max = ((size_t)1 << 30) + 1;
    CHECK_STATUS(weir_limiter_exponential_new(1, 2, &options, &made, NULL), WEIR_ERANGE);
    options.items_max = 0;
    options.forget_after_ns = -1;
    CHECK_STATUS(weir_limiter_fast_slow_new(1, 2, 3, &options, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_default_new(&options, &made, NULL), WEIR_ERANGE);

    CHECK_STATUS(weir_limiter_bucket_new(10, 1, NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_bucket_new(10, 1, &half, &made, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_bucket_new(0, 1, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_bucket_new(-1, 1, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_bucket_new(NAN, 1, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_bucket_new(INFINITY, 1, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_bucket_new(10, 0, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_bucket_new(10, (UINT64_C(1) << 53) + 1, NULL, &made, NULL),
                 WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_item_bucket_new(10, 1, NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_item_bucket_new(0, 1, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_item_bucket_new(10, 0, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_item_bucket_new(10, 1, &options, &made, NULL), WEIR_ERANGE);
    CHECK(made == untouched);
}

TEST(wrap_refused, "bad arguments of those that take a limiter are refused; the caller keeps it")
{
    struct own own = {0};
    weir_limiter *inner = own_new(&own_ops, &own);
    weir_limiter *untouched = (weir_limiter *)&own_ops;
    weir_limiter *made = untouched;
    struct weir_allocator half = {.alloc = test_allocator()->alloc};
    weir_limiter *twice[] = {inner, inner};
    weir_limiter *gap[] = {inner, NULL};

    CHECK_STATUS(weir_limiter_max_of_new(NULL, 1, NULL, &made, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_max_of_new(&inner, 0, NULL, &made, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_max_of_new(&inner, 1, NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_max_of_new(&inner, 1, &half, &made, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_max_of_new(twice, 2, NULL, &made, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_max_of_new(gap, 2, NULL, &made, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_with_max_wait_new(NULL, 1, NULL, &made, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_with_max_wait_new(inner, 1, NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_with_max_wait_new(inner, 1, &half, &made, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_with_max_wait_new(inner, -1, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_with_jitter_new(NULL, 1, 1, NULL, &made, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_with_jitter_new(inner, 1, 1, NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_with_jitter_new(inner, 1, 1, &half, &made, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_with_jitter_new(inner, -0.1, 1, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_with_jitter_new(inner, NAN, 1, NULL, &made, NULL), WEIR_ERANGE);
    CHECK_STATUS(weir_limiter_with_jitter_new(inner, INFINITY, 1, NULL, &made, NULL), WEIR_ERANGE);
    CHECK(made == untouched);
    CHECK_INT(own.destroyed, ==, 0);
    weir_limiter_free(inner);
}

TEST(calls_refused, "NULL and keys that are none are refused or ignored, and reach no limiter")
{
    struct own own = {.answer_ns = 1};
    weir_limiter *limiter = own_new(&own_ops, &own);
    struct weir_key key = weir_key_string("a");
    int64_t delay_ns = 123;
    const struct {
        struct weir_key key;
        enum weir_status status;
    } bad[] = {
        {weir_key_bytes(NULL, 1), WEIR_EINVAL},
        {weir_key_item(NULL), WEIR_EINVAL},
        {weir_key_bytes("a", WEIR_KEY_SIZE_LIMIT + 1), WEIR_ETOOBIG},
        {weir_key_bytes("a", SIZE_MAX - 1), WEIR_ETOOBIG},
    };
    CHECK_STATUS(weir_limiter_when(NULL, key, 0, &delay_ns), WEIR_EINVAL);
    CHECK_STATUS(weir_limiter_when(limiter, key, 0, NULL), WEIR_EINVAL);
    weir_limiter_forget(NULL, key);
    CHECK_INT(weir_limiter_num_requeues(NULL, key), ==, 0);
    CHECK_STATUS(weir_limiter_free(NULL), WEIR_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK_STATUS(weir_limiter_when(limiter, bad[i].key, 0, &delay_ns), bad[i].status);
        weir_limiter_forget(limiter, bad[i].key);
        CHECK_INT(weir_limiter_num_requeues(limiter, bad[i].key), ==, 0);
    }
    CHECK_INT(delay_ns, ==, 123);
    CHECK_INT(own.whens + own.forgets, ==, 0);
    CHECK(own.data == NULL);
    weir_limiter_free(limiter);
}

TEST(libc_allocator, "without an allocator they take libc's memory")
{
    weir_limiter *parts[2];
    CHECK_STATUS(weir_limiter_default_new(NULL, &parts[0], NULL), WEIR_OK);
    CHECK_STATUS(weir_limiter_fast_slow_new(1, 2, 3, NULL, &parts[1], NULL), WEIR_OK);
    weir_limiter *max;
    CHECK_STATUS(weir_limiter_max_of_new(parts, 2, NULL, &max, NULL), WEIR_OK);
    int64_t delay_ns;
    CHECK_STATUS(weir_limiter_when(max, weir_key_string("a"), 0, &delay_ns), WEIR_OK);
    CHECK_INT(delay_ns, ==, WEIR_MS(5));
    CHECK_INT(test_allocated_blocks(), ==, 0);
    weir_limiter_free(max);
}

/* Everything of a tree of limiters, and a use of it. */
TEST_OOM(no_memory,
         "each allocation of each constructor may fail; nothing leaks or stays half-made")
{
    struct weir_limiter_options options = {0};
    options.allocator = *test_allocator();
    weir_limiter *parts[3] = {NULL, NULL, NULL};
    weir_limiter *limiter = NULL;
    if (CHECK_OR_OOM(weir_limiter_default_new(&options, &parts[0], NULL))) {
        CHECK(parts[0] == NULL);
        return;
    }
    if (CHECK_OR_OOM(weir_limiter_fast_slow_new(1, 2, 3, &options, &parts[1], NULL)) ||
        CHECK_OR_OOM(weir_limiter_item_bucket_new(10, 9, &options, &parts[2], NULL)) ||
        CHECK_OR_OOM(weir_limiter_max_of_new(parts, 3, test_allocator(), &limiter, NULL))) {
        CHECK(limiter == NULL);
        for (int i = 0; i < 3; i++) {
            weir_limiter_free(parts[i]);
        }
        return;
    }
    weir_limiter *outer = NULL;
    if (CHECK_OR_OOM(
            weir_limiter_with_max_wait_new(limiter, WEIR_MS(5), test_allocator(), &outer, NULL))) {
        weir_limiter_free(limiter);
        return;
    }
    limiter = NULL;
    if (CHECK_OR_OOM(weir_limiter_with_jitter_new(outer, 0, 1, test_allocator(), &limiter, NULL))) {
        CHECK(limiter == NULL);
        weir_limiter_free(outer);
        return;
    }
    struct weir_key key =
        weir_key_string("a key that is longer than a record of the table has room");
    for (uint64_t i = 0; i < 3; i++) {
        int64_t delay_ns = 123;
        if (CHECK_OR_OOM(weir_limiter_when(limiter, key, 0, &delay_ns))) {
            CHECK_INT(delay_ns, ==, 123);
            CHECK_INT(weir_limiter_num_requeues(limiter, key), ==, i);
            break;
        }
        CHECK_INT(delay_ns, ==, WEIR_MS(5));
        CHECK_INT(weir_limiter_num_requeues(limiter, key), ==, i + 1);
    }
    weir_limiter_free(limiter);
}

static uint64_t tries(size_t size)
{
    return 1 + size % 3;
}

TEST(sizes, "keys of every size, of the same beginning, are counted and forgotten one by one")
{
    enum {
        SIZES = 41
    };
    static const char bytes[SIZES];
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_exponential_new(1, 100, NULL, &limiter, NULL), WEIR_OK);
    for (size_t size = 0; size < SIZES; size++) {
        struct weir_key key = weir_key_bytes(bytes, size);
        for (uint64_t i = 0; i < tries(size); i++) {
            int64_t delay_ns = -1;
            CHECK_STATUS(weir_limiter_when(limiter, key, 0, &delay_ns), WEIR_OK);
            CHECK_INT(delay_ns, ==, INT64_C(1) << i);
        }
    }
    for (size_t size = 0; size < SIZES; size += 2) {
        weir_limiter_forget(limiter, weir_key_bytes(bytes, size));
        weir_limiter_forget(limiter, weir_key_bytes(bytes, size));
    }
    for (size_t size = 0; size < SIZES; size++) {
        uint64_t expected = size % 2 == 0 ? 0 : tries(size);
        CHECK_INT(weir_limiter_num_requeues(limiter, weir_key_bytes(bytes, size)), ==, expected);
    }
    weir_limiter_free(limiter);
}
