/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Reads the file of a set-up with libconfuse, which calls back after each setting and each section:
 * only then it knows the line. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#include <confuse.h>

#include "cli/nearest.h"
#include "cli/report.h"
#include "cli/setup.h"

#define OPTIONS_MAX 32
#define FILE_SIZE_MAX ((size_t)1 << 20)

/* libconfuse's calls have no argument of ours. */
static struct reading {
    struct setup *setup;
    cfg_t *root;
    struct section *open; /* not yet at its end; NULL: none */
    int code;
} reading;

static void fail(int code)
{
    reading.code = reading.code == EX_OK ? code : reading.code;
}

static void fail_memory(void)
{
    fail(report_status(WEIR_ENOMEM, reading.setup->path, NULL));
}

/* --- the tree --- */

/* Adds a section to the set-up. NULL: no memory. */
static struct section *add_section(enum section_kind kind)
{
    struct setup *setup = reading.setup;
    struct section *section = calloc(1, sizeof(*section));
    struct section **sections =
        realloc(setup->sections, (setup->count + 1) * sizeof(*setup->sections));
    setup->sections = sections != NULL ? sections : setup->sections;
    if (section == NULL || sections == NULL) {
        free(section);
        fail_memory();
        return NULL;
    }
    section->kind = kind;
    setup->sections[setup->count++] = section;
    return section;
}

static void clear_texts(struct setting *setting)
{
    for (size_t i = 0; i < setting->count; i++) {
        free(setting->texts[i]);
    }
    free(setting->texts);
    setting->texts = NULL;
    setting->count = 0;
}

static struct setting *add_setting(struct section *section, const struct setting_kind *kind)
{
    struct setting *settings =
        realloc(section->settings, (section->count + 1) * sizeof(*section->settings));
    if (settings == NULL) {
        return NULL;
    }
    section->settings = settings;
    settings[section->count] = (struct setting){.kind = kind};
    return &settings[section->count++];
}

/* A value as it is kept: flags are "true" or "false". NULL: it is neither. */
static const char *text_to_keep(const struct setting_kind *kind, const char *text)
{
    static const char *const flags[][2] = {{"true", "true"},   {"yes", "true"}, {"on", "true"},
                                           {"false", "false"}, {"no", "false"}, {"off", "false"}};
    if (kind->shape != SETTING_FLAG) {
        return text;
    }
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (strcmp(text, flags[i][0]) == 0) {
            return flags[i][1];
        }
    }
    return NULL;
}

/* Copies the values of an option. False: no memory; what was copied is the setting's. */
static bool copy_texts(struct setting *setting, cfg_opt_t *option, unsigned line)
{
    unsigned count = cfg_opt_size(option);
    setting->line = line;
    setting->texts = calloc((size_t)count + 1, sizeof(*setting->texts));
    for (unsigned i = 0; setting->texts != NULL && i < count; i++) {
        const char *given = cfg_opt_getnstr(option, i);
        const char *text = text_to_keep(setting->kind, given);
        if (text == NULL) {
            fail(report(EX_CONFIG, "%s:%u: %s: %s: expected true or false", reading.setup->path,
                        setting->line, setting->kind->name, quote(given).text));
            text = "false";
        }
        setting->texts[i] = strdup(text);
        if (setting->texts[i] == NULL) {
            return false;
        }
        setting->count++;
    }
    return setting->texts != NULL;
}

/* --- libconfuse's calls --- */

/* The section that a setting stands in: that of the file's top, or the one that is open. */
static struct section *section_of(const cfg_t *cfg)
{
    if (cfg == reading.root) {
        return reading.setup->sections[0];
    }
    if (reading.open == NULL) {
        enum section_kind kind = SECTION_HTTP;
        while (strcmp(section_name(kind), cfg_name((cfg_t *)cfg)) != 0) {
            kind++;
        }
        reading.open = add_section(kind);
    }
    return reading.open;
}

