/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_TOP_RUNNING_H
#define WEIRI_CLI_TOP_RUNNING_H

#include "cli/top_model.h"

/* The jobs that run: the other view of `weir top`. */

enum {
    TOP_RUNNING_MAX = 200 /* More fit on no screen. */
};

struct top_running {
    struct {
        char tube[WEIR_TUBE_SIZE_MAX + 1];
        char id[32]; /* Cut. */
        uint32_t attempt;
        int32_t progress; /* -1: not told. */
        int64_t owner;    /* 0: not known. */
        int64_t started_ns;
    } rows[TOP_RUNNING_MAX];
    size_t count;
};

/* Reads the reserved jobs of the tubes of a view, some of each: in its order, those first whose
 * leases end first. */
void top_running_read(struct top_running *running, weir_broker *broker,
                      const struct top_sample *view);

/* Writes a row, or at i == -1 the titles, for a screen of so many columns. */
void top_running_line(const struct top_running *running, int i, int screen, int64_t now_ns,
                      char *line, size_t size);

#endif
