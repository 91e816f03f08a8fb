/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_SANITIZER_H
#define WEIR_TEST_SANITIZER_H

/* TEST_TSAN: 1 in a build with ThreadSanitizer, which cannot do some things, else 0. TEST_ASAN: the
 * same of AddressSanitizer, which has the leak checker with it. */
#if defined(__SANITIZE_THREAD__)
#    define TEST_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#    define TEST_ASAN 1
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define TEST_TSAN 1
#    elif __has_feature(address_sanitizer)
#        define TEST_ASAN 1
#    endif
#endif
#ifndef TEST_TSAN
#    define TEST_TSAN 0
#endif
#ifndef TEST_ASAN
#    define TEST_ASAN 0
#endif

#endif
