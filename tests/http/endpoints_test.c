/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/client.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/duration.h>

/* Each endpoint as it is meant to be used. */

static int64_t integer(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    CHECK(json_is_integer(value));
    return json_integer_value(value);
}

static const char *string(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

static void check_text(const struct server *server, int status, const char *line, const char *text)
{
    struct answer answer = client_ask(server, line, "", NULL);
    CHECK_INT(answer.status, ==, status);
    CHECK_STRING(answer.body, text);
    CHECK(answer_has(&answer, "Content-Type: text/plain; charset=utf-8"));
    answer_free(&answer);
}

TEST(health, "health is told in a word, or verbosely check by check")
{
    program_init();
    struct server server = SERVER(NULL);
    check_text(&server, 200, "GET /livez", "ok");
    check_text(&server, 200, "GET /livez?verbose", "[+]ping ok\nlivez check passed\n");
    check_text(&server, 200, "GET /readyz", "ok");
    check_text(&server, 200, "GET /readyz?verbose=1",
               "[+]ping ok\n[+]broker ok\nreadyz check passed\n");
    check_text(&server, 200, "GET /healthz?verbose",
               "[+]ping ok\n[+]broker ok\nhealthz check passed\n");
    check_text(&server, 200, "HEAD /livez", "");
    json_t *object = ASK(&server, 200, "GET /version", NULL);
    CHECK_INT(strncmp(string(object, "version"), "0.", 2), ==, 0);
    json_decref(object);
    server_end(&server);
}

TEST(headers, "every answer, also an error, forbids scripts, framing, guessing and caching")
{
    static const char *const lines[] = {"GET /livez", "GET /metrics", "GET /nope", "DELETE /livez"};
    program_init();
    struct server server = SERVER(NULL);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct answer answer = client_ask(&server, lines[i], "", NULL);
        CHECK(answer_has(&answer, "Content-Security-Policy: default-src 'self'; base-uri 'none'; "
                                  "form-action 'none'; frame-ancestors 'none'"));
        CHECK(answer_has(&answer, "X-Content-Type-Options: nosniff"));
        CHECK(answer_has(&answer, "X-Frame-Options: DENY"));
        CHECK(answer_has(&answer, "Cache-Control: no-store"));
        CHECK(answer_has(&answer, "Referrer-Policy: no-referrer"));
        CHECK(answer_has(&answer, "Cross-Origin-Resource-Policy: same-origin"));
        CHECK(strstr(answer.head, "Access-Control") == NULL);
        answer_free(&answer);
    }
    server_end(&server);
}

TEST(page, "the page is there in two forms, known by its tag, and may ask nobody but this server")
{
    static const char *const files[][2] = {{"GET /", "text/html; charset=utf-8"},
                                           {"GET /page.js", "text/javascript; charset=utf-8"},
                                           {"GET /page.css", "text/css; charset=utf-8"},
                                           {"GET /icon.svg", "image/svg+xml"}};
    program_init();
    struct server server = SERVER("--prefix", "/p");
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char line[64];
        char header[128];
        (void)snprintf(line, sizeof(line), "GET /p%s", files[i][0] + strlen("GET "));
        struct answer plain = client_ask(&server, line, "Accept-Encoding: gzip;q=0, br\r\n", NULL);
        struct answer packed = client_ask(&server, line, "Accept-Encoding: br, gzip\r\n", NULL);
        CHECK_INT(plain.status, ==, 200);
        CHECK_INT(packed.status, ==, 200);
        (void)snprintf(header, sizeof(header), "Content-Type: %s", files[i][1]);
        CHECK(answer_has(&plain, header));
        CHECK(strstr(plain.head, "Content-Encoding") == NULL);
        CHECK(answer_has(&packed, "Content-Encoding: gzip"));
        CHECK(answer_has(&packed, "Vary: Accept-Encoding"));
        CHECK(answer_has(&packed, "Cache-Control: no-cache"));
        CHECK(answer_has(&packed, "Content-Security-Policy: default-src 'self'; base-uri 'none'; "
                                  "form-action 'none'; frame-ancestors 'none'"));
        CHECK(memcmp(packed.body, "\x1f\x8b", 2) == 0);
        const char *tag = strstr(plain.head, "ETag: \"");
        CHECK(tag != NULL);
        (void)snprintf(header, sizeof(header), "If-None-Match: %.18s\r\n", tag + strlen("ETag: "));
        struct answer known = client_ask(&server, line, header, NULL);
        CHECK_INT(known.status, ==, 304);
        answer_free(&known);
        answer_free(&packed);
        answer_free(&plain);
    }
    ASK_STATUS(&server, 404, "GET /p/page.html", "", NULL);
    ASK_STATUS(&server, 405, "POST /p/", "", "{}");
    server_end(&server);
}

