/*
 * What is checked of nv-timeslice: beside a program of our own that is as busy, the target gets
 * little of the GPU while it has a small share, about as much as it had when the share is lifted,
 * and also when the holder is killed. Both programs check their registers, shared memory, order and
 * count all the while.
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

struct check {
	struct gp_selftest_place *place;
	struct gp_selftest_report *report;
	struct gp_selftest_result *result;
	struct gp_selftest_figures *figures;
	struct gpreempt *context;
	struct gpreempt_target *target;
	struct gp_selftest_program program, other;
	struct gp_histogram set, lift;
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
		 check->figures->queues, text);
	return error;
}

static int fail_call(struct check *check, const char *what, int error)
{
	const char *text = gpreempt_error(check->context);

	return fail(check, error, "%s: %s", what, *text ? text : strerror(-error));
}

static long ask(struct check *check, struct gp_selftest_program *program,
		enum gp_selftest_command command)
{
	long answer = gp_selftest_program_ask(program, command);

	return answer < 0 ? fail(check, (int)answer, "%s", program->error) : answer;
}

static int share(struct check *check, u32 thousandths, struct gp_histogram *into)
{
	u64 begin = gp_monotonic_ns();
	int error = gpreempt_target_share(check->target, thousandths);

	if (error < 0)
		return fail_call(check, "gpreempt_target_share", error);
	gp_histogram_add(into, gp_monotonic_ns() - begin);
	return 0;
}

/* ---- progress ---- */

static int read_both(struct check *check, long rounds[2])
{
	rounds[0] = ask(check, &check->program, GP_SELFTEST_PROGRESS);
	rounds[1] = rounds[0] < 0 ? 0 : ask(check, &check->other, GP_SELFTEST_PROGRESS);
	if (rounds[0] < 0 || rounds[1] < 0)
		return (int)(rounds[0] < 0 ? rounds[0] : rounds[1]);
	return 0;
}

/* Rounds of both in a window that is long enough to tell. */
static int compare(struct check *check, u64 end, long done[2])
{
	long before[2], now[2];
	int error = read_both(check, before);

	done[0] = done[1] = 0;
	while (!error && done[0] + done[1] < ENOUGH && gp_monotonic_ns() < end) {
		nanosleep(&(struct timespec){.tv_nsec = WINDOW_MS * 1000000L}, NULL);
		if (gp_selftest_interrupted(check->place))
			return fail(check, -EINTR, "%s", strerror(EINTR));
		error = read_both(check, now);
		for (int i = 0; i < 2 && !error; i++)
			done[i] = now[i] - before[i];
	}
	return error;
}

static bool is_so(const struct check *check, bool little, const long done[2])
{
	long other = 4 * (long)check->figures->queues * done[1];

	return little ? other && other >= LITTLE * done[0] : done[0] && other <= FAIR * done[0];
}

/* Until some windows in a row show it: the first ones may be of the time before, and one alone may
 * be chance. *since: the end of the first of them. */
static int await_part(struct check *check, bool little, u64 *since)
{
	u64 now, end = gp_monotonic_ns() + CHANGE_MS * 1000000ull;
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
	return fail(check, -EIO,
		    little ? _("with a small share it did %ld rounds while another program did %ld")
			   : _("without a share it did %ld rounds while another program did %ld"),
		    done[0], done[1]);
}

/* ---- the checks ---- */

static int start(struct check *check, struct gp_selftest_program *program, u32 contexts)
{
	int error =
		gp_selftest_program_start(program, check->place, check->report, false, contexts);
	long answer;

	if (error)
		return fail(check, error, "%s", program->error);
	answer = ask(check, program, GP_SELFTEST_PUT);
	answer = answer < 0 ? answer : ask(check, program, GP_SELFTEST_RUN);
	return answer < 0 ? (int)answer : 0;
}

static int finish(struct check *check, struct gp_selftest_program *program, u32 contexts)
{
	long done = ask(check, program, GP_SELFTEST_FINISH), put = (long)contexts * 16;

	if (done < 0)
		return (int)done;
	check->figures->packets += (u64)done;
	return done == put ? 0 : fail(check, -EIO, _("%ld of %ld packets completed"), done, put);
}

/* Changes that follow each other before the GPU did anything take longer than they ever would. */
static int goes_on(struct check *check)
{
	u64 end = gp_monotonic_ns() + CHANGE_MS * 1000000ull;
	long before = ask(check, &check->program, GP_SELFTEST_PROGRESS), now = before;

	while (now >= 0 && now == before && gp_monotonic_ns() < end) {
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
		now = ask(check, &check->program, GP_SELFTEST_PROGRESS);
	}
	return now < 0 ? (int)now
	       : now != before
		       ? 0
		       : fail(check, -EIO, _("its kernel does not go on with a small share"));
}

static int cycles(struct check *check)
{
	int error = 0;
	u64 since;

	for (u32 i = 0; !error && i < check->report->cycles; i++) {
		error = share(check, SMALL, &check->set);
		error = error ? error : goes_on(check);
		error = error ? error : share(check, ALL, &check->lift);
		error = error ? error : goes_on(check);
		if (!error && gp_selftest_interrupted(check->place))
			error = fail(check, -EINTR, "%s", strerror(EINTR));
	}
	error = error ? error : share(check, SMALL, &check->set);
	error = error ? error : await_part(check, true, &since);
	error = error ? error : share(check, ALL, &check->lift);
	error = error ? error : await_part(check, false, &since);
	error = error ? error : share(check, SMALL, &check->set);
	return error ? error : await_part(check, true, &since);
}

/* The time is that of seeing it: windows of 20 ms. */
static int survives_the_holder(struct check *check)
{
	u64 begin = gp_monotonic_ns(), since = begin;
	int error = gp_selftest_kill_holder(check->place);

	if (error)
		return fail(check, error, _("cannot end the holder: %s"), strerror(-error));
	error = await_part(check, false, &since);
	check->figures->recovery_ns = since - begin;
	return error;
}

static int run(struct check *check)
{
	struct gpreempt_target_options options = {.size = sizeof(options),
						  .mechanism = check->result->mechanism};
	int error = gpreempt_open(&check->context);

	if (error)
		return fail_call(check, "gpreempt_open", error);
	error = start(check, &check->program, check->figures->queues);
	error = error ? error : start(check, &check->other, 1);
	if (error)
		return error;
	check->report->work = check->program.work;
	error = gpreempt_target_open(check->context, check->program.pid, &options, &check->target);
	if (error)
		return fail_call(check, "gpreempt_target_open", error);
	error = cycles(check);
	error = error ? error : survives_the_holder(check);
	error = error ? error : finish(check, &check->program, check->figures->queues);
	return error ? error : finish(check, &check->other, 1);
}

static struct gp_selftest_times times(const struct gp_histogram *histogram)
{
	return (struct gp_selftest_times){gp_histogram_at(histogram, 500),
					  gp_histogram_at(histogram, 990)};
}

int gp_selftest_check_slices(struct gp_selftest_place *place, struct gp_selftest_report *report,
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
					.figures = &result->figures[i]};
		check->figures->queues = gp_selftest_size(report, i);
		error = run(check);
		gp_selftest_program_end(&check->program);
		gp_selftest_program_end(&check->other);
		gpreempt_target_close(check->target);
		gpreempt_close(check->context);
		check->figures->valid = !error;
		check->figures->suspend = times(&check->set);
		check->figures->resume = times(&check->lift);
		free(check);
	}
	result->works = !error;
	return place->signal ? -EINTR : 0;
}
