/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/snapshot.h>

#include "conformance/metrics.h"

/* The metrics of a named queue, each as client-go keeps it. */

#define ADDS "workqueue_adds_total"
#define DEPTH "workqueue_depth"
#define RETRIES "workqueue_retries_total"
#define UNFINISHED "workqueue_unfinished_work_seconds"
#define LONGEST "workqueue_longest_running_processor_seconds"
#define QUEUE_COUNT "workqueue_queue_duration_seconds_count"
#define QUEUE_SUM "workqueue_queue_duration_seconds_sum"
#define WORK_COUNT "workqueue_work_duration_seconds_count"
#define WORK_SUM "workqueue_work_duration_seconds_sum"

TEST_EACH(adds_idle, "an add of an idle item counts, one of a queued item does not")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    CHECK_FAMILY(&page, ADDS, "0");
    add(&f, 0);
    add(&f, 0);
    add(&f, 1);
    CHECK_FAMILY(&page, ADDS, "2");
    teardown_named(&f, &page);
}

TEST_EACH(adds_processing,
          "an add of a processing item counts once, and done's queueing it does not")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    add(&f, 0);
    add(&f, 0);
    CHECK_FAMILY(&page, ADDS, "2");
    done(&f, &work);
    CHECK_FAMILY(&page, ADDS, "2");
    get_and_done(&f, 0);
    CHECK_FAMILY(&page, ADDS, "2");
    teardown_named(&f, &page);
}

TEST_EACH(adds_refused, "an add that is refused does not count")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(weir_queue_add(f.queue, key_of(&f, 0)), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_queue_add_after(f.queue, key_of(&f, 0), 1), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_ESHUTDOWN);
    CHECK_FAMILY(&page, ADDS, "0");
    CHECK_FAMILY(&page, RETRIES, "0");
    teardown_named(&f, &page);
}

TEST_EACH(adds_waiting, "a waiting item counts when its time comes, in a batch each item does")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    add_after(&f, 0, WEIR_SECONDS(1));
    CHECK_FAMILY(&page, ADDS, "0");
    pass(&f, WEIR_SECONDS(1));
    CHECK_FAMILY(&page, ADDS, "1");
    struct weir_key keys[3] = {key_of(&f, 0), key_of(&f, 1), key_of(&f, 1)};
    CHECK_STATUS(weir_queue_add_batch(f.queue, keys, 3, NULL), WEIR_OK);
    CHECK_FAMILY(&page, ADDS, "2");
    teardown_named(&f, &page);
}

TEST_EACH(depth, "depth counts queued and dirty items, not waiting nor processing ones")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    add(&f, 0);
    add(&f, 1);
    add_after(&f, 2, WEIR_SECONDS(1));
    CHECK_FAMILY(&page, DEPTH, "2");
    struct weir_work work = get(&f, 0);
    CHECK_FAMILY(&page, DEPTH, "1");
    add(&f, 0);
    CHECK_FAMILY(&page, DEPTH, "2");
    done(&f, &work);
    CHECK_FAMILY(&page, DEPTH, "2");
    pass(&f, WEIR_SECONDS(1));
    CHECK_FAMILY(&page, DEPTH, "3");
    CHECK(cancel(&f, 1));
    CHECK_FAMILY(&page, DEPTH, "2");
    teardown_named(&f, &page);
}

TEST_EACH(queue_duration,
          "queue_duration is from the add to the get, for a dirty item from its add")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    add(&f, 0);
    pass(&f, WEIR_SECONDS(2));
    add(&f, 0);
    CHECK_FAMILY(&page, QUEUE_COUNT, "0");
    struct weir_work work = get(&f, 0);
    CHECK_FAMILY(&page, QUEUE_SUM, "2");
    pass(&f, WEIR_SECONDS(5));
    add(&f, 0);
    pass(&f, WEIR_MS(250));
    add(&f, 0);
    done(&f, &work);
    pass(&f, WEIR_SECONDS(1));
    get_and_done(&f, 0);
    CHECK_FAMILY(&page, QUEUE_COUNT, "2");
    CHECK_SERIES(&page, QUEUE_SUM "{name=\"q\"}", "3.25");
    CHECK_SERIES(&page, "workqueue_queue_duration_seconds_bucket{name=\"q\",le=\"1\"}", "0");
    CHECK_SERIES(&page, "workqueue_queue_duration_seconds_bucket{name=\"q\",le=\"10\"}", "2");
    teardown_named(&f, &page);
}

TEST_EACH(queue_duration_waiting, "an item that waited is queued from its time on, not before")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    add_after(&f, 0, WEIR_SECONDS(3));
    pass(&f, WEIR_SECONDS(3));
    CHECK_INT(weir_queue_len(f.queue), ==, 1);
    pass(&f, WEIR_SECONDS(4));
    get_and_done(&f, 0);
    CHECK_FAMILY(&page, QUEUE_SUM, "4");
    teardown_named(&f, &page);
}