TEST(looking, "tubes, jobs and sums are told as the commands tell them")
{
    program_init();
    WEIR(0, "put", "a/b", "one");
    WEIR(0, "put", "a/b", "<script>alert(1)</script>");
    WEIR(0, "put", "--delay", "1h", "c", "x");
    struct server server = SERVER(NULL);
    json_t *object = ASK(&server, 200, "GET /api/v1/tubes", NULL);
    CHECK_INT(json_array_size(json_object_get(object, "tubes")), ==, 2);
    json_decref(object);
    object = ASK(&server, 200, "GET /api/v1/tubes/a%2Fb", NULL);
    struct ended ended = WEIR_EXPECT(0, "stats", "--json", "a/b");
    json_t *shown = json_loads(ended.out, 0, NULL);
    CHECK(json_equal(object, shown));
    json_decref(shown);
    ended_free(&ended);
    json_decref(object);
    object = ASK(&server, 200, "GET /api/v1/stats", NULL);
    CHECK_INT(integer(object, "ready"), ==, 2);
    CHECK_INT(integer(object, "delayed"), ==, 1);
    CHECK_INT(integer(object, "tubes"), ==, 2);
    CHECK_STRING(string(object, "broker"), "sqlite");
    CHECK(json_is_true(json_object_get(object, "may_change")));
    json_decref(object);
    object = ASK(&server, 200, "GET /api/v1/jobs/2", NULL);
    CHECK_STRING(string(object, "body"), "<script>alert(1)</script>");
    CHECK_STRING(string(json_object_get(object, "why"), "reason"), "worker");
    json_decref(object);
    object = ASK(&server, 200, "GET /api/v1/nodes", NULL);
    CHECK_INT(json_array_size(json_object_get(object, "nodes")), ==, 0);
    json_decref(object);
    object = ASK(&server, 200, "GET /api/v1/tubes/c/peek?state=delayed&body=true", NULL);
    const json_t *job = json_array_get(json_object_get(object, "jobs"), 0);
    CHECK_STRING(string(job, "body"), "x");
    json_decref(object);
    server_end(&server);
}

TEST(pages, "a list comes in pages that go on where the last one ended, filtered")
{
    program_init();
    struct ended ended = program_run_with("a1\na2\na3\nb1\nb2\n", 15, WORDS("put", "-l", "t"));
    ended_free(&ended);
    struct server server = SERVER(NULL);
    char line[128] = "GET /api/v1/tubes/t/jobs?limit=2&text=a&body=true&state=ready";
    json_t *object = ASK(&server, 200, line, NULL);
    CHECK_INT(json_array_size(json_object_get(object, "jobs")), ==, 2);
    CHECK_STRING(string(object, "next"), "2");
    json_decref(object);
    (void)strcat(line, "&after=2");
    object = ASK(&server, 200, line, NULL);
    const json_t *jobs = json_object_get(object, "jobs");
    CHECK_INT(json_array_size(jobs), ==, 1);
    CHECK_STRING(string(json_array_get(jobs, 0), "body"), "a3");
    CHECK(json_object_get(object, "next") == NULL);
    json_decref(object);
    object = ASK(&server, 200, "GET /api/v1/tubes/t/jobs?older=1h&attempts=1", NULL);
    CHECK_INT(json_array_size(json_object_get(object, "jobs")), ==, 0);
    json_decref(object);
    server_end(&server);
}

