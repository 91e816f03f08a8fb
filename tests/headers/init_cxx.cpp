/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "init.c"
