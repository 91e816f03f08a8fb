/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Assumptions of the statements and the connection. */
#include "jobs/sqlite/store.h"

#include "jobs/sqlite/schema.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

struct plan_row {
    enum weiri_sql which;
    const char *plan;
};

/* The steps of the plan of a statement, each with a newline. */
static char *plan_of(struct weiri_store *store, enum weiri_sql which, char text[8192])
{
    char sql[4096];
    (void)snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", weiri_sql_texts[which]);
    sqlite3_stmt *statement;
    CHECK_INT(sqlite3_prepare_v2(store->writer.db, sql, -1, &statement, NULL), ==, SQLITE_OK);
    for (size_t size = 0; sqlite3_step(statement) == SQLITE_ROW;) {
        int more = snprintf(text + size, 8192 - size, "%s\n", sqlite3_column_text(statement, 3));
        size += (size_t)more;
    }
    CHECK_INT(sqlite3_finalize(statement), ==, SQLITE_OK);
    return text;
}

TEST(plans, "each statement walks the one index made for it, in order, without sorting")
{
    static const struct plan_row rows[] = {
        {WEIRI_SQL_ONE_BEFORE, "SEARCH jobs USING COVERING INDEX jobs_delayed (tube=? AND state=? "
                               "AND priority=? AND run_at>? AND run_at<?)"},
        {WEIRI_SQL_FIRST_LEASE,
         "SEARCH jobs USING COVERING INDEX jobs_reserved (tube=? AND state=?)"},
        {WEIRI_SQL_SAVE, "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_DELETE_BODY, "SEARCH bodies USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_ADD_TOTALS, "SEARCH tubes USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_LAST_READY,
         "SEARCH jobs USING COVERING INDEX jobs_ready (tube=? AND state=? AND priority=?)"},
        {WEIRI_SQL_TUBE_RECORD, "SEARCH tubes USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_PAUSE, "SEARCH tubes USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_SET_POLICY, "SEARCH tubes USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_FIND_TUBE,
         "SEARCH tubes USING COVERING INDEX sqlite_autoindex_tubes_1 (name=?)"},
        {WEIRI_SQL_EXPIRED,
         "SEARCH jobs USING COVERING INDEX jobs_reserved (tube=? AND state=? AND lease<?)"},
        {WEIRI_SQL_PEEK_RESERVED,
         "SEARCH jobs USING COVERING INDEX jobs_reserved (tube=? AND state=?)"},
        {WEIRI_SQL_ADD_ATTEMPT, "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_DELETE_ATTEMPTS, "SEARCH attempts USING PRIMARY KEY (job=?)"},
        {WEIRI_SQL_REFILE_THROTTLE, "SEARCH throttles USING INTEGER PRIMARY KEY (rowid=?)\nSCALAR "
                                    "SUBQUERY 1\nSEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_FREE_KEY, "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_RUN_AGAIN, "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_TAKE_AGAIN, "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_RENEW, "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_RENEW_BODY, "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_FIRST_FIRING, "SEARCH schedules USING INDEX schedules_next (tube=?)"},
        {WEIRI_SQL_NOTE_FIRINGS, "SEARCH schedules USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_SCHEDULE_BODY, "SEARCH schedules USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_PAUSE_SCHEDULE, "SEARCH schedules USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_RESUME_SCHEDULE, "SEARCH schedules USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_DELETE_SCHEDULE, "SEARCH schedules USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_REFILE, "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_END_JOB, "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"},
        {WEIRI_SQL_PEEK_ENDED, "SEARCH jobs USING COVERING INDEX jobs_ended (tube=? AND state=?)"},
        {WEIRI_SQL_PEEK_BURIED,
         "SEARCH jobs USING COVERING INDEX jobs_buried (tube=? AND state=?)"},
    };
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[8192] = "";
        char expected[400];
        (void)snprintf(expected, sizeof(expected), "%s\n", rows[i].plan);
        CHECK_STRING(plan_of(broker->store, rows[i].which, text), expected);
    }
    weir_broker_close(broker);
}

