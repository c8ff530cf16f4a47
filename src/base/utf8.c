// SPDX-License-Identifier: MIT
#include "base/utf8.h"

#include <string.h>

size_t gp_utf8_next(const char *text, size_t len, u32 *code)
{
	/* Smallest code point for each length: longer forms of small ones are not UTF-8. */
	static const u32 smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *byte = (const unsigned char *)text;
	size_t need;

	if (byte[0] < 0x80) {
		*code = byte[0];
		return 1;
	}
	if (byte[0] >= 0xc2 && byte[0] < 0xe0) {
		need = 2;
		*code = byte[0] & 0x1f;
	} else if (byte[0] >= 0xe0 && byte[0] < 0xf0) {
		need = 3;
		*code = byte[0] & 0x0f;
	} else if (byte[0] >= 0xf0 && byte[0] < 0xf5) {
		need = 4;
		*code = byte[0] & 0x07;
	} else {
		return 0;
	}
	if (need > len)
		return 0;
	for (size_t i = 1; i < need; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (byte[i] & 0x3f);
	}
	if (*code < smallest[need] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return need;
}

void gp_text_make_safe(char *text)
{
	size_t len = strlen(text);

	while (len) {
		u32 code;
		size_t step = gp_utf8_next(text, len, &code);

		if (!step) {
			*text = '?';
			step = 1;
		} else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
			memset(text, '?', step);
		}
		text += step;
		len -= step;
	}
}
