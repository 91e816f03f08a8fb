/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/cron.h>
#include <weir/lifecycle.h>

#include "conformance/metrics.h"
#include "pool/script.h"

/* A pool in a registry, on which one scripted envelope runs. */

static struct weir_pool_options named(struct script *script, struct page *page)
{
    struct weir_pool_options options = script_pool(script);
    options.name = "q";
    options.metrics = page->metrics;
    return options;
}

static void begin(struct script *script, struct page *page)
{
    page_init(page);
    script_init(script);
    script->decision = 0;
}

static void start(struct script *script, struct page *page)
{
    struct weir_pool_options pool = named(script, page);
    struct weir_envelope_options envelope = script_envelope(script, 0);
    pool.capacity = 5;
    envelope.retry.attempts = 2;
    script_start(script, &envelope, &pool);
}

static void end(struct script *script, struct page *page)
{
    script_fini(script);
    page_read(page);
    CHECK_STRING(page->text, "");
    weir_metrics_free(page->metrics);
}

#define CHECK_RUNS(page, outcome, value)                                                           \
    CHECK_SERIES(page, "weir_pool_runs_total{name=\"q\",outcome=\"" outcome "\"}", value)

TEST(failures, "runs are counted by how they ended, and retries by whether they were made")
{
    struct script script;
    struct page page;
    begin(&script, &page);
    script.statuses[0] = WEIR_EUSER;
    script.statuses[1] = WEIR_EPANIC;
    start(&script, &page);
    script_wait(&script, 2);
    script_end(&script, 2, 0);
    page_read(&page);
    CHECK_RUNS(&page, "success", "0");
    CHECK_RUNS(&page, "error", "1");
    CHECK_RUNS(&page, "panic", "1");
    CHECK_RUNS(&page, "timeout", "0");
    CHECK_RUNS(&page, "canceled", "0");
    CHECK_RUNS(&page, "stop", "0");
    CHECK_SERIES(&page, "weir_pool_retries_total{name=\"q\"}", "1");
    CHECK_SERIES(&page, "weir_pool_exhausted_total{name=\"q\"}", "1");
    CHECK_SERIES(&page, "weir_pool_hook_errors_total{name=\"q\"}", "0");
    CHECK_SERIES(&page, "weir_pool_late_runs_total{name=\"q\"}", "0");
    CHECK_SERIES(&page, "weir_pool_skipped_firings_total{name=\"q\"}", "0");
    CHECK_SERIES(&page, "weir_pool_dropped_total{name=\"q\"}", "0");
    end(&script, &page);
}

TEST(other_ends, "time-outs, cancellations and stops are ends of their own")
{
    static const struct {
        int status;
        const char *series;
    } ends[] = {{WEIR_ETIMEDOUT, "weir_pool_runs_total{name=\"q\",outcome=\"timeout\"}"},
                {WEIR_ECANCELED, "weir_pool_runs_total{name=\"q\",outcome=\"canceled\"}"},
                {WEIR_ESTOP, "weir_pool_runs_total{name=\"q\",outcome=\"stop\"}"},
                {WEIR_OK, "weir_pool_runs_total{name=\"q\",outcome=\"success\"}"}};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct script script;
        struct page page;
        begin(&script, &page);
        script.statuses[0] = ends[i].status;
        start(&script, &page);
        script_wait(&script, 1);
        script_end(&script, 1, 0);
        page_read(&page);
        CHECK_SERIES(&page, ends[i].series, "1");
        end(&script, &page);
    }
}

TEST(hooks, "errors of hooks and runs that end late are counted")
{
    struct script script;
    struct page page;
    begin(&script, &page);
    script.after = WEIR_EUSER;
    script.invoke_ns = SCRIPT_DEADLINE_NS + 1;
    start(&script, &page);
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    page_read(&page);
    CHECK_SERIES(&page, "weir_pool_hook_errors_total{name=\"q\"}", "1");
    CHECK_SERIES(&page, "weir_pool_late_runs_total{name=\"q\"}", "1");
    CHECK_RUNS(&page, "success", "1");
    end(&script, &page);
}

static void note_overdue(weir_envelope *envelope, int64_t late_ns, void *arg)
{
    (void)envelope;
    CHECK_INT(late_ns, ==, WEIR_MS(5));
    counter_add(arg, 1);
}

