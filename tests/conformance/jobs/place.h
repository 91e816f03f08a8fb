/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_PLACE_H
#define WEIR_TEST_CONFORMANCE_PLACE_H

#include <sched.h>

#include <weir/admin.h>
#include <weir/feature.h>

#include "cluster/servers.h"

/* Where a test of brokers runs. A promise is written once, by public functions, and runs on every
 * broker:
 *
 *     TEST_BROKERS(put_has_an_id, "each job that is put has an id of its own")
 *     {
 *         struct place place;
 *         place_open(&place, kind, "");
 *         ...
 *         place_close(&place);
 *     }
 *
 * It is a case for each word in $WEIR_TEST_BROKERS, by default "sqlite cluster": put_has_an_id_url
 * is that of the broker whose URL is the last word. That one may have jobs of others, so a test
 * uses the tubes of its place only. What a broker has not is asked (place_open_that_can()). Where
 * one promises less, the test says so and checks just that. */

enum place_kind {
    ON_SQLITE,  /* a new store */
    ON_CLUSTER, /* three new beanstalkds, with claims in a new Redis */
    ON_URL      /* the broker of the URL, whose host has this one's clock */
};

/* The word of a kind in $WEIR_TEST_BROKERS; NULL: it is not there. Two words are kinds; the URL is
 * what begins with any other, to the end. */
static inline const char *place_asked(enum place_kind kind)
{
    static const char *const kinds[] = {"sqlite", "cluster"};
    const char *word = getenv("WEIR_TEST_BROKERS");
    if (word == NULL) {
        word = "sqlite cluster";
    }
    while (*(word += strspn(word, " ")) != '\0') {
        size_t size = strcspn(word, " ");
        enum place_kind is = ON_SQLITE;
        while (is < ON_URL && (size != strlen(kinds[is]) || memcmp(word, kinds[is], size) != 0)) {
            is++;
        }
        if (is == kind) {
            return word;
        }
        word += is == ON_URL ? strlen(word) : size;
    }
    return NULL;
}

