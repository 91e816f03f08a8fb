/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/jobs/jobs.h"

/* What the servers do by themselves: bare puts without a client library. */

const char *bench_jobs_setting(const char *name)
{
    char full[64];
    (void)snprintf(full, sizeof(full), "WEIR_BENCH_%s", name);
    const char *value = getenv(full);
    if (value == NULL) {
        bench_fail("$%s is not set: samples of a cluster are taken by run.py", full);
    }
    return value;
}

int bench_jobs_connect(const char *address, size_t size)
{
    char host[64];
    const char *colon = memchr(address, ':', size);
    BENCH_CHECK(colon != NULL && (size_t)(colon - address) < sizeof(host));
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = '\0';
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10))};
    BENCH_CHECK(inet_pton(AF_INET, host, &to.sin_addr) == 1);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int on = 1;
    BENCH_CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
    BENCH_CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0);
    return fd;
}

static void write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        BENCH_CHECK(written > 0);
        data += written;
        size -= (size_t)written;
    }
}

double bench_jobs_redis_scripts(void)
{
    const char *redis = bench_jobs_setting("REDIS");
    int fd = bench_jobs_connect(redis, strlen(redis));
    char reply[16384];
    size_t size = 0;
    write_all(fd, "INFO commandstats\r\nQUIT\r\n", 25);
    for (;;) {
        ssize_t more = read(fd, reply + size, sizeof(reply) - 1 - size);
        BENCH_CHECK(more >= 0 && size + (size_t)more < sizeof(reply) - 1);
        if (more == 0) {
            break;
        }
        size += (size_t)more;
    }
    reply[size] = '\0';
    (void)close(fd);
    const char *found = strstr(reply, "cmdstat_evalsha:calls=");
    return found == NULL ? 0 : strtod(strchr(found, '=') + 1, NULL);
}

/* Reads until so many replies to puts are there. */
static void await_inserted(int fd, size_t count)
{
    char reply[4096];
    while (count > 0) {
        ssize_t size = read(fd, reply, sizeof(reply));
        BENCH_CHECK(size > 0);
        for (ssize_t i = 0; i < size; i++) {
            count -= reply[i] == '\n';
        }
    }
}

/* A put as weir sends it: a run time of 20 bytes before the body. */
static size_t write_put(char *to, size_t size)
{
    int length = snprintf(to, size, "put 2 0 60 %d\r\n%019d/", BENCH_JOBS_BODY + 20, 1);
    memset(to + length, 'x', BENCH_JOBS_BODY);
    memcpy(to + length + BENCH_JOBS_BODY, "\r\n", 2);
    return (size_t)length + BENCH_JOBS_BODY + 2;
}

static void put_batches(struct bench_run *run)
{
    const char *nodes = bench_jobs_setting("NODES");
    int fd = bench_jobs_connect(nodes, strcspn(nodes, ","));
    char one[BENCH_JOBS_BODY + 64];
    size_t size = write_put(one, sizeof(one));
    char *batch = bench_alloc(BENCH_JOBS_BATCH, size);
    for (size_t i = 0; i < BENCH_JOBS_BATCH; i++) {
        memcpy(batch + i * size, one, size);
    }
    int64_t start = bench_now();
    for (size_t i = 0; i < run->size; i += BENCH_JOBS_BATCH) {
        write_all(fd, batch, size * BENCH_JOBS_BATCH);
        await_inserted(fd, BENCH_JOBS_BATCH);
    }
    bench_span(run, start, run->size);
    free(batch);
    (void)close(fd);
}

/* One put to all three nodes at once, until the slowest has answered. */
static void put_latency(struct bench_run *run)
{
    int fds[3];
    const char *node = bench_jobs_setting("NODES");
    for (int i = 0; i < 3; i++) {
        size_t length = strcspn(node, ",");
        fds[i] = bench_jobs_connect(node, length);
        node += length + (node[length] == ',');
    }
    char one[BENCH_JOBS_BODY + 64];
    size_t size = write_put(one, sizeof(one));
    double *times = bench_alloc(run->size, sizeof(*times));
    for (size_t n = 0; n < run->size; n++) {
        int64_t start = bench_now();
        for (int i = 0; i < 3; i++) {
            write_all(fds[i], one, size);
        }
        for (int i = 0; i < 3; i++) {
            await_inserted(fds[i], 1);
        }
        times[n] = (double)(bench_now() - start);
    }
    bench_metric(run, "p50_ns", bench_quantile(times, run->size, 0.5));
    bench_metric(run, "p99_ns", bench_quantile(times, run->size, 0.99));
    free(times);
    for (int i = 0; i < 3; i++) {
        (void)close(fds[i]);
    }
}

/* Clients of one node, each with one job at a time: puts, or also its reservation and deletion. */
struct clients {
    size_t each;
    bool is_cycle;
};

static void read_line(int fd, char *line, size_t size)
{
    size_t used = 0;
    do {
        BENCH_CHECK(used + 1 < size && read(fd, line + used, 1) == 1);
        used++;
    } while (line[used - 1] != '\n');
    line[used] = '\0';
}

/* Reserves a job and deletes it. */
static void take_one(int fd)
{
    char line[128];
    unsigned long long number;
    size_t size;
    char rest[512];
    write_all(fd, "reserve\r\n", 9);
    read_line(fd, line, sizeof(line));
    BENCH_CHECK(sscanf(line, "RESERVED %llu %zu", &number, &size) == 2);
    for (size_t left = size + 2; left > 0;) {
        ssize_t more = read(fd, rest, left < sizeof(rest) ? left : sizeof(rest));
        BENCH_CHECK(more > 0);
        left -= (size_t)more;
    }
    int length = snprintf(line, sizeof(line), "delete %llu\r\n", number);
    write_all(fd, line, (size_t)length);
    await_inserted(fd, 1);
}

static void be_client(void *state, size_t number)
{
    const struct clients *clients = state;
    const char *nodes = bench_jobs_setting("NODES");
    int fd = bench_jobs_connect(nodes, strcspn(nodes, ","));
    char one[BENCH_JOBS_BODY + 64];
    size_t size = write_put(one, sizeof(one));
    (void)number;
    for (size_t i = 0; i < clients->each; i++) {
        write_all(fd, one, size);
        await_inserted(fd, 1);
        if (clients->is_cycle) {
            take_one(fd);
        }
    }
    (void)close(fd);
}

static void run_clients(struct bench_run *run)
{
    bool is_cycle = run->flags != 0;
    struct clients clients = {BENCH_STORE_PUTS / run->size, is_cycle};
    int64_t start = bench_now();
    bench_threads_join(bench_threads_start(run->size, be_client, &clients));
    bench_span(run, start, clients.each * run->size);
}

const struct bench_measurement bench_servers[] = {
    {"store_batches_f0/beanstalkd", put_batches, BENCH_JOBS_PUTS, 0},
    {"store_put_1_f0/beanstalkd", run_clients, 1, 0},
    {"store_put_64_f0/beanstalkd", run_clients, 64, 0},
    {"store_cycle_f0/beanstalkd", run_clients, 1, 1},
    {"cluster_batches_f0/bare", put_batches, BENCH_JOBS_PUTS, 0},
    {"cluster_latency_f0/bare", put_latency, 3000, 0},
    {NULL, NULL, 0, 0},
};
