/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_VERSION_H
#define WEIR_VERSION_H

#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * The version of the headers that a program was compiled with, and of the library that it runs
 * with. Before 1.0 a new minor version may change the ABI. */

/** The first number of the headers' version. */
#define WEIR_VERSION_MAJOR 0
/** The second one. */
#define WEIR_VERSION_MINOR 1
/** The third one. */
#define WEIR_VERSION_PATCH 0

/** The library's version, such as "0.1.0". Returns a constant string; never fails; thread-safe. */
WEIR_API const char *weir_version(void);

WEIR_END_DECLS

#endif
