/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/refusals.h"

/* What a server refuses: by path, query, body, headers and token; and what `weir serve` does. */

struct bad {
    int status;
    const char *line;
    const char *extra;
    const char *body;
};

static void check_bad(const struct server *server, const struct bad *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        client_status(__FILE__, __LINE__, server, rows[i].status, rows[i].line, rows[i].extra,
                      rows[i].body);
    }
}
#define CHECK_BAD(server, rows) check_bad(server, rows, sizeof(rows) / sizeof((rows)[0]))

TEST(paths, "unknown paths, methods, queries and malformed targets have their status")
{
    static const struct bad rows[] = {
        {405, "POST /", "", NULL},
        {404, "GET /nope", "", NULL},
        {404, "GET /api/v2/tubes", "", NULL},
        {404, "GET /livez/x", "", NULL},
        {400, "GET //livez", "", NULL},
        {400, "GET /a/../livez", "", NULL},
        {400, "GET /%2e%2e/livez", "", NULL},
        {400, "GET /livez%00", "", NULL},
        {400, "GET /livez%zz", "", NULL},
        {400, "GET http://localhost/livez", "", NULL},
        {405, "POST /livez", "", ""},
        {405, "DELETE /api/v1/jobs/1", "", NULL},
        {405, "OPTIONS /api/v1/tubes", "", NULL},
        {405, "PUT /api/v1/tubes/t/jobs", "", "{}"},
        {405, "FROB /livez", "", NULL},
        {405, "GET /api/v1/kick", "", NULL},
        {400, "GET /livez?x=1", "", NULL},
        {400, "GET /version?verbose", "", NULL},
        {400, "GET /metrics?x", "", NULL},
        {400, "GET /api/v1/tubes?x=1", "", NULL},
        {400, "GET /api/v1/tubes/a%20b", "", NULL},
        {404, "GET /api/v1/tubes/none", "", NULL},
        {400, "GET /api/v1/tubes/t/jobs?limit=0", "", NULL},
        {400, "GET /api/v1/tubes/t/jobs?limit=1001", "", NULL},
        {400, "GET /api/v1/tubes/t/jobs?limit=1&limit=2", "", NULL},
        {400, "GET /api/v1/tubes/t/jobs?state=dead", "", NULL},
        {400, "GET /api/v1/tubes/t/jobs?older=1", "", NULL},
        {400, "GET /api/v1/tubes/t/jobs?attempts=-1", "", NULL},
        {400, "GET /api/v1/tubes/t/jobs?body=yes", "", NULL},
        {400, "GET /api/v1/tubes/t/jobs?after=x", "", NULL},
        {400, "GET /api/v1/tubes/t/peek?limit=x", "", NULL},
        {400, "GET /api/v1/jobs/x", "", NULL},
        {404, "GET /api/v1/jobs/12345", "", NULL},
        {400, "GET /api/v1/samples?step=2s", "", NULL},
        {400, "GET /api/v1/samples?tube=t&step=1s", "", NULL},
        {400, "GET /api/v1/samples?tube=-", "", NULL},
    };
    program_init();
    WEIR(0, "put", "t", "x");
    struct server server = SERVER(NULL);
    CHECK_BAD(&server, rows);
    struct answer answer = client_ask(&server, "POST /livez", "", "");
    CHECK(answer_has(&answer, "Allow: GET, HEAD"));
    answer_free(&answer);
    server_end(&server);
}