TEST(overdue, "a run that the watchdog tells of is counted while it still runs, and once")
{
    struct script script;
    struct page page;
    struct task task;
    begin(&script, &page);
    task_init(&task);
    task.is_held = true;
    struct weir_pool_options options = named(&script, &page);
    options.overdue_ns = WEIR_MS(5);
    options.overdue = note_overdue;
    options.overdue_arg = &script.slept;
    CHECK_STATUS(weir_pool_new(&options, &script.pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(script.pool), WEIR_OK);
    page_read(&page);
    CHECK_SERIES(&page, "weir_pool_overdue_runs_total{name=\"q\"}", "0");
    weir_envelope *envelope = envelope_for(&task, WEIR_MS(10));
    for (int run = 1; run <= 2; run++) {
        CHECK_STATUS(weir_pool_send(script.pool, envelope), WEIR_OK);
        counter_wait(&task.entered, run);
        CHECK_STATUS(weir_clock_advance(script.clock, WEIR_MS(15)), WEIR_OK);
        counter_wait(&script.slept, run);
        page_read(&page);
        CHECK_SERIES(&page, "weir_pool_overdue_runs_total{name=\"q\"}", run == 1 ? "1" : "2");
        counter_add(&task.allowed, 1);
        counter_wait(&task.outcomes, run);
    }
    weir_envelope_unref(envelope);
    end(&script, &page);
    task_fini(&task);
}

TEST(gauges, "capacity, what is taken of it, and what runs are those of the moment (R18)")
{
    struct script script;
    struct page page;
    begin(&script, &page);
    script.sleeps = true;
    start(&script, &page);
    counter_wait(&script.begun, 1);
    page_read(&page);
    CHECK_SERIES(&page, "weir_pool_workers{name=\"q\"}", "1");
    CHECK_SERIES(&page, "weir_pool_running{name=\"q\"}", "1");
    CHECK_SERIES(&page, "weir_pool_in_flight{name=\"q\"}", "1");
    CHECK_SERIES(&page, "weir_pool_capacity{name=\"q\"}", "5");
    CHECK_STATUS(weir_pool_cancel(script.pool, script.envelope, WEIR_FOREVER, NULL), WEIR_OK);
    page_read(&page);
    CHECK_SERIES(&page, "weir_pool_running{name=\"q\"}", "0");
    CHECK_SERIES(&page, "weir_pool_in_flight{name=\"q\"}", "0");
    CHECK_RUNS(&page, "canceled", "1");
    script_end(&script, 1, 0);
    end(&script, &page);
}

TEST(dropped, "runs that were asked for and dropped are counted; no capacity is +Inf")
{
    struct script script;
    struct page page;
    begin(&script, &page);
    struct weir_pool_options pool = named(&script, &page);
    script_start(&script, NULL, &pool);
    script_wait(&script, 1);
    script_pass_by(&script); /* by then the first flight's end was told */
    CHECK_STATUS(weir_pool_send_after(script.pool, script.envelope, WEIR_SECONDS(1)), WEIR_OK);
    script_end(&script, 1, 1);
    page_read(&page);
    CHECK_SERIES(&page, "weir_pool_dropped_total{name=\"q\"}", "1");
    CHECK_SERIES(&page, "weir_pool_capacity{name=\"q\"}", "+Inf");
    end(&script, &page);
}

TEST(queue, "the pool's queue is shown under the pool's name")
{
    struct script script;
    struct page page;
    begin(&script, &page);
    start(&script, &page);
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    page_read(&page);
    CHECK_SERIES(&page, "workqueue_adds_total{name=\"q\"}", "1");
    CHECK_SERIES(&page, "workqueue_work_duration_seconds_count{name=\"q\"}", "1");
    end(&script, &page);
}

TEST(ending, "a run is timed also while its pool ends")
{
    struct page page;
    struct task task;
    struct weir_pool_options options = {0};
    weir_pool *pool;
    page_init(&page);
    task_init(&task);
    task.is_held = true;
    options.allocator = *test_allocator();
    options.workers = 1;
    options.name = "q";
    options.metrics = page.metrics;
    CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), &options.clock), WEIR_OK);
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    counter_wait(&task.entered, 1);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, 0), WEIR_OK);
    CHECK_STATUS(weir_clock_advance(options.clock, WEIR_SECONDS(5)), WEIR_OK);
    CHECK_FAMILY(&page, "workqueue_unfinished_work_seconds", "5");
    CHECK_FAMILY(&page, "workqueue_longest_running_processor_seconds", "5");
    counter_add(&task.allowed, 1);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_FAMILY(&page, "workqueue_work_duration_seconds_sum", "5");
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    weir_clock_free(options.clock);
    weir_metrics_free(page.metrics);
    task_fini(&task);
}

