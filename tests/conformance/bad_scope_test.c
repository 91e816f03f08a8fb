/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/ended.h>
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

ROW(weir_scope_free, scope, forked, WEIR_EFORKED)
{
    size_t blocks = test_allocated_blocks();
    CHECK_STATUS(weir_scope_free(w->scope), WEIR_EFORKED);
    CHECK_INT(test_allocated_blocks(), ==, blocks);
    return WEIR_EFORKED;
}

ROW(weir_scope_free, scope, in_use, WEIR_EBUSY)
{
    return weir_scope_free(w->scope);
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

ROW(weir_ended_reason_text, reason, most, WEIR_OK)
{
    static const uint32_t numbers[] = {0, WEIR_ENDED_TERMINATED + 1, INT32_MAX, UINT32_MAX};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        CHECK_STRING(weir_ended_reason_text(numbers[i]), "unknown reason");
    }
    return WEIR_OK;
}
