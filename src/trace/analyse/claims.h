/* SPDX-License-Identifier: MIT */
/*
 * Figures that a document states, checked against a run: each is reproduced, wrong (with the right
 * value) or not in this data. The document's figures are a CSV file with the columns
 *   claim  the sentence, for people
 *   table  hip, hsa, kernel, copy, layer, run, or anything else: not in this data
 *   name   the call or kernel; with a final * all that start so; empty: all of the table
 *   field  calls, total, average, share, min, max, bytes, grid, workgroup, workgroups, vgpr, ...
 *   value  as the document prints it: 136.19ms, 99.20%, <0.01%, ~21ms, 3
 * A figure is reproduced when it is right to its last printed digit, rounded or cut off.
 */
#ifndef GP_TRACE_ANALYSE_CLAIMS_H
#define GP_TRACE_ANALYSE_CLAIMS_H

#include "base/diag.h"
#include "trace/analyse/submission.h"

enum gp_trace_claim_verdict {
	GP_CLAIM_REPRODUCED,
	GP_CLAIM_WRONG,
	GP_CLAIM_ABSENT,
	GP_CLAIM_VERDICTS
};

struct gp_trace_claims {
	size_t counts[GP_CLAIM_VERDICTS];
	u64 damaged; /* rows that are not a claim */
};

/* Reads the claims and adds a section with one row each. 0 or -errno after saying why. */
int gp_trace_claims_check(int fd, const char *name, struct gp_diag *diag,
			  const struct gp_trace_submission *submission, struct gp_doc *doc,
			  struct gp_trace_claims *claims);

#endif
