// SPDX-License-Identifier: MIT
/* Descriptions of events: "name: x", "ID: n" and a line for each field. */
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/parse.h"
#include "trace/read/tracedat_parts.h"

/* A record's length has at most 27 bits; a page has much less. */
#define OFFSET_MAX (1u << 20)

void gp_trace_dat_formats_free(struct gp_trace_dat_formats *formats)
{
	for (size_t i = 0; i < formats->count; i++)
		free(formats->items[i].fields);
	free(formats->items);
	free(formats->by_type);
	memset(formats, 0, sizeof(*formats));
}

/* "offset:8;" in [p, end). */
static bool take_property(const char *p, const char *end, const char *key, u32 *value)
{
	const char *found = memmem(p, (size_t)(end - p), key, strlen(key));

	if (!found)
		return false;
	found += strlen(key);
	return gp_parse_u32(&found, end, value) && found < end && *found == ';';
}

static bool has_word(const char *p, const char *end, const char *word)
{
	return memmem(p, (size_t)(end - p), word, strlen(word)) != NULL;
}

/* "	field:__data_loc char[] name;	offset:8;	size:4;	signed:0;" */
static bool take_field(const char *p, const char *end, struct gp_trace_dat_field *field)
{
	const char *semicolon, *start, *stop;
	u32 is_signed = 0;

	gp_skip_blanks(&p, end);
	if (!GP_PARSE_LITERAL(&p, end, "field:"))
		return false;
	semicolon = memchr(p, ';', (size_t)(end - p));
	if (!semicolon || !take_property(semicolon, end, "offset:", &field->offset) ||
	    !take_property(semicolon, end, "size:", &field->size) || field->offset > OFFSET_MAX ||
	    field->size > OFFSET_MAX)
		return false;
	take_property(semicolon, end, "signed:", &is_signed);
	field->is_signed = is_signed;
	/* The name is the last word, without what brackets follow it. */
	stop = memchr(p, '[', (size_t)(semicolon - p));
	field->dynamic =
		has_word(p, semicolon, "__data_loc") || has_word(p, semicolon, "__rel_loc");
	field->relative = has_word(p, semicolon, "__rel_loc");
	field->is_text = has_word(p, semicolon, "char") && stop != NULL;
	if (!stop || field->dynamic)
		stop = semicolon;
	while (stop > p && stop[-1] == ' ')
		stop--;
	for (start = stop; start > p && start[-1] != ' ' && start[-1] != '*' && start[-1] != ']';)
		start--;
	if (start == stop || (size_t)(stop - start) >= sizeof(field->name))
		return false;
	memcpy(field->name, start, (size_t)(stop - start));
	field->name[stop - start] = '\0';
	field->is_common = !strncmp(field->name, "common_", 7);
	return true;
}

/* Offset + 1 of a field that holds a number, 0 = there is none. */
static u32 place(const struct gp_trace_dat_format *format, const char *name, u32 size)
{
	for (size_t i = 0; i < format->field_count; i++)
		if (!strcmp(format->fields[i].name, name) &&
		    (!size || format->fields[i].size == size))
			return format->fields[i].offset + 1;
	return 0;
}

static bool is(const struct gp_trace_dat_format *format, const char *name)
{
	return !strcmp(format->name, name);
}

/* What a description is for, by its name and fields. */
static void classify(struct gp_trace_dat_format *format)
{
	u32 ip = place(format, "ip", 8), func = place(format, "func", 8);

	format->buffer = place(format, "buf", 0);
	format->format_address = place(format, "fmt", 8);
	format->parent = place(format, "parent_ip", 8);
	format->call_time = place(format, "calltime", 8);
	format->return_time = place(format, "rettime", 8);
	format->address = ip;
	if (is(format, "function") && ip) {
		format->kind = GP_DAT_FUNCTION;
	} else if (is(format, "funcgraph_entry") && func) {
		format->kind = GP_DAT_GRAPH_ENTRY;
		format->address = func;
	} else if (is(format, "funcgraph_exit") && func) {
		format->kind = GP_DAT_GRAPH_EXIT;
		format->address = func;
	} else if (is(format, "print") && ip && format->buffer) {
		format->kind = GP_DAT_PRINT;
	} else if (is(format, "bprint") && ip && format->buffer && format->format_address) {
		format->kind = GP_DAT_BPRINT;
	} else if (is(format, "bputs") && ip && place(format, "str", 8)) {
		format->kind = GP_DAT_BPUTS;
		format->format_address = place(format, "str", 8);
	} else if (place(format, "__probe_ip", 8)) {
		format->kind = GP_DAT_PROBE;
		format->address = place(format, "__probe_ip", 8);
	} else if (place(format, "__probe_func", 8)) {
		format->kind = GP_DAT_RETURN;
		format->address = place(format, "__probe_func", 8);
	}
}

static int take_lines(struct gp_trace_dat_format *format, const char *p, const char *end, u32 *type,
		      bool *has_type)
{
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end, *q = p;
		struct gp_trace_dat_field field = {0};

		if (GP_PARSE_LITERAL(&q, stop, "name: ")) {
			format->name_len = (size_t)(stop - q);
			if (format->name_len >= sizeof(format->name))
				format->name_len = sizeof(format->name) - 1;
			memcpy(format->name, q, format->name_len);
			format->name[format->name_len] = '\0';
		} else if (GP_PARSE_LITERAL(&q, stop, "ID: ")) {
			*has_type = gp_parse_u32(&q, stop, type);
		} else if (GP_PARSE_LITERAL(&q, stop, "print fmt:")) {
			return 0;
		} else if (take_field(p, stop, &field)) {
			if (gp_array_grow((void **)&format->fields, format->field_count,
					  &format->field_capacity, sizeof(field)))
				return -ENOMEM;
			format->fields[format->field_count++] = field;
		}
		p = stop + 1;
	}
	return 0;
}

int gp_trace_dat_format_add(struct gp_trace_dat_formats *formats, const char *text, size_t len)
{
	struct gp_trace_dat_format format = {0};
	bool has_type = false;
	u32 type = 0;
	int error;

	if (!formats->by_type) {
		formats->by_type = calloc(GP_DAT_TYPES, sizeof(*formats->by_type));
		if (!formats->by_type)
			return -ENOMEM;
	}
	error = take_lines(&format, text, text + len, &type, &has_type);
	if (!error && has_type && type < GP_DAT_TYPES && format.name_len &&
	    !formats->by_type[type] && formats->count < UINT16_MAX - 1) {
		error = gp_array_grow((void **)&formats->items, formats->count, &formats->capacity,
				      sizeof(format));
		if (!error) {
			classify(&format);
			formats->items[formats->count++] = format;
			formats->by_type[type] = (u16)formats->count;
			return 0;
		}
	}
	free(format.fields);
	return error;
}
