/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What the models share. tools/models.py numbers the faults that a model's head comment names. */

/* Whether FAULT is the planted fault. */
#define PLANTED(fault) (FAULT == fault)

#define MANY 255

/* weir/key.h: enum weir_place */
#define IDLE 0
#define QUEUED 1
#define PROCESSING 2
#define DIRTY 3
