/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* Sends the e-mails of a tube by SMTP, however often the server refuses them for now. Arguments:
 * the broker's URL, the server's host and port, the sender's address. An e-mail is put by
 *
 *     printf '%s\n' ann@example.org 'the subject' 'the text' | weir put emails
 *
 * - 4xx, or no answer, is for now: the e-mail is tried again a second later, then two, and so on.
 * - 5xx is for good: the job is buried with what the server said. `weir why ID` shows that, and
 *   `weir kick emails` has it tried again.
 * - Where the answer is lost after the server took an e-mail, it is sent twice. Both have the job's
 *   identity in their Message-ID, by which mailboxes know that they are one. */
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <weir/jobs.h>

#define EMAIL_SIZE_MAX 65536
#define LATER WEIR_EUSER /* a status of the handler: again */

/* Where a consumer sends to, and as whom. */
struct route {
    const char *host;
    const char *port;
    const char *from;
};

struct email {
    const char *to;
    const char *subject;
    const char *text;
};

/* A connection to the server. */
struct smtp {
    weir_context *context;
    FILE *in;
    FILE *out;
    char reply[512]; /* the last line */
};

/* Ends a line. Returns the next one; "": there is none. */
static char *cut_line(char *line)
{
    char *end = line + strcspn(line, "\n");
    char *next = *end == '\n' ? end + 1 : end;
    *end = '\0';
    return next;
}

/* Cuts text into lines. What comes from outside must not pass for commands or headers. */
static bool parse(char *text, struct email *email)
{
    if (strchr(text, '\r') != NULL) {
        return false;
    }
    char *subject = cut_line(text);
    *email = (struct email){.to = text, .subject = subject, .text = cut_line(subject)};
    return *email->subject != '\0' && strchr(email->to, '@') != NULL &&
           strpbrk(email->to, "<> \t") == NULL;
}

/* Says why in words: the job's reason, in its history and to after_run. */
static int fail(weir_context *context, int status, const char *why)
{
    (void)weir_context_explain(context, why);
    return status;
}

/* Whether all that was written has left. */
static bool flush(struct smtp *smtp)
{
    return fflush(smtp->out) == 0 && ferror(smtp->out) == 0;
}

/* Reads a reply: lines "250-…", and a last one "250 …". */
static int expect(struct smtp *smtp, char wanted)
{
    do {
        enum weir_status status = weir_context_check(smtp->context);
        if (status != WEIR_OK) {
            return (int)status;
        }
        if (!flush(smtp) || fgets(smtp->reply, sizeof(smtp->reply), smtp->in) == NULL) {
            return fail(smtp->context, LATER, "the server does not answer");
        }
        smtp->reply[strcspn(smtp->reply, "\r\n")] = '\0';
    } while (strlen(smtp->reply) > 3 && smtp->reply[3] == '-');
    if (smtp->reply[0] == wanted) {
        return WEIR_OK;
    }
    return fail(smtp->context, smtp->reply[0] == '5' ? WEIR_ESTOP : LATER, smtp->reply);
}

static int command(struct smtp *smtp, char wanted, const char *verb, const char *address)
{
    (void)fputs(verb, smtp->out);
    if (address != NULL) {
        (void)fprintf(smtp->out, ":<%s>", address);
    }
    (void)fputs("\r\n", smtp->out);
    return expect(smtp, wanted);
}

static int talk(struct smtp *smtp, const struct route *route, const struct email *email,
                const struct weir_job *job)
{
    int status = expect(smtp, '2');
    if (status == WEIR_OK) {
        status = command(smtp, '2', "EHLO localhost", NULL);
    }
    if (status == WEIR_OK) {
        status = command(smtp, '2', "MAIL FROM", route->from);
    }
    if (status == WEIR_OK) {
        status = command(smtp, '2', "RCPT TO", email->to);
    }
    if (status == WEIR_OK) {
        status = command(smtp, '3', "DATA", NULL);
    }
    if (status != WEIR_OK) {
        return status;
    }
    (void)fprintf(smtp->out, "From: <%s>\r\nTo: <%s>\r\n", route->from, email->to);
    char date[40];
    struct tm parts;
    time_t put = (time_t)(job->created_ns / WEIR_SECONDS(1)); /* of all copies */
    (void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S +0000", gmtime_r(&put, &parts));
    (void)fprintf(smtp->out, "Date: %s\r\nSubject: %s\r\n", date, email->subject);
    (void)fprintf(smtp->out, "Message-ID: <%s%s>\r\n\r\n", job->identity, strchr(route->from, '@'));
    bool is_line = true; /* a line's first character is next */
    for (const char *at = email->text; *at != '\0'; at++) {
        if (is_line && *at == '.') {
            (void)fputc('.', smtp->out);
        }
        is_line = *at == '\n';
        (void)fputs(is_line ? "\r" : "", smtp->out);
        (void)fputc(*at, smtp->out);
    }
    if (!flush(smtp)) { /* a part may be missing: it must not be ended like a whole one */
        return fail(smtp->context, LATER, "the server does not take the text");
    }
    status = command(smtp, '2', is_line ? "." : "\r\n.", NULL);
    if (status == WEIR_OK) {
        (void)command(smtp, '2', "QUIT", NULL); /* whatever the answer is */
    }
    return status;
}

/* Connects; no read or write may last longer than ten seconds. */
static int dial(const struct route *route)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    const struct timeval limit = {.tv_sec = 10};
    struct addrinfo *addresses = NULL;
    int fd = -1;
    if (getaddrinfo(route->host, route->port, &hints, &addresses) != 0) {
        return -1;
    }
    for (const struct addrinfo *at = addresses; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0 ||
                        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) != 0 ||
                        connect(fd, at->ai_addr, at->ai_addrlen) != 0)) {
            (void)close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(addresses);
    return fd;
}

