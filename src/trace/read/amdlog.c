// SPDX-License-Identifier: MIT
#include "trace/read/amdlog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/i18n.h"
#include "base/magic.h"
#include "trace/read/amdlog_parts.h"
#include "base/lines.h"

/*
 * The buffer holds [start, fill): whole lines to be read, then the beginning of one. Big enough
 * that a system call does not show, small enough to stay in a core's cache.
 */
#define BUFFER_SIZE (512u << 10)
/* A beginning is moved to the front only when less room than this is left behind it. */
#define ROOM_MIN GP_AMDLOG_LINE_MAX
/* What fast mode, which looks at few lines, judges an input without queues by. */
#define PROBE_BYTES (64u << 10)
/*
 * Fast mode leaps from one place that may name a queue to the next. Where more than one line in
 * DENSE does, going line by line is faster. Judged anew after so many hits or lines.
 */
#define DENSE       4
#define DENSE_HITS  32
#define DENSE_LINES 256
/* How much is there before it is asked whether it is compressed. */
#define MAGIC_BYTES 16

_Static_assert(BUFFER_SIZE >= 4 * GP_AMDLOG_LINE_MAX, "a line and room to read fit the buffer");

struct reader {
	int fd;
	const struct gp_trace_amdlog_options *options;
	struct gp_diag *diag;
	struct gp_trace_line_parser parser;
	char *buffer; /* BUFFER_SIZE + GP_SCAN_PAD */
	size_t start, fill;
	bool skipping; /* inside an overlong line, up to its newline */
	bool dense;    /* fast mode: many of the last lines named a queue */
	u64 probed;    /* fast mode: bytes looked at for any log line */
	bool probe_found;
};

/* ---- lines ---- */

/*
 * A log that was truncated while it was written to starts again behind a hole of NUL bytes: they
 * are not part of the line.
 */
static const char *skip_nulls(struct reader *reader, const char *p, const char *end, u64 line)
{
	if (p == end || *p != '\0')
		return p;
	if (!reader->parser.stats->binary)
		reader->parser.first_null = line;
	reader->parser.stats->binary = true;
	while (p < end && *p == '\0')
		p++;
	return p;
}

/* One line; stats->lines is its number. `newline` says that its end was seen. */
static int take_line(struct reader *reader, const char *line, struct gp_trace_marks *marks,
		     bool newline)
{
	struct gp_trace_line_parser *parser = &reader->parser;

	parser->line = parser->stats->lines;
	if ((size_t)(marks->end - line) > GP_AMDLOG_LINE_MAX) {
		parser->stats->overlong++;
		if (!parser->stats->first_bad_line)
			parser->stats->first_bad_line = parser->line;
		marks->end = line + GP_AMDLOG_LINE_MAX;
		if (marks->time[0] > marks->end - 3)
			marks->time[0] = NULL;
		newline = false;
	}
	return gp_trace_amdlog_line(parser, line, marks, !newline);
}

static int take_lines(struct reader *reader, const char *p, const char *end)
{
	u64 *lines = &reader->parser.stats->lines;
	struct gp_trace_marks marks;
	const char *line;
	int ret = 0;

	while (p < end && ret == 0) {
		line = skip_nulls(reader, p, end, ++*lines);
		reader->parser.scan->line(line, &marks);
		p = marks.end + 1;
		ret = take_line(reader, line, &marks, true);
	}
	return ret;
}

/* The candidates of scan->queue that are more than two bytes of something else. */
static bool names_queue(const char *hit, const char *from, const char *end)
{
	const char *p;

	switch (*hit) {
	case 'q':
		return hit[1] == '=' && hit - from >= 2 && hit[-1] == 'W' &&
		       (hit[-2] == 'H' || hit[-2] == 'S');
	case 'f':
		p = hit - from >= 2 ? hit - 2 : hit;
		return GP_PARSE_LITERAL(&p, end, "refCount");
	default:
		p = hit - from >= 3 ? hit - 3 : hit;
		return GP_PARSE_LITERAL(&p, end, "hardware queue ");
	}
}

/* From hit to hit, up to DENSE_HITS lines. */
static int leap(struct reader *reader, const char **at, const char *end)
{
	const char *p = *at, *from = p, *line, *hit;
	u64 *lines = &reader->parser.stats->lines, first = *lines;
	struct gp_trace_marks marks;
	u32 hits = 0;
	int ret = 0;

	while (ret == 0 && hits < DENSE_HITS) {
		hit = reader->parser.scan->queue(p, end, lines);
		if (hit == end) {
			from = end;
			break;
		}
		p = hit + 1;
		if (!names_queue(hit, from, end))
			continue;
		line = memrchr(from, '\n', (size_t)(hit - from));
		line = line ? line + 1 : from;
		line = skip_nulls(reader, line, end, ++*lines);
		reader->parser.scan->line(line, &marks);
		from = p = marks.end + 1;
		ret = take_line(reader, line, &marks, true);
		hits++;
	}
	reader->dense = hits * DENSE > *lines - first;
	*at = from;
	return ret;
}

