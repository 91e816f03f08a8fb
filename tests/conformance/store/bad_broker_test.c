/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>

#include "conformance/store/bad_put.h"
#include "support/forbid_call.h"

/* Bad input to the functions of weir/broker.h. */

/* Opens what must not be there afterwards. */
static enum weir_status open_url(const char *url, const struct weir_broker_options *options)
{
    weir_broker *untouched = (weir_broker *)&rows;
    weir_broker *broker = untouched;
    enum weir_status status = tell(weir_broker_open(url, options, &broker, told));
    CHECK((broker == untouched) == (status != WEIR_OK));
    if (status == WEIR_OK) {
        CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
    }
    CHECK_INT(access("new.db", F_OK), ==, -1);
    CHECK_INT(access("new.db.lock", F_OK), ==, -1);
    return status;
}

static enum weir_status open_with(const struct weir_broker_options *options)
{
    struct weir_broker_options copy = *options;
    copy.allocator = copy.allocator.arg == NULL ? *test_allocator() : copy.allocator;
    return open_url("sqlite:new.db", &copy);
}

ROW(weir_broker_open, url, null, WEIR_EINVAL)
{
    return open_url(NULL, NULL);
}

ROW(weir_broker_open, url, no_url, WEIR_EINVAL)
{
    static const char *const urls[] = {"",
                                       "new.db",
                                       "mysql:new.db",
                                       "sqlite:",
                                       "sqlite::memory:",
                                       "sqlite:new.db?shared=2",
                                       "sqlite:new.db-wal",
                                       "sqlite:a/",
                                       "sqlite:a\nb",
                                       "beanstalk://",
                                       "beanstalk:127.0.0.1"};
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        CHECK_STATUS(open_url(urls[i], NULL), WEIR_EINVAL);
    }
    return WEIR_EINVAL;
}

ROW(weir_broker_open, url, no_folder, WEIR_ENOTFOUND)
{
    return open_url("sqlite:none/new.db", NULL);
}

ROW(weir_broker_open, url, linked, WEIR_EACCESS)
{
    CHECK_INT(symlink(w->path, "linked.db"), ==, 0);
    enum weir_status status = open_url("sqlite:linked.db", NULL);
    CHECK_INT(unlink("linked.db"), ==, 0);
    return status;
}

ROW(weir_broker_open, url, not_ours, WEIR_ESCHEMA)
{
    sqlite3 *theirs;
    CHECK_INT(sqlite3_open("theirs.db", &theirs), ==, SQLITE_OK);
    CHECK_INT(sqlite3_exec(theirs, "CREATE TABLE x (y)", NULL, NULL, NULL), ==, SQLITE_OK);
    CHECK_INT(sqlite3_close(theirs), ==, SQLITE_OK);
    enum weir_status status = open_url("sqlite:theirs.db", NULL);
    CHECK_INT(unlink("theirs.db"), ==, 0);
    return status;
}

ROW(weir_broker_open, url, forked, WEIR_EFORKED)
{
    char url[64];
    (void)snprintf(url, sizeof(url), "sqlite:%s", w->path);
    return open_url(url, NULL);
}

ROW(weir_broker_open, options, allocator, WEIR_EINVAL)
{
    for (unsigned members = 1; members < 7; members++) {
        struct weir_broker_options options = {.allocator = *test_allocator()};
        options.allocator.alloc = (members & 1) != 0 ? test_allocator()->alloc : NULL;
        options.allocator.resize = (members & 2) != 0 ? test_allocator()->resize : NULL;
        options.allocator.release = (members & 4) != 0 ? test_allocator()->release : NULL;
        CHECK_STATUS(open_url("sqlite:new.db", &options), WEIR_EINVAL);
    }
    return WEIR_EINVAL;
}

ROW(weir_broker_open, options, body_size_max, WEIR_ETOOBIG)
{
    CHECK_STATUS(open_with(&(struct weir_broker_options){.body_size_max = SIZE_MAX}), WEIR_ETOOBIG);
    return open_with(&(struct weir_broker_options){.body_size_max = WEIR_BODY_SIZE_LIMIT + 1});
}

ROW(weir_broker_open, options, busy_ns, WEIR_ERANGE)
{
    CHECK_STATUS(open_with(&(struct weir_broker_options){.busy_ns = INT64_MIN}), WEIR_ERANGE);
    return open_with(&(struct weir_broker_options){.busy_ns = -1});
}

ROW(weir_broker_open, options, guard, WEIR_ERANGE)
{
    return open_with(&(struct weir_broker_options){.guard = -2});
}

ROW(weir_broker_open, options, flags, WEIR_EINVAL)
{
    static const uint32_t flags[] = {8, 15, UINT32_C(1) << 31, UINT32_MAX};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        CHECK_STATUS(open_with(&(struct weir_broker_options){.flags = flags[i]}), WEIR_EINVAL);
    }
    return WEIR_EINVAL;
}

ROW(weir_broker_open, options, flags_existing, WEIR_ENOTFOUND)
{
    CHECK_STATUS(open_with(&(struct weir_broker_options){.flags = WEIR_BROKER_READ_ONLY}),
                 WEIR_ENOTFOUND);
    return open_with(&(struct weir_broker_options){.flags = WEIR_BROKER_EXISTING});
}

