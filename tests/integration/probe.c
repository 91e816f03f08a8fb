/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A handler for tests. It writes down what it sees, in whole lines at the end of a file.
 *
 *   weir_probe log FILE [FAILS STATUS]   "ID ATTEMPT RUN_AT NOW CREATED_AT", then the body; ends
 * with STATUS while the attempt is at most FAILS, else with 0 weir_probe facts FILE [WORD...]
 * everything that a handler can see of itself */

extern char **environ;

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? value : "missing";
}

static size_t read_body(char *body, size_t size)
{
    size_t at = 0;
    ssize_t count;
    while (at < size && (count = read(STDIN_FILENO, body + at, size - at)) > 0) {
        at += (size_t)count;
    }
    return at;
}

/* One write at the end of the file: lines of several processes stay whole. */
static int append(const char *path, const char *text, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size) {
        perror(path);
        return 99;
    }
    return close(fd);
}

static int write_log(const char *path, int fails, int status)
{
    char body[1024];
    char text[2048];
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    size_t size = read_body(body, sizeof(body));
    int length =
        snprintf(text, sizeof(text), "%s %s %s %lld.%09ld %s %.*s\n", variable("WEIR_JOB_ID"),
                 variable("WEIR_ATTEMPT"), variable("WEIR_RUN_AT"), (long long)now.tv_sec,
                 now.tv_nsec, variable("WEIR_CREATED_AT"), (int)size, body);
    int failed = append(path, text, (size_t)length);
    if (failed != 0) {
        return failed;
    }
    return atoi(variable("WEIR_ATTEMPT")) <= fails ? status : 0;
}

static void print_hex(FILE *out, const char *name, const char *data, size_t size)
{
    (void)fprintf(out, "%s ", name);
    for (size_t i = 0; i < size; i++) {
        (void)fprintf(out, "%02x", (unsigned char)data[i]);
    }
    (void)fputc('\n', out);
}

static int write_facts(const char *path, int argc, char **argv)
{
    char body[4096];
    FILE *out = NULL;
    char *text = NULL;
    size_t text_size = 0;
    DIR *descriptors = opendir("/proc/self/fd");
    out = open_memstream(&text, &text_size);
    if (out == NULL || descriptors == NULL) {
        return 99;
    }
    for (int i = 0; i < argc; i++) {
        print_hex(out, "word", argv[i], strlen(argv[i]));
    }
    for (int i = 0; environ[i] != NULL; i++) {
        if (strncmp(environ[i], "WEIR_", 5) == 0 || strncmp(environ[i], "OTHER=", 6) == 0) {
            (void)fprintf(out, "variable %s\n", environ[i]);
        }
    }
    for (struct dirent *entry; (entry = readdir(descriptors)) != NULL;) {
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(descriptors)) {
            (void)fprintf(out, "descriptor %s\n", entry->d_name);
        }
    }
    (void)closedir(descriptors);
    (void)fprintf(out, "group %s\n", getpgrp() == getpid() ? "own" : "shared");
    print_hex(out, "body", body, read_body(body, sizeof(body)));
    if (fclose(out) != 0 || text == NULL) {
        return 99;
    }
    int failed = append(path, text, text_size);
    free(text);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "log") == 0) {
        return write_log(argv[2], 0, 0);
    }
    if (argc == 5 && strcmp(argv[1], "log") == 0) {
        return write_log(argv[2], atoi(argv[3]), atoi(argv[4]));
    }
    if (argc >= 3 && strcmp(argv[1], "facts") == 0) {
        return write_facts(argv[2], argc, argv);
    }
    (void)fputs("weir_probe: unknown use\n", stderr);
    return 98;
}
