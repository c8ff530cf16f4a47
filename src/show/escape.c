// SPDX-License-Identifier: MIT
/* Text that cannot become markup, for Markdown and HTML. */
#include "base/utf8.h"
#include "show/parts.h"

/* The entity of a character, or NULL. */
static const char *entity(u32 code, bool quotes)
{
	switch (code) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return quotes ? "&quot;" : NULL;
	case '\'':
		return quotes ? "&#39;" : NULL;
	default:
		return NULL;
	}
}

void gp_show_escape(struct gp_buf *out, const char *text, size_t len, const char *markup)
{
	for (size_t i = 0; i < len;) {
		u32 code;
		size_t step = gp_utf8_next(text + i, len - i, &code);
		const char *named = step ? entity(code, !markup) : NULL;

		if (!step)
			gp_buf_puts(out, "�");
		else if (named)
			gp_buf_puts(out, named);
		else if (code < ' ' || (code >= 0x7f && code < 0xa0))
			gp_buf_puts(out, " ");
		else if (markup && code < 0x80 && strchr(markup, (int)code))
			gp_buf_printf(out, "\\%c", (char)code);
		else
			gp_buf_add(out, text + i, step);
		i += step ? step : 1;
	}
}

void gp_show_escape_value(struct gp_buf *out, const struct gp_show_value *value, const char *markup)
{
	struct gp_buf text = {0};

	gp_show_value_text(value, &text);
	gp_show_escape(out, gp_buf_str(&text), text.len, markup);
	gp_buf_free(&text);
}
