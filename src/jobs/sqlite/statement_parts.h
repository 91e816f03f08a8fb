/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_STATEMENT_PARTS_H
#define WEIRI_SQLITE_STATEMENT_PARTS_H

#include "jobs/core/fields.h"

/* What several statements say (statements.h), and the numbers of the columns that are read. */

/* The words of a job and its put_id, behind other columns, and their parameters. */
#define WEIRI_SQL_WORDS WEIRI_ROW_FIELDS(WEIRI_SQL_COLUMN)
#define WEIRI_SQL_COLUMN(name, kind, limit, feature) ", \"" #name "\""
#define WEIRI_SQL_SET_NEXT(name, kind, limit, feature)                                             \
    ", next_" #name " = iif(?4, ?, next_" #name ")"
#define WEIRI_SQL_TAKE_NEXT(name, kind, limit, feature)                                            \
    ", \"" #name "\" = next_" #name ", next_" #name " = NULL"
#define WEIRI_SQL_KEPT(name, kind, limit, feature) ", \"" #name "\" = iif(?4, \"" #name "\", NULL)"
#define WEIRI_SQL_PARAMETERS WEIRI_ROW_FIELDS(WEIRI_SQL_PARAMETER)
#define WEIRI_SQL_PARAMETER(name, kind, limit, feature) ", ?"

/* The store, which a backup and what is restored from it share; the number, which each of these
 * gives to another job after the backup; and the time of the put, by which these differ. A store
 * that was saved from a damaged one may have lost its name. A job with a put_id has that. */
#define WEIRI_SQL_OWN_IDENTITY                                                                     \
    "coalesce((SELECT identity FROM meta WHERE id = 1), '0') || "                                  \
    "printf('.%d.%x', jobs.id, coalesce(renewed, created))"
#define WEIRI_SQL_IDENTITY "coalesce(jobs.put_id, " WEIRI_SQL_OWN_IDENTITY ")"
/* The row of a job that is there still, if only as ended; others are stubs (schema.c). */
#define WEIRI_SQL_IS_JOB "state <> 6"
/* The stubs that leave next, of any tube. */
#define WEIRI_SQL_LUMP "(SELECT id FROM jobs INDEXED BY jobs_stubs WHERE state = 6 LIMIT ?1)"
/* The highest id that a job ever had: of the rows, or of one that has left (policies.c). */
#define WEIRI_SQL_LAST_ID                                                                          \
    "max(coalesce((SELECT floor FROM meta WHERE id = 1), 0), "                                     \
    "coalesce((SELECT max(id) FROM jobs), 0))"
/* Jobs of a tube with a put_id, which one that is done has for 10 minutes after its end, and those
 * with the put_id in the run that follows. ?3: the time now. */
#define WEIRI_SQL_JOBS_OF_PUT(tube_is, put_id_is)                                                  \
    "SELECT id, state = 3 AND token = again AS is_renewed FROM jobs INDEXED BY jobs_put_id "       \
    "WHERE put_id = " put_id_is " AND tube = " tube_is                                             \
    " AND (outcome IS NULL OR (state = 5 AND outcome = 1 AND lease > ?3 - 600000000000)) "         \
    "UNION ALL SELECT id, 0 FROM jobs INDEXED BY jobs_next_put_id WHERE next_put_id = " put_id_is  \
    " AND tube = " tube_is " AND state = 3 AND token = again"
/* The columns of jobs that are read as numbers (row.c): those of the put; those of the runs; those
 * of the last run, NULL where it has none. Each has the number by which it is read, as those that
 * are shown besides (copy.c), and of one job that is asked for. The state is read from the row:
 * SQLite would take it from an index, which may be damaged. */
