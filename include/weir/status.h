/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_STATUS_H
#define WEIR_STATUS_H

#include <stddef.h>

#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * The one status type of weir, and errors in words.
 *
 * Every function that can fail returns an `enum weir_status`, or an `int` where statuses of the
 * user's own callbacks, from WEIR_EUSER up, pass through it; results leave through trailing `ret_…`
 * parameters that are untouched on failure. Misuse by a caller is a status, never a crash. Numbers
 * are part of the ABI: they are never reused and never change. */

/** The table that every name, number and text is made from: X(name, number, text). */
#define WEIR_STATUS_MAP(X)                                                                         \
    X(OK, 0, "success")                                                                            \
    X(EINVAL, 1, "invalid argument")                                                               \
    X(ENOMEM, 2, "out of memory")                                                                  \
    X(ESHUTDOWN, 3, "shut down: nothing more is accepted or handed out")                           \
    X(EAGAIN, 4, "it cannot begin now")                                                            \
    X(ETIMEDOUT, 5, "the time limit passed")                                                       \
    X(ERANGE, 6, "duration or time out of range")                                                  \
    X(ETOOBIG, 7, "larger than its limit")                                                         \
    X(ENOTPROCESSING, 8, "not being processed under this ticket")                                  \
    X(EBUSY, 9, "in use")                                                                          \
    X(EFULL, 10, "capacity reached")                                                               \
    X(ESTATE, 11, "not allowed in this state")                                                     \
    X(ESTOP, 12, "stop: do not run again")                                                         \
    X(ECANCELED, 13, "canceled")                                                                   \
    X(EPANIC, 14, "the task panicked")                                                             \
    X(EINTERVAL, 15, "deadline exceeds interval")                                                  \
    X(EPAST, 16, "the time has passed")                                                            \
    X(ENOTFOUND, 17, "no such object")                                                             \
    X(EIO, 18, "input/output error")                                                               \
    X(ENOSPACE, 19, "no space left")                                                               \
    X(ECORRUPT, 20, "damaged data")                                                                \
    X(ESCHEMA, 21, "not a weir store, or one of another version")                                  \
    X(EACCESS, 22, "permission denied or read-only")                                               \
    X(ELEASELOST, 23, "the reservation ended: another worker may hold the job")                    \
    X(EFORKED, 24, "used in a child after fork")                                                   \
    X(ENOTSUP, 25, "not supported")                                                                \
    X(ETHREAD, 26, "a thread could not be started")                                                \
    X(EUNAVAILABLE, 27, "too few nodes answered: nothing was done")                                \
    X(EUNKNOWN, 28, "no answer says whether it was done: it may have been")

/** The result of a call. WEIR_OK is 0; every other value is a failure. */
enum weir_status {
#define WEIR_STATUS_ENUM_(name, number, text) WEIR_##name = number, /**< text of the table */
    WEIR_STATUS_MAP(WEIR_STATUS_ENUM_)
#undef WEIR_STATUS_ENUM_
    /** First number that is free for statuses of the user's own tasks and hooks. */
    WEIR_EUSER = 1000
};

/** The status' name, e.g. "WEIR_ENOMEM"; "WEIR_EUSER" from 1000 up, "WEIR_?" where there is none.
 * Returns a constant string; never fails; thread-safe. */
WEIR_API const char *weir_status_name(int status);

/** The status in words, lower case, without a full stop, in English; never NULL. Thread-safe. */
WEIR_API const char *weir_status_text(int status);

/** Why a call failed, in words. Caller-owned. A call with a parameter ret_error, which may be NULL,
 * fills it in when it fails, with the value that was wrong, what was expected, and where. On
 * success text is "", but that calls on several ids say there why they refused one. */
struct weir_error {
    char text[512]; /**< One printable line without a newline, NUL-terminated; "" where there is
                         nothing to say. */
    size_t offset;  /**< Of the wrong piece in the text of weir_cron_new(), in bytes; else 0. */
    size_t length;  /**< Of that piece, in bytes; 0: it is missing, or it is not in the text. */
};

WEIR_END_DECLS

#endif