static int take_setting(cfg_t *cfg, cfg_opt_t *option)
{
    struct section *section = section_of(cfg);
    if (section == NULL) {
        return -1;
    }
    const struct setting_kind *kind = setting_kinds(section->kind);
    while (strcmp(kind->name, cfg_opt_name(option)) != 0) {
        kind++;
    }
    struct setting *setting = section_find(section, kind->name);
    if (setting != NULL && kind->shape != SETTING_LIST) {
        fail(report(EX_CONFIG, "%s:%d: %s: given twice; expected once", reading.setup->path,
                    cfg->line, kind->name));
        return 0;
    }
    /* The call for a list comes after each of its elements. */
    if (setting != NULL) {
        clear_texts(setting);
    } else {
        setting = add_setting(section, kind);
    }
    if (setting == NULL || !copy_texts(setting, option, (unsigned)cfg->line)) {
        fail_memory();
        return -1;
    }
    return 0;
}

static int end_section(cfg_t *cfg, cfg_opt_t *option)
{
    cfg_t *ended = cfg_opt_getnsec(option, cfg_opt_size(option) - 1);
    struct section *section = section_of(ended);
    const char *title = cfg_title(ended);
    reading.open = NULL;
    if (section == NULL) {
        return -1;
    }
    section->line = (unsigned)cfg->line;
    if (title != NULL && (section->title = strdup(title)) == NULL) {
        fail_memory();
        return -1;
    }
    if (section->kind == SECTION_HTTP && cfg_opt_size(option) > 1) {
        fail(report(EX_CONFIG, "%s:%u: http: given twice; expected once", reading.setup->path,
                    section->line));
    }
    return 0;
}

static void refuse_unknown(const cfg_t *cfg, const char *name)
{
    enum section_kind kind = SECTION_BROKER;
    const char *nearest = NULL;
    size_t distance = NEAREST_LIMIT;
    for (enum section_kind i = SECTION_HTTP; i < SECTION_KINDS; i++) {
        if (cfg == reading.root) {
            nearest_offer(name, section_name(i), &nearest, &distance);
        } else if (strcmp(section_name(i), cfg_name((cfg_t *)cfg)) == 0) {
            kind = i;
        }
    }
    for (const struct setting_kind *i = setting_kinds(kind); i->name != NULL; i++) {
        nearest_offer(name, i->name, &nearest, &distance);
    }
    const char *where = reading.setup->path;
    fail(nearest != NULL
             ? report(EX_CONFIG, "%s:%d: %s: unknown setting; did you mean %s?", where, cfg->line,
                      quote(name).text, nearest)
             : report(EX_CONFIG, "%s:%d: %s: unknown setting; expected one that weir.conf(5) lists",
                      where, cfg->line, quote(name).text));
}

__attribute__((format(printf, 2, 0))) static void take_error(cfg_t *cfg, const char *format,
                                                             va_list arguments)
{
    char text[256];
    if (strstr(format, "no such option") != NULL) {
        refuse_unknown(cfg, va_arg(arguments, const char *));
        return;
    }
    (void)vsnprintf(text, sizeof(text), format, arguments);
    fail(report(EX_CONFIG, "%s:%d: %s; expected what weir.conf(5) describes", reading.setup->path,
                cfg->line, text));
}

/* --- reading --- */

static unsigned count_lines(const char *text)
{
    unsigned count = 1;
    while ((text = strchr(text, '\n')) != NULL) {
        text++;
        count++;
    }
    return count;
}

/* Bytes of the comment that begins here, maybe at the start of a word; 0: none does. */
static size_t comment_size(const char *at, bool is_start)
{
    const char *end = is_start && strncmp(at, "/*", 2) == 0 ? strstr(at + 2, "*/") : NULL;
    bool is_line = *at == '#' || (is_start && strncmp(at, "//", 2) == 0);
    return end != NULL ? (size_t)(end + 2 - at) : is_line ? strcspn(at, "\n") : 0;
}

/* Blanks the comments, since libconfuse 3.3 counts lines that have one thrice. Returns how many
 * braces are open at the end, which it takes for that of their sections. */