/* Checks that the plan of a statement has these steps and no other. */
static void expect_steps(enum weiri_sql which, const char *const *steps, size_t count)
{
    char text[8192] = "";
    char expected[8192] = "";
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    for (size_t i = 0, size = 0; i < count; i++) {
        int more = snprintf(expected + size, sizeof(expected) - size, "%s\n", steps[i]);
        size += (size_t)more;
    }
    CHECK_STRING(plan_of(broker->store, which, text), expected);
    weir_broker_close(broker);
}

TEST(plan_of_rows, "a job is found by its number, and its state read from the row")
{
    const char *const steps[] = {"SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)",
                                 "CORRELATED SCALAR SUBQUERY 1",
                                 "SEARCH own USING INTEGER PRIMARY KEY (rowid=?)"};
    expect_steps(WEIRI_SQL_LOAD, steps, 3);
}

/* Walks the priorities of a tube's delayed jobs: one step of an index each. */
#define NEXT_LEVEL                                                                                 \
    "SEARCH jobs USING COVERING INDEX jobs_delayed (tube=? AND state=? AND priority>?)"
#define DUE "SEARCH jobs USING INDEX jobs_delayed (tube=? AND state=? AND priority=? AND run_at<?)"
#define FULL_GROUPS "SEARCH jobs USING INDEX jobs_group (tube=? AND group>?)"

TEST(plan_of_pick, "the next job is the first of two indexes, of ready jobs and of delayed ones of "
                   "the first priority that has a due one; no bodies are sorted")
{
    static const char *const steps[] = {
        "MATERIALIZE next",
        "MERGE (UNION ALL)",
        "LEFT",
        "MERGE (UNION ALL)",
        "LEFT",
        "SEARCH jobs USING INDEX jobs_ready (tube=? AND state=? AND priority<?)",
        "SCALAR SUBQUERY 7",
        "MATERIALIZE due",
        "MATERIALIZE levels",
        "SETUP",
        "SCAN CONSTANT ROW",
        "RECURSIVE STEP",
        "SCAN levels",
        "CORRELATED SCALAR SUBQUERY 4",
        DUE,
        "LIST SUBQUERY 3",
        FULL_GROUPS,
        "CORRELATED SCALAR SUBQUERY 2",
        NEXT_LEVEL,
        "SCAN levels",
        "SCAN due",
        "LIST SUBQUERY 8",
        FULL_GROUPS,
        "RIGHT",
        DUE,
        "SCALAR SUBQUERY 10",
        "SCAN due",
        "LIST SUBQUERY 11",
        FULL_GROUPS,
        "RIGHT",
        "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)",
        "SCALAR SUBQUERY 13",
        "SCAN due",
        "SCAN next",
        "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
        "SEARCH bodies USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
        "CORRELATED SCALAR SUBQUERY 15",
        "SEARCH own USING INTEGER PRIMARY KEY (rowid=?)",
        "SCALAR SUBQUERY 16",
        "SEARCH meta USING INTEGER PRIMARY KEY (rowid=?)"};
    expect_steps(WEIRI_SQL_PICK, steps, sizeof(steps) / sizeof(steps[0]));
}

TEST(plan_of_suspects, "the next suspect is the first of one index; of its tube only the groups of "
                       "reserved jobs are counted")
{
    static const char *const steps[] = {
        "SEARCH jobs USING INDEX jobs_suspects (tube=? AND state=?)", "LIST SUBQUERY 2",
        FULL_GROUPS, "CORRELATED SCALAR SUBQUERY 1",
        "SEARCH own USING INTEGER PRIMARY KEY (rowid=?)"};
    expect_steps(WEIRI_SQL_FIRST_SUSPECT, steps, sizeof(steps) / sizeof(steps[0]));
}

/* Checks that the index of delayed jobs is walked by priorities and then, for each, as a step says,
 * and that a statement walks no table. */
static void expect_levels(enum weiri_sql which, const char *step)
{
    char text[8192] = "";
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)plan_of(broker->store, which, text);
    CHECK(strstr(text, NEXT_LEVEL "\n") != NULL);
    CHECK(strstr(text, step) != NULL);
    CHECK(strstr(text, "SCAN jobs") == NULL);
    weir_broker_close(broker);
}

