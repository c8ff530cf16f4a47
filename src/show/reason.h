/* SPDX-License-Identifier: MIT */
/*
 * Reasons in sentences, for people: `gpreempt why`, logs, the simulator. User space only; the core
 * itself makes no text.
 */
#ifndef GP_SHOW_REASON_H
#define GP_SHOW_REASON_H

#include "sched/sched.h"

/*
 * One sentence, translated, without a final newline. job and other are what the caller calls them
 * (a name, "pid 4711"); NULL for one makes it "job N". Returns the length it has or would have, as
 * snprintf() does.
 */
int gp_sched_reason_text(const struct gp_sched_reason *reason, const char *job, const char *other,
			 char *out, size_t size);

#endif
