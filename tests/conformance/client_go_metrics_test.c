/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/metrics.h"

/* The scenarios of client-go's metrics_test.go, as in client_go_queue_test.c. There a thread brings
 * two of the gauges up to date from time to time; here they are right whenever they are read. */

#define SECONDS(family) "workqueue_" family "_seconds"

/* Of a histogram: how often, and the sum. */
#define CHECK_HISTOGRAM(page, family, count, sum)                                                  \
    do {                                                                                           \
        CHECK_FAMILY(page, SECONDS(family) "_count", count);                                       \
        CHECK_SERIES(page, SECONDS(family) "_sum{name=\"q\"}", sum);                               \
    } while (0)

TEST_EACH(metric_shutdown,
          "TestMetricShutdown: nothing goes on by itself, and after ShutDown neither")
{
    struct fixture f;
    struct page page;
    unsigned threads = test_thread_count();
    setup_named(&f, kind, &page);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    pass(&f, WEIR_MS(1));
    CHECK_FAMILY(&page, SECONDS("unfinished_work"), "0.001");
    CHECK_INT(test_thread_count(), ==, threads);
    done(&f, &work);
    weir_queue_shutdown(f.queue);
    pass(&f, WEIR_SECONDS(3600));
    CHECK_INT(test_thread_count(), ==, threads);
    CHECK_FAMILY(&page, SECONDS("unfinished_work"), "0");
    CHECK_SERIES(&page, SECONDS("longest_running_processor") "{name=\"q\"}", "0");
    CHECK_HISTOGRAM(&page, "work_duration", "1", "0.001");
    teardown_named(&f, &page);
}

TEST_EACH(metrics, "TestMetrics: one item, added five times while it is processed, then once more")
{
    struct fixture f;
    struct page page;
    setup_named(&f, kind, &page);
    add(&f, 0);
    CHECK_FAMILY(&page, "workqueue_adds_total", "1");
    CHECK_FAMILY(&page, "workqueue_depth", "1");
    pass(&f, WEIR_US(50));
    struct weir_work work = get(&f, 0);
    CHECK_HISTOGRAM(&page, "queue_duration", "1", "0.00005");
    for (int i = 0; i < 5; i++) {
        add(&f, 0);
    }
    CHECK_FAMILY(&page, "workqueue_adds_total", "2");
    CHECK_FAMILY(&page, "workqueue_depth", "1");
    pass(&f, WEIR_US(25));
    done(&f, &work);
    CHECK_HISTOGRAM(&page, "work_duration", "1", "0.000025");
    CHECK_FAMILY(&page, "workqueue_depth", "1");
    work = get(&f, 0);
    CHECK_HISTOGRAM(&page, "queue_duration", "2", "0.000075");
    pass(&f, WEIR_MS(1));
    CHECK_FAMILY(&page, SECONDS("unfinished_work"), "0.001");
    CHECK_FAMILY(&page, SECONDS("longest_running_processor"), "0.001");
    done(&f, &work);
    CHECK_HISTOGRAM(&page, "work_duration", "2", "0.001025");
    teardown_named(&f, &page);
}
