/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ERRNO_H
#define WEIRI_ERRNO_H

#include <weir/status.h>

/* The status of a number of errno.h; of 0: WEIR_OK. */
enum weir_status weiri_errno_status(int error);

#endif
