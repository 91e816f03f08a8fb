/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_VIEW_TEXT_H
#define WEIRI_VIEW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/job_schedule.h>

/* Makes foreign bytes safe to show: no byte moves a terminal's cursor, changes its colours or the
 * direction of its text. */

/* Space for one escaped character, its NUL included. */
#define TEXT_ESCAPED_SIZE 8

/* Writes the character at text (size > 0) as it may be shown: itself, or `\n`, `\t`, `\\`, `\"`, or
 * `\xNN` for its first byte. Returns how many bytes of text that was. */
size_t text_escape_one(const char *text, size_t size, char escaped[TEXT_ESCAPED_SIZE]);

/* Writes a message, cut to size (> TEXT_ESCAPED_SIZE) where it is longer: as text_escape_one(), but
 * quotation marks and backslashes, which are the message's own, stay. Returns its length. */
size_t text_escape_message(const char *message, char *line, size_t size);

/* The whole of it escaped; to be freed; NULL: out of memory. */
char *text_escape(const void *data, size_t size);

/* In base64, with padding; to be freed; NULL: out of memory. */
char *text_base64(const void *data, size_t size);

/* Reads base64 with padding into bytes, which has size of them at least. False: it is none. */
bool text_read_base64(const char *text, size_t size, char *bytes, size_t *ret_size);

/* Each reads a name of its enum. False: it is none. */
bool text_read_late(const char *text, uint32_t *ret_late);
bool text_read_mode(const char *text, enum weir_duplicate *ret_mode);
bool text_read_missed(const char *text, enum weir_missed *ret_missed);
bool text_read_state(const char *text, enum weir_job_state *ret_state);

#endif
