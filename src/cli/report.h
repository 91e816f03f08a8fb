/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_REPORT_H
#define WEIRI_CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <weir/broker.h>
#include <weir/log.h>
#include <weir/status.h>

/* All output to standard error goes through here. It is whole lines that start with the command,
 * each in one write, so that messages of several threads do not mix. Thread-safe after
 * report_begin(). */

/* From now on a line waits for a reader of standard error that has stopped for a tenth of a second
 * at most. Then it is dropped, as are those that follow, until a line tells how many they were. */
void report_never_wait(void);

/* Writes to standard error unless that blocks for longer than wait_ms (-1: for ever). Returns the
 * bytes written, 0: none, or -1 with errno. */
ssize_t report_write(const char *bytes, size_t size, int wait_ms);

/* The longest line; longer ones are cut. */
#define REPORT_LINE_SIZE 1024

/* From now on lines start with `weir NAME: `; NULL: `weir: `. name is borrowed for good. */
void report_begin(const char *name);

/* Says one line and returns code, so that a refusal is one statement: return report(EX_USAGE, ...).
 */
int report(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether long work is to show its progress now: standard error is a terminal, and a quarter of a
 * second has passed since it was due last, or was first asked for. */
bool report_progress_due(void);

/* Shows a line of progress. On a terminal it replaces the one before, and the next message replaces
 * it. Elsewhere it is a line of its own. */
void report_progress(bool terminal, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Asks on the terminal. Only an answer of yes agrees. */
bool report_agreed(const char *question);

/* Removes the line of progress from the terminal, if there is one. */
void report_progress_end(void);

/* A weir_log_fn: warnings and errors become messages, each at most once a minute. */
void report_log(enum weir_log_level level, const char *message, void *arg);

/* A value as it may stand in a message: in quotes, without control bytes, cut where it is long. */
struct quoted {
    char text[160];
};
struct quoted quote(const char *value);

/* The exit status of <sysexits.h> for a status. */
int report_exit_code(enum weir_status status);

/* Reports the result of a library call. what is the subject, e.g. a quoted tube. Returns
 * report_exit_code(status). */
int report_status(enum weir_status status, const char *what, const struct weir_error *error);

#endif
