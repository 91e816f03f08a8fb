/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs/sqlite/space.h"

/* Whether /proc names this process as it names itself: pids mean the same to both. */
static bool is_proc_ours(void)
{
    char text[24] = "";
    return readlink("/proc/self", text, sizeof(text) - 1) > 0 &&
           strtoll(text, NULL, 10) == (long long)getpid();
}

bool weiri_process_read(int64_t pid, struct weiri_process *ret_process)
{
    char path[40];
    char line[512];
    (void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
    int fd = is_proc_ours() ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return false;
    }
    ssize_t size = read(fd, line, sizeof(line) - 1);
    (void)close(fd);
    line[size > 0 ? size : 0] = '\0';
    /* The name may have any bytes, brackets too; a state and numbers follow it: proc(5). */
    char *at = strrchr(line, ')');
    if (at == NULL || strlen(at) < 4) {
        return false;
    }
    *ret_process = (struct weiri_process){.pid = pid, .state = at[2]};
    at += 3;
    for (int field = 4; field <= 22; field++) {
        int64_t number = strtoll(at, &at, 10);
        ret_process->threads = field == 20 ? number : ret_process->threads;
        ret_process->started = field == 22 ? number : ret_process->started;
    }
    return ret_process->started > 0;
}

enum weiri_life weiri_process_life(int64_t pid, int64_t started)
{
    struct weiri_process found;
    if (pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH) {
        return WEIRI_LIVES_NOT;
    }
    if (pid <= 0 || started == 0 || !weiri_process_read(pid, &found)) {
        return WEIRI_LIFE_UNKNOWN;
    }
    bool has_ended = (found.state == 'Z' || found.state == 'X') && found.threads <= 1;
    return found.started != started || has_ended ? WEIRI_LIVES_NOT : WEIRI_LIVES;
}

void weiri_worker_space(char space[WEIRI_SPACE_SIZE])
{
    char pid[WEIRI_SPACE_SIZE / 2] = "";
    char time[WEIRI_SPACE_SIZE / 2] = ""; /* none before Linux 5.6 */
    (void)!readlink("/proc/self/ns/time", time, sizeof(time) - 1);
    space[0] = '\0';
    if (readlink("/proc/self/ns/pid", pid, sizeof(pid) - 1) > 0) {
        (void)snprintf(space, WEIRI_SPACE_SIZE, "%s %s", pid, time);
    }
}

int64_t weiri_worker_enter(struct weiri_store *store)
{
    bool is_near =
        store->space[0] != '\0' && strcmp(store->config->clocks.boot_name, "unknown") != 0;
    struct weiri_process own;
    struct weiri_process guard = {.started = 0};
    int64_t guard_pid = store->config->guard;
    if (store->worker != 0 || !is_near || store->is_full || !weiri_space_has_reserve(store) ||
        !weiri_process_read(store->owner, &own)) {
        return store->worker;
    }
    if (guard_pid > 0 && !weiri_process_read(guard_pid, &guard)) {
        guard_pid = 0; /* it has ended: nobody ends the programs */
    }
    weiri_sql_run(&store->writer, WEIRI_SQL_FORGET_WORKERS, NULL);
    weiri_sql_run(&store->writer, WEIRI_SQL_ADD_WORKER,
                  WEIRI_VALUES(own.pid, own.started, guard_pid, guard.started,
                               weiri_text(store->config->clocks.boot_name),
                               weiri_text(store->space)));
    store->worker = sqlite3_last_insert_rowid(store->writer.db);
    store->has_new_worker = true;
    return store->worker;
}

/* That of a row of workers, which is of this boot and these namespaces. */
static enum weiri_life read_life(sqlite3_stmt *statement)
{
    int64_t guard = sqlite3_column_int64(statement, 2);
    enum weiri_life life =
        weiri_process_life(sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1));
    return life != WEIRI_LIVES_NOT || guard < 0
               ? life
               : weiri_process_life(guard, sqlite3_column_int64(statement, 3));
}

enum weiri_life weiri_worker_life(const struct weiri_store *store,
                                  struct weiri_connection *connection,
                                  const struct weiri_job_row *row)
{
    sqlite3_stmt *statement;
    if (row->facts.lease_ns == 0) {
        return WEIRI_LIVES_NOT;
    }
    bool is = weiri_sql_first(connection, WEIRI_SQL_WORKER,
                              WEIRI_VALUES(row->worker, weiri_text(store->config->clocks.boot_name),
                                           weiri_text(store->space)),
                              &statement);
    enum weiri_life life = is ? read_life(statement) : WEIRI_LIFE_UNKNOWN;
    weiri_sql_leave(statement);
    return life;
}
