/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "cli/nearest.h"
#include "cli/report.h"
#include "cli/table.h"

static const struct poptOption common_options[] = {
    OPTION_VALUE("broker", 'b', OPTION_BROKER,
                 "Where the jobs live, e.g. sqlite:/srv/jobs.db (default: $WEIR_BROKER, else "
                 "weir/weir.db in the state folder)",
                 "URL"),
    OPTION_VALUE("lock-wait", '\0', OPTION_LOCK_WAIT,
                 "Longest wait for a store that another process has locked (default: 10s)",
                 "DURATION"),
    OPTION_VALUE(
        "color", '\0', OPTION_COLOR,
        "Bold titles: auto (default: on a terminal, unless $NO_COLOR is set), always, never",
        "WHEN"),
    OPTION_FLAG("help", 'h', OPTION_HELP, "Show this help"),
    POPT_TABLEEND,
};

static const struct poptOption no_options[] = {POPT_TABLEEND};

#define COMMON_COUNT (sizeof(common_options) / sizeof(common_options[0]) - 1)

const struct poptOption *arguments_common(void)
{
    return common_options;
}

/* The command's rows, then the common ones. */
static struct poptOption *join_tables(const struct poptOption *own)
{
    size_t count = 0;
    while (own[count].longName != NULL || own[count].shortName != '\0') {
        count++;
    }
    struct poptOption *table = calloc(count + COMMON_COUNT + 1, sizeof(*table));
    if (table != NULL) {
        memcpy(table, own, count * sizeof(*table));
        memcpy(table + count, common_options, sizeof(common_options));
    }
    return table;
}

static char *join(const char *first, const char *second)
{
    size_t size = strlen(first) + strlen(second) + 1;
    char *result = malloc(size);
    if (result != NULL) {
        (void)snprintf(result, size, "%s%s", first, second);
    }
    return result;
}

/* Fills in all members that do not come from parsing. */
static bool prepare(struct arguments *arguments, const struct command *command, int argc,
                    char **argv)
{
    memset(arguments, 0, sizeof(*arguments));
    arguments->command = command;
    arguments->title = join("weir ", command->name);
    arguments->usage = join("[OPTION...] ", command->operands);
    arguments->words = calloc((size_t)argc + 1, sizeof(*arguments->words));
    arguments->values = calloc((size_t)argc + 1, sizeof(*arguments->values));
    arguments->table = join_tables(command->options != NULL ? command->options : no_options);
    if (arguments->title == NULL || arguments->usage == NULL || arguments->words == NULL ||
        arguments->values == NULL || arguments->table == NULL) {
        return false;
    }
    arguments->words[0] = arguments->title;
    for (int i = 1; i < argc; i++) {
        arguments->words[i] = argv[i];
    }
    arguments->context = poptGetContext(NULL, argc, arguments->words, arguments->table, 0);
    if (arguments->context == NULL) {
        return false;
    }
    poptSetOtherOptionHelp(arguments->context, arguments->usage);
    return true;
}

static void free_arguments(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->value_count; i++) {
        free(arguments->values[i]);
    }
    (void)poptFreeContext(arguments->context);
    free(arguments->values);
    free(arguments->words);
    free(arguments->table);
    free(arguments->title);
    free(arguments->usage);
}

static void print_help(const struct arguments *arguments)
{
    const struct command *command = arguments->command;
    (void)printf("weir %s: %s\n\nExamples:\n%s\n", command->name, command->summary,
                 command->examples);
    poptPrintHelp(arguments->context, stdout, 0);
}

int arguments_help(const struct command *command)
{
    struct arguments arguments;
    char *argv[] = {NULL, NULL};
    int code = EX_OK;
    if (prepare(&arguments, command, 1, argv)) {
        print_help(&arguments);
    } else {
        code = report_status(WEIR_ENOMEM, "help", NULL);
    }
    free_arguments(&arguments);
    return code;
}

const char *arguments_name(const struct arguments *arguments, int option, char buffer[64])
{
    const struct poptOption *table = arguments->table;
    size_t i = 0;
    while (table[i].val != option) {
        i++;
    }
    if (table[i].longName != NULL) {
        (void)snprintf(buffer, 64, "--%s", table[i].longName);
    } else {
        (void)snprintf(buffer, 64, "-%c", table[i].shortName);
    }
    return buffer;
}

