#include "base/json.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"

/* Length of the UTF-8 sequence at text, or 0 if it is not one. */
static size_t utf8_length(const unsigned char *text, size_t len)
{
	/* Smallest code point for each length: longer forms of small ones are not UTF-8. */
	static const u32 smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t need;
	u32 code;

	if (text[0] < 0x80)
		return 1;
	if (text[0] >= 0xc2 && text[0] < 0xe0) {
		need = 2;
		code = text[0] & 0x1f;
	} else if (text[0] >= 0xe0 && text[0] < 0xf0) {
		need = 3;
		code = text[0] & 0x0f;
	} else if (text[0] >= 0xf0 && text[0] < 0xf5) {
		need = 4;
		code = text[0] & 0x07;
	} else {
		return 0;
	}
	if (need > len)
		return 0;
	for (size_t i = 1; i < need; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < smallest[need] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return need;
}

json_t *gp_json_text(const char *text, size_t len)
{
	struct gp_buf clean = {0};
	json_t *json = NULL;

	for (size_t i = 0; i < len;) {
		size_t step = utf8_length((const unsigned char *)text + i, len - i);

		if (step) {
			gp_buf_add(&clean, text + i, step);
			i += step;
		} else {
			gp_buf_puts(&clean, "\xef\xbf\xbd");
			i++;
		}
	}
	if (!clean.error)
		json = json_stringn(gp_buf_str(&clean), clean.len);
	gp_buf_free(&clean);
	return json;
}

json_t *gp_json_str(const char *text)
{
	return text ? gp_json_text(text, strlen(text)) : json_null();
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

int gp_json_print(FILE *out, const json_t *json, bool one_line)
{
	size_t flags = one_line ? JSON_COMPACT : JSON_INDENT(2);

	if (!json)
		return -ENOMEM;
	if (json_dumpf(json, out, flags) || putc('\n', out) == EOF || fflush(out) == EOF)
		return -EIO;
	return 0;
}
