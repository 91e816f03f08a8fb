/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A connection against a node that the test plays itself, on a unix socket. */
#include "jobs/beanstalkd/connection.h"

#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/harness.h"

#define LIMIT WEIR_SECONDS(5)

static const struct weiri_endpoint endpoint = {.text = "node", .path = NULL};

struct world {
    struct weiri_endpoint endpoint;
    struct weiri_conn conn;
    char path[64];
    int listening;
    int peer; /* the node's side; -1: none */
    int wake_fd;
    int64_t now_ns;
};

struct sent {
    struct weiri_command command;
    int done;
    enum weiri_delivery delivery;
    enum weiri_reply_kind kind;
    uint64_t id;
};

static void done(struct weiri_command *command, enum weiri_delivery delivery,
                 struct weiri_reply *reply)
{
    struct sent *sent = WEIRI_CONTAINER(command, struct sent, command);
    sent->done++;
    sent->delivery = delivery;
    sent->kind = reply == NULL ? 0 : reply->kind;
    sent->id = reply == NULL ? 0 : reply->id;
}

static void start(struct world *world, const char *watched)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memset(world, 0, sizeof(*world));
    (void)snprintf(world->path, sizeof(world->path), "node.sock");
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", world->path);
    world->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(world->listening >= 0);
    CHECK(bind(world->listening, (struct sockaddr *)&address, sizeof(address)) == 0);
    CHECK(listen(world->listening, 4) == 0);
    world->peer = -1;
    world->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    world->endpoint = endpoint;
    world->endpoint.path = world->path;
    world->now_ns = WEIR_SECONDS(100);
    const struct weiri_conn_config config = {.allocator = test_allocator(),
                                             .endpoint = &world->endpoint,
                                             .watched = watched,
                                             .body_size_max = 1000,
                                             .time_limit_ns = LIMIT,
                                             .wake_fd = world->wake_fd};
    weiri_conn_init(&world->conn, &config);
}

static void end(struct world *world)
{
    weiri_conn_fini(&world->conn);
    if (world->peer >= 0) {
        (void)close(world->peer);
    }
    (void)close(world->listening);
    (void)close(world->wake_fd);
    (void)unlink(world->path);
}

/* Lets the connection do what it can without waiting. */
static void turn(struct world *world)
{
    for (int i = 0; i < 20; i++) {
        char buffer[64]; /* small, so that replies arrive in pieces */
        (void)weiri_conn_advance(&world->conn, world->now_ns);
        struct pollfd one = {.fd = world->conn.fd, .events = weiri_conn_events(&world->conn)};
        if (one.events != 0 && poll(&one, 1, 0) > 0) {
            weiri_conn_ready(&world->conn, one.revents, buffer, sizeof(buffer), world->now_ns);
        }
    }
}

/* The node accepts. */
static void accept_one(struct world *world)
{
    if (world->peer >= 0) {
        (void)close(world->peer);
    }
    world->peer = accept(world->listening, NULL, NULL);
    CHECK(world->peer >= 0);
}

/* The node must have been sent exactly this. */
static void expect(struct world *world, const char *bytes)
{
    char got[4096];
    turn(world);
    ssize_t count = recv(world->peer, got, sizeof(got) - 1, MSG_DONTWAIT);
    got[count < 0 ? 0 : count] = '\0';
    CHECK_STRING(got, bytes);
}

static void say(struct world *world, const char *bytes)
{
    CHECK(send(world->peer, bytes, strlen(bytes), MSG_NOSIGNAL) == (ssize_t)strlen(bytes));
    turn(world);
}

static const char stats[] =
    "OK 86\r\n---\nversion: \"1.13\"\nmax-job-size: 65535\ndraining: false\n"
    "binlog-current-index: 3\nid: 1\n\r\n";

static void greet(struct world *world)
{
    turn(world);
    accept_one(world);
    expect(world, "stats\r\n");
    say(world, stats);
    CHECK_INT(world->conn.state, ==, WEIRI_CONN_UP);
}

