/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_SETUP_H
#define WEIRI_CLI_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A declared set-up: the file that `weir run` runs, as sections of settings. A setting is a text,
 * as after an option of a command: the tables of those commands say which settings there are, and
 * their readers read them (parts.h). man/weir.conf.5 describes the file. */

enum section_kind {
    SECTION_BROKER, /* what stands outside of all braces; there is one */
    SECTION_HTTP,
    SECTION_CONSUMER,
    SECTION_SCHEDULE,
    SECTION_TUBE
};
#define SECTION_KINDS 5

enum setting_shape {
    SETTING_TEXT,
    SETTING_FLAG, /* true or false */
    SETTING_LIST
};

struct setting_kind {
    const char *name;
    enum setting_shape shape;
    int option;        /* of the command's table; 0: of none */
    char standard[32]; /* the default; "": none */
};

/* The settings of a kind of section; name NULL at the end. */
const struct setting_kind *setting_kinds(enum section_kind kind);
/* "consumer"; "" for SECTION_BROKER. */
const char *section_name(enum section_kind kind);

struct setting {
    const struct setting_kind *kind;
    unsigned line;
    size_t count; /* of texts; 1 unless it is a list */
    char **texts; /* NULL at the end */
};

struct section {
    enum section_kind kind;
    char *title;   /* NULL: it has none */
    unsigned line; /* its last */
    struct setting *settings;
    size_t count;
};

struct setup {
    const char *path; /* borrowed */
    struct section **sections;
    size_t count;
};

/* Reads a file. Returns 0 or an exit status, after naming file and line of each fault. setup_free()
 * must follow in both cases. One thread at a time. */
int setup_read(const char *path, struct setup *ret_setup);

/* The section of this kind and title; NULL: there is none. */
struct section *setup_find(const struct setup *setup, enum section_kind kind, const char *title);
/* Has it a section that says the same? */
bool setup_has(const struct setup *setup, const struct section *section);
/* The setting of that name; NULL: it was not given. */
struct setting *section_find(const struct section *section, const char *name);
/* Do they say the same, wherever in their files? */
bool section_equal(const struct section *a, const struct section *b);

/* Where sections say the same as before, next gets those of before, and the other way round: what
 * is the same object is unchanged. */
void setup_keep(struct setup *before, struct setup *next);

/* Writes it as a file; origin: with where each setting comes from, as a comment. */
bool setup_print(const struct setup *setup, bool origin, FILE *file);

void section_free(struct section *section);
void setup_free(struct setup *setup);

#endif
