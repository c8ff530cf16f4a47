/* SPDX-License-Identifier: MIT */
/*
 * Where a library says what went wrong. Code below cli/ never prints: it hands a
 * sentence (object, operation, what to do) to the sink its caller passed. The format is translated
 * here: do not wrap it in _().
 * A NULL sink drops the message; the returned -errno still reports the failure. Control
 * characters in a message, which can only have come from outside, are shown as '?'.
 */
#ifndef GP_BASE_DIAG_H
#define GP_BASE_DIAG_H

#include <stdatomic.h>

#include "base/types.h"

enum gp_severity {
	GP_NOTE,    /* worth knowing, nothing is wrong */
	GP_WARNING, /* the answer stands, with this reservation */
	GP_ERROR,   /* no answer */
};

struct gp_diag {
	void (*emit)(struct gp_diag *diag, enum gp_severity severity, const char *text);
	atomic_bool progress; /* a line of the terminal shows it: a message takes its place */
};

void gp_diag(struct gp_diag *diag, enum gp_severity severity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Emits an error and returns `error` (a negative errno), so that one line can do both. */
int gp_fail(struct gp_diag *diag, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
