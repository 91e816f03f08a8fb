/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The fields of a job, each as its row of weir_job_fields() says: what is tested here is tested of
 * every row that there is. */
#include <weir/jobs.h>

#include <stdio.h>
#include <stdlib.h>

#include "support/harness.h"

static const struct weir_body body = {"x", 1, NULL};

static bool is_text(const struct weir_job_field *field)
{
    return field->kind <= WEIR_FIELD_UNIQUE;
}

static const char *text_of(const struct weir_job *job, const struct weir_job_field *field)
{
    const char *text;
    memcpy(&text, (const char *)job + field->job_offset, sizeof(text));
    return text;
}

static void set_text(struct weir_put_options *options, const struct weir_job_field *field,
                     const char *text)
{
    memcpy((char *)options + field->put_offset, &text, sizeof(text));
}

/* A text of so many bytes that the field's kind allows. */
static char *make_text(const struct weir_job_field *field, size_t size)
{
    char *text = calloc(1, size + 1);
    CHECK(text != NULL);
    memset(text, 'x', size);
    if (field->kind == WEIR_FIELD_LINES && size > 2) {
        text[1] = '=';
        text[size - 1] = '\n';
    }
    return text;
}

/* Options with each text, as long as it may be. */
struct full {
    struct weir_put_options options;
    char *texts[32];
    size_t count;
};

static void fill(struct full *full)
{
    *full = (struct full){.options = {.ttr_ns = WEIR_SECONDS(7), .priority = -5}};
    for (const struct weir_job_field *field = weir_job_fields(); field->name != NULL; field++) {
        if (is_text(field)) {
            char *text = make_text(field, (size_t)field->limit);
            full->texts[full->count++] = text;
            set_text(&full->options, field, text);
        }
    }
}

static void release(struct full *full)
{
    while (full->count > 0) {
        free(full->texts[--full->count]);
    }
}

static weir_broker *open_broker(const char *url)
{
    weir_broker *broker = NULL;
    CHECK_STATUS(weir_broker_open(url, NULL, &broker, NULL), WEIR_OK);
    return broker;
}

/* What a job should have of the options: all its texts, or those that are not unique. */
struct expected {
    const struct full *full;
    bool has_unique;
    int jobs;
};

static int compare(const struct weir_job *job, void *arg)
{
    struct expected *expected = arg;
    size_t i = 0;
    expected->jobs++;
    for (const struct weir_job_field *field = weir_job_fields(); field->name != NULL; field++) {
        if (!is_text(field)) {
            continue;
        }
        const char *text = text_of(job, field);
        const char *put = expected->full->texts[i++];
        if (field->kind == WEIR_FIELD_UNIQUE && !expected->has_unique) {
            CHECK(text == NULL);
        } else {
            CHECK(text != NULL);
            CHECK_STRING(text, put);
        }
    }
    CHECK_INT(job->priority, ==, -5);
    CHECK_INT(job->ttr_ns, ==, WEIR_SECONDS(7));
    return 0;
}

static void check_job(weir_broker *broker, const struct full *full, bool has_unique)
{
    struct expected expected = {.full = full, .has_unique = has_unique};
    CHECK_STATUS(weir_broker_peek(broker, "t", 0, 9, compare, &expected, NULL), WEIR_OK);
    CHECK_INT(expected.jobs, ==, 1);
}

TEST(table, "the table has each name once, a limit for each text, and ends with no name")
{
    int texts = 0;
    for (const struct weir_job_field *field = weir_job_fields(); field->name != NULL; field++) {
        texts += is_text(field);
        CHECK(!is_text(field) || (field->limit > 0 && field->feature >= 0));
        CHECK(field->put_offset < sizeof(struct weir_put_options));
        CHECK(field->job_offset < sizeof(struct weir_job));
        for (const struct weir_job_field *other = weir_job_fields(); other != field; other++) {
            CHECK(strcmp(field->name, other->name) != 0);
        }
    }
    CHECK_INT(texts, >=, 3);
}

static enum weir_status put_text(weir_broker *broker, const struct weir_job_field *field,
                                 const char *text, struct weir_error *ret_error)
{
    struct weir_put_options options = {0};
    set_text(&options, field, text);
    return weir_broker_put(broker, "t", &body, 1, &options, NULL, ret_error);
}