ROW(weir_broker_open, options, flags_cluster, WEIR_ENOTSUP)
{
    return open_url("beanstalk://127.0.0.1:1?replicas=1",
                    &(struct weir_broker_options){.flags = WEIR_BROKER_SHARED});
}

ROW(weir_broker_open, options, durability, WEIR_EINVAL)
{
    CHECK_STATUS(open_with(&(struct weir_broker_options){.durability = UINT32_MAX}), WEIR_EINVAL);
    return open_with(&(struct weir_broker_options){.durability = WEIR_DURABILITY_MEMORY + 1});
}

ROW(weir_broker_open, options, durability_cluster, WEIR_ENOTSUP)
{
    return open_url("beanstalk://127.0.0.1:1?replicas=1",
                    &(struct weir_broker_options){.durability = WEIR_DURABILITY_FULL});
}

static void open_without_threads(void *arg)
{
    test_forbid_call(SYS_clone3, SECCOMP_RET_ERRNO | EAGAIN);
    test_forbid_call(SYS_clone, SECCOMP_RET_ERRNO | EAGAIN);
    *(enum weir_status *)arg = open_url("beanstalk://127.0.0.1:1?replicas=1", NULL);
}

ROW(weir_broker_open, threads, none, WEIR_ETHREAD)
{
    enum weir_status status = WEIR_OK;
    test_join(test_start(open_without_threads, &status));
    return status;
}

ROW(weir_broker_open, options, null, WEIR_OK)
{
    return open_url("beanstalk://127.0.0.1:1?replicas=1", NULL);
}

ROW(weir_broker_open, ret_broker, null, WEIR_EINVAL)
{
    return tell(weir_broker_open("sqlite:new.db", NULL, NULL, told));
}

ROW(weir_broker_open, memory, none, WEIR_ENOMEM)
{
    test_fail_allocation(1, true);
    return open_with(&(struct weir_broker_options){0});
}

static enum weir_status put_into(struct world *w, const char *tube)
{
    return tell(weir_broker_put(w->broker, tube, &body, 1, NULL, &w->id, told));
}

static enum weir_status put_bodies(struct world *w, const struct weir_body *bodies, size_t count,
                                   const struct weir_put_options *options)
{
    return tell(weir_broker_put(w->broker, TUBE, bodies, count, options, &w->id, told));
}

static enum weir_status put_with(struct world *w, const struct weir_put_options *options)
{
    return put_bodies(w, &body, 1, options);
}

static enum weir_status put_on(struct world *w, weir_broker *broker)
{
    return tell(weir_broker_put(broker, TUBE, &body, 1, NULL, &w->id, told));
}

WRITER_ROWS(weir_broker_put, put_on)
TUBE_ROWS(weir_broker_put, put_into)
OPTION_ROWS(weir_broker_put, put_with)
JOB_OPTION_ROWS(weir_broker_put, put_with)
BODIES_ROWS(weir_broker_put, put_bodies)

ROW(weir_broker_put, options, key_taken, WEIR_EBUSY)
{
    const struct weir_put_options options = {.key = KEY};
    struct weir_job_id id; /* of the job that has it */
    return tell(weir_broker_put(w->broker, TUBE, &body, 1, &options, &id, told));
}

ROW(weir_broker_put, options, put_id_taken, WEIR_ESTATE)
{
    const struct weir_put_options options = {.put_id = PUT_ID};
    struct weir_job_id id; /* of the job that has it */
    return tell(weir_broker_put(w->broker, TUBE, &body, 1, &options, &id, told));
}

static enum weir_status put_away(const struct weir_put_options *options)
{
    weir_broker *broker = cluster();
    enum weir_status status = tell(weir_broker_put(broker, TUBE, &body, 1, options, NULL, told));
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
    return status;
}

ROW(weir_broker_put, options, key_cluster, WEIR_ENOTSUP)
{
    return put_away(&(struct weir_put_options){.key = "other"});
}

ROW(weir_broker_put, options, headers_cluster, WEIR_ENOTSUP)
{
    return put_away(&(struct weir_put_options){.headers = "a=b\n"});
}

ROW(weir_broker_put, options, group_cluster, WEIR_ENOTSUP)
{
    return put_away(&(struct weir_put_options){.group = "g"});
}

ROW(weir_broker_put, ret_ids, null, WEIR_OK)
{
    return tell(weir_broker_put(w->broker, TUBE, &body, 1, NULL, NULL, told));
}

ROW(weir_broker_put, memory, none, WEIR_ENOMEM)
{
    struct weir_body many[101];
    for (size_t i = 0; i < 101; i++) {
        many[i] = body;
    }
    test_fail_allocation(1, true);
    return put_bodies(w, many, 101, NULL);
}

static enum weir_status kick_tube(struct world *w, const char *tube)
{
    return tell(weir_broker_kick(w->broker, tube, 1, &w->count, told));
}

static enum weir_status kick_on(struct world *w, weir_broker *broker)
{
    return tell(weir_broker_kick(broker, TUBE, 1, &w->count, told));
}

