/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_URL_H
#define WEIRI_SQLITE_URL_H

#include <limits.h>

#include "jobs/core/backend.h"

/* Reads what is behind `sqlite:`. What is in front of a `?` is the path, byte for byte; what other
 * URLs would mean by `//` and `#` is refused rather than taken for a part of a name. The options
 * behind it change the config, whose own durability comes first; the default is full. WEIR_EINVAL:
 * ret_error names the piece and its offset in the URL. */
WEIR_NODISCARD enum weir_status weiri_url_parse(const char *location, char ret_path[PATH_MAX],
                                                struct weiri_broker_config *config,
                                                struct weir_error *ret_error);

/* The ending by which a path would be that of a file beside a store; NULL: it has none. */
const char *weiri_url_reserved_ending(const char *path, size_t length);

#endif
