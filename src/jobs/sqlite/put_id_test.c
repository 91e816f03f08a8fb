/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Puts that are repeated, and batches whose bodies have options of their own. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <weir/admin.h>
#include <weir/policy.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "jobs/sqlite/put.h"
#include "support/changes.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

static enum weir_status put_in(weir_broker *broker, const char *tube, const char *text,
                               const struct weir_put_options *options, int64_t *ret_number,
                               struct weir_error *ret_error)
{
    struct weir_body body = {text, strlen(text), NULL};
    struct weir_job_id id = {""};
    enum weir_status status = weir_broker_put(broker, tube, &body, 1, options, &id, ret_error);
    *ret_number = (int64_t)strtoll(id.text, NULL, 10);
    return status;
}

/* Puts with a put_id, and with a key where mode is not negative. 0: it is refused. */
static int64_t put(weir_broker *broker, const char *put_id, int mode, const char *text)
{
    struct weir_put_options options = {.put_id = put_id};
    if (mode >= 0) {
        options.key = "k";
        options.on_duplicate = (enum weir_duplicate)mode;
        options.key_ns = mode == WEIR_DUPLICATE_THROTTLE ? 1 : 0;
    }
    int64_t number;
    enum weir_status status = put_in(broker, "t", text, &options, &number, NULL);
    CHECK(status == WEIR_OK || status == WEIR_ESTATE || status == WEIR_EBUSY);
    return number;
}

static void settle(weir_broker *broker, struct weiri_reservation *job, enum weiri_job_event event)
{
    CHECK_STATUS(jobs_settle(broker, job, event, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
}

static int check_shown(const struct weir_job *job, void *arg)
{
    CHECK_STRING(job->identity, arg);
    return 0;
}

static void check_identity(weir_broker *broker, int64_t number, const char *identity)
{
    struct weir_job_id id;
    weiri_number_format(number, &id);
    char *expected = (char *)(uintptr_t)identity;
    CHECK_STATUS(weir_broker_peek_id(broker, id.text, check_shown, expected, NULL), WEIR_OK);
}

TEST(repeated, "a put that is repeated is answered with its job, in each of its states")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    jobs_keep_none(broker, "t");
    struct weir_put_options options = {.put_id = "p", .delay_ns = WEIR_SECONDS(60)};
    int64_t first = jobs_put(broker, "t", "x", &options);
    jobs_wall_step(&wall, WEIR_SECONDS(59));
    CHECK_INT(jobs_put(broker, "t", "x", &options), ==, first); /* the first run time stays */
    options = (struct weir_put_options){.put_id = "p", .priority = 7, .group = "g", .key = "k"};
    CHECK_INT(jobs_put(broker, "t", "x", &options), ==, first);
    CHECK_COUNTS(broker, "t", 1, 0, 0, 0);
    jobs_wall_step(&wall, WEIR_SECONDS(1));
    CHECK_INT(put(broker, "p", -1, "x"), ==, first);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_STRING(job->job.identity, "p");
    CHECK_INT(job->job.priority, ==, 0);
    CHECK(job->job.group == NULL && job->job.key == NULL);
    CHECK_INT(put(broker, "p", -1, "x"), ==, first);
    settle(broker, job, WEIRI_JOB_RELEASE);
    settle(broker, jobs_reserve_one(broker, "t"), WEIRI_JOB_BURY);
    CHECK_INT(put(broker, "p", -1, "x"), ==, first);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 1);
    CHECK_INT(jobs_counts(broker, "t").put, ==, 1);
    /* What is gone does not count: removed, or done where nothing is kept. */
    CHECK_STATUS(weir_broker_kick(broker, "t", 1, NULL, NULL), WEIR_OK);
    settle(broker, jobs_reserve_one(broker, "t"), WEIRI_JOB_DONE);
    int64_t second = put(broker, "p", -1, "x");
    CHECK_INT(second, >, first);
    struct weir_job_id id;
    weiri_number_format(second, &id);
    const char *text = id.text;
    CHECK_INT(jobs_remove(broker, &text, 1), ==, 1);
    CHECK_INT(put(broker, "p", -1, "x"), >, second);
    weir_broker_close(broker);
}