TEST_EACH(cancelled_untimed, "a cancelled item is in no histogram, and its next add starts anew")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    add(&f, 0);
    pass(&f, WEIR_SECONDS(3));
    CHECK(cancel(&f, 0));
    CHECK_FAMILY(&page, QUEUE_COUNT, "0");
    add(&f, 0);
    pass(&f, WEIR_SECONDS(1));
    struct weir_work work = get(&f, 0);
    CHECK_FAMILY(&page, QUEUE_SUM, "1");
    add(&f, 0);
    CHECK(cancel(&f, 0));
    pass(&f, WEIR_SECONDS(1));
    add(&f, 0);
    pass(&f, WEIR_SECONDS(2));
    done(&f, &work);
    get_and_done(&f, 0);
    CHECK_FAMILY(&page, QUEUE_SUM, "3");
    teardown_named(&f, &page);
}

TEST_EACH(work_duration, "work_duration is from the get to the done")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    add(&f, 0);
    add(&f, 1);
    struct weir_work first = get(&f, 0);
    pass(&f, WEIR_MS(500));
    struct weir_work second = get(&f, 1);
    pass(&f, WEIR_SECONDS(1));
    done(&f, &first);
    CHECK_FAMILY(&page, WORK_SUM, "1.5");
    CHECK_STATUS(weir_queue_done(f.queue, &first), WEIR_ENOTPROCESSING);
    done(&f, &second);
    CHECK_FAMILY(&page, WORK_SUM, "2.5");
    CHECK_SERIES(&page, WORK_COUNT "{name=\"q\"}", "2");
    CHECK_SERIES(&page, "workqueue_work_duration_seconds_bucket{name=\"q\",le=\"1\"}", "1");
    CHECK_SERIES(&page, "workqueue_work_duration_seconds_bucket{name=\"q\",le=\"+Inf\"}", "2");
    teardown_named(&f, &page);
}

TEST_EACH(done_get_times, "done_get ends one processing and starts the next at the same moment")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    add(&f, 0);
    add(&f, 1);
    struct weir_work work = get(&f, 0);
    pass(&f, WEIR_SECONDS(2));
    CHECK_STATUS(weir_queue_done_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
    pass(&f, WEIR_SECONDS(1));
    CHECK_FAMILY(&page, WORK_SUM, "2");
    CHECK_SERIES(&page, QUEUE_SUM "{name=\"q\"}", "2");
    CHECK_SERIES(&page, UNFINISHED "{name=\"q\"}", "1");
    CHECK_STATUS(weir_queue_done_batch(f.queue, &work, 1), WEIR_OK);
    CHECK_FAMILY(&page, WORK_SUM, "3");
    teardown_named(&f, &page);
}

TEST_EACH(unfinished, "unfinished work is the sum of the ages, the longest that of the oldest")
{
    struct fixture f;
    struct page page;
    struct weir_work work[3];
    setup_named(&f, kind, &page);
    for (unsigned i = 0; i < 3; i++) {
        add(&f, i);
        work[i] = get(&f, i);
        pass(&f, WEIR_SECONDS(10));
    }
    CHECK_FAMILY(&page, UNFINISHED, "60");
    CHECK_FAMILY(&page, LONGEST, "30");
    done(&f, &work[1]);
    CHECK_FAMILY(&page, UNFINISHED, "40");
    CHECK_FAMILY(&page, LONGEST, "30");
    done(&f, &work[0]);
    pass(&f, WEIR_MS(1500));
    CHECK_FAMILY(&page, UNFINISHED, "11.5");
    CHECK_FAMILY(&page, LONGEST, "11.5");
    weir_queue_shutdown(f.queue);
    done(&f, &work[2]);
    CHECK_FAMILY(&page, UNFINISHED, "0");
    CHECK_FAMILY(&page, LONGEST, "0");
    teardown_named(&f, &page);
}

TEST_EACH(retries, "retries counts each accepted add_after and add_rate_limited, and no add")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    add(&f, 0);
    CHECK_FAMILY(&page, RETRIES, "0");
    add_after(&f, 1, 0);
    add_after(&f, 1, -1);
    add_after(&f, 1, WEIR_SECONDS(1));
    add_after(&f, 1, WEIR_SECONDS(2));
    CHECK_FAMILY(&page, RETRIES, "4");
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 2)), WEIR_OK);
    CHECK_FAMILY(&page, RETRIES, "5");
    add_with(&f, 3, 0, WEIR_ADD_SUPERSEDE);
    CHECK_FAMILY(&page, RETRIES, "5");
    add_with(&f, 3, WEIR_SECONDS(1), WEIR_ADD_MOVE);
    CHECK_FAMILY(&page, RETRIES, "6");
    add_with(&f, 3, 0, WEIR_ADD_RATE_LIMITED);
    CHECK_FAMILY(&page, RETRIES, "7");
    teardown_named(&f, &page);
}

static enum weir_status make(weir_metrics *metrics, const char *name, weir_queue **ret_queue)
{
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    options.name = name;
    options.metrics = metrics;
    return weir_queue_new(&options, ret_queue, NULL);
}

