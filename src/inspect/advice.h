/* SPDX-License-Identifier: MIT */
/*
 * What to change on this machine, or to know about it: facts of doctor.h that stand in the way of
 * preemption, each with the command that fixes it. Pure; used by `gpreempt doctor` and the report
 * bundle.
 */
#ifndef GP_INSPECT_ADVICE_H
#define GP_INSPECT_ADVICE_H

#include "inspect/doctor.h"

enum gp_inspect_weight {
	GP_ADVICE_STOPS, /* preemption does not work, or not for running programs */
	GP_ADVICE_COSTS, /* it works worse than it could */
	GP_ADVICE_KNOW,  /* nothing to change */
};

struct gp_inspect_advice {
	const char *id;
	enum gp_inspect_weight weight;
	char text[320];       /* in the user's language */
	const char *fix;      /* a command; NULL: there is none */
	const char *fix_note; /* N_(): what belongs to it, or NULL */
};

enum { GP_ADVICE_MAX = 16 };

/* The most important first; how many. */
size_t gp_inspect_advise(const struct gp_inspect_doctor *d,
			 struct gp_inspect_advice out[GP_ADVICE_MAX]);

/* "stops", "costs", "know": the word in JSON. */
const char *gp_inspect_weight_word(enum gp_inspect_weight weight);

/* Which firmware or driver schedules the queues of KFD: "cpsch", "mes", "none"; NULL if unknown. */
const char *gp_inspect_scheduler(const struct gp_inspect_doctor *d);

#endif
