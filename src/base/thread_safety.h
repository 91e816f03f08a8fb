/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_THREAD_SAFETY_H
#define WEIRI_THREAD_SAFETY_H

/* Clang's thread-safety annotations. On functions they work with every clang that knows C; on
 * struct members only from clang 19, and only in the address-of form. */

#if defined(__clang__)
#    define WEIRI_TSA(x) __attribute__((x))
#else
#    define WEIRI_TSA(x)
#endif

#define WEIRI_CAPABILITY(name) WEIRI_TSA(capability(name))
#define WEIRI_REQUIRES(...) WEIRI_TSA(requires_capability(__VA_ARGS__))
#define WEIRI_ACQUIRE(...) WEIRI_TSA(acquire_capability(__VA_ARGS__))
#define WEIRI_RELEASE(...) WEIRI_TSA(release_capability(__VA_ARGS__))
#define WEIRI_ASSERT_CAPABILITY(...) WEIRI_TSA(assert_capability(__VA_ARGS__))
#define WEIRI_NO_TSA WEIRI_TSA(no_thread_safety_analysis)

#if defined(__clang__) && __clang_major__ >= 19
#    define WEIRI_GUARDED_BY(mu) WEIRI_TSA(guarded_by(&mu))
#else
#    define WEIRI_GUARDED_BY(mu)
#endif

#endif
