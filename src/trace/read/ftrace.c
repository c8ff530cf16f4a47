// SPDX-License-Identifier: MIT
#include "trace/read/ftrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/core.h"
#include "base/i18n.h"
#include "trace/read/ftrace_parts.h"

#define COMM_MAX 64 /* the kernel's 15 and what viewers add */

int gp_trace_ftrace_deliver(struct gp_trace_ftrace_reader *reader, struct gp_event *event)
{
	event->clock = reader->options->clock;
	if (event->valid & GP_EV_TIME && event->valid & GP_EV_CPU) {
		u32 at = gp_map_get(&reader->last_time, 0, event->cpu);

		if (at == GP_MAP_NONE) {
			at = (u32)reader->time_count;
			if (gp_array_grow((void **)&reader->times, reader->time_count,
					  &reader->time_capacity, sizeof(*reader->times)) ||
			    gp_map_put(&reader->last_time, 0, event->cpu, at))
				return -ENOMEM;
			reader->times[reader->time_count++] = event->time_ns;
		}
		if (event->time_ns < reader->times[at]) {
			reader->stats->jumps++;
			if (!reader->stats->first_jump_line)
				reader->stats->first_jump_line = event->line;
		}
		reader->times[at] = event->time_ns;
	}
	if (event->kind != GP_EVENT_LOST)
		reader->stats->events++;
	return reader->fn ? reader->fn(reader->ctx, event) : 0;
}

bool gp_trace_ftrace_seconds(const char **p, const char *end, u64 *ns)
{
	const char *q = *p;
	u64 seconds, fraction = 0, scale = GP_NS_PER_S;

	if (!gp_parse_u64(&q, end, &seconds) || seconds > UINT64_MAX / GP_NS_PER_S - 1 ||
	    end - q < 2 || *q != '.' || !gp_is_digit(q[1]))
		return false;
	for (q++; q < end && gp_is_digit(*q); q++) {
		scale /= 10;
		fraction += (u64)(*q - '0') * scale;
	}
	*ns = seconds * GP_NS_PER_S + fraction;
	*p = q;
	return true;
}

static int lost(struct gp_trace_ftrace_reader *reader, const struct gp_line *line, u64 count)
{
	struct gp_event event = {.kind = GP_EVENT_LOST, .line = line->number, .count = count};

	reader->stats->gaps++;
	reader->stats->lost += count;
	if (count)
		event.valid |= GP_EV_COUNT;
	return gp_trace_ftrace_deliver(reader, &event);
}

/* "CPU:3 [LOST 1234 EVENTS]", "CPU 3: 17 EVENTS DROPPED" and the like. */
static bool tells_lost(const char *p, const char *end, u64 *count)
{
	const char *found = memmem(p, (size_t)(end - p), "LOST ", 5), *start = p;

	*count = 0;
	if (found && memmem(found, (size_t)(end - found), " EVENTS", 7)) {
		found += 5;
		gp_parse_u64(&found, end, count);
		return true;
	}
	found = memmem(p, (size_t)(end - p), " EVENTS DROPPED", 15);
	if (!found)
		return false;
	for (p = found; p > start && gp_is_digit(p[-1]); p--)
		;
	gp_parse_u64(&p, end, count);
	return true;
}

/* "# entries-in-buffer/entries-written: 131/2000": the rest was overwritten. */
static int comment(struct gp_trace_ftrace_reader *reader, const struct gp_line *line, const char *p,
		   const char *end)
{
	static const char title[] = "entries-in-buffer/entries-written:";
	const char *found = memmem(p, (size_t)(end - p), title, sizeof(title) - 1);
	u64 kept, written;

	if (!found)
		return 0;
	found += sizeof(title) - 1;
	gp_skip_blanks(&found, end);
	if (!gp_parse_u64(&found, end, &kept) || !GP_PARSE_LITERAL(&found, end, "/") ||
	    !gp_parse_u64(&found, end, &written) || written <= kept)
		return 0;
	return lost(reader, line, written - kept);
}

