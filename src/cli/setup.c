/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/setup.h"

#include <stdlib.h>
#include <string.h>

#include "cli/endpoint.h"
#include "cli/policy_entry.h"
#include "cli/schedule_entry.h"
#include "cli/worker.h"

#define SETTINGS_MAX 20

static const struct poptOption worker_table[] = {WORKER_OPTIONS, POPT_TABLEEND};
static const struct poptOption policy_table[] = {POLICY_ENTRY_OPTIONS, POPT_TABLEEND};
static const struct poptOption schedule_table[] = {SCHEDULE_ENTRY_OPTIONS, POPT_TABLEEND};

/* The settings that are no options of a command; the options follow them. */
static const struct {
    const char *name;
    struct setting_kind own[3];
    const struct poptOption *options;
} kinds[SECTION_KINDS] = {
    [SECTION_BROKER] = {"",
                        {{"broker", SETTING_TEXT, 0, ""},
                         {"durability", SETTING_TEXT, 0, "full"},
                         {"lock-wait", SETTING_TEXT, 0, "10s"}},
                        NULL},
    [SECTION_HTTP] = {"http", {{.name = NULL}}, endpoint_options},
    [SECTION_CONSUMER] = {"consumer",
                          {{"tubes", SETTING_LIST, 0, ""}, {"program", SETTING_LIST, 0, ""}},
                          worker_table},
    [SECTION_SCHEDULE] = {"schedule",
                          {{"tube", SETTING_TEXT, 0, ""}, {"body", SETTING_TEXT, 0, ""}},
                          schedule_table},
    [SECTION_TUBE] = {"tube", {{.name = NULL}}, policy_table},
};

const char *section_name(enum section_kind kind)
{
    return kinds[kind].name;
}

/* What the help of an option says in "(default: 5s)". */
static void read_standard(const char *help, char standard[32])
{
    static const char mark[] = "(default: ";
    const char *at = strstr(help, mark);
    size_t size = at != NULL ? strcspn(at + strlen(mark), ")") : 0;
    standard[0] = '\0';
    if (size > 0 && size < 32 && strchr(at + strlen(mark), ' ') == NULL) {
        memcpy(standard, at + strlen(mark), size);
        standard[size] = '\0';
    }
}

static void fill(enum section_kind kind, struct setting_kind *settings)
{
    size_t count = 0;
    while (count < 3 && kinds[kind].own[count].name != NULL) {
        settings[count] = kinds[kind].own[count];
        count++;
    }
    const struct poptOption *options = kinds[kind].options;
    for (size_t i = 0; options != NULL && options[i].longName != NULL; i++) {
        struct setting_kind *setting = &settings[count++];
        setting->name = options[i].longName;
        setting->option = options[i].val;
        setting->shape = options[i].argInfo == POPT_ARG_NONE        ? SETTING_FLAG
                         : strcmp(options[i].longName, "host") == 0 ? SETTING_LIST
                                                                    : SETTING_TEXT;
        read_standard(options[i].descrip, setting->standard);
    }
}

const struct setting_kind *setting_kinds(enum section_kind kind)
{
    static struct setting_kind all[SECTION_KINDS][SETTINGS_MAX + 1];
    if (all[kind][0].name == NULL) {
        fill(kind, all[kind]);
    }
    return all[kind];
}

/* --- comparing --- */

static bool is_title(const struct section *section, const char *title)
{
    return section->title == NULL || title == NULL ? section->title == title
                                                   : strcmp(section->title, title) == 0;
}

struct section *setup_find(const struct setup *setup, enum section_kind kind, const char *title)
{
    for (size_t i = 0; i < setup->count; i++) {
        struct section *section = setup->sections[i];
        if (section != NULL && section->kind == kind && is_title(section, title)) {
            return section;
        }
    }
    return NULL;
}

struct setting *section_find(const struct section *section, const char *name)
{
    for (size_t i = 0; i < section->count; i++) {
        if (strcmp(section->settings[i].kind->name, name) == 0) {
            return &section->settings[i];
        }
    }
    return NULL;
}

static bool setting_equal(const struct setting *a, const struct setting *b)
{
    bool equal = b != NULL && a->count == b->count;
    for (size_t i = 0; equal && i < a->count; i++) {
        equal = strcmp(a->texts[i], b->texts[i]) == 0;
    }
    return equal;
}

