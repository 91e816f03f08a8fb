/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include <weir/admin.h>
#include <weir/consumer.h>
#include <weir/context.h>
#include <weir/duration.h>
#include <weir/job_schedule.h>

#include "cli/arguments.h"
#include "cli/report.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "http/listen.h"
#include "http/server.h"

/* One mail a second is put, and two workers take this long for each. */
#define MAIL_NS WEIR_MS(1800)
#define MAIL_RETRY WEIR_SECONDS(15)
#define MAILS_AT_START 8
#define PATH_SIZE 400

struct demo {
    struct store store;
    struct weir_error error;
    char folder[PATH_SIZE];
    uint64_t mails;
};

static int fail(weir_context *context, const char *reason, const char *tail, int exit_status)
{
    struct weir_run_details details = {0};
    (void)weir_context_explain(context, reason);
    details.tail = tail;
    details.tail_size = strlen(tail);
    details.exit_status = exit_status;
    (void)!weir_job_describe(context, &details);
    return WEIR_EUSER;
}

/* The worker of both tubes: it sends nothing, and draws nothing. */
static int run_job(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)arg;
    if (strcmp(job->tube, "thumbs") == 0) {
        return memmem(job->body, job->body_size, "broken", 6) == NULL
                   ? WEIR_OK
                   : fail(context, "exit status 1",
                          "thumb: reading scan.jpg\nthumb: premature end of JPEG file\n", 1);
    }
    if (weir_context_sleep(context, MAIL_NS) != WEIR_OK) {
        return WEIR_ECANCELED;
    }
    return job->attempts > 1 || memmem(job->body, job->body_size, "busy", 4) == NULL
               ? WEIR_OK
               : fail(context, "exit status 75", "sendmail: 450 4.2.1 mailbox busy\n", 75);
}

static enum weir_status put(struct demo *demo, const char *tube, const char *text, int64_t delay_ns,
                            const char *key)
{
    struct weir_put_options options = {0};
    const struct weir_body body = {text, strlen(text), NULL};
    options.delay_ns = delay_ns;
    options.key = key;
    return weir_broker_put(demo->store.broker, tube, &body, 1, &options, NULL, &demo->error);
}

static enum weir_status put_mail(struct demo *demo)
{
    char text[80];
    uint64_t number = ++demo->mails;
    (void)snprintf(text, sizeof(text), "to: user%" PRIu64 "@%s.example\nyour order has shipped\n",
                   number, number % 5 == 0 ? "busy" : "mail");
    return put(demo, "mail", text, 0, NULL);
}

static enum weir_status start_worker(struct demo *demo, const char *tube, bool until_empty,
                                     weir_consumer **ret_consumer)
{
    struct weir_consumer_options options = {0};
    options.handler = run_job;
    options.workers = 2;
    options.retry.attempts = 3;
    options.retry.base_ns = until_empty ? WEIR_MS(1) : MAIL_RETRY;
    options.flags = until_empty ? WEIR_CONSUMER_UNTIL_EMPTY : 0;
    enum weir_status status =
        weir_consumer_new(demo->store.broker, tube, &options, ret_consumer, &demo->error);
    return status == WEIR_OK ? weir_consumer_start(*ret_consumer, &demo->error) : status;
}

/* Pictures, all of which have been worked on: some are done, two are buried with three attempts. */
static enum weir_status make_pictures(struct demo *demo)
{
    weir_consumer *consumer = NULL;
    enum weir_status status = WEIR_OK;
    for (int i = 1; i <= 20 && status == WEIR_OK; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "%s-%d.jpg", i % 10 == 0 ? "broken" : "photo", i);
        status = put(demo, "thumbs", text, 0, NULL);
    }
    if (status == WEIR_OK) {
        status = start_worker(demo, "thumbs", true, &consumer);
    }
    if (status == WEIR_OK) {
        status = weir_consumer_wait(consumer, WEIR_FOREVER, &demo->error);
    }
    weir_consumer_free(consumer);
    return status;
}

/* One that the worker of mails fires, one for later, and one that is paused. */
static enum weir_status make_schedules(struct demo *demo)
{
    static const struct {
        const char *name;
        const char *tube;
        const char *cron; /* NULL: every 15 s */
    } schedules[] = {{"digest", "mail", NULL},
                     {"nightly", "reports", "30 2 * * *"},
                     {"yearly", "billing", "@yearly"}};
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < sizeof(schedules) / sizeof(schedules[0]) && status == WEIR_OK; i++) {
        struct weir_job_schedule_options options = {0};
        options.name = schedules[i].name;
        options.tube = schedules[i].tube;
        options.cron = schedules[i].cron;
        options.interval_ns = schedules[i].cron == NULL ? WEIR_SECONDS(15) : 0;
        options.body = (struct weir_body){options.name, strlen(options.name), NULL};
        options.flags = WEIR_SCHEDULE_NO_OVERLAP;
        status = weir_broker_schedule_put(demo->store.broker, &options, &demo->error);
    }
    return status == WEIR_OK ? weir_broker_schedule_change(demo->store.broker, "yearly",
                                                           WEIR_SCHEDULE_PAUSE, NULL, &demo->error)
                             : status;
}

