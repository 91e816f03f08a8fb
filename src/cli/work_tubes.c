/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/work_tubes.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "cli/report.h"

#define WEIGHT_MAX 1000

/* Reads one operand into the room for its name. */
static int read_one(const char *text, char *name, struct weir_tube_weight *ret_tube)
{
    size_t size = strcspn(text, "=");
    int64_t weight = 1;
    memcpy(name, text, size);
    name[size] = '\0';
    int code = read_tube(name);
    if (code == EX_OK && text[size] == '=') {
        code = read_number("weight", text + size + 1, 1, WEIGHT_MAX, &weight);
    }
    *ret_tube = (struct weir_tube_weight){.tube = name, .weight = (uint32_t)weight};
    return code;
}

static bool is_there(const struct work_tubes *tubes, const char *tube)
{
    bool is = false;
    for (size_t i = 0; i < tubes->count && !is; i++) {
        is = strcmp(tubes->all[i].tube, tube) == 0;
    }
    return is;
}

int work_tubes_read(struct work_tubes *tubes, const char *const *words, size_t count)
{
    size_t size = 1;
    for (size_t i = 0; i < count; i++) {
        size += strlen(words[i]) + sizeof(", ");
    }
    *tubes = (struct work_tubes){.count = 0, .names = malloc(size), .label = calloc(1, size)};
    if (tubes->names == NULL || tubes->label == NULL) {
        return report_status(WEIR_ENOMEM, "tubes", NULL);
    }
    if (count > WEIR_CONSUMER_TUBES_MAX) {
        return report(EX_USAGE, "%zu tubes; expected at most %d", count, WEIR_CONSUMER_TUBES_MAX);
    }
    char *name = tubes->names;
    for (size_t i = 0; i < count; i++) {
        struct weir_tube_weight tube;
        int code = read_one(words[i], name, &tube);
        if (code == EX_OK && is_there(tubes, name)) {
            code = report(EX_USAGE, "%s: named twice; expected each tube once", quote(name).text);
        }
        if (code != EX_OK) {
            return code;
        }
        tubes->all[tubes->count++] = tube;
        strcat(strcat(tubes->label, i > 0 ? ", " : ""), name);
        name += strlen(name) + 1;
    }
    return EX_OK;
}

void work_tubes_free(struct work_tubes *tubes)
{
    free(tubes->names);
    free(tubes->label);
}

int read_rate(const char *name, const char *text, double *ret_rate)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"/s", 1}, {"/m", 60}, {"/h", 3600}};
    char *end = NULL;
    bool is_digit = text[0] >= '0' && text[0] <= '9';
    double number = is_digit ? strtod(text, &end) : 0;
    for (size_t i = 0; is_digit && i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].unit) == 0 && number > 0 && number <= 1e9) {
            *ret_rate = number / units[i].seconds;
            return EX_OK;
        }
    }
    return report(EX_USAGE, "%s: %s: expected a rate such as 50, 2.5/s, 100/m or 10/h", name,
                  quote(text).text);
}
