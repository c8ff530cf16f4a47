/* SPDX-License-Identifier: MIT */
/*
 * The file of `gpreempt report-bundle`: one JSON object with what is needed to understand a machine
 * from elsewhere. cli/watch/report_bundle.c writes it, `gpreempt analyze` reads it. It never holds
 * names of processes, users or hosts, command lines, environments or serial numbers.
 */
#ifndef GP_CLI_BUNDLE_H
#define GP_CLI_BUNDLE_H

#include "base/diag.h"
#include "base/json.h"
#include "show/doc.h"

#define GP_CLI_BUNDLE_KEY \
	"gpreempt_bundle" /* its value is the version; the first key of the file */
#define GP_CLI_BUNDLE_VERSION 1

/* The bundle in a file; NULL without a message when it is something else, with one when it is
 * damaged
 * (*error set). */
json_t *gp_cli_bundle_read(const char *path, struct gp_diag *diag, int *error);

/* What it says, for people; its JSON is shorter than the bundle itself. NULL without memory. */
struct gp_doc *gp_cli_bundle_doc(const json_t *bundle);

#endif
