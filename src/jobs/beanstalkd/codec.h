/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_CODEC_H
#define WEIRI_BEANSTALKD_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/allocator.h>
#include <weir/job.h>

/* The protocol of beanstalkd 1.12 and 1.13: requests to bytes, bytes to replies. Plain functions of
 * their arguments; no socket, no clock. docs/internals/beanstalkd.md. */

enum weiri_verb {
    WEIRI_PUT = 1,
    WEIRI_USE,
    WEIRI_RESERVE_TIMEOUT,
    WEIRI_RESERVE_JOB,
    WEIRI_DELETE,
    WEIRI_RELEASE,
    WEIRI_BURY,
    WEIRI_TOUCH,
    WEIRI_WATCH,
    WEIRI_IGNORE,
    WEIRI_PEEK,
    WEIRI_PEEK_READY,
    WEIRI_PEEK_DELAYED,
    WEIRI_PEEK_BURIED,
    WEIRI_KICK_JOB,
    WEIRI_STATS,
    WEIRI_STATS_JOB,
    WEIRI_STATS_TUBE,
    WEIRI_LIST_TUBES,
    WEIRI_PAUSE_TUBE
};

/* A request. Members that a verb does not name are not read. */
struct weiri_request {
    enum weiri_verb verb;
    const char *tube; /* use, watch, ignore, stats-tube, pause-tube */
    uint64_t id;      /* of a job */
    uint32_t priority;
    uint32_t delay_s; /* put, release, pause-tube */
    uint32_t ttr_s;   /* put */
    uint32_t count;   /* reserve-with-timeout: seconds */
    /* put: the body is prefix followed by body. */
    const char *prefix;
    size_t prefix_size;
    const void *body;
    size_t body_size;
};

/* Longest line of a request or reply, its CR LF included: a word, a tube's name, two numbers. */
#define WEIRI_LINE_SIZE 256

/* Writes a request's line, its CR LF included and no NUL. After the line of a put the caller sends
 * the prefix, the body, CR LF. False: the tube's name is not allowed or missing, so that no name
 * can hold a second command; or the body is longer than the protocol can say. */
bool weiri_request_write(const struct weiri_request *request, char line[WEIRI_LINE_SIZE],
                         size_t *ret_size);

/* The protocol's name of a verb. */
const char *weiri_verb_name(enum weiri_verb verb);

enum weiri_reply_kind {
    WEIRI_INSERTED = 1, /* id */
    WEIRI_BURIED,       /* a put that found no memory to queue has an id, else 0 */
    WEIRI_EXPECTED_CRLF,
    WEIRI_JOB_TOO_BIG,
    WEIRI_DRAINING,
    WEIRI_USING,    /* tube */
    WEIRI_RESERVED, /* id, body */
    WEIRI_DEADLINE_SOON,
    WEIRI_TIMED_OUT,
    WEIRI_DELETED,
    WEIRI_RELEASED,
    WEIRI_TOUCHED,
    WEIRI_WATCHING, /* count */
    WEIRI_NOT_IGNORED,
    WEIRI_FOUND,  /* id, body */
    WEIRI_KICKED, /* count; of kick-job 1 */
    WEIRI_OK_BODY,
    WEIRI_PAUSED,
    WEIRI_NOT_FOUND,
    WEIRI_OUT_OF_MEMORY,
    WEIRI_INTERNAL_ERROR,
    WEIRI_BAD_FORMAT,
    WEIRI_UNKNOWN_COMMAND
};

struct weiri_reply {
    enum weiri_reply_kind kind;
    uint64_t id;
    uint64_t count;
    char tube[WEIR_TUBE_SIZE_MAX + 1];
    /* RESERVED, FOUND, OK. NUL-terminated beyond body_size. NULL: a job's that is too long, and was
     * skipped, or that the node has not written to its end. */
    char *body;
    size_t body_size;
};

/* The block of memory that a body is in: its CR LF is read with it. */
#define WEIRI_BODY_BLOCK(body_size) ((body_size) + 2)

/* The word of a reply, as the node sends it. */
const char *weiri_reply_name(enum weiri_reply_kind kind);

/* May a node answer this verb so? One that answers otherwise is out of step. */
bool weiri_reply_fits(enum weiri_verb verb, const struct weiri_reply *reply);

/* Must the connection be made anew after this reply? Where the node did not understand a request,
 * what it takes the following bytes for is not known. */
bool weiri_reply_is_fatal(enum weiri_reply_kind kind);

/* What became of a request. */
enum weiri_delivery {
    WEIRI_ANSWERED = 1,
    WEIRI_NOT_SENT, /* the node has not seen it */
    WEIRI_LOST      /* sent, at least in part, and not answered: it may have been done */
};

/* What one node has of a job. A put is accepted with min_written copies that are written, refused
 * where all are absent, else unknown. */
enum weiri_copy_state {
    WEIRI_COPY_ABSENT = 1, /* certainly not there, or taken back */
    WEIRI_COPY_WRITTEN,
    WEIRI_COPY_MAYBE /* sent, and no answer that says */
};

/* What a node has after a put. reply is 0 unless answered. Only INSERTED counts as written: a
 * BURIED job is there, and will not run by itself, but a kick would run it. */
enum weiri_copy_state weiri_copy_of_put(enum weiri_delivery delivery, enum weiri_reply_kind reply);
/* Must the copy be taken back where the put is not accepted? Its id is known. */
bool weiri_copy_has_id(enum weiri_reply_kind reply);
/* What a node has after the copy was deleted there. Not found: it was reserved, and may be run. */
enum weiri_copy_state weiri_copy_of_delete(enum weiri_reply_kind reply);

enum weiri_parse {
    WEIRI_PARSE_MORE = 1, /* all bytes were used; the reply is not complete */
    WEIRI_PARSE_REPLY,    /* parser->reply is complete */
    WEIRI_PARSE_BAD,      /* these bytes are no reply; parser->why says it */
    WEIRI_PARSE_NO_MEMORY /* for a body */
};

/* An incremental parser of replies. It holds at most one line and one body. */
struct weiri_parser {
    /* The owner sets these two; all else begins as 0. */
    const struct weir_allocator *allocator;
    size_t body_size_max; /* no memory is asked for a longer one: a job's is skipped, others are
                             refused */
    const char *why;
    struct weiri_reply reply;
    size_t line_size;
    size_t left; /* of a body, which may be skipped, and its CR LF */
    char line[WEIRI_LINE_SIZE];
};

/* Reads bytes up to the end of one reply. ret_used is how many were read. After WEIRI_PARSE_REPLY
 * the reply is the parser's until weiri_parser_next(), which alone may follow
 * BAD and NO_MEMORY. */
enum weiri_parse weiri_parser_feed(struct weiri_parser *parser, const char *bytes, size_t size,
                                   size_t *ret_used);
/* Frees the reply and begins the next; also at the end of a connection. */
void weiri_parser_next(struct weiri_parser *parser);

/* The number of `name: 123` in the body of stats, stats-job or stats-tube. False: there is none. */
bool weiri_stats_number(const char *body, size_t size, const char *name, uint64_t *ret_number);
/* The value of `name: text`, without quotes. False: there is none, or it does not fit. */
bool weiri_stats_text(const char *body, size_t size, const char *name, char *text,
                      size_t text_size);
/* The next `- name` of a list of tubes; *offset begins at 0. Names that are not allowed are passed
 * over. False: there are no more. */
bool weiri_stats_next_tube(const char *body, size_t size, size_t *offset,
                           char tube[WEIR_TUBE_SIZE_MAX + 1]);

#endif