static bool line_names_queue(const struct reader *reader, const char *line,
			     const struct gp_trace_marks *marks)
{
	const char *p = line, *hit;
	u64 newlines = 0;

	if (marks->queue && names_queue(marks->queue, line, marks->end))
		return true;
	while ((hit = reader->parser.scan->queue(p, marks->end, &newlines)) != marks->end) {
		if (names_queue(hit, line, marks->end))
			return true;
		p = hit + 1;
	}
	return false;
}

/* Up to DENSE_LINES lines, one by one. Looks at the same lines as leap(). */
static int walk(struct reader *reader, const char **at, const char *end)
{
	const char *p = *at, *line;
	u64 *lines = &reader->parser.stats->lines;
	struct gp_trace_marks marks;
	u32 hits = 0, seen = 0;
	int ret = 0;

	for (; p < end && ret == 0 && seen < DENSE_LINES; seen++) {
		++*lines;
		reader->parser.scan->line(p, &marks);
		line = p;
		p = marks.end + 1;
		if (!line_names_queue(reader, line, &marks))
			continue;
		line = skip_nulls(reader, line, marks.end, *lines);
		ret = take_line(reader, line, &marks, true);
		hits++;
	}
	reader->dense = hits * DENSE > seen;
	*at = p;
	return ret;
}

static int take_queue_lines(struct reader *reader, const char *p, const char *end)
{
	int ret = 0;

	while (p < end && ret == 0)
		ret = reader->dense ? walk(reader, &p, end) : leap(reader, &p, end);
	return ret;
}

/* Fast mode: is there any log line near the start? Counts nothing and delivers nothing. */
static void probe(struct reader *reader, const char *p, const char *end)
{
	struct gp_trace_amdlog_stats ignored = {0};
	struct gp_trace_line_parser parser = {.scan = reader->parser.scan,
					      .stats = &ignored,
					      .line = reader->parser.stats->lines};
	struct gp_trace_marks marks;

	while (p < end && reader->probed < PROBE_BYTES && !reader->probe_found) {
		p = skip_nulls(reader, p, end, ++parser.line);
		parser.scan->line(p, &marks);
		reader->probed += (u64)(marks.end - p) + 1;
		if ((size_t)(marks.end - p) <= GP_AMDLOG_LINE_MAX)
			gp_trace_amdlog_line(&parser, p, &marks, false);
		p = marks.end + 1;
		reader->probe_found = parser.delivered > 0;
	}
	if (ignored.binary && !reader->parser.stats->binary) {
		reader->parser.stats->binary = true;
		reader->parser.first_null = parser.first_null;
	}
}

static int take_block(struct reader *reader, const char *p, const char *end)
{
	if (!reader->options->fast)
		return take_lines(reader, p, end);
	if (reader->probed < PROBE_BYTES && !reader->probe_found)
		probe(reader, p, end);
	return take_queue_lines(reader, p, end);
}

/* The line at `start` up to `fill`, of which no newline was seen. */
static int take_unfinished(struct reader *reader)
{
	char *line = reader->buffer + reader->start;
	struct gp_trace_marks marks;

	/* The search needs a newline; this one is behind the data. */
	reader->buffer[reader->fill] = '\n';
	if (reader->options->fast && reader->probed < PROBE_BYTES && !reader->probe_found)
		probe(reader, line, reader->buffer + reader->fill);
	reader->parser.stats->lines++;
	reader->parser.scan->line(line, &marks);
	return take_line(reader, line, &marks, false);
}

/* ---- the buffer ---- */

