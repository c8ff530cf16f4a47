// SPDX-License-Identifier: MIT
#include "trace/read/amdlog_parts.h"

#define ESCAPE '\033'

/* Shortest and longest "[<hex thread>]" that releases up to 4.5 put before some messages. */
#define THREAD_DIGITS_MIN 6
#define THREAD_DIGITS_MAX 16

/* Letters, digits and '_', as a table: most lines are calls, and their names are long. */
static bool is_name(char c)
{
	static const bool name[256] = {
		['0' ... '9'] = true,
		['A' ... 'Z'] = true,
		['a' ... 'z'] = true,
		['_'] = true,
	};

	return name[(u8)c];
}

/* "[32m" without its escape byte, as copied from a terminal. */
static bool skip_colour(struct gp_trace_text *text)
{
	const char *p = text->p;

	if (*p == ESCAPE)
		p++;
	else if (!GP_PARSE_LITERAL(&p, text->end, "ESC"))
		GP_PARSE_LITERAL(&p, text->end, "^[");
	if (!GP_PARSE_LITERAL(&p, text->end, "["))
		return false;
	while (p < text->end && (gp_is_digit(*p) || *p == ';'))
		p++;
	if (!GP_PARSE_LITERAL(&p, text->end, "m"))
		return false;
	text->p = p;
	return true;
}

/* "[7f71c0d0e5a0] " or "[7f71c0d0e5a0]!\t". */
static bool skip_thread(struct gp_trace_text *text, struct gp_event *event)
{
	const char *p = text->p, *first;
	u64 tid;

	if (!GP_PARSE_LITERAL(&p, text->end, "["))
		return false;
	first = p;
	if (!gp_parse_hex(&p, text->end, &tid) || p - first < THREAD_DIGITS_MIN ||
	    p - first > THREAD_DIGITS_MAX || !GP_PARSE_LITERAL(&p, text->end, "]"))
		return false;
	GP_PARSE_LITERAL(&p, text->end, "!");
	if (!(event->valid & GP_EV_TID)) {
		event->tid = tid;
		event->valid |= GP_EV_TID;
	}
	text->p = p;
	return true;
}

/* Everything that may stand between the prefix and the first word. */
static void skip_decoration(struct gp_trace_text *text, struct gp_event *event)
{
	while (text->p < text->end) {
		switch (*text->p) {
		case ' ':
		case '\t':
			text->p++;
			continue;
		case '[':
			if (GP_TEXT_LITERAL(text, "[***rocr***]")) {
				event->clock = GP_CLOCK_MONOTONIC_RAW;
				continue;
			}
			if (skip_thread(text, event) || skip_colour(text))
				continue;
			return;
		case ESCAPE:
		case '^':
		case 'E':
			if (skip_colour(text))
				continue;
			return;
		default:
			return;
		}
	}
}

/* "<text>: 0x7f51a0e00000 (2)", with or without the blank. */
static bool take_refcount(struct gp_trace_text *text, enum gp_event_kind kind,
			  struct gp_event *event)
{
	gp_skip_blanks(&text->p, text->end);
	if (!gp_trace_text_address(text, &event->queue) || !GP_TEXT_LITERAL(text, " ("))
		return false;
	event->kind = kind;
	event->valid |= GP_EV_QUEUE;
	if (!gp_trace_text_u32(text, &event->refcount))
		return false;
	event->valid |= GP_EV_REFCOUNT;
	return true;
}

static bool take_selected(struct gp_trace_text *text, struct gp_event *event)
{
	bool least;

	if (!GP_TEXT_LITERAL(text, "elected queue "))
		return true;
	least = GP_TEXT_LITERAL(text, "with least ");
	if (!GP_TEXT_LITERAL(text, "refCount:") ||
	    !take_refcount(text, GP_EVENT_QUEUE_SELECTED, event))
		return false;
	/* Up to 5.4 the count is printed before the stream is added. */
	event->refcount += least && event->refcount < UINT32_MAX;
	return true;
}

static bool take_deleted(struct gp_trace_text *text, struct gp_event *event)
{
	bool grouped;

	/* "deleting hostcall buffer 0x... for hardware queue 0x..." deletes no queue. */
	if (!GP_TEXT_LITERAL(text, "eleting "))
		return true;
	grouped = GP_TEXT_LITERAL(text, "CG enabled ");
	if (!GP_TEXT_LITERAL(text, "hardware queue "))
		return true;
	/* The message for cooperative groups ends with a blank, which editors strip. */
	if (!(grouped ? gp_trace_text_hex : gp_trace_text_address)(text, &event->queue))
		return false;
	event->kind = GP_EVENT_QUEUE_DELETED;
	event->valid |= GP_EV_QUEUE;
	if (GP_TEXT_LITERAL(text, " with refCount ") && gp_trace_text_u32(text, &event->refcount))
		event->valid |= GP_EV_REFCOUNT;
	return true;
}

