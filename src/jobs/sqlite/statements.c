/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/statements.h"

const char *const weiri_sql_texts[WEIRI_SQL_STATEMENTS] = {
#define TEXT(name, text) [WEIRI_SQL_##name] = (text),
    WEIRI_SQL_MAP(TEXT)
#undef TEXT
};
