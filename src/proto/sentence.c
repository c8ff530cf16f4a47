// SPDX-License-Identifier: MIT
#include "proto/sentence.h"

#include <stdbool.h>
#include <string.h>

#include "base/i18n.h"
#include "base/types.h"
#include "holder_sentences.h"

#define ARGS   8
#define JOINT  "; "
#define JOINED 2 /* bytes of it */

/* A number or name in a sentence. */
struct arg {
	const char *text;
	size_t length;
};

struct match {
	const char *format;
	struct arg args[ARGS];
	u32 count;
	size_t literal; /* bytes of the format that were found as they are */
	const char *end;
};

static bool ends_here(const char *text)
{
	return !*text || strncmp(text, JOINT, JOINED) == 0;
}

/* The letter of a conversion that begins at '%', and what follows it; 0: none we know. */
static char conversion(const char **format)
{
	const char *p = *format + 1;

	p += strspn(p, "0123456789$lz");
	if (!*p || !strchr("uds%", *p))
		return 0;
	*format = p + 1;
	return *p;
}

static size_t number_length(const char *text, char letter)
{
	size_t sign = letter == 'd' && *text == '-';
	size_t digits = strspn(text + sign, "0123456789");

	return digits ? sign + digits : 0;
}

static bool match_rest(const char *format, const char *text, struct match *match);

/* A name is as short as what follows it in the format allows, and has no joint in it. */
static bool match_name(const char *format, const char *text, struct match *match)
{
	struct match before = *match;

	for (size_t length = 1; text[length - 1] && !ends_here(text + length - 1); length++) {
		*match = before;
		match->args[match->count++] = (struct arg){text, length};
		if (match_rest(format, text + length, match))
			return true;
	}
	return false;
}

static bool match_rest(const char *format, const char *text, struct match *match)
{
	while (*format) {
		const char *next = format;
		char letter = *format == '%' ? conversion(&next) : 0;
		size_t length;

		if (!letter || letter == '%') {
			if (*text != *format)
				return false;
			format = letter ? next : format + 1;
			text++;
			match->literal++;
			continue;
		}
		if (match->count == ARGS)
			return false;
		if (letter == 's')
			return match_name(next, text, match);
		length = number_length(text, letter);
		if (!length)
			return false;
		match->args[match->count++] = (struct arg){text, length};
		text += length;
		format = next;
	}
	match->end = text;
	return ends_here(text);
}

/* The sentence that says most of what is there: "process 5: %s" fits much. */
static bool find(const char *text, struct match *best)
{
	*best = (struct match){0};
	for (size_t i = 0; i < GP_ARRAY_SIZE(gp_holder_sentences); i++) {
		struct match match = {.format = gp_holder_sentences[i]};

		if (match_rest(match.format, text, &match) && match.literal > best->literal)
			*best = match;
	}
	return best->format != NULL;
}

/* ---- out ---- */

struct out {
	char *text;
	size_t size, used;
	bool full;
};

static bool goes_on(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80; /* of a character of several bytes */
}

static void put(struct out *out, const char *text, size_t length)
{
	size_t room = out->size - out->used - 1;

	if (out->full)
		return;
	out->full = length > room;
	if (out->full)
		for (length = room; length && goes_on(text[length]);)
			length--;
	memcpy(out->text + out->used, text, length);
	out->used += length;
	out->text[out->used] = '\0';
}

/* Names stay; what strerror() said is in the C library's catalogue. */
static void put_arg(struct out *out, const struct arg *arg)
{
	char text[128];
	const char *known = NULL;

	if (arg->length < sizeof(text)) {
		memcpy(text, arg->text, arg->length);
		text[arg->length] = '\0';
		known = dgettext("libc", text);
	}
	if (known && known != text)
		put(out, known, strlen(known));
	else
		put(out, arg->text, arg->length);
}

static void put_translated(struct out *out, const struct match *match)
{
	const char *format = gettext(match->format);
	u32 next = 0;

	while (*format) {
		const char *after = format;
		char letter = *format == '%' ? conversion(&after) : 0;
		u32 which = next;

		if (!letter || letter == '%') {
			size_t length = letter ? 1 : 1 + strcspn(format + 1, "%");

			put(out, format, length);
			format = letter ? after : format + length;
			continue;
		}
		if (format[1] >= '1' && format[1] <= '9' && format[2] == '$')
			which = (u32)(format[1] - '1');
		else
			next++;
		if (which < match->count)
			put_arg(out, &match->args[which]);
		format = after;
	}
}

void gp_proto_sentence_translate(const char *text, char *out, size_t size)
{
	struct out into = {.text = out, .size = size};

	out[0] = '\0';
	while (*text) {
		const char *joint = strstr(text, JOINT);
		size_t length = joint ? (size_t)(joint - text) : strlen(text);
		struct match match;

		if (find(text, &match)) {
			put_translated(&into, &match);
			text = match.end;
		} else {
			put(&into, text, length);
			text += length;
		}
		if (*text) {
			put(&into, JOINT, JOINED);
			text += JOINED;
		}
	}
}