static int blank_comments(char *text)
{
    int depth = 0;
    char mark = '\0'; /* of the quotes that are open */
    bool is_start = true;
    for (char *at = text; *at != '\0'; at++) {
        size_t size = mark == '\0' ? comment_size(at, is_start) : 0;
        if (mark == '\0' && size == 0 && is_start && strncmp(at, "/*", 2) == 0) {
            *at = '\0';
            fail(report(EX_CONFIG, "%s:%u: comment without an end; expected */",
                        reading.setup->path, count_lines(text)));
            break;
        }
        for (size_t i = 0; i < size; i++) {
            at[i] = at[i] == '\n' ? '\n' : ' ';
        }
        if (mark != '\0' && *at == '\\' && at[1] != '\0') {
            at++;
        } else if (mark != '\0') {
            mark = *at == mark ? '\0' : mark;
        } else if (*at == '"' || *at == '\'') {
            mark = *at;
        }
        depth += mark != '\0' ? 0 : *at == '{' ? 1 : *at == '}' ? -1 : 0;
        is_start = strchr(" \t\n{}=,", *at) != NULL;
    }
    return depth;
}

static size_t fill_options(enum section_kind kind, cfg_opt_t options[OPTIONS_MAX])
{
    size_t count = 0;
    for (const struct setting_kind *i = setting_kinds(kind); i->name != NULL; i++) {
        options[count] = i->shape == SETTING_LIST ? (cfg_opt_t)CFG_STR_LIST(i->name, 0, 0)
                                                  : (cfg_opt_t)CFG_STR(i->name, 0, 0);
        options[count++].validcb = take_setting;
    }
    options[count] = (cfg_opt_t)CFG_END();
    return count;
}

static void parse(const char *text)
{
    static cfg_opt_t sections[SECTION_KINDS][OPTIONS_MAX];
    cfg_opt_t *root = sections[SECTION_BROKER];
    size_t count = fill_options(SECTION_BROKER, root);
    for (enum section_kind kind = SECTION_HTTP; kind < SECTION_KINDS; kind++) {
        int flags =
            kind == SECTION_HTTP ? CFGF_MULTI : CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES;
        (void)fill_options(kind, sections[kind]);
        root[count] = (cfg_opt_t)CFG_SEC(section_name(kind), sections[kind], flags);
        root[count++].validcb = end_section;
    }
    root[count] = (cfg_opt_t)CFG_END();
    reading.root = cfg_init(root, CFGF_NONE);
    if (reading.root == NULL || add_section(SECTION_BROKER) == NULL) {
        fail(EX_OSERR);
        return;
    }
    (void)cfg_set_error_function(reading.root, take_error);
    if (cfg_parse_buf(reading.root, text) != CFG_SUCCESS && reading.code == EX_OK) {
        fail(report(EX_CONFIG, "%s:%d: cannot be read", reading.setup->path, reading.root->line));
    }
}

/* The whole file with a NUL behind, to be freed. NULL: errno says why. A pipe is not opened: it may
 * have no writer, and a reload would find it empty. */
static char *read_text(const char *path)
{
    struct stat facts;
    bool is_other = stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
    char *text = calloc(1, FILE_SIZE_MAX + 1);
    FILE *file = text != NULL && !is_other ? fopen(path, "re") : NULL;
    size_t size = file != NULL ? fread(text, 1, FILE_SIZE_MAX, file) : 0;
    int why = is_other                            ? ENOTSUP
              : file == NULL || ferror(file) != 0 ? errno
              : size == FILE_SIZE_MAX             ? EFBIG
              : strlen(text) < size               ? EILSEQ /* a NUL */
                                                  : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    if (why != 0) {
        free(text);
        errno = why;
        return NULL;
    }
    return text;
}

int setup_read(const char *path, struct setup *ret_setup)
{
    *ret_setup = (struct setup){.path = path};
    char *text = read_text(path);
    if (text == NULL) {
        return report(EX_NOINPUT, "%s: %s; expected a file as weir.conf(5) describes it",
                      quote(path).text,
                      errno == EILSEQ    ? "it has a byte 0"
                      : errno == ENOTSUP ? "it is no regular file"
                                         : strerror(errno));
    }
    reading = (struct reading){.setup = ret_setup};
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) {
        memset(text, ' ', 3); /* the mark that some editors write before UTF-8 */
    }
    int depth = blank_comments(text);
    parse(text);
    if (depth > 0 && reading.code == EX_OK) {
        fail(report(EX_CONFIG, "%s:%u: end of file; expected a closing brace", path,
                    count_lines(text)));
    }
    free(text);
    (void)cfg_free(reading.root);
    return reading.code;
}
