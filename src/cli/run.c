/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sysexits.h>
#include <unistd.h>

#include <weir/clock.h>

#include "cli/child.h"
#include "cli/guard.h"
#include "cli/init.h"
#include "cli/notify.h"
#include "cli/parts.h"
#include "cli/report.h"
#include "cli/schedule_entry.h"
#include "cli/signals.h"
#include "cli/unit.h"

struct run {
    const char *path;
    struct setup setup; /* that runs */
    struct store store;
    struct endpoint *endpoint; /* NULL: none */
    struct units units;
    struct signals signals;
    int code; /* the first failure */
};

static void fail(struct run *run, int code)
{
    run->code = run->code == EX_OK ? code : run->code;
}

/* --- the endpoint --- */

static void drop_endpoint(struct endpoint *endpoint)
{
    if (endpoint != NULL) {
        endpoint_end(endpoint);
        free(endpoint);
    }
}

/* Makes the endpoint of a set-up, which listens but does not serve yet. *ret_endpoint is NULL where
 * it has none. */
static int open_endpoint(const struct setup *setup, struct endpoint *other,
                         struct endpoint **ret_endpoint)
{
    const struct section *section = setup_find(setup, SECTION_HTTP, NULL);
    *ret_endpoint = NULL;
    if (section == NULL) {
        return EX_OK;
    }
    struct endpoint *endpoint = malloc(sizeof(*endpoint));
    if (endpoint == NULL) {
        return report_status(WEIR_ENOMEM, "http", NULL);
    }
    int code = part_endpoint(setup, section, endpoint);
    if (code == EX_OK) {
        code = endpoint_open(endpoint, other);
    }
    if (code != EX_OK) {
        drop_endpoint(endpoint);
        return code;
    }
    *ret_endpoint = endpoint;
    return EX_OK;
}

static int start_endpoint(struct run *run)
{
    if (run->endpoint == NULL) {
        return EX_OK;
    }
    run->endpoint->options.metrics = run->units.metrics;
    return endpoint_start(run->endpoint, &run->store);
}

/* --- tubes and schedules --- */

static int put_schedule(struct run *run, const struct setup *setup, const struct section *section)
{
    struct weir_job_schedule_options options;
    int code = part_schedule(setup, section, &options);
    return code == EX_OK
               ? schedule_entry_put(run->store.broker, &options, place_of(setup, section).text)
               : code;
}

static int set_policy(struct run *run, const struct setup *setup, const struct section *section)
{
    struct weir_tube_policy change;
    int code = part_tube(setup, section, &change);
    return code == EX_OK ? policy_entry_apply(run->store.broker, section->title, &change) : code;
}

/* Makes those that are new or changed what the file says, and removes the schedules that the file
 * had before. Others in the store are not its business. */
static void follow_entries(struct run *run, const struct setup *before)
{
    const struct setup *setup = &run->setup;
    for (size_t i = 0; i < setup->count; i++) {
        const struct section *section = setup->sections[i];
        if (section->kind == SECTION_SCHEDULE && !setup_has(before, section)) {
            fail(run, put_schedule(run, setup, section));
        } else if (section->kind == SECTION_TUBE && !setup_has(before, section)) {
            fail(run, set_policy(run, setup, section));
        }
    }
    for (size_t i = 0; i < before->count; i++) {
        const struct section *section = before->sections[i];
        struct weir_error error = {0};
        if (section == NULL || section->kind != SECTION_SCHEDULE ||
            setup_find(setup, SECTION_SCHEDULE, section->title) != NULL) {
            continue;
        }
        enum weir_status status = weir_broker_schedule_change(run->store.broker, section->title,
                                                              WEIR_SCHEDULE_REMOVE, NULL, &error);
        if (status != WEIR_OK && status != WEIR_ENOTFOUND) {
            fail(run, report_status(status, quote(section->title).text, &error));
        }
    }
}

/* --- another set-up --- */

static uint32_t count_workers(const struct setup *setup)
{
    uint32_t count = 0;
    for (size_t i = 0; i < setup->count; i++) {
        const struct setting *jobs = section_find(setup->sections[i], "jobs");
        count += jobs != NULL ? (uint32_t)strtoul(jobs->texts[0], NULL, 10) : 1;
    }
    return count;
}

/* All that can refuse a new set-up. */
static int prepare(struct run *run, struct setup *next, struct endpoint **ret_endpoint)
{
    int code = setup_read(run->path, next);
    if (code == EX_OK) {
        code = parts_check(next);
    }
    if (code == EX_OK && !section_equal(next->sections[0], run->setup.sections[0])) {
        code = report(EX_CONFIG,
                      "%s: broker, durability and lock-wait stay as they are until a "
                      "restart",
                      run->path);
    }
    const struct section *http = setup_find(&run->setup, SECTION_HTTP, NULL);
    const struct section *next_http = setup_find(next, SECTION_HTTP, NULL);
    *ret_endpoint = run->endpoint;
    if (code == EX_OK &&
        (http == NULL || next_http == NULL ? http != next_http : !section_equal(http, next_http))) {
        code = open_endpoint(next, run->endpoint, ret_endpoint);
    }
    return code;
}

