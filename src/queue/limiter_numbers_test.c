/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/limiters.h"

#include <stdio.h>

#include "support/sanitizer.h"

/* The same numbers as client-go for the same calls. The expected values were printed by
 * k8s.io/client-go v0.34.1 util/workqueue and golang.org/x/time v0.9.0, whose time was given to
 * ReserveN(t, 1).DelayFrom(t) step by step. Long runs are compared by a hash of all answers. */

/* So many numbers of a bucket are compared with those of each item. */
enum {
    EACH_COUNT = TEST_TSAN == 1 ? 20000 : 1000000
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int64_t when(weir_limiter *limiter, const char *name, int64_t now_ns)
{
    int64_t delay_ns = -1;
    CHECK_STATUS(weir_limiter_when(limiter, weir_key_string(name), now_ns, &delay_ns), WEIR_OK);
    return delay_ns;
}

/* The generator and the hash that the Go program used. */
static uint64_t next_number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static uint64_t hash_number(uint64_t hash, int64_t number)
{
    for (unsigned i = 0; i < 8; i++) {
        hash = (hash ^ ((uint64_t)number >> (8 * i) & 0xff)) * UINT64_C(1099511628211);
    }
    return hash;
}

#define HASH_START UINT64_C(14695981039346656037)

TEST(exponential_default, "5 ms to 1000 s, in client-go's steps")
{
    static const int64_t expected[] = {
        5000000,       10000000,      20000000,      40000000,      80000000,     160000000,
        320000000,     640000000,     1280000000,    2560000000,    5120000000,   10240000000,
        20480000000,   40960000000,   81920000000,   163840000000,  327680000000, 655360000000,
        1000000000000, 1000000000000, 1000000000000, 1000000000000,
    };
    weir_limiter *limiter = exponential(WEIR_MS(5), WEIR_SECONDS(1000));
    for (size_t i = 0; i < COUNT(expected); i++) {
        CHECK_INT(when(limiter, "a", 0), ==, expected[i]);
    }
    weir_limiter_free(limiter);
}

TEST(exponential_minutes, "one minute to 1000 hours, in client-go's steps")
{
    static const int64_t expected[] = {
        60000000000,      120000000000,     240000000000,     480000000000,     960000000000,
        1920000000000,    3840000000000,    7680000000000,    15360000000000,   30720000000000,
        61440000000000,   122880000000000,  245760000000000,  491520000000000,  983040000000000,
        1966080000000000, 3600000000000000, 3600000000000000, 3600000000000000, 3600000000000000,
    };
    weir_limiter *limiter = exponential(WEIR_SECONDS(60), WEIR_SECONDS(3600000));
    for (size_t i = 0; i < COUNT(expected); i++) {
        CHECK_INT(when(limiter, "a", 0), ==, expected[i]);
    }
    weir_limiter_free(limiter);
}

/* client-go computes in double and at exactly 2^63 converts out of range; there weir gives the
 * longest wait, as everywhere past it. */
TEST(exponential_past_64_bits, "doubling goes to 2^62 exactly, then the longest wait is kept")
{
    weir_limiter *powers = exponential(1, INT64_MAX);
    weir_limiter *threes = exponential(3, INT64_C(1) << 62);
    for (unsigned i = 0; i < 5000; i++) {
        int64_t power = i < 63 ? INT64_C(1) << i : INT64_MAX;
        int64_t three = i < 61 ? INT64_C(3) << i : INT64_C(1) << 62;
        CHECK_INT(when(powers, "a", 0), ==, power);
        CHECK_INT(when(threes, "a", 0), ==, three);
    }
    CHECK_INT(weir_limiter_num_requeues(powers, weir_key_string("a")), ==, 5000);
    weir_limiter_free(powers);
    weir_limiter_free(threes);
}

TEST(bucket_first, "the first waits after the burst are those of golang.org/x/time/rate")
{
    static const struct {
        double qps;
        uint64_t burst;
        uint64_t step;
        int64_t expected[12];
    } runs[] = {
        {10,
         1,
         110000000,
         {60273244, 61290447, 56933310, 69429755, 75217047, 98807131, 107901846, 183571855,
          265703476, 348071552, 375984842, 388279539}},
        {3,
         1,
         400000000,
         {245542497, 307473773, 565862336, 617311205, 606028926, 853273399, 1159674519, 1489654686,
          1487991032, 1772179821, 1837142124, 2131759733}},
        {0.1,
         2,
         15000000000,
         {7872840117, 16637307712, 24671042339, 32856023823, 41897739663, 51294780522, 60124920532,
          69522794937, 78032137772, 87944966071, 97675239924, 105558365146}},
        {7.3, 5, 200000000, {0, 0, 0, 0, 0, 0, 0, 0, 0, 51317403, 100359531, 106239843}},
        {1e9, 1, 3, {0, 0, 1, 1, 1, 0, 0, 1, 2, 1, 2, 3}},
    };
    for (size_t i = 0; i < COUNT(runs); i++) {
        weir_limiter *limiter = bucket(runs[i].qps, runs[i].burst);
        uint64_t state = 43 + i;
        int64_t now_ns = WEIR_SECONDS(1000);
        for (size_t n = 0; n < runs[i].burst + COUNT(runs[i].expected); n++) {
            now_ns += (int64_t)(next_number(&state) % runs[i].step);
            int64_t delay_ns = when(limiter, "", now_ns);
            if (n < runs[i].burst) {
                CHECK_INT(delay_ns, ==, 0);
            } else {
                CHECK_INT(delay_ns, ==, runs[i].expected[n - runs[i].burst]);
            }
        }
        weir_limiter_free(limiter);
    }
}

TEST(bucket_run, "a million waits are those of golang.org/x/time/rate, also of each item's bucket")
{
    static const struct {
        double qps;
        uint64_t burst;
        uint64_t step;
        uint64_t hash;
    } runs[] = {
        {10, 100, 190000000, UINT64_C(0xbe8985ca6396742a)},
        {10, 1, 110000000, UINT64_C(0x8b262068a75999ec)},
        {3, 1, 400000000, UINT64_C(0x1d7b328336a522df)},
        {0.1, 2, 15000000000, UINT64_C(0xd1cb339a9d60795a)},
        {7.3, 5, 200000000, UINT64_C(0xe3983af34f954b6e)},
        {1e+09, 1, 3, UINT64_C(0xb7d469b939621f4a)},
        {123456.789, 1000, 12000, UINT64_C(0xaee41dbb3b55a7c0)},
    };
    for (size_t i = 0; i < COUNT(runs); i++) {
        weir_limiter *limiter = bucket(runs[i].qps, runs[i].burst);
        weir_limiter *each = item_bucket(runs[i].qps, runs[i].burst);
        uint64_t state = 42 + i;
        uint64_t hash = HASH_START;
        int64_t now_ns = WEIR_SECONDS(1000);
        for (int n = 0; n < 1000000; n++) {
            now_ns += (int64_t)(next_number(&state) % runs[i].step);
            int64_t delay_ns = when(limiter, "", now_ns);
            hash = hash_number(hash, delay_ns);
            if (n < EACH_COUNT) {
                CHECK_INT(when(each, "a", now_ns), ==, delay_ns);
                CHECK_INT(when(each, "b", now_ns), ==, delay_ns);
            }
        }
        CHECK(hash == runs[i].hash);
        weir_limiter_free(limiter);
        weir_limiter_free(each);
    }
}

TEST(bucket_slow, "waits past the end of time are for ever")
{
    static const int64_t expected[] = {
        999999999829437696,  1999999999295939328, 2999999999218056192, 3999999999009234432,
        4999999998712604672, 5999999997970572288, 6999999997716022272, 7999999997627618304,
        8999999997009495040, INT64_MAX,           INT64_MAX,
    };
    weir_limiter *limiter = bucket(1e-9, 1);
    uint64_t state = 49;
    int64_t now_ns = WEIR_SECONDS(1000) + (int64_t)(next_number(&state) % 1000000000);
    CHECK_INT(when(limiter, "", now_ns), ==, 0);
    for (size_t i = 0; i < COUNT(expected); i++) {
        now_ns += (int64_t)(next_number(&state) % 1000000000);
        CHECK_INT(when(limiter, "", now_ns), ==, expected[i]);
    }
    weir_limiter_free(limiter);
}

TEST(default_run, "200,000 calls of the default controller limiter answer as client-go's")
{
    struct weir_limiter_options options = limiter_options();
    options.forget_after_ns = WEIR_FOREVER; /* client-go's never forgets by itself */
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_default_new(&options, &limiter, NULL), WEIR_OK);
    static const int64_t expected[] = {
        5000000,       20000000,      40000000,      40000000,      160000000,     40000000,
        1280000000,    5120000000,    40960000000,   327680000000,  2560000000,    327680000000,
        5000000,       1280000000,    5120000000,    20480000000,   1542300135,    2479803279,
        1000000000000, 3738261294,    4447346331,    1000000000000, 5857211653,    1000000000000,
        1000000000000, 1000000000000, 1000000000000, 9493946242,    1000000000000, 1000000000000,
        12009933654,   12486731205,   13188004875,   1000000000000, 14782950334,   15567455558,
        655360000000,  16820517529,   1000000000000, 18246217645,   19094545455,   1000000000000,
        20950569530,   21721752850,   327680000000,  81920000000,   23890684624,   327680000000,
    };
    uint64_t state = 7;
    uint64_t hash = HASH_START;
    int64_t now_ns = WEIR_SECONDS(1000);
    for (size_t n = 0; n < 200000; n++) {
        now_ns += (int64_t)(next_number(&state) % 110000000);
        char name[16];
        (void)snprintf(name, sizeof(name), "key-%u", (unsigned)(next_number(&state) % 7));
        int64_t delay_ns = when(limiter, name, now_ns);
        hash = hash_number(hash, delay_ns);
        if (n % 16 == 0 && n / 16 < COUNT(expected)) {
            CHECK_INT(delay_ns, ==, expected[n / 16]);
        }
        if (next_number(&state) % 24 == 0) {
            weir_limiter_forget(limiter, weir_key_string(name));
        }
        uint64_t count = weir_limiter_num_requeues(limiter, weir_key_string(name));
        hash = hash_number(hash, (int64_t)count);
    }
    CHECK(hash == UINT64_C(0x65609b56a3aa2291));
    weir_limiter_free(limiter);
}