TEST(another_body, "the put_id of a job with another body, or other headers, is refused")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_put_options options = {.put_id = "p", .headers = "a=1\n"};
    struct weir_error error;
    int64_t number;
    CHECK_INT(jobs_put(broker, "t", "x", &options), ==, 1);
    CHECK_STATUS(put_in(broker, "t", "y", &options, &number, &error), WEIR_ESTATE);
    CHECK_STRING(error.text, "job 1 has the put_id \"p\", and another body or other headers");
    options.headers = "a=2\n";
    CHECK_STATUS(put_in(broker, "t", "x", &options, &number, &error), WEIR_ESTATE);
    options.headers = NULL;
    CHECK_STATUS(put_in(broker, "t", "x", &options, &number, &error), WEIR_ESTATE);
    options.headers = "a=1\n";
    CHECK_INT(jobs_put(broker, "t", "x", &options), ==, 1);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    weir_broker_close(broker);
}

static enum weir_status change_tube(weir_broker *broker, int64_t number, const char *tube)
{
    struct weir_job_id id;
    enum weir_status status = WEIR_EUSER;
    weiri_number_format(number, &id);
    const char *text = id.text;
    CHECK_STATUS(change_move(broker, &text, 1, tube, &status, NULL), WEIR_OK);
    return status;
}

TEST(of_the_key, "a refusal names the put_id also where it is the key's text")
{
    static const char text[] = "order-17";
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    const struct weir_body body = {"another", 7, NULL};
    struct weir_put_options options = {.put_id = text, .key = text};
    struct weir_error error;
    (void)jobs_put(broker, "t", "x", &options);
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &options, NULL, &error), WEIR_ESTATE);
    CHECK_STRING(error.text,
                 "job 1 has the put_id \"order-17\", and another body or other headers");
    options.put_id = NULL;
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &options, NULL, &error), WEIR_EBUSY);
    CHECK_STRING(error.text, "job 1 has the key \"order-17\"");
    weir_broker_close(broker);
}

TEST(of_a_tube, "a put_id is that of one tube, which a job that has it cannot be moved to")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    const struct weir_put_options options = {.put_id = "order-17"};
    int64_t mail = jobs_put(broker, "mail", "x", &options);
    int64_t bill = jobs_put(broker, "bill", "another", &options);
    CHECK_INT(mail, !=, bill);
    CHECK_STATUS(change_tube(broker, mail, "bill"), WEIR_EBUSY);
    CHECK_STATUS(change_tube(broker, mail, "other"), WEIR_OK);
    CHECK_INT(jobs_put(broker, "other", "x", &options), ==, mail);
    /* The tube of the put has it no more. */
    CHECK_INT(jobs_put(broker, "mail", "x", &options), >, bill);
    weir_broker_close(broker);
}

TEST(ended, "a job that has ended counts for 10 minutes, and longer where the clock is set back")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    const struct weir_tube_policy policy = {.keep_ns = WEIR_SECONDS(86400)};
    const struct weir_put_options options = {.put_id = "p"};
    CHECK_STATUS(weir_broker_set_policy(broker, "t", &policy, NULL), WEIR_OK);
    int64_t first = jobs_put(broker, "t", "x", &options);
    settle(broker, jobs_reserve_one(broker, "t"), WEIRI_JOB_DONE);
    int64_t other = jobs_put(broker, "other", "x", &options);
    CHECK_STATUS(change_tube(broker, other, "t"), WEIR_EBUSY);
    jobs_wall_step(&wall, WEIR_SECONDS(600) - 1);
    CHECK_INT(put(broker, "p", -1, "x"), ==, first);
    CHECK_INT(put(broker, "p", -1, "y"), ==, 0);
    jobs_wall_step(&wall, -WEIR_SECONDS(86400));
    CHECK_INT(put(broker, "p", -1, "x"), ==, first);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
    jobs_wall_step(&wall, WEIR_SECONDS(86400) + 1);
    int64_t second = put(broker, "p", -1, "y");
    CHECK_INT(second, >, first);
    settle(broker, jobs_reserve_one(broker, "t"), WEIRI_JOB_DONE);
    jobs_wall_step(&wall, WEIR_SECONDS(600));
    CHECK_STATUS(change_tube(broker, other, "t"), WEIR_OK);
    weir_broker_close(broker);
}