TEST(changing, "jobs are put, set aside, kicked and taken back, tubes paused and resumed")
{
    program_init();
    struct server server = SERVER(NULL);
    json_t *object = ASK(&server, 201, "POST /api/v1/tubes/t/jobs",
                         "{\"body\":\"AP8=\",\"encoding\":\"base64\",\"priority\":-5,"
                         "\"ttr\":\"5s\",\"delay\":\"0s\"}");
    CHECK_STRING(string(object, "id"), "1");
    json_decref(object);
    ASK_STATUS(&server, 201, "POST /api/v1/tubes/t/jobs", "",
               "{\"body\":\"later\",\"run_at\":\"2100-01-01T00:00:00Z\"}");
    object = ASK(&server, 200, "GET /api/v1/jobs/1", NULL);
    CHECK_STRING(string(object, "body"), "AP8=");
    CHECK_STRING(string(object, "encoding"), "base64");
    CHECK_INT(integer(object, "priority"), ==, -5);
    CHECK_INT(integer(object, "size"), ==, 2);
    json_decref(object);
    ASK_STATUS(
        &server, 201, "POST /api/v1/tubes/k/jobs", "",
        "{\"body\":\"x\",\"key\":\"a\",\"group\":\"g\",\"headers\":{\"b-1\":\"2\",\"c\":\"\"}}");
    ASK_STATUS(&server, 409, "POST /api/v1/tubes/k/jobs", "", "{\"body\":\"x\",\"key\":\"a\"}");
    for (int i = 0; i < 2; i++) {
        object =
            ASK(&server, 201, "POST /api/v1/tubes/p/jobs", "{\"body\":\"x\",\"put_id\":\"p\"}");
        CHECK_STRING(string(object, "id"), "4");
        json_decref(object);
    }
    ASK_STATUS(&server, 409, "POST /api/v1/tubes/p/jobs", "", "{\"body\":\"y\",\"put_id\":\"p\"}");
    object = ASK(&server, 200, "GET /api/v1/jobs/4", NULL);
    CHECK_STRING(string(object, "identity"), "p");
    json_decref(object);
    ASK_STATUS(&server, 201, "POST /api/v1/tubes/k/jobs", "",
               "{\"body\":\"x\",\"key\":\"a\",\"on_duplicate\":\"throttle\",\"key_for\":\"1h\"}");
    object = ASK(&server, 200, "GET /api/v1/jobs/3", NULL);
    CHECK_STRING(string(object, "key"), "a");
    CHECK_STRING(string(object, "group"), "g");
    CHECK_STRING(string(json_object_get(object, "headers"), "b-1"), "2");
    CHECK_STRING(string(json_object_get(object, "headers"), "c"), "");
    json_decref(object);
    object = ASK(&server, 200, "POST /api/v1/bury", "{\"ids\":[\"1\",\"77\"],\"reason\":\"why\"}");
    const json_t *results = json_object_get(object, "results");
    CHECK_STRING(string(json_array_get(results, 0), "result"), "buried");
    CHECK_STRING(string(json_array_get(results, 1), "result"), "not found");
    json_decref(object);
    object = ASK(&server, 200, "GET /api/v1/jobs/1", NULL);
    CHECK_STRING(string(object, "reason"), "why");
    json_decref(object);
    object = ASK(&server, 200, "POST /api/v1/tubes/t/kick", "{\"count\":5}");
    CHECK_INT(integer(object, "kicked"), ==, 1);
    json_decref(object);
    ASK_STATUS(&server, 200, "POST /api/v1/bury", "", "{\"ids\":[\"1\"]}");
    object = ASK(&server, 200, "POST /api/v1/kick", "{\"ids\":[\"1\"]}");
    CHECK_STRING(string(json_array_get(json_object_get(object, "results"), 0), "result"), "kicked");
    json_decref(object);
    ASK_STATUS(&server, 200, "POST /api/v1/tubes/t/pause", "", "{\"duration\":\"1h\"}");
    object = ASK(&server, 200, "GET /api/v1/tubes/t", NULL);
    CHECK(string(object, "paused_until")[0] == '2');
    json_decref(object);
    ASK_STATUS(&server, 200, "POST /api/v1/tubes/t/pause", "", "");
    object = ASK(&server, 200, "GET /api/v1/tubes/t", NULL);
    CHECK_STRING(string(object, "paused_until"), "resumed");
    json_decref(object);
    ASK_STATUS(&server, 200, "POST /api/v1/tubes/t/resume", "", "{}");
    object = ASK(&server, 200, "GET /api/v1/tubes/t", NULL);
    CHECK(json_object_get(object, "paused_until") == NULL);
    json_decref(object);
    ASK_STATUS(&server, 200, "POST /api/v1/rm", "", "{\"ids\":[\"1\",\"1\"]}");
    object = ASK(&server, 200, "POST /api/v1/rm", "{\"ids\":[\"2\",\"1\"]}");
    results = json_object_get(object, "results");
    CHECK_STRING(string(json_array_get(results, 0), "result"), "removed");
    CHECK_STRING(string(json_array_get(results, 1), "result"), "not found");
    json_decref(object);
    server_end(&server);
    CHECK_INT(program_count("t", "put"), ==, 2);
    CHECK_INT(program_count("t", "ready") + program_count("t", "delayed"), ==, 0);
}

