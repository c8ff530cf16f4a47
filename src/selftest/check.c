/*
 * What is checked of a mechanism, with 1, 4 and 16 queues: every cycle of suspend and resume stops
 * and starts all queues, in the middle of a kernel where there is one; work that could end while
 * they are stopped does not, and all of it completes afterwards, with nothing lost of it; and when
 * the holder is killed the work it had stopped completes, too. Of shares: the driver takes every
 * mask, and the work completes under it, and after the holder's death. How many compute units it
 * had is not seen from here.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/histogram.h"
#include "base/i18n.h"
#include "base/term.h"
#include "selftest/selftest.h"

#define AGENT_MS 60000 /* for the agent to have told the holder all queues */
#define AGAIN_MS 5
/* How long work that must not move is watched: a GPU that was not stopped needs microseconds. */
#define STOPPED_MS 20
#define SHARE      250 /* thousandths of the compute units */
#define SHARE_ALL  1000
#define MOVES_MS   60000

u32 gp_selftest_size(const struct gp_selftest_report *report, size_t index)
{
	static const u32 sizes[2][GP_SELFTEST_SIZES] = {{1, 4, 16}, {1, 2, 4}};

	return sizes[gp_gpu_is_nvidia(report->gpu->gpu_id)][index];
}

struct check {
	struct gp_selftest_place *place;
	struct gp_selftest_report *report;
	struct gp_selftest_result *result;
	struct gp_selftest_figures *figures;
	u32 queues;
	struct gpreempt *context;
	struct gpreempt_target *target;
	struct gp_selftest_program program;
	struct gp_histogram suspend, resume;
};

__attribute__((format(printf, 3, 4))) static int fail(struct check *check, int error,
						      const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(check->result->reason, sizeof(check->result->reason), _("number of queues %u: %s"),
		 check->queues, text);
	return error;
}

/* The library's own sentence. */
static int fail_call(struct check *check, const char *what, int error)
{
	const char *text = gpreempt_error(check->context);

	return fail(check, error, "%s: %s", what, *text ? text : strerror(-error));
}

static long ask(struct check *check, enum gp_selftest_command command)
{
	long answer = gp_selftest_program_ask(&check->program, command);

	return answer < 0 ? fail(check, (int)answer, "%s", check->program.error) : answer;
}

