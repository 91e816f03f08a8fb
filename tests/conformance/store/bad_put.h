/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_BAD_PUT_H
#define WEIR_TEST_CONFORMANCE_BAD_PUT_H

#include "conformance/store/bad_store.h"

static const struct weir_body body = {"x", 1, NULL};

/* Rows of what takes struct weir_put_options; call(w, options) makes the call. */

/* Of the members that are checked in the same way wherever they are. */
#define OPTION_ROWS(function, call)                                                                \
    ROW(function, options, null, WEIR_OK)                                                          \
    {                                                                                              \
        return call(w, NULL);                                                                      \
    }                                                                                              \
    ROW(function, options, ttr_ns, WEIR_ERANGE)                                                    \
    {                                                                                              \
        static const int64_t times[] = {INT64_MIN, -1, 1, WEIR_MS(100) - 1};                       \
        for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {                            \
            CHECK_STATUS(call(w, &(struct weir_put_options){.ttr_ns = times[i]}), WEIR_ERANGE);    \
        }                                                                                          \
        check_says("ttr_ns is 99999999: expected 100000000 or more");                              \
        return WEIR_ERANGE;                                                                        \
    }                                                                                              \
    ROW(function, options, priority, WEIR_OK)                                                      \
    {                                                                                              \
        CHECK_STATUS(call(w, &(struct weir_put_options){.priority = INT32_MIN}), WEIR_OK);         \
        return call(w, &(struct weir_put_options){.priority = INT32_MAX});                         \
    }                                                                                              \
    ROW(function, options, flags, WEIR_EINVAL)                                                     \
    {                                                                                              \
        static const uint32_t flags[] = {2, 3, UINT32_C(1) << 31, UINT32_MAX};                     \
        for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {                            \
            CHECK_STATUS(call(w, &(struct weir_put_options){.flags = flags[i]}), WEIR_EINVAL);     \
        }                                                                                          \
        return WEIR_EINVAL;                                                                        \
    }                                                                                              \
    ROW(function, options, on_duplicate, WEIR_EINVAL)                                              \
    {                                                                                              \
        struct weir_put_options options = {.on_duplicate = WEIR_DUPLICATE_KEEP};                   \
        CHECK_STATUS(call(w, &options), WEIR_EINVAL); /* there is no key */                        \
        options.key = "other";                                                                     \
        options.on_duplicate = (enum weir_duplicate)(WEIR_DUPLICATE_AGAIN + 1);                    \
        CHECK_STATUS(call(w, &options), WEIR_EINVAL);                                              \
        options.on_duplicate = (enum weir_duplicate) - 1;                                          \
        return call(w, &options);                                                                  \
    }                                                                                              \
    ROW(function, options, headers, WEIR_EINVAL)                                                   \
    {                                                                                              \
        static const char *const headers[] = {"\n", "a=b", "A=b\n", "a=b\na=c\n", "a\n"};          \
        for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {                        \
            CHECK_STATUS(call(w, &(struct weir_put_options){.headers = headers[i]}), WEIR_EINVAL); \
        }                                                                                          \
        return WEIR_EINVAL;                                                                        \
    }                                                                                              \
    ROW(function, options, large_headers, WEIR_ETOOBIG)                                            \
    {                                                                                              \
        static char headers[WEIR_HEADERS_SIZE_MAX + 2] = "a=";                                     \
        memset(headers + 2, 'b', sizeof(headers) - 3);                                             \
        headers[sizeof(headers) - 2] = '\n';                                                       \
        return call(w, &(struct weir_put_options){.headers = headers});                            \
    }                                                                                              \
    ROW(function, options, group, WEIR_EINVAL)                                                     \
    {                                                                                              \
        return call(w, &(struct weir_put_options){.group = ""});                                   \
    }                                                                                              \
    ROW(function, options, large_group, WEIR_ETOOBIG)                                              \
    {                                                                                              \
        char group[WEIR_GROUP_SIZE_MAX + 2];                                                       \
        (void)fill(group, sizeof(group));                                                          \
        return call(w, &(struct weir_put_options){.group = group});                                \
    }

