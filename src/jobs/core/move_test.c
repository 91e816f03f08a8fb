/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a move asks its source to change, with both sides played by tables of functions. */
#include "jobs/core/move.h"

#include <stdio.h>
#include <string.h>

#include "support/harness.h"

#define NOW_NS WEIR_SECONDS(1000)
#define LISTED_NS WEIR_SECONDS(100)

static int64_t now(const void *store)
{
    (void)store;
    return NOW_NS;
}

static int64_t lease_now(void *arg)
{
    (void)arg;
    return 1;
}

/* The source: it has one job, and notes what is asked of it. */
struct source {
    struct weiri_broker_config config;
    char asked[256];
};

static enum weir_status list(void *arg, const struct weiri_listing *listing,
                             struct weir_error *ret_error)
{
    struct source *source = arg;
    struct weiri_list jobs;
    void *body;
    const struct weir_job job = {.id = "7",
                                 .tube = "t",
                                 .state = WEIR_JOB_DELAYED,
                                 .run_at_ns = LISTED_NS,
                                 .body = "",
                                 .reason = "",
                                 .identity = "i7"};
    struct weiri_reservation *listed =
        weiri_reservation_new(&source->config.allocator, &job, 0, &body);
    (void)ret_error;
    CHECK(listed != NULL);
    weiri_list_init(&jobs);
    weiri_list_insert_before(&jobs, &listed->link);
    CHECK_INT(listing->fn(&listed->job, listing->arg), ==, 0);
    return WEIR_OK;
}

static enum weir_status change(void *arg, const struct weiri_change *change,
                               struct weir_error *ret_error)
{
    struct source *source = arg;
    (void)ret_error;
    CHECK_INT(change->count, ==, 1);
    size_t used = strlen(source->asked);
    (void)snprintf(source->asked + used, sizeof(source->asked) - used, "%s %s %s %s %lld;",
                   change->event == WEIRI_JOB_RESCHEDULE ? "reschedule" : "away", change->ids[0],
                   change->listed[0]->identity, change->listed[0]->tube,
                   (long long)(change->listed[0]->run_at_ns / WEIR_SECONDS(1)));
    change->statuses[0] = WEIR_OK;
    return WEIR_OK;
}

static enum weir_status put(void *store, const struct weiri_put *put, struct weir_job_id *ret_ids,
                            struct weir_error *ret_error)
{
    (void)store;
    (void)put;
    (void)ret_error;
    (void)snprintf(ret_ids->text, sizeof(ret_ids->text), "1");
    return WEIR_OK;
}

static void check_asked(uint32_t can, const char *expected)
{
    struct source source = {.config = {.allocator = *test_allocator()}};
    struct weiri_broker_config target = {.body_size_max = 1, .can = can, .clocks.lease = lease_now};
    const struct weiri_broker_ops from = {.now = now, .list = list, .change = change};
    const struct weiri_broker_ops to = {.now = now, .put = put};
    struct weiri_move move = {.tube = "t",
                              .from = {&from, &source, &source.config},
                              .to = {&to, NULL, &target},
                              .late_ns = WEIR_SECONDS(60)};
    CHECK_STATUS(weiri_move_out(&move, 0, NULL), WEIR_OK);
    CHECK_INT(move.counts.moved, ==, 1);
    CHECK_STRING(source.asked, expected);
}

TEST(as_it_was_listed,
     "a source changes a job only if it is as it was listed: its identity, its tube, "
     "its run time, which the move itself may have changed")
{
    check_asked(WEIRI_CAN(PUT_ID), "away 7 i7 t 100;");
    check_asked(0, "reschedule 7 i7 t 100;away 7 i7 t 1000;");
}