TEST(limits, "each text is as long as its limit at most, and is empty where its kind allows that")
{
    weir_broker *broker = open_broker("sqlite:jobs.db");
    for (const struct weir_job_field *field = weir_job_fields(); field->name != NULL; field++) {
        if (!is_text(field)) {
            continue;
        }
        struct weir_error error;
        char *longest = make_text(field, (size_t)field->limit);
        char *longer = make_text(field, (size_t)field->limit + 1);
        CHECK_STATUS(put_text(broker, field, longest, NULL), WEIR_OK);
        CHECK_STATUS(put_text(broker, field, longer, &error), WEIR_ETOOBIG);
        CHECK(strncmp(error.text, field->name, strlen(field->name)) == 0);
        bool may_be_empty = field->kind == WEIR_FIELD_LINES || field->kind == WEIR_FIELD_TOLD;
        CHECK_STATUS(put_text(broker, field, "", &error), may_be_empty ? WEIR_OK : WEIR_EINVAL);
        free(longest);
        free(longer);
    }
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
}

TEST(spans, "each span is at least its limit")
{
    weir_broker *broker = open_broker("sqlite:jobs.db");
    for (const struct weir_job_field *field = weir_job_fields(); field->name != NULL; field++) {
        for (int less = 0; less < 2 && field->kind == WEIR_FIELD_SPAN; less++) {
            struct weir_put_options options = {0};
            int64_t span_ns = field->limit - less;
            memcpy((char *)&options + field->put_offset, &span_ns, sizeof(span_ns));
            CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &options, NULL, NULL),
                         less > 0 ? WEIR_ERANGE : WEIR_OK);
        }
    }
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
}

TEST(kept, "a store keeps all fields of a put, also of one that renews a job")
{
    struct full full;
    fill(&full);
    weir_broker *broker = open_broker("sqlite:jobs.db");
    const struct weir_put_options first = {.key = full.options.key};
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &first, NULL, NULL), WEIR_OK);
    full.options.on_duplicate = WEIR_DUPLICATE_REPLACE;
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &full.options, NULL, NULL), WEIR_OK);
    check_job(broker, &full, true);
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
    broker = open_broker("sqlite:other.db");
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &full.options, NULL, NULL), WEIR_OK);
    check_job(broker, &full, true);
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
    release(&full);
}

TEST(moved, "a move carries all fields but those of one job")
{
    struct full full;
    struct weir_move_counts counts;
    fill(&full);
    weir_broker *from = open_broker("sqlite:from.db");
    weir_broker *to = open_broker("sqlite:to.db");
    CHECK_STATUS(weir_broker_put(from, "t", &body, 1, &full.options, NULL, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_move(from, to, "t", NULL, NULL, &counts, NULL), WEIR_OK);
    CHECK_INT(counts.moved, ==, 1);
    check_job(to, &full, false);
    CHECK_STATUS(weir_broker_close(from), WEIR_OK);
    CHECK_STATUS(weir_broker_close(to), WEIR_OK);
    release(&full);
}

TEST(produced, "a producer copies all fields but those of one job, which it refuses")
{
    struct full full;
    weir_producer *producer = NULL;
    weir_broker *broker = open_broker("sqlite:jobs.db");
    for (const struct weir_job_field *field = weir_job_fields(); field->name != NULL; field++) {
        if (field->kind == WEIR_FIELD_UNIQUE) {
            struct weir_error error;
            struct weir_put_options options = {0};
            set_text(&options, field, "x");
            CHECK_STATUS(weir_producer_open(broker, "t", &options, &producer, &error), WEIR_EINVAL);
            CHECK(strncmp(error.text, field->name, strlen(field->name)) == 0);
            const struct weir_body two[] = {body, body};
            CHECK_STATUS(weir_broker_put(broker, "t", two, 2, &options, NULL, NULL), WEIR_EINVAL);
        }
    }
    fill(&full);
    struct weir_put_options options = full.options;
    for (const struct weir_job_field *field = weir_job_fields(); field->name != NULL; field++) {
        if (field->kind == WEIR_FIELD_UNIQUE) {
            set_text(&options, field, NULL);
        }
    }
    CHECK_STATUS(weir_producer_open(broker, "t", &options, &producer, NULL), WEIR_OK);
    /* What the caller had is its own again. */
    struct full expected;
    fill(&expected);
    for (size_t i = 0; i < full.count; i++) {
        memset(full.texts[i], '?', strlen(full.texts[i]));
    }
    release(&full);
    CHECK_STATUS(weir_producer_delay(producer, body, 0, NULL, NULL), WEIR_OK);
    check_job(broker, &expected, false);
    release(&expected);
    weir_producer_close(producer);
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
}

TEST(refused, "a broker that cannot keep a field refuses its puts, and says so")
{
    weir_broker *broker = open_broker("beanstalk://127.0.0.1:1?replicas=1");
    for (const struct weir_job_field *field = weir_job_fields(); field->name != NULL; field++) {
        if (is_text(field)) {
            struct weir_error error;
            char *text = make_text(field, 4);
            CHECK(!weir_broker_can(broker, (enum weir_feature)field->feature));
            CHECK_STATUS(put_text(broker, field, text, &error), WEIR_ENOTSUP);
            free(text);
        }
    }
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
}
