/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The public functions of a broker: each checks its arguments once, then calls the backend. */
#include "jobs/broker.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/time.h"
#include "jobs/beanstalkd/cluster.h"
#include "jobs/sqlite/store.h"

#define EXPECTED "expected sqlite:PATH or beanstalk://HOST:PORT,HOST:PORT,..."
#define BODY_SIZE_DEFAULT ((size_t)16 << 20)
#define BUSY_DEFAULT WEIR_SECONDS(10)
#define KNOWN_FLAGS ((uint32_t)(WEIR_BROKER_EXISTING | WEIR_BROKER_READ_ONLY | WEIR_BROKER_SHARED))

static const struct weiri_broker_ops *const backends[] = {&weiri_sqlite_ops, &weiri_beanstalkd_ops};

bool weir_broker_can(const weir_broker *broker, enum weir_feature feature)
{
    return broker != NULL && (uint32_t)feature < 32 && (broker->config.can >> feature & 1) != 0;
}

bool weiri_broker_is_ours(const weir_broker *broker)
{
    return broker->pid == getpid();
}

static enum weir_status normalize_options(const struct weir_broker_options *options,
                                          struct weiri_broker_config *ret_config,
                                          struct weir_error *ret_error)
{
    struct weir_broker_options copy = options != NULL ? *options : (struct weir_broker_options){0};
    struct weir_allocator allocator;
    if (weiri_allocator_init(&allocator, &copy.allocator, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (weiri_check_flags(copy.flags, KNOWN_FLAGS, ret_error) != WEIR_OK ||
        weiri_check_choice("durability", copy.durability, WEIR_DURABILITY_MEMORY, ret_error) !=
            WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (weiri_check_number("busy_ns", copy.busy_ns, 0, INT64_MAX, ret_error) != WEIR_OK ||
        weiri_check_number("guard", copy.guard, -1, INT32_MAX, ret_error) != WEIR_OK) {
        return WEIR_ERANGE;
    }
    if (copy.body_size_max > WEIR_BODY_SIZE_LIMIT) {
        return weiri_fail(ret_error, WEIR_ETOOBIG, "body_size_max is %zu: at most %zu",
                          copy.body_size_max, WEIR_BODY_SIZE_LIMIT);
    }
    uint32_t flags = copy.flags;
    if ((flags & WEIR_BROKER_READ_ONLY) != 0) {
        flags |= WEIR_BROKER_EXISTING;
    }
    *ret_config = (struct weiri_broker_config){
        .allocator = allocator,
        .log = copy.log,
        .log_arg = copy.log_arg,
        .body_size_max = copy.body_size_max == 0 ? BODY_SIZE_DEFAULT : copy.body_size_max,
        .busy_ns = copy.busy_ns == 0 ? BUSY_DEFAULT : copy.busy_ns,
        .flags = flags,
        .durability = copy.durability,
        .guard = copy.guard,
    };
    return WEIR_OK;
}

static int64_t wall_now(void *arg)
{
    (void)arg;
    return weiri_wall_now();
}

static int64_t lease_now(void *arg)
{
    (void)arg;
    return weiri_monotonic_now();
}

static int64_t boot_now(void *arg)
{
    (void)arg;
    return weiri_boot_now();
}

/* The backend of a URL's scheme, of size bytes; NULL: there is none. */
static const struct weiri_broker_ops *find_backend(const char *url, size_t size)
{
    for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]) && url[size] == ':'; i++) {
        if (strlen(backends[i]->scheme) == size && memcmp(backends[i]->scheme, url, size) == 0) {
            return backends[i];
        }
    }
    return NULL;
}

static enum weir_status refuse_scheme(const char *text, size_t size, struct weir_error *ret_error)
{
    /* A path alone is the likeliest mistake. */
    if (text[size] != ':') {
        return weiri_fail(ret_error, WEIR_EINVAL, "broker URL \"%.200s\" has no scheme: " EXPECTED,
                          text);
    }
    return weiri_fail(ret_error, WEIR_EINVAL,
                      "unknown scheme \"%.*s\" at offset 0 of broker URL \"%.200s\": " EXPECTED,
                      size < 40 ? (int)size : 40, text, text);
}

