/* SPDX-License-Identifier: MIT */
/*
 * Bounded number and token parsing over [p, end): text that came from outside need not be
 * NUL-terminated. Every function leaves *p after what it took, or untouched when it took nothing.
 * Numbers that do not fit are refused, never wrapped.
 */
#ifndef GP_BASE_PARSE_H
#define GP_BASE_PARSE_H

#include <string.h>

#include "base/types.h"

static inline bool gp_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Value of a hex digit, or -1. */
static inline int gp_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool gp_parse_u64(const char **p, const char *end, u64 *value);
bool gp_parse_u32(const char **p, const char *end, u32 *value);
/* Hexadecimal with or without 0x; "0x0x1f" (a quirk of ROCm 7.x) is read as 0x1f. */
bool gp_parse_hex(const char **p, const char *end, u64 *value);

/* Steps over `text` if it is next. */
static inline bool gp_parse_text(const char **p, const char *end, const char *text, size_t len)
{
	if ((size_t)(end - *p) < len || memcmp(*p, text, len) != 0)
		return false;
	*p += len;
	return true;
}

#define GP_PARSE_LITERAL(p, end, literal) gp_parse_text(p, end, literal, sizeof(literal) - 1)

static inline void gp_skip_blanks(const char **p, const char *end)
{
	while (*p < end && (**p == ' ' || **p == '\t'))
		(*p)++;
}

/* A whole command-line argument as a number; false when anything is left over. */
bool gp_argument_u64(const char *text, u64 *value);
/* A positive pid that fits the kernel's pid_t. */
bool gp_argument_pid(const char *text, u32 *pid);

/* For "did you mean": of the words looked at, the one nearest to what was typed, if it is near. */
struct gp_nearest {
	const char *typed;
	size_t distance;
	char word[33]; /* "": none */
};

void gp_nearest_look(struct gp_nearest *nearest, const char *word);

#endif
