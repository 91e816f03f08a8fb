/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/producer.h>

#include "conformance/store/bad_put.h"

/* Bad input to the functions of weir/producer.h. */

#define FAR_AHEAD (INT64_MAX / 2)

static enum weir_status open_on(struct world *w, weir_broker *broker, const char *tube,
                                const struct weir_put_options *options)
{
    (void)w;
    weir_producer *untouched = (weir_producer *)&rows;
    weir_producer *producer = untouched;
    enum weir_status status = tell(weir_producer_open(broker, tube, options, &producer, told));
    CHECK((producer == untouched) == (status != WEIR_OK));
    if (status == WEIR_OK) {
        weir_producer_close(producer);
    }
    return status;
}

static enum weir_status open_broker(struct world *w, weir_broker *broker)
{
    return open_on(w, broker, TUBE, NULL);
}

static enum weir_status open_tube(struct world *w, const char *tube)
{
    return open_on(w, w->broker, tube, NULL);
}

static enum weir_status open_with(struct world *w, const struct weir_put_options *options)
{
    return open_on(w, w->broker, TUBE, options);
}

OBJECT_ROWS(weir_producer_open, broker, open_broker)
TUBE_ROWS(weir_producer_open, open_tube)
OPTION_ROWS(weir_producer_open, open_with)

ROW(weir_producer_open, options, run_at_ns, WEIR_EINVAL)
{
    CHECK_STATUS(open_with(w, &(struct weir_put_options){.run_at_ns = -1}), WEIR_ERANGE);
    return open_with(w, &(struct weir_put_options){.run_at_ns = JOBS_WALL_START + 1});
}

ROW(weir_producer_open, options, delay_ns, WEIR_EINVAL)
{
    CHECK_STATUS(open_with(w, &(struct weir_put_options){.delay_ns = -1}), WEIR_ERANGE);
    return open_with(w, &(struct weir_put_options){.delay_ns = 1});
}

ROW(weir_producer_open, options, key, WEIR_EINVAL)
{
    return open_with(w, &(struct weir_put_options){.key = "other"});
}

ROW(weir_producer_open, options, put_id, WEIR_EINVAL)
{
    CHECK_STATUS(open_with(w, &(struct weir_put_options){.put_id = "p"}), WEIR_EINVAL);
    check_says("put_id is set, which is of one job: expected none in a producer's options");
    return open_with(w, &(struct weir_put_options){.put_id = ""});
}

ROW(weir_producer_open, options, key_ns, WEIR_EINVAL)
{
    return open_with(w, &(struct weir_put_options){.key_ns = 1});
}

ROW(weir_producer_open, ret_producer, null, WEIR_EINVAL)
{
    return tell(weir_producer_open(w->broker, TUBE, NULL, NULL, told));
}

ROW(weir_producer_open, memory, none, WEIR_ENOMEM)
{
    test_fail_allocation(1, true);
    return open_tube(w, TUBE);
}

/* A call on a producer. */
typedef enum weir_status call_fn(struct world *w, weir_producer *producer);

static enum weir_status on_read_only(struct world *w, call_fn *call)
{
    weir_broker *broker = read_only(w);
    weir_producer *producer;
    CHECK_STATUS(weir_producer_open(broker, TUBE, NULL, &producer, NULL), WEIR_OK);
    enum weir_status status = call(w, producer);
    weir_producer_close(producer);
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
    return status;
}

#define PRODUCER_ROWS(function, call)                                                              \
    OBJECT_ROWS(function, producer, call)                                                          \
    ROW(function, producer, read_only, WEIR_EACCESS)                                               \
    {                                                                                              \
        return on_read_only(w, call);                                                              \
    }

static enum weir_status at(struct world *w, weir_producer *producer)
{
    return tell(weir_producer_at(producer, body, JOBS_WALL_START + 1, &w->id, told));
}

static enum weir_status delay(struct world *w, weir_producer *producer)
{
    return tell(weir_producer_delay(producer, body, 1, &w->id, told));
}

static enum weir_status revoke(struct world *w, weir_producer *producer)
{
    (void)w;
    return tell(weir_producer_revoke(producer, "4", told));
}

PRODUCER_ROWS(weir_producer_at, at)
PRODUCER_ROWS(weir_producer_delay, delay)
PRODUCER_ROWS(weir_producer_revoke, revoke)

/* The arguments of a put, and the producer's options. */
struct put {
    struct weir_body body;
    int64_t time_ns;
    bool is_delay;
};

