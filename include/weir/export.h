/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_EXPORT_H
#define WEIR_EXPORT_H

/** @file
 * Compiler attributes used by the public headers. Nothing here is a contract of its own. */

#if defined(__GNUC__) || defined(__clang__)
/** The symbol is part of the ABI. */
#    define WEIR_API __attribute__((visibility("default")))
/** Ignoring the result is a bug. */
#    define WEIR_NODISCARD __attribute__((warn_unused_result))
/** The function checks its arguments as printf does. */
#    define WEIR_PRINTF(nth, first) __attribute__((format(printf, nth, first)))
/** The function does not return. */
#    define WEIR_NORETURN __attribute__((noreturn))
#else
#    define WEIR_API
#    define WEIR_NODISCARD
#    define WEIR_PRINTF(nth, first)
#    define WEIR_NORETURN
#endif

#ifdef __cplusplus
#    define WEIR_BEGIN_DECLS extern "C" {
#    define WEIR_END_DECLS }
#else
/** Opens the part of a header that has C linkage. */
#    define WEIR_BEGIN_DECLS
/** Closes the part of a header that has C linkage. */
#    define WEIR_END_DECLS
#endif

#endif
