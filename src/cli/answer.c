// SPDX-License-Identifier: MIT
/* How commands print their answer. */
#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "show/doc.h"

int gp_cli_answer(struct gp_doc *doc, enum gp_show_format format, struct gp_diag *diag)
{
	int error = gp_show_print(doc, stdout, format);

	gp_doc_free(doc);
	/* A stream that failed is reported when the command ends. */
	if (error && error != -EIO)
		gp_fail(diag, error, "cannot write the output: %s", strerror(-error));
	return error;
}
