/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/pool_snapshot.h>

#include <weir/lifecycle.h>

#include "pool/crew.h"

static void check_item(const struct weir_pool_item *item, const weir_envelope *envelope,
                       uint32_t place, int64_t due_ns)
{
    CHECK(item->envelope == envelope);
    CHECK_INT(item->place, ==, place);
    CHECK_INT(item->due_ns, ==, due_ns);
    CHECK_INT(item->reserved, ==, 0);
}

TEST(all, "a snapshot shows what runs, what is queued and what waits, and keeps them alive")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].entered, 1);
    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[2], 7), WEIR_OK);
    crew_send(&crew, 1);
    crew_send(&crew, 3);
    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[3], 9), WEIR_OK);
    weir_pool_snapshot *snapshot;
    CHECK_STATUS(weir_pool_snapshot_new(crew.pool, &snapshot), WEIR_OK);
    CHECK_INT(weir_pool_snapshot_count(snapshot), ==, 4);
    check_item(weir_pool_snapshot_at(snapshot, 0), crew.envelopes[0], WEIR_PLACE_PROCESSING, -1);
    check_item(weir_pool_snapshot_at(snapshot, 1), crew.envelopes[1], WEIR_PLACE_QUEUED, -1);
    check_item(weir_pool_snapshot_at(snapshot, 2), crew.envelopes[3], WEIR_PLACE_QUEUED, 9);
    check_item(weir_pool_snapshot_at(snapshot, 3), crew.envelopes[2], WEIR_PLACE_IDLE, 7);
    CHECK(weir_pool_snapshot_at(snapshot, 4) == NULL);
    counter_add(&crew.tasks[0].allowed, 1);
    CHECK_STATUS(weir_pool_stop(crew.pool), WEIR_OK);
    weir_pool_free(crew.pool);
    crew.pool = NULL;
    for (int i = 0; i < TASKS_MAX; i++) {
        weir_envelope_unref(crew.envelopes[i]);
        crew.envelopes[i] = NULL;
        CHECK_INT(counter_value(&crew.tasks[i].released), ==, 0);
    }
    weir_pool_snapshot_free(snapshot);
    crew_fini(&crew);
}

TEST(one, "an envelope in flight is found by its id, with a reference")
{
    struct task task;
    task_init(&task);
    weir_pool *pool = pool_with(1, 0, NULL);
    struct weir_envelope_options options = task_envelope(&task);
    options.id = 42;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope), WEIR_OK);
    struct weir_pool_item item = {.due_ns = 77};
    CHECK_STATUS(weir_pool_lookup(pool, 42, &item), WEIR_ENOTFOUND);
    CHECK_INT(item.due_ns, ==, 77);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_lookup(pool, 41, &item), WEIR_ENOTFOUND);
    CHECK_STATUS(weir_pool_lookup(pool, 42, &item), WEIR_OK);
    check_item(&item, envelope, WEIR_PLACE_QUEUED, -1);
    CHECK_INT(item.runs, ==, 0);
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    CHECK_INT(counter_value(&task.released), ==, 0);
    weir_envelope_unref(item.envelope);
    CHECK_INT(counter_value(&task.released), ==, 1);
    task_fini(&task);
}

TEST(bad_input, "NULL is refused, or nothing is in it")
{
    weir_pool *pool = pool_with(1, 0, NULL);
    weir_pool_snapshot *snapshot = NULL;
    struct weir_pool_item item;
    CHECK_STATUS(weir_pool_snapshot_new(NULL, &snapshot), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_snapshot_new(pool, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_lookup(NULL, 1, &item), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_lookup(pool, 1, NULL), WEIR_EINVAL);
    CHECK_INT(weir_pool_snapshot_count(NULL), ==, 0);
    CHECK(weir_pool_snapshot_at(NULL, 0) == NULL);
    weir_pool_snapshot_free(NULL);
    weir_pool_free(pool);
}

TEST_OOM(no_memory, "without memory there is no snapshot, and nothing is kept")
{
    struct task task;
    task_init(&task);
    weir_pool *pool = pool_with(1, 0, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    if (pool != NULL && envelope != NULL && !CHECK_OR_OOM(weir_pool_send(pool, envelope))) {
        weir_pool_snapshot *snapshot = NULL;
        if (!CHECK_OR_OOM(weir_pool_snapshot_new(pool, &snapshot))) {
            CHECK_INT(weir_pool_snapshot_count(snapshot), ==, 1);
        }
        weir_pool_snapshot_free(snapshot);
    }
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    task_fini(&task);
}
