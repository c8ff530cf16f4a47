// SPDX-License-Identifier: MIT
#include "cli/roff.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "show/term.h"

enum { WIDTH = 80, BODY = 7, ITEM = 14 };

struct writer {
	FILE *out;
	size_t indent, column; /* of the line that is being filled; 0: it is empty */
	bool verbatim, tag;    /* between .nf and .fi; the next line names an item */
};

/* Fonts go, escapes become what they mean. */
static void plain(const char *text, size_t len, struct gp_buf *out)
{
	out->len = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '\\' || i + 1 == len)
			gp_buf_printf(out, "%c", text[i]);
		else if (text[++i] == 'f')
			i++;
		else if (text[i] == '-' || text[i] == 'e')
			gp_buf_puts(out, text[i] == '-' ? "-" : "\\");
	}
}

static void end_line(struct writer *writer)
{
	if (writer->column)
		putc('\n', writer->out);
	writer->column = 0;
}

static void put_word(struct writer *writer, const char *word)
{
	size_t width = gp_term_width(word);

	if (writer->column && writer->column + 1 + width > WIDTH)
		end_line(writer);
	if (writer->column) {
		putc(' ', writer->out);
		writer->column++;
	} else {
		fprintf(writer->out, "%*s", (int)writer->indent, "");
		writer->column = writer->indent;
	}
	fputs(word, writer->out);
	writer->column += width;
}

static void fill(struct writer *writer, char *text)
{
	char *rest = NULL;

	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		put_word(writer, word);
}

static void take_text(struct writer *writer, const char *line, size_t len)
{
	struct gp_buf text = {0};

	plain(line, len, &text);
	if (writer->verbatim) {
		fprintf(writer->out, "%*s%s\n", gp_buf_str(&text)[0] ? BODY : 0, "",
			gp_buf_str(&text));
	} else if (text.len) {
		if (writer->tag)
			writer->indent = BODY;
		fill(writer, text.data);
		if (writer->tag) {
			end_line(writer);
			writer->indent = ITEM;
		}
		writer->tag = false;
	}
	gp_buf_free(&text);
}

static bool is(const char *line, size_t len, const char *request)
{
	size_t size = strlen(request);

	return len >= size && memcmp(line, request, size) == 0 &&
	       (len == size || line[size] == ' ');
}

static void take_request(struct writer *writer, const char *line, size_t len)
{
	struct gp_buf text = {0};

	end_line(writer);
	if (is(line, len, ".SH")) {
		plain(line + 4, len - 4, &text);
		fprintf(writer->out, "\n%s\n", gp_buf_str(&text));
		writer->indent = BODY;
	} else if (is(line, len, ".TH")) {
		plain(line + 4, len - 4, &text);
		fprintf(writer->out, "%.*s(1)\n", (int)strcspn(gp_buf_str(&text), " "),
			gp_buf_str(&text));
	} else if (is(line, len, ".PP") || is(line, len, ".TP")) {
		putc('\n', writer->out);
		writer->tag = is(line, len, ".TP");
		writer->indent = BODY;
	} else if (is(line, len, ".nf") || is(line, len, ".fi")) {
		writer->verbatim = is(line, len, ".nf");
	}
	gp_buf_free(&text);
}

void gp_cli_roff_text(const char *page, FILE *out)
{
	struct writer writer = {.out = out, .indent = BODY};

	while (*page) {
		size_t len = strcspn(page, "\n");

		if (*page == '.')
			take_request(&writer, page, len);
		else
			take_text(&writer, page, len);
		page += len + (page[len] == '\n');
	}
	end_line(&writer);
}
