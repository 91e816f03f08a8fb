/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/beanstalkd/mac.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "base/errno.h"
#include "base/error.h"

#define PREFIX "weir1:"
#define KEY_SIZE_MIN 16

static enum weir_status read_file(const char *path, char *ret_text, size_t size, size_t *ret_used,
                                  struct weir_error *ret_error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : 1;
    *ret_used = 0;
    while (count > 0 && *ret_used < size) {
        count = read(fd, ret_text + *ret_used, size - *ret_used);
        *ret_used += count > 0 ? (size_t)count : 0;
    }
    int error = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (count < 0) {
        char text[80];
        if (strerror_r(error, text, sizeof(text)) != 0) {
            text[0] = '\0';
        }
        return weiri_fail(ret_error, weiri_errno_status(error), "hmac_key_file %.300s: %s", path,
                          text);
    }
    return WEIR_OK;
}

enum weir_status weiri_keys_read(const char *path, struct weiri_keys *ret_keys,
                                 struct weir_error *ret_error)
{
    char text[WEIRI_KEYS_MAX * (WEIRI_KEY_SIZE_MAX + 1) + 1];
    struct weiri_keys keys = {.count = 0};
    size_t used;
    enum weir_status status = read_file(path, text, sizeof(text), &used, ret_error);
    bool is_good = sodium_init() >= 0 && used < sizeof(text);
    bool has_key = false;
    for (size_t at = 0; at < used && status == WEIR_OK && is_good;) {
        const char *end = memchr(text + at, '\n', used - at);
        size_t size = end == NULL ? used - at : (size_t)(end - (text + at));
        bool is_none = size == 1 && text[at] == '-';
        is_good = keys.count < WEIRI_KEYS_MAX &&
                  (is_none || (size >= KEY_SIZE_MIN && size <= WEIRI_KEY_SIZE_MAX));
        if (is_good) {
            memcpy(keys.key[keys.count], text + at, size);
            keys.size[keys.count++] = is_none ? 0 : size;
            has_key = has_key || !is_none;
        }
        at += size + 1;
    }
    sodium_memzero(text, sizeof(text));
    if (status == WEIR_OK && (!is_good || !has_key)) {
        status = weiri_fail(ret_error, WEIR_EINVAL,
                            "hmac_key_file %.300s: expected 1 to %d lines of %d to %d bytes, a key "
                            "each, or - for none",
                            path, WEIRI_KEYS_MAX, KEY_SIZE_MIN, WEIRI_KEY_SIZE_MAX);
    }
    if (status == WEIR_OK) {
        *ret_keys = keys;
    }
    weiri_keys_wipe(&keys);
    return status;
}

void weiri_keys_wipe(struct weiri_keys *keys)
{
    sodium_memzero(keys, sizeof(*keys));
}

static void write_mac(const struct weiri_keys *keys, size_t key, const char *tube,
                      const char *stamp, size_t stamp_size, const void *body, size_t body_size,
                      char ret_mac[WEIRI_MAC_SIZE])
{
    unsigned char hash[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state state;
    (void)crypto_auth_hmacsha256_init(&state, keys->key[key], keys->size[key]);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)"weir1\n", 6);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)tube, strlen(tube));
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)"\n", 1);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)stamp, stamp_size);
    (void)crypto_auth_hmacsha256_update(&state, body, body_size);
    (void)crypto_auth_hmacsha256_final(&state, hash);
    sodium_memzero(&state, sizeof(state));
    memcpy(ret_mac, PREFIX, sizeof(PREFIX) - 1);
    char *digits = ret_mac + sizeof(PREFIX) - 1;
    (void)sodium_bin2hex(digits, 2 * sizeof(hash) + 1, hash, sizeof(hash));
    ret_mac[WEIRI_MAC_SIZE - 1] = ':'; /* in place of its NUL */
}

size_t weiri_mac_write(const struct weiri_keys *keys, const char *tube, const char *stamp,
                       size_t stamp_size, const void *body, size_t body_size,
                       char ret_mac[WEIRI_MAC_SIZE])
{
    if (keys->count == 0 || keys->size[0] == 0) {
        return 0;
    }
    write_mac(keys, 0, tube, stamp, stamp_size, body, body_size, ret_mac);
    return WEIRI_MAC_SIZE;
}

const char *weiri_mac_read(const struct weiri_keys *keys, const char *tube, const char *body,
                           size_t size, size_t *prefix_size)
{
    size_t stamp_size = *prefix_size;
    size_t end = stamp_size + WEIRI_MAC_SIZE;
    bool has_mac = size >= end && body[end - 1] == ':' &&
                   memcmp(body + stamp_size, PREFIX, sizeof(PREFIX) - 1) == 0;
    bool is_good = !has_mac && keys->count == 0;
    for (size_t i = 0; i < keys->count && !is_good; i++) {
        char mac[WEIRI_MAC_SIZE];
        if (keys->size[i] > 0 && has_mac) {
            write_mac(keys, i, tube, body, stamp_size, body + end, size - end, mac);
            is_good = sodium_memcmp(mac, body + stamp_size, sizeof(mac)) == 0;
        } else {
            is_good = keys->size[i] == 0 && !has_mac;
        }
    }
    *prefix_size += is_good && has_mac ? WEIRI_MAC_SIZE : 0;
    return is_good            ? NULL
           : keys->count == 0 ? "its body begins with a MAC, and this broker has no hmac_key_file"
                              : "its body has no MAC by a key of hmac_key_file: it may be forged";
}
