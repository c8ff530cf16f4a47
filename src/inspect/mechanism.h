/* SPDX-License-Identifier: MIT */
/*
 * The ways of preempting that DESIGN knows, and whether a machine allows each: a verdict and one
 * sentence that says exactly what is missing. It judges the machine; that this program drives a
 * mechanism is a different matter.
 */
#ifndef GP_INSPECT_MECHANISM_H
#define GP_INSPECT_MECHANISM_H

#include "inspect/doctor.h"

enum gp_inspect_verdict { GP_VERDICT_CAN, GP_VERDICT_CANNOT, GP_VERDICT_UNKNOWN };

struct gp_inspect_judgement {
	enum gp_inspect_verdict verdict;
	char reason[512]; /* translated; what it lacks, or what to mind */
};

struct gp_inspect_mechanism {
	const char *name;
	const char *scope; /* N_(): what it acts on */
	bool stops_mid_kernel;
	void (*judge)(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out);
};

/* In the order of the design's table; ends with an entry without name. */
extern const struct gp_inspect_mechanism gp_inspect_mechanisms[];

/* "can", "cannot", "unknown": the word in JSON. */
const char *gp_inspect_verdict_word(enum gp_inspect_verdict verdict);

#endif
