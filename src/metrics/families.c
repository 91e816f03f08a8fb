/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "metrics/families.h"

#include <string.h>

void weiri_line_begin(struct weiri_text *text, const char *family, const char *suffix,
                      const char *name, const struct weiri_label *label)
{
    weiri_text_add(text, family);
    weiri_text_add(text, suffix);
    weiri_text_add(text, "{name=\"");
    weiri_text_add_escaped(text, name, true);
    if (label != NULL) {
        weiri_text_add(text, "\",");
        weiri_text_add(text, label->name);
        weiri_text_add(text, "=\"");
        weiri_text_add(text, label->value);
    }
    weiri_text_add(text, "\"} ");
}

void weiri_line_count(struct weiri_text *text, const char *family, const char *name,
                      const struct weiri_label *label, uint64_t count)
{
    weiri_line_begin(text, family, "", name, label);
    weiri_text_add_count(text, count);
    weiri_text_add(text, "\n");
}

void weiri_line_seconds(struct weiri_text *text, const char *family, const char *name,
                        weiri_wide duration_ns)
{
    weiri_line_begin(text, family, "", name, NULL);
    weiri_text_add_seconds(text, duration_ns);
    weiri_text_add(text, "\n");
}

static void write_head(struct weiri_text *text, const struct weiri_family *family)
{
    weiri_text_add(text, "# HELP ");
    weiri_text_add(text, family->name);
    weiri_text_add(text, " ");
    weiri_text_add_escaped(text, family->help, false);
    weiri_text_add(text, "\n# TYPE ");
    weiri_text_add(text, family->name);
    weiri_text_add(text, " ");
    weiri_text_add(text, family->type);
    weiri_text_add(text, "\n");
}

static void write_lines(struct weiri_text *text, const struct weiri_family *family,
                        const struct weiri_named_sample *named)
{
    if (family->lines != NULL) {
        family->lines(text, family->name, named);
        return;
    }
    uint64_t count;
    memcpy(&count, (const char *)&named->sample + family->offset, sizeof(count));
    weiri_line_count(text, family->name, named->name, NULL, count);
}

void weiri_families_write(struct weiri_text *text, const struct weiri_family *families,
                          size_t family_count, const struct weiri_named_sample *samples,
                          size_t count)
{
    for (size_t i = 0; i < family_count && count > 0; i++) {
        write_head(text, &families[i]);
        for (size_t j = 0; j < count; j++) {
            write_lines(text, &families[i], &samples[j]);
        }
    }
}