static void reload(struct run *run)
{
    struct setup next;
    struct endpoint *endpoint;
    notify_reloading();
    if (prepare(run, &next, &endpoint) != EX_OK) {
        (void)report(EX_OK, "%s: not reloaded; the old set-up goes on", run->path);
        setup_free(&next);
        notify_ready();
        return;
    }
    struct setup before = run->setup;
    setup_keep(&before, &next);
    run->setup = next;
    run->code = run->code == EX_UNAVAILABLE ? EX_OK : run->code; /* what was gone may be there */
    child_raise_limit(count_workers(&run->setup));
    if (endpoint != run->endpoint) {
        drop_endpoint(run->endpoint);
        run->endpoint = endpoint;
        fail(run, start_endpoint(run));
    }
    follow_entries(run, &before);
    fail(run, units_follow(&run->units, &before, &run->setup));
    setup_free(&before);
    (void)report(EX_OK, "%s: reloaded", run->path);
    notify_ready();
}

/* --- running --- */

/* On a signal; 0: for another reason. */
static void stop(struct run *run, int number)
{
    if (!signals_count(&run->signals, number, weir_clock_now(weir_clock_monotonic()))) {
        return;
    }
    units_stop(&run->units, run->signals.stops > 1);
    if (run->signals.stops == 1) {
        notify_stopping();
    }
    signals_tell(&run->signals, units_running(&run->units));
}

static void take_signal(struct run *run)
{
    int number = signals_read(&run->signals);
    if (number != 0 && number != SIGHUP) {
        stop(run, number);
    } else if (number == SIGHUP && run->signals.stops == 0) {
        reload(run);
    }
}

/* Some units have ended. One that failed ends all; a program that is gone ends its consumer alone,
 * until the file is read again. */
static void take_ended(struct run *run)
{
    eventfd_t count;
    (void)eventfd_read(run->units.ended, &count);
    int code = units_reap(&run->units, run->signals.stops == 0 ? &run->setup : NULL);
    fail(run, code);
    bool is_over = code != EX_UNAVAILABLE || run->units.first == NULL;
    if (code != EX_OK && is_over && run->signals.stops == 0) {
        stop(run, 0);
    }
}

static void serve(struct run *run)
{
    struct pollfd pollers[] = {{.fd = run->signals.fd, .events = POLLIN},
                               {.fd = run->units.ended, .events = POLLIN}};
    notify_ready();
    while (run->signals.stops == 0 || run->units.first != NULL) {
        int count = poll(pollers, 2, notify_period_ms());
        notify_alive();
        if (count > 0 && pollers[0].revents != 0) {
            take_signal(run);
        }
        if (count > 0 && pollers[1].revents != 0) {
            take_ended(run);
        }
    }
}

static int open_descriptors(struct run *run)
{
    run->units.ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (run->signals.fd < 0 || run->units.ended < 0) {
        return report_status(WEIR_EIO, "descriptors", NULL);
    }
    enum weir_status status = weir_metrics_new(NULL, &run->units.metrics, NULL);
    return status == WEIR_OK ? EX_OK : report_status(status, "metrics", NULL);
}

static int open_store(struct run *run)
{
    struct arguments arguments;
    struct place origin;
    int code = part_broker(&run->setup, &arguments, &origin);
    if (code == EX_OK && arguments.broker != NULL) {
        return store_open_url(&run->store, &arguments, arguments.broker, origin.text, STORE_CHANGE);
    }
    return code == EX_OK ? store_open(&run->store, &arguments, STORE_CHANGE) : code;
}

/* All steps after the checks. */
static int run_checked(struct run *run)
{
    struct setup none = {.count = 0};
    guard_start();
    child_raise_limit(count_workers(&run->setup));
    signals_block(&run->signals, true);
    run->units.mask = run->signals.before;
    int code = open_descriptors(run);
    if (code == EX_OK) {
        code = open_endpoint(&run->setup, NULL, &run->endpoint);
    }
    if (code == EX_OK) {
        code = open_store(run);
    }
    if (code == EX_OK) {
        run->units.store = &run->store;
        code = start_endpoint(run);
    }
    if (code == EX_OK) {
        follow_entries(run, &none);
        fail(run, units_follow(&run->units, &none, &run->setup));
        if (run->code != EX_OK) {
            stop(run, 0);
        }
        serve(run);
        code = run->code != EX_OK ? run->code : run->signals.stops > 1 ? EX_TEMPFAIL : EX_OK;
    }
    drop_endpoint(run->endpoint);
    weir_metrics_free(run->units.metrics);
    store_close(&run->store);
    guard_stop();
    return code;
}

static int act(struct arguments *arguments, void *arg)
{
    struct run *run = arg;
    if (arguments->broker != NULL || arguments->lock_wait_ns != 0) {
        return report(EX_USAGE, "--broker and --lock-wait: expected them in the file");
    }
    init_start();
    notify_start();
    run->path = arguments->operands[0];
    int code = setup_read(run->path, &run->setup);
    if (code == EX_OK) {
        code = parts_check(&run->setup);
    }
    if (code == EX_OK) {
        code = run_checked(run);
        code = code == EX_USAGE ? EX_CONFIG : code; /* what was refused stands in the file */
    }
    setup_free(&run->setup);
    return code;
}

const struct command command_run = {
    .name = "run",
    .operands = "FILE",
    .names = {"file"},
    .summary = "run a set-up: consumers, schedules and an HTTP endpoint",
    .examples = "  weir run /etc/weir/weir.conf    until TERM or Ctrl-C; HUP reads the file again\n"
                "\n"
                "weir.conf(5) describes the file; `weir config check FILE` checks it.\n",
    .options = NULL,
    .act = act,
    .state = &(struct run){0},
};