TEST(before_the_key, "a repeated put with a key meets its own job, and another one meets the key")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    jobs_keep_none(broker, "t");
    for (int mode = WEIR_DUPLICATE_REFUSE; mode <= WEIR_DUPLICATE_AGAIN; mode++) {
        int64_t first = put(broker, "p", mode, "x");
        CHECK_INT(put(broker, "p", mode, "x"), ==, first);
        CHECK_INT(put(broker, "p", mode, "y"), ==, 0);
        CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
        int64_t met = put(broker, "q", mode, "y");
        CHECK_INT(met, ==, mode == WEIR_DUPLICATE_REFUSE ? 0 : first);
        settle(broker, jobs_reserve_one(broker, "t"), WEIRI_JOB_DONE);
        jobs_wall_step(&wall, 1);
    }
    weir_broker_close(broker);
}

TEST(renewed, "a put that gives a job another body brings its own put_id, or none")
{
    static const int modes[] = {WEIR_DUPLICATE_REPLACE, WEIR_DUPLICATE_DEBOUNCE};
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    for (size_t i = 0; i < 2; i++) {
        int64_t number = put(broker, "p1", modes[i], "1");
        CHECK_INT(put(broker, "p2", modes[i], "2"), ==, number);
        CHECK_INT(put(broker, "p2", WEIR_DUPLICATE_REFUSE, "2"), ==, number);
        check_identity(broker, number, "p2");
        CHECK_INT(put(broker, NULL, modes[i], "3"), ==, number);
        CHECK_INT(put(broker, "p2", WEIR_DUPLICATE_REFUSE, "2"), ==, 0); /* it was replaced */
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        CHECK(strncmp(job->job.identity, "p", 1) != 0);
        settle(broker, job, WEIRI_JOB_DONE);
    }
    weir_broker_close(broker);
}

TEST(kept, "a put that leaves the job that it finds leaves no put_id")
{
    static const int modes[] = {WEIR_DUPLICATE_KEEP, WEIR_DUPLICATE_THROTTLE, WEIR_DUPLICATE_AGAIN};
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    jobs_keep_none(broker, "t");
    for (size_t i = 0; i < 3; i++) {
        int64_t number = put(broker, "p1", modes[i], "x");
        CHECK_INT(put(broker, "p2", modes[i], "x"), ==, number);
        check_identity(broker, number, "p1");
        settle(broker, jobs_reserve_one(broker, "t"), WEIRI_JOB_DONE);
        jobs_wall_step(&wall, 1);
        CHECK_INT(put(broker, "p2", modes[i], "x"), >, number);
        settle(broker, jobs_reserve_one(broker, "t"), WEIRI_JOB_DONE);
        jobs_wall_step(&wall, 1);
    }
    weir_broker_close(broker);
}

TEST(during, "a put during a run is repeated without asking for a second run after it")
{
    static const struct {
        int mode;
        enum weiri_job_event end;
    } ways[] = {{WEIR_DUPLICATE_AGAIN, WEIRI_JOB_DONE},
                {WEIR_DUPLICATE_AGAIN, WEIRI_JOB_RELEASE},
                {WEIR_DUPLICATE_DEBOUNCE, WEIRI_JOB_DONE},
                {WEIR_DUPLICATE_DEBOUNCE, WEIRI_JOB_BURY}};
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    jobs_keep_none(broker, "t");
    for (size_t i = 0; i < 4; i++) {
        int mode = ways[i].mode;
        int64_t number = put(broker, "p1", mode, "1");
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        CHECK_INT(put(broker, "p2", mode, "2"), ==, number);
        /* The run under way is that of p1, though its body is gone. */
        CHECK_INT(put(broker, "p1", mode, "1"), ==, number);
        CHECK_INT(put(broker, "p2", mode, "2"), ==, number);
        CHECK_INT(put(broker, "p2", mode, "other"), ==, 0);
        int64_t other = jobs_put(broker, "other", "2", &(struct weir_put_options){.put_id = "p2"});
        CHECK_STATUS(change_tube(broker, other, "t"), WEIR_EBUSY);
        settle(broker, job, ways[i].end);
        CHECK_INT(put(broker, "p2", mode, "2"), ==, number);
        job = jobs_reserve_one(broker, "t");
        CHECK_STRING(job->job.identity, "p2");
        CHECK_INT(put(broker, "p2", mode, "2"), ==, number);
        settle(broker, job, WEIRI_JOB_DONE);
        CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
        CHECK_STATUS(change_tube(broker, other, "t"), WEIR_OK);
        settle(broker, jobs_reserve_one(broker, "t"), WEIRI_JOB_DONE);
    }
    weir_broker_close(broker);
}

