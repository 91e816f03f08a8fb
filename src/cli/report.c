/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/report.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <weir/clock.h>
#include <weir/duration.h>

#include "view/text.h"

static const char *command_name;

/* An unfinished line of progress is on the terminal. */
static atomic_bool unfinished;

#define ERASE_LINE "\r\033[K"

void report_begin(const char *name)
{
    command_name = name;
}

/* How long a line waits, in milliseconds; -1: for ever. */
static int line_wait_ms = -1;
static atomic_uint dropped; /* lines, since the last one that was written */

void report_never_wait(void)
{
    line_wait_ms = 100;
}

ssize_t report_write(const char *bytes, size_t size, int wait_ms)
{
    /* Held from the question whether standard error is writable to the write. Otherwise another
     * thread may fill the pipe in between, and the write would block. */
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct pollfd poller = {.fd = STDERR_FILENO, .events = POLLOUT};
    ssize_t written = 0;
    do {
        (void)poll(&poller, 1, wait_ms);
        (void)pthread_mutex_lock(&mutex);
        if (poll(&poller, 1, 0) > 0) {
            written = write(STDERR_FILENO, bytes, size);
        }
        (void)pthread_mutex_unlock(&mutex);
        written = written < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : written;
    } while (written == 0 && wait_ms < 0);
    return written;
}

/* Once a line was dropped, the next ones do not wait. */
static void write_all(const char *text, size_t size)
{
    char told[80];
    unsigned missing = atomic_exchange(&dropped, 0);
    int length = snprintf(told, sizeof(told),
                          "weir: standard error took nothing; lines dropped here: %u\n", missing);
    bool is_taken = missing == 0 || report_write(told, (size_t)length, 0) != 0;
    for (size_t done = 0; is_taken && done < size;) {
        ssize_t written = report_write(text + done, size - done, missing > 0 ? 0 : line_wait_ms);
        is_taken = written != 0;
        done = written >= 0 ? done + (size_t)written : size; /* an error takes it for good */
    }
    if (!is_taken) {
        atomic_fetch_add(&dropped, missing + 1);
    }
}

/* One write() a line: the kernel keeps lines of several threads and processes whole. */
__attribute__((format(printf, 3, 0))) static void say(const char *before, const char *after,
                                                      const char *format, va_list values)
{
    char text[REPORT_LINE_SIZE];
    char line[REPORT_LINE_SIZE];
    size_t before_size = strlen(before);
    size_t after_size = strlen(after);
    int length = snprintf(text, sizeof(text), "weir%s%s: ", command_name != NULL ? " " : "",
                          command_name != NULL ? command_name : "");
    (void)vsnprintf(text + length, sizeof(text) - (size_t)length, format, values);
    (void)strcpy(line, before);
    size_t size = before_size + text_escape_message(text, line + before_size,
                                                    sizeof(line) - before_size - after_size);
    (void)strcpy(line + size, after);
    write_all(line, size + after_size);
}

int report(int code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(atomic_exchange(&unfinished, false) ? ERASE_LINE : "", "\n", format, values);
    va_end(values);
    return code;
}

bool report_progress_due(void)
{
    static _Atomic int64_t due_ns;
    int64_t now_ns = weir_clock_now(weir_clock_monotonic());
    int64_t due = atomic_load(&due_ns);
    if (due == 0 || now_ns >= due) {
        atomic_store(&due_ns, now_ns + WEIR_MS(250));
    }
    return due != 0 && now_ns >= due && isatty(STDERR_FILENO) == 1;
}

void report_progress(bool terminal, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    atomic_store(&unfinished, terminal);
    say(terminal ? ERASE_LINE : "", terminal ? "" : "\n", format, values);
    va_end(values);
}

bool report_agreed(const char *question)
{
    char answer[16] = "";
    report_progress(true, "%s [y/N] ", question);
    return fgets(answer, sizeof(answer), stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

void report_progress_end(void)
{
    if (atomic_exchange(&unfinished, false)) {
        write_all(ERASE_LINE, strlen(ERASE_LINE));
    }
}

/* A broker that asks the same nodes many times finds the same faults each time: each is one line a
 * minute. */
static bool is_repeated(const char *message)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        char text[REPORT_LINE_SIZE];
        int64_t said_ns;
    } lines[8];
    size_t place = 0;
    int64_t now_ns = weir_clock_now(weir_clock_monotonic());
    bool is = false;
    (void)pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (strncmp(lines[i].text, message, sizeof(lines[i].text) - 1) == 0) {
            is = now_ns - lines[i].said_ns < WEIR_SECONDS(60);
            place = i;
            break;
        }
        place = lines[i].said_ns < lines[place].said_ns ? i : place;
    }
    if (!is) {
        (void)snprintf(lines[place].text, sizeof(lines[place].text), "%s", message);
        lines[place].said_ns = now_ns;
    }
    (void)pthread_mutex_unlock(&mutex);
    return is;
}

void report_log(enum weir_log_level level, const char *message, void *arg)
{
    (void)arg;
    if (level <= WEIR_LOG_WARNING && !is_repeated(message)) {
        (void)report(0, "%s", message);
    }
}

struct quoted quote(const char *value)
{
    /* Space for the second quotation mark, the dots and a count of bytes. */
    enum {
        TAIL = 40
    };
    struct quoted result;
    size_t size = strlen(value);
    size_t at = 1;
    size_t taken = 0;
    result.text[0] = '"';
    while (taken < size) {
        char escaped[TEXT_ESCAPED_SIZE];
        size_t used = text_escape_one(value + taken, size - taken, escaped);
        size_t length = strlen(escaped);
        if (at + length > sizeof(result.text) - TAIL) {
            break;
        }
        memcpy(result.text + at, escaped, length);
        at += length;
        taken += used;
    }
    if (taken == size) {
        (void)strcpy(result.text + at, "\"");
    } else {
        (void)snprintf(result.text + at, sizeof(result.text) - at, "\"... (%zu bytes)", size);
    }
    return result;
}

int report_exit_code(enum weir_status status)
{
    switch (status) {
    case WEIR_OK:
        return EX_OK;
    case WEIR_EINVAL:
    case WEIR_ERANGE:
    case WEIR_EPAST:
        return EX_USAGE;
    case WEIR_ETOOBIG:
    case WEIR_ESTATE:
    case WEIR_ECORRUPT:
    case WEIR_ESCHEMA:
        return EX_DATAERR;
    case WEIR_ENOTFOUND:
        return EX_NOINPUT;
    case WEIR_ENOTSUP:
    case WEIR_EUNAVAILABLE:
        return EX_UNAVAILABLE;
    case WEIR_ENOMEM:
    case WEIR_ETHREAD:
        return EX_OSERR;
    case WEIR_EIO:
    case WEIR_ENOSPACE:
        return EX_IOERR;
    case WEIR_EACCESS:
        return EX_NOPERM;
    case WEIR_EAGAIN:
    case WEIR_EBUSY:
    case WEIR_EFULL:
    case WEIR_ETIMEDOUT:
    case WEIR_ECANCELED:
    case WEIR_EUNKNOWN:
        return EX_TEMPFAIL;
    default:
        return EX_SOFTWARE;
    }
}

int report_status(enum weir_status status, const char *what, const struct weir_error *error)
{
    const char *text =
        error != NULL && error->text[0] != '\0' ? error->text : weir_status_text((int)status);
    return report(report_exit_code(status), "%s: %s", what, text);
}
