/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Nodes that are stopped: what has copies on others goes on. No step here ends by its time limit.
 */
#include <weir/consumer.h>

#include "base/time.h"
#include "cluster/servers.h"
#include "support/jobs.h"

#define JOBS 40
#define CLAIMS "claims=REDIS&time_limit=1h"

struct world {
    struct servers servers;
    weir_broker *broker;
    weir_consumer *consumer;
    int stopped;       /* so many nodes are stopped: that of the first run, and the next */
    int failures;      /* of each job, before it succeeds */
    int workers;       /* of the first consumer; its first run on each waits for is_open */
    _Atomic int held;  /* runs that began */
    _Atomic int ready; /* those of them that wait */
    _Atomic int first; /* the node of the first run */
    _Atomic bool is_open;
    _Atomic int done[JOBS];
    _Atomic int tried[JOBS];
    _Atomic int ends[WEIR_RUN_CANCELED + 1];
};

static void pause_shortly(void)
{
    const struct timespec pause = {0, 1000000};
    (void)nanosleep(&pause, NULL);
}

/* The node that a job's copy is on. */
static int node_of(const struct world *world, const struct weir_job *job)
{
    for (int i = 0; i < SERVER_NODES; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "127.0.0.1:%d/", world->servers.node[i].port);
        if (strncmp(job->id, name, strlen(name)) == 0) {
            return i;
        }
    }
    test_fail(__FILE__, __LINE__, "%s is on no node", job->id);
}

static int handle(weir_context *context, const struct weir_job *job, void *arg)
{
    struct world *world = arg;
    int number = atoi(job->body);
    (void)context;
    int held = atomic_fetch_add(&world->held, 1);
    if (held < world->workers) {
        if (held == 0) {
            atomic_store(&world->first, node_of(world, job));
        }
        (void)atomic_fetch_add(&world->ready, 1);
        while (!world->is_open) {
            pause_shortly();
        }
    }
    if (atomic_fetch_add(&world->tried[number], 1) < world->failures) {
        return WEIR_EUSER;
    }
    (void)atomic_fetch_add(&world->done[number], 1);
    return WEIR_OK;
}

static void count_end(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                      int64_t run_ns, int64_t delay_ns, void *arg)
{
    struct world *world = arg;
    (void)job;
    (void)status;
    (void)run_ns;
    (void)delay_ns;
    (void)atomic_fetch_add(&world->ends[outcome], 1);
}

static void begin(struct world *world, const char *parts, int stopped, int failures)
{
    char url[512];
    struct weir_error error;
    struct weir_broker_options options = {0};
    memset(world, 0, sizeof(*world));
    world->stopped = stopped;
    world->failures = failures;
    servers_start(&world->servers);
    servers_url(&world->servers, parts, url, sizeof(url));
    options.allocator = *test_allocator();
    CHECK_STATUS(weir_broker_open(url, &options, &world->broker, &error), WEIR_OK);
}

static void put_all(struct world *world)
{
    for (int i = 0; i < JOBS; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", i);
        struct weir_body body = {text, strlen(text), NULL};
        struct weir_error error;
        CHECK_STATUS(weir_broker_put(world->broker, "t", &body, 1, NULL, NULL, &error), WEIR_OK);
    }
}

static void consume(struct world *world, uint32_t workers)
{
    struct weir_consumer_options options = {0};
    struct weir_error error;
    options.handler = handle;
    options.after_run = count_end;
    options.arg = world;
    options.workers = workers;
    options.retry.base_ns = WEIR_MS(1);
    CHECK_STATUS(weir_consumer_new(world->broker, "t", &options, &world->consumer, &error),
                 WEIR_OK);
    CHECK_STATUS(weir_consumer_start(world->consumer, &error), WEIR_OK);
}

static void signal_nodes(struct world *world, int signal)
{
    for (int i = 0; i < world->stopped; i++) {
        CHECK(kill(world->servers.node[(world->first + i) % SERVER_NODES].pid, signal) == 0);
    }
}

/* Waits until each job was done at least so often. */
static void wait_done(const struct world *world, int times)
{
    for (int i = 0; i < JOBS; i++) {
        while (world->done[i] < times) {
            pause_shortly();
        }
    }
}

/* Puts jobs, stops the nodes while each worker runs one, lets these end, and waits until each job
 * was done so often. */
static void run_beside(struct world *world, const char *parts, int stopped, int failures,
                       int workers, int times)
{
    begin(world, parts, stopped, failures);
    put_all(world);
    world->workers = workers;
    consume(world, (uint32_t)workers);
    while (world->ready < workers) {
        pause_shortly();
    }
    signal_nodes(world, SIGSTOP);
    world->is_open = true;
    wait_done(world, times);
}

