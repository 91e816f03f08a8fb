/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

/* /metrics as Prometheus reads it. */

/* The page after jobs were put, done and buried. To be freed. */
static char *read_page(void)
{
    program_init();
    WEIR(0, "put", "done", "x");
    WEIR(0, "work", "-e", "done", "--", "true");
    WEIR(0, "put", "bad", "x");
    WEIR(1, "work", "-e", "--attempts", "1", "bad", "--", "false");
    WEIR(0, "put", "--delay", "1h", "a.b/c+d;$_()", "x");
    WEIR(0, "put", "ready", "x");
    WEIR(0, "pause", "ready");
    struct server server = SERVER("--read-only");
    struct answer answer = client_ask(&server, "GET /metrics", "", NULL);
    CHECK_INT(answer.status, ==, 200);
    CHECK(answer_has(&answer, "Content-Type: text/plain; version=0.0.4; charset=utf-8"));
    char *page = answer.body;
    answer.body = NULL;
    answer_free(&answer);
    server_end(&server);
    return page;
}

static void check_line(const char *page, const char *line)
{
    char wanted[256];
    (void)snprintf(wanted, sizeof(wanted), "\n%s\n", line);
    if (strstr(page, wanted) == NULL) {
        test_fail(__FILE__, __LINE__, "\"%s\" is not in:\n%s", line, page);
    }
}

TEST(families, "the counts of the broker are there by queue, state and event")
{
    char *page = read_page();
    check_line(page, "weir_broker_up 1");
    check_line(page, "weir_jobs{queue=\"bad\",state=\"buried\"} 1");
    check_line(page, "weir_jobs{queue=\"a.b/c+d;$_()\",state=\"delayed\"} 1");
    check_line(page, "weir_jobs{queue=\"ready\",state=\"ready\"} 1");
    check_line(page, "weir_jobs{queue=\"ready\",state=\"reserved\"} 0");
    check_line(page, "weir_jobs_total{queue=\"done\",event=\"put\"} 1");
    check_line(page, "weir_jobs_total{queue=\"done\",event=\"done\"} 1");
    check_line(page, "weir_jobs_total{queue=\"done\",event=\"failed\"} 0");
    check_line(page, "weir_jobs_total{queue=\"bad\",event=\"buried\"} 1");
    check_line(page, "weir_jobs_total{queue=\"done\",event=\"retried\"} 0");
    check_line(page, "weir_jobs_total{queue=\"done\",event=\"timeout\"} 0");
    check_line(page, "weir_queue_paused{queue=\"ready\"} 1");
    check_line(page, "weir_queue_paused{queue=\"bad\"} 0");
    check_line(page, "weir_oldest_ready_seconds{queue=\"done\"} 0.000");
    const char *age = strstr(page, "\nweir_oldest_ready_seconds{queue=\"ready\"} ");
    CHECK(age != NULL && strtod(strchr(age, ' '), NULL) > 0);
    CHECK(strstr(page, "\nprocess_resident_memory_bytes ") != NULL);
    CHECK(strstr(page, "\nprocess_open_fds ") != NULL);
    free(page);
}

TEST(judged, "promtool has nothing to say against the page")
{
    if (system("command -v promtool >/dev/null") != 0) {
        test_skip("there is no promtool: make promtool installs it");
    }
    char *page = read_page();
    FILE *pipe = popen("promtool check metrics", "w");
    CHECK(pipe != NULL);
    CHECK_INT(fwrite(page, 1, strlen(page), pipe), ==, strlen(page));
    int status = pclose(pipe);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, 0);
    free(page);
}
