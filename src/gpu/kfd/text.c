// SPDX-License-Identifier: MIT
#include "gpu/kfd/text.h"

#include <errno.h>
#include <string.h>

#include "base/i18n.h"
#include "base/magic.h"
#include "base/parse.h"

#define GP_BINARY_PROBE 4096

void gp_kfd_lines_init(struct gp_kfd_lines *lines, const struct gp_gpu_debugfs_source *source)
{
	*lines = (struct gp_kfd_lines){.next = source->text, .limit = source->text + source->len};
}

bool gp_kfd_lines_next(struct gp_kfd_lines *lines)
{
	const char *newline;

	if (lines->next == lines->limit)
		return false;
	newline = memchr(lines->next, '\n', (size_t)(lines->limit - lines->next));
	lines->p = lines->next;
	lines->torn = !newline;
	lines->end = newline ? newline : lines->limit;
	lines->next = newline ? newline + 1 : lines->limit;
	if (lines->end > lines->p && lines->end[-1] == '\r')
		lines->end--;
	lines->number++;
	return true;
}

bool gp_kfd_lines_blank(const struct gp_kfd_lines *lines)
{
	const char *p = lines->p;

	gp_skip_blanks(&p, lines->end);
	return p == lines->end;
}

/* Exactly eight hex digits, as the kernel prints them. */
static bool parse_word(const char **p, const char *end, u32 *word)
{
	u32 value = 0;

	if (end - *p < 8)
		return false;
	for (int i = 0; i < 8; i++) {
		int digit = gp_hex_value((*p)[i]);

		if (digit < 0)
			return false;
		value = value << 4 | (u32)digit;
	}
	*p += 8;
	*word = value;
	return true;
}

enum gp_kfd_row_result gp_kfd_row_parse(const struct gp_kfd_lines *lines, struct gp_kfd_row *row)
{
	const char *p = lines->p;

	gp_skip_blanks(&p, lines->end);
	if (!parse_word(&p, lines->end, &row->address) || !GP_PARSE_LITERAL(&p, lines->end, ":"))
		return GP_ROW_NONE;
	for (row->count = 0;; row->count++) {
		gp_skip_blanks(&p, lines->end);
		if (p == lines->end)
			return row->count ? GP_ROW_OK : GP_ROW_BROKEN;
		if (row->count == GP_ROW_WORDS ||
		    !parse_word(&p, lines->end, &row->words[row->count]))
			return GP_ROW_BROKEN;
		if (p < lines->end && *p != ' ' && *p != '\t')
			return GP_ROW_BROKEN;
	}
}

bool gp_kfd_node_parse(const struct gp_kfd_lines *lines, u32 *node, u32 *gpu_id)
{
	const char *p = lines->p, *end = lines->end;
	u64 id;

	if (!GP_PARSE_LITERAL(&p, end, "Node ") || !gp_parse_u32(&p, end, node) ||
	    !GP_PARSE_LITERAL(&p, end, ", gpu_id ") || !gp_parse_hex(&p, end, &id) ||
	    id > UINT32_MAX || !GP_PARSE_LITERAL(&p, end, ":") || p != end)
		return false;
	*gpu_id = (u32)id;
	return true;
}

int gp_kfd_text_check(const struct gp_gpu_debugfs_source *source, struct gp_diag *diag)
{
	size_t probe = source->len < GP_BINARY_PROBE ? source->len : GP_BINARY_PROBE;
	const char *command, *compression = gp_compression(source->text, source->len, &command);

	if (compression)
		return gp_fail(diag, -EINVAL,
			       "%s is compressed (%s); decompress it first: %s FILE > NEWFILE",
			       source->name, compression, command);
	if (probe && memchr(source->text, '\0', probe))
		return gp_fail(diag, -EINVAL,
			       "%s:1: the file is binary, not text from /sys/kernel/debug/kfd",
			       source->name);
	return 0;
}

enum gp_gpu_debugfs_file gp_kfd_line_file(const struct gp_kfd_lines *lines)
{
	const char *p = lines->p, *end = lines->end;

	if (GP_PARSE_LITERAL(&p, end, "Process "))
		return GP_FILE_MQDS;
	gp_skip_blanks(&p, end);
	if (GP_PARSE_LITERAL(&p, end, "Inst ") || GP_PARSE_LITERAL(&p, end, "CP Pipe ") ||
	    GP_PARSE_LITERAL(&p, end, "HIQ on MEC ") || GP_PARSE_LITERAL(&p, end, "SDMA Engine "))
		return GP_FILE_HQDS;
	if (GP_PARSE_LITERAL(&p, end, "No active runlist"))
		return GP_FILE_RLS;
	return GP_FILE_ANY;
}