TEST(bodies, "malformed bodies change nothing")
{
    static const char put[] = "POST /api/v1/tubes/t/jobs";
    static const struct bad rows[] = {
        {400, put, "", ""},
        {400, put, "", "{"},
        {400, put, "", "[]"},
        {400, put, "", "{\"body\":1}"},
        {400, put, "", "{\"body\":\"x\",\"other\":1}"},
        {400, put, "", "{\"body\":\"x\",\"body\":\"y\"}"},
        {400, put, "", "{\"body\":\"x\",\"delay\":\"soon\"}"},
        {400, put, "", "{\"body\":\"x\",\"delay\":5}"},
        {400, put, "", "{\"body\":\"x\",\"run_at\":\"2020-01-01T00:00:00Z\"}"},
        {400, put, "", "{\"body\":\"x\",\"run_at\":\"2100-01-01T00:00:00Z\",\"delay\":\"1s\"}"},
        {400, put, "", "{\"body\":\"x\",\"ttr\":\"0s\"}"},
        {400, put, "", "{\"body\":\"x\",\"priority\":2147483648}"},
        {400, put, "", "{\"body\":\"x\",\"priority\":1.5}"},
        {400, put, "", "{\"body\":\"x\",\"key\":\"\"}"},
        {400, put, "", "{\"body\":\"x\",\"key\":1}"},
        {400, put, "", "{\"body\":\"x\",\"key_for\":\"1h\"}"},
        {400, put, "", "{\"body\":\"x\",\"group\":\"\"}"},
        {400, put, "", "{\"body\":\"x\",\"put_id\":\"a b\"}"},
        {400, put, "", "{\"body\":\"x\",\"on_duplicate\":\"keep\"}"},
        {400, put, "", "{\"body\":\"x\",\"key\":\"k\",\"on_duplicate\":\"drop\"}"},
        {400, put, "", "{\"body\":\"x\",\"headers\":[]}"},
        {400, put, "", "{\"body\":\"x\",\"headers\":{\"a\":1}}"},
        {400, put, "", "{\"body\":\"x\",\"headers\":{\"A\":\"1\"}}"},
        {400, put, "", "{\"body\":\"x\",\"headers\":{\"a\":\"1\\n2\"}}"},
        {400, put, "", "{\"body\":\"x\",\"encoding\":\"rot13\"}"},
        {400, put, "", "{\"body\":\"x\",\"encoding\":\"base64\"}"},
        {400, put, "", "{\"body\":\"\xff\"}"},
        {400, "POST /api/v1/tubes/-t/jobs", "", "{\"body\":\"x\"}"},
        {400, "POST /api/v1/tubes/t/jobs?x=1", "", "{\"body\":\"x\"}"},
        {415, put, "Content-Type: text/plain\r\n", "{\"body\":\"x\"}"},
        {415, put, "Content-Type: application/x-www-form-urlencoded\r\n", "body=x"},
        {400, "POST /api/v1/kick", "", "{}"},
        {400, "POST /api/v1/kick", "", "{\"ids\":[]}"},
        {400, "POST /api/v1/kick", "", "{\"ids\":\"1\"}"},
        {400, "POST /api/v1/kick", "", "{\"ids\":[1]}"},
        {400, "POST /api/v1/kick", "", "{\"ids\":[\"x\"]}"},
        {400, "POST /api/v1/kick", "", "{\"ids\":[\"1\"],\"reason\":\"x\"}"},
        {400, "POST /api/v1/bury", "", "{\"ids\":[\"1\"],\"reason\":1}"},
        {400, "POST /api/v1/tubes/t/kick", "", "{\"count\":0}"},
        {400, "POST /api/v1/tubes/t/pause", "", "{\"duration\":\"0s\"}"},
        {404, "POST /api/v1/tubes/none/pause", "", "{}"},
        {404, "POST /api/v1/tubes/none/resume", "", "{}"},
        {400, "POST /api/v1/tubes/t/resume", "", "{\"duration\":\"1s\"}"},
        {404, "GET /api/v1/tubes/none/policy", "", NULL},
        {400, "GET /api/v1/tubes/-t/policy", "", NULL},
        {400, "POST /api/v1/tubes/t/policy", "", "{\"keep\":\"7\"}"},
        {400, "POST /api/v1/tubes/t/policy", "", "{\"archive\":\"7d\"}"},
        {400, "POST /api/v1/tubes/t/policy", "", "{\"keep_count\":-1}"},
        {400, "POST /api/v1/tubes/t/policy", "", "{\"late\":\"flee\"}"},
        {400, "POST /api/v1/tubes/t/policy", "", "{\"late\":1}"},
        {400, "POST /api/v1/tubes/t/policy", "", "{\"late\":\"run\",\"late_after\":\"1h\"}"},
        {400, "POST /api/v1/tubes/t/policy", "", "{\"group_limit\":\"5\"}"},
        {400, "POST /api/v1/tubes/t/policy", "", "{\"rate\":5}"},
        {400, "POST /api/v1/move", "", "{\"ids\":[\"1\"]}"},
        {400, "POST /api/v1/move", "", "{\"to\":\"u\"}"},
        {400, "POST /api/v1/move", "", "{\"ids\":[\"1\"],\"to\":\"-u\"}"},
    };
    program_init();
    WEIR(0, "put", "t", "x");
    struct server server = SERVER(NULL);
    CHECK_BAD(&server, rows);
    server_end(&server);
    CHECK_INT(program_count("t", "put"), ==, 1);
    CHECK_INT(program_count("t", "ready"), ==, 1);
}

