/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/drop.h>
#include <weir/sandbox.h>
#include <weir/version.h>

#include "conformance/bad_pool.h"

/* Bad input to scopes, and to what is about no object at all. */

static enum weir_status make_scope(const struct weir_allocator *allocator)
{
    weir_scope *untouched = (weir_scope *)&rows;
    weir_scope *scope = untouched;
    enum weir_status status = weir_scope_new(allocator, &scope);
    CHECK((scope == untouched) == (status != WEIR_OK));
    if (status == WEIR_OK) {
        weir_scope_free(scope);
    }
    return status;
}

ROW(weir_scope_new, allocator, null, WEIR_OK)
{
    return make_scope(NULL);
}

ROW(weir_scope_new, allocator, partial, WEIR_EINVAL)
{
    struct weir_allocator half = *test_allocator();
    half.alloc = NULL;
    CHECK_STATUS(make_scope(&half), WEIR_EINVAL);
    half = *test_allocator();
    half.resize = NULL;
    CHECK_STATUS(make_scope(&half), WEIR_EINVAL);
    half = *test_allocator();
    half.release = NULL;
    return make_scope(&half);
}

ROW(weir_scope_new, ret_scope, null, WEIR_EINVAL)
{
    return weir_scope_new(test_allocator(), NULL);
}

ROW(weir_scope_new, memory, none, WEIR_ENOMEM)
{
    test_fail_allocation(1, true);
    return make_scope(test_allocator());
}

ROW(weir_scope_free, scope, null, WEIR_OK)
{
    weir_scope_free(NULL);
    return WEIR_OK;
}

ROW(weir_scope_free, scope, forked, WEIR_OK)
{
    size_t blocks = test_allocated_blocks();
    weir_scope_free(w->scope);
    CHECK_INT(test_allocated_blocks(), ==, blocks);
    return WEIR_OK;
}

LAST_ROW(weir_scope_free, scope, in_use, "a scope is freed after its pools")
{
    weir_scope_free(w->scope);
    return WEIR_OK;
}

ROW(weir_scope_cancel, scope, null, WEIR_OK)
{
    weir_scope_cancel(NULL);
    return WEIR_OK;
}

ROW(weir_scope_cancel, scope, forked, WEIR_OK)
{
    weir_scope_cancel(w->scope);
    CHECK(!weir_scope_is_cancelled(w->scope));
    return WEIR_OK;
}

ROW(weir_scope_is_cancelled, scope, null, WEIR_OK)
{
    CHECK(!weir_scope_is_cancelled(NULL));
    return WEIR_OK;
}

ROW(weir_scope_is_cancelled, scope, forked, WEIR_OK)
{
    CHECK(!weir_scope_is_cancelled(w->scope));
    return WEIR_OK;
}

ROW(weir_drop_reason_text, reason, unknown, WEIR_OK)
{
    static const int numbers[] = {0, -1, WEIR_DROP_NO_MEMORY + 1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        CHECK_STRING(weir_drop_reason_text((enum weir_drop_reason)numbers[i]), "unknown reason");
    }
    return WEIR_OK;
}