TEST(policies, "policies of tubes are changed by what is named, and jobs are moved to other tubes")
{
    program_init();
    struct server server = SERVER(NULL);
    ASK_STATUS(&server, 201, "POST /api/v1/tubes/t/jobs", "", "{\"body\":\"x\"}");
    json_t *object =
        ASK(&server, 200, "POST /api/v1/tubes/t/policy",
            "{\"keep\":\"forever\",\"keep_count\":7,\"archive\":true,\"late\":\"bury\"}");
    CHECK_INT(integer(object, "keep_ns"), ==, INT64_MAX);
    CHECK_INT(integer(object, "late_ns"), ==, WEIR_SECONDS(1800));
    json_decref(object);
    object = ASK(&server, 200, "POST /api/v1/tubes/t/policy", "{\"group_limit\":5}");
    CHECK_INT(integer(object, "keep_count"), ==, 7);
    CHECK_STRING(string(object, "late"), "bury");
    CHECK_INT(integer(object, "group_limit"), ==, 5);
    json_decref(object);
    /* What belongs to the limit goes with it. */
    ASK_STATUS(&server, 200, "POST /api/v1/tubes/t/policy", "",
               "{\"keep\":\"0s\",\"late\":\"run\"}");
    object = ASK(&server, 200, "GET /api/v1/tubes/t/policy", NULL);
    CHECK_INT(integer(object, "keep_ns"), ==, 0);
    CHECK_INT(integer(object, "keep_count"), ==, 7);
    CHECK(json_is_true(json_object_get(object, "archive")));
    CHECK_STRING(string(object, "late"), "run");
    json_decref(object);
    /* And a limit switches it on. */
    object = ASK(&server, 200, "POST /api/v1/tubes/t/policy",
                 "{\"keep\":\"7d\",\"keep_count\":2,\"late_after\":\"1h\"}");
    CHECK_INT(integer(object, "keep_ns"), ==, WEIR_SECONDS(7 * 86400));
    CHECK_INT(integer(object, "keep_count"), ==, 2);
    CHECK_STRING(string(object, "late"), "bury");
    json_decref(object);
    object = ASK(&server, 200, "POST /api/v1/move", "{\"ids\":[\"1\",\"9\"],\"to\":\"u\"}");
    const json_t *results = json_object_get(object, "results");
    CHECK_STRING(string(json_array_get(results, 0), "result"), "moved");
    CHECK_STRING(string(json_array_get(results, 1), "result"), "not found");
    json_decref(object);
    server_end(&server);
    CHECK_INT(program_count("u", "ready"), ==, 1);
}

