// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

/* Length of the text that needs no change, at the beginning. */
static size_t plain_length(const char *text, size_t len, bool quoted)
{
	size_t i = 0;

	while (i < len) {
		u32 code;
		size_t step = gp_utf8_next(text + i, len - i, &code);

		if (!step ||
		    (quoted && (code == '"' || code == '\\' || code < ' ' || code == 0x7f)))
			break;
		i += step;
	}
	return i;
}

void gp_json_escape(struct gp_buf *out, const char *text, size_t len)
{
	gp_buf_add(out, "\"", 1);
	for (size_t i = 0; i < len; i++) {
		size_t plain = plain_length(text + i, len - i, true);

		gp_buf_add(out, text + i, plain);
		i += plain;
		if (i == len)
			break;
		if (text[i] == '"' || text[i] == '\\')
			gp_buf_printf(out, "\\%c", text[i]);
		else if (text[i] & 0x80)
			gp_buf_puts(out, "\\ufffd");
		else
			gp_buf_printf(out, "\\u%04x", (unsigned)text[i]);
	}
	gp_buf_add(out, "\"", 1);
}

json_t *gp_json_text(const char *text, size_t len)
{
	size_t plain = plain_length(text, len, false);
	struct gp_buf clean = {0};
	json_t *json = NULL;

	if (plain == len)
		return json_stringn_nocheck(text, len);
	for (size_t i = 0; i < len; i++) {
		plain = plain_length(text + i, len - i, false);
		gp_buf_add(&clean, text + i, plain);
		i += plain;
		if (i < len)
			gp_buf_puts(&clean, "\xef\xbf\xbd");
	}
	if (!clean.error)
		json = json_stringn_nocheck(gp_buf_str(&clean), clean.len);
	gp_buf_free(&clean);
	return json;
}

json_t *gp_json_str(const char *text)
{
	return text ? gp_json_text(text, strlen(text)) : json_null();
}

json_t *gp_json_str_or_null(const char *text)
{
	return gp_json_str(*text ? text : NULL);
}

json_t *gp_json_hex(u64 value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	return json_string(text);
}

json_t *gp_json_u64_if(bool known, u64 value)
{
	if (!known)
		return json_null();
	/* jansson's integers are signed; a value above that is kept exactly, as text. */
	if (value > INT64_MAX)
		return gp_json_hex(value);
	return json_integer((json_int_t)value);
}

json_t *gp_json_hex_if(bool known, u64 value)
{
	return known ? gp_json_hex(value) : json_null();
}

bool gp_json_get_u64(const json_t *object, const char *key, u64 *value)
{
	const json_t *number = json_object_get(object, key);

	if (!json_is_integer(number) || json_integer_value(number) < 0)
		return false;
	*value = (u64)json_integer_value(number);
	return true;
}

int gp_json_print(FILE *out, const json_t *json, bool one_line)
{
	size_t flags = one_line ? JSON_COMPACT : JSON_INDENT(2);

	if (!json)
		return -ENOMEM;
	if (json_dumpf(json, out, flags) || putc('\n', out) == EOF || fflush(out) == EOF)
		return -EIO;
	return 0;
}
