/* SPDX-License-Identifier: MIT */
/*
 * The preemption mechanisms, and whether a machine allows each: a verdict and a sentence that says
 * what is missing. The verdict is about the machine, not about what gpreempt drives.
 */
#ifndef GP_INSPECT_MECHANISM_H
#define GP_INSPECT_MECHANISM_H

#include "inspect/doctor.h"

enum gp_inspect_verdict { GP_VERDICT_CAN, GP_VERDICT_CANNOT, GP_VERDICT_UNKNOWN };

struct gp_inspect_judgement {
	struct gp_diag diag; /* collects the reason */
	enum gp_inspect_verdict verdict;
	char reason[512]; /* what is missing, or what to note */
};

struct gp_inspect_mechanism {
	const char *name;
	const char *scope; /* N_(): what it acts on */
	bool stops_mid_kernel;
	void (*judge)(const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out);
};

/* Ends with an entry without name. */
extern const struct gp_inspect_mechanism gp_inspect_mechanisms[];

void gp_inspect_judge(const struct gp_inspect_mechanism *mechanism,
		      const struct gp_inspect_doctor *d, struct gp_inspect_judgement *out);

/* "can", "cannot", "unknown": the word in JSON. */
const char *gp_inspect_verdict_word(enum gp_inspect_verdict verdict);

#endif
