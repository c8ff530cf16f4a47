// SPDX-License-Identifier: MIT
#include "trace/read/amdlog_parts.h"

static void event_reset(struct gp_trace_line_parser *parser)
{
	struct gp_event *event = &parser->event;

	event->kind = GP_EVENT_OTHER;
	event->clock = GP_CLOCK_MONOTONIC;
	event->valid = 0;
	event->headless = false;
	event->partial = parser->fast;
	event->line = parser->line;
	event->name = NULL;
	event->name_len = 0;
	event->text = NULL;
	event->text_len = 0;
}

/* One line may be torn many times; it is still one line. */
static void count_once(const struct gp_trace_line_parser *parser, u64 *count, u64 *counted)
{
	if (parser->fast || *counted == parser->line)
		return;
	*counted = parser->line;
	++*count;
}

static void count_torn(struct gp_trace_line_parser *parser)
{
	count_once(parser, &parser->stats->torn, &parser->counted.torn);
	if (!parser->fast && !parser->stats->first_bad_line)
		parser->stats->first_bad_line = parser->line;
}

static void count_recognised(struct gp_trace_line_parser *parser, bool with_pid)
{
	count_once(parser, &parser->stats->recognised, &parser->counted.recognised);
	if (!with_pid)
		count_once(parser, &parser->stats->without_pid, &parser->counted.without_pid);
}

static int deliver(struct gp_trace_line_parser *parser)
{
	const struct gp_event *event = &parser->event;

	/* In fast mode nothing may depend on which other lines happened to be looked at. */
	if (parser->fast &&
	    !(event->kind == GP_EVENT_DISPATCH || event->kind == GP_EVENT_BARRIER ||
	      (event->kind >= GP_EVENT_QUEUE_CREATED && event->kind <= GP_EVENT_QUEUE_DELETED) ||
	      (event->kind == GP_EVENT_OTHER && event->valid & GP_EV_QUEUE)))
		return 0;
	parser->delivered++;
	return parser->fn ? parser->fn(parser->ctx, event) : 0;
}

/*
 * Messages about queues whose own prefix is not there: the end of a torn line, or the runtime's
 * dump when it aborts ("VGPU=0x... SWq=0x..., HWq=0x..., id=1" and the packet on the lines after).
 * Whose they are and when they were written is not known.
 */
static int headless(struct gp_trace_line_parser *parser, const char *p, const char *end, bool cut)
{
	struct gp_trace_text text = {.p = p, .end = end, .cut = cut};
	int ret;

	while ((p = gp_trace_amdlog_find_queue(text.p, end)) != NULL) {
		bool dump = p - text.p >= 5 && memmem(text.p, (size_t)(p - text.p), "VGPU=", 5);

		text.p = p;
		event_reset(parser);
		parser->event.headless = true;
		if (!gp_trace_amdlog_created(&text, &parser->event)) {
			parser->event.valid = 0;
			gp_trace_amdlog_packet(&text, UINT32_MAX, &parser->event);
		}
		if (text.p == p) /* the same key twice: step over it */
			text.p += 4;
		if (!(parser->event.valid & GP_EV_QUEUE))
			continue;
		if (!dump)
			count_torn(parser);
		ret = deliver(parser);
		if (ret)
			return ret;
	}
	return 0;
}

/* One prefix and what follows up to the next prefix or the end of the line. */
static int message(struct gp_trace_line_parser *parser, const struct gp_trace_prefix *prefix,
		   const char *end, bool cut, u32 queues)
{
	struct gp_trace_text text = {.p = prefix->body, .end = end, .cut = cut};
	struct gp_event *event = &parser->event;
	u32 own;
	bool whole;
	int ret;

	event_reset(parser);
	whole = gp_trace_amdlog_head(prefix, &parser->heads, &text, event) &&
		gp_trace_amdlog_message(&text, queues, event);
	if (!whole)
		count_torn(parser);
	count_recognised(parser, event->valid & GP_EV_PID);
	own = !!(event->valid & GP_EV_QUEUE) + !!(event->valid & GP_EV_OBJECT);
	ret = deliver(parser);
	if (ret || queues <= own)
		return ret;
	return headless(parser, text.p, end, cut);
}

/* The next prefix at or after `us`; lines hold candidates that are not one ("took 5 us: ok"). */
static bool next_prefix(const char *from, const char *us, const char *end,
			struct gp_trace_prefix *prefix)
{
	while (us) {
		if (gp_trace_amdlog_prefix(from, us, end, prefix))
			return true;
		us += 3;
		us = memmem(us, (size_t)(end - us), "us:", 3);
	}
	return false;
}

static int several(struct gp_trace_line_parser *parser, struct gp_trace_prefix *first,
		   const char *end, bool cut, u32 queues)
{
	struct gp_trace_prefix next, prefix = *first;
	const char *us;
	int ret;

	for (;;) {
		us = memmem(prefix.body, (size_t)(end - prefix.body), "us:", 3);
		if (!next_prefix(prefix.body, us, end, &next))
			return message(parser, &prefix, end, cut, queues);
		count_torn(parser);
		ret = message(parser, &prefix, next.start, true, queues);
		if (ret)
			return ret;
		prefix = next;
	}
}

/* A line without a prefix: another program's, a blank one, or the rest of a torn one. */
static int unprefixed(struct gp_trace_line_parser *parser, const char *line, const char *end,
		      const struct gp_trace_marks *marks, bool cut)
{
	const char *p = line;

	if (gp_trace_amdlog_is_helper(line, end)) {
		parser->delivered += !parser->fast;
		count_recognised(parser, false);
		return 0;
	}
	if (!parser->fast) {
		gp_skip_blanks(&p, end);
		if (p == end)
			return 0;
		parser->stats->unknown++;
		if (!parser->stats->binary && memchr(line, '\0', (size_t)(end - line))) {
			parser->stats->binary = true;
			parser->first_null = parser->line;
		}
	}
	return marks->queues ? headless(parser, line, end, cut) : 0;
}

int gp_trace_amdlog_line(struct gp_trace_line_parser *parser, const char *line,
			 const struct gp_trace_marks *marks, bool cut)
{
	const char *end = marks->end;
	struct gp_trace_prefix prefix;
	int ret;

	while (end > line && end[-1] == '\r')
		end--;
	if (!next_prefix(line, marks->time[0], end, &prefix))
		return unprefixed(parser, line, end, marks, cut);
	if (marks->queue && marks->queue < prefix.start) {
		ret = headless(parser, line, prefix.start, true);
		if (ret)
			return ret;
	}
	if (!marks->time[1])
		return message(parser, &prefix, end, cut, marks->queues);
	return several(parser, &prefix, end, cut, marks->queues);
}