TEST(during_without, "a put without a put_id during a run leaves the next run none")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    int64_t number = put(broker, "p1", WEIR_DUPLICATE_AGAIN, "1");
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_INT(put(broker, NULL, WEIR_DUPLICATE_AGAIN, "2"), ==, number);
    CHECK_INT(put(broker, "p1", WEIR_DUPLICATE_AGAIN, "1"), ==, number);
    settle(broker, job, WEIRI_JOB_DONE);
    job = jobs_reserve_one(broker, "t");
    CHECK_INT(memcmp(job->job.body, "2", 1), ==, 0);
    CHECK(strcmp(job->job.identity, "p1") != 0 && job->job.identity[0] != '\0');
    settle(broker, job, WEIRI_JOB_DONE);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
    weir_broker_close(broker);
}

/* --- moves --- */

static struct weir_move_counts move(weir_broker *from, weir_broker *to)
{
    struct weir_move_counts counts;
    CHECK_STATUS(weir_broker_move(from, to, "t", NULL, NULL, &counts, NULL), WEIR_OK);
    return counts;
}

static int keep_identity(const struct weir_job *job, void *arg)
{
    (void)snprintf(arg, WEIR_PUT_ID_SIZE_MAX + 1, "%s", job->identity);
    return 0;
}

TEST(keeps_identities, "a job takes its identity along, there and back, with a put_id and without")
{
    char names[3][WEIR_PUT_ID_SIZE_MAX + 1];
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    for (int i = 0; i < 2; i++) {
        const struct weir_put_options options = {.put_id = i == 0 ? "p" : NULL};
        (void)jobs_put(from, "t", "x", &options);
        CHECK_STATUS(weir_broker_peek(from, "t", 0, 1, keep_identity, names[0], NULL), WEIR_OK);
        CHECK_INT(move(from, to).moved, ==, 1);
        CHECK_STATUS(weir_broker_peek(to, "t", 0, 1, keep_identity, names[1], NULL), WEIR_OK);
        CHECK_STRING(names[1], names[0]);
        CHECK_INT(move(to, from).moved, ==, 1);
        struct weiri_reservation *job = jobs_reserve_one(from, "t");
        CHECK_STRING(job->job.identity, names[0]);
        CHECK_STATUS(jobs_settle(from, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
        jobs_free_one(from, job);
    }
    weir_broker_close(from);
    weir_broker_close(to);
}

TEST(of_its_own_run, "a put with the identity of a job that has no put_id puts another job")
{
    weir_broker *broker = jobs_store_open("s.db", &wall);
    (void)jobs_put(broker, "t", "poll", NULL);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    const struct weir_put_options options = {.put_id = job->job.identity};
    CHECK_INT(jobs_put(broker, "t", "poll", &options), ==, 2);
    CHECK_INT(jobs_put(broker, "t", "poll", &options), ==, 2);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

TEST(put_id_of_another, "a job with the put_id of a job of the target with another body is left")
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    const struct weir_put_options options = {.put_id = "7"};
    (void)jobs_put(from, "t", "ours", &options);
    (void)jobs_put(to, "t", "theirs", &options);
    CHECK_INT(move(from, to).left, ==, 1);
    CHECK_COUNTS(from, "t", 0, 1, 0, 0);
    CHECK_COUNTS(to, "t", 0, 1, 0, 0);
    weir_broker_close(from);
    weir_broker_close(to);
}

/* --- processes --- */

enum {
    PUTS = 12
};

static void name_put(int i, char put_id[16])
{
    (void)snprintf(put_id, 16, "put-%d", i);
}

/* Puts all, and is killed after the put `last`, before that is acknowledged. */
static void put_all(int first, int last, _Atomic int *acknowledged)
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    for (int i = first; i < PUTS; i++) {
        char put_id[16];
        name_put(i, put_id);
        const struct weir_put_options options = {.put_id = put_id,
                                                 .delay_ns = i % 2 == 0 ? 0 : WEIR_SECONDS(1)};
        (void)jobs_put(broker, "t", put_id, &options);
        if (i == last) {
            (void)kill(getpid(), SIGKILL);
        }
        *acknowledged = i + 1;
    }
    weir_broker_close(broker);
}

TEST(killed, "a producer that is killed after a put, and begins again with it, puts each job once")
{
    _Atomic int *acknowledged = mmap(NULL, sizeof(*acknowledged), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(acknowledged != MAP_FAILED);
    for (int kills = 0; kills <= PUTS; kills++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            put_all(*acknowledged, *acknowledged + (kills % 3), acknowledged);
            _exit(0);
        }
        int status;
        CHECK_INT(waitpid(child, &status, 0), ==, child);
        CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
    }
    put_all(*acknowledged, PUTS, acknowledged);
    CHECK_INT(*acknowledged, ==, PUTS);
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_COUNTS(broker, "t", PUTS / 2, PUTS / 2, 0, 0);
    CHECK_INT(jobs_counts(broker, "t").put, ==, PUTS);
    for (int i = 0; i < PUTS; i++) {
        char put_id[16];
        name_put(i, put_id);
        check_identity(broker, i + 1, put_id);
    }
    weir_broker_close(broker);
}

/* --- batches --- */

enum {
    MANY = 250 /* more than a put that is not cut */
};

/* Options of many bodies, each with a key and a put_id, every other one with a delay. */
struct batch {
    struct weir_body bodies[MANY];
    struct weir_put_options options[MANY];
    struct weir_job_id ids[MANY];
    char names[MANY][16];
};

static void make_batch(struct batch *batch)
{
    for (int i = 0; i < MANY; i++) {
        char *name = batch->names[i];
        (void)snprintf(name, sizeof(batch->names[i]), "%d", i);
        batch->options[i] =
            (struct weir_put_options){.key = name,
                                      .put_id = name,
                                      .priority = i,
                                      .delay_ns = i % 2 == 0 ? 0 : WEIR_SECONDS(60)};
        batch->bodies[i] = (struct weir_body){name, strlen(name), &batch->options[i]};
        batch->ids[i].text[0] = '\0';
    }
}

static struct batch batch;

TEST(own_options, "bodies have options of their own, in place of those of the call")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    const struct weir_put_options all = {.priority = 9, .group = "all"};
    make_batch(&batch);
    batch.bodies[4].options = NULL;
    ((struct weiri_store *)broker->store)->put_ns = 0;
    CHECK_STATUS(weir_broker_put(broker, "t", batch.bodies, 5, &all, batch.ids, NULL), WEIR_OK);
    CHECK_COUNTS(broker, "t", 2, 3, 0, 0);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK(job->job.group == NULL);
    CHECK_STRING(job->job.key, "0");
    CHECK_STRING(job->job.identity, "0");
    CHECK_STRING(job->job.id, batch.ids[0].text);
    settle(broker, job, WEIRI_JOB_DONE);
    settle(broker, jobs_reserve_one(broker, "t"), WEIRI_JOB_DONE);
    job = jobs_reserve_one(broker, "t");
    CHECK_STRING(job->job.group, "all");
    CHECK_INT(job->job.priority, ==, 9);
    CHECK(job->job.key == NULL);
    settle(broker, job, WEIRI_JOB_DONE);
    weir_broker_close(broker);
}

