/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/cron.h>

/* What weir says, for compare.py. Each line of standard input is
 *
 *     FLAGS TAB AFTER TAB UNTIL TAB EXPRESSION
 *
 * with times in seconds since the Unix epoch; each line of output has the firings after AFTER up to
 * UNTIL, or what is wrong with the expression. */

static void list(weir_cron *cron, long long after, long long until)
{
    int64_t last_ns = WEIR_SECONDS(after);
    int64_t at_ns;
    while (weir_cron_next(cron, last_ns, &at_ns) == WEIR_OK && at_ns <= WEIR_SECONDS(until)) {
        printf("%lld ", (long long)(at_ns / WEIR_SECONDS(1)));
        if (at_ns <= last_ns) {
            break; /* compare.py sees it */
        }
        last_ns = at_ns;
    }
    printf("\n");
}

static int answer(char *line)
{
    char *end = NULL;
    struct weir_cron_options options = {0};
    struct weir_error error;
    weir_cron *cron = NULL;
    options.flags = (uint32_t)strtoul(line, &end, 10);
    long long after = strtoll(end, &end, 10);
    long long until = strtoll(end, &end, 10);
    char *text = strchr(end, '\t');
    if (text == NULL) {
        return 1;
    }
    text[strcspn(text, "\n")] = '\0';
    enum weir_status status = weir_cron_new(text + 1, &options, &cron, &error);
    if (status != WEIR_OK) {
        printf("%s: %s\n", weir_status_name((int)status), error.text);
        return 0;
    }
    list(cron, after, until);
    weir_cron_unref(cron);
    return 0;
}

int main(void)
{
    char line[1024];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        if (answer(line) != 0) {
            (void)fprintf(stderr, "list: a line without four columns: %s\n", line);
            return 64;
        }
    }
    return ferror(stdin) || fflush(stdout) != 0;
}
