/* SPDX-License-Identifier: MIT */
/*
 * A value with its unit: JSON gets the number (nanoseconds, bytes), people read "11.23 ms". The
 * text in a value is borrowed; a document copies it.
 */
#ifndef GP_SHOW_VALUE_H
#define GP_SHOW_VALUE_H

#include <jansson.h>
#include <string.h>

#include "base/buf.h"

enum gp_show_unit {
	GP_UNIT_MISSING, /* "-", null */
	GP_UNIT_ABSENT,  /* "-", no member in JSON */
	GP_UNIT_JSON,    /* nothing in text, given whole in JSON */
	GP_UNIT_TEXT,
	GP_UNIT_BOOL,
	GP_UNIT_COUNT, /* from here on a number, aligned right */
	GP_UNIT_HEX,
	GP_UNIT_NS,
	GP_UNIT_BYTES,
	GP_UNIT_PERCENT,
	GP_UNIT_RATE, /* per second */
	GP_UNIT_REAL,
};

enum gp_show_colour { GP_PLAIN, GP_BOLD, GP_DIM, GP_RED, GP_GREEN, GP_YELLOW, GP_REVERSE };

struct gp_show_value {
	enum gp_show_unit unit;
	enum gp_show_colour colour;
	u64 number; /* BOOL, COUNT, HEX, NS, BYTES */
	double real;
	const char *text; /* `len` bytes; of other units than TEXT: what people see instead */
	size_t len;
	const char *code; /* TEXT: the word in JSON, or NULL for the text itself */
	json_t *json;     /* JSON */
};

static inline struct gp_show_value gp_v_missing(void)
{
	return (struct gp_show_value){0};
}
static inline struct gp_show_value gp_v_absent(void)
{
	return (struct gp_show_value){.unit = GP_UNIT_ABSENT};
}
static inline struct gp_show_value gp_v_textn(const char *text, size_t len)
{
	return (struct gp_show_value){.unit = GP_UNIT_TEXT, .text = text, .len = len};
}
/* NULL is missing. */
static inline struct gp_show_value gp_v_text(const char *text)
{
	return text ? gp_v_textn(text, strlen(text)) : gp_v_missing();
}
/* NULL and "" are missing. */
static inline struct gp_show_value gp_v_text_or_missing(const char *text)
{
	return gp_v_text(text && *text ? text : NULL);
}
/* A word of ours: `code` in JSON, `text` (translated) elsewhere. */
static inline struct gp_show_value gp_v_word(const char *code, const char *text)
{
	struct gp_show_value value = gp_v_text(text);

	value.code = code;
	return value;
}
static inline struct gp_show_value gp_v_number(enum gp_show_unit unit, u64 number)
{
	return (struct gp_show_value){.unit = unit, .number = number};
}
static inline struct gp_show_value gp_v_count(u64 number)
{
	return gp_v_number(GP_UNIT_COUNT, number);
}
static inline struct gp_show_value gp_v_hex(u64 number)
{
	return gp_v_number(GP_UNIT_HEX, number);
}
static inline struct gp_show_value gp_v_ns(u64 number)
{
	return gp_v_number(GP_UNIT_NS, number);
}
static inline struct gp_show_value gp_v_bytes(u64 number)
{
	return gp_v_number(GP_UNIT_BYTES, number);
}
static inline struct gp_show_value gp_v_bool(bool yes)
{
	return gp_v_number(GP_UNIT_BOOL, yes);
}
static inline struct gp_show_value gp_v_real(enum gp_show_unit unit, double real)
{
	return (struct gp_show_value){.unit = unit, .real = real};
}
static inline struct gp_show_value gp_v_percent(double real)
{
	return gp_v_real(GP_UNIT_PERCENT, real);
}
/* Takes over the reference. NULL is out of memory. */
static inline struct gp_show_value gp_v_json(json_t *json)
{
	return (struct gp_show_value){.unit = GP_UNIT_JSON, .json = json};
}
static inline struct gp_show_value gp_v_if(bool known, struct gp_show_value value)
{
	return known ? value : gp_v_missing();
}
/* The same in JSON, `text` for people: gp_v_as(gp_v_count(0x1a2b), "1a2b"). */
static inline struct gp_show_value gp_v_as(struct gp_show_value value, const char *text)
{
	if (value.unit == GP_UNIT_TEXT && !value.code)
		value.code = value.text;
	value.text = text;
	value.len = strlen(text);
	return value;
}

/* How people see a value. */
void gp_show_value_text(const struct gp_show_value *value, struct gp_buf *out);
/* A new reference; NULL without memory. Missing, and also absent, is null. */
json_t *gp_show_value_json(const struct gp_show_value *value);

#endif
