/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HASH_H
#define WEIRI_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The hash and the comparison of the keys of every table. Both are inlined for short keys. The hash
 * depends on the seed and on the byte order, so it is never stored or sent. With a secret seed
 * (weiri_random_seed()) an attacker cannot choose keys that collide. All 64 bits are equally good.
 *
 * The construction is that of Wang Yi's wyhash (public domain). Each step takes sixteen bytes and
 * folds one product. A key of up to sixteen bytes is read as two words that may overlap, so it
 * needs no loop, and no byte outside the key is read. The constants are odd, with half of their
 * bits set. */
#define WEIRI_HASH_A UINT64_C(0x2a8ff4e9e1482dc5)
#define WEIRI_HASH_B UINT64_C(0x980d5af781dd4c8d)
#define WEIRI_HASH_C UINT64_C(0x78ad8549325ed4c7)

/* Both halves of a product of 64-bit numbers, folded: each bit of either number reaches about half
 * of the result's. */
static inline uint64_t weiri_hash_fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t weiri_read64(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static inline uint64_t weiri_read32(const unsigned char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

/* A second secret word. A product with a factor of 0 is 0, so an attacker must not be able to make
 * a factor 0 by the choice of a key. */
static inline uint64_t weiri_hash_secret(uint64_t seed)
{
    return (seed << 32 | seed >> 32) ^ WEIRI_HASH_A;
}

/* The hash of a key of more than sixteen bytes. */
uint64_t weiri_hash_long(const unsigned char *at, size_t size, uint64_t seed);

/* Reads exactly size bytes; data may be NULL where that is 0. */
static inline uint64_t weiri_hash(const void *data, size_t size, uint64_t seed)
{
    const unsigned char *at = data;
    uint64_t first = 0;
    uint64_t last = 0;
    if (size > 16) {
        return weiri_hash_long(at, size, seed);
    }
    if (size >= 8) {
        first = weiri_read64(at);
        last = weiri_read64(at + size - 8);
    } else if (size >= 4) {
        first = weiri_read32(at);
        last = weiri_read32(at + size - 4);
    } else if (size > 0) {
        first = (uint64_t)at[0] << 16 | (uint64_t)at[size / 2] << 8 | at[size - 1];
    }
    /* The size goes in last, so that keys of zero bytes differ by their lengths. */
    return weiri_hash_fold(WEIRI_HASH_B ^ (uint64_t)size,
                           weiri_hash_fold(first ^ weiri_hash_secret(seed), last ^ seed));
}

/* Sixteen bytes of memory as words that can be loaded and stored at once. */
struct weiri_words {
    uint64_t first;
    uint64_t second;
};

/* Loads a key of at most sixteen bytes, padded with zeros. data may be NULL where size is 0. */
static inline struct weiri_words weiri_words(const void *data, size_t size)
{
    struct weiri_words words = {0, 0};
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const unsigned char *at = data;
    if (size >= 8) {
        words.first = weiri_read64(at);
        /* In two steps, since a shift by 64 is undefined. */
        size_t half = (16 - size) * 4;
        words.second = weiri_read64(at + size - 8) >> half >> half;
    } else if (size >= 4) {
        words.first = weiri_read32(at) | weiri_read32(at + size - 4) << (size - 4) * 8;
    } else if (size > 0) {
        words.first = (uint64_t)at[0] | (uint64_t)at[size / 2] << (size / 2) * 8 |
                      (uint64_t)at[size - 1] << (size - 1) * 8;
    }
#else
    if (size > 0) {
        memcpy(&words, data, size);
    }
#endif
    return words;
}

/* The hash of such words. It differs from weiri_hash() of the same key. */
static inline uint64_t weiri_hash_words(struct weiri_words words, size_t size, uint64_t seed)
{
    return weiri_hash_fold(
        WEIRI_HASH_B ^ (uint64_t)size,
        weiri_hash_fold(words.first ^ weiri_hash_secret(seed), words.second ^ seed));
}

/* True when size bytes at a and at b are the same; either may be NULL where that is 0. */
static inline bool weiri_same_bytes(const void *a, const void *b, size_t size)
{
    const unsigned char *x = a;
    const unsigned char *y = b;
    if (size > 16) {
        return memcmp(x, y, size) == 0;
    }
    if (size >= 8) {
        return ((weiri_read64(x) ^ weiri_read64(y)) |
                (weiri_read64(x + size - 8) ^ weiri_read64(y + size - 8))) == 0;
    }
    if (size >= 4) {
        return ((weiri_read32(x) ^ weiri_read32(y)) |
                (weiri_read32(x + size - 4) ^ weiri_read32(y + size - 4))) == 0;
    }
    return size == 0 ||
           ((x[0] ^ y[0]) | (x[size / 2] ^ y[size / 2]) | (x[size - 1] ^ y[size - 1])) == 0;
}

#endif