TEST(looks, "looks at the wall clock are no adds, no works, and cost no slot")
{
    struct script script;
    struct page page;
    struct task other;
    task_init(&other);
    begin(&script, &page);
    struct weir_cron_options of_cron = {0};
    struct weir_schedule schedule = {0};
    of_cron.allocator = *test_allocator();
    of_cron.zone = "UTC";
    schedule.kind = WEIR_SCHEDULE_CRON;
    CHECK_STATUS(weir_cron_new("0 12 * * *", &of_cron, &schedule.cron, NULL), WEIR_OK);
    struct weir_envelope_options envelope = script_envelope(&script, 0);
    envelope.deadline_ns = 0;
    envelope.schedule = &schedule;
    struct weir_pool_options pool = named(&script, &page);
    pool.capacity = 2;
    pool.when_full = WEIR_FULL_DROP_OLDEST;
    script_start(&script, &envelope, &pool);
    weir_cron_unref(schedule.cron);
    script_pass_by(&script); /* a send, and a run of another envelope */
    for (int minute = 0; minute < 61; minute++) {
        CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(60)), WEIR_OK);
        CHECK_INT(counts_of(script.pool).queued, ==, 0);
    }
    page_read(&page);
    CHECK_SERIES(&page, "workqueue_adds_total{name=\"q\"}", "2"); /* the sends */
    CHECK_SERIES(&page, "workqueue_work_duration_seconds_count{name=\"q\"}", "1");
    CHECK_STATUS(weir_pool_pause(script.pool, 0), WEIR_OK);
    weir_envelope *displaced = envelope_for(&other, 0);
    weir_envelope *later = envelope_for(&other, 0);
    CHECK_STATUS(weir_pool_send(script.pool, displaced), WEIR_OK);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(60)), WEIR_OK);
    CHECK_STATUS(weir_pool_send(script.pool, later), WEIR_OK);
    CHECK_INT(script.tellings, ==, 0);
    CHECK_INT(counts_of(script.pool).dropped, ==, 1);
    weir_envelope_unref(displaced);
    weir_envelope_unref(later);
    CHECK_STATUS(weir_pool_end(script.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    weir_envelope_unref(script.envelope);
    CHECK_INT(counter_value(&other.released), ==, 2);
    task_fini(&other);
    end(&script, &page);
}

TEST(restarted, "what a stop drops leaves the gauges; after a restart counters go on (R19)")
{
    struct script script;
    struct page page;
    begin(&script, &page);
    script.sleeps = true;
    start(&script, &page);
    counter_wait(&script.begun, 1);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK); /* again, after its run */
    page_read(&page);
    CHECK_SERIES(&page, "workqueue_depth{name=\"q\"}", "1");
    CHECK_STATUS(weir_pool_end(script.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    page_read(&page);
    CHECK_SERIES(&page, "workqueue_depth{name=\"q\"}", "0");
    CHECK_SERIES(&page, "weir_pool_in_flight{name=\"q\"}", "0");
    CHECK_SERIES(&page, "workqueue_adds_total{name=\"q\"}", "2");

    script.sleeps = false;
    CHECK_STATUS(weir_pool_start(script.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_wait(&script, 2);
    script_end(&script, 2, 1);
    page_read(&page);
    CHECK_SERIES(&page, "workqueue_depth{name=\"q\"}", "0");
    CHECK_SERIES(&page, "workqueue_adds_total{name=\"q\"}", "3");
    CHECK_RUNS(&page, "canceled", "1");
    CHECK_RUNS(&page, "success", "1");
    end(&script, &page);
}

TEST(names, "a name is UTF-8 and no other's of the registry; else there is no pool")
{
    struct script script;
    struct page page;
    begin(&script, &page);
    start(&script, &page);
    weir_pool *pool = NULL;
    struct weir_pool_options options = named(&script, &page);
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_EBUSY);
    options.name = "\xff";
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_EINVAL);
    options.name = "";
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_EINVAL);
    options.name = NULL;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_EINVAL);
    CHECK(pool == NULL);
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    end(&script, &page);
}

TEST(name_of_queue, "a queue of the same name keeps a pool out, which leaves nothing behind")
{
    struct script script;
    struct page page;
    begin(&script, &page);
    struct weir_queue_options of_queue = {0};
    of_queue.allocator = *test_allocator();
    of_queue.name = "q";
    of_queue.metrics = page.metrics;
    weir_queue *queue;
    CHECK_STATUS(weir_queue_new(&of_queue, &queue, NULL), WEIR_OK);
    weir_pool *pool = NULL;
    struct weir_pool_options options = named(&script, &page);
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_EBUSY);
    CHECK(pool == NULL);
    page_read(&page);
    CHECK(strstr(page.text, "weir_pool_") == NULL);
    weir_queue_free(queue);
    end(&script, &page);
}
