/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <weir/jobs.h>

#include "cli/batch.h"
#include "cli/lines.h"
#include "cli/moment.h"
#include "cli/report.h"
#include "cli/store.h"
#include "view/text.h"
#include "view/timestamp.h"

enum put_option {
    PUT_AT = OPTION_OWN,
    PUT_DELAY,
    PUT_DURABILITY,
    PUT_GROUP,
    PUT_HEADER,
    PUT_INPUT,
    PUT_JSON,
    PUT_LINES,
    PUT_NULL,
    PUT_ON_DUPLICATE,
    PUT_PAST_OK,
    PUT_PRIORITY,
    PUT_PUT_ID,
    PUT_QUIET,
    PUT_TTR,
    PUT_UNIQUE,
    PUT_UNIQUE_FOR
};

static const struct poptOption put_options[] = {
    OPTION_VALUE("delay", 'd', PUT_DELAY, "Do not run it before this much time has passed",
                 "DURATION"),
    OPTION_VALUE(
        "at", '\0', PUT_AT,
        "Do not run it before this time: as 2030-01-31T08:00:00Z, @1896076800, or 'friday 5pm'",
        "TIME"),
    OPTION_FLAG("past-ok", '\0', PUT_PAST_OK, "With --at: at once where that time has passed"),
    OPTION_VALUE("priority", 'p', PUT_PRIORITY,
                 "Smaller runs first; negative ones too (default: 0)", "N"),
    OPTION_VALUE("ttr", '\0', PUT_TTR,
                 "A worker that gives no sign of life for so long has lost the job (default: "
                 "60s)",
                 "DURATION"),
    OPTION_VALUE("unique", '\0', PUT_UNIQUE, "Put it only where no job of the tube has this key",
                 "KEY"),
    OPTION_VALUE("on-duplicate", '\0', PUT_ON_DUPLICATE,
                 "Else refuse (default), replace, keep, debounce, throttle or again", "MODE"),
    OPTION_VALUE("unique-for", '\0', PUT_UNIQUE_FOR, "With throttle: the key stays so long",
                 "DURATION"),
    OPTION_VALUE("put-id", '\0', PUT_PUT_ID, "If repeated with this, it is put once", "ID"),
    OPTION_VALUE("durability", '\0', PUT_DURABILITY,
                 "Flush before it is acknowledged (full), later (normal) or never (memory)",
                 "LEVEL"),
    OPTION_VALUE("group", '\0', PUT_GROUP,
                 "Its group, of which `policy --per-group` limits how many run at once", "NAME"),
    OPTION_VALUE("header", '\0', PUT_HEADER, "Tell the program this as well; may be given again",
                 "NAME=VALUE"),
    OPTION_FLAG("lines", 'l', PUT_LINES, "Each line of the input is a job"),
    OPTION_FLAG("null", '0', PUT_NULL, "As --lines, but each ends in a NUL byte"),
    OPTION_VALUE("input", 'i', PUT_INPUT, "Read this file instead of standard input", "FILE"),
    OPTION_FLAG("quiet", 'q', PUT_QUIET, "Do not print the jobs' ids"),
    OPTION_FLAG("json", '\0', PUT_JSON, "Print an object a job instead of its bare id"),
    POPT_TABLEEND,
};

struct put {
    struct weir_put_options options;
    enum batch_output output;
    uint32_t durability; /* Of enum weir_durability. */
    bool past_ok;        /* A time that has passed means at once. */
    bool pieces;         /* The input holds many jobs. */
    int separator;
    const char *input; /* NULL: standard input. */
    const char *body;  /* The operand, or NULL. */
    const char *tube;
    const char *at;    /* The text of --at, or NULL. */
    const char *delay; /* The text of --delay, or NULL. */
    int64_t now_ns;    /* The time at which the options were read. */
    char headers[WEIR_HEADERS_SIZE_MAX + 1];
};

static int add_header(const char *name, const char *text, char headers[WEIR_HEADERS_SIZE_MAX + 1])
{
    size_t used = strlen(headers);
    size_t left = WEIR_HEADERS_SIZE_MAX + 1 - used;
    int size = snprintf(headers + used, left, "%s\n", text);
    if (size < 0 || (size_t)size >= left) {
        return report(EX_USAGE, "%s: %s: too long; expected at most %d bytes of headers", name,
                      quote(text).text, WEIR_HEADERS_SIZE_MAX);
    }
    if (strchr(text, '\n') != NULL || weir_headers_check(headers, NULL) != WEIR_OK) {
        return report(EX_USAGE,
                      "%s: %s: expected NAME=VALUE, in one line, with a name of at most %d out of "
                      "a-z, 0-9 and -, and each name once",
                      name, quote(text).text, WEIR_HEADER_NAME_MAX);
    }
    return EX_OK;
}

static int read_mode(const char *name, const char *text, enum weir_duplicate *ret_mode)
{
    return text_read_mode(text, ret_mode)
               ? EX_OK
               : report(EX_USAGE,
                        "%s: %s: unknown mode; expected one of refuse, replace, keep, debounce, "
                        "throttle, again",
                        name, quote(text).text);
}