static void push(struct world *world, struct sent *sent, enum weiri_verb verb, const char *use)
{
    memset(sent, 0, sizeof(*sent));
    sent->command.request = (struct weiri_request){.verb = verb, .id = 7};
    if (verb == WEIRI_PUT) {
        sent->command.request.ttr_s = 60;
        sent->command.request.prefix = "1/";
        sent->command.request.prefix_size = 2;
        sent->command.request.body = "abc";
        sent->command.request.body_size = 3;
    }
    sent->command.conn = &world->conn;
    sent->command.use = use;
    sent->command.done = done;
    weiri_conn_push(&sent->command, world->now_ns);
}

TEST(greets_and_pipelines, "a connection learns the node's facts, sends what waits in one go, and "
                           "pairs the replies in order")
{
    struct world world;
    struct sent sent[3];
    start(&world, NULL);
    push(&world, &sent[0], WEIRI_DELETE, NULL);
    greet(&world);
    CHECK_STRING(world.conn.facts.version, "1.13");
    CHECK(world.conn.facts.has_binlog && !world.conn.facts.is_draining);
    push(&world, &sent[1], WEIRI_TOUCH, NULL);
    push(&world, &sent[2], WEIRI_DELETE, NULL);
    expect(&world, "delete 7\r\ntouch 7\r\ndelete 7\r\n");
    say(&world, "DELETED\r\nNOT_FO");
    CHECK_INT(sent[0].kind, ==, WEIRI_DELETED);
    CHECK_INT(sent[1].done, ==, 0);
    say(&world, "UND\r\nDELETED\r\n");
    CHECK_INT(sent[1].kind, ==, WEIRI_NOT_FOUND);
    CHECK_INT(sent[2].kind, ==, WEIRI_DELETED);
    end(&world);
}

TEST(uses_a_tube_before_it_puts, "a put waits for the answer to `use`, and goes nowhere if that is "
                                 "refused")
{
    struct world world;
    struct sent sent[3];
    start(&world, NULL);
    greet(&world);
    push(&world, &sent[0], WEIRI_PUT, "a");
    push(&world, &sent[1], WEIRI_PUT, "a");
    push(&world, &sent[2], WEIRI_PUT, "b");
    expect(&world, "use a\r\n");
    say(&world, "USING a\r\n");
    expect(&world, "put 0 0 60 5\r\n1/abc\r\nput 0 0 60 5\r\n1/abc\r\nuse b\r\n");
    say(&world, "INSERTED 1\r\nINSERTED 2\r\nOUT_OF_MEMORY\r\n");
    CHECK_INT(sent[1].id, ==, 2);
    CHECK_INT(sent[2].done, ==, 1);
    CHECK_INT(sent[2].delivery, ==, WEIRI_NOT_SENT);
    CHECK_INT(world.conn.failures, ==, 1);
    end(&world);
}

TEST(ignores_default, "a connection that reserves watches its tube alone before anything else")
{
    struct world world;
    start(&world, "t");
    turn(&world);
    accept_one(&world);
    expect(&world, "watch t\r\n");
    say(&world, "WATCHING 2\r\n");
    expect(&world, "ignore default\r\n");
    say(&world, "WATCHING 2\r\n");
    CHECK_INT(world.conn.failures, ==, 1);
    CHECK_INT(world.conn.state, ==, WEIRI_CONN_DOWN);
    world.now_ns += WEIR_SECONDS(1);
    turn(&world);
    accept_one(&world);
    expect(&world, "watch t\r\n");
    say(&world, "WATCHING 2\r\n");
    CHECK_INT(world.conn.state, ==, WEIRI_CONN_GREETING);
    expect(&world, "ignore default\r\n");
    say(&world, "WATCHING 1\r\n");
    CHECK_INT(world.conn.state, ==, WEIRI_CONN_UP);
    end(&world);
}