TEST(plan_of_delayed, "delayed jobs are found priority by priority, the first ones of each")
{
    static const char after[] = "SEARCH jobs USING COVERING INDEX jobs_delayed (tube=? AND state=? "
                                "AND priority=? AND run_at>?)\n";
    expect_levels(WEIRI_SQL_FIRST_DELAYED, after);
    expect_levels(WEIRI_SQL_PEEK_DELAYED, after);
    expect_levels(WEIRI_SQL_MAKE_READY,
                  "SEARCH jobs USING COVERING INDEX jobs_delayed (tube=? AND state=? AND "
                  "priority=? AND run_at>? AND run_at<?)\n");
    expect_levels(WEIRI_SQL_PEEK_READY,
                  "SEARCH jobs USING COVERING INDEX jobs_delayed (tube=? AND state=? AND "
                  "priority=? AND run_at<?)\n");
}

TEST(plan_of_bodies, "jobs are checked in the order of their ids, each with its body")
{
    static const char *const steps[] = {
        "SEARCH jobs USING INTEGER PRIMARY KEY (rowid>?)",
        "SEARCH bodies USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN"};
    expect_steps(WEIRI_SQL_CHECK_JOBS, steps, 2);
}

TEST(plan_of_lists, "jobs are listed in the order of their rows, or where they are few by the "
                    "indexes of their states, of which only ids are sorted")
{
    static const char *const steps[] = {
        "SEARCH jobs USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        "SEARCH bodies USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN"};
    static const char *const states[] = {"delayed", "ready", "suspects", "reserved",
                                         "buried",  "ended", "stubs"};
    char few[8192] = "";
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    expect_steps(WEIRI_SQL_PAGE, steps, 2);
    (void)plan_of(broker->store, WEIRI_SQL_PAGE_OF_FEW, few);
    CHECK(strstr(few, "USE TEMP B-TREE FOR ORDER BY\nSCAN few\n") != NULL);
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        char step[128];
        (void)snprintf(step, sizeof(step),
                       "SEARCH jobs USING COVERING INDEX jobs_%s (tube>? AND tube<?)", states[i]);
        CHECK(strstr(few, step) != NULL);
    }
    weir_broker_close(broker);
}

TEST(plan_of_ended, "ended jobs are counted in their index, without their rows, up to the one "
                    "behind which they are too many; the first ones are "
                    "read for their put_ids; rows leave by the index of stubs, each of which says "
                    "itself that it is one")
{
    static const char *const kept[] = {
        "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)",
        "LIST SUBQUERY 7",
        "CO-ROUTINE (subquery-6)",
        "CO-ROUTINE (subquery-8)",
        "CO-ROUTINE (subquery-5)",
        "SEARCH jobs USING INDEX jobs_ended (tube=? AND state=? AND lease<?)",
        "SCALAR SUBQUERY 4",
        "MERGE (UNION ALL)",
        "LEFT",
        "SCAN CONSTANT ROW",
        "RIGHT",
        "CO-ROUTINE (subquery-3)",
        "SCALAR SUBQUERY 2",
        "SCAN tubes USING COVERING INDEX sqlite_autoindex_tubes_1",
        "SEARCH jobs USING COVERING INDEX jobs_ended (tube=? AND state=?)",
        "SCAN (subquery-3)",
        "USE TEMP B-TREE FOR ORDER BY",
        "REUSE SUBQUERY 4",
        "SCAN (subquery-5)",
        "USE TEMP B-TREE FOR ORDER BY",
        "SCAN (subquery-8)",
        "SCAN (subquery-6)"};
    expect_steps(WEIRI_SQL_END_KEPT, kept, sizeof(kept) / sizeof(kept[0]));
    static const char *const lump[] = {"SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)",
                                       "LIST SUBQUERY 1",
                                       "SCAN jobs USING COVERING INDEX jobs_stubs"};
    expect_steps(WEIRI_SQL_DELETE_LUMP, lump, sizeof(lump) / sizeof(lump[0]));
    static const char *const counts[] = {
        "SEARCH tubes USING INDEX sqlite_autoindex_tubes_1 (name=?)",
        "CORRELATED SCALAR SUBQUERY 1",
        "SEARCH jobs USING COVERING INDEX jobs_ended (tube=? AND state=?)", "SCALAR SUBQUERY 2",
        "SCAN tubes USING COVERING INDEX sqlite_autoindex_tubes_1"};
    expect_steps(WEIRI_SQL_POLICY_COUNTS, counts, sizeof(counts) / sizeof(counts[0]));
}

