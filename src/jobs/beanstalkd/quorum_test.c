/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/beanstalkd/quorum.h"

#include "support/harness.h"

/* What a node does with a put, what it has of the job then, and whether a delete can reach it. */
static const struct {
    enum weiri_delivery delivery;
    enum weiri_reply_kind reply;
    bool is_there;   /* the job can run there, at least after a kick */
    bool is_certain; /* the client knows */
} behaviours[] = {
    {WEIRI_ANSWERED, WEIRI_INSERTED, true, true},
    {WEIRI_NOT_SENT, 0, false, true}, /* connection refused */
    {WEIRI_LOST, 0, true, false},     /* hangs, and did it */
    {WEIRI_LOST, 0, false, false},    /* closed after it was sent, and did not */
    {WEIRI_ANSWERED, WEIRI_BURIED, true, true},
    {WEIRI_ANSWERED, WEIRI_DRAINING, false, true},
    {WEIRI_ANSWERED, WEIRI_OUT_OF_MEMORY, false, true},
    {WEIRI_ANSWERED, WEIRI_JOB_TOO_BIG, false, true},
    {WEIRI_ANSWERED, WEIRI_INTERNAL_ERROR, true, false}, /* says nothing */
};

#define KINDS (sizeof(behaviours) / sizeof(behaviours[0]))

/* Puts on three nodes and takes back where that is asked for. deletes: bit i says that node i
 * answers the delete. */
static void check_case(const size_t kinds[3], unsigned deletes)
{
    enum weiri_copy_state copies[3];
    size_t inserted = 0;
    bool can_run = false;
    for (size_t i = 0; i < 3; i++) {
        copies[i] = weiri_copy_of_put(behaviours[kinds[i]].delivery, behaviours[kinds[i]].reply);
        inserted += behaviours[kinds[i]].reply == WEIRI_INSERTED;
        CHECK(behaviours[kinds[i]].is_there || copies[i] != WEIRI_COPY_WRITTEN);
        CHECK(!behaviours[kinds[i]].is_there || copies[i] != WEIRI_COPY_ABSENT);
    }
    size_t written = 0;
    for (size_t i = 0; i < 3; i++) {
        written += copies[i] == WEIRI_COPY_WRITTEN;
    }
    CHECK_INT(written, ==, inserted);
    if (written >= 2) {
        return; /* accepted */
    }
    for (size_t i = 0; i < 3; i++) {
        bool is_there = behaviours[kinds[i]].is_there;
        if (weiri_copy_has_id(behaviours[kinds[i]].reply)) {
            bool is_deleted = (deletes >> i & 1) != 0;
            copies[i] = weiri_copy_of_delete(is_deleted ? WEIRI_DELETED : 0);
            is_there = !is_deleted;
        }
        can_run = can_run || is_there;
    }
    bool is_refused = true;
    bool is_certain = true;
    for (size_t i = 0; i < 3; i++) {
        size_t kind = kinds[i];
        bool has_id = weiri_copy_has_id(behaviours[kind].reply);
        is_refused = is_refused && copies[i] == WEIRI_COPY_ABSENT;
        is_certain = is_certain && (has_id ? (deletes >> i & 1) != 0 : behaviours[kind].is_certain);
    }
    CHECK(!is_refused || !can_run);
    CHECK(is_refused == is_certain); /* else unknown */
}

TEST(judges_every_outcome, "each of 729 outcomes of three nodes, with every outcome of the deletes "
                           "that follow, is accepted, refused or unknown as it must be")
{
    size_t cases = 0;
    for (size_t a = 0; a < KINDS; a++) {
        for (size_t b = 0; b < KINDS; b++) {
            for (size_t c = 0; c < KINDS; c++) {
                const size_t kinds[3] = {a, b, c};
                for (unsigned deletes = 0; deletes < 8; deletes++) {
                    check_case(kinds, deletes);
                }
                cases++;
            }
        }
    }
    CHECK_INT(cases, ==, 729);
}

TEST(not_found_is_not_taken_back, "a copy that a delete did not find may be in a worker's hand")
{
    CHECK_INT(weiri_copy_of_delete(WEIRI_NOT_FOUND), ==, WEIRI_COPY_MAYBE);
    CHECK_INT(weiri_copy_of_delete(0), ==, WEIRI_COPY_MAYBE);
    CHECK_INT(weiri_copy_of_delete(WEIRI_DELETED), ==, WEIRI_COPY_ABSENT);
}
