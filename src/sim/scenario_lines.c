// SPDX-License-Identifier: MIT
/* Lines of scenario files: sections in brackets, "key = value", # comments. See scenario_read.h. */
#include "sim/scenario_read.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"

#define LINE_LIMIT  512
#define ERROR_LIMIT 20 /* that are reported of one file */

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

/* Keys of a section that is refused: one message about it is enough. */
static int pass_over(struct gp_sim_reader *r, const char *name, const char *value)
{
	(void)r, (void)name, (void)value;
	return 0;
}

static int open_section(struct gp_sim_reader *r, const char *name)
{
	int error;

	r->key_count = 0;
	r->section = NULL;
	error = r->open(r, name);
	if (error) {
		r->section = pass_over;
		r->work = false;
	}
	return error;
}

static int take_line(struct gp_sim_reader *r, char *line)
{
	char *comment = strchr(line, '#'), *equals, *close;

	if (comment)
		*comment = '\0';
	line = trim(line);
	if (!*line)
		return 0;
	if (*line == '[') {
		close = strchr(line, ']');
		if (!close || close[1])
			return gp_fail(r->diag, -EINVAL,
				       "%s:%u: malformed section (expected [NAME])", r->file,
				       r->line);
		*close = '\0';
		return open_section(r, trim(line + 1));
	}
	if (r->work)
		return gp_sim_reader_work(r, line);
	equals = strchr(line, '=');
	if (!equals)
		return gp_fail(r->diag, -EINVAL, "%s:%u: expected [SECTION] or KEY = VALUE",
			       r->file, r->line);
	if (!r->section)
		return gp_fail(r->diag, -EINVAL, "%s:%u: key before the first [SECTION]", r->file,
			       r->line);
	*equals = '\0';
	line = trim(line);
	for (size_t i = 0; i < r->key_count; i++)
		if (strcmp(r->keys[i], line) == 0)
			return gp_fail(r->diag, -EINVAL, "%s:%u: duplicate key \"%s\"", r->file,
				       r->line, line);
	if (r->key_count < GP_SCENARIO_KEYS)
		snprintf(r->keys[r->key_count++], GP_SCENARIO_KEY_LENGTH, "%s", line);
	return r->section(r, line, trim(equals + 1));
}

int gp_sim_reader_lines(struct gp_sim_reader *r, const char *text, size_t size)
{
	const char *end = text + size;
	int error = 0, first = 0, errors = 0;

	while (errors < ERROR_LIMIT && error != -ENOMEM && text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((stop ? stop : end) - text);
		char line[LINE_LIMIT];

		r->line++;
		text += length + 1;
		if (length >= sizeof(line) || memchr(text - length - 1, '\0', length)) {
			error = gp_fail(r->diag, -EINVAL,
					"%s:%u: the line is too long or contains NUL bytes",
					r->file, r->line);
		} else {
			memcpy(line, text - length - 1, length);
			line[length] = '\0';
			error = take_line(r, line);
		}
		first = first ? first : error;
		errors += error != 0;
	}
	if (errors == ERROR_LIMIT)
		gp_diag(r->diag, GP_NOTE, "%s: further errors are not listed", r->file);
	return first;
}
