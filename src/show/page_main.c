// SPDX-License-Identifier: MIT
/* gpreempt-page: the JSON of show/page.h on standard input becomes a page on standard output. For
 * scripts of this repository; it is not installed. */
#include <stdio.h>

#include "base/command.h"
#include "base/i18n.h"
#include "show/page.h"

static const struct gp_command page_command = {
	.name = "gpreempt-page",
	.alone = true,
	.summary = N_("Write a document as an HTML page"),
};

int main(int argc, char **argv)
{
	struct gp_command_diag sink;
	json_error_t where;
	json_t *json;
	struct gp_doc *doc;
	int error;

	gp_i18n_init();
	(void)argv;
	if (argc > 1) {
		gp_usage_error(&page_command, "gpreempt-page takes no arguments");
		return GP_EXIT_USAGE;
	}
	gp_command_diag_init(&sink, &page_command);
	json = json_loadf(stdin, 0, &where);
	if (!json) {
		gp_fail(&sink.diag, -1, "the document is not valid JSON (line %d: %s)", where.line,
			where.text);
		return GP_EXIT_FAILED;
	}
	doc = gp_show_page(json, &sink.diag);
	error = doc ? gp_show_print(doc, stdout, GP_SHOW_HTML) : -1;
	gp_doc_free(doc);
	json_decref(json);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}