TEST(plan_of_attempts, "of the attempts of a job only its own are read, and sorted, with its row")
{
    static const char *const steps[] = {"MERGE (UNION ALL)",
                                        "LEFT",
                                        "SEARCH attempts USING PRIMARY KEY (job=?)",
                                        "SCALAR SUBQUERY 1",
                                        "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)",
                                        "USE TEMP B-TREE FOR ORDER BY",
                                        "RIGHT",
                                        "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"};
    expect_steps(WEIRI_SQL_ATTEMPTS, steps, sizeof(steps) / sizeof(steps[0]));
}

TEST(plan_of_keys, "a key and its throttle are found in one index each, the throttles whose time "
                   "has passed in one by time")
{
    static const char *const find[] = {
        "COMPOUND QUERY",
        "LEFT-MOST SUBQUERY",
        "SEARCH jobs USING COVERING INDEX jobs_key (tube=? AND key=?)",
        "UNION ALL",
        "CO-ROUTINE (subquery-2)",
        "SEARCH throttles USING COVERING INDEX throttles_key (tube=? AND key=?)",
        "SCAN (subquery-2)"};
    expect_steps(WEIRI_SQL_FIND_KEY, find, sizeof(find) / sizeof(find[0]));
    static const char *const end[] = {
        "SEARCH throttles USING INTEGER PRIMARY KEY (rowid=?)",
        "LIST SUBQUERY 3",
        "COMPOUND QUERY",
        "LEFT-MOST SUBQUERY",
        "SEARCH throttles USING COVERING INDEX throttles_key (tube=? AND key=?)",
        "UNION ALL",
        "CO-ROUTINE (subquery-2)",
        "SEARCH throttles USING COVERING INDEX throttles_until (until<?)",
        "SCAN (subquery-2)"};
    expect_steps(WEIRI_SQL_END_THROTTLES, end, sizeof(end) / sizeof(end[0]));
}

TEST(plan_of_an_identity,
     "the identity of one job is made of its row and a mark, its tube is found by name")
{
    static const char *const steps[] = {
        "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)", "SCALAR SUBQUERY 1",
        "SEARCH meta USING INTEGER PRIMARY KEY (rowid=?)", "SCALAR SUBQUERY 2",
        "SEARCH tubes USING COVERING INDEX sqlite_autoindex_tubes_1 (name=?)"};
    expect_steps(WEIRI_SQL_IS_LISTED, steps, sizeof(steps) / sizeof(steps[0]));
}

TEST(plan_of_put_ids, "the job of a put_id is found in two indexes, or by its number")
{
    static const char *const steps[] = {
        "COMPOUND QUERY",
        "LEFT-MOST SUBQUERY",
        "SEARCH jobs USING INDEX jobs_put_id (put_id=? AND tube=?)",
        "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)",
        "UNION ALL",
        "SEARCH jobs USING INDEX jobs_next_put_id (next_put_id=? AND tube=?)",
        "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)",
        "UNION ALL",
        "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)",
        "SCALAR SUBQUERY 3",
        "SEARCH meta USING INTEGER PRIMARY KEY (rowid=?)",
        "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"};
    expect_steps(WEIRI_SQL_FIND_PUT, steps, sizeof(steps) / sizeof(steps[0]));
    static const char *const taken[] = {
        "SEARCH a USING INTEGER PRIMARY KEY (rowid=?)",
        "CORRELATED SCALAR SUBQUERY 1",
        "SEARCH jobs USING COVERING INDEX jobs_key (tube=? AND key=?)",
        "CORRELATED SCALAR SUBQUERY 2",
        "SEARCH throttles USING COVERING INDEX throttles_key (tube=? AND key=? AND until>?)",
        "CORRELATED SCALAR SUBQUERY 4",
        "COMPOUND QUERY",
        "LEFT-MOST SUBQUERY",
        "SEARCH jobs USING INDEX jobs_put_id (put_id=? AND tube=?)",
        "UNION ALL",
        "SEARCH jobs USING INDEX jobs_next_put_id (next_put_id=? AND tube=?)"};
    expect_steps(WEIRI_SQL_TAKEN_IN_TUBE, taken, sizeof(taken) / sizeof(taken[0]));
}

