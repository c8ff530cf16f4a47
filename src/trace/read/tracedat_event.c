// SPDX-License-Identifier: MIT
/* What a record of the ring buffer says, as an event. */
#include <stdio.h>

#include "base/parse.h"
#include "trace/read/ftrace_parts.h"
#include "trace/read/tracedat_parts.h"

#define PID_OFFSET 4 /* common_pid: type (2), flags (1), preempt_count (1) before it */
#define MARK       "tracing_mark_write"

/* The bytes of a field, if the record has them all. */
static const u8 *bytes(const struct gp_trace_dat_cpu *cpu, u32 place, u32 size)
{
	if (!place || place - 1 + (u64)size > cpu->record_len)
		return NULL;
	return cpu->record + place - 1;
}

static bool number(const struct gp_trace_dat_cpu *cpu, u32 place, u64 *value)
{
	const u8 *p = bytes(cpu, place, 8);

	if (p)
		*value = gp_dat_number(p, 8);
	return p;
}

/* ---- text of fields ---- */

struct writer {
	char *out;
	size_t len, room;
};

static void put(struct writer *writer, const char *text, size_t len)
{
	if (len > writer->room - writer->len)
		len = writer->room - writer->len;
	memcpy(writer->out + writer->len, text, len);
	writer->len += len;
}

static void put_number(struct writer *writer, u64 value, bool negative, u32 base)
{
	static const char digits[] = "0123456789abcdef";
	char text[24], *p = text + sizeof(text);

	do
		*--p = digits[value % base];
	while ((value /= base) != 0);
	if (base == 16) {
		*--p = 'x';
		*--p = '0';
	}
	if (negative)
		*--p = '-';
	put(writer, p, (size_t)(text + sizeof(text) - p));
}

static void put_value(struct writer *writer, const struct gp_trace_dat_cpu *cpu,
		      const struct gp_trace_dat_field *field)
{
	const u8 *p = bytes(cpu, field->offset + 1, field->size);
	u32 size = field->size;

	if (p && field->dynamic && size == 4) {
		u32 where = (u32)gp_dat_number(p, 4), offset = where & 0xffff;

		if (field->relative)
			offset += field->offset + 4;
		size = where >> 16;
		p = bytes(cpu, offset + 1, size);
	}
	if (!p)
		return;
	if (field->is_text) {
		put(writer, (const char *)p, strnlen((const char *)p, size));
	} else if (size == 1 || size == 2 || size == 4 || size == 8) {
		u64 value = gp_dat_number(p, size);
		u64 top = 1ull << (size * 8 - 1);
		bool negative = field->is_signed && value & top;

		if (negative)
			value = (~value & (top - 1)) + 1;
		put_number(writer, value, negative, size == 8 && !field->is_signed ? 16 : 10);
	}
}

/* "prev_pid=12 next_comm=kq": every field that is the event's own. */
static void put_fields(struct gp_trace_dat_context *context, const struct gp_trace_dat_cpu *cpu,
		       const struct gp_trace_dat_format *format, struct gp_event *event)
{
	struct writer writer = {context->text, 0, sizeof(context->text)};

	for (size_t i = 0; i < format->field_count; i++) {
		const struct gp_trace_dat_field *field = &format->fields[i];

		if (field->is_common || !strncmp(field->name, "__probe_", 8))
			continue;
		if (writer.len)
			put(&writer, " ", 1);
		put(&writer, field->name, strlen(field->name));
		put(&writer, "=", 1);
		put_value(&writer, cpu, field);
	}
	event->text = context->text;
	event->text_len = writer.len;
}

/* ---- prints ---- */

/* One conversion of a format: "%-5lld". */
struct conversion {
	char text[32]; /* "%" flags width precision "ll" letter */
	char letter;
	u32 size;
};

/* A width or precision that no kernel prints: filling it would take for ever. */
static bool is_wide(const char *p, const char *end)
{
	u32 digits = 0;

	for (; p < end; p++) {
		digits = gp_is_digit(*p) ? digits + 1 : 0;
		if (digits > 2)
			return true;
	}
	return false;
}