static int refuse_unknown(const struct arguments *arguments, const char *word)
{
    const char *nearest = NULL;
    size_t distance = NEAREST_LIMIT;
    if (strncmp(word, "--", 2) == 0) {
        char name[64] = "";
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
        for (size_t i = 0; arguments->table[i].longName != NULL; i++) {
            nearest_offer(name, arguments->table[i].longName, &nearest, &distance);
        }
    }
    if (nearest != NULL) {
        return report(EX_USAGE, "%s: unknown option; did you mean --%s?", quote(word).text,
                      nearest);
    }
    return report(EX_USAGE, "%s: unknown option; expected one that `weir help %s` lists",
                  quote(word).text, arguments->command->name);
}

static int refuse(const struct arguments *arguments, int problem)
{
    const char *word = poptBadOption(arguments->context, POPT_BADOPTION_NOALIAS);
    word = word != NULL ? word : "";
    switch (problem) {
    case POPT_ERROR_BADOPT:
        return refuse_unknown(arguments, word);
    case POPT_ERROR_NOARG:
        return report(EX_USAGE, "%s: no value; expected one after it", quote(word).text);
    case POPT_ERROR_UNWANTEDARG:
        return report(EX_USAGE, "%s: expected no value", quote(word).text);
    default:
        return report(EX_USAGE, "%s: %s", quote(word).text, poptStrerror(problem));
    }
}

/* Keeps the text of the option just found; NULL for a flag. */
static const char *take_value(struct arguments *arguments)
{
    char *text = poptGetOptArg(arguments->context);
    if (text != NULL) {
        arguments->values[arguments->value_count++] = text;
    }
    return text;
}

int option_flag(int option, const char *name, const char *text, void *arg)
{
    (void)option;
    (void)name;
    (void)text;
    *(bool *)arg = true;
    return EX_OK;
}

static int parse(struct arguments *arguments, const struct command *command, int argc, char **argv,
                 option_fn *set, void *arg)
{
    if (!prepare(arguments, command, argc, argv)) {
        return report_status(WEIR_ENOMEM, "command line", NULL);
    }
    int option;
    while ((option = poptGetNextOpt(arguments->context)) > 0) {
        const char *text = take_value(arguments);
        int code = EX_OK;
        char name[64];
        switch ((enum common_option)option) {
        case OPTION_HELP:
            print_help(arguments);
            arguments->helped = true;
            return EX_OK;
        case OPTION_BROKER:
            arguments->broker = text;
            break;
        case OPTION_LOCK_WAIT:
            code = read_duration("--lock-wait", text, 1, &arguments->lock_wait_ns);
            break;
        case OPTION_COLOR:
            code = table_read_color("--color", text);
            break;
        }
        if (option >= OPTION_OWN) {
            code = set(option, arguments_name(arguments, option, name), text, arg);
        }
        if (code != EX_OK) {
            return code;
        }
    }
    if (option < -1) {
        return refuse(arguments, option);
    }
    arguments->operands = poptGetArgs(arguments->context);
    while (arguments->operands != NULL && arguments->operands[arguments->count] != NULL) {
        arguments->count++;
    }
    return EX_OK;
}

int arguments_run(const struct command *command, int argc, char **argv, option_fn *set,
                  action_fn *act, void *arg)
{
    struct arguments arguments;
    size_t count = 0;
    int code = parse(&arguments, command, argc, argv, set, arg);
    while (count < 2 && command->names[count] != NULL) {
        count++;
    }
    if (code == EX_OK && !arguments.helped) {
        if (count > 0 || command->operands[0] == '\0') {
            code = arguments_expect(&arguments, command->names, count, command->optional);
        }
        code = code == EX_OK ? act(&arguments, arg) : code;
    }
    free_arguments(&arguments);
    return code;
}

int arguments_expect(const struct arguments *arguments, const char *const *names, size_t count,
                     size_t optional)
{
    if (arguments->count > count) {
        return report(EX_USAGE, "%s: unexpected operand; expected %s",
                      quote(arguments->operands[count]).text,
                      count == 0 ? "none" : arguments->command->operands);
    }
    if (arguments->count < count - optional) {
        return report(EX_USAGE, "no %s; expected %s", names[arguments->count],
                      arguments->command->operands);
    }
    return EX_OK;
}
