/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "cli/parts.h"
#include "cli/report.h"

static void free_unit(struct unit *unit)
{
    worker_free(&unit->worker);
    if (unit->is_leaving) {
        section_free(unit->section);
    }
    free(unit);
}

static int start(struct units *units, const struct setup *setup, struct section *section)
{
    struct unit *unit = calloc(1, sizeof(*unit));
    if (unit == NULL) {
        return report_status(WEIR_ENOMEM, section->title, NULL);
    }
    unit->section = section;
    int code = part_worker(setup, section, &unit->worker);
    if (code == EX_OK) {
        unit->worker.options.metrics = units->metrics;
        unit->worker.options.name = section->title;
        enum weir_status status = worker_start(&unit->worker, units->store->broker,
                                               units->store->url, &units->mask, units->ended);
        code = status == WEIR_OK
                   ? EX_OK
                   : report_status(status, quote(section->title).text, &unit->worker.error);
    }
    if (code != EX_OK) {
        free_unit(unit);
        return code;
    }
    unit->next = units->first;
    units->first = unit;
    return EX_OK;
}

/* --- following a set-up --- */

static struct unit *find(const struct units *units, const char *title)
{
    struct unit *unit = units->first;
    while (unit != NULL && strcmp(unit->section->title, title) != 0) {
        unit = unit->next;
    }
    return unit;
}

static bool is_broken(struct unit *unit)
{
    return atomic_load(&unit->worker.handler.broken) != 0;
}

/* Its section is the unit's from now on. */
static void leave(struct unit *unit, struct setup *before)
{
    for (size_t i = 0; i < before->count; i++) {
        if (before->sections[i] == unit->section) {
            before->sections[i] = NULL;
        }
    }
    unit->is_leaving = true;
    worker_stop(&unit->worker, false);
}

int units_follow(struct units *units, struct setup *before, const struct setup *setup)
{
    int code = EX_OK;
    for (struct unit *unit = units->first; unit != NULL; unit = unit->next) {
        if (!unit->is_leaving && !setup_has(setup, unit->section)) {
            leave(unit, before);
        }
        unit->is_followed = unit->is_leaving || is_broken(unit);
    }
    for (size_t i = 0; i < setup->count; i++) {
        struct section *section = setup->sections[i];
        if (section->kind == SECTION_CONSUMER && find(units, section->title) == NULL) {
            int started = start(units, setup, section);
            code = code != EX_OK ? code : started;
        }
    }
    return code;
}

/* --- ending --- */

void units_stop(struct units *units, bool is_cancel)
{
    for (struct unit *unit = units->first; unit != NULL; unit = unit->next) {
        worker_stop(&unit->worker, is_cancel);
    }
}

/* What one that has ended did. */
static int result_of(struct unit *unit)
{
    if (unit->worker.status != WEIR_OK) {
        return report_status(unit->worker.status, quote(unit->section->title).text,
                             &unit->worker.error);
    }
    return is_broken(unit) ? EX_UNAVAILABLE : EX_OK; /* the handler said so */
}

/* The unit is none of the units any more. */
static int follow(struct units *units, const struct setup *setup, const struct unit *unit)
{
    struct section *section = setup != NULL && unit->is_followed
                                  ? setup_find(setup, SECTION_CONSUMER, unit->section->title)
                                  : NULL;
    return section == NULL || start(units, setup, section) == EX_OK ? EX_OK : EX_UNAVAILABLE;
}

int units_reap(struct units *units, const struct setup *setup)
{
    int code = EX_OK;
    struct unit *ended = NULL;
    for (struct unit **at = &units->first; *at != NULL;) {
        struct unit *unit = *at;
        if (!atomic_load(&unit->worker.has_ended)) {
            at = &unit->next;
            continue;
        }
        *at = unit->next;
        unit->next = ended;
        ended = unit;
    }
    while (ended != NULL) {
        struct unit *unit = ended;
        ended = unit->next;
        int result = result_of(unit);
        worker_end(&unit->worker); /* the metrics have one of a name */
        int followed = follow(units, setup, unit);
        /* A reload may come before the end of a unit whose program was gone. */
        bool is_mended = unit->is_followed && is_broken(unit);
        result = result != EX_OK && !is_mended ? result : followed;
        code = code == EX_OK || code == EX_UNAVAILABLE ? (result != EX_OK ? result : code) : code;
        free_unit(unit);
    }
    return code;
}

uint64_t units_running(const struct units *units)
{
    uint64_t count = 0;
    for (const struct unit *unit = units->first; unit != NULL; unit = unit->next) {
        count += atomic_load(&unit->worker.tally.running);
    }
    return count;
}
