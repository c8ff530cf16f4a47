/* SPDX-License-Identifier: MIT */
/* Documents as text and as JSON, for tests; the document is freed. */
#ifndef GP_TESTS_PRINTED_H
#define GP_TESTS_PRINTED_H

#include <stdlib.h>

#include "show/doc.h"
#include "testlib.h"

static inline char *print(struct gp_doc *doc, enum gp_show_format format)
{
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(gp_show_print(doc, out, format), 0);
	fclose(out);
	gp_doc_free(doc);
	return text;
}

static inline char *text_of(struct gp_doc *doc)
{
	return print(doc, GP_SHOW_TEXT);
}

static inline json_t *json_of(struct gp_doc *doc)
{
	json_t *json = gp_doc_json(doc);

	assert_non_null(json);
	gp_doc_free(doc);
	return json;
}

#endif