TEST(sites, "foreign hosts and other sites are refused, also where they only look")
{
    static const char put[] = "POST /api/v1/tubes/t/jobs";
    static const struct bad rows[] = {
        {403, "GET /livez", "Host: evil.example\r\n", NULL},
        {403, "GET /api/v1/tubes", "Host: localhost.evil.example\r\n", NULL},
        {200, "GET /livez", "Host: jobs.example.org:443\r\n", NULL},
        {400, "GET /livez", "Host: localhost\r\nHost: localhost\r\n", NULL},
        {403, "GET /api/v1/tubes", "Origin: http://evil.example\r\n", NULL},
        {403, put, "Origin: http://evil.example\r\n", "{\"body\":\"x\"}"},
        {403, put, "Origin: null\r\n", "{\"body\":\"x\"}"},
        {403, put, "Sec-Fetch-Site: cross-site\r\n", "{\"body\":\"x\"}"},
        {403, put, "Sec-Fetch-Site: same-site\r\n", "{\"body\":\"x\"}"},
        {201, put, "Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n",
         "{\"body\":\"x\"}"},
    };
    program_init();
    WEIR(0, "put", "t", "x");
    struct server server = SERVER("--host", "other", "--host", "jobs.example.org");
    CHECK_BAD(&server, rows);
    server_end(&server);
    CHECK_INT(program_count("t", "put"), ==, 2);
}

TEST(read_only, "a read-only server shows everything and changes nothing")
{
    static const struct bad rows[] = {
        {200, "GET /api/v1/tubes", "", NULL},
        {403, "POST /api/v1/tubes/t/jobs", "", "{\"body\":\"x\"}"},
        {403, "POST /api/v1/rm", "", "{\"ids\":[\"1\"]}"},
        {403, "POST /api/v1/tubes/t/pause", "", "{}"},
    };
    program_init();
    WEIR(0, "put", "t", "x");
    struct server server = SERVER("--read-only");
    CHECK_BAD(&server, rows);
    json_t *object = ASK(&server, 200, "GET /api/v1/stats", NULL);
    CHECK(json_is_false(json_object_get(object, "may_change")));
    json_decref(object);
    server_end(&server);
    CHECK_INT(program_count("t", "ready"), ==, 1);
}

TEST(tokens, "with a token the API asks for it")
{
    static const char good[] = "Authorization: Bearer 0123456789abcdef\r\n";
    static const struct bad rows[] = {
        {200, "GET /livez", "", NULL},
        {200, "GET /metrics", "", NULL},
        {401, "GET /api/v1/tubes", "", NULL},
        {401, "GET /api/v1/nope", "", NULL},
        {401, "GET /api/v1/events", "", NULL},
        {401, "GET /api/v1/openapi.json", "", NULL},
        {200, "GET /api/v1/tubes", good, NULL},
        {401, "GET /api/v1/tubes", "Authorization: Bearer 0123456789abcdeX\r\n", NULL},
        {401, "GET /api/v1/tubes", "Authorization: Bearer 0123456789abcdef0\r\n", NULL},
        {401, "GET /api/v1/tubes?token=0123456789abcdef", "", NULL},
        {401, "POST /api/v1/tubes/t/jobs", "", "{\"body\":\"x\"}"},
        {201, "POST /api/v1/tubes/t/jobs", good, "{\"body\":\"x\"}"},
    };
    program_init();
    write_file("token", "0123456789abcdef\n", 17, 0600);
    struct server server = SERVER("--token-file", "token");
    CHECK_BAD(&server, rows);
    struct answer answer = client_ask(&server, "GET /api/v1/tubes", "", NULL);
    CHECK(answer_has(&answer, "WWW-Authenticate: Bearer"));
    answer_free(&answer);
    server_end(&server);
}

TEST(options, "`weir serve` refuses options that are wrong, and then makes no store")
{
    static const struct row rows[] = {
        {64, "8686", "expected ADDRESS:PORT", {"serve", "--listen", "8686"}},
        {64, "127.0.0.1:99999", "expected ADDRESS:PORT", {"serve", "-l", "127.0.0.1:99999"}},
        {69, "192.0.2.1:1", "cannot listen", {"serve", "-l", "192.0.2.1:1"}},
        {69, "unix:none/s", "cannot listen", {"serve", "-l", "unix:none/s"}},
        {64, "weir", "expected a path", {"serve", "--prefix", "weir"}},
        {64, "/", "expected a path", {"serve", "--prefix", "/"}},
        {64, "/a/", "expected a path", {"serve", "--prefix", "/a/"}},
        {64, "a:1", "expected a name", {"serve", "--host", "a:1"}},
        {64, "soon", "expected a duration", {"serve", "--time-limit", "soon"}},
        {64, "1ms", "expected a duration", {"serve", "--time-limit", "1ms"}},
        {66, "none", "cannot be read", {"serve", "--token-file", "none"}},
        {65, "short", "expected one line of 16", {"serve", "--token-file", "short"}},
        {65, "spaced", "expected one line of 16", {"serve", "--token-file", "spaced"}},
        {64, "operand", "expected none", {"serve", "operand"}},
    };
    make_folder();
    write_file("short", "0123456789abcde\n", 16, 0600);
    write_file("spaced", "0123456789 abcdef\n", 18, 0600);
    CHECK_ROWS(rows);
}