#define WEIRI_JOB_PUT(X) X(tube) X(priority) X(run_at) X(ttr) X(created)
#define WEIRI_JOB_RUNS(X) X(lease) X(token) X(attempts) X(lost) X(started) X(owner) X(attempts_max)
#define WEIRI_JOB_LAST(X) X(worker) X(progress) X(verdict) X(again) X(again_at) X(outcome)
#define WEIRI_JOB_NUMBERS(X) WEIRI_JOB_PUT(X) WEIRI_JOB_RUNS(X) WEIRI_JOB_LAST(X)
#define WEIRI_SQL_OF_JOBS(name) ", jobs." #name
#define WEIRI_SQL_JOBS_COLUMN(name, kind, limit, feature) ", jobs.\"" #name "\""
#define WEIRI_SQL_NUMBER_OF(name) WEIRI_COLUMN_##name,
#define WEIRI_SQL_NUMBER_OF_WORD(name, kind, limit, feature) WEIRI_COLUMN_##name,
enum weiri_column {
    WEIRI_COLUMN_id,
    WEIRI_COLUMN_state,
    WEIRI_JOB_NUMBERS(WEIRI_SQL_NUMBER_OF) WEIRI_COLUMN_key,
    WEIRI_COLUMN_reason,
    WEIRI_WORD_FIELDS(WEIRI_SQL_NUMBER_OF_WORD) WEIRI_COLUMN_identity,
    WEIRI_COLUMN_body, /* the first of those of WEIRI_SQL_BODY */
    WEIRI_COLUMN_tube_name = WEIRI_COLUMN_body + 3,
    WEIRI_COLUMN_last_outcome,
    WEIRI_COLUMN_size
};
#define WEIRI_SQL_JOB                                                                              \
    "jobs.id, (SELECT state FROM jobs own NOT INDEXED WHERE own.id = jobs.id)" WEIRI_JOB_NUMBERS(  \
        WEIRI_SQL_OF_JOBS) ", key"
/* A job's body, which is in its row, or apart, or of one that has ended gone, with its checksum. */
#define WEIRI_SQL_BODY                                                                             \
    ", iif(outcome IS NULL OR coalesce(jobs.body, bodies.body) IS NOT NULL, checksum, NULL), "     \
    "coalesce(jobs.body, bodies.body), coalesce(jobs.told, bodies.told) "
#define WEIRI_SQL_APART " LEFT JOIN bodies ON bodies.id = iif(jobs.body IS NULL, jobs.id, NULL) "
#define WEIRI_SQL_SHOWN                                                                            \
    WEIRI_SQL_JOB ", reason" WEIRI_WORD_FIELDS(WEIRI_SQL_JOBS_COLUMN) ", " WEIRI_SQL_IDENTITY
/* A job, with its body or without, and its size, for which SQLite reads the head of a row alone. */
#define WEIRI_SQL_LOOK(body)                                                                       \
    "SELECT " WEIRI_SQL_SHOWN body                                                                 \
    ", name, iif(outcome = 1, 1, iif(attempts > 0, (SELECT outcome FROM attempts WHERE job = "     \
    "jobs.id ORDER BY number DESC LIMIT 1), 0)), coalesce(length(jobs.body), "                     \
    "length(bodies.body), 0) FROM jobs" WEIRI_SQL_APART                                            \
    "JOIN tubes ON tubes.id = jobs.tube WHERE jobs.id = ?1 AND " WEIRI_SQL_IS_JOB
/* A job's row is in none of the states, has a verdict that is none, or waits with one, which
 * only a reserved job has: it would run, though somebody ended it. Or it has an outcome, which
 * exactly those have that have ended: a job would be lost, or run again. */
#define WEIRI_HAS_OUTCOME "ifnull(outcome BETWEEN 1 AND 8, 0)"
#define WEIRI_STATE_UNKNOWN                                                                        \
    "(ifnull(state, 0) NOT BETWEEN 1 AND 6 AND NOT ifnull(state = 9 AND lost > 1, 0)) "            \
    "OR ifnull(verdict, 1) NOT BETWEEN 1 AND 3 "                                                   \
    "OR (ifnull(state, 0) IN (1, 2, 9) AND verdict IS NOT NULL) "                                  \
    "OR ifnull(state IN (5, 6), 0) <> " WEIRI_HAS_OUTCOME