static void wait_empty(const struct world *world)
{
    struct weir_tube_counts counts;
    do {
        pause_shortly();
        counts = jobs_counts(world->broker, "t");
    } while (counts.ready + counts.reserved + counts.delayed != 0);
}

static void check_once(const struct world *world)
{
    for (int i = 0; i < JOBS; i++) {
        CHECK_INT(world->done[i], ==, 1);
        CHECK_INT(world->tried[i], ==, world->failures + 1);
    }
}

static void end(struct world *world)
{
    weir_consumer_free(world->consumer);
    weir_broker_close(world->broker);
    servers_end(&world->servers);
}

TEST(one_with_claims,
     "while a node is stopped, its copies' workers, one or all of them, go on with "
     "the jobs of the others, and each job runs once")
{
    for (int workers = 1; workers <= 3; workers += 2) {
        struct world world;
        run_beside(&world, CLAIMS, 1, 0, workers, 1);
        signal_nodes(&world, SIGCONT);
        wait_empty(&world);
        check_once(&world);
        CHECK_INT(world.ends[WEIR_RUN_DONE], ==, JOBS);
        end(&world);
    }
}

TEST(two_with_claims, "while two of three nodes are stopped the third's copies are run")
{
    struct world world;
    run_beside(&world, CLAIMS, 2, 0, 3, 1);
    check_once(&world);
    end(&world);
}

TEST(without_claims, "without claims, too, a worker goes on while its job's node is stopped, also "
                     "where runs fail: every copy on the others runs")
{
    for (int failures = 0; failures <= 1; failures++) {
        struct world world;
        run_beside(&world, "time_limit=1h", 1, failures, 1, SERVER_NODES - 1);
        signal_nodes(&world, SIGCONT);
        wait_empty(&world);
        int runs = 0;
        for (int i = 0; i < JOBS; i++) {
            CHECK_INT(world.done[i], >=, SERVER_NODES);
            runs += world.tried[i];
        }
        end(&world);
        CHECK_INT(world.ends[WEIR_RUN_DONE] + world.ends[WEIR_RUN_RETRY] +
                      world.ends[WEIR_RUN_LOST],
                  ==, runs);
    }
}

TEST(failing, "runs that fail while the node of their copy is stopped are repeated from the others")
{
    struct world world;
    run_beside(&world, CLAIMS, 1, 1, 1, 1);
    check_once(&world);
    signal_nodes(&world, SIGCONT);
    end(&world);
}

/* Puts a job on a node that is not stopped, as a client that is none of ours. */
static void put_aside(const struct world *world, int number, int run_at)
{
    char bytes[64];
    char answer[64];
    char body[16];
    int size = snprintf(body, sizeof(body), "%d/%d", run_at, number);
    (void)snprintf(bytes, sizeof(bytes), "use t\r\nput 2 0 60 %d\r\n%s\r\n", size, body);
    node_say(&world->servers, (world->first + 1) % SERVER_NODES, bytes, answer, sizeof(answer));
}

TEST(long_runs, "while a run of several TTRs has its copy on a stopped node, with claims and "
                "without, a free worker runs what others have")
{
    static const char *const parts[] = {"late=0&time_limit=1h",
                                        "late=0&time_limit=1h&claims=REDIS"};
    for (size_t i = 0; i < 2; i++) {
        struct world world;
        begin(&world, parts[i], 1, 0);
        world.workers = 1;
        struct weir_body body = {"0", 1, NULL};
        struct weir_put_options options = {0};
        struct weir_error error;
        options.ttr_ns = WEIR_SECONDS(1);
        CHECK_STATUS(weir_broker_put(world.broker, "t", &body, 1, &options, NULL, &error), WEIR_OK);
        consume(&world, 2);
        while (world.ready == 0) {
            pause_shortly();
        }
        signal_nodes(&world, SIGSTOP);
        int64_t until = weiri_monotonic_now() + 2 * options.ttr_ns;
        for (int run = 1; weiri_monotonic_now() < until; run++) {
            int number = run % (JOBS - 1) + 1;
            int before = world.done[number];
            put_aside(&world, number, run);
            while (world.done[number] == before) {
                pause_shortly();
            }
        }
        world.is_open = true;
        signal_nodes(&world, SIGCONT);
        end(&world);
    }
}

TEST(closes,
     "a broker that is closed while a node is stopped waits for it no longer than a moment, "
     "and what was done does not run again")
{
    struct world world;
    run_beside(&world, CLAIMS, 1, 0, 3, 1);
    weir_consumer_free(world.consumer);
    weir_broker_close(world.broker);
    signal_nodes(&world, SIGCONT);
    char url[512];
    struct weir_error error;
    servers_url(&world.servers, "claims=REDIS", url, sizeof(url));
    CHECK_STATUS(weir_broker_open(url, NULL, &world.broker, &error), WEIR_OK);
    consume(&world, 3);
    wait_empty(&world);
    check_once(&world);
    end(&world);
}
