// SPDX-License-Identifier: MIT
#include "base/diag.h"

#include <libintl.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

/* Longer messages are cut: a message that needs more is not one a person reads. */
#define GP_DIAG_MAX 1024

static void emit(struct gp_diag *diag, enum gp_severity severity, const char *format, va_list args)
{
	char text[GP_DIAG_MAX];

	if (!diag || !diag->emit)
		return;
	vsnprintf(text, sizeof(text), gettext(format), args);
	gp_text_make_safe(text);
	diag->emit(diag, severity, text);
}

void gp_diag(struct gp_diag *diag, enum gp_severity severity, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	emit(diag, severity, format, args);
	va_end(args);
}

int gp_fail(struct gp_diag *diag, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	emit(diag, GP_ERROR, format, args);
	va_end(args);
	return error;
}