static enum weir_status open_store(weir_broker *broker, const char *url,
                                   struct weir_error *ret_error)
{
    if (url == NULL) {
        return weiri_fail(ret_error, WEIR_EINVAL, "url is NULL: " EXPECTED);
    }
    struct weiri_broker_config *config = &broker->config;
    size_t size = strcspn(url, ":");
    broker->ops = find_backend(url, size);
    if (broker->ops == NULL) {
        return refuse_scheme(url, size, ret_error);
    }
    config->scheme = broker->ops->scheme;
    config->can = broker->ops->can;
    uint32_t needs = (config->flags & WEIR_BROKER_SHARED) != 0 ? WEIRI_CAN(REPAIR) : 0;
    needs |= config->durability != WEIR_DURABILITY_DEFAULT ? WEIRI_CAN(DURABILITY) : 0;
    enum weir_status status = weiri_can_check(config, needs, ret_error);
    return status == WEIR_OK ? broker->ops->open(url + size + 1, config, &broker->store, ret_error)
                             : status;
}

enum weir_status weiri_broker_open_on(const char *url, const struct weir_broker_options *options,
                                      const struct weiri_clocks *clocks, weir_broker **ret_broker,
                                      struct weir_error *ret_error)
{
    struct weiri_broker_config config;
    weiri_error_clear(ret_error);
    if (weiri_check_given("ret_broker", ret_broker, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    enum weir_status status = normalize_options(options, &config, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    const struct weir_allocator memory = config.allocator;
    weir_broker *broker = weiri_alloc_zero(&memory, 1, sizeof(*broker));
    if (broker == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    config.clocks = *clocks;
    broker->pid = getpid();
    broker->config = config;
    status = open_store(broker, url, ret_error);
    if (status != WEIR_OK) {
        weiri_release(&memory, broker, sizeof(*broker));
        return status;
    }
    *ret_broker = broker;
    return WEIR_OK;
}

enum weir_status weir_broker_open(const char *url, const struct weir_broker_options *options,
                                  weir_broker **ret_broker, struct weir_error *ret_error)
{
    struct weiri_clocks clocks = {wall_now, lease_now, boot_now, NULL, ""};
    weiri_boot_name(clocks.boot_name);
    return weiri_broker_open_on(url, options, &clocks, ret_broker, ret_error);
}

void weiri_broker_attach(weir_broker *broker)
{
    (void)atomic_fetch_add_explicit(&broker->uses, 1, memory_order_relaxed);
}

/* The last call of what used the broker happens before weir_broker_close() frees it. */
void weiri_broker_detach(weir_broker *broker)
{
    (void)atomic_fetch_sub_explicit(&broker->uses, 1, memory_order_release);
}

enum weir_status weir_broker_close(weir_broker *broker)
{
    if (broker == NULL) {
        return WEIR_OK;
    }
    /* After a fork the parent's files, locks and pages are shared, so they must be left alone. */
    if (!weiri_broker_is_ours(broker)) {
        return WEIR_EFORKED;
    }
    if (atomic_load_explicit(&broker->uses, memory_order_acquire) != 0) {
        return WEIR_EBUSY;
    }
    broker->ops->close(broker->store);
    struct weir_allocator memory = broker->config.allocator;
    weiri_release(&memory, broker, sizeof(*broker));
    return WEIR_OK;
}

enum weir_status weiri_broker_enter(const weir_broker *broker, uint32_t needs,
                                    struct weir_error *ret_error)
{
    weiri_error_clear(ret_error);
    if (broker == NULL) {
        return weiri_fail(ret_error, WEIR_EINVAL, "broker is NULL");
    }
    if (!weiri_broker_is_ours(broker)) {
        return weiri_fail(ret_error, WEIR_EFORKED,
                          "the broker was opened by process %ld: fork before you open one, or exec",
                          (long)broker->pid);
    }
    if ((needs & WEIRI_WRITES) != 0 && (broker->config.flags & WEIR_BROKER_READ_ONLY) != 0) {
        return weiri_fail(ret_error, WEIR_EACCESS, "the broker was opened read-only");
    }
    return weiri_can_check(&broker->config, needs & ~WEIRI_WRITES, ret_error);
}

enum weir_status weiri_broker_enter_tube(const weir_broker *broker, uint32_t needs,
                                         const char *tube, struct weir_error *ret_error)
{
    enum weir_status status = weiri_broker_enter(broker, needs, ret_error);
    return status == WEIR_OK ? weiri_name_check("tube", tube, ret_error) : status;
}

/* ret_is_each: one has options of its own. */
static enum weir_status check_bodies(const weir_broker *broker, const struct weir_body *bodies,
                                     size_t count, bool *ret_is_each, struct weir_error *ret_error)
{
    if (bodies == NULL && count > 0) {
        return weiri_fail(ret_error, WEIR_EINVAL, "bodies is NULL");
    }
    for (size_t i = 0; i < count; i++) {
        if (bodies[i].data == NULL && bodies[i].size > 0) {
            return weiri_fail(ret_error, WEIR_EINVAL, "bodies[%zu] is NULL and has %zu bytes", i,
                              bodies[i].size);
        }
        if (bodies[i].size > broker->config.body_size_max) {
            return weiri_fail(ret_error, WEIR_ETOOBIG, "bodies[%zu] has %zu bytes: at most %zu", i,
                              bodies[i].size, broker->config.body_size_max);
        }
        *ret_is_each = *ret_is_each || bodies[i].options != NULL;
    }
    return WEIR_OK;
}

/* Reads the options of each body. */
static enum weir_status read_each(weir_broker *broker, const struct weir_put_options *options,
                                  struct weiri_put *put, struct weir_error *ret_error)
{
    put->each = weiri_alloc_array(&broker->config.allocator, put->count, sizeof(*put->each));
    if (put->each == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < put->count && status == WEIR_OK; i++) {
        const struct weir_put_options *own = put->bodies[i].options;
        const struct weir_body plain = {put->bodies[i].data, put->bodies[i].size, NULL};
        status = weiri_broker_enter_put(broker, put->tube, &plain, 1, own != NULL ? own : options,
                                        &put->each[i], ret_error);
        put->each[i].bodies = &put->bodies[i];
        status = weiri_put_blame(put, i, status, ret_error);
    }
    return status;
}

enum weir_status weiri_broker_enter_put(weir_broker *broker, const char *tube,
                                        const struct weir_body *bodies, size_t count,
                                        const struct weir_put_options *options,
                                        struct weiri_put *ret_put, struct weir_error *ret_error)
{
    bool is_each = false;
    *ret_put = (struct weiri_put){.count = 0};
    enum weir_status status = weiri_broker_enter_tube(broker, WEIRI_WRITES, tube, ret_error);
    if (status == WEIR_OK) {
        status = check_bodies(broker, bodies, count, &is_each, ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_put_normalize(broker, options, ret_put, ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_put_check_can(&broker->config, ret_put, ret_error);
    }
    const char *unique = weiri_put_unique(ret_put);
    if (status == WEIR_OK && unique != NULL && count > 1) {
        status = weiri_fail(ret_error, WEIR_EINVAL, "%zu jobs and one %s: expected one job", count,
                            unique);
    }
    ret_put->tube = tube;
    ret_put->bodies = bodies;
    ret_put->count = count;
    return status == WEIR_OK && is_each ? read_each(broker, options, ret_put, ret_error) : status;
}

enum weir_status weir_broker_put(weir_broker *broker, const char *tube,
                                 const struct weir_body *bodies, size_t count,
                                 const struct weir_put_options *options,
                                 struct weir_job_id *ret_ids, struct weir_error *ret_error)
{
    struct weiri_put put;
    enum weir_status status =
        weiri_broker_enter_put(broker, tube, bodies, count, options, &put, ret_error);
    if (status == WEIR_OK && count > 0) {
        status = broker->ops->put(broker->store, &put, ret_ids, ret_error);
    }
    if (put.each != NULL) {
        weiri_release(&broker->config.allocator, put.each, count * sizeof(*put.each));
    }
    return status;
}

enum weir_status weir_broker_kick(weir_broker *broker, const char *tube, size_t count,
                                  size_t *ret_count, struct weir_error *ret_error)
{
    const struct weiri_change change = {
        .event = WEIRI_JOB_KICK, .tube = tube, .count = count, .ret_count = ret_count};
    enum weir_status status = weiri_broker_enter_tube(broker, WEIRI_WRITES, tube, ret_error);
    return status == WEIR_OK ? broker->ops->change(broker->store, &change, ret_error) : status;
}

static enum weir_status tell_tubes(weir_broker *broker, const char *tube, bool counts_jobs,
                                   weir_tube_fn *fn, void *arg, struct weir_error *ret_error)
{
    enum weir_status status = weiri_broker_enter_for(broker, 0, "fn", fn != NULL, ret_error);
    if (status == WEIR_OK && tube != NULL) {
        status = weiri_name_check("tube", tube, ret_error);
    }
    return status == WEIR_OK
               ? broker->ops->tubes(broker->store, tube, counts_jobs, fn, arg, ret_error)
               : status;
}

enum weir_status weir_broker_tubes(weir_broker *broker, const char *tube, weir_tube_fn *fn,
                                   void *arg, struct weir_error *ret_error)
{
    return tell_tubes(broker, tube, true, fn, arg, ret_error);
}

enum weir_status weir_broker_find_tubes(weir_broker *broker, const char *tube, weir_tube_fn *fn,
                                        void *arg, struct weir_error *ret_error)
{
    return tell_tubes(broker, tube, false, fn, arg, ret_error);
}

/* The checks of the calls that tell of jobs, then the call. is_peek: of the first ones. */
static enum weir_status list(weir_broker *broker, const struct weiri_listing *listing, bool is_peek,
                             struct weir_error *ret_error)
{
    const struct weir_job_filter *filter = &listing->filter;
    uint32_t needs = filter->id != NULL                   ? 0
                     : !is_peek                           ? WEIRI_CAN(LIST)
                     : filter->state == WEIR_JOB_RESERVED ? WEIRI_CAN(RESERVED)
                                                          : 0;
    enum weir_status status =
        weiri_broker_enter_for(broker, needs, "fn", listing->fn != NULL, ret_error);
    if (status == WEIR_OK && (filter->tube != NULL || is_peek)) {
        status = weiri_name_check("tube", filter->tube, ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_check_choice("state", (int)filter->state, WEIR_JOB_ENDED, ret_error);
    }
    if (status == WEIR_OK && filter->text == NULL && filter->text_size > 0) {
        status = weiri_fail(ret_error, WEIR_EINVAL, "text is NULL and text_size is %zu",
                            filter->text_size);
    }
    return status == WEIR_OK && (!is_peek || filter->first > 0)
               ? broker->ops->list(broker->store, listing, ret_error)
               : status;
}

enum weir_status weir_broker_peek(weir_broker *broker, const char *tube, enum weir_job_state state,
                                  size_t limit, weir_job_fn *fn, void *arg,
                                  struct weir_error *ret_error)
{
    const struct weiri_listing first = {
        .filter = {.tube = tube, .state = state, .first = limit}, .fn = fn, .arg = arg};
    return list(broker, &first, true, ret_error);
}

enum weir_status weir_broker_peek_id(weir_broker *broker, const char *id, weir_job_fn *fn,
                                     void *arg, struct weir_error *ret_error)
{
    const struct weiri_listing one = {.filter = {.id = id}, .fn = fn, .arg = arg};
    enum weir_status status = weiri_broker_enter_for(broker, 0, "id", id != NULL, ret_error);
    return status == WEIR_OK ? list(broker, &one, false, ret_error) : status;
}

enum weir_status weir_broker_list(weir_broker *broker, const struct weir_job_filter *filter,
                                  weir_job_fn *fn, void *arg, struct weir_error *ret_error)
{
    struct weiri_listing all = {.fn = fn, .arg = arg};
    all.filter = filter != NULL ? *filter : all.filter;
    bool is_one = all.filter.id != NULL;
    all.filter.state = is_one ? (enum weir_job_state)0 : all.filter.state;
    return list(broker, &all, !is_one && all.filter.first > 0, ret_error);
}
