/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_PROCESS_H
#define WEIRI_HTTP_PROCESS_H

#include <stdio.h>

/* Writes the families process_* of Prometheus' own clients: processor time, memory, descriptors,
 * start. What /proc does not tell is left out. */
void process_write(FILE *out);

#endif