bool section_equal(const struct section *a, const struct section *b)
{
    bool equal = a->kind == b->kind && is_title(a, b->title) && a->count == b->count;
    for (size_t i = 0; equal && i < a->count; i++) {
        equal = setting_equal(&a->settings[i], section_find(b, a->settings[i].kind->name));
    }
    return equal;
}

bool setup_has(const struct setup *setup, const struct section *section)
{
    bool has = false;
    for (size_t i = 0; i < setup->count && !has; i++) {
        has = setup->sections[i] != NULL && section_equal(setup->sections[i], section);
    }
    return has;
}

void setup_keep(struct setup *before, struct setup *next)
{
    for (size_t i = 0; i < before->count; i++) {
        for (size_t j = 0; j < next->count; j++) {
            struct section *old = before->sections[i];
            if (old != NULL && section_equal(old, next->sections[j])) {
                before->sections[i] = next->sections[j];
                next->sections[j] = old;
                break;
            }
        }
    }
}

/* --- showing --- */

static void print_text(const char *text, FILE *file)
{
    (void)fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\' || *text == '$') {
            (void)fputc('\\', file);
        }
        if (*text == '\n' || *text == '\t') {
            (void)fputs(*text == '\n' ? "\\n" : "\\t", file);
        } else {
            (void)fputc(*text, file);
        }
    }
    (void)fputc('"', file);
}

static void print_value(const struct setting *setting, FILE *file)
{
    bool is_list = setting->kind->shape == SETTING_LIST;
    (void)fputs(is_list ? "{" : "", file);
    for (size_t i = 0; i < setting->count; i++) {
        (void)fputs(i > 0 ? ", " : "", file);
        if (setting->kind->shape == SETTING_FLAG) {
            (void)fputs(setting->texts[i], file);
        } else {
            print_text(setting->texts[i], file);
        }
    }
    (void)fputs(is_list ? "}" : "", file);
}

/* A setting that was not given is a comment, with its default if it has one. */
static void print_setting(const struct setup *setup, const struct section *section,
                          const struct setting_kind *kind, bool origin, FILE *file)
{
    const struct setting *setting = section_find(section, kind->name);
    (void)fputs(section->kind == SECTION_BROKER ? "" : "    ", file);
    if (setting != NULL) {
        (void)fprintf(file, "%s = ", kind->name);
        print_value(setting, file);
        if (origin) {
            (void)fprintf(file, "  # %s:%u", setup->path, setting->line);
        }
    } else if (kind->shape == SETTING_FLAG || kind->standard[0] != '\0') {
        (void)fprintf(file, "# %s = %s", kind->name,
                      kind->shape == SETTING_FLAG ? "false" : kind->standard);
    } else {
        (void)fprintf(file, "# %s: not set", kind->name);
    }
    (void)fputc('\n', file);
}

bool setup_print(const struct setup *setup, bool origin, FILE *file)
{
    for (size_t i = 0; i < setup->count; i++) {
        const struct section *section = setup->sections[i];
        bool is_root = section->kind == SECTION_BROKER;
        if (!is_root) {
            (void)fprintf(file, "\n%s ", section_name(section->kind));
            if (section->title != NULL) {
                print_text(section->title, file);
                (void)fputc(' ', file);
            }
            (void)fputs("{\n", file);
        }
        for (const struct setting_kind *kind = setting_kinds(section->kind); kind->name != NULL;
             kind++) {
            print_setting(setup, section, kind, origin, file);
        }
        (void)fputs(is_root ? "" : "}\n", file);
    }
    return fflush(file) == 0 && ferror(file) == 0;
}

/* --- freeing --- */

void section_free(struct section *section)
{
    if (section == NULL) {
        return;
    }
    for (size_t i = 0; i < section->count; i++) {
        for (size_t j = 0; j < section->settings[i].count; j++) {
            free(section->settings[i].texts[j]);
        }
        free(section->settings[i].texts);
    }
    free(section->settings);
    free(section->title);
    free(section);
}

void setup_free(struct setup *setup)
{
    for (size_t i = 0; i < setup->count; i++) {
        section_free(setup->sections[i]);
    }
    free(setup->sections);
    *setup = (struct setup){.path = setup->path};
}
