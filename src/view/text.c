/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "view/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/policy.h>

/* Decodes one character of UTF-8 in its shortest form; 0 bytes: it is none. */
static size_t decode(const unsigned char *text, size_t size, uint32_t *ret_point)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80             ? 1
                    : (text[0] & 0xe0) == 0xc0 ? 2
                    : (text[0] & 0xf0) == 0xe0 ? 3
                    : (text[0] & 0xf8) == 0xf0 ? 4
                                               : 0;
    if (length == 0 || length > size) {
        return 0;
    }
    uint32_t point = length == 1 ? text[0] : text[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
        point = point << 6 | (text[i] & 0x3f);
    }
    if (point < smallest[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
        return 0;
    }
    *ret_point = point;
    return length;
}

/* Control characters, and those that reorder or break a line. */
static bool is_harmful(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point <= 0x9f) || point == 0x61c ||
           (point >= 0x200e && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069) || point == 0xfeff;
}

size_t text_escape_one(const char *text, size_t size, char escaped[TEXT_ESCAPED_SIZE])
{
    static const char plain[] = "\n\t\r\\\"";
    static const char letters[] = "ntr\\\"";
    const char *found = text[0] != '\0' ? strchr(plain, text[0]) : NULL;
    if (found != NULL) {
        (void)snprintf(escaped, TEXT_ESCAPED_SIZE, "\\%c", letters[found - plain]);
        return 1;
    }
    uint32_t point = 0;
    size_t length = decode((const unsigned char *)text, size, &point);
    if (length == 0 || is_harmful(point)) {
        (void)snprintf(escaped, TEXT_ESCAPED_SIZE, "\\x%02x", (unsigned char)text[0]);
        return 1;
    }
    memcpy(escaped, text, length);
    escaped[length] = '\0';
    return length;
}

size_t text_escape_message(const char *message, char *line, size_t size)
{
    size_t left = strlen(message);
    size_t at = 0;
    while (left > 0) {
        char escaped[TEXT_ESCAPED_SIZE] = {message[0], '\0'};
        size_t used = 1;
        if (message[0] != '\\' && message[0] != '"') {
            used = text_escape_one(message, left, escaped);
        }
        size_t length = strlen(escaped);
        if (at + length >= size) {
            break;
        }
        memcpy(line + at, escaped, length);
        at += length;
        message += used;
        left -= used;
    }
    line[at] = '\0';
    return at;
}

char *text_escape(const void *data, size_t size)
{
    const char *text = data;
    /* The longest escape is four bytes for a byte: `\xNN`. */
    char *result = size <= (SIZE_MAX - 1) / 4 ? malloc(size * 4 + 1) : NULL;
    if (result == NULL) {
        return NULL;
    }
    size_t at = 0;
    for (size_t i = 0; i < size;) {
        char escaped[TEXT_ESCAPED_SIZE];
        i += text_escape_one(text + i, size - i, escaped);
        size_t length = strlen(escaped);
        memcpy(result + at, escaped, length);
        at += length;
    }
    result[at] = '\0';
    return result;
}

char *text_base64(const void *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = data;
    char *result = size <= SIZE_MAX / 2 ? malloc((size + 2) / 3 * 4 + 1) : NULL;
    if (result == NULL) {
        return NULL;
    }
    char *at = result;
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? (uint32_t)bytes[i + 2] : 0);
        *at++ = digits[group >> 18];
        *at++ = digits[group >> 12 & 63];
        *at++ = left > 1 ? digits[group >> 6 & 63] : '=';
        *at++ = left > 2 ? digits[group & 63] : '=';
    }
    *at = '\0';
    return result;
}

/* The value of a digit; -1: it is none. */
static int read_digit(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

bool text_read_base64(const char *text, size_t size, char *bytes, size_t *ret_size)
{
    size_t count = 0;
    if (size % 4 != 0) {
        return false;
    }
    for (size_t i = 0; i < size; i += 4) {
        bool is_last = i + 4 == size;
        size_t padding = !is_last ? 0 : text[i + 2] == '=' ? 2 : text[i + 3] == '=' ? 1 : 0;
        uint32_t group = 0;
        for (size_t j = 0; j < 4; j++) {
            int digit = j < 4 - padding ? read_digit(text[i + j]) : text[i + j] == '=' ? 0 : -1;
            if (digit < 0) {
                return false;
            }
            group = group << 6 | (uint32_t)digit;
        }
        /* Bits that stand for no byte are zero, so that each text of bytes has one form. */
        if ((group & (padding == 2 ? 0xffffu : padding == 1 ? 0xffu : 0u)) != 0) {
            return false;
        }
        for (size_t j = 0; j < 3 - padding; j++) {
            bytes[count++] = (char)(unsigned char)(group >> (16 - 8 * j) & 0xff);
        }
    }
    *ret_size = count;
    return true;
}

/* Reads the name of a value, from the first to the last. A text that is none leaves the result. */
#define READER(reader, type, first, last, name)                                                    \
    bool reader(const char *text, type *ret_value)                                                 \
    {                                                                                              \
        type value = first;                                                                        \
        while (value <= last && strcmp(text, name(value)) != 0) {                                  \
            value++;                                                                               \
        }                                                                                          \
        *ret_value = value <= last ? value : *ret_value;                                           \
        return value <= last;                                                                      \
    }

READER(text_read_late, uint32_t, WEIR_LATE_RUN, WEIR_LATE_DROP, weir_late_name)
READER(text_read_mode, enum weir_duplicate, WEIR_DUPLICATE_REFUSE, WEIR_DUPLICATE_AGAIN,
       weir_duplicate_name)
READER(text_read_missed, enum weir_missed, WEIR_MISSED_ONCE, WEIR_MISSED_ALL, weir_missed_name)
READER(text_read_state, enum weir_job_state, WEIR_JOB_DELAYED, WEIR_JOB_ENDED, weir_job_state_name)
