/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include "pool/envelope.h"

#include <string.h>

#include "pool/fixture.h"

static struct weir_envelope_options options_for(struct task *task)
{
    struct weir_envelope_options options = {0};
    options.allocator = *test_allocator();
    options.payload = task;
    options.invoke = task_invoke;
    options.release = task_release;
    return options;
}

TEST(getters, "an envelope tells the id, a copy of the type and the payload it was made with")
{
    struct task task;
    task_init(&task);
    struct weir_envelope_options options = options_for(&task);
    char type[] = "mail";
    options.id = UINT64_MAX;
    options.type = type;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    type[0] = 'X';
    CHECK(weir_envelope_id(envelope) == UINT64_MAX);
    CHECK_STRING(weir_envelope_type(envelope), "mail");
    CHECK(weir_envelope_payload(envelope) == &task);
    weir_envelope_unref(envelope);
    task_fini(&task);
}

TEST(defaults,
     "with invoke alone the id is 0, the type empty, the payload NULL and libc's memory used")
{
    struct weir_envelope_options options = {0};
    options.invoke = task_invoke;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    CHECK_INT(weir_envelope_id(envelope), ==, 0);
    CHECK_STRING(weir_envelope_type(envelope), "");
    CHECK(weir_envelope_payload(envelope) == NULL);
    CHECK_INT(test_allocated_blocks(), ==, 0);
    weir_envelope_unref(envelope);
}

TEST(nulls, "getters and reference calls take NULL")
{
    CHECK_INT(weir_envelope_id(NULL), ==, 0);
    CHECK_STRING(weir_envelope_type(NULL), "");
    CHECK(weir_envelope_payload(NULL) == NULL);
    CHECK(weir_envelope_ref(NULL) == NULL);
    weir_envelope_unref(NULL);
}

TEST(last_reference, "the payload is released once, when the last reference goes")
{
    struct task task;
    task_init(&task);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK(weir_envelope_ref(envelope) == envelope);
    weir_envelope_unref(envelope);
    CHECK_INT(counter_value(&task.released), ==, 0);
    weir_envelope_unref(envelope);
    CHECK_INT(counter_value(&task.released), ==, 1);
    CHECK_INT(test_allocated_blocks(), ==, 0);
    task_fini(&task);
}

TEST(borrowed_payload, "without a release function the payload is left alone")
{
    struct task task;
    task_init(&task);
    struct weir_envelope_options options = options_for(&task);
    options.release = NULL;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    weir_envelope_unref(envelope);
    CHECK_INT(counter_value(&task.released), ==, 0);
    task_fini(&task);
}

static void ref_and_unref(void *arg)
{
    weir_envelope *envelope = arg;
    for (uint64_t i = test_scaled(20000); i > 0; i--) {
        weir_envelope_unref(weir_envelope_ref(envelope));
    }
    weir_envelope_unref(envelope);
}

TEST(references_of_threads, "of threads that give their references back at once the last one frees")
{
    struct task task;
    task_init(&task);
    weir_envelope *envelope = envelope_for(&task, 0);
    struct test_thread *threads[3];
    for (int i = 0; i < 3; i++) {
        threads[i] = test_start(ref_and_unref, weir_envelope_ref(envelope));
    }
    weir_envelope_unref(envelope);
    for (int i = 0; i < 3; i++) {
        test_join(threads[i]);
    }
    CHECK_INT(counter_value(&task.released), ==, 1);
    task_fini(&task);
}

TEST(bad_input, "each bad option is refused with its status; nothing is made and no payload taken")
{
    struct task task;
    task_init(&task);
    struct weir_envelope_options good = options_for(&task);
    struct weir_envelope_options no_invoke = good;
    no_invoke.invoke = NULL;
    struct weir_envelope_options negative = good;
    negative.deadline_ns = -1;
    struct weir_envelope_options half_allocator = good;
    half_allocator.allocator.release = NULL;
    struct weir_envelope_options negative_interval = good;
    negative_interval.interval_ns = -1;
    struct weir_envelope_options least_interval = good;
    least_interval.interval_ns = INT64_MIN;
    struct weir_envelope_options late = good;
    late.interval_ns = 10;
    late.deadline_ns = 11;
    struct weir_envelope_options unknown_flag = good;
    unknown_flag.flags = 1u << 31;
    struct weir_envelope_options no_stamps = good;
    no_stamps.stamp_count = 1;
    struct weir_stamp empty = {NULL, NULL};
    struct weir_envelope_options empty_stamp = good;
    empty_stamp.stamps = &empty;
    empty_stamp.stamp_count = 1;
    struct weir_envelope_options many_stamps = empty_stamp;
    many_stamps.stamp_count = SIZE_MAX;
    const struct {
        const struct weir_envelope_options *options;
        enum weir_status status;
    } rows[] = {
        {&negative_interval, WEIR_ERANGE}, {&least_interval, WEIR_ERANGE},
        {&late, WEIR_EINTERVAL},           {&unknown_flag, WEIR_EINVAL},
        {&no_stamps, WEIR_EINVAL},         {&empty_stamp, WEIR_EINVAL},
        {&many_stamps, WEIR_ERANGE},       {NULL, WEIR_EINVAL},
        {&no_invoke, WEIR_EINVAL},         {&negative, WEIR_ERANGE},
        {&half_allocator, WEIR_EINVAL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        weir_envelope *envelope = NULL;
        CHECK_STATUS(weir_envelope_new(rows[i].options, &envelope, NULL), rows[i].status);
        CHECK(envelope == NULL);
    }
    CHECK_STATUS(weir_envelope_new(&good, NULL, NULL), WEIR_EINVAL);
    CHECK_INT(test_allocated_blocks(), ==, 0);
    CHECK_INT(counter_value(&task.released), ==, 0);
    task_fini(&task);
}

TEST_OOM(no_memory, "without memory no envelope is made and the payload is not taken")
{
    struct task task;
    task_init(&task);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_INT(counter_value(&task.released), ==, 0);
    if (envelope != NULL) {
        weir_envelope_unref(envelope);
        CHECK_INT(counter_value(&task.released), ==, 1);
    }
    task_fini(&task);
}

/* The size of the envelope of such options, in bytes. */
static size_t bytes_of(const struct weir_envelope_options *options)
{
    size_t before = test_allocated_bytes();
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(options, &envelope, NULL), WEIR_OK);
    size_t bytes = test_allocated_bytes() - before;
    weir_envelope_unref(envelope);
    return bytes;
}