/* The task in front of the CPU: "comm-pid" or "comm-pid (tgid)"; comm may hold anything. */
static bool take_task(const char *p, const char *end, struct gp_event *event)
{
	const char *digits;
	u32 pid;

	while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (end > p && end[-1] == ')') {
		while (end > p && *end != '(')
			end--;
		while (end > p && end[-1] == ' ')
			end--;
	}
	for (digits = end; digits > p && gp_is_digit(digits[-1]); digits--)
		;
	if (digits == end || digits == p || digits[-1] != '-' || end - p > COMM_MAX)
		return false;
	if (gp_parse_u32(&digits, end, &pid)) {
		event->pid = pid;
		event->tid = pid;
		event->valid |= GP_EV_PID | GP_EV_TID;
	}
	return true;
}

/* "[003]" in [p, end), which a comm may hold too: the last one that a time follows. */
static bool take_head(const char **p, const char *end, struct gp_event *event)
{
	const char *start = *p, *open = start, *q;
	bool found = false;

	while ((open = memchr(open, '[', (size_t)(end - open))) != NULL) {
		u32 cpu;
		u64 ns;

		q = ++open;
		if (!gp_parse_u32(&q, end, &cpu) || q - open < 3 || !GP_PARSE_LITERAL(&q, end, "]"))
			continue;
		gp_skip_blanks(&q, end);
		/* Flags: 4 or 5 characters, or none. */
		if (q < end && !gp_is_digit(*q)) {
			while (q < end && *q != ' ')
				q++;
		} else if (end - q > 5 && q[5] == ' ' && !memchr(q, '.', 5)) {
			q += 5;
		}
		gp_skip_blanks(&q, end);
		if (!gp_trace_ftrace_seconds(&q, end, &ns) || !GP_PARSE_LITERAL(&q, end, ":") ||
		    !take_task(start, open - 1, event))
			continue;
		event->cpu = cpu;
		event->time_ns = ns;
		event->valid |= GP_EV_CPU | GP_EV_TIME;
		*p = q;
		found = true;
		break;
	}
	return found;
}

static int take_line(void *ctx, const struct gp_line *line)
{
	struct gp_trace_ftrace_reader *reader = ctx;
	const char *p = line->text, *end = p + line->len;
	struct gp_event event = {.line = line->number};
	bool known;
	u64 count;
	int ret;

	GP_PARSE_LITERAL(&p, end, "> "); /* a mail's quote */
	gp_skip_blanks(&p, end);
	if (p == end || GP_PARSE_LITERAL(&p, end, "=> "))
		return 0;
	if (*p == '#')
		return comment(reader, line, p, end);
	if (take_head(&p, end, &event)) {
		gp_skip_blanks(&p, end);
		return gp_trace_ftrace_body(reader, &event, p, end);
	}
	ret = gp_trace_ftrace_graph(reader, line, p, &known);
	if (ret || known)
		return ret;
	if (tells_lost(p, end, &count))
		return lost(reader, line, count);
	if (!GP_PARSE_LITERAL(&p, end, "cpus=") && !GP_PARSE_LITERAL(&p, end, "------"))
		reader->stats->unknown++;
	return 0;
}

int gp_trace_ftrace_read(int fd, const struct gp_trace_ftrace_options *options,
			 struct gp_diag *diag, gp_event_fn fn, void *ctx,
			 struct gp_trace_ftrace_stats *stats)
{
	struct gp_trace_ftrace_reader reader = {.options = options,
						.fn = fn,
						.ctx = ctx,
						.stats = stats};
	int ret;

	memset(stats, 0, sizeof(*stats));
	ret = gp_lines_read(fd, options->name, diag, take_line, &reader, &stats->lines);
	if (!ret && !stats->events)
		ret = gp_fail(diag, -EINVAL,
			      "%s: no ftrace event found in lines 1 to %llu. Save the text of "
			      "/sys/kernel/tracing/trace or the output of 'trace-cmd report'",
			      options->name, (unsigned long long)stats->lines.lines);
	gp_strings_free(&reader.names);
	gp_map_free(&reader.stack_of);
	gp_map_free(&reader.last_time);
	free(reader.stacks);
	free(reader.times);
	return ret;
}