TEST(names_conflict, "a name is taken once in a registry, and free again after its queue")
{
    struct page page;
    struct page other;
    weir_queue *first = NULL;
    weir_queue *second = NULL;
    page_init(&page);
    page_init(&other);
    char name[] = "twice";
    CHECK_STATUS(make(page.metrics, name, &first), WEIR_OK);
    size_t blocks = test_allocated_blocks();
    CHECK_STATUS(make(page.metrics, "twice", &second), WEIR_EBUSY);
    CHECK(second == NULL);
    CHECK_INT(test_allocated_blocks(), ==, blocks);
    name[0] = 'T'; /* it was copied */
    CHECK_STATUS(make(page.metrics, "twice", &second), WEIR_EBUSY);
    CHECK_STATUS(make(other.metrics, "twice", &second), WEIR_OK);
    weir_queue_free(first);
    page_read(&page);
    CHECK_STRING(page.text, "");
    CHECK_STATUS(make(page.metrics, "twice", &first), WEIR_OK);
    weir_queue_free(first);
    weir_queue_free(second);
    weir_metrics_free(page.metrics);
    weir_metrics_free(other.metrics);
}

TEST(names_refused,
     "metrics without a name, or with one that is not UTF-8, are refused; a name alone is not")
{
    struct page page;
    weir_queue *queue = NULL;
    page_init(&page);
    CHECK_STATUS(make(page.metrics, "caf\xe9", &queue), WEIR_EINVAL);
    CHECK(queue == NULL);
    CHECK_STATUS(make(page.metrics, "", &queue), WEIR_EINVAL);
    CHECK(queue == NULL);
    CHECK_STATUS(make(page.metrics, NULL, &queue), WEIR_EINVAL);
    CHECK(queue == NULL);
    CHECK_STATUS(make(NULL, "q", &queue), WEIR_OK);
    CHECK_STATUS(weir_queue_add(queue, weir_key_string("a")), WEIR_OK);
    weir_queue_free(queue);
    weir_metrics_free(page.metrics);
}

/* The text, byte for byte. */
static const char *const expected[] = {
#include "conformance/metrics_expected.inc"
};

TEST(text, "the text of two queues is this, byte for byte")
{
    struct fixture f;
    struct page page;
    weir_queue *odd = NULL;
    setup_named(&f, SHORT_KEY, &page);
    CHECK_STATUS(make(page.metrics, "a \"b\"\\\n\xc3\xa9", &odd), WEIR_OK);
    add(&f, 0);
    add(&f, 1);
    add_after(&f, 2, WEIR_SECONDS(30));
    pass(&f, 1);
    struct weir_work work = get(&f, 0);
    pass(&f, WEIR_SECONDS(2) + 10);
    done(&f, &work);
    work = get(&f, 1);
    add(&f, 1);
    pass(&f, WEIR_MS(10));
    page_read(&page);
    char *at = page.text;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        char *end = strchr(at, '\n');
        CHECK(end != NULL);
        char after = end[1];
        end[1] = '\0';
        CHECK_STRING(at, expected[i]);
        end[1] = after;
        at = end + 1;
    }
    CHECK_STRING(at, "");
    weir_queue_free(odd);
    teardown_named(&f, &page);
}

/* Everything that needs memory, with each allocation failing in turn. */
TEST_OOM(memory, "without memory a queue is not made or the text not written; nothing else fails")
{
    struct weir_metrics_options metrics_options = {0};
    metrics_options.allocator = *test_allocator();
    static struct page page;
    memset(&page, 0, sizeof(page));
    weir_queue *queue = NULL;
    struct weir_snapshot *snapshot = NULL;
    if (CHECK_OR_OOM(weir_metrics_new(&metrics_options, &page.metrics, NULL))) {
        return;
    }
    enum weir_status status = make(page.metrics, "q", &queue);
    if (!CHECK_OR_OOM(status)) {
        struct weir_item items[40];
        struct weir_work work[40];
        size_t accepted = 0;
        memset(items, 0, sizeof(items));
        for (size_t i = 0; i < 40; i++) {
            accepted += !CHECK_OR_OOM(weir_queue_add(queue, weir_key_item(&items[i])));
        }
        for (size_t i = 0; i < accepted; i++) {
            CHECK_STATUS(weir_queue_get(queue, 0, &work[i]), WEIR_OK);
            status = weir_queue_add(queue, work[i].key);
            CHECK(status == WEIR_OK || status == WEIR_ENOMEM);
        }
        if (!CHECK_OR_OOM(weir_queue_snapshot(queue, &snapshot))) {
            CHECK_INT(snapshot->count, ==, accepted);
            weir_snapshot_free(snapshot);
        }
        status = (enum weir_status)weir_metrics_write(page.metrics, page_write, &page);
        CHECK_INT(CHECK_OR_OOM(status), ==, page.size == 0);
        for (size_t i = 0; i < accepted; i++) {
            CHECK_STATUS(weir_queue_done(queue, &work[i]), WEIR_OK);
        }
        while (weir_queue_get(queue, 0, &work[0]) == WEIR_OK) {
            CHECK_STATUS(weir_queue_done(queue, &work[0]), WEIR_OK);
        }
        weir_queue_free(queue);
    }
    weir_metrics_free(page.metrics);
}
