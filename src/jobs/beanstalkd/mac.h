/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_MAC_H
#define WEIRI_BEANSTALKD_MAC_H

#include <stdbool.h>
#include <stddef.h>

#include <weir/broker.h>

/* Bodies that carry a MAC, so that a job of somebody without the key does not run: the text
 * "weir1:", 64 hexadecimal digits and ':' between the run time and the user's bytes. They are
 * HMAC-SHA256 of "weir1\n", the tube, "\n", the run time with its slash, and the user's bytes.
 * A tube's name has no newline, so no two jobs have the same text. */

#define WEIRI_MAC_SIZE 71
#define WEIRI_KEYS_MAX 4
#define WEIRI_KEY_SIZE_MAX 255

/* Keys from a file. The first makes MACs, all check them. In the place of a key may stand that
 * there is none: for a time bodies without a MAC are made, or accepted. */
struct weiri_keys {
    size_t count;                /* 0: bodies carry no MAC */
    size_t size[WEIRI_KEYS_MAX]; /* 0: none */
    unsigned char key[WEIRI_KEYS_MAX][WEIRI_KEY_SIZE_MAX];
};

/* Reads a key from each line of a file, `-` for none. A message repeats none of them. Errors:
 * WEIR_ENOTFOUND, WEIR_EACCESS, WEIR_EIO, WEIR_EINVAL (no key, too many, too short or too long). */
WEIR_NODISCARD enum weir_status weiri_keys_read(const char *path, struct weiri_keys *ret_keys,
                                                struct weir_error *ret_error);
void weiri_keys_wipe(struct weiri_keys *keys);
/* Writes the MAC of a body by the first key. stamp: the run time and its slash. Returns its size;
 * 0: there is none to write. */
size_t weiri_mac_write(const struct weiri_keys *keys, const char *tube, const char *stamp,
                       size_t stamp_size, const void *body, size_t body_size,
                       char ret_mac[WEIRI_MAC_SIZE]);
/* Reads a MAC behind the prefix of a body, its run time, and adds it to that. What begins as one
 * must be good by one of the keys. Returns NULL, or why the job must not run. */
const char *weiri_mac_read(const struct weiri_keys *keys, const char *tube, const char *body,
                           size_t size, size_t *prefix_size);

#endif