/* The handler. */
static int send_email(weir_context *context, const struct weir_job *job, void *arg)
{
    const struct route *route = arg;
    char text[EMAIL_SIZE_MAX + 1] = "";
    struct email email;
    if (job->body_size > EMAIL_SIZE_MAX) {
        return fail(context, WEIR_ESTOP, "too long");
    }
    memcpy(text, job->body, job->body_size);
    if (!parse(text, &email)) {
        return fail(context, WEIR_ESTOP, "not an address, a subject and a text");
    }
    int fd = dial(route);
    if (fd < 0) {
        return fail(context, LATER, "the server cannot be reached");
    }
    int out_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    struct smtp smtp = {context, fdopen(fd, "r"), out_fd < 0 ? NULL : fdopen(out_fd, "w"), ""};
    int status = smtp.in != NULL && smtp.out != NULL ? talk(&smtp, route, &email, job)
                                                     : fail(context, LATER, "no descriptors");
    if (status != WEIR_OK) { /* what is not sent yet must not leave with the close */
        (void)shutdown(fd, SHUT_RDWR);
    }
    (void)(smtp.out != NULL ? fclose(smtp.out) : out_fd < 0 ? 0 : close(out_fd));
    (void)(smtp.in != NULL ? fclose(smtp.in) : close(fd));
    return status;
}

static void tell_run(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                     int64_t run_ns, int64_t delay_ns, void *arg)
{
    const char *end = memchr(job->body, '\n', job->body_size);
    (void)status;
    (void)run_ns;
    (void)delay_ns;
    (void)arg;
    printf("%.*s: attempt %u: %s%s%s\n", end != NULL ? (int)(end - (const char *)job->body) : 0,
           (const char *)job->body, (unsigned)job->attempts, weir_job_outcome_name(outcome),
           *job->reason != '\0' ? ": " : "", job->reason);
}

static enum weir_status send_all(weir_broker *broker, struct route *route, struct weir_error *error)
{
    const struct weir_consumer_options options = {.handler = send_email,
                                                  .after_run = tell_run,
                                                  .arg = route,
                                                  .workers = 4,
                                                  .deadline_ns = WEIR_SECONDS(60),
                                                  .rate = 20, /* a second, at most */
                                                  .flags = WEIR_CONSUMER_UNTIL_EMPTY};
    weir_consumer *consumer = NULL;
    enum weir_status status = weir_consumer_new(broker, "emails", &options, &consumer, error);
    if (status == WEIR_OK) {
        status = weir_consumer_start(consumer, error);
    }
    if (status == WEIR_OK) {
        status = weir_consumer_wait(consumer, WEIR_FOREVER, error);
    }
    weir_consumer_free(consumer);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 5 || strchr(argv[4], '@') == NULL) {
        (void)fprintf(stderr, "usage: email_sender BROKER HOST PORT FROM\n");
        return 64;
    }
    (void)signal(SIGPIPE, SIG_IGN); /* a server that hangs up */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    struct route route = {argv[2], argv[3], argv[4]};
    weir_broker *broker = NULL;
    struct weir_error error = {0};
    int failed =
        weir_broker_open(argv[1], NULL, &broker, &error) || send_all(broker, &route, &error);
    if (failed) {
        (void)fprintf(stderr, "email_sender: %s\n", error.text);
    }
    weir_broker_close(broker);
    return failed;
}
