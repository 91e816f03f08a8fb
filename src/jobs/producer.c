/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/producer.h>

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "jobs/broker.h"

struct weir_producer {
    /* Immutable. */
    weir_broker *broker;
    struct weir_put_options options; /* its texts are those below */
    char tube[WEIR_TUBE_SIZE_MAX + 1];
#define BUFFER(name, kind, limit, feature) char name[(limit) + 1];
    WEIRI_KEPT_FIELDS(BUFFER)
};

static enum weir_status check_options(const weir_broker *broker,
                                      const struct weir_put_options *options,
                                      struct weir_error *ret_error)
{
    struct weiri_put put;
    enum weir_status status = weiri_put_normalize(broker, options, &put, ret_error);
    if (status != WEIR_OK || options == NULL) {
        return status;
    }
    const char *member = options->run_at_ns != 0  ? "run_at_ns"
                         : options->delay_ns != 0 ? "delay_ns"
                                                  : weiri_put_unique(&put);
    return member == NULL
               ? WEIR_OK
               : weiri_fail(ret_error, WEIR_EINVAL,
                            "%s is set, which is of one job: expected none in a producer's options",
                            member);
}

enum weir_status weir_producer_open(weir_broker *broker, const char *tube,
                                    const struct weir_put_options *options,
                                    weir_producer **ret_producer, struct weir_error *ret_error)
{
    enum weir_status status =
        weiri_broker_enter_for(broker, 0, "ret_producer", ret_producer != NULL, ret_error);
    if (status == WEIR_OK) {
        status = weiri_name_check("tube", tube, ret_error);
    }
    if (status == WEIR_OK) {
        status = check_options(broker, options, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    weir_producer *producer = weiri_alloc_zero(&broker->config.allocator, 1, sizeof(*producer));
    if (producer == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    producer->broker = broker;
    if (options != NULL) {
        producer->options = *options;
#define KEEP(name, kind, limit, feature)                                                           \
    producer->options.name = options->name == NULL ? NULL : strcpy(producer->name, options->name);
        WEIRI_KEPT_FIELDS(KEEP)
    }
    memcpy(producer->tube, tube, strlen(tube) + 1);
    weiri_broker_attach(broker);
    *ret_producer = producer;
    return WEIR_OK;
}

static enum weir_status put(weir_producer *producer, struct weir_body body, int64_t run_at_ns,
                            int64_t delay_ns, struct weir_job_id *ret_id,
                            struct weir_error *ret_error)
{
    if (weiri_check_given("producer", producer, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    struct weir_put_options options = producer->options;
    options.run_at_ns = run_at_ns;
    options.delay_ns = delay_ns;
    if (body.options != NULL) {
        return weiri_fail(ret_error, WEIR_EINVAL, "body.options is set: expected NULL");
    }
    return weir_broker_put(producer->broker, producer->tube, &body, 1, &options, ret_id, ret_error);
}

enum weir_status weir_producer_at(weir_producer *producer, struct weir_body body, int64_t run_at_ns,
                                  struct weir_job_id *ret_id, struct weir_error *ret_error)
{
    /* A put takes 0 for "at once"; here it is a time long ago. */
    return put(producer, body, run_at_ns == 0 ? 1 : run_at_ns, 0, ret_id, ret_error);
}

enum weir_status weir_producer_delay(weir_producer *producer, struct weir_body body,
                                     int64_t delay_ns, struct weir_job_id *ret_id,
                                     struct weir_error *ret_error)
{
    return put(producer, body, 0, delay_ns, ret_id, ret_error);
}

enum weir_status weir_producer_revoke(weir_producer *producer, const char *id,
                                      struct weir_error *ret_error)
{
    if (weiri_check_given("producer", producer, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    static const struct weir_change change = {
        .kind = WEIR_CHANGE_REMOVE,
        .states = 1U << WEIR_JOB_DELAYED | 1U << WEIR_JOB_READY | 1U << WEIR_JOB_BURIED};
    enum weir_status removed;
    enum weir_status status =
        weir_broker_change(producer->broker, &change, &id, 1, &removed, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    return removed == WEIR_ENOTFOUND || removed == WEIR_EBUSY || removed == WEIR_ESTATE
               ? weiri_fail(ret_error, WEIR_ENOTFOUND, "job %.40s is running or gone", id)
               : weiri_explain(ret_error, removed);
}

void weir_producer_close(weir_producer *producer)
{
    if (producer != NULL) {
        weir_broker *broker = producer->broker;
        weiri_release(&broker->config.allocator, producer, sizeof(*producer));
        weiri_broker_detach(broker);
    }
}