static bool take_created(struct gp_trace_text *text, struct gp_event *event)
{
	if (!GP_TEXT_LITERAL(text, "reated "))
		return true;
	if (GP_TEXT_LITERAL(text, "hardware queue ")) {
		if (!gp_trace_text_address(text, &event->queue))
			return false;
		event->kind = GP_EVENT_QUEUE_CREATED;
		event->valid |= GP_EV_QUEUE;
		return gp_trace_amdlog_created_tail(text, event);
	}
	if (text->end - text->p >= 4 && memcmp(text->p, "SWq=", 4) == 0)
		return gp_trace_amdlog_created(text, event) && event->valid & GP_EV_PRIORITY;
	return true;
}

/* " with error : HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION: ...": the name of the error. */
static void take_error_name(struct gp_trace_text *text, struct gp_event *event)
{
	static const char start[] = "HSA_STATUS_";
	const char *p = memmem(text->p, (size_t)(text->end - text->p), start, sizeof(start) - 1);

	event->kind = GP_EVENT_QUEUE_ERROR;
	if (!p)
		return;
	event->name = p;
	while (p < text->end && (gp_is_digit(*p) || (*p >= 'A' && *p <= 'Z') || *p == '_'))
		p++;
	event->name_len = (size_t)(p - event->name);
}

/* "Callback: Queue %p aborting with error", "... Aborting ..."; up to 5.4 without the queue. */
static bool take_error(struct gp_trace_text *text, struct gp_event *event)
{
	if (GP_TEXT_LITERAL(text, "Device::callbackQueue aborting")) {
		take_error_name(text, event);
		return true;
	}
	if (!GP_TEXT_LITERAL(text, "Callback: Queue "))
		return true;
	if (!gp_trace_text_hex(text, &event->queue) ||
	    !(GP_TEXT_LITERAL(text, " aborting") || GP_TEXT_LITERAL(text, " Aborting")))
		return false;
	take_error_name(text, event);
	event->valid |= GP_EV_QUEUE;
	return true;
}

static void set_name(struct gp_event *event, enum gp_event_kind kind, const char *p,
		     const char *end)
{
	event->kind = kind;
	event->name = p;
	event->name_len = (size_t)(end - p);
}

static const char *until(const struct gp_trace_text *text, char stop)
{
	const char *found = memchr(text->p, stop, (size_t)(text->end - text->p));

	return found ? found : text->end;
}

static bool creates_stream(const char *name, size_t len)
{
	return (len >= 15 && memcmp(name, "hipStreamCreate", 15) == 0) ||
	       (len >= 18 && memcmp(name, "hipExtStreamCreate", 18) == 0);
}

/* A handle as C++ streams print it, perhaps grouped by the locale: 0x7f2,a31,0c4,e60. */
static bool take_grouped_hex(struct gp_trace_text *text, u64 *value)
{
	struct gp_trace_text t = *text;
	u64 group;

	if (!gp_trace_text_hex(&t, value))
		return false;
	while (t.end - t.p >= 4 && t.p[0] == ',' && gp_hex_value(t.p[1]) >= 0) {
		const char *first = ++t.p;

		if (!gp_trace_text_hex(&t, &group) || t.p - first != 3 || *value >> 52)
			return false;
		*value = *value << 12 | group;
	}
	if (t.cut && t.end - t.p < 4 && t.p < t.end && *t.p == ',')
		return false; /* the next group is not whole */
	*text = t;
	return true;
}

/* After "hipStreamCreate: Returned hipSuccess : ": "stream:0x..." or, from 7.1, "0x...". */
static void take_stream(struct gp_trace_text *text, struct gp_event *event)
{
	if (!GP_TEXT_LITERAL(text, "hipSuccess :"))
		return;
	gp_skip_blanks(&text->p, text->end);
	if (!GP_TEXT_LITERAL(text, "stream:") && !creates_stream(event->name, event->name_len))
		return;
	if (text->end - text->p > 2 && text->p[0] == '0' && text->p[1] == 'x' &&
	    take_grouped_hex(text, &event->stream))
		event->valid |= GP_EV_STREAM;
}

/* "hipMalloc ( ..." or "hipMalloc: Returned hipSuccess : ...". */
static bool take_call(struct gp_trace_text *text, struct gp_event *event)
{
	const char *name = text->p, *p = text->p;

	while (p < text->end && is_name(*p))
		p++;
	if (p == name || text->end - p < 3)
		return true;
	if (p[0] == ' ' && p[1] == '(' && p[2] == ' ') {
		set_name(event, GP_EVENT_API_ENTER, name, p);
		text->p = p + 3;
		event->text = text->p;
		event->text_len = (size_t)(text->end - text->p);
		return true;
	}
	text->p = p;
	if (p[0] == ':' && GP_TEXT_LITERAL(text, ": Returned ")) {
		set_name(event, GP_EVENT_API_RETURN, name, p);
		take_stream(text, event);
	}
	return true;
}

