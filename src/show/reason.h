/* SPDX-License-Identifier: MIT */
/* The reason of a scheduling decision as a sentence: `gpreempt why`, `log` and the simulator. */
#ifndef GP_SHOW_REASON_H
#define GP_SHOW_REASON_H

#include "sched/sched.h"

/*
 * Writes one translated sentence without a newline. `job` and `other` name the two jobs ("pid
 * 4711"); NULL: "job N". Returns the length that the whole sentence has, as snprintf() does.
 */
int gp_show_reason(const struct gp_sched_reason *reason, const char *job, const char *other,
		   char *out, size_t size);

#endif