TEST(drops_a_node_that_breaks_the_protocol, "a reply that does not fit ends the connection; what "
                                            "was sent is lost, what was not is told so")
{
    static const char *const replies[] = {"TOUCHED\r\n",
                                          "INSERTED 1\r\n",
                                          "HELLO\r\n",
                                          "DELETED\n",
                                          "DELETED\r\nDELETED\r\nDELETED\r\n",
                                          "BAD_FORMAT\r\n",
                                          "\r\n",
                                          "OK 2000\r\n"};
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        struct world world;
        struct sent sent[2];
        start(&world, NULL);
        greet(&world);
        push(&world, &sent[0], WEIRI_DELETE, NULL);
        push(&world, &sent[1], WEIRI_DELETE, NULL);
        expect(&world, "delete 7\r\ndelete 7\r\n");
        say(&world, replies[i]);
        CHECK_INT(world.conn.state, ==, WEIRI_CONN_DOWN);
        CHECK_INT(sent[0].done, ==, 1);
        CHECK_INT(sent[1].done, ==, 1);
        CHECK(world.conn.why[0] != '\0');
        /* Known to be away: what comes now is not sent. */
        push(&world, &sent[0], WEIRI_DELETE, NULL);
        CHECK_INT(sent[0].delivery, ==, WEIRI_NOT_SENT);
        end(&world);
    }
}

TEST(gives_up_after_the_limit, "a node that does not answer is left after the time limit, and "
                               "tried again after a pause that grows")
{
    struct world world;
    struct sent sent;
    start(&world, NULL);
    greet(&world);
    push(&world, &sent, WEIRI_DELETE, NULL);
    expect(&world, "delete 7\r\n");
    world.now_ns += LIMIT - 1;
    turn(&world);
    CHECK_INT(sent.done, ==, 0);
    world.now_ns += 1;
    turn(&world);
    CHECK_INT(sent.delivery, ==, WEIRI_LOST);
    int64_t pause = 0;
    for (uint32_t i = 1; i <= 12; i++) {
        CHECK_INT(world.conn.failures, ==, i);
        pause = world.conn.retry_ns - world.now_ns;
        CHECK_INT(pause, >, 0);
        CHECK_INT(pause, <=, WEIR_MS(500));
        /* Connects, since the kernel does so for a node that hangs; but it does not answer. */
        world.now_ns = world.conn.retry_ns;
        turn(&world);
        accept_one(&world);
        CHECK_INT(world.conn.state, ==, WEIRI_CONN_GREETING);
        push(&world, &sent, WEIRI_DELETE, NULL);
        CHECK_INT(sent.delivery, ==, WEIRI_NOT_SENT);
        world.now_ns += LIMIT;
        turn(&world);
    }
    CHECK_INT(pause, >=, WEIR_MS(300));
    end(&world);
}

TEST(asks_again_for_a_connection,
     "a host that does not accept is asked again after a second; then its "
     "node has the time limit to answer")
{
    struct world world;
    start(&world, NULL);
    int64_t next = weiri_conn_advance(&world.conn, world.now_ns);
    CHECK_INT(world.conn.state, ==, WEIRI_CONN_CONNECTING);
    CHECK_INT(next - world.now_ns, ==, WEIR_SECONDS(1));
    world.now_ns = next - 1;
    turn(&world);
    CHECK_INT(world.conn.state, ==, WEIRI_CONN_GREETING);
    CHECK_INT(weiri_conn_advance(&world.conn, world.now_ns) - world.now_ns, ==, LIMIT);
    end(&world);
}

TEST(comes_back, "a node that closed its connection is greeted again, and failures are forgotten")
{
    struct world world;
    struct sent sent;
    start(&world, NULL);
    greet(&world);
    uint32_t generation = world.conn.generation;
    (void)close(world.peer);
    world.peer = -1;
    turn(&world);
    CHECK_INT(world.conn.failures, ==, 1);
    world.now_ns += WEIR_SECONDS(1);
    greet(&world);
    CHECK_INT(world.conn.failures, ==, 0);
    CHECK_INT(world.conn.generation, ==, generation + 1);
    push(&world, &sent, WEIRI_DELETE, NULL);
    expect(&world, "delete 7\r\n");
    say(&world, "DELETED\r\n");
    CHECK_INT(sent.kind, ==, WEIRI_DELETED);
    end(&world);
}

