/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "metrics/text.h"

#define NS_PER_SECOND 1000000000u
#define FRACTION_DIGITS 9

void weiri_text_init(struct weiri_text *text, weir_metrics_write_fn *write, void *arg)
{
    text->write = write;
    text->arg = arg;
    text->status = WEIR_OK;
    text->size = 0;
}

int weiri_text_end(struct weiri_text *text)
{
    if (text->size > 0 && text->status == WEIR_OK) {
        text->status = text->write(text->piece, text->size, text->arg);
    }
    text->size = 0;
    return text->status;
}

static void add_char(struct weiri_text *text, char c)
{
    if (text->size == sizeof(text->piece)) {
        (void)weiri_text_end(text);
    }
    text->piece[text->size++] = c;
}

void weiri_text_add(struct weiri_text *text, const char *string)
{
    for (; *string != '\0'; string++) {
        add_char(text, *string);
    }
}

void weiri_text_add_escaped(struct weiri_text *text, const char *string, bool is_label)
{
    for (; *string != '\0'; string++) {
        if (*string == '\n') {
            weiri_text_add(text, "\\n");
            continue;
        }
        if (*string == '\\' || (*string == '"' && is_label)) {
            add_char(text, '\\');
        }
        add_char(text, *string);
    }
}

void weiri_text_add_count(struct weiri_text *text, uint64_t count)
{
    char digits[20];
    size_t size = 0;
    do {
        digits[size++] = (char)('0' + count % 10);
        count /= 10;
    } while (count > 0);
    while (size > 0) {
        add_char(text, digits[--size]);
    }
}

void weiri_text_add_seconds(struct weiri_text *text, weiri_wide duration_ns)
{
    weiri_text_add_count(text, (uint64_t)(duration_ns / NS_PER_SECOND));
    uint32_t rest = (uint32_t)(duration_ns % NS_PER_SECOND);
    if (rest == 0) {
        return;
    }
    char digits[FRACTION_DIGITS];
    for (size_t i = FRACTION_DIGITS; i > 0; i--) {
        digits[i - 1] = (char)('0' + rest % 10);
        rest /= 10;
    }
    size_t size = FRACTION_DIGITS;
    while (digits[size - 1] == '0') {
        size--;
    }
    add_char(text, '.');
    for (size_t i = 0; i < size; i++) {
        add_char(text, digits[i]);
    }
}

/* The length of the sequence that starts with a byte, and the allowed range of the next byte. That
 * range excludes overlong sequences, surrogates, and numbers past Unicode (RFC 3629). */
static size_t sequence_of(unsigned char first, unsigned char *ret_low, unsigned char *ret_high)
{
    *ret_low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    *ret_high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xc2 || first > 0xf4) {
        return 0;
    }
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

bool weiri_text_is_utf8(const char *string)
{
    const unsigned char *at = (const unsigned char *)string;
    while (*at != '\0') {
        unsigned char low;
        unsigned char high;
        size_t size = sequence_of(*at++, &low, &high);
        if (size == 0) {
            return false;
        }
        for (; size > 1; size--, at++) {
            if (*at < low || *at > high) {
                return false;
            }
            low = 0x80;
            high = 0xbf;
        }
    }
    return true;
}