TEST(hidden, "hidden bodies are neither shown nor searched, and large ones are left out")
{
    program_init();
    static char large[(1 << 20) + 1];
    memset(large, 'x', sizeof(large));
    WEIR(0, "put", "t", "secret");
    struct ended ended = program_run_with(large, sizeof(large), WORDS("put", "t"));
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    struct server server = SERVER(NULL);
    json_t *object = ASK(&server, 200, "GET /api/v1/jobs/2", NULL);
    CHECK(json_object_get(object, "body") == NULL);
    CHECK_STRING(string(object, "body_hidden"), "larger than 1 MiB");
    CHECK_INT(integer(object, "size"), ==, sizeof(large));
    json_decref(object);
    server_end(&server);
    server = SERVER("--hide-bodies");
    object = ASK(&server, 200, "GET /api/v1/jobs/1", NULL);
    CHECK(json_object_get(object, "body") == NULL);
    CHECK_STRING(string(object, "body_hidden"), "this server hides bodies");
    json_decref(object);
    ASK_STATUS(&server, 403, "GET /api/v1/tubes/t/jobs?text=s", "", NULL);
    struct answer answer = client_ask(&server, "GET /api/v1/tubes/t/jobs?body=true", "", NULL);
    CHECK(strstr(answer.body, "secret") == NULL);
    CHECK(strstr(answer.body, "body_hidden") != NULL);
    answer_free(&answer);
    server_end(&server);
}

TEST(history, "a job that failed has its attempts, without what it said where bodies are hidden")
{
    program_init();
    WEIR(0, "put", "t", "secret");
    WEIR(1, "work", "-e", "--attempts", "1", "t", "--", "sh", "-c", "cat >&2; exit 7");
    struct server server = SERVER(NULL);
    json_t *object = ASK(&server, 200, "GET /api/v1/jobs/1", NULL);
    json_t *history = json_object_get(object, "history");
    CHECK_INT(json_array_size(history), ==, 1);
    json_t *attempt = json_array_get(history, 0);
    CHECK_STRING(string(attempt, "outcome"), "buried");
    CHECK_STRING(string(attempt, "tail"), "secret");
    CHECK_INT(json_integer_value(json_object_get(attempt, "exit_status")), ==, 7);
    CHECK_INT(json_integer_value(json_object_get(attempt, "attempt")), ==, 1);
    json_decref(object);
    server_end(&server);

    server = SERVER("--hide-bodies");
    object = ASK(&server, 200, "GET /api/v1/jobs/1", NULL);
    attempt = json_array_get(json_object_get(object, "history"), 0);
    CHECK_STRING(string(attempt, "outcome"), "buried");
    CHECK(json_object_get(attempt, "tail") == NULL);
    CHECK_STRING(string(json_object_get(object, "why"), "reason"), "buried");
    json_decref(object);
    static const char *const reads[] = {"GET /api/v1/jobs/1", "GET /api/v1/tubes/t/jobs",
                                        "GET /api/v1/tubes/t/peek"};
    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
        struct answer answer = client_ask(&server, reads[i], "", NULL);
        CHECK(strstr(answer.body, "\"buried\"") != NULL);
        CHECK(strstr(answer.body, "secret") == NULL);
        answer_free(&answer);
    }
    server_end(&server);
}

TEST(samples, "counts over time are told as columns, of all tubes and of one")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct server server = SERVER(NULL);
    json_t *object = NULL;
    do {
        json_decref(object);
        program_pause();
        object = ASK(&server, 200, "GET /api/v1/samples?step=10s", NULL);
    } while (json_array_size(json_object_get(object, "at")) == 0);
    CHECK_INT(json_integer_value(json_array_get(json_object_get(object, "ready"), 0)), ==, 1);
    json_decref(object);
    object = ASK(&server, 200, "GET /api/v1/samples?tube=t", NULL);
    CHECK_INT(json_array_size(json_object_get(object, "put")), ==, 1);
    json_decref(object);
    ASK_STATUS(&server, 404, "GET /api/v1/samples?tube=u", "", NULL);
    server_end(&server);
}

