// SPDX-License-Identifier: MIT
/*
 * What is checked of a mechanism, with 1, 4 and 16 queues: every cycle of suspend and resume stops
 * and starts all queues, in the middle of a kernel where there is one; work that could end while
 * they are stopped does not, and all of it completes afterwards, with nothing lost of it; and when
 * the holder is killed the work it had stopped completes, too. Of shares: the driver takes every
 * mask, and the work completes under it, and after the holder's death. How many compute units it
 * had is not seen from here.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/i18n.h"
#include "base/clock.h"
#include "selftest/frame.h"

#define AGENT_MS 60000 /* for the agent to have told the holder all queues */
#define AGAIN_MS 5
/* How long work that must not move is watched: a GPU that was not stopped needs microseconds. */
#define STOPPED_MS 20
#define SHARE      250 /* thousandths of the compute units */
#define SHARE_ALL  1000

u32 gp_selftest_size(const struct gp_selftest_report *report, size_t index)
{
	static const u32 sizes[2][GP_SELFTEST_SIZES] = {{1, 4, 16}, {1, 2, 4}};

	return sizes[gp_gpu_is_nvidia(report->gpu->gpu_id)][index];
}

static void nap(int ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * GP_NS_PER_MS}, NULL);
}

/* ---- the target ---- */

static int open_once(struct gp_selftest_check *check)
{
	struct gpreempt_target_options options = {.size = sizeof(options),
						  .mechanism = check->result->mechanism};
	int count, error = gpreempt_target_open(check->context, check->program.pid, &options,
						&check->target);

	if (error)
		return error;
	count = gpreempt_target_queues(check->target, NULL, 0);
	if (count >= (int)check->figures->queues)
		return 0;
	gpreempt_target_close(check->target);
	check->target = NULL;
	return count < 0 ? count : -EAGAIN;
}

/* An agent tells its queues by itself, a moment after they were made. */
static int open_target(struct gp_selftest_check *check)
{
	u64 end = gp_monotonic_ns() + AGENT_MS * GP_NS_PER_MS;
	int error;

	for (;;) {
		error = open_once(check);
		if (!error || check->result->mechanism != GPREEMPT_KFD_AGENT ||
		    gp_monotonic_ns() > end)
			break;
		if (gp_selftest_check_signal(check))
			return -EINTR;
		nap(AGAIN_MS);
	}
	if (error == -EAGAIN)
		return gp_selftest_fail(
			check, error,
			"some queues of the test program were not found, so nothing was "
			"tested; run 'gpreempt doctor' and report its output");
	return error ? gp_selftest_fail_call(check, "gpreempt_target_open", error) : 0;
}

static int suspend(struct gp_selftest_check *check)
{
	struct gpreempt_suspend_options options = {.size = sizeof(options),
						   .lease_ms = GP_SELFTEST_LIMIT_MS,
						   .limit_ms = GP_SELFTEST_LIMIT_MS};
	int count = gpreempt_target_suspend(check->target, &options);

	if (count < 0)
		return gp_selftest_fail_call(check, "gpreempt_target_suspend", count);
	return count >= (int)check->figures->queues
		       ? 0
		       : gp_selftest_fail(
				 check, -EIO,
				 ngettext("%d of %u queue was suspended; the others run on",
					  "%d of %u queues were suspended; the others run on",
					  (unsigned long)check->figures->queues),
				 count, check->figures->queues);
}

static int resume(struct gp_selftest_check *check)
{
	int count = gpreempt_target_resume(check->target);

	if (count < 0)
		return gp_selftest_fail_call(check, "gpreempt_target_resume", count);
	return count >= (int)check->figures->queues
		       ? 0
		       : gp_selftest_fail(check, -EIO,
					  ngettext("only %d queue was resumed",
						   "only %d queues were resumed",
						   (unsigned long)count),
					  count);
}

static int take_time(struct gp_selftest_check *check, struct gp_histogram *into)
{
	struct gpreempt_latency latency = {.size = sizeof(latency)};
	int error = gpreempt_target_latency(check->target, &latency);

	if (error)
		return gp_selftest_fail_call(check, "gpreempt_target_latency", error);
	gp_histogram_add(into, latency.total_ns);
	return 0;
}

/* ---- the checks ---- */

