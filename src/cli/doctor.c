/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include <weir/admin.h>
#include <weir/duration.h>

#include "cli/arguments.h"
#include "cli/moment.h"
#include "cli/report.h"
#include "cli/store.h"
#include "cli/table.h"

/* The findings: docs/doctor.md. */

enum {
    OPTION_JSON = OPTION_OWN
};

#define EXIT_FOUND 1

/* A job that nobody has taken for so long waits for a worker that is not there. */
#define IDLE_NS WEIR_SECONDS(600)

/* What the broker warns of while it is checked, to be told as findings. */
#define WARNINGS_MAX 16

static const struct poptOption doctor_options[] = {
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object a finding"),
    POPT_TABLEEND,
};

struct doctor {
    bool json;
    weir_broker *broker;
    bool is_told; /* There was a finding, a note included. */
    bool has_problem;
    bool failed;
    pthread_mutex_t mutex;
    size_t warning_count; /* Guarded by the mutex, like the texts. */
    char warnings[WARNINGS_MAX][256];
    char told[4096]; /* The texts of findings, as far as there is space. */
};

static int tell(const struct weir_finding *finding, void *arg)
{
    struct doctor *doctor = arg;
    const char *level = weir_finding_level_name(finding->level);
    size_t used = strlen(doctor->told);
    (void)snprintf(doctor->told + used, sizeof(doctor->told) - used, "%s\n", finding->text);
    doctor->is_told = true;
    doctor->has_problem = doctor->has_problem || finding->level == WEIR_FINDING_PROBLEM;
    doctor->failed =
        doctor->json
            ? !table_print_json(json_pack("{s:s, s:s, s:s, s:s, s:s}", "finding", finding->name,
                                          "level", level, "subject", finding->subject, "text",
                                          finding->text, "advice", finding->advice))
            : printf("%s: %s: %s: %s\n    %s\n", level, finding->name, finding->subject,
                     finding->text, finding->advice) < 0;
    return doctor->failed ? 1 : 0;
}

static void keep_warning(enum weir_log_level level, const char *message, void *arg)
{
    struct doctor *doctor = arg;
    if (level > WEIR_LOG_WARNING) {
        return;
    }
    (void)pthread_mutex_lock(&doctor->mutex);
    if (doctor->warning_count < WARNINGS_MAX) {
        char *text = doctor->warnings[doctor->warning_count++];
        (void)snprintf(text, sizeof(doctor->warnings[0]), "%s", message);
    }
    (void)pthread_mutex_unlock(&doctor->mutex);
}

static void tell_warnings(struct doctor *doctor)
{
    (void)pthread_mutex_lock(&doctor->mutex);
    for (size_t i = 0; i < doctor->warning_count && !doctor->failed; i++) {
        /* A server that is away is a finding of its own, of the same reason. */
        const char *away = strstr(doctor->warnings[i], " is away: ");
        if (away != NULL && strstr(doctor->told, away + strlen(" is away: ")) != NULL) {
            continue;
        }
        const struct weir_finding finding = {.name = "warning",
                                             .subject = "broker",
                                             .text = doctor->warnings[i],
                                             .advice =
                                                 "the broker warned of this while it was checked",
                                             .level = WEIR_FINDING_PROBLEM};
        (void)tell(&finding, doctor);
    }
    (void)pthread_mutex_unlock(&doctor->mutex);
}

/* --- tubes --- */

struct first {
    int64_t run_at_ns; /* 0: there is none. */
    char reason[WEIR_REASON_SIZE];
};

static int keep_first(const struct weir_job *job, void *arg)
{
    struct first *first = arg;
    first->run_at_ns = job->run_at_ns;
    (void)snprintf(first->reason, sizeof(first->reason), "%s", job->reason);
    return 1;
}

/* The first job of a tube in a state; that it cannot be read is no finding of a tube. */
static struct first read_first(weir_broker *broker, const char *tube, enum weir_job_state state)
{
    struct first first = {.run_at_ns = 0};
    const struct weir_job_filter one = {.tube = tube, .state = state, .first = 1, .no_bodies = 1};
    (void)!weir_broker_list(broker, &one, keep_first, &first, NULL);
    return first;
}

static int check_tube(const struct weir_tube_counts *counts, void *arg)
{
    struct doctor *doctor = arg;
    char text[512];
    struct weir_finding finding = {
        .subject = counts->tube, .text = text, .level = WEIR_FINDING_PROBLEM};
    if (counts->buried > 0) {
        struct first first = read_first(doctor->broker, counts->tube, WEIR_JOB_BURIED);
        finding.name = "buried";
        finding.advice = "`weir ls TUBE --state buried` shows them; then `weir kick`, or `weir "
                         "rm`";
        (void)snprintf(text, sizeof(text), "%" PRIu64 " buried; the first one: %s", counts->buried,
                       quote(first.reason).text);
        if (tell(&finding, doctor) != 0) {
            return 1;
        }
    }
    if (counts->ready > 0 && counts->reserved == 0 && counts->paused_until_ns == 0) {
        struct first first = read_first(doctor->broker, counts->tube, WEIR_JOB_READY);
        int64_t age_ns = moment_now() - first.run_at_ns;
        if (first.run_at_ns > 0 && age_ns > IDLE_NS) {
            finding.name = "idle";
            finding.advice = "start a worker: `weir work TUBE -- PROGRAM`";
            (void)snprintf(text, sizeof(text),
                           "%" PRIu64 " ready, the first one for %" PRId64
                           " minutes, and none is reserved: nobody works on it",
                           counts->ready, age_ns / WEIR_SECONDS(60));
            return tell(&finding, doctor);
        }
    }
    return 0;
}

/* --- all --- */

static int check(struct doctor *doctor)
{
    struct weir_error error = {0};
    enum weir_status status = weir_broker_check(doctor->broker, tell, doctor, &error);
    if (status == WEIR_OK && !doctor->failed) {
        status = weir_broker_tubes(doctor->broker, NULL, check_tube, doctor, &error);
    }
    if (status == WEIR_OK) {
        tell_warnings(doctor);
    }
    if (!doctor->failed && status == WEIR_OK && !doctor->is_told && !doctor->json) {
        doctor->failed = puts("nothing found") == EOF;
    }
    if (fflush(stdout) != 0 || doctor->failed) {
        return table_refuse();
    }
    if (status != WEIR_OK) {
        return report_status(status, "check", &error);
    }
    return doctor->has_problem ? EXIT_FOUND : EX_OK;
}

static int act(struct arguments *arguments, void *arg)
{
    struct doctor *doctor = arg;
    struct store store;
    arguments->log = keep_warning;
    arguments->log_arg = doctor;
    int code = store_open(&store, arguments, STORE_READ);
    doctor->broker = store.broker;
    code = code == EX_OK ? check(doctor) : code;
    store_close(&store);
    return code;
}

const struct command command_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "check the broker: findings, and what to do; 1 if there is a problem",
    .examples = "  weir doctor\n"
                "  weir doctor --json | jq .finding\n",
    .options = doctor_options,
    .set = option_flag,
    .act = act,
    .state = &(struct doctor){.mutex = PTHREAD_MUTEX_INITIALIZER},
};