/* Reads what is behind '%'; false when it is not a conversion that is known. */
static bool take_conversion(const char **format, const char *end, struct conversion *out)
{
	const char *p = *format, *start = p;
	u32 longs = 0, shorts = 0;
	int len;

	while (p < end && (strchr("-+ #0.", *p) || gp_is_digit(*p)) && *p)
		p++;
	len = (int)(p - start);
	for (; p < end && (*p == 'l' || *p == 'h' || *p == 'z' || *p == 't' || *p == 'L'); p++) {
		longs += *p != 'h';
		shorts += *p == 'h';
	}
	if (p == end || !*p || len > 12 || is_wide(start, p) || !strchr("diuxXocsp", *p))
		return false;
	out->letter = *p++;
	out->size = out->letter == 'p' || longs ? 8 : shorts == 1 ? 2 : shorts ? 1 : 4;
	if (out->letter == 'c')
		out->size = 1;
	snprintf(out->text, sizeof(out->text), "%%%.*s%s%c", len, start,
		 out->letter == 's' || out->letter == 'c' ? "" : "ll",
		 out->letter == 'p' ? 'x' : out->letter);
	/* %pS and the like print what only the kernel knows. */
	while (out->letter == 'p' && p < end &&
	       ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')))
		p++;
	*format = p;
	return true;
}

static long long widen(u64 value, u32 size, char letter)
{
	if (letter != 'd' && letter != 'i')
		return (long long)value;
	return size == 1   ? (signed char)value
	       : size == 2 ? (short)value
	       : size == 4 ? (s32)value
			   : (s64)value;
}

/* The value of one conversion, from words that are packed as the kernel's vbin_printf() does. */
static bool put_conversion(struct writer *writer, const struct conversion *conversion,
			   const u8 *start, const u8 **at, const u8 *end)
{
	u32 align = conversion->size == 8 ? 4 : conversion->size;
	size_t offset = (size_t)(*at - start);
	char text[64];
	int len;

	if (conversion->letter == 's') {
		size_t room = strnlen((const char *)*at, (size_t)(end - *at));

		put(writer, (const char *)*at, room);
		*at += room < (size_t)(end - *at) ? room + 1 : room;
		return true;
	}
	offset = (offset + align - 1) / align * align;
	if (offset + conversion->size > (size_t)(end - start))
		return false;
	u64 value = gp_dat_number(start + offset, conversion->size);

	*at = start + offset + conversion->size;
	if (conversion->letter == 'c') {
		char letter = (char)value;

		put(writer, &letter, 1);
		return true;
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	len = snprintf(text, sizeof(text), conversion->text,
		       widen(value, conversion->size, conversion->letter));
#pragma GCC diagnostic pop
	put(writer, text,
	    len < 0                      ? 0
	    : (size_t)len < sizeof(text) ? (size_t)len
					 : sizeof(text) - 1);
	return true;
}

size_t gp_trace_dat_bprint(struct gp_trace_dat_context *context, const char *format,
			   size_t format_len, const u8 *p, const u8 *end)
{
	struct writer writer = {context->text, 0, sizeof(context->text)};
	const char *stop = format + format_len;
	const u8 *start = p;

	while (format < stop) {
		const char *percent = memchr(format, '%', (size_t)(stop - format));
		struct conversion conversion;

		put(&writer, format, (size_t)((percent ? percent : stop) - format));
		if (!percent)
			break;
		format = percent + 1;
		if (GP_PARSE_LITERAL(&format, stop, "%")) {
			put(&writer, "%", 1);
			continue;
		}
		/* Where one value is not understood, neither is what follows. */
		if (!take_conversion(&format, stop, &conversion) ||
		    !put_conversion(&writer, &conversion, start, &p, end))
			break;
	}
	while (writer.len && writer.out[writer.len - 1] == '\n')
		writer.len--;
	return writer.len;
}

/* A text that was written into the trace; the address identifies the writer. */
static void print(struct gp_trace_dat_context *context, struct gp_event *event, u64 address,
		  const char *text, size_t len)
{
	const struct gp_trace_dat_symbol *symbol = gp_trace_dat_symbol(&context->symbols, address);

	while (len && (text[len - 1] == '\n' || text[len - 1] == '\0'))
		len--;
	event->name = symbol ? symbol->name : "print";
	event->name_len = symbol ? symbol->len : 5;
	event->text = text;
	event->text_len = len;
	event->kind =
		event->name_len == sizeof(MARK) - 1 && !memcmp(event->name, MARK, sizeof(MARK) - 1)
			? GP_EVENT_MARK
			: GP_EVENT_POINT;
	if (event->kind == GP_EVENT_POINT)
		gp_trace_ftrace_print(event, text, text + len);
}

static void take_print(struct gp_trace_dat_context *context, const struct gp_trace_dat_cpu *cpu,
		       const struct gp_trace_dat_format *format, struct gp_event *event)
{
	const struct gp_trace_dat_symbol *known = NULL;
	u64 address = 0, at = 0;

	number(cpu, format->address, &address);
	if (format->format_address && number(cpu, format->format_address, &at))
		known = gp_trace_dat_symbol_at(&context->prints, at);
	if (format->kind == GP_DAT_PRINT && format->buffer - 1 <= cpu->record_len) {
		const char *text = (const char *)cpu->record + format->buffer - 1;

		print(context, event, address, text,
		      strnlen(text, cpu->record_len - (format->buffer - 1)));
	} else if (format->kind == GP_DAT_BPUTS && known) {
		print(context, event, address, known->name, known->len);
	} else if (format->kind == GP_DAT_BPRINT && known &&
		   format->buffer - 1 <= cpu->record_len) {
		size_t len = gp_trace_dat_bprint(context, known->name, known->len,
						 cpu->record + format->buffer - 1,
						 cpu->record + cpu->record_len);

		print(context, event, address, context->text, len);
	} else {
		event->kind = GP_EVENT_POINT;
		event->name = format->name;
		event->name_len = format->name_len;
	}
}

/* ---- functions ---- */

static bool name_of(struct gp_trace_dat_context *context, const struct gp_trace_dat_cpu *cpu,
		    u32 place, const char **name, size_t *len)
{
	const struct gp_trace_dat_symbol *symbol = NULL;
	u64 address;

	if (number(cpu, place, &address))
		symbol = gp_trace_dat_symbol(&context->symbols, address);
	if (!symbol)
		return false;
	*name = symbol->name;
	*len = symbol->len;
	return true;
}

static bool take_function(struct gp_trace_dat_context *context, const struct gp_trace_dat_cpu *cpu,
			  const struct gp_trace_dat_format *format, struct gp_event *event)
{
	u64 called, returned;

	if (!name_of(context, cpu, format->address, &event->name, &event->name_len))
		return false;
	event->kind = GP_EVENT_ENTER;
	switch (format->kind) {
	case GP_DAT_FUNCTION:
		name_of(context, cpu, format->parent, &event->text, &event->text_len);
		break;
	case GP_DAT_GRAPH_EXIT:
		event->kind = GP_EVENT_LEAVE;
		if (number(cpu, format->call_time, &called) &&
		    number(cpu, format->return_time, &returned) && returned >= called) {
			event->duration_ns = returned - called;
			event->valid |= GP_EV_DURATION;
		}
		break;
	case GP_DAT_RETURN:
		event->kind = GP_EVENT_LEAVE;
		put_fields(context, cpu, format, event);
		break;
	case GP_DAT_PROBE:
		put_fields(context, cpu, format, event);
		break;
	default:
		break;
	}
	return true;
}

/* ---- the event ---- */

static int tell_gap(struct gp_trace_dat_context *context, const struct gp_trace_dat_cpu *cpu)
{
	struct gp_event event = {.kind = GP_EVENT_LOST,
				 .clock = context->stats->clock,
				 .line = context->number,
				 .cpu = cpu->cpu,
				 .count = cpu->lost,
				 .valid = GP_EV_CPU | (cpu->lost ? GP_EV_COUNT : 0)};

	context->stats->gaps++;
	context->stats->lost += cpu->lost;
	return context->fn ? context->fn(context->ctx, &event) : 0;
}

int gp_trace_dat_event(struct gp_trace_dat_context *context, const struct gp_trace_dat_cpu *cpu)
{
	struct gp_event event;
	const struct gp_trace_dat_format *format;
	u32 type, at;
	int ret = 0;

	context->number++;
	if (cpu->gap)
		ret = tell_gap(context, cpu);
	if (ret)
		return ret;
	type = cpu->record_len >= PID_OFFSET + 4 ? (u32)gp_dat_number(cpu->record, 2) : 0;
	at = context->formats.by_type ? context->formats.by_type[type] : 0;
	if (!type || !at) {
		context->stats->unknown++;
		return 0;
	}
	format = &context->formats.items[at - 1];
	memset(&event, 0, sizeof(event));
	event.clock = context->stats->clock;
	event.line = context->number;
	event.cpu = cpu->cpu;
	event.time_ns = cpu->time;
	event.pid = (u32)gp_dat_number(cpu->record + PID_OFFSET, 4);
	event.tid = event.pid;
	event.valid =
		GP_EV_CPU | GP_EV_PID | GP_EV_TID | (context->stats->has_time ? GP_EV_TIME : 0);
	if (format->kind >= GP_DAT_PRINT && format->kind <= GP_DAT_BPUTS) {
		take_print(context, cpu, format, &event);
	} else if (format->kind == GP_DAT_POINT || !take_function(context, cpu, format, &event)) {
		event.kind = GP_EVENT_POINT;
		event.name = format->name;
		event.name_len = format->name_len;
		put_fields(context, cpu, format, &event);
	}
	if (cpu->time < cpu->last_time)
		context->stats->jumps++;
	context->stats->events++;
	return context->fn ? context->fn(context->ctx, &event) : 0;
}