/* Such a row in words. */
#define WEIRI_STATE_TEXT                                                                           \
    "printf('state %d, verdict %d and outcome %d do not fit', state, verdict, outcome)"
/* The priorities of the delayed jobs of a tube, told between the two, each a level, in order:
 * behind one below all, before a NULL, unless ended before. The delayed jobs of one. */
#define WEIRI_SQL_LEVELS_OF "WITH RECURSIVE levels(here, level) AS (SELECT "
#define WEIRI_SQL_LEVELS                                                                           \
    ", -1 << 32 UNION ALL SELECT here, (SELECT priority FROM jobs INDEXED BY jobs_delayed "        \
    "WHERE state = 1 AND tube = here AND priority > level ORDER BY priority LIMIT 1) "             \
    "FROM levels WHERE level IS NOT NULL"
#define WEIRI_SQL_OF_LEVEL                                                                         \
    " FROM jobs INDEXED BY jobs_delayed WHERE state = 1 AND tube = here AND priority = level "
/* A job of the tube ?1 whose group does not have ?2 reserved ones; 0: no group is ever full. */
#define WEIRI_SQL_HAS_ROOM                                                                         \
    "(?2 = 0 OR jobs.\"group\" IS NULL OR jobs.\"group\" NOT IN "                                  \
    "(SELECT \"group\" FROM jobs INDEXED BY jobs_group WHERE state = 3 AND \"group\" IS NOT NULL " \
    "AND tube = ?1 GROUP BY \"group\" HAVING count(*) >= ?2))"
/* The stored states, each with its index: of jobs that may run, and of others. A row is in exactly
 * one of these indexes. */
#define WEIRI_SQL_LIVE_STATES(X) X(delayed, 1) X(ready, 2) X(suspects, 9) X(reserved, 3)
#define WEIRI_SQL_STATES(X) WEIRI_SQL_LIVE_STATES(X) X(buried, 4) X(ended, 5) X(stubs, 6)
#define WEIRI_SQL_OF_STATE(name, state) " FROM jobs INDEXED BY jobs_" #name " WHERE state = " #state
#define WEIRI_SQL_COUNTED(name, state)                                                             \
    ", (SELECT count(*)" WEIRI_SQL_OF_STATE(name, state) " AND tube = t.id) AS " #name
#define WEIRI_SQL_NUMBERS WEIRI_SQL_STATES(WEIRI_SQL_COUNTED)
#define WEIRI_SQL_HAS_ONE(name, state)                                                             \
    " OR EXISTS (SELECT 1" WEIRI_SQL_OF_STATE(name, state) " AND tube = t.id)"
#define WEIRI_SQL_HAS_LIVE WEIRI_SQL_LIVE_STATES(WEIRI_SQL_HAS_ONE)
#define WEIRI_SQL_LESS(name, state) " - (SELECT count(*)" WEIRI_SQL_OF_STATE(name, state) ")"
/* The tubes with the numbers of their rows; how many of those in the state delayed are due; the
 * time of the first of these; that of the ready job that is next. ?1: now. */
#define WEIRI_SQL_BY_LEVEL ", (" WEIRI_SQL_LEVELS_OF "t.id" WEIRI_SQL_LEVELS ") SELECT "
#define WEIRI_SQL_DUE                                                                              \
    WEIRI_SQL_BY_LEVEL "sum((SELECT count(*)" WEIRI_SQL_OF_LEVEL                                   \
                       "AND run_at <= ?1)) FROM levels) AS due" WEIRI_SQL_BY_LEVEL                 \
                       "min((SELECT run_at" WEIRI_SQL_OF_LEVEL                                     \
                       "AND run_at <= ?1 ORDER BY run_at LIMIT 1)) FROM levels) AS next_due"
#define WEIRI_SQL_HEAD " AND tube = t.id ORDER BY priority, run_at LIMIT 1) AS next_"
#define WEIRI_SQL_NEXT(name, state)                                                                \
    ", (SELECT run_at" WEIRI_SQL_OF_STATE(name, state) WEIRI_SQL_HEAD #name
