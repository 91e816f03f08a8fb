/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* Work that is not what a consumer holds now: done refuses it, and changes nothing. */

static void check_refused(struct fixture *f, const struct weir_work *work)
{
    struct weir_queue_counts before;
    CHECK_STATUS(weir_queue_count(f->queue, &before), WEIR_OK);
    struct weir_work copy = *work;
    CHECK_STATUS(weir_queue_done(f->queue, work), WEIR_ENOTPROCESSING);
    CHECK_STATUS(weir_queue_done_batch(f->queue, work, 1), WEIR_ENOTPROCESSING);
    CHECK_STATUS(weir_queue_done_get(f->queue, WEIR_FOREVER, &copy), WEIR_ENOTPROCESSING);
    CHECK_INT(copy.ticket, ==, work->ticket);
    struct weir_queue_counts after;
    CHECK_STATUS(weir_queue_count(f->queue, &after), WEIR_OK);
    CHECK_INT(after.queued, ==, before.queued);
    CHECK_INT(after.waiting, ==, before.waiting);
    CHECK_INT(after.processing, ==, before.processing);
}

TEST_EACH(twice, "work that is done is not done again, in whichever place the item is now")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work stale = get(&f, 0);
    done(&f, &stale);
    check_refused(&f, &stale);
    add_after(&f, 0, WEIR_MS(1));
    check_refused(&f, &stale);
    pass(&f, WEIR_MS(1));
    check_refused(&f, &stale);
    struct weir_work work = get(&f, 0);
    check_refused(&f, &stale);
    add(&f, 0);
    check_refused(&f, &stale);
    done(&f, &work);
    check_refused(&f, &work);
    get_and_done(&f, 0);
    weir_queue_shutdown(f.queue);
    check_refused(&f, &stale);
    check_refused(&f, &work);
    teardown(&f);
}

TEST_EACH(another_item, "work that is done does not end another item that came in its place")
{
    struct fixture f;
    setup(&f, kind);
    for (unsigned i = 0; i < ITEMS; i++) {
        add(&f, i);
        struct weir_work stale = get(&f, i);
        done(&f, &stale);
        unsigned other = (i + 1) % ITEMS;
        add(&f, other);
        struct weir_work work = get(&f, other);
        check_refused(&f, &stale);
        CHECK_COUNTS(&f, 0, 0, 1);
        done(&f, &work);
    }
    teardown(&f);
}

TEST_EACH(memory_gone, "work whose memory is long gone is refused")
{
    static struct weir_item items[20000];
    static struct weir_work works[20000];
    struct fixture f;
    setup(&f, kind);
    for (unsigned i = 0; i < 20000; i++) {
        char name[80];
        (void)snprintf(name, sizeof(name), "%s%u", kind == LONG_KEY ? f.names[0] : "", i);
        struct weir_key key = kind == EMBEDDED ? weir_key_item(&items[i]) : weir_key_string(name);
        CHECK_STATUS(weir_queue_add(f.queue, key), WEIR_OK);
        CHECK_STATUS(weir_queue_get(f.queue, 0, &works[i]), WEIR_OK);
    }
    CHECK_STATUS(weir_queue_done_batch(f.queue, works, 20000), WEIR_OK);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    for (unsigned i = 0; i < 20000; i++) {
        CHECK_STATUS(weir_queue_done(f.queue, &works[i]), WEIR_ENOTPROCESSING);
    }
    done(&f, &work);
    teardown(&f);
}

TEST_EACH(made_up, "work that was made up is refused, whatever is in it")
{
    struct fixture f;
    setup(&f, kind);
    struct weir_work zero = {.ticket = 0};
    check_refused(&f, &zero);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    check_refused(&f, &zero);
    struct weir_work changed = work;
    changed.ticket++;
    check_refused(&f, &changed);
    changed = work;
    changed.ticket = 0;
    check_refused(&f, &changed);
    if (kind == EMBEDDED) {
        changed = work;
        changed.item = &f.items[1];
        check_refused(&f, &changed);
    } else {
        static const uint64_t slots[] = {1, 127, 128, 100000, UINT32_MAX, UINT64_MAX};
        for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
            changed = work;
            changed.weir_record += slots[i];
            check_refused(&f, &changed);
        }
    }
    done(&f, &work);
    teardown(&f);
}

TEST_EACH(foreign, "work of another queue is refused, though the same item is processed there")
{
    struct fixture f;
    struct fixture other;
    setup(&f, kind);
    setup(&other, kind);
    for (unsigned i = 0; i < 3; i++) {
        add(&f, i);
        add(&other, i);
    }
    struct weir_work mine[3];
    struct weir_work theirs[3];
    for (unsigned i = 0; i < 3; i++) {
        mine[i] = get(&f, i);
        theirs[i] = get(&other, i);
    }
    for (unsigned i = 0; i < 3; i++) {
        check_refused(&f, &theirs[i]);
        check_refused(&other, &mine[i]);
    }
    CHECK_STATUS(weir_queue_done_batch(f.queue, mine, 3), WEIR_OK);
    CHECK_STATUS(weir_queue_done_batch(other.queue, theirs, 3), WEIR_OK);
    CHECK_COUNTS(&f, 0, 0, 0);
    CHECK_COUNTS(&other, 0, 0, 0);
    teardown(&f);
    teardown(&other);
}

TEST_EACH(copied, "work is plain data: a copy of it is as good")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work *work = malloc(sizeof(*work));
    CHECK(work != NULL);
    CHECK_STATUS(weir_queue_get(f.queue, 0, work), WEIR_OK);
    struct weir_work copy = *work;
    free(work);
    done(&f, &copy);
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}
