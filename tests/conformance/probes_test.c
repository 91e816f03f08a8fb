/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/pool.h>

#include "support/harness.h"

/* The probes as the tools that attach to them find them: notes in the program, which readelf (of
 * binutils, as the compiler's linker) can list. */

static char notes[65536];

static void read_notes(void)
{
    char path[512];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    CHECK(length > 0);
    path[length] = '\0';
    char command[600];
    (void)snprintf(command, sizeof(command), "readelf --notes '%s'", path);
    FILE *pipe = popen(command, "r");
    CHECK(pipe != NULL);
    size_t size = fread(notes, 1, sizeof(notes) - 1, pipe);
    notes[size] = '\0';
    CHECK_INT(pclose(pipe), ==, 0);
}

/* How many arguments the probe has; they stand apart by blanks. */
static int arguments_of(const char *name)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof(wanted), "Provider: weir\n    Name: %s\n", name);
    const char *at = strstr(notes, wanted);
    if (at == NULL) {
        return -1;
    }
    at = strstr(at, "Arguments: ");
    CHECK(at != NULL);
    int count = 0;
    for (const char *c = at; *c != '\n' && *c != '\0'; c++) {
        count += *c == '@';
    }
    return count;
}

TEST(listed, "each probe of weir(7) can be attached to, and has its four arguments")
{
    static const char *const probes[] = {"send", "run_start", "run_end", "retry", "ended"};
#ifndef WEIRI_PROBES
    test_skip("built without probes: <sys/sdt.h> was not there");
#endif
    /* What sends and runs must be part of the program. */
    CHECK_STATUS(weir_pool_start(NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_send(NULL, NULL), WEIR_EINVAL);
    read_notes();
    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
        CHECK_INT(arguments_of(probes[i]), ==, 4);
    }
    CHECK_INT(arguments_of("none"), ==, -1);
}
