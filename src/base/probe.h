/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_PROBE_H
#define WEIRI_PROBE_H

/* USDT probes. bpftrace, perf, SystemTap and gdb can attach to them in a running program. A probe
 * that is not in use costs a nop. The provider is weir; weir(7) lists the probes and their
 * arguments. CMake's option WEIR_PROBES enables them; it is on if <sys/sdt.h> exists. */
#ifdef WEIRI_PROBES
#    include <sys/sdt.h>
#    ifdef __clang__
/* Clang's -Wpedantic rejects SystemTap's macros. */
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