static int check_text(const char *name, const char *text, size_t most)
{
    return text[0] != '\0' && strlen(text) <= most
               ? EX_OK
               : report(EX_USAGE, "%s: %s: expected 1 to %zu bytes", name, quote(text).text, most);
}

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct put *put = arg;
    int64_t number = 0;
    int code = EX_OK;
    switch ((enum put_option)option) {
    case PUT_AT:
        put->at = text;
        return read_moment(name, text, put->now_ns, &put->options.run_at_ns);
    case PUT_DELAY:
        put->delay = text;
        return read_duration(name, text, 0, &put->options.delay_ns);
    case PUT_TTR:
        return read_duration(name, text, WEIR_MS(100), &put->options.ttr_ns);
    case PUT_PRIORITY:
        code = read_number(name, text, INT32_MIN, INT32_MAX, &number);
        put->options.priority = (int32_t)number;
        return code;
    case PUT_DURABILITY:
        return read_durability(name, text, &put->durability);
    case PUT_GROUP:
        put->options.group = text;
        return check_text(name, text, WEIR_GROUP_SIZE_MAX);
    case PUT_HEADER:
        put->options.headers = put->headers;
        return add_header(name, text, put->headers);
    case PUT_UNIQUE:
        put->options.key = text;
        return check_text(name, text, WEIR_KEY_SIZE_MAX);
    case PUT_PUT_ID:
        put->options.put_id = text;
        return check_text(name, text, WEIR_PUT_ID_SIZE_MAX);
    case PUT_ON_DUPLICATE:
        return read_mode(name, text, &put->options.on_duplicate);
    case PUT_UNIQUE_FOR:
        return read_duration(name, text, 1, &put->options.key_ns);
    case PUT_INPUT:
        put->input = text;
        return EX_OK;
    case PUT_LINES:
        put->pieces = true;
        return EX_OK;
    case PUT_NULL:
        put->pieces = true;
        put->separator = '\0';
        return EX_OK;
    case PUT_PAST_OK:
        put->past_ok = true;
        return EX_OK;
    case PUT_JSON:
        put->output = BATCH_JSON;
        return EX_OK;
    case PUT_QUIET:
        put->output = BATCH_QUIET;
        break;
    }
    return EX_OK;
}

/* The store refuses these too, but only once it exists. A time in the future stays valid for a
 * whole list, however long reading it takes. */
static int check_times(struct put *put)
{
    int64_t now = put->now_ns;
    char text[TIMESTAMP_SIZE];
    if (put->at != NULL && put->delay != NULL) {
        return report(EX_USAGE, "--delay and --at: both given; expected one of them");
    }
    if (put->past_ok && put->at == NULL) {
        return report(EX_USAGE, "--past-ok: without --at; expected a time");
    }
    if (put->at != NULL && put->options.run_at_ns < now && !put->past_ok) {
        timestamp_write(now, text);
        return report(EX_USAGE,
                      "--at: %s: has passed; expected a time after now, which is %s, or --past-ok",
                      quote(put->at).text, text);
    }
    if (put->at != NULL && put->options.run_at_ns < now) {
        put->options.run_at_ns = now;
    }
    if (put->options.delay_ns > INT64_MAX - now) {
        timestamp_write(INT64_MAX, text);
        return report(EX_USAGE, "--delay: %s: too long; expected one that ends before %s",
                      quote(put->delay).text, text);
    }
    put->options.flags = WEIR_PUT_PAST_OK;
    return EX_OK;
}

/* The store refuses these too, but only once it exists. */
static int check_key(const struct put *put)
{
    const struct weir_put_options *options = &put->options;
    bool is_throttled = options->on_duplicate == WEIR_DUPLICATE_THROTTLE;
    if (options->key == NULL && (options->on_duplicate != 0 || options->key_ns != 0)) {
        return report(EX_USAGE, "%s: without --unique; expected a key",
                      options->on_duplicate != 0 ? "--on-duplicate" : "--unique-for");
    }
    if ((options->key != NULL || options->put_id != NULL) && put->pieces) {
        return report(EX_USAGE, "%s: beside --lines; expected one job for it",
                      options->key != NULL ? "--unique" : "--put-id");
    }
    if (is_throttled != (options->key_ns != 0)) {
        return report(EX_USAGE, "--unique-for: expected it with --on-duplicate throttle, and only "
                                "there");
    }
    return EX_OK;
}

/* Refuses operands and combinations that make no sense. */
static int check(struct put *put, const struct arguments *arguments)
{
    static const char *const names[] = {"tube", "body"};
    int code = arguments_expect(arguments, names, 2, 1);
    if (code == EX_OK) {
        put->tube = arguments->operands[0];
        code = read_tube(put->tube);
    }
    if (code != EX_OK) {
        return code;
    }
    if (arguments->count > 1 && strcmp(arguments->operands[1], "-") != 0) {
        put->body = arguments->operands[1];
    }
    if (put->body != NULL && (put->pieces || put->input != NULL)) {
        return report(EX_USAGE, "%s: a body beside %s; expected one of them", quote(put->body).text,
                      put->input != NULL ? "--input" : "--lines");
    }
    code = check_key(put);
    return code == EX_OK ? check_times(put) : code;
}

