/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_STATEMENTS_H
#define WEIRI_SQLITE_STATEMENTS_H

#include "jobs/sqlite/statement_parts.h"

/* Every statement that is run on jobs and tubes. INDEXED BY makes SQLite refuse a plan that does
 * not use the index; a test reads the plans besides. States are written as numbers, since SQLite
 * matches numbers to the partial indexes. */

/* Their names and texts. */
#define WEIRI_SQL_MAP(X)                                                                           \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                    \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")                                                                        \
    X(BEGIN_READ, "BEGIN")                                                                         \
    X(PAGE_COUNT, "PRAGMA page_count")                                                             \
    /* SQLite's own objects have no text (indexes of constraints) or a reserved name. */           \
    X(OBJECTS, "SELECT name, sql, tbl_name FROM sqlite_schema WHERE sql IS NOT NULL "              \
               "AND name <> 'sqlite_sequence'")                                                    \
    X(SET_WAL, "PRAGMA journal_mode = WAL")                                                        \
    X(USER_VERSION, "PRAGMA user_version")                                                         \
    /* Whether leases and the era are of this boot, ?1, which has a name; ?2: the leases' time. */ \
    X(IS_BEGUN,                                                                                    \
      "SELECT 1 FROM meta WHERE id = 1 AND boot = ?1 AND boot <> 'unknown' AND NOT EXISTS "        \
      "(SELECT 1 FROM jobs INDEXED BY jobs_reserved WHERE state = 3 AND lease > ?2 + ttr)")        \
    X(END_LEASES,                                                                                  \
      "UPDATE jobs INDEXED BY jobs_reserved SET lease = 0 WHERE state = 3 AND (lease > ?2 + ttr "  \
      "OR EXISTS (SELECT 1 FROM meta WHERE id = 1 AND boot <> ?1 AND 'unknown' NOT IN (boot, "     \
      "?1)))")                                                                                     \
    /* Begins an era, at ?2 or a minute behind the last one, whatever the clock says. A store that \
     * was saved from a damaged one may have lost the row. */                                      \
    X(BEGIN_ERA,                                                                                   \
      "INSERT INTO meta(id, boot, store, identity, floor, era, older) VALUES(1, ?1, random() & "   \
      "0x7fffffffffffffff, '0', 0, ?2, " WEIRI_SQL_LAST_ID ") ON CONFLICT(id) DO UPDATE SET "      \
      "boot = iif(?1 = 'unknown', boot, ?1), era = max(era + 60000000, ?2), older = "              \
      "excluded.older")                                                                            \
    X(ERA, "SELECT max(era, 0), older FROM meta WHERE id = 1")                                     \
    /* By how much the wall clock was ahead of that of the boot and namespace ?1. */               \
    X(CLOCK, "SELECT ahead FROM meta WHERE id = 1 AND clock = ?1")                                 \
    X(NOTE_CLOCK, "UPDATE meta SET clock = ?1, ahead = ?2 WHERE id = 1")                           \
    /* Delayed jobs become ready, at most ?3 of those with run times behind ?1, but not ?2. */     \
    X(MAKE_READY,                                                                                  \
      "UPDATE jobs SET state = iif(lost > 1, 9, 2) WHERE +state = 1 AND id IN "                    \
      "(" WEIRI_SQL_LEVELS_OF "id, -1 << 32 FROM tubes UNION ALL SELECT 0" WEIRI_SQL_LEVELS        \
      ") SELECT jobs.id FROM levels CROSS JOIN jobs ON jobs.id IN (SELECT id" WEIRI_SQL_OF_LEVEL   \
      "AND run_at > ?1 AND run_at <= ?2 ORDER BY run_at LIMIT ?3) LIMIT ?3)")                      \
    X(FIND_TUBE, "SELECT id FROM tubes WHERE name = ?1")                                           \
    X(ADD_TUBE, "INSERT INTO tubes(name) VALUES(?1)")                                              \
    X(TUBE_RECORD, "SELECT paused_until, keep, keep_count, late_after, late, group_limit, "        \
                   "archive FROM tubes WHERE id = ?1")                                             \
    /* But for suspects. */                                                                        \
    X(LAST_READY, "SELECT run_at FROM jobs INDEXED BY jobs_ready WHERE state = 2 AND tube = ?1 "   \
                  "AND priority = ?2 ORDER BY run_at DESC LIMIT 1")                                \
    X(PAUSE, "UPDATE tubes SET paused_until = ?2 WHERE id = ?1")                                   \
    X(SET_POLICY, "UPDATE tubes SET keep = ?2, keep_count = ?3, late_after = ?4, late = ?5, "      \
                  "group_limit = ?6, archive = ?7 WHERE id = ?1")                                  \
    X(POLICY_COUNTS,                                                                               \
      "SELECT (SELECT count(*) FROM jobs INDEXED BY jobs_ended WHERE state = 5 AND tube = "        \
      "tubes.id), late_buried, late_dropped, id, " WEIRI_SQL_SHARE " FROM tubes WHERE name = ?1")  \
    X(ADD_TOTALS,                                                                                  \
      "UPDATE tubes SET put = put + ?2, done = done + ?3, failed = failed + ?4, "                  \
      "retried = retried + ?5, expired = expired + ?6, burials = burials + ?7, "                   \
      "late_buried = late_buried + ?8, late_dropped = late_dropped + ?9 WHERE id = ?1")            \
    /* Whether one of a tube that has jobs is ready. */                                            \
    X(HAS_JOBS, "SELECT 0" WEIRI_SQL_HAS_ONE(ready, 2) " FROM tubes t WHERE id = ?1 "              \
                                                       "AND (0" WEIRI_SQL_HAS_LIVE ")")            \
    /* 0: each row is in the index of its state, and of its key. The table's rows are counted one  \
     * by one, so that it can be given up. */                                                      \
    X(CENSUS, "SELECT (SELECT total(1 + (key IS NOT NULL)) FROM jobs NOT INDEXED) - (SELECT "      \
              "count(*) FROM jobs INDEXED BY jobs_key WHERE key IS NOT NULL)" WEIRI_SQL_STATES(    \
                  WEIRI_SQL_LESS))                                                                 \
    X(ADD_JOB,                                                                                     \
      "INSERT INTO jobs(id, tube, state, priority, run_at, ttr, created, checksum, body, told, "   \
      "lease, token, attempts, lost, started, owner, attempts_max, reason, key" WEIRI_SQL_WORDS    \
      ") VALUES(iif(?12, ?12, " WEIRI_SQL_LAST_ID ") + 1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, "            \
      "iif(?8, NULL, ?9), iif(?8, NULL, ?10), "                                                    \
      "0, 0, 0, 0, 0, 0, 0, '', ?11" WEIRI_SQL_PARAMETERS ")")                                     \
    X(RENEW_BODY, "UPDATE jobs SET checksum = ?2, body = iif(?3, NULL, ?4), "                      \
                  "told = iif(?3, NULL, ?5) WHERE id = ?1")                                        \
    X(ADD_BODY, "INSERT INTO bodies(id, body, told) VALUES(?1, ?2, ?3)")                           \
    X(LOAD, "SELECT " WEIRI_SQL_JOB " FROM jobs WHERE jobs.id = ?1 AND " WEIRI_SQL_IS_JOB)         \
    /* The whole row but for the columns that put_ids and groups are found by: an index is written \
     * for each column of it that is set. A new identity (?15: of now) is later than the one       \
     * before, also where the wall clock was set back. */                                          \
    X(SAVE,                                                                                        \
      "UPDATE jobs SET state = ?2, run_at = ?3, attempts = ?4, lease = ?5, token = ?6, "           \
      "owner = ?7, reason = coalesce(?8, reason), started = ?9, progress = nullif(?10, -1), "      \
      "verdict = nullif(?11, 0), attempts_max = ?12, worker = ?13, lost = ?14, renewed = "         \
      "iif(?15, max(?15, coalesce(renewed, created) + 1 + (random() & 0xfffffff)), renewed) "      \
      "WHERE id = ?1")                                                                             \
    X(RENEW, "UPDATE jobs SET (priority, ttr" WEIRI_SQL_WORDS ") = (?2, ?3" WEIRI_SQL_PARAMETERS   \
             ") WHERE id = ?1")                                                                    \
    /* Its put_id stays, so that the index of these is not written. ?3: the outcome; ?4: whether   \
     * it is kept, ?5: with its body; ?6: its reason. */                                           \
    X(END_JOB,                                                                                     \
      "UPDATE jobs SET state = iif(?4, 5, 6), lease = ?2, outcome = coalesce(outcome, ?3), "       \
      "verdict = NULL, progress = NULL, reason = iif(?4, coalesce(?6, reason), ''), "              \
      "told = iif(?5, told, NULL), body = iif(?5, body, NULL)" WEIRI_WORD_FIELDS(                  \
          WEIRI_SQL_KEPT) " WHERE id = ?1")                                                        \
    X(DELETE_BODY, "DELETE FROM bodies WHERE id = ?1")                                             \
    X(EXPIRED, "SELECT id FROM jobs INDEXED BY jobs_reserved WHERE state = 3 AND tube = ?1 "       \
               "AND lease <= ?2 ORDER BY lease LIMIT 1")                                           \
    /* The next jobs at the time ?4, at most ?3: ready ones, the suspect ?5 (NULL: none), and due  \
     * ones of the first level that has any, but none behind these, since other levels may have    \
     * due ones before it. They are told in the order of `next`, which is the outer loop: bodies   \
     * are not sorted. */                                                                          \
    X(PICK, WEIRI_SQL_LEVELS_OF                                                                    \
      "?1" WEIRI_SQL_LEVELS " AND NOT EXISTS (SELECT 1" WEIRI_SQL_OF_LEVEL                         \
      "AND run_at <= ?4 AND " WEIRI_SQL_HAS_ROOM ")), "                                            \
      "due(level) AS MATERIALIZED (SELECT iif(count(*) = count(level), max(level), NULL) "         \
      "FROM levels), "                                                                             \
      "next(number, level, at) AS MATERIALIZED (SELECT id, priority, run_at FROM jobs "            \
      "INDEXED BY jobs_ready WHERE state = 2 AND tube = ?1 "                                       \
      "AND priority <= coalesce((SELECT level FROM due), 1 << 31) AND " WEIRI_SQL_HAS_ROOM         \
      " UNION ALL SELECT id, priority, run_at FROM jobs INDEXED BY jobs_delayed WHERE state = 1 "  \
      "AND tube = ?1 AND priority = (SELECT level FROM due) AND run_at <= ?4 "                     \
      "AND " WEIRI_SQL_HAS_ROOM " UNION ALL SELECT id, priority, run_at FROM jobs WHERE id = ?5 "  \
      "AND priority <= coalesce((SELECT level FROM due), 1 << 31) ORDER BY 2, 3, 1 LIMIT ?3) "     \
      "SELECT " WEIRI_SQL_SHOWN WEIRI_SQL_BODY                                                     \
      "FROM next LEFT JOIN jobs ON jobs.id = number" WEIRI_SQL_APART)                              \
    X(FIRST_SUSPECT, "SELECT " WEIRI_SQL_JOB " FROM jobs INDEXED BY jobs_suspects "                \
                     "WHERE state = 9 AND " WEIRI_SQL_HAS_ROOM                                     \
                     " AND jobs.tube = ?1 ORDER BY priority, run_at, jobs.id LIMIT 1")             \
    X(COUNT_GROUP, "SELECT count(*) FROM jobs INDEXED BY jobs_group WHERE state = 3 "              \
                   "AND \"group\" IS NOT NULL AND tube = ?1 AND \"group\" = ?2")                   \
    /* After the time ?2; as the other firsts WEIR_FOREVER where there is none. */                 \
    X(FIRST_DELAYED, WEIRI_SQL_LEVELS_OF                                                           \
      "?1" WEIRI_SQL_LEVELS ") SELECT coalesce(min((SELECT run_at" WEIRI_SQL_OF_LEVEL              \
      "AND run_at > ?2 ORDER BY run_at LIMIT 1)), ~(1 << 63)) FROM levels")                        \
    X(ONE_BEFORE, "SELECT 1 FROM jobs INDEXED BY jobs_delayed WHERE state = 1 AND tube = ?1 "      \
                  "AND priority = ?2 AND run_at > ?3 AND run_at < ?4 LIMIT 1")                     \
    X(FIRST_LEASE, "SELECT coalesce(min(lease), ~(1 << 63)) FROM jobs INDEXED BY jobs_reserved "   \
                   "WHERE state = 3 AND tube = ?1")                                                \
    X(TUBES, WEIRI_SQL_COUNTS WEIRI_SQL_IS_NAMED WEIRI_SQL_SHOWN_COUNTS "ORDER BY name")           \
    X(TUBE_NAMES, "SELECT iif(paused_until > ?1, paused_until, 0), name" WEIRI_SQL_ZEROS           \
                  " FROM tubes " WEIRI_SQL_IS_NAMED " ORDER BY name")                              \
    X(PEEK, WEIRI_SQL_LOOK(WEIRI_SQL_BODY))                                                        \
    X(PEEK_SIZE, WEIRI_SQL_LOOK(", NULL, NULL, NULL"))                                             \
    X(PEEK_DELAYED, WEIRI_SQL_LEVELS_OF                                                            \
      "?1" WEIRI_SQL_LEVELS                                                                        \
      ") SELECT id FROM levels CROSS JOIN jobs ON id IN (SELECT id" WEIRI_SQL_OF_LEVEL             \
      "AND run_at > ?2 ORDER BY run_at, id LIMIT ?3) "                                             \
      "ORDER BY run_at, id LIMIT ?3")                                                              \
    /* Jobs that are due are ready, in whichever of the states they are stored. */                 \
    X(PEEK_READY, WEIRI_SQL_LEVELS_OF                                                              \
      "?1" WEIRI_SQL_LEVELS ") SELECT id FROM (SELECT * FROM (SELECT id, priority, run_at "        \
      "FROM jobs INDEXED BY jobs_ready WHERE state = 2 AND tube = ?1 "                             \
      "ORDER BY priority, run_at, id LIMIT ?3) "                                                   \
      "UNION ALL SELECT * FROM (SELECT id, priority, run_at FROM jobs INDEXED BY jobs_suspects "   \
      "WHERE state = 9 AND tube = ?1 ORDER BY priority, run_at, id LIMIT ?3) "                     \
      "UNION ALL SELECT id, priority, run_at FROM levels CROSS JOIN jobs ON id IN "                \
      "(SELECT id" WEIRI_SQL_OF_LEVEL "AND run_at <= ?2 ORDER BY run_at, id LIMIT ?3)) "           \
      "ORDER BY priority, run_at, id LIMIT ?3")                                                    \
    X(PEEK_RESERVED, "SELECT id FROM jobs INDEXED BY jobs_reserved WHERE state = 3 AND tube = ?1 " \
                     "ORDER BY lease, id LIMIT ?3")                                                \
    X(PEEK_BURIED, "SELECT id FROM jobs INDEXED BY jobs_buried WHERE state = 4 AND tube = ?1 "     \
                   "ORDER BY id LIMIT ?3")                                                         \
    X(STORE, "SELECT store FROM meta WHERE id = 1")                                                \
    X(LAST_PUT, "SELECT " WEIRI_SQL_LAST_ID)                                                       \
    X(NEWEST, "SELECT created FROM jobs ORDER BY id DESC LIMIT 1")                                 \
    /* Jobs in the order of their ids: of all rows, or of the few that there are, whose ids alone  \
     * are sorted, which a LIMIT alone makes sure of. ?9: whether the texts are asked for. */      \
    X(PAGE, WEIRI_SQL_SOUGHT "jobs NOT INDEXED" WEIRI_SQL_IS_SOUGHT                                \
                             " AND jobs.id > ?5 AND jobs.id <= ?6 ORDER BY jobs.id")               \
    X(PAGE_OF_FEW, "WITH few(number) AS MATERIALIZED (SELECT id FROM (" WEIRI_SQL_FEW              \
                   ") WHERE id > ?5 AND id <= ?6 ORDER BY id LIMIT ?4) " WEIRI_SQL_SOUGHT          \
                   "few CROSS JOIN jobs NOT INDEXED ON jobs.id = number" WEIRI_SQL_IS_SOUGHT)      \
    X(COUNT_FEW, "SELECT count(*) FROM (" WEIRI_SQL_FEW ")")                                       \
    /* The job of the put_id ?2, negative where its body is not the one with checksum ?4; no row:  \
     * none. A job that a put renewed during its run has not the body of its own put any more. The \
     * put_id of a job that was moved away from here, and back (?5), is the identity that it has   \
     * here; who puts another job with that as put_id puts another one. */                         \
    X(FIND_PUT,                                                                                    \
      "SELECT iif(checksum = ?4 OR is_renewed, jobs.id, -jobs.id) FROM "                           \
      "(" WEIRI_SQL_JOBS_OF_PUT(                                                                   \
          "?1", "?2") " UNION ALL SELECT id, 0 FROM jobs WHERE ?5 AND ifnull(outcome, 1) = 1 AND " \
                      "state <> 6 AND tube = ?1 AND put_id IS NULL AND id = CAST(substr(?2, "      \
                      "instr(?2, '.') + 1) AS INTEGER) AND ?2 = " WEIRI_SQL_OWN_IDENTITY           \
                      ") found JOIN jobs ON jobs.id = found.id LIMIT 1")                           \
    /* Slot 0 has the first attempt, the others the last ones. A renewed job has none. */          \
    X(ADD_ATTEMPT,                                                                                 \
      "INSERT OR REPLACE INTO attempts(job, slot, number, outcome, started, ended, owner, "        \
      "status, exit, signal, reason, tail) SELECT id, iif(attempts > 1, 1 + (attempts - 2) % "     \
      "?2, 0), attempts, ?3, started, ?4, owner, ?5, ?6, ?7, reason, coalesce(?8, '') FROM "       \
      "jobs WHERE id = ?1 AND attempts > 0")                                                       \
    X(DELETE_ATTEMPTS, "DELETE FROM attempts WHERE job = ?1")                                      \
    /* The last one of a job that is done is its row, in the place of another one. */              \
    X(ATTEMPTS,                                                                                    \
      "SELECT number, outcome, started, ended, owner, status, exit, signal, reason, tail "         \
      "FROM attempts WHERE job = ?1 AND (slot = 0 OR number > (SELECT attempts - 20 + "            \
      "(state = 5) FROM jobs WHERE id = ?1)) UNION ALL SELECT attempts, 1, started, "              \
      "lease, owner, 0, 0, 0, reason, '' FROM jobs WHERE id = ?1 AND state = 5 AND "               \
      "outcome = 1 ORDER BY 1")                                                                    \
    /* The job that has a key, with 0; or that had it, and until when it throttles. */             \
    X(FIND_KEY, "SELECT id, 0 FROM jobs INDEXED BY jobs_key WHERE tube = ?1 AND key = ?2 UNION "   \
                "ALL SELECT * FROM (SELECT job, until FROM throttles INDEXED BY throttles_key "    \
                "WHERE tube = ?1 AND key = ?2 ORDER BY until DESC LIMIT 1)")                       \
    X(FREE_KEY, "UPDATE jobs SET key = NULL WHERE id = ?1")                                        \
    X(RUN_AGAIN, "UPDATE jobs SET again = ?2, again_at = ?3" WEIRI_ROW_FIELDS(                     \
                     WEIRI_SQL_SET_NEXT) " WHERE id = ?1")                                         \
    X(TAKE_AGAIN,                                                                                  \
      "UPDATE jobs SET again = NULL" WEIRI_ROW_FIELDS(WEIRI_SQL_TAKE_NEXT) " WHERE id = ?1")       \
    X(THROTTLE, "INSERT OR REPLACE INTO throttles(tube, key, job, until) VALUES(?1, ?2, ?3, ?4)")  \
    /* Those of a key, and those whose time has passed. */                                         \
    X(END_THROTTLES,                                                                               \
      "DELETE FROM throttles WHERE job IN (SELECT job FROM throttles INDEXED BY "                  \
      "throttles_key WHERE tube = ?1 AND key = ?2 UNION ALL SELECT * FROM (SELECT job "            \
      "FROM throttles INDEXED BY throttles_until WHERE until <= ?3 ORDER BY until LIMIT 100))")    \
    X(IS_LISTED, "SELECT 1 FROM jobs WHERE id = ?1 AND " WEIRI_SQL_IDENTITY                        \
                 " = ?2 AND run_at = ?3 AND tube = (SELECT id FROM tubes WHERE name = ?4)")        \
    X(SAVE_SCHEDULE,                                                                               \
      "INSERT INTO schedules(tube, interval, first, priority, ttr, missed, tolerance, "            \
      "catch_up, flags, next, checksum, name, cron, zone, body) VALUES(?1, ?2, ?3, ?4, ?5, "       \
      "?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) ON CONFLICT(name) DO UPDATE SET tube = "      \
      "excluded.tube, interval = excluded.interval, first = excluded.first, priority = "           \
      "excluded.priority, ttr = excluded.ttr, missed = excluded.missed, tolerance = "              \
      "excluded.tolerance, catch_up = excluded.catch_up, flags = excluded.flags, next = "          \
      "excluded.next, checksum = excluded.checksum, cron = excluded.cron, zone = "                 \
      "excluded.zone, body = excluded.body, paused = paused AND problem = '', problem = ''")       \
    X(FIND_SCHEDULE, WEIRI_SQL_SCHEDULE " FROM schedules s" WEIRI_SQL_ITS_TUBE "s.name = ?1")      \
    X(DUE_SCHEDULE,                                                                                \
      WEIRI_SQL_SCHEDULE " FROM schedules s INDEXED BY schedules_next" WEIRI_SQL_ITS_TUBE          \
                         "paused = 0 AND s.tube = ?1 AND next <= ?2 ORDER BY next LIMIT 1")        \
    X(FIRST_FIRING, "SELECT coalesce(min(next), ~(1 << 63)) FROM schedules INDEXED BY "            \
                    "schedules_next WHERE paused = 0 AND tube = ?1")                               \
    X(NOTE_FIRINGS,                                                                                \
      "UPDATE schedules SET next = ?2, fired = fired + ?3, skipped = skipped + ?4, last = "        \
      "iif(?3 > 0, ?5, last), job = iif(?3 > 0, ?6, job), outcome = iif(?3 > 0, 0, outcome), "     \
      "ended = iif(?3 > 0, 0, ended) WHERE id = ?1")                                               \
    X(NOTE_END, "UPDATE schedules INDEXED BY schedules_job SET outcome = ?2, ended = ?3 "          \
                "WHERE job = ?1")                                                                  \
    X(SCHEDULE_BODY, "SELECT checksum, body FROM schedules WHERE id = ?1")                         \
    X(PAUSE_SCHEDULE, "UPDATE schedules SET paused = 1, problem = ?2 WHERE id = ?1")               \
    X(RESUME_SCHEDULE, "UPDATE schedules SET paused = 0, problem = '', next = ?2, "                \
                       "skipped = skipped + ?3 WHERE id = ?1")                                     \
    X(DELETE_SCHEDULE, "DELETE FROM schedules WHERE id = ?1")                                      \
    X(SHOW_SCHEDULE, WEIRI_SQL_SCHEDULE ", checksum, body FROM schedules s" WEIRI_SQL_ITS_TUBE     \
                                        "s.name >= ?1 ORDER BY s.name LIMIT 1")                    \
    X(REFILE, "UPDATE jobs SET tube = ?2 WHERE id = ?1")                                           \
    X(REFILE_THROTTLE, "UPDATE throttles SET tube = ?2 WHERE job = ?1 AND key = (SELECT key FROM " \
                       "jobs WHERE id = ?1)")                                                      \
    /* Whether the tube has the job's key, or its put_id. */                                       \
    X(TAKEN_IN_TUBE,                                                                               \
      "SELECT 1 FROM jobs a WHERE a.id = ?1 AND (EXISTS(SELECT 1 FROM jobs INDEXED BY jobs_key "   \
      "WHERE tube = ?2 AND key = a.key) OR EXISTS(SELECT 1 FROM throttles INDEXED BY "             \
      "throttles_key WHERE tube = ?2 AND key = a.key AND until > ?3) OR "                          \
      "EXISTS(" WEIRI_SQL_JOBS_OF_PUT("?2", "a.put_id") "))")                                      \
    /* The first ended jobs of a tube become stubs, up to one whose put_id counts: those that      \
     * ended at ?2 or before, and those behind the last ?5. ?4: the time. */                       \
    X(END_KEPT,                                                                                    \
      "UPDATE jobs SET state = 6 WHERE id IN (SELECT id FROM (SELECT id, sum(counts) OVER "        \
      "(ORDER BY lease, id) AS held FROM (SELECT id, lease, outcome = 1 AND put_id IS NOT NULL "   \
      "AND lease > ?4 - 600000000000 AS counts FROM jobs INDEXED BY jobs_ended WHERE state = 5 "   \
      "AND tube = ?1 AND (lease, id) <= (SELECT ?2, ~(1 << 63) UNION ALL SELECT * "                \
      "FROM " WEIRI_SQL_BEHIND(                                                                    \
          "?1", "?5") " ORDER BY 1 DESC, 2 DESC LIMIT 1) "                                         \
                      "ORDER BY lease, id LIMIT ?3)) WHERE held = 0) AND +state = 5")              \
    /* Of ?3 rows of any tube, from a number on: what its tube keeps no longer, as above. To ask   \
     * how many it keeps takes so many steps: 100 a row are, on average. */                        \
    X(END_PASSED,                                                                                  \
      "UPDATE jobs SET state = 6 WHERE id IN (SELECT old.id FROM (SELECT id, tube, state, lease, " \
      "outcome = 1 AND put_id IS NOT NULL AND lease > ?2 - 600000000000 AS counts FROM jobs "      \
      "NOT INDEXED WHERE id > ?1 ORDER BY id LIMIT ?3) old JOIN tubes ON tubes.id = tube "         \
      "WHERE state = 5 AND NOT counts AND (lease <= ?2 - iif(keep = 0, 604800000000000, keep) "    \
      "OR (keep_count = 0 AND abs(random() % " WEIRI_SQL_SHARE ") < 100 "                          \
      "AND (lease, old.id) <= " WEIRI_SQL_BEHIND("old.tube", "0") ")))")                           \
    X(END_OF_ROWS,                                                                                 \
      "SELECT id FROM jobs NOT INDEXED WHERE id > ?1 ORDER BY id LIMIT 1 OFFSET ?2 - 1")           \
    X(DELETE_LUMP_BODIES, "DELETE FROM bodies WHERE id IN " WEIRI_SQL_LUMP)                        \
    X(DELETE_LUMP_ATTEMPTS, "DELETE FROM attempts WHERE job IN " WEIRI_SQL_LUMP)                   \
    X(ADD_LUMP,                                                                                    \
      "UPDATE tubes SET put = put + n, done = done + d FROM (SELECT tube, count(*) AS n, "         \
      "count(iif(outcome = 1, 1, NULL)) AS d FROM jobs WHERE id IN " WEIRI_SQL_LUMP                \
      " GROUP BY +tube) lump WHERE tubes.id = lump.tube")                                          \
    X(RAISE_FLOOR, "UPDATE meta SET floor = " WEIRI_SQL_LAST_ID                                    \
                   " WHERE (SELECT max(id) FROM jobs) IN " WEIRI_SQL_LUMP)                         \
    X(DELETE_LUMP, "DELETE FROM jobs WHERE id IN " WEIRI_SQL_LUMP)                                 \
    /* Whether a damaged index says that a job has ended: of those that leave or end here next. */ \
    X(BAD_LUMP,                                                                                    \
      "SELECT 1 FROM (SELECT id, 6 AS has FROM " WEIRI_SQL_LUMP                                    \
      " UNION ALL SELECT * FROM (SELECT id, 5 FROM jobs INDEXED BY jobs_ended WHERE state = 5 "    \
      "AND tube = ?2 ORDER BY lease LIMIT ?1)) a LEFT JOIN jobs b NOT INDEXED ON b.id = a.id "     \
      "WHERE b.state IS NOT has LIMIT 1")                                                          \
    X(PEEK_ENDED, "SELECT id FROM jobs INDEXED BY jobs_ended WHERE state = 5 AND tube = ?1 "       \
                  "ORDER BY lease DESC LIMIT ?3")                                                  \
    /* Of each job its body, and what is wrong with its row; of the file what is wrong with it. */ \
    X(CHECK_JOBS,                                                                                  \
      "SELECT jobs.id" WEIRI_SQL_BODY ", iif(" WEIRI_STATE_UNKNOWN                                 \
      ", printf('job %d: ', jobs.id) || " WEIRI_STATE_TEXT                                         \
      ", NULL) FROM jobs NOT INDEXED" WEIRI_SQL_APART "WHERE jobs.id > ?1 AND (" WEIRI_SQL_IS_JOB  \
      " OR " WEIRI_STATE_UNKNOWN ") ORDER BY jobs.id LIMIT ?2")                                    \
    X(CHECK_FILE, "SELECT ?1, NULL, NULL, NULL, nullif(integrity_check, 'ok') "                    \
                  "FROM pragma_integrity_check(10) LIMIT ?2")                                      \
    X(SAVEPOINT, "SAVEPOINT weir_put")                                                             \
    X(ROLLBACK_TO, "ROLLBACK TO weir_put")                                                         \
    X(RELEASE, "RELEASE weir_put")                                                                 \
    X(ADD_WORKER, "INSERT INTO workers(pid, started, guard, guard_started, boot, space) "          \
                  "VALUES(?1, ?2, ?3, ?4, ?5, ?6)")                                                \
    X(WORKER, "SELECT pid, started, guard, guard_started FROM workers "                            \
              "WHERE id = ?1 AND boot = ?2 AND space = ?3")                                        \
    /* All but the last ones, and those that have a job. */                                        \
    X(FORGET_WORKERS, "DELETE FROM workers WHERE id <= (SELECT max(id) FROM workers) - 10000 "     \
                      "AND id NOT IN (SELECT worker FROM jobs INDEXED BY jobs_reserved "           \
                      "WHERE state = 3 AND worker IS NOT NULL)")                                   \
    X(END_WORKERS, "DELETE FROM workers")                                                          \
    X(SHADOW,                                                                                      \
      "SELECT 1 FROM temp.sqlite_schema WHERE lower(tbl_name) IN ('tubes', 'jobs', 'bodies', "     \
      "'meta', 'throttles', 'attempts', 'schedules', 'workers')")

enum weiri_sql {
#define WEIRI_SQL_NUMBER(name, text) WEIRI_SQL_##name,
    WEIRI_SQL_MAP(WEIRI_SQL_NUMBER)
#undef WEIRI_SQL_NUMBER
    WEIRI_SQL_STATEMENTS
};

extern const char *const weiri_sql_texts[WEIRI_SQL_STATEMENTS];

#endif