TEST(sends_a_body_larger_than_its_buffer,
     "a long body arrives whole, and one over the node's limit "
     "is not sent")
{
    enum {
        SIZE = 60000
    };
    static char body[SIZE + 10000];
    static char got[SIZE + 100];
    struct world world;
    struct sent sent;
    memset(body, 'x', sizeof(body));
    start(&world, NULL);
    greet(&world);
    push(&world, &sent, WEIRI_PUT, "default");
    sent.command.request.body = body;
    sent.command.request.body_size = SIZE;
    size_t used = 0;
    size_t expected = strlen("put 0 0 60 60002\r\n1/") + SIZE + 2;
    while (used < expected) {
        turn(&world);
        ssize_t count = recv(world.peer, got + used, sizeof(got) - used, MSG_DONTWAIT);
        used += count > 0 ? (size_t)count : 0;
    }
    CHECK_INT(used, ==, expected);
    CHECK(memcmp(got, "put 0 0 60 60002\r\n1/x", 21) == 0);
    CHECK(memcmp(got + used - 3, "x\r\n", 3) == 0);
    say(&world, "INSERTED 9\r\n");
    CHECK_INT(sent.id, ==, 9);
    push(&world, &sent, WEIRI_PUT, "default");
    sent.command.request.body = body;
    sent.command.request.body_size = 65535;
    expect(&world, "");
    CHECK_INT(sent.kind, ==, WEIRI_JOB_TOO_BIG);
    end(&world);
}

TEST(connects_by_name, "a name is resolved by a thread of its own; one that does not exist is a "
                       "failure in words")
{
    struct world world;
    start(&world, NULL);
    world.endpoint.path = NULL;
    world.endpoint.host = "no-such-name.invalid";
    world.endpoint.port = "1";
    (void)weiri_conn_advance(&world.conn, world.now_ns);
    struct pollfd one = {.fd = world.wake_fd, .events = POLLIN};
    CHECK(poll(&one, 1, -1) == 1);
    (void)weiri_conn_advance(&world.conn, world.now_ns);
    CHECK_INT(world.conn.failures, ==, 1);
    CHECK(strstr(world.conn.why, "resolve") != NULL);
    end(&world);
}

static void say_stats(struct world *world, int puts, int records, int index)
{
    char body[160];
    char bytes[200];
    (void)snprintf(body, sizeof(body),
                   "---\ntotal-jobs: %d\nbinlog-records-written: %d\nbinlog-current-index: %d\n",
                   puts, records, index);
    (void)snprintf(bytes, sizeof(bytes), "OK %zu\r\n%s\r\n", strlen(body), body);
    struct weiri_parser parser;
    size_t used;
    parser = (struct weiri_parser){.allocator = test_allocator(), .body_size_max = 1000};
    CHECK_INT(weiri_parser_feed(&parser, bytes, strlen(bytes), &used), ==, WEIRI_PARSE_REPLY);
    weiri_facts_read(parser.reply.body, parser.reply.body_size, &world->conn.facts);
    weiri_parser_next(&parser);
}

TEST(sees_a_binlog_that_stands_still, "a node that takes jobs and writes no record has lost its "
                                      "binlog, until it writes one or is started anew")
{
    static const struct {
        int puts;
        int records;
        int index;
        bool has_binlog;
    } rows[] = {
        {0, 0, 1, true},    {5, 9, 1, true},   {5, 9, 1, true},   {6, 10, 1, true},
        {7, 10, 1, false},  {7, 10, 1, false}, {9, 10, 1, false}, {9, 11, 1, true},
        {12, 11, 1, false}, {1, 2, 1, true},   {1, 2, 0, false},  {2, 3, 0, false},
    };
    struct world world;
    start(&world, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        say_stats(&world, rows[i].puts, rows[i].records, rows[i].index);
        if (world.conn.facts.has_binlog != rows[i].has_binlog) {
            test_fail(__FILE__, __LINE__, "row %zu", i);
        }
    }
    end(&world);
}