WRITER_ROWS(weir_broker_kick, kick_on)
TUBE_ROWS(weir_broker_kick, kick_tube)

ROW(weir_broker_kick, count, zero, WEIR_OK)
{
    enum weir_status status = tell(weir_broker_kick(w->broker, TUBE, 0, &w->count, told));
    CHECK_INT(w->count, ==, 0);
    return status;
}

ROW(weir_broker_kick, count, most, WEIR_OK)
{
    enum weir_status status = tell(weir_broker_kick(w->broker, TUBE, SIZE_MAX, &w->count, told));
    CHECK_INT(w->count, ==, 1);
    return status;
}

ROW(weir_broker_kick, ret_count, null, WEIR_OK)
{
    return tell(weir_broker_kick(w->broker, TUBE, 1, NULL, told));
}

static enum weir_status tubes_of(struct world *w, const char *tube)
{
    return tell(weir_broker_tubes(w->broker, tube, ignore_tube, NULL, told));
}

static enum weir_status tubes_on(struct world *w, weir_broker *broker)
{
    (void)w;
    return tell(weir_broker_tubes(broker, NULL, ignore_tube, NULL, told));
}

OBJECT_ROWS(weir_broker_tubes, broker, tubes_on)
TUBE_NAME_ROWS(weir_broker_tubes, tubes_of)

ROW(weir_broker_tubes, tube, null, WEIR_OK)
{
    return tubes_of(w, NULL);
}

ROW(weir_broker_tubes, fn, null, WEIR_EINVAL)
{
    return tell(weir_broker_tubes(w->broker, TUBE, NULL, NULL, told));
}

static enum weir_status find_of(struct world *w, const char *tube)
{
    return tell(weir_broker_find_tubes(w->broker, tube, ignore_tube, NULL, told));
}

static enum weir_status find_on(struct world *w, weir_broker *broker)
{
    (void)w;
    return tell(weir_broker_find_tubes(broker, NULL, ignore_tube, NULL, told));
}

OBJECT_ROWS(weir_broker_find_tubes, broker, find_on)
TUBE_NAME_ROWS(weir_broker_find_tubes, find_of)

ROW(weir_broker_find_tubes, tube, null, WEIR_OK)
{
    return find_of(w, NULL);
}

ROW(weir_broker_find_tubes, fn, null, WEIR_EINVAL)
{
    return tell(weir_broker_find_tubes(w->broker, TUBE, NULL, NULL, told));
}

static enum weir_status peek(weir_broker *broker, const char *tube, enum weir_job_state state,
                             size_t limit)
{
    return tell(weir_broker_peek(broker, tube, state, limit, ignore_job, NULL, told));
}

static enum weir_status peek_tube(struct world *w, const char *tube)
{
    return peek(w->broker, tube, WEIR_JOB_READY, 1);
}

static enum weir_status peek_on(struct world *w, weir_broker *broker)
{
    (void)w;
    return peek(broker, TUBE, WEIR_JOB_READY, 1);
}

OBJECT_ROWS(weir_broker_peek, broker, peek_on)
TUBE_ROWS(weir_broker_peek, peek_tube)

ROW(weir_broker_peek, state, unknown, WEIR_EINVAL)
{
    CHECK_STATUS(peek(w->broker, TUBE, (enum weir_job_state) - 1, 1), WEIR_EINVAL);
    return peek(w->broker, TUBE, (enum weir_job_state)(WEIR_JOB_ENDED + 1), 1);
}

ROW(weir_broker_peek, limit, zero, WEIR_OK)
{
    return peek(w->broker, TUBE, 0, 0);
}

ROW(weir_broker_peek, limit, most, WEIR_OK)
{
    return peek(w->broker, TUBE, 0, SIZE_MAX);
}

ROW(weir_broker_peek, fn, null, WEIR_EINVAL)
{
    return tell(weir_broker_peek(w->broker, TUBE, 0, 1, NULL, NULL, told));
}

ROW(weir_broker_peek, memory, none, WEIR_ENOMEM)
{
    test_fail_allocation(1, true);
    return peek(w->broker, TUBE, 0, 10);
}

static enum weir_status peek_id(struct world *w, const char *id)
{
    return tell(weir_broker_peek_id(w->broker, id, ignore_job, NULL, told));
}

static enum weir_status peek_id_on(struct world *w, weir_broker *broker)
{
    (void)w;
    return tell(weir_broker_peek_id(broker, "4", ignore_job, NULL, told));
}

OBJECT_ROWS(weir_broker_peek_id, broker, peek_id_on)
ID_ROWS(weir_broker_peek_id, peek_id)

ROW(weir_broker_peek_id, id, no_job, WEIR_ENOTFOUND)
{
    return peek_id(w, "6");
}

ROW(weir_broker_peek_id, fn, null, WEIR_EINVAL)
{
    return tell(weir_broker_peek_id(w->broker, "4", NULL, NULL, told));
}

ROW(weir_broker_peek_id, memory, none, WEIR_ENOMEM)
{
    test_fail_allocation(1, true);
    return peek_id(w, "4");
}