TEST(composed, "max-wait of max-of of fast-slow and exponential answers as client-go's")
{
    static const int64_t expected[] = {
        5000000,    5000000,    5000000,    3000000000, 3000000000, 3000000000, 3000000000,
        3000000000, 3000000000, 3000000000, 3000000000, 3000000000, 4096000000, 7000000000,
        7000000000, 7000000000, 7000000000, 7000000000, 7000000000, 7000000000,
    };
    struct weir_limiter_options options = limiter_options();
    weir_limiter *parts[2];
    CHECK_STATUS(
        weir_limiter_fast_slow_new(WEIR_MS(5), WEIR_SECONDS(3), 3, &options, &parts[0], NULL),
        WEIR_OK);
    parts[1] = exponential(WEIR_MS(1), WEIR_SECONDS(10));
    weir_limiter *max;
    CHECK_STATUS(weir_limiter_max_of_new(parts, 2, test_allocator(), &max, NULL), WEIR_OK);
    weir_limiter *limiter;
    CHECK_STATUS(
        weir_limiter_with_max_wait_new(max, WEIR_SECONDS(7), test_allocator(), &limiter, NULL),
        WEIR_OK);
    for (size_t i = 0; i < COUNT(expected); i++) {
        CHECK_INT(when(limiter, "a", 0), ==, expected[i]);
    }
    weir_limiter_free(limiter);
}