/* What came in with the last read: `fresh` bytes before `fill`. */
static int take_fresh(struct reader *reader, size_t fresh)
{
	char *buffer = reader->buffer, *end = buffer + reader->fill, *newline;
	int ret = 0;

	newline = memrchr(end - fresh, '\n', fresh);
	if (reader->skipping) {
		if (!newline) {
			reader->start = reader->fill = 0;
			return 0;
		}
		/* Nothing is kept while skipping, so the first newline is in the fresh bytes. */
		char *first = memchr(end - fresh, '\n', fresh);

		reader->start = (size_t)(first + 1 - buffer);
		reader->skipping = false;
	}
	if (newline && newline >= buffer + reader->start) {
		ret = take_block(reader, buffer + reader->start, newline + 1);
		reader->start = (size_t)(newline + 1 - buffer);
	}
	if (ret)
		return ret;
	reader->start = (size_t)(skip_nulls(reader, buffer + reader->start, end,
					    reader->parser.stats->lines + 1) -
				 buffer);
	if (reader->fill - reader->start > GP_AMDLOG_LINE_MAX) {
		ret = take_unfinished(reader);
		reader->skipping = true;
		reader->start = reader->fill = 0;
	} else if (BUFFER_SIZE - reader->fill < ROOM_MIN) {
		reader->fill -= reader->start;
		memmove(buffer, buffer + reader->start, reader->fill);
		reader->start = 0;
	}
	return ret;
}

/* ---- what it was ---- */

static int check_magic(const struct reader *reader)
{
	const char *command, *format = gp_compression(reader->buffer, reader->fill, &command);

	if (!format)
		return 0;
	return gp_fail(reader->diag, -EINVAL,
		       "%s is compressed (%s). Decompress it first: %s FILE > text",
		       reader->options->name, format, command);
}

static int judge(const struct reader *reader)
{
	const struct gp_trace_amdlog_stats *stats = reader->parser.stats;
	const char *name = reader->options->name;

	if (stats->bytes == 0)
		return gp_fail(reader->diag, -EINVAL,
			       "%s is empty. Run the program with AMD_LOG_LEVEL=4 (5 with ROCm 7.1 "
			       "or later) and save its standard error",
			       name);
	if (reader->parser.delivered > 0 || reader->probe_found)
		return 0;
	if (stats->binary)
		return gp_fail(reader->diag, -EINVAL,
			       "%s, line %llu: not a text log (it contains NUL bytes, and no "
			       "AMD_LOG_LEVEL line precedes them)",
			       name, (unsigned long long)reader->parser.first_null);
	return gp_fail(reader->diag, -EINVAL,
		       "%s: not an AMD_LOG_LEVEL log (lines read: %llu, none recognized). Run the "
		       "program with AMD_LOG_LEVEL=4 (5 with ROCm 7.1 or later) and save its "
		       "standard error",
		       name, (unsigned long long)stats->lines);
}

static int read_all(struct reader *reader)
{
	const struct gp_trace_amdlog_options *options = reader->options;
	struct gp_trace_amdlog_stats *stats = reader->parser.stats;
	bool checked = false;
	size_t fresh = 0;
	long got;
	int ret;

	for (;;) {
		got = gp_read_some(reader->fd, reader->buffer + reader->fill,
				   BUFFER_SIZE - reader->fill);
		if (got < 0)
			return gp_fail(reader->diag, (int)got, "cannot read %s: %s", options->name,
				       strerror((int)-got));
		if (got == 0)
			break;
		stats->bytes += (u64)got;
		reader->fill += (size_t)got;
		fresh += (size_t)got;
		if (!checked && stats->bytes < MAGIC_BYTES)
			continue;
		ret = checked ? 0 : check_magic(reader);
		checked = true;
		if (ret == 0)
			ret = take_fresh(reader, fresh);
		if (ret)
			return ret;
		fresh = 0;
		if (options->progress)
			options->progress(options->progress_ctx, stats->bytes);
	}
	ret = checked ? 0 : check_magic(reader);
	if (ret == 0 && fresh)
		ret = take_fresh(reader, fresh);
	if (ret == 0 && reader->start < reader->fill)
		ret = take_unfinished(reader);
	return ret ? ret : judge(reader);
}

int gp_trace_amdlog_read(int fd, const struct gp_trace_amdlog_options *options,
			 struct gp_diag *diag, gp_event_fn fn, void *ctx,
			 struct gp_trace_amdlog_stats *stats)
{
	struct reader reader = {.fd = fd, .options = options, .diag = diag};
	int ret;

	memset(stats, 0, sizeof(*stats));
	reader.parser.scan = gp_trace_scan_select();
	reader.parser.stats = stats;
	reader.parser.fn = fn;
	reader.parser.ctx = ctx;
	reader.parser.fast = options->fast;
	reader.buffer = malloc(BUFFER_SIZE + GP_SCAN_PAD);
	if (!reader.buffer)
		return gp_fail(diag, -ENOMEM, "%s: out of memory", options->name);
	/* The searches look at the bytes behind the data, without effect. */
	memset(reader.buffer + BUFFER_SIZE, 0, GP_SCAN_PAD);
	ret = read_all(&reader);
	free(reader.buffer);
	return ret;
}
