/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/parts.h"

#include <string.h>
#include <sysexits.h>

#include <weir/cron.h>

#include "cli/report.h"
#include "cli/schedule_entry.h"

struct place place_of(const struct setup *setup, const struct section *section)
{
    struct place place;
    bool has_title = section->title != NULL;
    (void)snprintf(place.text, sizeof(place.text), "%s:%u: %s%s%s: ", setup->path, section->line,
                   section_name(section->kind), has_title ? " " : "",
                   has_title ? quote(section->title).text : "");
    return place;
}

static struct place place_of_setting(const struct setup *setup, const struct setting *setting)
{
    struct place place;
    (void)snprintf(place.text, sizeof(place.text), "%s:%u: %s", setup->path, setting->line,
                   setting->kind->name);
    return place;
}

/* All faults of a set-up are faults of its file, but for a lack of memory. */
static int as_config(int code)
{
    return code == EX_OK || code == EX_OSERR ? code : EX_CONFIG;
}

/* Gives each text of a setting to the reader of the command's options. */
static int apply_one(const struct setup *setup, const struct setting *setting, option_fn *set,
                     void *arg)
{
    struct place name = place_of_setting(setup, setting);
    bool is_flag = setting->kind->shape == SETTING_FLAG;
    int code = EX_OK;
    if (is_flag && strcmp(setting->texts[0], "true") != 0) {
        return EX_OK;
    }
    for (size_t i = 0; i < setting->count && code == EX_OK; i++) {
        code = set(setting->kind->option, name.text, is_flag ? NULL : setting->texts[i], arg);
    }
    return code;
}

/* The same of all settings that are options; each one that is refused says why. */
static int apply(const struct setup *setup, const struct section *section, option_fn *set,
                 void *arg)
{
    int code = EX_OK;
    for (size_t i = 0; i < section->count; i++) {
        const struct setting *setting = &section->settings[i];
        int found = setting->kind->option != 0 ? apply_one(setup, setting, set, arg) : EX_OK;
        code = code != EX_OK ? code : found;
    }
    return code;
}

static const char *text_of(const struct section *section, const char *name)
{
    const struct setting *setting = section_find(section, name);
    return setting != NULL && setting->count > 0 ? setting->texts[0] : NULL;
}

int part_broker(const struct setup *setup, struct arguments *arguments, struct place *ret_origin)
{
    const struct section *section = setup->sections[0];
    const struct setting *durability = section_find(section, "durability");
    const struct setting *lock_wait = section_find(section, "lock-wait");
    const struct setting *broker = section_find(section, "broker");
    int code = EX_OK;
    memset(arguments, 0, sizeof(*arguments));
    if (durability != NULL) {
        code = read_durability(place_of_setting(setup, durability).text, durability->texts[0],
                               &arguments->durability);
    }
    if (lock_wait != NULL) {
        int read = read_duration(place_of_setting(setup, lock_wait).text, lock_wait->texts[0], 1,
                                 &arguments->lock_wait_ns);
        code = code != EX_OK ? code : read;
    }
    if (broker != NULL) {
        arguments->broker = broker->texts[0];
        *ret_origin = place_of_setting(setup, broker);
    }
    return as_config(code);
}

int part_endpoint(const struct setup *setup, const struct section *section,
                  struct endpoint *endpoint)
{
    *endpoint = (struct endpoint)ENDPOINT_INIT;
    (void)snprintf(endpoint->listen_name, sizeof(endpoint->listen_name), "%s:%u: http", setup->path,
                   section->line);
    return as_config(apply(setup, section, endpoint_set, endpoint));
}

static int read_tubes(const struct section *section, struct worker *worker)
{
    const struct setting *tubes = section_find(section, "tubes");
    const char *title[] = {section->title};
    if (tubes != NULL && tubes->count > 0) {
        return work_tubes_read(&worker->tubes, (const char *const *)tubes->texts, tubes->count);
    }
    return work_tubes_read(&worker->tubes, title, 1);
}

