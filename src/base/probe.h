/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_PROBE_H
#define WEIRI_PROBE_H

/* USDT probes: places where bpftrace, perf, SystemTap and gdb can attach to a running program that
 * knows nothing of them. One that nobody watches costs a nop. The provider is weir; what each says
 * is listed in weir(7). CMake's WEIR_PROBES, on where <sys/sdt.h> is there, makes them. */
#ifdef WEIRI_PROBES
#    include <sys/sdt.h>
#    ifdef __clang__
/* It takes SystemTap's macros for pedantically wrong. */
#        define WEIRI_PROBE4(name, a, b, c, d)                                                     \
            _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpedantic\"")    \
                DTRACE_PROBE4(weir, name, a, b, c, d);                                             \
            _Pragma("clang diagnostic pop")
#    else
#        define WEIRI_PROBE4(name, a, b, c, d) DTRACE_PROBE4(weir, name, a, b, c, d)
#    endif
#else
#    define WEIRI_PROBE4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

#endif