#define WEIRI_SQL_SINCE WEIRI_SQL_NEXT(ready, 2) WEIRI_SQL_NEXT(suspects, 9)
#define WEIRI_SQL_COUNTS                                                                           \
    "WITH counts AS MATERIALIZED (SELECT *" WEIRI_SQL_NUMBERS                                      \
    ", (SELECT count(*) FROM jobs INDEXED BY jobs_stubs WHERE state = 6 AND tube = t.id "          \
    "AND outcome = 1) AS stubs_done, (SELECT count(*) FROM jobs INDEXED BY jobs_removed WHERE "    \
    "state = 5 AND outcome > 1 AND tube = t.id) AS removed" WEIRI_SQL_DUE WEIRI_SQL_SINCE          \
    " FROM tubes t "
/* What is shown of them. The rows that are there are added to the totals. */
#define WEIRI_SQL_SHOWN_COUNTS                                                                     \
    ") SELECT iif(paused_until > ?1, paused_until, 0), name, min(ifnull(next_due, 1 << 62), "      \
    "ifnull(next_ready, 1 << 62), ifnull(next_suspects, 1 << 62)) % (1 << 62), "                   \
    "delayed - due, ready + suspects + due, reserved, buried, "                                    \
    "max(put + delayed + ready + suspects + reserved + buried + ended + stubs, 0), "               \
    "max(done + ended - removed + stubs_done, 0), failed, retried, expired, burials FROM counts "
/* The tube ?2; NULL: all, as a blob is behind each text. */
#define WEIRI_SQL_IS_NAMED "WHERE name BETWEEN ifnull(?2, '') AND ifnull(?2, x'')"
#define WEIRI_SQL_ZEROS ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0"
/* How many ended jobs a tube keeps by default: 100,000 in all. The last one of a tube behind so
 * many, or a number of others: when it ended, and its id. */
#define WEIRI_SQL_SHARE "(SELECT max(1, min(1000, 100000 / count(*))) FROM tubes)"
#define WEIRI_SQL_BEHIND(tube_is, number)                                                          \
    "(SELECT lease, id FROM jobs INDEXED BY jobs_ended WHERE state = 5 AND tube = " tube_is        \
    " ORDER BY lease DESC, id DESC LIMIT 1 OFFSET iif(" number ", " number ", " WEIRI_SQL_SHARE    \
    "))"
/* The jobs of the tubes ?1 to ?2 in the stored states of the bits ?3, no more than ?4. */
#define WEIRI_SQL_IF_ASKED(name, state)                                                            \
    "SELECT id" WEIRI_SQL_OF_STATE(name, state) " AND ?3 >> " #state " & 1 "                       \
                                                "AND tube >= ?1 AND tube <= ?2 UNION ALL "
#define WEIRI_SQL_FEW WEIRI_SQL_STATES(WEIRI_SQL_IF_ASKED) "SELECT 0 WHERE 0 LIMIT ?4"
/* What a list reads of them. */
#define WEIRI_SQL_SOUGHT                                                                           \
    "SELECT jobs.id, iif(?9, reason, NULL), iif(?9, coalesce(jobs.body, bodies.body), NULL) FROM "
#define WEIRI_SQL_IS_SOUGHT                                                                        \
    WEIRI_SQL_APART "WHERE ?3 >> state & 1 AND tube >= ?1 AND tube <= ?2 AND attempts >= ?7 "      \
                    "AND created < ?8"
/* A schedule (schedule_look.c), and with its body. */
#define WEIRI_SQL_SCHEDULE                                                                         \
    "SELECT s.id, s.tube, s.job, s.first, s.name, t.name, cron, zone, problem, priority, ttr, "    \
    "missed, tolerance, catch_up, flags, interval, next, last, outcome, ended, fired, skipped, "   \
    "paused"
#define WEIRI_SQL_ITS_TUBE " CROSS JOIN tubes t ON t.id = s.tube WHERE "

#endif
