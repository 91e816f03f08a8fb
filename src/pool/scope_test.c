/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/lifecycle.h>
#include <weir/scope.h>

#include "pool/crew.h"

/* As crew_init(), in a scope; takes the place of the pool that it made. */
static void scoped_crew_init(struct crew *crew, weir_scope *scope)
{
    crew_init(crew, 1);
    weir_pool_free(crew->pool);
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.clock = crew->clock;
    options.scope = scope;
    CHECK_STATUS(weir_pool_new(&options, &crew->pool, NULL), WEIR_OK);
    for (int i = 0; i < TASKS_MAX; i++) {
        crew->tasks[i].pool = crew->pool;
    }
}

static weir_scope *new_scope(void)
{
    weir_scope *scope = NULL;
    CHECK_STATUS(weir_scope_new(test_allocator(), &scope), WEIR_OK);
    return scope;
}

static int until_cancelled(weir_context *context, struct task *task)
{
    (void)task;
    return (int)weir_context_sleep(context, WEIR_FOREVER);
}

TEST(cancel, "cancelling a scope cancels what runs in its pools, drops the rest and stops them, "
             "without waiting; none starts again (R16)")
{
    weir_scope *scope = new_scope();
    struct crew crews[2];
    for (int i = 0; i < 2; i++) {
        scoped_crew_init(&crews[i], scope);
        crews[i].tasks[0].body = until_cancelled;
        CHECK_STATUS(weir_pool_start(crews[i].pool), WEIR_OK);
        crew_send(&crews[i], 0);
        counter_wait(&crews[i].tasks[0].entered, 1);
        crew_send(&crews[i], 1);
        CHECK_STATUS(weir_pool_send_after(crews[i].pool, crews[i].envelopes[2], 5), WEIR_OK);
    }
    CHECK(!weir_scope_is_cancelled(scope));
    weir_scope_cancel(scope);
    CHECK(weir_scope_is_cancelled(scope));
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(weir_pool_send(crews[i].pool, crews[i].envelopes[3]), WEIR_ESHUTDOWN);
        CHECK_INT(counts_of(crews[i].pool).dropped, ==, 2);
        CHECK_STATUS(weir_pool_end(crews[i].pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(atomic_load(&crews[i].tasks[0].last_status), ==, WEIR_ECANCELED);
        CHECK_INT(weir_pool_state(crews[i].pool), ==, WEIR_POOL_STATE_STOPPED);
        CHECK_STATUS(weir_pool_start(crews[i].pool), WEIR_ECANCELED);
        CHECK_INT(weir_pool_state(crews[i].pool), ==, WEIR_POOL_STATE_STOPPED);
    }
    weir_scope_cancel(scope);
    crew_fini(&crews[0]);
    crew_fini(&crews[1]);
    weir_scope_free(scope);
}

TEST(unstarted, "a pool of a cancelled scope that was never started keeps what it holds, and does "
                "not start; a new one neither")
{
    weir_scope *scope = new_scope();
    struct crew crew;
    struct crew late;
    scoped_crew_init(&crew, scope);
    crew_send(&crew, 0);
    weir_scope_cancel(scope);
    scoped_crew_init(&late, scope);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_ECANCELED);
    CHECK_STATUS(weir_pool_start(late.pool), WEIR_ECANCELED);
    CHECK_INT(weir_pool_state(crew.pool), ==, WEIR_POOL_STATE_INIT);
    CHECK_INT(counts_of(crew.pool).queued, ==, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(crew.pool).in_flight, ==, 0);
    crew_fini(&crew);
    crew_fini(&late);
    weir_scope_free(scope);
}

TEST(kept, "what a stopped pool has kept is left to it when its scope is cancelled")
{
    weir_scope *scope = new_scope();
    struct crew crew;
    scoped_crew_init(&crew, scope);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_pause(crew.pool, 0), WEIR_OK);
    crew_send(&crew, 0);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, WEIR_END_KEEP, WEIR_FOREVER), WEIR_OK);
    weir_scope_cancel(scope);
    CHECK_INT(counts_of(crew.pool).queued, ==, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_ECANCELED);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(crew.pool).dropped, ==, 1);
    crew_fini(&crew);
    weir_scope_free(scope);
}

static weir_scope *own_scope;

static int cancel_own(weir_context *context, struct task *task)
{
    weir_scope_cancel(own_scope);
    CHECK_STATUS(weir_context_check(context), WEIR_ECANCELED);
    CHECK_INT(weir_pool_state(task->pool), ==, WEIR_POOL_STATE_STOPPING);
    return WEIR_OK;
}

TEST(from_own_task, "a task may cancel the scope of its own pool")
{
    own_scope = new_scope();
    struct crew crew;
    scoped_crew_init(&crew, own_scope);
    crew.tasks[0].body = cancel_own;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].outcomes, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    crew_fini(&crew);
    weir_scope_free(own_scope);
}

TEST(freed_pool, "a pool that was freed before is no matter of its scope any more")
{
    weir_scope *scope = new_scope();
    struct crew crew;
    scoped_crew_init(&crew, scope);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_fini(&crew);
    weir_scope_cancel(scope);
    weir_scope_free(scope);
}

TEST(bad_input,
     "a scope without a place to go or with half an allocator is refused; NULL is allowed "
     "where it means nothing")
{
    weir_scope *scope;
    struct weir_allocator half = *test_allocator();
    half.release = NULL;
    CHECK_STATUS(weir_scope_new(NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_scope_new(&half, &scope), WEIR_EINVAL);
    CHECK_STATUS(weir_scope_new(NULL, &scope), WEIR_OK);
    weir_scope_free(scope);
    weir_scope_free(NULL);
    weir_scope_cancel(NULL);
    CHECK(!weir_scope_is_cancelled(NULL));
}

TEST_OOM(no_memory, "a scope that there is no memory for is none")
{
    weir_scope *scope;
    if (!CHECK_OR_OOM(weir_scope_new(test_allocator(), &scope))) {
        weir_scope_free(scope);
    }
}
