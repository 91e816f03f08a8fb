/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/sandbox.h>

#include "base/lock.h"

void weir_sandbox_prepare(void)
{
    weiri_lock_forgo_fences();
}
