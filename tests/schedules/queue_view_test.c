/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include "world.h"

#include <signal.h>
#include <sys/mman.h>

#include "queue/internal.h"

/* Adds of keys that look at the table without the lock (queue/view.h), beside all that changes it:
 * here each of their loads is a step, and so is each store that they may see. */

/* A queue whose lock is open, and whose table is shown; threads have stripes of their own. */
static void init_shown(void)
{
    world_init();
    weiri_records_are_stepped = true;
    weir_queue *queue = world.queue;
    queue->lock.is_open = true;
    weiri_queue_lock(queue);
    struct weiri_view *view = weiri_table_show(&queue->core.table, test_allocator(), 2);
    CHECK(view != NULL);
    atomic_store(&queue->view, view);
    weiri_queue_unlock(queue);
}

/* What is left is processed; then each accepted add must have been seen. */
static void end_shown(void)
{
    struct weir_work work;
    while (weir_queue_try_get(world.queue, &work) == WEIR_OK) {
        world_process(&work);
    }
    for (int number = 0; number < WORLD_KEYS; number++) {
        CHECK(world_is_seen(number));
    }
    world_fini();
}

static void take_one(void)
{
    struct weir_work work;
    CHECK_STATUS(weir_queue_try_get(world.queue, &work), WEIR_OK);
    world_process(&work);
}

static void add_first(void *arg)
{
    (void)arg;
    *explorer_thread_word() = 1;
    CHECK_STATUS(world_add(0), WEIR_OK);
}

/* The record of the key is freed, and used for another key and for a third one. */
static void reuse(void *arg)
{
    (void)arg;
    struct weiri_thread adder;
    init_shown();
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_start(&adder, "adder", add_first, NULL);
    take_one();
    CHECK_STATUS(world_add(1), WEIR_OK);
    weiri_thread_join(&adder);
    end_shown();
}

TEST(reuse, "an add is followed by a processing, also where its key's record becomes another's")
{
    explorer_must_pass(reuse, NULL, NULL);
}

/* The same key comes again, is dirty, is queued again, is cancelled. */
static void again(void *arg)
{
    (void)arg;
    struct weiri_thread adder;
    struct weir_work work;
    init_shown();
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_start(&adder, "adder", add_first, NULL);
    CHECK_STATUS(weir_queue_try_get(world.queue, &work), WEIR_OK);
    world_begin(0);
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_end(0);
    CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
    take_one();
    if (explorer_choose(2) == 0) {
        CHECK_STATUS(world_add(0), WEIR_OK);
        take_one();
    }
    weiri_thread_join(&adder);
    end_shown();
}

TEST(again, "an add joins the item of its key where a processing is to come, and nowhere else")
{
    explorer_must_pass(again, NULL, NULL);
}

static void shut_down_and_add(void *arg)
{
    world_shut_down(arg);
    CHECK_STATUS(world_add(0), WEIR_ESHUTDOWN);
}

static void shutdown_beside_add(void *arg)
{
    (void)arg;
    struct weiri_thread closer;
    init_shown();
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_start(&closer, "closer", shut_down_and_add, NULL);
    enum weir_status status = world_add(0);
    CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
    weiri_thread_join(&closer);
    end_shown();
}

TEST(shutdown, "after a shutdown no add is accepted, also of one that would join")
{
    explorer_must_pass(shutdown_beside_add, NULL, NULL);
}

#define MARK 4u
#define CHUNKS 8 /* the smallest array of them */
#define OTHERS_MAX (CHUNKS * WEIRI_CHUNK_RECORDS)

/* One schedule's table: a key that is sought, and others. */
static struct {
    struct weir_allocator allocator;
    struct weiri_table table;
    struct weiri_view *view;
    char sought;       /* name of the former */
    size_t guarded[2]; /* sizes of the blocks that are watched */
    unsigned count;    /* of the others */
    struct weir_item *others[OTHERS_MAX];
} shown;

