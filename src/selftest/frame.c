// SPDX-License-Identifier: MIT
#include "selftest/frame.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/i18n.h"
#include "base/clock.h"

#define MOVES_MS 60000
#define LOOK_NS  200000

int gp_selftest_fail(struct gp_selftest_check *check, int error, const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), gettext(format), args);
	va_end(args);
	snprintf(check->result->reason, sizeof(check->result->reason),
		 ngettext("with %u queue: %s", "with %u queues: %s", check->figures->queues),
		 check->figures->queues, text);
	return error;
}

int gp_selftest_fail_call(struct gp_selftest_check *check, const char *what, int error)
{
	const char *text = gpreempt_error(check->context);

	return gp_selftest_fail(check, error, "%s: %s", what, *text ? text : strerror(-error));
}

long gp_selftest_ask(struct gp_selftest_check *check, struct gp_selftest_program *program,
		     enum gp_selftest_command command)
{
	long answer = gp_selftest_program_ask(program, command);

	return answer < 0 ? gp_selftest_fail(check, (int)answer, "%s", program->error) : answer;
}

int gp_selftest_share(struct gp_selftest_check *check, u32 thousandths, struct gp_histogram *into)
{
	u64 begin = gp_monotonic_ns();
	int slice_us = gpreempt_target_share(check->target, thousandths);

	if (slice_us < 0)
		return gp_selftest_fail_call(check, "gpreempt_target_share", slice_us);
	if (into)
		gp_histogram_add(into, gp_monotonic_ns() - begin);
	return 0;
}

int gp_selftest_goes_on(struct gp_selftest_check *check, const char *sentence)
{
	u64 end = gp_monotonic_ns() + MOVES_MS * GP_NS_PER_MS;
	long before = gp_selftest_ask(check, &check->program, GP_SELFTEST_PROGRESS), now = before;

	while (now >= 0 && now == before && gp_monotonic_ns() < end) {
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		now = gp_selftest_ask(check, &check->program, GP_SELFTEST_PROGRESS);
	}
	if (now < 0)
		return (int)now;
	return now != before ? 0 : gp_selftest_fail(check, -EIO, "%s", sentence);
}

int gp_selftest_check_signal(struct gp_selftest_check *check)
{
	return gp_selftest_interrupted(check->place)
		       ? gp_selftest_fail(check, -EINTR, "%s", strerror(EINTR))
		       : 0;
}

static struct gp_selftest_times times(const struct gp_histogram *histogram)
{
	return (struct gp_selftest_times){gp_histogram_at(histogram, 500),
					  gp_histogram_at(histogram, 990)};
}

int gp_selftest_each(struct gp_selftest_place *place, struct gp_selftest_report *report,
		     size_t mechanism, int (*run)(struct gp_selftest_check *check))
{
	struct gp_selftest_result *result = &report->results[mechanism];
	int error = 0;

	for (size_t i = 0; !error && i < GP_SELFTEST_SIZES; i++) {
		struct gp_selftest_check *check = calloc(1, sizeof(*check));

		if (!check)
			return -ENOMEM;
		*check = (struct gp_selftest_check){.place = place,
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
		check->figures->suspend = times(&check->suspend);
		check->figures->resume = times(&check->resume);
		free(check);
	}
	result->works = !error;
	return place->signal ? -EINTR : 0;
}