const char *gp_kfd_text_command(const char *text, size_t len)
{
	struct gp_kfd_lines lines = {.next = text, .limit = text + len};
	struct gp_kfd_row row;
	u32 number, gpu_id;
	const char *p;

	if (!gp_kfd_lines_next(&lines))
		return NULL;
	p = lines.p;
	if (GP_PARSE_LITERAL(&p, lines.end, "Process ") && gp_parse_u32(&p, lines.end, &number) &&
	    GP_PARSE_LITERAL(&p, lines.end, " PASID "))
		return "mqd";
	if (!gp_kfd_node_parse(&lines, &number, &gpu_id) || !gp_kfd_lines_next(&lines))
		return NULL;
	if (gp_kfd_line_file(&lines) == GP_FILE_HQDS)
		return "hqd";
	if (gp_kfd_line_file(&lines) == GP_FILE_RLS || gp_kfd_row_parse(&lines, &row) == GP_ROW_OK)
		return "runlist";
	return NULL;
}

void gp_kfd_doubt_line(struct gp_kfd_doubts *doubts, u32 line)
{
	if (!doubts->unknown++)
		doubts->unknown_line = line;
}

/* What is damaged, as an error. */
static int refuse(const struct gp_kfd_doubts *doubts, const struct gp_gpu_debugfs_source *source,
		  struct gp_diag *diag, const char *format)
{
	if (doubts->cut_line && source->live)
		return gp_fail(
			diag, -EBADMSG,
			"%s:%u: the text ends in the middle of this block; run the command again",
			source->name, doubts->cut_line);
	if (doubts->cut_line)
		return gp_fail(diag, -EBADMSG,
			       "%s:%u: the text ends in the middle of this block; save the debugfs "
			       "file %s again",
			       source->name, doubts->cut_line, format);
	if (source->live)
		return gp_fail(diag, -EBADMSG,
			       "%s:%u: rows of this block are missing or garbled (damaged blocks: "
			       "%zu); run the command again",
			       source->name, doubts->broken_line, doubts->broken);
	return gp_fail(diag, -EBADMSG,
		       "%s:%u: rows of this block are missing or garbled (damaged blocks: %zu); "
		       "save the debugfs file %s again",
		       source->name, doubts->broken_line, doubts->broken, format);
}

int gp_kfd_doubts_say(const struct gp_kfd_doubts *doubts,
		      const struct gp_gpu_debugfs_source *source, struct gp_diag *diag,
		      const char *format, bool found, bool complete, bool *incomplete)
{
	if (!found && doubts->unknown)
		return gp_fail(diag, -EINVAL, "%s:%u: not a copy of the debugfs file %s",
			       source->name, doubts->unknown_line, format);
	if (doubts->cut_line && !complete)
		return gp_fail(diag, -EINVAL,
			       "%s:%u: the text ends before its first complete block; save the "
			       "debugfs file %s again",
			       source->name, doubts->cut_line, format);
	*incomplete = doubts->cut_line || doubts->broken;
	if (*incomplete && !source->partial)
		return refuse(doubts, source, diag, format);
	if (doubts->cut_line)
		gp_diag(diag, GP_WARNING,
			"%s:%u: the text ends in the middle of this block; skipping it",
			source->name, doubts->cut_line);
	if (doubts->broken)
		gp_diag(diag, GP_WARNING,
			"%s:%u: rows of this block are missing or garbled; skipping it (damaged "
			"blocks: %zu)",
			source->name, doubts->broken_line, doubts->broken);
	if (doubts->unknown)
		gp_diag(diag, GP_WARNING, "%s:%u: cannot parse this line (unknown lines: %zu)",
			source->name, doubts->unknown_line, doubts->unknown);
	return 0;
}

int gp_kfd_wrong_file(const struct gp_gpu_debugfs_source *source, struct gp_diag *diag, u32 line,
		      enum gp_gpu_debugfs_file is)
{
	switch (is) {
	case GP_FILE_HQDS:
		return gp_fail(diag, -EINVAL,
			       "%s:%u: this is a copy of hqds (hardware queue slots); "
			       "read it with 'gpreempt hqd'",
			       source->name, line);
	case GP_FILE_MQDS:
		return gp_fail(diag, -EINVAL,
			       "%s:%u: this is a copy of mqds (queue descriptors); "
			       "read it with 'gpreempt mqd'",
			       source->name, line);
	case GP_FILE_RLS:
	case GP_FILE_ANY:
		break;
	}
	return gp_fail(diag, -EINVAL,
		       "%s:%u: this is a copy of rls (the runlist); "
		       "read it with 'gpreempt runlist'",
		       source->name, line);
}
