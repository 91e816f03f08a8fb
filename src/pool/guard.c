/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/guard.h"

#include "pool/context.h"

/* No variable is changed between the two returns of sigsetjmp(), so none needs to be volatile. */
int weiri_guarded(weir_context *context, int (*fn)(void *arg), void *arg)
{
    context->catch.is_set = true;
    int status = sigsetjmp(context->catch.registers, 0) == 0 ? fn(arg) : WEIR_EPANIC;
    context->catch.is_set = false;
    return status;
}

_Noreturn void weiri_guard_leave(weir_context *context)
{
    siglongjmp(context->catch.registers, 1);
}
