/* SPDX-License-Identifier: MIT */
/*
 * What the checks of all mechanisms share: the programs, the library and the figures of one row of
 * the table, and how a failure becomes its reason. check.c and slice.c say what is checked.
 */
#ifndef GP_SELFTEST_FRAME_H
#define GP_SELFTEST_FRAME_H

#include "base/histogram.h"
#include "selftest/selftest.h"
#include "show/term.h"

struct gp_selftest_check {
	struct gp_selftest_place *place;
	struct gp_selftest_report *report;
	struct gp_selftest_result *result;
	struct gp_selftest_figures *figures; /* `queues` is set from the start */
	struct gpreempt *context;
	struct gpreempt_target *target;
	struct gp_selftest_program program, other; /* the other: beside it, where there is one */
	struct gp_histogram suspend, resume;       /* what stops or narrows, and what undoes it */
	struct gp_progress *progress;              /* of a calibration; NULL: nothing is shown */
	const char *step;                          /* of it, in the user's language */
};

/* Sets the reason; returns the error. */
int gp_selftest_fail(struct gp_selftest_check *check, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* With the library's own sentence. */
int gp_selftest_fail_call(struct gp_selftest_check *check, const char *what, int error);

long gp_selftest_ask(struct gp_selftest_check *check, struct gp_selftest_program *program,
		     enum gp_selftest_command command);
/* Adds the time to `into`, unless that is NULL. */
int gp_selftest_share(struct gp_selftest_check *check, u32 thousandths, struct gp_histogram *into);
/*
 * Until the CUDA program's kernels, which count their rounds, have gone on; otherwise `sentence` is
 * the reason. A GPU that is stopped while it still restores what was saved needs milliseconds for
 * it, so one suspended too early would not have moved; the same holds for changes that follow each
 * other before it did anything.
 */
int gp_selftest_goes_on(struct gp_selftest_check *check, const char *sentence);
/* -EINTR and the reason when a signal asked to end. */
int gp_selftest_check_signal(struct gp_selftest_check *check);

/* One mechanism of the report (its number) with every number of queues, by `run`. -EINTR. */
int gp_selftest_each(struct gp_selftest_place *place, struct gp_selftest_report *report,
		     size_t mechanism, int (*run)(struct gp_selftest_check *check));

#endif
