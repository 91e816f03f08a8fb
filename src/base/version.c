/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/version.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

const char *weir_version(void)
{
    return TEXT(WEIR_VERSION_MAJOR) "." TEXT(WEIR_VERSION_MINOR) "." TEXT(WEIR_VERSION_PATCH);
}