/* Blocks of the sizes that a scenario is about are gone when they have been given back: who reads
 * one fails the schedule. They end where nothing is, so that what lies behind is not there either.
 */

#define PAGE ((size_t)4096)

static size_t pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

static bool is_guarded(size_t size)
{
    return size == shown.guarded[0] || size == shown.guarded[1];
}

static void *guarded_alloc(size_t size, void *arg)
{
    (void)arg;
    if (!is_guarded(size)) {
        return weiri_alloc(test_allocator(), size);
    }
    size_t span = pages(size);
    char *base = mmap(NULL, span + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(base != MAP_FAILED);
    CHECK_INT(mprotect(base, span, PROT_READ | PROT_WRITE), ==, 0);
    return base + span - (size + 15) / 16 * 16;
}

static void guarded_release(void *block, size_t size, void *arg)
{
    (void)arg;
    if (!is_guarded(size)) {
        weiri_release(test_allocator(), block, size);
        return;
    }
    CHECK_INT(munmap((char *)block - (uintptr_t)block % PAGE, pages(size) + PAGE), ==, 0);
}

static void *guarded_resize(void *block, size_t old_size, size_t new_size, void *arg)
{
    void *other = guarded_alloc(new_size, arg);
    memcpy(other, block, old_size < new_size ? old_size : new_size);
    guarded_release(block, old_size, arg);
    return other;
}

static void on_fault(int number)
{
    CHECK_INT(number, !=, SIGSEGV); /* what is read is not the table's */
}

static void watch_faults(void)
{
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    CHECK_INT(sigaction(SIGSEGV, &action, NULL), ==, 0);
}

static struct weir_item *put(const char *name, size_t size)
{
    struct weir_item *item =
        weiri_table_intern(&shown.table, &shown.allocator, weir_key_bytes(name, size));
    CHECK(item != NULL);
    weiri_item_set(item, MARK, WEIRI_QUEUED);
    return item;
}

static void put_other(void)
{
    char name[3] = {'b', (char)(shown.count / 100), (char)(shown.count % 100)};
    shown.others[shown.count++] = put(name, sizeof(name));
}

static void take_out(struct weir_item *item)
{
    weiri_item_set(item, MARK, WEIRI_PROCESSING);
    weiri_item_free(item);
    weiri_table_remove(&shown.table, &shown.allocator, item);
}

static void init_table(size_t guarded, size_t guarded_too)
{
    memset(&shown, 0, sizeof(shown));
    shown.guarded[0] = guarded;
    shown.guarded[1] = guarded_too;
    shown.allocator = (struct weir_allocator){guarded_alloc, guarded_resize, guarded_release, NULL};
    weiri_records_are_stepped = false;
    weiri_table_init(&shown.table, 1);
    /* A key that has no home in the smallest table. */
    do {
        shown.sought++;
    } while ((weiri_sought(1, weir_key_bytes(&shown.sought, 1)).hash & WEIRI_SLOTS_CAPACITY_MIN) ==
             0);
}

static bool is_seen(void)
{
    return weiri_view_joins(shown.view, weir_key_bytes(&shown.sought, 1), MARK);
}

static void look(void *arg)
{
    (void)arg;
    *explorer_thread_word() = 1;
    explorer_note(is_seen() ? "sees it" : "sees nothing");
}

static void start_looking(struct weiri_thread *looker)
{
    weiri_records_are_stepped = true;
    shown.view = weiri_table_show(&shown.table, &shown.allocator, 2);
    CHECK(shown.view != NULL);
    world_start(looker, "looker", look, NULL);
}

static void end_looking(void)
{
    weiri_view_sweep(shown.view, &shown.allocator);
    CHECK_INT(shown.view->visits.retired_count, ==, 0);
    weiri_table_fini(&shown.table, &shown.allocator);
}

/* The slots are full; or the chunks are, and their array. */
static void grow(void *arg)
{
    struct weiri_thread looker;
    bool has_many = *(const bool *)arg;
    init_table(has_many ? CHUNKS * sizeof(struct weiri_chunk *)
                        : WEIRI_SLOTS_CAPACITY_MIN * sizeof(struct weiri_slot),
               0);
    (void)put(&shown.sought, 1);
    unsigned others = has_many ? OTHERS_MAX - 1 : WEIRI_SLOTS_CAPACITY_MIN / 4 * 3 - 1;
    while (shown.count < others) {
        put_other();
    }
    start_looking(&looker);
    put_other();
    weiri_thread_join(&looker);
    CHECK(is_seen());
    end_looking();
}

TEST(grow, "what is looked at goes on to be there while the table grows")
{
    watch_faults();
    bool has_many = false;
    explorer_must_pass(grow, &has_many, NULL);
    has_many = true;
    explorer_must_pass(grow, &has_many, NULL);
}

/* The key's chunk is given back, the last but one of many; and the slots are trimmed. */
static void shrink(void *arg)
{
    struct weiri_thread looker;
    (void)arg;
    init_table(sizeof(struct weiri_chunk),
               4 * WEIRI_SLOTS_CAPACITY_MIN * sizeof(struct weiri_slot));
    while (shown.count < WEIRI_CHUNK_RECORDS) {
        put_other();
    }
    struct weir_item *sought = put(&shown.sought, 1);
    while (shown.table.slots.used > 17) {
        take_out(shown.others[--shown.count]);
    }
    start_looking(&looker);
    take_out(sought);
    while (shown.count > 0) {
        take_out(shown.others[--shown.count]);
    }
    weiri_thread_join(&looker);
    CHECK(!is_seen());
    end_looking();
}

TEST(shrink, "what is looked at goes on to be there while memory is given back")
{
    watch_faults();
    explorer_must_pass(shrink, NULL, NULL);
}

static void see_nothing(void *arg)
{
    (void)arg;
    *explorer_thread_word() = 1;
    CHECK(!is_seen());
}

/* The key's item is neither queued nor dirty while others look; then its record is another key's,
 * of the same size, whose item is. */
static void replace(void *arg)
{
    struct weiri_thread looker;
    (void)arg;
    init_table(0, 0);
    struct weir_item *sought = put(&shown.sought, 1);
    weiri_item_set(sought, MARK, WEIRI_PROCESSING);
    weiri_records_are_stepped = true;
    shown.view = weiri_table_show(&shown.table, &shown.allocator, 2);
    world_start(&looker, "looker", see_nothing, NULL);
    take_out(sought);
    weiri_sync_point();
    CHECK(put("-", 1) == sought);
    weiri_thread_join(&looker);
    end_looking();
}

TEST(replace, "another key's item is never taken for one's own")
{
    const struct explorer_options options = {.preemptions = 3, .depth = 4};
    explorer_must_pass(replace, NULL, &options);
}

/* A look has found the key's slot before the key was taken out; since then its record is free, and
 * is taken into use for another key. */
static void rename_record(void *arg)
{
    struct weiri_thread looker;
    (void)arg;
    init_table(0, 0);
    struct weir_key key = weir_key_bytes(&shown.sought, 1);
    struct weir_item *sought = put(&shown.sought, 1);
    take_out(sought);
    weiri_slots_insert(&shown.table.slots, weiri_sought(1, key).hash, sought->weir_slot);
    weiri_records_are_stepped = true;
    shown.view = weiri_table_show(&shown.table, &shown.allocator, 2);
    world_start(&looker, "looker", see_nothing, NULL);
    CHECK(put("-", 1) == sought);
    weiri_thread_join(&looker);
    end_looking();
}

TEST(rename, "a record that is being taken into use is not yet any key's")
{
    explorer_must_pass(rename_record, NULL, NULL);
}
