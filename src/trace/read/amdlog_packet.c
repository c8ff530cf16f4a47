// SPDX-License-Identifier: MIT
#include "trace/read/amdlog_parts.h"

/* Value + 1 of a hex digit, 0 for any other byte: no branch that random digits could mislead. */
static const u8 hex_digit[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* As gp_parse_hex(), which is the slower and more general one: half of a packet line is this. */
static bool parse_hex(const char **p, const char *end, u64 *value)
{
	const char *q = *p, *first, *limit;
	u64 sum = 0;
	u8 digit;

	while (end - q >= 2 && q[0] == '0' && q[1] == 'x')
		q += 2;
	limit = end - q > 16 ? q + 16 : end;
	for (first = q; q < limit && (digit = hex_digit[(u8)*q]) != 0; q++)
		sum = sum << 4 | (u64)(digit - 1);
	if (q == first || (q < end && hex_digit[(u8)*q]))
		return false;
	*p = q;
	*value = sum;
	return true;
}

bool gp_trace_text_hex(struct gp_trace_text *text, u64 *value)
{
	const char *p = text->p;

	if (!parse_hex(&p, text->end, value) || (p == text->end && text->cut))
		return false;
	text->p = p;
	return true;
}

bool gp_trace_text_address(struct gp_trace_text *text, u64 *value)
{
	const char *p = text->p;

	if (!parse_hex(&p, text->end, value) || p == text->end)
		return false;
	text->p = p;
	return true;
}

/* Numbers of this many digits cannot overflow. */
#define SAFE_DIGITS 19

bool gp_trace_text_u64(struct gp_trace_text *text, u64 *value)
{
	const char *p = text->p, *limit;
	u64 sum = 0;

	limit = text->end - p > SAFE_DIGITS ? p + SAFE_DIGITS : text->end;
	for (; p < limit && gp_is_digit(*p); p++)
		sum = sum * 10 + (u64)(*p - '0');
	if (p == limit && p < text->end && gp_is_digit(*p)) {
		p = text->p;
		if (!gp_parse_u64(&p, text->end, &sum))
			return false;
	}
	if (p == text->p || (p == text->end && text->cut))
		return false;
	text->p = p;
	*value = sum;
	return true;
}

bool gp_trace_text_u32(struct gp_trace_text *text, u32 *value)
{
	u64 wide;
	const char *p = text->p;

	if (!gp_trace_text_u64(text, &wide) || wide > UINT32_MAX) {
		text->p = p;
		return false;
	}
	*value = (u32)wide;
	return true;
}

const char *gp_trace_amdlog_find_queue(const char *p, const char *end)
{
	while (end - p >= 4) {
		p = memchr(p + 2, 'q', (size_t)(end - p) - 3);
		if (!p)
			return NULL;
		if (p[1] == '=' && p[-1] == 'W' && (p[-2] == 'H' || p[-2] == 'S'))
			return p - 2;
		p--; /* the next 'q' to look at is behind this one */
	}
	return NULL;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/* The packet's type in front of " Header"; GP_EVENT_OTHER when it is something else or cut. */
static enum gp_event_kind packet_type(struct gp_trace_text *text)
{
	const char *p = text->p;
	enum gp_event_kind kind = GP_EVENT_OTHER;

	if (GP_PARSE_LITERAL(&p, text->end, "Dispatch"))
		kind = GP_EVENT_DISPATCH;
	else if (GP_PARSE_LITERAL(&p, text->end, "Barrier"))
		kind = GP_EVENT_BARRIER;
	/* BarrierAND, Barrier-AND, Barrier-OR, BarrierValue, and just Barrier in ROCr */
	while (p < text->end && is_word(*p))
		p++;
	if (kind == GP_EVENT_OTHER || !GP_PARSE_LITERAL(&p, text->end, " Header"))
		return GP_EVENT_OTHER;
	text->p = p;
	return kind;
}

static bool take_key(struct gp_trace_text *text, u32 field, u64 *value, struct gp_event *event)
{
	if (!gp_trace_text_address(text, value))
		return false;
	event->valid |= field;
	return true;
}

/* One "key=value" before the packet's type; false when there is none or its value is not whole. */
static bool packet_key(struct gp_trace_text *text, struct gp_event *event)
{
	const char *p = text->p;

	if (GP_PARSE_LITERAL(&p, text->end, "HWq=")) {
		if (event->valid & GP_EV_QUEUE)
			return false; /* the next message already */
		text->p = p;
		return take_key(text, GP_EV_QUEUE, &event->queue, event);
	}
	if (GP_PARSE_LITERAL(&p, text->end, "SWq=")) {
		if (event->valid & (GP_EV_QUEUE | GP_EV_OBJECT))
			return false;
		text->p = p;
		return take_key(text, GP_EV_OBJECT, &event->object, event);
	}
	if (GP_TEXT_LITERAL(text, "id=")) {
		if (gp_trace_text_u64(text, &event->hsa_id))
			event->valid |= GP_EV_HSA_ID;
		return event->valid & GP_EV_HSA_ID;
	}
	while (p < text->end && is_word(*p))
		p++;
	if (p == text->p || p == text->end || *p != '=')
		return false;
	for (p++; p < text->end && *p != ',' && *p != ' '; p++)
		;
	text->p = p;
	return true;
}

/* ", rptr=5, wptr=6" at the very end, read backwards; most packets of 6.2 and later end so. */
static const char *pointers_at_end(const char *from, const char *end)
{
	const char *p = end;

	while (p > from && p[-1] == ' ')
		p--;
	while (p > from && gp_is_digit(p[-1]))
		p--;
	if (p - from < 5 || memcmp(p - 5, "wptr=", 5) != 0)
		return NULL;
	for (p -= 5; p > from && (p[-1] == ' ' || p[-1] == ','); p--)
		;
	while (p > from && gp_is_digit(p[-1]))
		p--;
	return p - from >= 5 && memcmp(p - 5, "rptr=", 5) == 0 ? p - 5 : NULL;
}

static void take_pointers(struct gp_trace_text *text, struct gp_event *event)
{
	const char *p = pointers_at_end(text->p, text->end);

	if (!p)
		p = memmem(text->p, (size_t)(text->end - text->p), "rptr=", 5);
	if (!p)
		return;
	text->p = p + 5;
	if (!gp_trace_text_u64(text, &event->rptr))
		return;
	event->valid |= GP_EV_RPTR;
	while (text->p < text->end && (*text->p == ',' || *text->p == ' '))
		text->p++;
	if (GP_TEXT_LITERAL(text, "wptr=") && gp_trace_text_u64(text, &event->wptr))
		event->valid |= GP_EV_WPTR;
}

bool gp_trace_amdlog_packet(struct gp_trace_text *text, u32 queues, struct gp_event *event)
{
	struct gp_trace_text rest;
	u32 own;

	event->kind = GP_EVENT_OTHER;
	for (;;) {
		while (text->p < text->end && (*text->p == ' ' || *text->p == ','))
			text->p++;
		if ((event->valid & GP_EV_QUEUE) && text->p < text->end &&
		    (*text->p == 'D' || *text->p == 'B')) {
			event->kind = packet_type(text);
			break;
		}
		if (!packet_key(text, event))
			break;
	}
	if (event->kind == GP_EVENT_OTHER)
		return false;
	rest = *text;
	own = !!(event->valid & GP_EV_QUEUE) + !!(event->valid & GP_EV_OBJECT);
	if (queues > own) {
		const char *next = gp_trace_amdlog_find_queue(rest.p, rest.end);

		if (next) {
			rest.end = next;
			rest.cut = true;
		}
	}
	event->text = rest.p;
	event->text_len = (size_t)(rest.end - rest.p);
	take_pointers(&rest, event);
	text->p = rest.end;
	return true;
}

/* Packets; far above what a driver takes, and far below where a size in bytes overflows. */
#define QUEUE_SIZE_MAX (1ull << 32)

bool gp_trace_amdlog_created_tail(struct gp_trace_text *text, struct gp_event *event)
{
	if (!GP_TEXT_LITERAL(text, " with size ") || !gp_trace_text_u64(text, &event->size))
		return false;
	if (event->size > 0 && event->size <= QUEUE_SIZE_MAX)
		event->valid |= GP_EV_SIZE;
	if (!GP_TEXT_LITERAL(text, " with priority ") || !gp_trace_text_u32(text, &event->priority))
		return false;
	event->valid |= GP_EV_PRIORITY;
	return true;
}

bool gp_trace_amdlog_created(struct gp_trace_text *text, struct gp_event *event)
{
	struct gp_trace_text t = *text;

	if (!GP_TEXT_LITERAL(&t, "SWq=") || !gp_trace_text_address(&t, &event->object) ||
	    !GP_TEXT_LITERAL(&t, " to map on HWq=") || !gp_trace_text_address(&t, &event->queue))
		return false;
	event->kind = GP_EVENT_QUEUE_CREATED;
	event->valid |= GP_EV_OBJECT | GP_EV_QUEUE;
	gp_trace_amdlog_created_tail(&t, event);
	*text = t;
	return true;
}
