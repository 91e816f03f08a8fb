/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_PARTS_H
#define WEIRI_CLI_PARTS_H

#include <weir/job_schedule.h>

#include "cli/endpoint.h"
#include "cli/policy_entry.h"
#include "cli/setup.h"
#include "cli/worker.h"

/* What the sections of a set-up say, as what runs them. All texts are borrowed from the section.
 * Each returns 0 or EX_CONFIG (EX_OSERR: no memory), after naming file and line of the fault. */

/* "jobs.conf:12: consumer \"mail\": " */
struct place {
    char text[512];
};
struct place place_of(const struct setup *setup, const struct section *section);

/* The broker, its options and where its URL comes from, as after a command's options. */
int part_broker(const struct setup *setup, struct arguments *arguments, struct place *ret_origin);
/* endpoint_end() must follow in both cases. */
int part_endpoint(const struct setup *setup, const struct section *section,
                  struct endpoint *endpoint);
/* worker_free() must follow in both cases. */
int part_worker(const struct setup *setup, const struct section *section, struct worker *worker);
int part_schedule(const struct setup *setup, const struct section *section,
                  struct weir_job_schedule_options *options);

int part_tube(const struct setup *setup, const struct section *section,
              struct weir_tube_policy *change);

/* Tries all sections, and names every fault. */
int parts_check(const struct setup *setup);

#endif