TEST(plan_of_schedules,
     "schedules are found by name, or by the time that comes next, with their tube")
{
    static const struct {
        enum weiri_sql which;
        const char *first;
    } rows[] = {
        {WEIRI_SQL_SHOW_SCHEDULE, "SEARCH s USING INDEX sqlite_autoindex_schedules_1 (name>?)"},
        {WEIRI_SQL_FIND_SCHEDULE, "SEARCH s USING INDEX sqlite_autoindex_schedules_1 (name=?)"},
        {WEIRI_SQL_DUE_SCHEDULE, "SEARCH s USING INDEX schedules_next (tube=? AND next<?)"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const steps[] = {rows[i].first, "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"};
        expect_steps(rows[i].which, steps, 2);
    }
}

TEST(plan_of_counts,
     "jobs are counted in the indexes of their states, of which each has all that is "
     "asked for, for tubes and for a census alike")
{
    static const enum weiri_sql counts[] = {WEIRI_SQL_TUBES, WEIRI_SQL_CENSUS};
    static const char *const states[] = {"delayed", "ready", "suspects", "reserved",
                                         "buried",  "ended", "stubs"};
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    for (int i = 0; i < 2; i++) {
        char text[8192] = "";
        char expected[100];
        (void)plan_of(broker->store, counts[i], text);
        for (size_t k = 0; k < sizeof(states) / sizeof(states[0]); k++) {
            (void)snprintf(expected, sizeof(expected), "USING COVERING INDEX jobs_%s", states[k]);
            CHECK(strstr(text, expected) != NULL);
        }
        CHECK(strstr(text, "jobs USING INDEX") == NULL);
        CHECK(strstr(text, "TEMP B-TREE") == NULL || i == 0);
        CHECK(strstr(text, "SCAN t\n") == NULL);
    }
    weir_broker_close(broker);
}

TEST(writers, "a new job is written by one statement; one that a decision is about by one, and by "
              "those that write what has an index of its own, or a body")
{
    static const struct {
        enum weiri_sql which;
        const char *set; /* how it begins */
    } rows[] = {{WEIRI_SQL_SAVE, "state = ?2, run_at"},
                {WEIRI_SQL_RENEW, "(priority, ttr, \"group\", \"put_id\")"},
                {WEIRI_SQL_FREE_KEY, "key = NULL"},
                {WEIRI_SQL_RUN_AGAIN, "again = ?2"},
                {WEIRI_SQL_TAKE_AGAIN, "again = NULL, \"group\" = next_group"},
                {WEIRI_SQL_RENEW_BODY, "checksum = ?2, body"},
                {WEIRI_SQL_REFILE, "tube = ?2"},
                {WEIRI_SQL_END_LEASES, "lease = 0"},
                {WEIRI_SQL_MAKE_READY, "state = iif(lost > 1, 9, 2)"},
                {WEIRI_SQL_END_JOB, "state = iif(?4, 5, 6)"},
                {WEIRI_SQL_END_KEPT, "state = 6"},
                {WEIRI_SQL_END_PASSED, "state = 6"}};
    size_t found = 0;
    for (int i = 0; i < WEIRI_SQL_STATEMENTS; i++) {
        const char *sql = weiri_sql_texts[i];
        CHECK(strstr(sql, "INSERT INTO jobs") == NULL || i == WEIRI_SQL_ADD_JOB);
        CHECK(strstr(sql, "REPLACE INTO jobs") == NULL);
        if (strncmp(sql, "UPDATE jobs ", strlen("UPDATE jobs ")) != 0) {
            continue;
        }
        size_t k = 0;
        while (k < sizeof(rows) / sizeof(rows[0]) && (int)rows[k].which != i) {
            k++;
        }
        CHECK_INT(k, <, sizeof(rows) / sizeof(rows[0]));
        const char *set = strstr(sql, " SET ") + strlen(" SET ");
        CHECK_INT(strncmp(set, rows[k].set, strlen(rows[k].set)), ==, 0);
        found++;
    }
    CHECK_INT(found, ==, sizeof(rows) / sizeof(rows[0]));
}

TEST(settings, "the writer's settings are those that durability and safety rest on")
{
    static const struct {
        const char *pragma;
        const char *value;
    } rows[] = {
        {"journal_mode", "wal"},   {"synchronous", "1"},     {"wal_autocheckpoint", "0"},
        {"trusted_schema", "0"},   {"cell_size_check", "1"}, {"application_id", "2003134834"},
        {"integrity_check", "ok"},
    };
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = broker->store;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char sql[64];
        (void)snprintf(sql, sizeof(sql), "PRAGMA %s", rows[i].pragma);
        sqlite3_stmt *statement;
        CHECK_INT(sqlite3_prepare_v2(store->writer.db, sql, -1, &statement, NULL), ==, SQLITE_OK);
        CHECK_INT(sqlite3_step(statement), ==, SQLITE_ROW);
        if (strcmp(rows[i].pragma, "wal_autocheckpoint") != 0) {
            CHECK_STRING((const char *)sqlite3_column_text(statement, 0), rows[i].value);
        }
        CHECK_INT(sqlite3_finalize(statement), ==, SQLITE_OK);
    }
    int64_t user_version;
    CHECK(weiri_sql_find(&store->writer, WEIRI_SQL_USER_VERSION, NULL, &user_version));
    CHECK_INT(user_version & 0xff, ==, WEIRI_SCHEMA_VERSION);
    static const int options[][2] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                     {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
                                     {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                     {SQLITE_DBCONFIG_ENABLE_VIEW, 0}};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        int value = -1;
        CHECK_INT(sqlite3_db_config(store->writer.db, options[i][0], -1, &value), ==, SQLITE_OK);
        CHECK_INT(value, ==, options[i][1]);
    }
    weir_broker_close(broker);
}

