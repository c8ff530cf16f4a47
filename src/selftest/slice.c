// SPDX-License-Identifier: MIT
/*
 * What is checked of nv-timeslice: beside a program of our own that is as busy, the target gets
 * little of the GPU while it has a small share, about as much as it had when the share is lifted,
 * and also when the holder is killed. Both programs check their registers, shared memory, order and
 * count all the while.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/i18n.h"
#include "base/clock.h"
#include "selftest/frame.h"

#define SMALL     20 /* thousandths: slices of about 40 us beside one of 2 ms */
#define ALL       1000
#define WINDOW_MS 20 /* in which progress is compared */
#define ENOUGH    40 /* rounds of both programs, or a window is made longer */
#define CHANGE_MS 60000
/* Rounds that the other does for four of each of the target's contexts. Without a share it is four;
 * with a small one a context has about 0.4 ms at a time all the same (H200), so some twenty. */
#define LITTLE   10
#define FAIR     7
#define IN_A_ROW 5

/* ---- progress ---- */

static int read_both(struct gp_selftest_check *check, long rounds[2])
{
	rounds[0] = gp_selftest_ask(check, &check->program, GP_SELFTEST_PROGRESS);
	rounds[1] = rounds[0] < 0 ? 0 : gp_selftest_ask(check, &check->other, GP_SELFTEST_PROGRESS);
	if (rounds[0] < 0 || rounds[1] < 0)
		return (int)(rounds[0] < 0 ? rounds[0] : rounds[1]);
	return 0;
}

/* Rounds of both in a window that is long enough to tell. */
static int compare(struct gp_selftest_check *check, u64 end, long done[2])
{
	long before[2], now[2];
	int error = read_both(check, before);

	done[0] = done[1] = 0;
	while (!error && done[0] + done[1] < ENOUGH && gp_monotonic_ns() < end) {
		nanosleep(&(struct timespec){.tv_nsec = WINDOW_MS * GP_NS_PER_MS}, NULL);
		if (gp_selftest_check_signal(check))
			return -EINTR;
		error = read_both(check, now);
		for (int i = 0; i < 2 && !error; i++)
			done[i] = now[i] - before[i];
	}
	return error;
}

static bool is_so(const struct gp_selftest_check *check, bool little, const long done[2])
{
	long other = 4 * (long)check->figures->queues * done[1];

	return little ? other && other >= LITTLE * done[0] : done[0] && other <= FAIR * done[0];
}

/* Until some windows in a row show it: the first ones may be of the time before, and one alone may
 * be chance. *since: the end of the first of them. */
static int await_part(struct gp_selftest_check *check, bool little, u64 *since)
{
	u64 now, end = gp_monotonic_ns() + CHANGE_MS * GP_NS_PER_MS;
	long done[2];
	int error, row = 0;

	do {
		error = compare(check, end, done);
		now = gp_monotonic_ns();
		row = !error && is_so(check, little, done) ? row + 1 : 0;
		if (row == 1)
			*since = now;
		if (error || row == IN_A_ROW)
			return error;
	} while (now < end);
	return gp_selftest_fail(
		check, -EIO,
		little ? _("a small share had no effect (rounds completed by the "
			   "test program: %ld, by the other program: %ld)")
		       : _("the test program did not get its share back (rounds completed by the "
			   "test program: %ld, by the other program: %ld)"),
		done[0], done[1]);
}

/* ---- the checks ---- */

static int start(struct gp_selftest_check *check, struct gp_selftest_program *program, u32 contexts)
{
	int error =
		gp_selftest_program_start(program, check->place, check->report, false, contexts);
	long answer;

	if (error)
		return gp_selftest_fail(check, error, "%s", program->error);
	answer = gp_selftest_ask(check, program, GP_SELFTEST_PUT);
	answer = answer < 0 ? answer : gp_selftest_ask(check, program, GP_SELFTEST_RUN);
	return answer < 0 ? (int)answer : 0;
}

static int finish(struct gp_selftest_check *check, struct gp_selftest_program *program,
		  u32 contexts)
{
	long done = gp_selftest_ask(check, program, GP_SELFTEST_FINISH), put = (long)contexts * 16;

	if (done < 0)
		return (int)done;
	check->figures->packets += (u64)done;
	return done == put
		       ? 0
		       : gp_selftest_fail(check, -EIO, "packets completed: %ld of %ld", done, put);
}

static int cycles(struct gp_selftest_check *check)
{
	const char *stuck = _("the kernel of the test program made no progress after the share "
			      "was changed: do not use kfd-cumask on this GPU");
	int error = 0;
	u64 since;

	for (u32 i = 0; !error && i < check->report->cycles; i++) {
		error = gp_selftest_share(check, SMALL, &check->suspend);
		error = error ? error : gp_selftest_goes_on(check, stuck);
		error = error ? error : gp_selftest_share(check, ALL, &check->resume);
		error = error ? error : gp_selftest_goes_on(check, stuck);
		error = error ? error : gp_selftest_check_signal(check);
	}
	error = error ? error : gp_selftest_share(check, SMALL, &check->suspend);
	error = error ? error : await_part(check, true, &since);
	error = error ? error : gp_selftest_share(check, ALL, &check->resume);
	error = error ? error : await_part(check, false, &since);
	error = error ? error : gp_selftest_share(check, SMALL, &check->suspend);
	return error ? error : await_part(check, true, &since);
}

/* The time is that of seeing it: windows of 20 ms. */
static int survives_the_holder(struct gp_selftest_check *check)
{
	u64 begin = gp_monotonic_ns(), since = begin;
	int error = gp_selftest_kill_holder(check->place);

	if (error)
		return gp_selftest_fail(check, error, "cannot kill the holder: %s",
					strerror(-error));
	error = await_part(check, false, &since);
	check->figures->recovery_ns = since - begin;
	return error;
}

static int run(struct gp_selftest_check *check)
{
	struct gpreempt_target_options options = {.size = sizeof(options),
						  .mechanism = check->result->mechanism};
	int error = gpreempt_open(&check->context);

	if (error)
		return gp_selftest_fail_call(check, "gpreempt_open", error);
	error = start(check, &check->program, check->figures->queues);
	error = error ? error : start(check, &check->other, 1);
	if (error)
		return error;
	check->report->work = check->program.work;
	error = gpreempt_target_open(check->context, check->program.pid, &options, &check->target);
	if (error)
		return gp_selftest_fail_call(check, "gpreempt_target_open", error);
	error = cycles(check);
	error = error ? error : survives_the_holder(check);
	error = error ? error : finish(check, &check->program, check->figures->queues);
	return error ? error : finish(check, &check->other, 1);
}

int gp_selftest_check_slices(struct gp_selftest_place *place, struct gp_selftest_report *report,
			     size_t mechanism)
{
	return gp_selftest_each(place, report, mechanism, run);
}