#define TEST_BROKERS(name, sentence)                                                               \
    static void each_##name(enum place_kind kind);                                                 \
    TEST_ON(ON_SQLITE, name, name##_sqlite, sentence " (SQLite)")                                  \
    TEST_ON(ON_CLUSTER, name, name##_cluster, sentence " (cluster)")                               \
    TEST_ON(ON_URL, name, name##_url, sentence " ($WEIR_TEST_BROKERS)")                            \
    static void each_##name(enum place_kind kind)

#define TEST_ON(kind, name, case_name, sentence)                                                   \
    static void test_##case_name(void)                                                             \
    {                                                                                              \
        each_##name(kind);                                                                         \
    }                                                                                              \
    __attribute__((constructor)) static void register_##case_name(void)                            \
    {                                                                                              \
        if (place_asked(kind) != NULL) {                                                           \
            test_register(#case_name, sentence, 0, test_##case_name);                              \
        }                                                                                          \
    }

struct place {
    enum place_kind kind;
    struct servers servers;
    char url[512];
    weir_broker *broker;
    char tube[48];    /* its own */
    char more[2][48]; /* more of its own */
    bool is_cluster;  /* of beanstalkds, with claims: whole seconds, no order over all nodes */
    uint64_t copies;  /* of a job; counts are of copies */
};

static inline weir_broker *place_broker(const struct place *place)
{
    struct weir_broker_options options = {0};
    weir_broker *broker = NULL;
    struct weir_error error;
    options.allocator = *test_allocator();
    if (weir_broker_open(place->url, &options, &broker, &error) != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s", place->url, error.text);
    }
    return broker;
}

/* A place without servers and URL. Its tubes are t, u and v, and on a broker with jobs of others
 * begin with these. */
static inline void place_init(struct place *place, enum place_kind kind)
{
    char own[32] = "";
    memset(place, 0, sizeof(*place));
    place->kind = kind;
    place->is_cluster = kind == ON_CLUSTER;
    place->copies = 1;
    if (kind == ON_URL) {
        struct timespec now;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        (void)snprintf(own, sizeof(own), "-%lx.%lx.%lx", (unsigned long)getpid(),
                       (unsigned long)now.tv_sec, (unsigned long)now.tv_nsec);
    }
    (void)snprintf(place->tube, sizeof(place->tube), "t%s", own);
    (void)snprintf(place->more[0], sizeof(place->more[0]), "u%s", own);
    (void)snprintf(place->more[1], sizeof(place->more[1]), "v%s", own);
}

/* Takes the URL that is given. Of a cluster all nodes but three at most have a copy of a job, as
 * min_written has to say. */
static inline void place_take_url(struct place *place, const char *url, const char *parts)
{
    size_t size = strlen(url);
    place->is_cluster = strncmp(url, "beanstalk:", 10) == 0;
    if (place->is_cluster) {
        for (size_t i = 0; i < strcspn(url, "?"); i++) {
            place->copies += url[i] == ',';
        }
        place->copies = place->copies < 3 ? place->copies : 3;
    } else {
        parts = "";
    }
    const char *between = parts[0] == '\0' ? "" : url[strcspn(url, "?")] == '\0' ? "/?" : "&";
    CHECK(size + strlen(parts) + 3 <= sizeof(place->url));
    (void)snprintf(place->url, sizeof(place->url), "%s%s%s", url, between, parts);
}

/* Starts servers and opens no broker: for a test that forks first. parts: of a cluster's URL. */
static inline void place_start(struct place *place, enum place_kind kind, const char *parts)
{
    place_init(place, kind);
    (void)snprintf(place->url, sizeof(place->url), "sqlite:jobs.db");
    if (kind == ON_CLUSTER) {
        char all[128];
        servers_start(&place->servers);
        place->copies = SERVER_NODES;
        /* All copies are counted: no put leaves out a node that is slow. */
        (void)snprintf(all, sizeof(all), "%s%smin_written=3&claims=REDIS", parts,
                       parts[0] == '\0' ? "" : "&");
        servers_url(&place->servers, all, place->url, sizeof(place->url));
    } else if (kind == ON_URL) {
        place_take_url(place, place_asked(ON_URL), parts);
    }
}

static inline void place_open(struct place *place, enum place_kind kind, const char *parts)
{
    place_start(place, kind, parts);
    place->broker = place_broker(place);
}

static inline void place_close(struct place *place)
{
    weir_broker_close(place->broker);
    servers_end(&place->servers);
}

/* Opens a place whose broker has a feature. False: it has none, and refused() has seen that it
 * refuses the calls of it. What a cluster has not it refuses without its servers. */
static inline bool place_open_that_can(struct place *place, enum place_kind kind,
                                       enum weir_feature feature,
                                       void (*refused)(struct place *place))
{
    if (kind == ON_CLUSTER) {
        place_init(place, kind);
        (void)snprintf(place->url, sizeof(place->url), "beanstalk://127.0.0.1:1/?replicas=1");
        place->broker = place_broker(place);
    } else {
        place_open(place, kind, "");
    }
    if (weir_broker_can(place->broker, feature)) {
        if (kind == ON_CLUSTER) {
            place_close(place);
            place_open(place, kind, "");
        }
        return true;
    }
    refused(place);
    place_close(place);
    return false;
}

static inline int64_t place_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return WEIR_SECONDS(now.tv_sec) + now.tv_nsec;
}

/* Returns later than so long after the call. */
static inline void place_let_pass(int64_t time_ns)
{
    int64_t end_ns = place_now() + time_ns;
    while (place_now() <= end_ns) {
        (void)sched_yield();
    }
}

static inline enum weir_status place_try_put(const struct place *place, const char *text,
                                             const struct weir_put_options *options,
                                             struct weir_job_id *ret_id)
{
    struct weir_body body = {text, strlen(text), NULL};
    struct weir_error error;
    return weir_broker_put(place->broker, place->tube, &body, 1, options, ret_id, &error);
}

static inline void place_put(const struct place *place, const char *text,
                             const struct weir_put_options *options, struct weir_job_id *ret_id)
{
    CHECK_STATUS(place_try_put(place, text, options, ret_id), WEIR_OK);
}

static inline int place_keep_counts(const struct weir_tube_counts *counts, void *arg)
{
    memcpy(arg, counts, sizeof(*counts));
    return 0;
}

static inline struct weir_tube_counts place_counts(const struct place *place)
{
    struct weir_tube_counts counts;
    struct weir_error error;
    memset(&counts, 0, sizeof(counts));
    CHECK_STATUS(weir_broker_tubes(place->broker, place->tube, place_keep_counts, &counts, &error),
                 WEIR_OK);
    return counts;
}

/* delayed, ready, reserved, buried. */
#define CHECK_PLACE(place, d, r, v, b)                                                             \
    do {                                                                                           \
        struct weir_tube_counts check_counts = place_counts(place);                                \
        CHECK_INT(check_counts.delayed, ==, d);                                                    \
        CHECK_INT(check_counts.ready, ==, r);                                                      \
        CHECK_INT(check_counts.reserved, ==, v);                                                   \
        CHECK_INT(check_counts.buried, ==, b);                                                     \
    } while (0)

#endif