static void check_end(const char *text, const char *end)
{
    CHECK(text != NULL && strlen(text) > strlen(end));
    CHECK_STRING(text + strlen(text) - strlen(end), end);
}

static void check_expanded(sqlite3_stmt *statement, const char *end)
{
    char *text = sqlite3_expanded_sql(statement);
    check_end(text, end);
    sqlite3_free(text);
}

/* Keeps the text, with its values, of the statement that begins. */
static int note_expanded(unsigned event, void *ret_text, void *statement, void *sql)
{
    char **text = ret_text;
    (void)event;
    (void)sql;
    sqlite3_free(*text);
    *text = sqlite3_expanded_sql(statement);
    return 0;
}

TEST(values, "a statement has values of each type from its start to its end, not longer")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_connection *writer = &((struct weiri_store *)broker->store)->writer;
    char headers[] = "a: b\n";
    char *text = NULL;
    (void)sqlite3_trace_v2(writer->db, SQLITE_TRACE_STMT, note_expanded, &text);
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_RENEW_BODY,
                            WEIRI_VALUES(7, INT64_MIN, false, weiri_blob("\x00\xff", 2), headers)),
              ==, SQLITE_OK);
    check_end(text, "checksum = -9223372036854775808, body = iif(0, NULL, x'00ff'), "
                    "told = iif(0, NULL, 'a: b\n') WHERE id = 7");
    check_expanded(writer->statements[WEIRI_SQL_RENEW_BODY],
                   "checksum = NULL, body = iif(NULL, NULL, NULL), "
                   "told = iif(NULL, NULL, NULL) WHERE id = NULL");

    const char *none = NULL;
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_RENEW_BODY,
                            WEIRI_VALUES(0, true, 1, weiri_blob(NULL, 0), none)),
              ==, SQLITE_OK);
    check_end(text, "body = iif(1, NULL, x''), told = iif(1, NULL, NULL) WHERE id = 0");
    int64_t tube;
    CHECK(!weiri_sql_find(writer, WEIRI_SQL_FIND_TUBE, WEIRI_VALUES(weiri_text_within("tube", 3)),
                          &tube));
    check_end(text, "name = 'tub'");
    sqlite3_free(text);
    weir_broker_close(broker);
}