/* Of the members that are of one job. */
#define JOB_OPTION_ROWS(function, call)                                                            \
    ROW(function, options, run_at_ns, WEIR_ERANGE)                                                 \
    {                                                                                              \
        CHECK_STATUS(call(w, &(struct weir_put_options){.run_at_ns = INT64_MIN}), WEIR_ERANGE);    \
        struct weir_put_options options = {.run_at_ns = JOBS_WALL_START + 1, .delay_ns = 1};       \
        CHECK_STATUS(call(w, &options), WEIR_EINVAL); /* expected one of them */                   \
        return call(w, &(struct weir_put_options){.run_at_ns = -1});                               \
    }                                                                                              \
    ROW(function, options, past_run_at_ns, WEIR_EPAST)                                             \
    {                                                                                              \
        CHECK_STATUS(call(w, &(struct weir_put_options){.run_at_ns = 1}), WEIR_EPAST);             \
        return call(w, &(struct weir_put_options){.run_at_ns = JOBS_WALL_START - 1});              \
    }                                                                                              \
    ROW(function, options, past_that_is_ok, WEIR_OK)                                               \
    {                                                                                              \
        struct weir_put_options options = {.run_at_ns = 1, .flags = WEIR_PUT_PAST_OK};             \
        return call(w, &options);                                                                  \
    }                                                                                              \
    ROW(function, options, delay_ns, WEIR_ERANGE)                                                  \
    {                                                                                              \
        static const int64_t delays[] = {INT64_MIN, -1, INT64_MAX};                                \
        for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {                          \
            CHECK_STATUS(call(w, &(struct weir_put_options){.delay_ns = delays[i]}), WEIR_ERANGE); \
        }                                                                                          \
        return WEIR_ERANGE;                                                                        \
    }                                                                                              \
    ROW(function, options, key, WEIR_EINVAL)                                                       \
    {                                                                                              \
        return call(w, &(struct weir_put_options){.key = ""});                                     \
    }                                                                                              \
    ROW(function, options, large_key, WEIR_ETOOBIG)                                                \
    {                                                                                              \
        char key[WEIR_KEY_SIZE_MAX + 2];                                                           \
        (void)fill(key, sizeof(key));                                                              \
        return call(w, &(struct weir_put_options){.key = key});                                    \
    }                                                                                              \
    ROW(function, options, put_id, WEIR_EINVAL)                                                    \
    {                                                                                              \
        static const char *const put_ids[] = {"a b", "a\n", "\x7f", "\xc3\xa9", " "};              \
        for (size_t i = 0; i < sizeof(put_ids) / sizeof(put_ids[0]); i++) {                        \
            CHECK_STATUS(call(w, &(struct weir_put_options){.put_id = put_ids[i]}), WEIR_EINVAL);  \
        }                                                                                          \
        check_says("put_id has byte 0x20 at offset 0: expected visible ASCII");                    \
        return call(w, &(struct weir_put_options){.put_id = ""});                                  \
    }                                                                                              \
    ROW(function, options, large_put_id, WEIR_ETOOBIG)                                             \
    {                                                                                              \
        char put_id[WEIR_PUT_ID_SIZE_MAX + 2];                                                     \
        (void)fill(put_id, sizeof(put_id));                                                        \
        return call(w, &(struct weir_put_options){.put_id = put_id});                              \
    }                                                                                              \
    ROW(function, options, key_ns, WEIR_ERANGE)                                                    \
    {                                                                                              \
        struct weir_put_options options = {.key_ns = 1};                                           \
        CHECK_STATUS(call(w, &options), WEIR_EINVAL); /* there is no key */                        \
        options.key = "other";                                                                     \
        CHECK_STATUS(call(w, &options), WEIR_ERANGE); /* not throttled */                          \
        options.on_duplicate = WEIR_DUPLICATE_THROTTLE;                                            \
        options.key_ns = INT64_MIN;                                                                \
        CHECK_STATUS(call(w, &options), WEIR_ERANGE);                                              \
        options.key_ns = 0;                                                                        \
        return call(w, &options);                                                                  \
    }

/* Of a put of several jobs; call(w, bodies, count, options) makes the call. */
#define BODIES_ROWS(function, call)                                                                \
    ROW(function, bodies, null, WEIR_EINVAL)                                                       \
    {                                                                                              \
        CHECK_STATUS(call(w, NULL, SIZE_MAX, NULL), WEIR_EINVAL);                                  \
        return call(w, NULL, 1, NULL);                                                             \
    }                                                                                              \
    ROW(function, bodies, no_bytes, WEIR_EINVAL)                                                   \
    {                                                                                              \
        const struct weir_body two[] = {body, {NULL, 1, NULL}};                                    \
        CHECK_STATUS(call(w, two, 2, NULL), WEIR_EINVAL);                                          \
        check_says("bodies[1] is NULL and has 1 bytes");                                           \
        return WEIR_EINVAL;                                                                        \
    }                                                                                              \
    ROW(function, bodies, too_big, WEIR_ETOOBIG)                                                   \
    {                                                                                              \
        const struct weir_body two[] = {body, {"x", SIZE_MAX, NULL}};                              \
        CHECK_STATUS(call(w, two, 2, NULL), WEIR_ETOOBIG);                                         \
        const struct weir_body large = {"x", ((size_t)16 << 20) + 1, NULL};                        \
        CHECK_STATUS(call(w, &large, 1, NULL), WEIR_ETOOBIG);                                      \
        check_says("bodies[0] has 16777217 bytes: at most 16777216");                              \
        return WEIR_ETOOBIG;                                                                       \
    }                                                                                              \
    ROW(function, count, zero, WEIR_OK)                                                            \
    {                                                                                              \
        CHECK_STATUS(call(w, &body, 0, NULL), WEIR_OK);                                            \
        check_unchanged(w);                                                                        \
        return call(w, NULL, 0, NULL);                                                             \
    }                                                                                              \
    ROW(function, options, key_of_several, WEIR_EINVAL)                                            \
    {                                                                                              \
        const struct weir_body two[] = {body, body};                                               \
        CHECK_STATUS(call(w, two, 2, &(struct weir_put_options){.put_id = "p"}), WEIR_EINVAL);     \
        check_says("2 jobs and one put_id: expected one job");                                     \
        return call(w, two, 2, &(struct weir_put_options){.key = "other"});                        \
    }                                                                                              \
    ROW(function, bodies, options, WEIR_ERANGE)                                                    \
    {                                                                                              \
        const struct weir_put_options bad = {.delay_ns = -1};                                      \
        const struct weir_body two[] = {body, {"x", 1, &bad}};                                     \
        CHECK_STATUS(call(w, two, 2, NULL), WEIR_ERANGE);                                          \
        check_says("bodies[1]: delay_ns is -1: expected 0 or more");                               \
        return call(w, &two[1], 1, NULL);                                                          \
    }                                                                                              \
    ROW(function, bodies, options_taken, WEIR_EBUSY)                                               \
    {                                                                                              \
        const struct weir_put_options key = {.key = "other"};                                      \
        const struct weir_body two[] = {{"x", 1, &key}, {"y", 1, &key}};                           \
        return call(w, two, 2, NULL);                                                              \
    }

#endif