int part_worker(const struct setup *setup, const struct section *section, struct worker *worker)
{
    const struct setting *program = section_find(section, "program");
    struct place place = place_of(setup, section);
    *worker = (struct worker)WORKER_INIT;
    int code = apply(setup, section, worker_set, worker);
    if (section->title[0] == '\0') {
        return report(EX_CONFIG, "%sno name; expected one for its metrics", place.text);
    }
    if (program == NULL || program->count == 0) {
        return report(EX_CONFIG, "%sno program; expected one to run for each job", place.text);
    }
    int checked = read_tubes(section, worker);
    if (checked != EX_OK) {
        (void)report(EX_OK, "%sits tubes are refused", place.text);
    } else {
        checked = worker_check(worker, program->texts, place.text, "");
    }
    return as_config(code != EX_OK ? code : checked);
}

/* What the broker would refuse. */
static int check_texts(const struct weir_job_schedule_options *options, const char *place)
{
    struct weir_cron_options cron_options = {0};
    struct weir_error error;
    weir_cron *cron = NULL;
    if (weir_tube_check(options->name, NULL) != WEIR_OK) {
        return report(EX_CONFIG, "%sno name of a schedule; expected one of a tube's characters",
                      place);
    }
    if (options->tube == NULL) {
        return report(EX_CONFIG, "%sno tube; expected that of its jobs", place);
    }
    int code = read_tube(options->tube);
    if (code != EX_OK) {
        (void)report(EX_OK, "%sits tube is refused", place);
        return code;
    }
    if (options->cron == NULL) {
        return EX_OK;
    }
    cron_options.zone = options->zone;
    cron_options.flags = WEIR_CRON_SECONDS;
    enum weir_status status = weir_cron_new(options->cron, &cron_options, &cron, &error);
    weir_cron_unref(cron);
    return status == WEIR_OK ? EX_OK : report(report_exit_code(status), "%s%s", place, error.text);
}

int part_schedule(const struct setup *setup, const struct section *section,
                  struct weir_job_schedule_options *options)
{
    struct place place = place_of(setup, section);
    const char *body = text_of(section, "body");
    *options = (struct weir_job_schedule_options){0};
    options->name = section->title;
    options->tube = text_of(section, "tube");
    options->body =
        (struct weir_body){body != NULL ? body : "", body != NULL ? strlen(body) : 0, NULL};
    int code = apply(setup, section, schedule_entry_set, options);
    int checked = schedule_entry_check(options, place.text, "");
    code = code != EX_OK ? code : checked;
    checked = check_texts(options, place.text);
    return as_config(code != EX_OK ? code : checked);
}

int part_tube(const struct setup *setup, const struct section *section,
              struct weir_tube_policy *change)
{
    struct place place = place_of(setup, section);
    *change = (struct weir_tube_policy){0};
    int code = apply(setup, section, policy_entry_set, change);
    int checked = policy_entry_check(change, place.text, "");
    code = code != EX_OK ? code : checked;
    checked = read_tube(section->title);
    if (checked != EX_OK) {
        (void)report(EX_OK, "%sno name of a tube", place.text);
    }
    return as_config(code != EX_OK ? code : checked);
}

int parts_check(const struct setup *setup)
{
    struct arguments arguments;
    struct place origin;
    int code = part_broker(setup, &arguments, &origin);
    for (size_t i = 1; i < setup->count; i++) {
        static struct worker worker;
        static struct endpoint endpoint;
        struct weir_job_schedule_options schedule;
        struct weir_tube_policy change;
        const struct section *section = setup->sections[i];
        int found = EX_OK;
        if (section->kind == SECTION_CONSUMER) {
            found = part_worker(setup, section, &worker);
            worker_free(&worker);
        } else if (section->kind == SECTION_SCHEDULE) {
            found = part_schedule(setup, section, &schedule);
        } else if (section->kind == SECTION_TUBE) {
            found = part_tube(setup, section, &change);
        } else {
            found = part_endpoint(setup, section, &endpoint);
        }
        code = code != EX_OK ? code : found;
    }
    return code;
}