/* Jobs in every state but reserved, which the worker of mails makes. */
static enum weir_status make_jobs(struct demo *demo)
{
    static const struct {
        const char *tube;
        const char *text;
        int64_t delay_ns;
        const char *key;
    } jobs[] = {{"reports", "weekly", WEIR_SECONDS(3600), NULL},
                {"reports", "monthly", WEIR_SECONDS(86400), NULL},
                {"billing", "invoice 1001", WEIR_SECONDS(600), "invoice-1001"},
                {"newsletter", "issue 7", 0, NULL},
                {"newsletter", "issue 8", 0, NULL}};
    enum weir_status status = make_pictures(demo);
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]) && status == WEIR_OK; i++) {
        status = put(demo, jobs[i].tube, jobs[i].text, jobs[i].delay_ns, jobs[i].key);
    }
    if (status == WEIR_OK) {
        status =
            weir_broker_pause(demo->store.broker, "newsletter", WEIR_SECONDS(7200), &demo->error);
    }
    for (int i = 0; i < MAILS_AT_START && status == WEIR_OK; i++) {
        status = put_mail(demo);
    }
    return status == WEIR_OK ? make_schedules(demo) : status;
}

/* Works and serves the page until a signal. */
static int run_page(struct demo *demo, const sigset_t *signals)
{
    static const struct timespec second = {1, 0};
    struct server_options options = {.broker = demo->store.broker,
                                     .broker_kind = "sqlite",
                                     .prefix = "",
                                     .trust = {.local = true},
                                     .limit_ns = WEIR_SECONDS(10)};
    struct listener listener;
    struct server *server = NULL;
    weir_consumer *consumer = NULL;
    char problem[160];
    bool is_usage = false;
    if (!listen_open("127.0.0.1:0", &listener, problem, sizeof(problem), &is_usage)) {
        return report(EX_UNAVAILABLE, "127.0.0.1: cannot listen there: %s", problem);
    }
    options.listener = listener.fd;
    enum weir_status status = server_start(&options, &server);
    if (status == WEIR_OK) {
        status = start_worker(demo, "mail", false, &consumer);
    }
    if (status == WEIR_OK) {
        (void)report(EX_OK, "the page: %s/", listener.url);
        (void)report(EX_OK, "its store, for other commands: --broker %s", demo->store.url);
        (void)report(EX_OK, "Ctrl-C ends it and removes the store");
    }
    while (status == WEIR_OK && sigtimedwait(signals, NULL, &second) < 0) {
        status = put_mail(demo);
    }
    server_stop(server);
    weir_consumer_free(consumer);
    return status == WEIR_OK ? EX_OK : report_status(status, "demo", &demo->error);
}

static int remove_folder(const struct demo *demo)
{
    char path[PATH_SIZE + 20];
    (void)snprintf(path, sizeof(path), "%s/jobs.db", demo->folder);
    store_remove(path);
    return rmdir(demo->folder) == 0 ? EX_OK
                                    : report(EX_IOERR, "%s: cannot be removed: %s",
                                             quote(demo->folder).text, strerror(errno));
}

static int show(struct arguments *arguments, void *arg)
{
    struct demo *demo = arg;
    const char *parent = getenv("TMPDIR");
    char url[PATH_SIZE + 20];
    struct signals signals;
    if (arguments->broker != NULL) {
        return report(EX_USAGE, "--broker: %s: expected none, since a demo has its own",
                      quote(arguments->broker).text);
    }
    signals_block(&signals, false);
    parent = parent != NULL && parent[0] == '/' ? parent : "/tmp";
    int length = snprintf(demo->folder, sizeof(demo->folder), "%s/weir-demo-XXXXXX", parent);
    if (length < 0 || (size_t)length >= sizeof(demo->folder) || mkdtemp(demo->folder) == NULL) {
        return report(EX_CANTCREAT, "%s: cannot make a folder there: %s", quote(parent).text,
                      strerror(length < PATH_SIZE ? errno : ENAMETOOLONG));
    }
    (void)snprintf(url, sizeof(url), "sqlite:%s/jobs.db", demo->folder);
    int code = store_open_url(&demo->store, arguments, url, "demo", STORE_CHANGE);
    if (code == EX_OK) {
        enum weir_status status = make_jobs(demo);
        code = status == WEIR_OK ? run_page(demo, &signals.taken)
                                 : report_status(status, "demo", &demo->error);
    }
    store_close(&demo->store);
    int removed = remove_folder(demo);
    return code == EX_OK ? removed : code;
}

const struct command command_demo = {
    .name = "demo",
    .operands = "",
    .summary = "show weir at work: jobs in every state, and the page, until Ctrl-C",
    .examples = "  weir demo\n",
    .options = NULL,
    .act = show,
    .state = &(struct demo){.mails = 0},
};