/* Reads a stream until it has this text. */
static void read_until(int fd, const char *text)
{
    char bytes[16384] = "";
    size_t size = 0;
    while (strstr(bytes, text) == NULL) {
        ssize_t piece = read(fd, bytes + size, sizeof(bytes) - 1 - size);
        CHECK_INT(piece, >, 0);
        size += (size_t)piece;
        bytes[size] = '\0';
    }
}

TEST(events, "what changes is told to every stream, and the server ends while they are open")
{
    static const char request[] = "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    program_init();
    struct server server = SERVER(NULL);
    int fds[3];
    for (size_t i = 0; i < 3; i++) {
        fds[i] = client_connect(&server);
        CHECK(client_write(fds[i], request, strlen(request)));
        read_until(fds[i], "retry: 2000");
    }
    for (int round = 1; round <= 2; round++) {
        char expected[64];
        WEIR(0, "put", "t", "x");
        (void)snprintf(expected, sizeof(expected), "\"tube\":\"t\",\"delayed\":0,\"ready\":%d",
                       round);
        for (size_t i = 0; i < 3; i++) {
            read_until(fds[i], expected);
        }
    }
    (void)close(fds[0]);
    server_end(&server);
    for (size_t i = 1; i < 3; i++) {
        client_drain(fds[i]);
        (void)close(fds[i]);
    }
}

TEST(places, "a server listens at a unix socket for its owner, and below a prefix")
{
    struct stat facts;
    program_init();
    struct server server = server_start_unix(WORDS("--prefix", "/we/ir"));
    CHECK_INT(stat("weir.sock", &facts), ==, 0);
    CHECK_INT(facts.st_mode & 0777, ==, 0600);
    check_text(&server, 200, "GET /we/ir/livez", "ok");
    ASK_STATUS(&server, 404, "GET /livez", "", NULL);
    ASK_STATUS(&server, 201, "POST /we/ir/api/v1/tubes/t/jobs", "", "{\"body\":\"x\"}");
    server_end(&server);
    CHECK(stat("weir.sock", &facts) != 0);
}

TEST(workers, "processes are shown with the jobs that they run")
{
    program_init();
    struct server server = SERVER(NULL);
    WEIR(0, "put", "-q", "a", "x");
    WEIR(0, "put", "-q", "b", "y");
    json_t *object = ASK(&server, 200, "GET /api/v1/workers", NULL);
    CHECK_INT(json_array_size(json_object_get(object, "processes")), ==, 0);
    json_decref(object);
    struct running worker =
        program_start("", 0,
                      WORDS("work", "-e", "-j", "2", "a", "b", "--", "sh", "-c",
                            "echo >> begun; until [ -e end ]; do sleep 0.05; done"));
    while (count_lines("begun") < 2) {
        (void)poll(NULL, 0, 5);
    }
    object = ASK(&server, 200, "GET /api/v1/workers", NULL);
    CHECK(json_is_false(json_object_get(object, "more")));
    CHECK_INT(json_array_size(json_object_get(object, "processes")), ==, 1);
    const json_t *process = json_array_get(json_object_get(object, "processes"), 0);
    CHECK_INT(integer(process, "process"), ==, worker.pid);
    const json_t *jobs = json_object_get(process, "jobs");
    CHECK_INT(json_array_size(jobs), ==, 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *job = json_array_get(jobs, i);
        CHECK_STRING(string(job, "tube"), i == 0 ? "a" : "b");
        CHECK_INT(integer(job, "process"), ==, worker.pid);
        CHECK(json_is_true(json_object_get(job, "process_lives")));
        CHECK(json_is_string(json_object_get(job, "started_at")));
        CHECK(json_is_string(json_object_get(job, "reserved_until")));
        CHECK(json_object_get(job, "body") == NULL && json_object_get(job, "progress") == NULL);
    }
    json_decref(object);
    write_file("end", "", 0, 0600);
    struct ended ended = program_wait(&worker);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    server_end(&server);
}