/* Suspended, with work that could run or end: none of it may. */
static int stands_still(struct gp_selftest_check *check)
{
	long before = gp_selftest_ask(check, &check->program, GP_SELFTEST_LOOK);
	long answer =
		before < 0 ? before : gp_selftest_ask(check, &check->program, GP_SELFTEST_GATE);

	if (answer >= 0) {
		nap(STOPPED_MS);
		answer = gp_selftest_ask(check, &check->program, GP_SELFTEST_LOOK);
	}
	if (answer < 0)
		return (int)answer;
	return answer == before
		       ? 0
		       : gp_selftest_fail(check, -EIO, "packets completed while suspended: %ld",
					  answer - before);
}

static int completes(struct gp_selftest_check *check, long put)
{
	long done = gp_selftest_ask(check, &check->program, GP_SELFTEST_FINISH);

	if (done < 0)
		return (int)done;
	if (done != put)
		return gp_selftest_fail(check, -EIO, "packets completed: %ld of %ld", done, put);
	check->figures->packets += (u64)done;
	return 0;
}

/* A kernel that computes nothing cannot be told to go on: its queues wait at the gate instead. */
static bool has_kernels(const struct gp_selftest_check *check)
{
	return check->program.work != GP_SELFTEST_BARRIERS && check->report->executes;
}

static int cycle(struct gp_selftest_check *check)
{
	int error;

	if (check->result->shares) {
		error = gp_selftest_share(check, SHARE, &check->suspend);
		return error ? error : gp_selftest_share(check, SHARE_ALL, &check->resume);
	}
	error = suspend(check);
	error = error ? error : take_time(check, &check->suspend);
	error = error ? error : resume(check);
	error = error ? error : take_time(check, &check->resume);
	return !error && gp_gpu_is_nvidia(check->report->gpu->gpu_id)
		       ? gp_selftest_goes_on(
				 check, _("the kernel of the test program did not continue after a "
					  "resume: do "
					  "not preempt on this GPU; report the output of 'gpreempt "
					  "report-bundle'"))
		       : error;
}

static int cycles(struct gp_selftest_check *check)
{
	long put = gp_selftest_ask(check, &check->program, GP_SELFTEST_PUT);
	int error = put < 0 ? (int)put : 0;

	if (!error && has_kernels(check))
		error = (int)gp_selftest_ask(check, &check->program, GP_SELFTEST_RUN);
	for (u32 i = 0; !error && i < check->report->cycles; i++) {
		error = cycle(check);
		error = error ? error : gp_selftest_check_signal(check);
	}
	if (check->result->shares) {
		error = error ? error : gp_selftest_share(check, SHARE, NULL);
		return error ? error : completes(check, put);
	}
	error = error ? error : suspend(check);
	error = error ? error : stands_still(check);
	error = error ? error : resume(check);
	return error ? error : completes(check, put);
}

/* The context is of no use afterwards. */
static int survives_the_holder(struct gp_selftest_check *check)
{
	long put = gp_selftest_ask(check, &check->program, GP_SELFTEST_PUT);
	int error = put < 0 ? (int)put : 0;
	u64 begin;

	if (check->result->shares) {
		error = error ? error : gp_selftest_share(check, SHARE, NULL);
	} else {
		error = error ? error : suspend(check);
		error = error ? error : stands_still(check);
	}
	if (error)
		return error;
	begin = gp_monotonic_ns();
	error = gp_selftest_kill_holder(check->place);
	if (error)
		return gp_selftest_fail(check, error, "cannot kill the holder: %s",
					strerror(-error));
	error = completes(check, put);
	check->figures->recovery_ns = gp_monotonic_ns() - begin;
	return error;
}

static int run(struct gp_selftest_check *check)
{
	int error = gpreempt_open(&check->context);

	if (error)
		return gp_selftest_fail_call(check, "gpreempt_open", error);
	error = gp_selftest_program_start(&check->program, check->place, check->report,
					  check->result->mechanism == GPREEMPT_KFD_AGENT,
					  check->figures->queues);
	if (error)
		return gp_selftest_fail(check, error, "%s", check->program.error);
	check->report->work = check->program.work;
	memcpy(check->report->work_reason, check->program.work_reason,
	       sizeof(check->report->work_reason));
	error = open_target(check);
	error = error ? error : cycles(check);
	return error ? error : survives_the_holder(check);
}

int gp_selftest_check(struct gp_selftest_place *place, struct gp_selftest_report *report,
		      size_t mechanism)
{
	return gp_selftest_each(place, report, mechanism, run);
}
