/* SPDX-License-Identifier: MIT */
/* What every unit test includes: cmocka with its prerequisites, fixtures, a sink that collects. */
#ifndef GP_TESTLIB_H
#define GP_TESTLIB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/diag.h"
#include "base/file.h"
#include "place.h"

/* Collects what a library says; `text` holds one message a line. */
struct test_diag {
	struct gp_diag diag;
	struct gp_buf text;
	int errors, warnings;
};

static inline void test_diag_emit(struct gp_diag *diag, enum gp_severity severity, const char *text)
{
	struct test_diag *sink = (struct test_diag *)diag;

	sink->errors += severity == GP_ERROR;
	sink->warnings += severity == GP_WARNING;
	gp_buf_printf(&sink->text, "%s\n", text);
}

#define TEST_DIAG                                 \
	{                                         \
		.diag = {.emit = test_diag_emit } \
	}

/* Path of a committed fixture; the buffer is overwritten by the next call. */
static inline const char *fixture(const char *name)
{
	static char path[4096];
	const char *dir = getenv("GP_FIXTURES");

	assert_non_null(dir);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* Path of a real sample, or NULL when the samples are not on this machine. */
static inline const char *corpus(const char *name)
{
	static char path[4096];
	const char *dir = getenv("GP_CORPUS");

	/* The coverage figure counts committed fixtures alone. */
	if (!dir || getenv("GP_NO_CORPUS"))
		return NULL;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return gp_root_exists(NULL, "%s", path) ? path : NULL;
}

#endif
