/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "cli/table.h"

/* Scripts that complete commands, options, tubes and ids, made from the tables of options. */

/* What the operands of a command are. */
enum operands {
    OPERANDS_OTHER,
    OPERANDS_TUBES,
    OPERANDS_IDS,
    OPERANDS_COMMANDS
};

static enum operands operands_of(const struct command *command)
{
    return strncmp(command->operands, "ID", 2) == 0      ? OPERANDS_IDS
           : strstr(command->operands, "TUBE") != NULL   ? OPERANDS_TUBES
           : strcmp(command->operands, "[COMMAND]") == 0 ? OPERANDS_COMMANDS
                                                         : OPERANDS_OTHER;
}

/* Calls back for each option of a command, the common ones included. */
static void each_option(const struct command *command,
                        void (*fn)(const struct command *command, const struct poptOption *option))
{
    const struct poptOption *tables[] = {command->options, arguments_common()};
    for (size_t i = 0; i < 2; i++) {
        const struct poptOption *option = tables[i];
        for (; option != NULL && (option->longName != NULL || option->shortName != '\0');
             option++) {
            if (option->longName != NULL) {
                fn(command, option);
            }
        }
    }
}

/* --- bash, and zsh by its emulation --- */

static void print_bash_option(const struct command *command, const struct poptOption *option)
{
    (void)command;
    (void)printf(" --%s%s", option->longName, option->argInfo == POPT_ARG_NONE ? "" : "=");
}

static void print_bash(void)
{
    static const char *const words[] = {[OPERANDS_OTHER] = "",
                                        [OPERANDS_TUBES] = "$(_weir_tubes)",
                                        [OPERANDS_IDS] = "$(_weir_ids)",
                                        [OPERANDS_COMMANDS] = "$commands"};
    (void)fputs(
        "_weir_tubes() {\n"
        "    weir stats --json 2>/dev/null | sed -n 's/^{\"tube\":\"\\([^\"]*\\)\".*/\\1/p'\n"
        "}\n"
        "_weir_ids() {\n"
        "    local tube\n"
        "    for tube in $(_weir_tubes | head -n 20); do\n"
        "        weir ls --json --limit 50 \"$tube\" 2>/dev/null |\n"
        "            sed -n 's/^{\"id\":\"\\([^\"]*\\)\".*/\\1/p'\n"
        "    done\n"
        "}\n"
        "_weir() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} options= operands= commands='",
        stdout);
    for (size_t i = 0; commands[i] != NULL; i++) {
        (void)printf("%s%s", i > 0 ? " " : "", commands[i]->name);
    }
    (void)fputs("'\n"
                "    COMPREPLY=()\n"
                "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                "        COMPREPLY=($(compgen -W \"$commands --help --version\" -- \"$word\"))\n"
                "        return\n"
                "    fi\n"
                "    case ${COMP_WORDS[1]} in\n",
                stdout);
    for (size_t i = 0; commands[i] != NULL; i++) {
        (void)printf("    %s)\n        options='", commands[i]->name);
        each_option(commands[i], print_bash_option);
        (void)printf("'\n        [[ $word == -* ]] || operands=%s ;;\n",
                     words[operands_of(commands[i])]);
    }
    (void)fputs("    esac\n"
                "    if [[ $word == -* ]]; then\n"
                "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                "        [[ ${COMPREPLY-} != *= ]] || compopt -o nospace 2>/dev/null\n"
                "    else\n"
                "        COMPREPLY=($(compgen -W \"$operands\" -- \"$word\"))\n"
                "    fi\n"
                "}\n"
                "complete -o default -F _weir weir\n",
                stdout);
}

/* For `source`, and for a file _weir of $fpath: zsh makes a function _weir of its text, and the
 * first call of that defines the completion and then completes. */
static void print_zsh(void)
{
    (void)fputs("#compdef weir\n"
                "(( $+functions[compdef] )) || { autoload -U +X compinit && compinit -u }\n"
                "autoload -U +X bashcompinit && bashcompinit\n",
                stdout);
    print_bash();
    (void)fputs("[[ ${funcstack[1]-} != _weir ]] || _bash_complete -o default -F _weir\n", stdout);
}

/* --- fish --- */

/* A text in single quotes, as fish has them. */
static void print_quoted(const char *text)
{
    (void)putchar('\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\') {
            (void)putchar('\\');
        }
        (void)putchar(*text);
    }
    (void)putchar('\'');
}

static void print_fish_option(const struct command *command, const struct poptOption *option)
{
    (void)printf("complete -c weir -n '__fish_seen_subcommand_from %s' -l %s", command->name,
                 option->longName);
    if (option->shortName != '\0') {
        (void)printf(" -s %c", option->shortName);
    }
    (void)printf("%s -d ", option->argInfo == POPT_ARG_NONE ? "" : " -r");
    print_quoted(option->descrip);
    (void)putchar('\n');
}

static void print_fish(void)
{
    static const char *const words[] = {[OPERANDS_TUBES] = "(__weir_tubes)",
                                        [OPERANDS_IDS] = "(__weir_ids)",
                                        [OPERANDS_COMMANDS] = "(__weir_commands)"};
    (void)fputs(
        "function __weir_tubes\n"
        "    weir stats --json 2>/dev/null | string replace -rf '^{\"tube\":\"([^\"]*)\".*' "
        "'$1'\n"
        "end\n"
        "function __weir_ids\n"
        "    for tube in (__weir_tubes)[1..20]\n"
        "        weir ls --json --limit 50 $tube 2>/dev/null | string replace -rf "
        "'^{\"id\":\"([^\"]*)\".*' '$1'\n"
        "    end\n"
        "end\n"
        "function __weir_commands\n"
        "    printf '%s\\n'",
        stdout);
    for (size_t i = 0; commands[i] != NULL; i++) {
        (void)printf(" %s", commands[i]->name);
    }
    (void)fputs("\nend\n", stdout);
    for (size_t i = 0; commands[i] != NULL; i++) {
        (void)printf("complete -c weir -f -n __fish_use_subcommand -a %s -d ", commands[i]->name);
        print_quoted(commands[i]->summary);
        (void)putchar('\n');
        each_option(commands[i], print_fish_option);
        if (operands_of(commands[i]) != OPERANDS_OTHER) {
            /* What follows `--` is a program and its files. */
            bool has_files = strstr(commands[i]->operands, "PROGRAM") != NULL;
            (void)printf("complete -c weir%s -n '__fish_seen_subcommand_from %s' -a '%s'\n",
                         has_files ? "" : " -f", commands[i]->name,
                         words[operands_of(commands[i])]);
        }
    }
}

static int print(struct arguments *arguments, void *arg)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    (void)arg;
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(shells[i].name, arguments->operands[0]) == 0) {
            shells[i].print();
            return fflush(stdout) == 0 && ferror(stdout) == 0 ? EX_OK : table_refuse();
        }
    }
    return report(EX_USAGE, "%s: expected bash, zsh or fish", quote(arguments->operands[0]).text);
}

const struct command command_completion = {
    .name = "completion",
    .operands = "SHELL",
    .names = {"shell"},
    .summary = "print a script that completes commands, for bash, zsh or fish",
    .examples = "  weir completion bash > ~/.local/share/bash-completion/completions/weir\n"
                "  weir completion fish > ~/.config/fish/completions/weir.fish\n",
    .act = print,
};