/*
 * "HSA Async Copy on copy_engine=0x1, dst=0x..., size=4096, ..., completion_signal=0x..."; up
 * to 5.5 "Asycn", from 7 on "HSA Copy copy_engine=...". A copy has a signal that it completes: "HSA
 * Async Copy staged H2D" only announces the ones that follow.
 */
static bool take_copy(struct gp_trace_text *text, struct gp_event *event)
{
	static const char signal[] = "completion_signal=";
	size_t len = (size_t)(text->end - text->p);
	const char *p = text->p;

	while (p < text->end && *p != '=')
		p++;
	while (p > text->p && p[-1] != ' ' && p[-1] != ',')
		p--;
	if (!memmem(text->p, (size_t)(p - text->p), " Copy", 5))
		return true;
	if (!memmem(text->p, len, signal, sizeof(signal) - 1) &&
	    (!text->cut || memmem(text->p, len, " staged ", 8)))
		return true;
	set_name(event, GP_EVENT_COPY_START, text->p, p);
	event->text = p;
	event->text_len = text->cut ? 0 : (size_t)(text->end - p);
	text->p = text->end;
	return true;
}

/* "Host wait on completion_signal=0x...", "Host active wait for Signal = (0x...) for 10000 ns". */
static bool take_wait(struct gp_trace_text *text, struct gp_event *event)
{
	const char *p = text->p;
	const char *end = text->end;

	if (text->cut || !(GP_PARSE_LITERAL(&p, end, "Host wait on ") ||
			   GP_PARSE_LITERAL(&p, end, "Host active wait for ") ||
			   GP_PARSE_LITERAL(&p, end, "Host blocked wait for ")))
		return true;
	event->kind = GP_EVENT_WAIT;
	event->text = p;
	event->text_len = (size_t)(end - p);
	return true;
}

static bool take_upper(struct gp_trace_text *text, u32 queues, struct gp_event *event)
{
	const char *p = text->p;

	switch (*p) {
	case 'S':
		if (GP_PARSE_LITERAL(&p, text->end, "SWq="))
			return gp_trace_amdlog_packet(text, queues, event);
		if (GP_TEXT_LITERAL(text, "ShaderName : ")) {
			set_name(event, GP_EVENT_KERNEL_NAME, text->p, text->end);
			return true;
		}
		text->p++;
		return take_selected(text, event);
	case 'H':
		if (GP_PARSE_LITERAL(&p, text->end, "HWq="))
			return gp_trace_amdlog_packet(text, queues, event);
		if (GP_PARSE_LITERAL(&p, text->end, "HSA As") ||
		    GP_PARSE_LITERAL(&p, text->end, "HSA Copy "))
			return take_copy(text, event);
		if (GP_PARSE_LITERAL(&p, text->end, "Host "))
			return take_wait(text, event);
		if (GP_TEXT_LITERAL(text, "HIP Version: "))
			set_name(event, GP_EVENT_VERSION, text->p, until(text, ','));
		return true;
	case 'C':
		if (text->end - p > 1 && p[1] == 'a')
			return take_error(text, event);
		text->p++;
		return take_created(text, event);
	case 'D':
		if (text->end - p > 2 && p[2] == 'v')
			return take_error(text, event);
		text->p++;
		return take_deleted(text, event);
	case 'R':
		if (GP_TEXT_LITERAL(text, "ROCclr version: "))
			set_name(event, GP_EVENT_VERSION, text->p, text->end);
		return true;
	default:
		return true;
	}
}

static bool take_lower(struct gp_trace_text *text, struct gp_event *event)
{
	struct gp_trace_text t = *text;

	switch (*t.p++) {
	case 'c':
		if (GP_TEXT_LITERAL(&t, "ommand is enqueued: ")) {
			event->kind = GP_EVENT_OLD_RUNTIME;
			return true;
		}
		*text = t;
		return take_created(text, event);
	case 'd':
		*text = t;
		return take_deleted(text, event);
	case 's':
		*text = t;
		return take_selected(text, event);
	case 'a':
		if (!GP_TEXT_LITERAL(&t, "cquireQueue refCount:"))
			return true;
		*text = t;
		return take_refcount(text, GP_EVENT_QUEUE_ACQUIRED, event);
	case 'r':
		if (!GP_TEXT_LITERAL(&t, "eleaseQueue refCount:"))
			return true;
		*text = t;
		return take_refcount(text, GP_EVENT_QUEUE_RELEASED, event);
	default: /* hipMalloc, __hipPushCallConfiguration, init */
		return take_call(text, event);
	}
}

bool gp_trace_amdlog_message(struct gp_trace_text *text, u32 queues, struct gp_event *event)
{
	skip_decoration(text, event);
	if (text->p == text->end)
		return true;
	if (*text->p >= 'A' && *text->p <= 'Z')
		return take_upper(text, queues, event);
	return take_lower(text, event);
}
