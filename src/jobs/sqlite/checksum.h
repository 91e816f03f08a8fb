/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_CHECKSUM_H
#define WEIRI_SQLITE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* A 64-bit checksum that detects damage, but no attacker. It is stored, so it is the same on every
 * machine and in every version, unlike the tables' hash (base/hash.h).
 *
 * FNV-1a on words of 8 bytes. Each step is a bijection of the state for a given word and of the
 * word for a given state, so damage within one word always shows; other damage is missed once in
 * 2^64. The last word is filled with zeros, and the size is mixed in so that zeros at the end
 * count. data may be NULL where size is 0. */
uint64_t weiri_checksum(const void *data, size_t size);
/* Of bytes behind others that have the checksum before: both are in it, in this order. */
uint64_t weiri_checksum_behind(uint64_t before, const void *data, size_t size);

#endif