TEST(size, "an envelope takes memory for what it has, a plain one 384 bytes")
{
    struct task task;
    task_init(&task);
    struct weir_envelope_options options = options_for(&task);
    size_t plain = bytes_of(&options);
    CHECK_INT(plain, <=, 384);
    options.interval_ns = 1;
    CHECK_INT(bytes_of(&options), <=, plain + 176);
    options.interval_ns = 0;
    options.type = "mail";
    CHECK_INT(bytes_of(&options), <=, plain + 16);
    options.type = "";
    CHECK_INT(bytes_of(&options), ==, plain);
    task_fini(&task);
}

/* The parts that only some envelopes have. */
enum part {
    RECURRENCE = 1,
    HOOKS = 2,
    STAMPS = 4,
    GROUP = 8,
    ISOLATION = 16,
    ALLOCATOR = 32,
    TYPE = 64
};

static void before_hook(void)
{
}

/* Options that make exactly these parts. */
static struct weir_envelope_options options_with(unsigned parts, const struct weir_stamp *stamps,
                                                 const struct weir_isolation *isolation)
{
    struct weir_envelope_options options = {0};
    options.invoke = task_invoke;
    options.id = parts;
    options.interval_ns = (parts & RECURRENCE) != 0 ? 77 : 0;
    options.before = (parts & HOOKS) != 0 ? (weir_before_fn *)before_hook : NULL;
    options.stamps = stamps;
    options.stamp_count = (parts & STAMPS) != 0 ? 3 : 0;
    if ((parts & GROUP) != 0) {
        options.group = weir_key_string("customer");
    }
    options.isolation = (parts & ISOLATION) != 0 ? isolation : NULL;
    if ((parts & ALLOCATOR) != 0) {
        options.allocator = *test_allocator();
    }
    options.type = (parts & TYPE) != 0 ? "mail" : NULL;
    return options;
}

static void check_parts(weir_envelope *envelope, unsigned parts, const struct weir_stamp *given)
{
    CHECK_INT(weiri_envelope_is_periodic(envelope), ==, (parts & RECURRENCE) != 0);
    if (weiri_envelope_is_periodic(envelope)) {
        CHECK_INT(envelope->recurrence->plan.interval_ns, ==, 77);
    }
    bool has_hook = envelope->options.before == (weir_before_fn *)before_hook;
    CHECK_INT(has_hook, ==, (parts & HOOKS) != 0);
    CHECK(envelope->options.failure == NULL);
    size_t count = envelope->options.stamp_count;
    const struct weir_stamp *stamps = envelope->options.stamps;
    CHECK_INT(count, ==, (parts & STAMPS) != 0 ? 3 : 0);
    for (size_t i = 0; i < count; i++) {
        CHECK(stamps[i].fn == given[i].fn && stamps[i].arg == given[i].arg);
    }
    CHECK_INT(envelope->member != NULL, ==, (parts & GROUP) != 0);
    if (envelope->member != NULL) {
        CHECK(envelope->member->envelope == envelope);
        CHECK_INT(envelope->options.group.size, ==, strlen("customer"));
        CHECK(memcmp(envelope->options.group.data, "customer", strlen("customer")) == 0);
    }
    CHECK_INT(envelope->options.isolation != NULL, ==, (parts & ISOLATION) != 0);
    CHECK(envelope->options.isolation == NULL || envelope->options.isolation->file_limit == 55);
    CHECK_STRING(weir_envelope_type(envelope), (parts & TYPE) != 0 ? "mail" : "");
    CHECK_INT(test_allocated_blocks() > 0, ==, (parts & ALLOCATOR) != 0);
}

TEST(parts, "whichever parts an envelope has, each is found as it was given, and freed")
{
    int args[3];
    struct weir_stamp stamps[3];
    for (int i = 0; i < 3; i++) {
        stamps[i] = (struct weir_stamp){(weir_stamp_fn *)before_hook, &args[i]};
    }
    struct weir_isolation isolation = {0};
    isolation.file_limit = 55;
    for (unsigned parts = 0; parts < 2 * TYPE; parts++) {
        struct weir_envelope_options options = options_with(parts, stamps, &isolation);
        weir_envelope *envelope;
        CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
        check_parts(envelope, parts, stamps);
        weir_envelope_unref(envelope);
        CHECK_INT(test_allocated_blocks(), ==, 0);
    }
}

TEST(deadline_of_interval, "a deadline may be as long as the interval, and of a one-off any length")
{
    struct task task;
    task_init(&task);
    struct weir_envelope_options options = options_for(&task);
    options.deadline_ns = 10;
    options.interval_ns = 10;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    weir_envelope_unref(envelope);
    options.deadline_ns = INT64_MAX;
    options.interval_ns = 0;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    weir_envelope_unref(envelope);
    task_fini(&task);
}
