// SPDX-License-Identifier: MIT
#include "base/csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/i18n.h"
#include "base/magic.h"
#include "base/parse.h"
#include "base/lines.h"

/* Holds a whole record and room to read behind it. */
#define BUFFER_SIZE (2 * GP_CSV_RECORD_MAX)

struct reader {
	gp_csv_fn fn;
	void *ctx;
	struct gp_csv_stats *stats;
	char *buffer;
	size_t start, fill;
	bool ended;
	char *text; /* the record's fields, unquoted, each with a NUL behind it */
	struct gp_field *fields;
};

enum outcome { RECORD_WHOLE, RECORD_NEEDS_MORE, RECORD_DAMAGED };

/*
 * Takes one record from [p, end) apart. *after is behind its line end. Without one, it is whole at
 * the end of the file only.
 */
static enum outcome take_record(struct reader *reader, const char *p, const char *end,
				struct gp_csv_record *record, const char **after, u64 *newlines)
{
	char *out = reader->text, *field = out;
	bool quoted = false;

	*newlines = 0;
	record->count = 0;
	for (;; p++) {
		if (p == end && (!reader->ended || quoted))
			return reader->ended ? RECORD_DAMAGED : RECORD_NEEDS_MORE;
		if (p == end || (!quoted && (*p == ',' || *p == '\n'))) {
			if (record->count == GP_CSV_FIELDS_MAX)
				return RECORD_DAMAGED;
			if ((p == end || *p == '\n') && out > field && out[-1] == '\r')
				out--;
			reader->fields[record->count++] =
				(struct gp_field){.text = field, .len = (size_t)(out - field)};
			*out++ = '\0';
			field = out;
			if (p == end || *p == '\n') {
				*newlines += p < end;
				*after = p < end ? p + 1 : p;
				return RECORD_WHOLE;
			}
		} else if (*p != '"') {
			*newlines += *p == '\n';
			*out++ = *p;
		} else if (!quoted) {
			quoted = true;
		} else if (p + 1 < end && p[1] == '"') {
			*out++ = *p++;
		} else if (p + 1 == end && !reader->ended) {
			return RECORD_NEEDS_MORE; /* the next byte says what this quote is */
		} else {
			quoted = false;
		}
	}
}

/* Passes over the first line of what is not a record. */
static const char *skip_line(struct reader *reader, const char *p, const char *end)
{
	const char *newline = memchr(p, '\n', (size_t)(end - p));

	reader->stats->damaged++;
	if (!reader->stats->first_bad_line)
		reader->stats->first_bad_line = reader->stats->lines + 1;
	reader->stats->lines++;
	return newline ? newline + 1 : end;
}

static int take_records(struct reader *reader)
{
	const char *p = reader->buffer + reader->start, *end = reader->buffer + reader->fill,
		   *after;
	int ret = 0;

	while (p < end && !ret) {
		struct gp_csv_record record = {.fields = reader->fields,
					       .line = reader->stats->lines + 1};
		u64 newlines;
		enum outcome outcome = take_record(reader, p, end, &record, &after, &newlines);

		if (outcome == RECORD_NEEDS_MORE && (size_t)(end - p) <= GP_CSV_RECORD_MAX)
			break;
		if (outcome != RECORD_WHOLE) {
			p = skip_line(reader, p, end);
			continue;
		}
		reader->stats->lines += newlines ? newlines : 1;
		p = after;
		if (record.count == 1 && !record.fields[0].len)
			continue;
		reader->stats->records++;
		ret = reader->fn(reader->ctx, &record);
	}
	reader->fill = (size_t)(end - p);
	memmove(reader->buffer, p, reader->fill);
	return ret;
}

static int read_all(struct reader *reader, int fd, const char *name, struct gp_diag *diag)
{
	bool checked = false;
	int ret = 0;

	while (!ret && !reader->ended) {
		const char *command, *format;
		long got =
			gp_read_some(fd, reader->buffer + reader->fill, BUFFER_SIZE - reader->fill);

		if (got < 0)
			return gp_fail(diag, (int)got, "%s: cannot read: %s", name,
				       strerror((int)-got));
		reader->stats->bytes += (u64)got;
		reader->fill += (size_t)got;
		reader->ended = !got;
		format = checked ? NULL : gp_compression(reader->buffer, reader->fill, &command);
		checked = true;
		if (format)
			return gp_fail(
				diag, -EINVAL,
				"%s is compressed (%s); decompress it first: %s FILE > NEWFILE",
				name, format, command);
		ret = take_records(reader);
	}
	return ret;
}

int gp_csv_read(int fd, const char *name, struct gp_diag *diag, gp_csv_fn fn, void *ctx,
		struct gp_csv_stats *stats)
{
	struct reader reader = {.fn = fn, .ctx = ctx, .stats = stats};
	int ret;

	memset(stats, 0, sizeof(*stats));
	reader.buffer = malloc(BUFFER_SIZE);
	/* Unquoting only shortens; a NUL for each field comes on top. */
	reader.text = malloc(BUFFER_SIZE + GP_CSV_FIELDS_MAX + 1);
	reader.fields = calloc(GP_CSV_FIELDS_MAX, sizeof(*reader.fields));
	if (reader.buffer && reader.text && reader.fields)
		ret = read_all(&reader, fd, name, diag);
	else
		ret = gp_fail(diag, -ENOMEM, "%s: out of memory", name);
	free(reader.buffer);
	free(reader.text);
	free(reader.fields);
	return ret;
}

bool gp_field_u64(const struct gp_field *field, u64 *value)
{
	const char *p = field->text, *end = p + field->len;
	u64 number;

	if (!gp_parse_u64(&p, end, &number))
		return false;
	if (p < end && *p == '.')
		for (p++; p < end && gp_is_digit(*p); p++)
			;
	if (p != end)
		return false;
	*value = number;
	return true;
}
