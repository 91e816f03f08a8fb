/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <sys/wait.h>

#include "conformance/metrics.h"
#include "pool/script.h"

/* The metrics as Prometheus' own tool judges them. */

static FILE *begin_promtool(void)
{
    if (system("command -v promtool >/dev/null") != 0) {
        test_skip("there is no promtool: make promtool installs it");
    }
    FILE *pipe = popen("promtool check metrics", "w");
    CHECK(pipe != NULL);
    return pipe;
}

static int judge(const char *text)
{
    FILE *pipe = begin_promtool();
    CHECK_INT(fwrite(text, 1, strlen(text), pipe), ==, strlen(text));
    int status = pclose(pipe);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(accepted, "promtool check metrics has nothing to say against a used queue and an odd name")
{
    struct fixture f;
    struct page page;
    setup_named(&f, SHORT_KEY, &page);
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    options.metrics = page.metrics;
    options.name = "a \"b\"\\\n\xc3\xa9";
    weir_queue *odd;
    CHECK_STATUS(weir_queue_new(&options, &odd, NULL), WEIR_OK);
    for (unsigned i = 0; i < 20; i++) {
        add(&f, i);
        pass(&f, 1 << i);
        struct weir_work work = get(&f, i);
        pass(&f, 3 << i);
        if (i % 4 != 0) {
            done(&f, &work);
        }
    }
    page_read(&page);
    CHECK_INT(judge(page.text), ==, 0);
    weir_queue_free(odd);
    teardown_named(&f, &page);
}

TEST(pool, "promtool check metrics has nothing to say against a used pool without a capacity")
{
    struct script script;
    struct page page;
    page_init(&page);
    script_init(&script);
    struct weir_pool_options options = script_pool(&script);
    options.name = "q";
    options.metrics = page.metrics;
    script_start(&script, NULL, &options);
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    page_read(&page);
    CHECK(strstr(page.text, "weir_pool_runs_total") != NULL);
    CHECK_INT(judge(page.text), ==, 0);
    script_fini(&script);
    weir_metrics_free(page.metrics);
}

TEST(judges, "promtool does refuse what is wrong")
{
    CHECK_INT(judge("# TYPE workqueue_depth gauge\nworkqueue_depth{name=\"a\"} x\n"), !=, 0);
}
