// SPDX-License-Identifier: MIT
/*
 * The sentence of the last error on a context, kept by each thread for itself: a thread's text is
 * never changed by another. A thread remembers the last few contexts it had errors on.
 */
#include <libintl.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "client/client.h"

#define REMEMBERED 4

struct sentence {
	u64 context; /* its number; 0: gpreempt_open() */
	char text[320];
};

static _Thread_local struct sentence sentences[REMEMBERED];
static _Thread_local unsigned next_sentence;

static struct sentence *find(u64 number)
{
	for (size_t i = 0; i < REMEMBERED; i++) {
		if (sentences[i].text[0] && sentences[i].context == number)
			return &sentences[i];
	}
	return NULL;
}

int gp_client_fail(const struct gpreempt *context, int error, const char *format, ...)
{
	u64 number = context ? context->number : 0;
	struct sentence *sentence = find(number);
	va_list args;

	if (!sentence)
		sentence = &sentences[next_sentence++ % REMEMBERED];
	sentence->context = number;
	va_start(args, format);
	vsnprintf(sentence->text, sizeof(sentence->text), gettext(format), args);
	va_end(args);
	gp_text_make_safe(sentence->text); /* what a peer sent must not drive a terminal */
	return error;
}

void gp_client_forget_errors(const struct gpreempt *context)
{
	struct sentence *sentence = find(context->number);

	if (sentence)
		sentence->text[0] = '\0';
}

const char *gpreempt_error(const struct gpreempt *context)
{
	const struct sentence *sentence = find(context ? context->number : 0);

	return sentence ? sentence->text : "";
}