static enum weir_status put_by(struct world *w, weir_producer *producer, const struct put *put)
{
    return put->is_delay
               ? tell(weir_producer_delay(producer, put->body, put->time_ns, &w->id, told))
               : tell(weir_producer_at(producer, put->body, put->time_ns, &w->id, told));
}

static enum weir_status put(struct world *w, const struct put *put)
{
    return put_by(w, w->producer, put);
}

static enum weir_status put_away(struct world *w, const struct weir_put_options *options,
                                 bool is_delay)
{
    const struct put put = {body, FAR_AHEAD, is_delay};
    weir_broker *broker = cluster();
    weir_producer *producer;
    CHECK_STATUS(weir_producer_open(broker, TUBE, options, &producer, NULL), WEIR_OK);
    enum weir_status status = put_by(w, producer, &put);
    weir_producer_close(producer);
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
    return status;
}

#define PUT_ROWS(function, is_delay)                                                               \
    ROW(function, body, no_bytes, WEIR_EINVAL)                                                     \
    {                                                                                              \
        return put(w, &(struct put){{NULL, 1, NULL}, FAR_AHEAD, is_delay});                        \
    }                                                                                              \
    ROW(function, body, too_big, WEIR_ETOOBIG)                                                     \
    {                                                                                              \
        CHECK_STATUS(put(w, &(struct put){{"x", SIZE_MAX, NULL}, FAR_AHEAD, is_delay}),            \
                     WEIR_ETOOBIG);                                                                \
        return put(w, &(struct put){{"x", ((size_t)16 << 20) + 1, NULL}, FAR_AHEAD, is_delay});    \
    }                                                                                              \
    ROW(function, body, options_of_body, WEIR_EINVAL)                                              \
    {                                                                                              \
        const struct weir_put_options none = {0};                                                  \
        return put(w, &(struct put){{"x", 1, &none}, FAR_AHEAD, is_delay});                        \
    }                                                                                              \
    ROW(function, producer, cluster, WEIR_ENOTSUP)                                                 \
    {                                                                                              \
        const struct weir_put_options options = {.headers = "a=b\n"};                              \
        CHECK_STATUS(put_away(w, &options, is_delay), WEIR_ENOTSUP);                               \
        return put_away(w, &(struct weir_put_options){.group = "g"}, is_delay);                    \
    }

PUT_ROWS(weir_producer_at, false)
PUT_ROWS(weir_producer_delay, true)

ROW(weir_producer_at, run_at_ns, past, WEIR_EPAST)
{
    static const int64_t times[] = {0, 1, JOBS_WALL_START - 1};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        CHECK_STATUS(put(w, &(struct put){body, times[i], false}), WEIR_EPAST);
    }
    return WEIR_EPAST;
}

ROW(weir_producer_at, run_at_ns, least, WEIR_ERANGE)
{
    CHECK_STATUS(put(w, &(struct put){body, -1, false}), WEIR_ERANGE);
    return put(w, &(struct put){body, INT64_MIN, false});
}

ROW(weir_producer_at, run_at_ns, most, WEIR_OK)
{
    return put(w, &(struct put){body, INT64_MAX, false});
}

ROW(weir_producer_at, ret_id, null, WEIR_OK)
{
    return tell(weir_producer_at(w->producer, body, JOBS_WALL_START, NULL, told));
}

ROW(weir_producer_delay, delay_ns, least, WEIR_ERANGE)
{
    CHECK_STATUS(put(w, &(struct put){body, -1, true}), WEIR_ERANGE);
    return put(w, &(struct put){body, INT64_MIN, true});
}

ROW(weir_producer_delay, delay_ns, most, WEIR_ERANGE)
{
    return put(w, &(struct put){body, INT64_MAX, true});
}

ROW(weir_producer_delay, ret_id, null, WEIR_OK)
{
    return tell(weir_producer_delay(w->producer, body, 0, NULL, told));
}

static enum weir_status revoke_id(struct world *w, const char *id)
{
    return tell(weir_producer_revoke(w->producer, id, told));
}

ID_ROWS(weir_producer_revoke, revoke_id)

ROW(weir_producer_revoke, id, no_job, WEIR_ENOTFOUND)
{
    CHECK_STATUS(revoke_id(w, "2"), WEIR_ENOTFOUND); /* it is reserved */
    return revoke_id(w, "6");
}
