/* SPDX-License-Identifier: MIT */
/*
 * The project's conventions on top of jansson: addresses are "0x..." strings (a JSON number cannot
 * hold 64 bits everywhere), unknown is null, and text from outside is made valid UTF-8 first.
 * All constructors return a new reference, or NULL without memory, which jansson passes through.
 */
#ifndef GP_BASE_JSON_H
#define GP_BASE_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"

/* Appends a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD, here and below. */
void gp_json_escape(struct gp_buf *out, const char *text, size_t len);

json_t *gp_json_text(const char *text, size_t len);
/* Text up to the NUL, or null for NULL. */
json_t *gp_json_str(const char *text);
/* The same for fields in which "" stands for unknown. */
json_t *gp_json_str_or_null(const char *text);
json_t *gp_json_hex(u64 value);
/* null unless known. */
json_t *gp_json_u64_if(bool known, u64 value);
json_t *gp_json_hex_if(bool known, u64 value);

/* A member that is a whole number; false if it is missing, negative or anything else. */
bool gp_json_get_u64(const json_t *object, const char *key, u64 *value);

/* Indented with a newline at the end, or on one line (--json --watch). -EIO when not all written.
 */
int gp_json_print(FILE *out, const json_t *json, bool one_line);

#endif