/* Says why reading failed. */
static int refuse_input(const struct put *put, const struct lines *lines, const struct batch *batch,
                        enum lines_result result)
{
    int why = errno;
    char state[64] = "nothing was put";
    if (batch->put_count > 0) {
        (void)snprintf(state, sizeof(state), "the first %llu jobs were put",
                       (unsigned long long)batch->put_count);
    }
    const struct quoted input = quote(put->input != NULL ? put->input : "standard input");
    if (result == LINES_FAILED) {
        return report(why == ENOMEM           ? EX_OSERR
                      : batch->put_count == 0 ? EX_NOINPUT
                                              : EX_IOERR,
                      "%s: cannot be read: %s; %s", input.text, strerror(why), state);
    }
    if (put->pieces) {
        return report(EX_DATAERR,
                      "%s: line %llu: too long; expected a body of at most %zu bytes; %s",
                      input.text, (unsigned long long)lines->number, STORE_BODY_SIZE_MAX, state);
    }
    return report(EX_DATAERR, "%s: too long; expected a body of at most %zu bytes; %s", input.text,
                  STORE_BODY_SIZE_MAX, state);
}

/* Puts the pieces of lines. The first piece is read before the store is opened, so that an
 * unreadable input makes no store. Pieces that have arrived are put before a wait for more. */
static int put_pieces(const struct put *put, struct lines *lines, struct batch *batch,
                      struct store *store, const struct arguments *arguments)
{
    const char *piece = NULL;
    size_t size = 0;
    enum lines_result result = lines_next(lines, true, &piece, &size);
    if (result != LINES_PIECE && result != LINES_END) {
        return refuse_input(put, lines, batch, result);
    }
    int code = store_open(store, arguments, STORE_CHANGE);
    while (code == EX_OK && result != LINES_END) {
        if (result == LINES_PIECE) {
            code = batch_add(batch, store->broker, piece, size);
        } else if (result == LINES_PENDING) {
            code = batch_flush(batch, store->broker);
        } else {
            return refuse_input(put, lines, batch, result);
        }
        if (code == EX_OK) {
            result = lines_next(lines, result == LINES_PENDING, &piece, &size);
        }
    }
    return code == EX_OK ? batch_flush(batch, store->broker) : code;
}

static int put_input(const struct put *put, struct batch *batch, struct store *store,
                     const struct arguments *arguments)
{
    int fd = STDIN_FILENO;
    if (put->input != NULL) {
        fd = open(put->input, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            return report(EX_NOINPUT, "--input: %s: cannot be opened: %s; expected a file to read",
                          quote(put->input).text, strerror(errno));
        }
    } else if (isatty(fd)) {
        (void)report(EX_OK, "reading the terminal; Ctrl-D ends");
    }
    struct lines lines;
    lines_init(&lines, fd, put->pieces ? put->separator : -1, STORE_BODY_SIZE_MAX);
    int code = put_pieces(put, &lines, batch, store, arguments);
    lines_fini(&lines);
    if (fd != STDIN_FILENO) {
        (void)close(fd);
    }
    return code;
}

static int put_body(const char *body, struct batch *batch, struct store *store,
                    const struct arguments *arguments)
{
    int code = store_open(store, arguments, STORE_CHANGE);
    if (code == EX_OK) {
        code = batch_add(batch, store->broker, body, strlen(body));
    }
    return code == EX_OK ? batch_flush(batch, store->broker) : code;
}

static int act(struct arguments *arguments, void *arg)
{
    struct put *put = arg;
    int code = check(put, arguments);
    arguments->durability = put->durability;
    if (code == EX_OK) {
        struct store store = {0};
        struct batch batch;
        batch_init(&batch, put->tube, &put->options, put->output);
        code = put->body == NULL ? put_input(put, &batch, &store, arguments)
                                 : put_body(put->body, &batch, &store, arguments);
        batch_fini(&batch);
        store_close(&store);
    }
    return code;
}

static int run_put(const struct command *command, int argc, char **argv)
{
    struct put put = {
        .options = {0}, .output = BATCH_IDS, .separator = '\n', .now_ns = moment_now()};
    return arguments_run(command, argc, argv, set_option, act, &put);
}

const struct command command_put = {
    .name = "put",
    .operands = "TUBE [BODY]",
    .summary = "put jobs into a tube",
    .examples =
        "  weir put mail 'to: you'                 one job, with this body\n"
        "  weir put mail < letter.txt              one job; its body is the file\n"
        "  find . -name '*.jpg' | weir put -l img  a job a line\n"
        "  weir put --delay 90s mail later         not before 90 seconds have passed\n"
        "  weir put --at 2030-01-31T08:00:00Z mail then\n"
        "  weir put --at 'tomorrow 9:00' mail 'good morning'\n"
        "  weir put --at \"@$(stat -c %Y stamp)\" --past-ok mail 'at once, if that has passed'\n",
    .options = put_options,
    .run = run_put,
};