TEST(values_refused, "a value that SQLite refuses ends its statement, which runs with others then")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_connection *writer = &((struct weiri_store *)broker->store)->writer;
    char name[2000];
    memset(name, 'a', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    int64_t tube = 7;
    CHECK(!weiri_sql_find(writer, WEIRI_SQL_FIND_TUBE, WEIRI_VALUES("t"), &tube));
    CHECK_INT(tube, ==, 0);
    int limit = sqlite3_limit(writer->db, SQLITE_LIMIT_LENGTH, 1000);
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_RENEW_BODY,
                            WEIRI_VALUES(1, 2, 0, weiri_blob("x", 1), name)),
              ==, SQLITE_TOOBIG);
    check_expanded(writer->statements[WEIRI_SQL_RENEW_BODY],
                   "told = iif(NULL, NULL, NULL) WHERE id = NULL");
    CHECK_INT(weiri_sql_forget(writer), ==, SQLITE_TOOBIG);
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_ADD_TUBE, WEIRI_VALUES(name)), ==, SQLITE_TOOBIG);
    (void)sqlite3_limit(writer->db, SQLITE_LIMIT_LENGTH, limit);
    CHECK_INT(weiri_sql_forget(writer), ==, SQLITE_TOOBIG);
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_ADD_TUBE, WEIRI_VALUES("t")), ==, SQLITE_OK);
    CHECK(weiri_sql_find(writer, WEIRI_SQL_FIND_TUBE, WEIRI_VALUES("t"), &tube));
    CHECK_INT(tube, ==, 1);
    weir_broker_close(broker);
}

TEST(failure_sticks,
     "after a failure statements do nothing, until a transaction begins or is undone")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_connection *writer = &((struct weiri_store *)broker->store)->writer;
    int64_t tube = 0;
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_BEGIN, NULL), ==, SQLITE_OK);
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_ADD_TUBE, WEIRI_VALUES("a")), ==, SQLITE_OK);
    CHECK_INT(weiri_sql_fail(writer, SQLITE_CORRUPT), ==, SQLITE_CORRUPT);
    CHECK_INT(weiri_sql_fail(writer, SQLITE_NOMEM), ==, SQLITE_CORRUPT);
    CHECK(!weiri_sql_find(writer, WEIRI_SQL_FIND_TUBE, WEIRI_VALUES("a"), &tube));
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_ADD_TUBE, WEIRI_VALUES("b")), ==, SQLITE_CORRUPT);
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_COMMIT, NULL), ==, SQLITE_CORRUPT);
    CHECK(sqlite3_get_autocommit(writer->db) == 0);
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_ROLLBACK, NULL), ==, SQLITE_OK);

    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_BEGIN, NULL), ==, SQLITE_OK);
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_ADD_TUBE, WEIRI_VALUES("c")), ==, SQLITE_OK);
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_SAVEPOINT, NULL), ==, SQLITE_OK);
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_ADD_TUBE, WEIRI_VALUES("d")), ==, SQLITE_OK);
    CHECK_INT(weiri_sql_fail(writer, SQLITE_FULL), ==, SQLITE_FULL);
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_ROLLBACK_TO, NULL), ==, SQLITE_OK);
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_RELEASE, NULL), ==, SQLITE_OK);
    CHECK_INT(weiri_sql_run(writer, WEIRI_SQL_COMMIT, NULL), ==, SQLITE_OK);
    CHECK(weiri_sql_find(writer, WEIRI_SQL_FIND_TUBE, WEIRI_VALUES("c"), &tube));
    CHECK(!weiri_sql_find(writer, WEIRI_SQL_FIND_TUBE, WEIRI_VALUES("a"), &tube));
    CHECK(!weiri_sql_find(writer, WEIRI_SQL_FIND_TUBE, WEIRI_VALUES("d"), &tube));
    weir_broker_close(broker);
}
