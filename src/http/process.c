/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/process.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The fields of /proc/self/stat that are wanted, counted from 1. */
enum {
    USER_TIME = 14,
    SYSTEM_TIME = 15,
    START_TIME = 22,
    VIRTUAL_SIZE = 23,
    RESIDENT_PAGES = 24,
    FIELDS = 25
};

static bool read_line(const char *path, const char *key, char *line, int size)
{
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file != NULL && !found && fgets(line, size, file) != NULL) {
        found = strncmp(line, key, strlen(key)) == 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

/* The name of the program stands in parentheses, and may have any bytes. */
static bool read_stat(unsigned long long fields[FIELDS])
{
    char line[1024];
    if (!read_line("/proc/self/stat", "", line, sizeof(line))) {
        return false;
    }
    char *at = strrchr(line, ')');
    for (size_t i = 3; at != NULL && i < FIELDS; i++) {
        at = strchr(at + 1, ' ');
        fields[i] = at != NULL ? strtoull(at + 1, NULL, 10) : 0;
    }
    return at != NULL;
}

/* Descriptors that are open, the one that reads the folder left out; -1: not known. */
static long count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    long count = -1;
    if (folder == NULL) {
        return -1;
    }
    while (readdir(folder) != NULL) {
        count++;
    }
    (void)closedir(folder);
    return count - 2;
}

static void write_one(FILE *out, const char *name, const char *type, const char *help,
                      double number)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name,
                  number);
}

void process_write(FILE *out)
{
    unsigned long long fields[FIELDS] = {0};
    char line[256];
    struct rlimit limit;
    double ticks = (double)sysconf(_SC_CLK_TCK);
    if (read_stat(fields)) {
        write_one(out, "process_cpu_seconds_total", "counter",
                  "Total user and system CPU time spent in seconds.",
                  (double)(fields[USER_TIME] + fields[SYSTEM_TIME]) / ticks);
        write_one(out, "process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.",
                  (double)fields[VIRTUAL_SIZE]);
        write_one(out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.",
                  (double)fields[RESIDENT_PAGES] * (double)sysconf(_SC_PAGESIZE));
    }
    if (fields[START_TIME] != 0 && read_line("/proc/stat", "btime ", line, sizeof(line))) {
        write_one(out, "process_start_time_seconds", "gauge",
                  "Start time of the process since unix epoch in seconds.",
                  strtod(line + strlen("btime "), NULL) + (double)fields[START_TIME] / ticks);
    }
    long descriptors = count_descriptors();
    if (descriptors >= 0) {
        write_one(out, "process_open_fds", "gauge", "Number of open file descriptors.",
                  (double)descriptors);
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        write_one(out, "process_max_fds", "gauge", "Maximum number of open file descriptors.",
                  (double)limit.rlim_cur);
    }
}