static void nap(int ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

/* ---- the target ---- */

static int open_once(struct check *check)
{
	struct gpreempt_target_options options = {.size = sizeof(options),
						  .mechanism = check->result->mechanism};
	int count, error = gpreempt_target_open(check->context, check->program.pid, &options,
						&check->target);

	if (error)
		return error;
	count = gpreempt_target_queues(check->target, NULL, 0);
	if (count >= (int)check->queues)
		return 0;
	gpreempt_target_close(check->target);
	check->target = NULL;
	return count < 0 ? count : -EAGAIN;
}

/* An agent tells its queues by itself, a moment after they were made. */
static int open_target(struct check *check)
{
	u64 end = gp_monotonic_ns() + AGENT_MS * 1000000ull;
	int error;

	for (;;) {
		error = open_once(check);
		if (!error || check->result->mechanism != GPREEMPT_KFD_AGENT ||
		    gp_monotonic_ns() > end)
			break;
		if (gp_selftest_interrupted(check->place))
			return fail(check, -EINTR, "%s", strerror(EINTR));
		nap(AGAIN_MS);
	}
	if (error == -EAGAIN)
		return fail(check, error, _("not all of its queues were found"));
	return error ? fail_call(check, "gpreempt_target_open", error) : 0;
}

static int suspend(struct check *check)
{
	struct gpreempt_suspend_options options = {.size = sizeof(options),
						   .lease_ms = GP_SELFTEST_LIMIT_MS,
						   .limit_ms = GP_SELFTEST_LIMIT_MS};
	int count = gpreempt_target_suspend(check->target, &options);

	if (count < 0)
		return fail_call(check, "gpreempt_target_suspend", count);
	return count >= (int)check->queues
		       ? 0
		       : fail(check, -EIO, _("only %d queues were suspended"), count);
}

static int resume(struct check *check)
{
	int count = gpreempt_target_resume(check->target);

	if (count < 0)
		return fail_call(check, "gpreempt_target_resume", count);
	return count >= (int)check->queues
		       ? 0
		       : fail(check, -EIO, _("only %d queues were resumed"), count);
}

static int take_time(struct check *check, struct gp_histogram *into)
{
	struct gpreempt_latency latency = {.size = sizeof(latency)};
	int error = gpreempt_target_latency(check->target, &latency);

	if (error)
		return fail_call(check, "gpreempt_target_latency", error);
	gp_histogram_add(into, latency.total_ns);
	return 0;
}

static int share(struct check *check, u32 thousandths, struct gp_histogram *into)
{
	u64 begin = gp_monotonic_ns();
	int error = gpreempt_target_share(check->target, thousandths);

	if (error)
		return fail_call(check, "gpreempt_target_share", error);
	if (into)
		gp_histogram_add(into, gp_monotonic_ns() - begin);
	return 0;
}

/* ---- the checks ---- */

/* Suspended, with work that could run or end: none of it may. */
static int stands_still(struct check *check)
{
	long before = ask(check, GP_SELFTEST_LOOK);
	long answer = before < 0 ? before : ask(check, GP_SELFTEST_GATE);

	if (answer >= 0) {
		nap(STOPPED_MS);
		answer = ask(check, GP_SELFTEST_LOOK);
	}
	if (answer < 0)
		return (int)answer;
	return answer == before ? 0
				: fail(check, -EIO, _("%ld packets completed while suspended"),
				       answer - before);
}

static int completes(struct check *check, long put)
{
	long done = ask(check, GP_SELFTEST_FINISH);

	if (done < 0)
		return (int)done;
	if (done != put)
		return fail(check, -EIO, _("%ld of %ld packets completed"), done, put);
	check->figures->packets += (u64)done;
	return 0;
}

/* A kernel of the virtual GPU cannot be told to go on: its queues wait at the gate instead. */
static bool has_kernels(const struct check *check)
{
	return check->program.work != GP_SELFTEST_BARRIERS && !check->report->virtual_gpu;
}

/* The CUDA program's kernels count their rounds: after a resume they go on. A GPU that is stopped
 * while it still restores what was saved needs milliseconds for it, which nobody would mean. */
static int goes_on(struct check *check)
{
	long before = ask(check, GP_SELFTEST_PROGRESS), now = before;
	u64 end = gp_monotonic_ns() + MOVES_MS * 1000000ull;

	while (now >= 0 && now == before && gp_monotonic_ns() < end) {
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
		now = ask(check, GP_SELFTEST_PROGRESS);
	}
	return now < 0         ? (int)now
	       : now != before ? 0
			       : fail(check, -EIO, _("its kernel did not go on after a resume"));
}

static int cycle(struct check *check)
{
	int error;

	if (check->result->shares) {
		error = share(check, SHARE, &check->suspend);
		return error ? error : share(check, SHARE_ALL, &check->resume);
	}
	error = suspend(check);
	error = error ? error : take_time(check, &check->suspend);
	error = error ? error : resume(check);
	error = error ? error : take_time(check, &check->resume);
	return !error && gp_gpu_is_nvidia(check->report->gpu->gpu_id) ? goes_on(check) : error;
}

static int cycles(struct check *check)
{
	long put = ask(check, GP_SELFTEST_PUT);
	int error = put < 0 ? (int)put : 0;

	if (!error && has_kernels(check))
		error = (int)ask(check, GP_SELFTEST_RUN);
	for (u32 i = 0; !error && i < check->report->cycles; i++) {
		error = cycle(check);
		if (!error && gp_selftest_interrupted(check->place))
			error = fail(check, -EINTR, "%s", strerror(EINTR));
	}
	if (check->result->shares) {
		error = error ? error : share(check, SHARE, NULL);
		return error ? error : completes(check, put);
	}
	error = error ? error : suspend(check);
	error = error ? error : stands_still(check);
	error = error ? error : resume(check);
	return error ? error : completes(check, put);
}

/* The context is of no use afterwards. */
static int survives_the_holder(struct check *check)
{
	long put = ask(check, GP_SELFTEST_PUT);
	int error = put < 0 ? (int)put : 0;
	u64 begin;

	if (check->result->shares) {
		error = error ? error : share(check, SHARE, NULL);
	} else {
		error = error ? error : suspend(check);
		error = error ? error : stands_still(check);
	}
	if (error)
		return error;
	begin = gp_monotonic_ns();
	error = gp_selftest_kill_holder(check->place);
	if (error)
		return fail(check, error, _("cannot end the holder: %s"), strerror(-error));
	error = completes(check, put);
	check->figures->recovery_ns = gp_monotonic_ns() - begin;
	return error;
}

static int run(struct check *check)
{
	int error = gpreempt_open(&check->context);

	if (error)
		return fail_call(check, "gpreempt_open", error);
	error = gp_selftest_program_start(&check->program, check->place, check->report,
					  check->result->mechanism == GPREEMPT_KFD_AGENT,
					  check->queues);
	if (error)
		return fail(check, error, "%s", check->program.error);
	check->report->work = check->program.work;
	memcpy(check->report->work_reason, check->program.work_reason,
	       sizeof(check->report->work_reason));
	error = open_target(check);
	error = error ? error : cycles(check);
	return error ? error : survives_the_holder(check);
}

static struct gp_selftest_times times(const struct gp_histogram *histogram)
{
	return (struct gp_selftest_times){gp_histogram_at(histogram, 500),
					  gp_histogram_at(histogram, 990)};
}

int gp_selftest_check(struct gp_selftest_place *place, struct gp_selftest_report *report,
		      size_t mechanism)
{
	struct gp_selftest_result *result = &report->results[mechanism];
	int error = 0;

	for (size_t i = 0; !error && i < GP_SELFTEST_SIZES; i++) {
		struct check *check = calloc(1, sizeof(*check));

		if (!check)
			return -ENOMEM;
		*check = (struct check){.place = place,
					.report = report,
					.result = result,
					.figures = &result->figures[i],
					.queues = gp_selftest_size(report, i)};
		error = run(check);
		gp_selftest_program_end(&check->program);
		gpreempt_target_close(check->target);
		gpreempt_close(check->context);
		check->figures->queues = check->queues;
		check->figures->valid = !error;
		check->figures->suspend = times(&check->suspend);
		check->figures->resume = times(&check->resume);
		free(check);
	}
	result->works = !error;
	return place->signal ? -EINTR : 0;
}
