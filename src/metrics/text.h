/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_TEXT_H
#define WEIRI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/metrics.h>

#include "metrics/histogram.h"

/* The writer of the Prometheus text format: gathers text into pieces and passes them on. After the
 * receiver has refused a piece, the rest is dropped. Nothing here depends on the locale. */
#define WEIRI_TEXT_PIECE 4096

struct weiri_text {
    weir_metrics_write_fn *write;
    void *arg;
    int status; /* the receiver's first refusal, or WEIR_OK */
    size_t size;
    char piece[WEIRI_TEXT_PIECE];
};

void weiri_text_init(struct weiri_text *text, weir_metrics_write_fn *write, void *arg);
/* Passes on the rest. Returns the receiver's refusal, or WEIR_OK. */
int weiri_text_end(struct weiri_text *text);

void weiri_text_add(struct weiri_text *text, const char *string);
/* Escapes a help text or a label's value. Quotes are escaped in labels only. */
void weiri_text_add_escaped(struct weiri_text *text, const char *string, bool is_label);
void weiri_text_add_count(struct weiri_text *text, uint64_t count);
/* Writes nanoseconds as seconds, exactly: a double read from the text is the nearest one. */
void weiri_text_add_seconds(struct weiri_text *text, weiri_wide duration_ns);

/* Whether a string can be a label's value. */
bool weiri_text_is_utf8(const char *string);

#endif