TEST(repeated_batch, "of a batch that is repeated, or put in another one, each body has its job")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_job_id *again = calloc(MANY, sizeof(*again));
    make_batch(&batch);
    ((struct weiri_store *)broker->store)->put_ns = 0;
    CHECK_STATUS(weir_broker_put(broker, "t", batch.bodies, 101, NULL, batch.ids, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_put(broker, "t", batch.bodies, MANY, NULL, batch.ids, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_put(broker, "t", batch.bodies, MANY, NULL, again, NULL), WEIR_OK);
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(strtol(batch.ids[i].text, NULL, 10), ==, i + 1);
        CHECK_STRING(again[i].text, batch.ids[i].text);
    }
    CHECK_COUNTS(broker, "t", MANY / 2, MANY / 2, 0, 0);
    free(again);
    weir_broker_close(broker);
}

TEST(refused_batch, "a batch with a body that is refused puts none, renews none, and says which")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_error error;
    make_batch(&batch);
    ((struct weiri_store *)broker->store)->put_ns = 0;
    CHECK_STATUS(weir_broker_put(broker, "t", &batch.bodies[3], 1, NULL, NULL, NULL), WEIR_OK);
    batch.options[3] = (struct weir_put_options){
        .key = "3", .put_id = "other", .on_duplicate = WEIR_DUPLICATE_REPLACE};
    batch.bodies[3].data = "?";
    CHECK_INT(jobs_put(broker, "t", "has it", &(struct weir_put_options){.key = "240"}), ==, 2);
    CHECK_STATUS(weir_broker_put(broker, "t", batch.bodies, MANY, NULL, batch.ids, &error),
                 WEIR_EBUSY);
    CHECK_STRING(error.text, "bodies[240]: job 2 has the key \"240\"");
    CHECK_STRING(batch.ids[0].text, "");
    CHECK_COUNTS(broker, "t", 1, 1, 0, 0);
    check_identity(broker, 1, "3");
    batch.options[240].key = NULL;
    batch.options[5].put_id = "3";
    CHECK_STATUS(weir_broker_put(broker, "t", batch.bodies + 4, 9, NULL, NULL, &error),
                 WEIR_ESTATE);
    CHECK_STRING(error.text,
                 "bodies[1]: job 1 has the put_id \"3\", and another body or other headers");
    batch.options[7].ttr_ns = 1;
    CHECK_STATUS(weir_broker_put(broker, "t", batch.bodies, 9, NULL, NULL, &error), WEIR_ERANGE);
    CHECK_STRING(error.text, "bodies[7]: ttr_ns is 1: expected 100000000 or more");
    CHECK_COUNTS(broker, "t", 1, 1, 0, 0);
    weir_broker_close(broker);
}

/* Puts that share one transaction, as those of several threads do. */
static void run_group(struct weiri_store *store, void *arg)
{
    struct weiri_put_request *requests = arg;
    weiri_put_run(store, &requests[0]);
    weiri_put_run_whole(store, &requests[1]);
    weiri_put_run(store, &requests[2]);
}

TEST(refused_in_a_group, "a batch that is refused leaves the other puts of its transaction alone")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    const struct weir_put_options options[] = {{.put_id = "a"}, {.key = "k"}, {.key = "k"}};
    const struct weir_body bodies[] = {
        {"1", 1, &options[0]}, {"2", 1, &options[1]}, {"3", 1, &options[2]}};
    const struct weir_body plain = {"x", 1, NULL};
    int64_t numbers[3][3];
    struct weiri_put puts[3];
    struct weiri_put_request requests[3];
    for (int i = 0; i < 3; i++) {
        const struct weir_body *what = i == 1 ? bodies : &plain;
        CHECK_STATUS(
            weiri_broker_enter_put(broker, "t", what, i == 1 ? 3 : 1, NULL, &puts[i], NULL),
            WEIR_OK);
        requests[i] = (struct weiri_put_request){.put = &puts[i], .numbers = numbers[i]};
    }
    CHECK_STATUS(weiri_commit(broker->store, run_group, requests, NULL), WEIR_OK);
    CHECK_STATUS(requests[1].refusal, WEIR_EBUSY);
    CHECK_INT(requests[1].count, ==, 2);
    CHECK_COUNTS(broker, "t", 0, 2, 0, 0);
    CHECK_INT(jobs_put(broker, "t", "x", &(struct weir_put_options){.key = "k"}), >, numbers[2][0]);
    for (int i = 0; i < 3; i++) {
        if (puts[i].each != NULL) {
            weiri_release(&broker->config.allocator, puts[i].each, 3 * sizeof(*puts[i].each));
        }
    }
    weir_broker_close(broker);
}

TEST_OOM(lacks_memory, "a batch without memory puts all or none")
{
    weir_broker *broker;
    if (CHECK_OR_OOM(jobs_store_try_open("jobs.db", &wall, 0, &broker, NULL))) {
        return;
    }
    make_batch(&batch);
    enum weir_status status = weir_broker_put(broker, "t", batch.bodies, MANY, NULL, NULL, NULL);
    uint64_t expected = CHECK_OR_OOM(status) ? 0 : MANY;
    struct weir_tube_counts counts = {.put = 0};
    status = weir_broker_tubes(broker, "t", jobs_keep_counts, &counts, NULL);
    if (!CHECK_OR_OOM(status)) {
        CHECK_INT(counts.put, ==, expected);
    }
    weir_broker_close(broker);
}
