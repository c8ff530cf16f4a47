// SPDX-License-Identifier: MIT
/* Reads decisions on disk: see diary.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/i18n.h"
#include "base/lines.h"
#include "cli/daemon/diary.h"

enum { ROTATED_MAX = 100 };
#define SECONDS_MAX \
	(INT64_MAX / (s64)GP_NS_PER_S - 61) /* that are a number of ns, and a minute more */

struct reading {
	s64 since;
	gp_cli_diary_fn each;
	void *ctx;
	u64 damaged, lines;
};

static int take(void *ctx, const struct gp_line *text)
{
	struct reading *reading = ctx;
	struct gp_proto_diary_line line;

	if (!text->len)
		return 0;
	if (!gp_proto_diary_read(text->text, text->len, &line)) {
		reading->damaged++;
		return 0;
	}
	reading->lines++;
	return line.wall_ns < reading->since ? 0 : reading->each(reading->ctx, &line);
}

static int read_file(const char *path, struct reading *reading, struct gp_diag *diag)
{
	struct gp_lines_stats stats = {0};
	int error, fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	error = gp_lines_read(fd, path, diag, take, reading, &stats);
	close(fd);
	return error;
}

int gp_cli_diary_read(const char *path, bool rotated, s64 since_wall_ns, struct gp_diag *diag,
		      gp_cli_diary_fn each, void *ctx)
{
	struct reading reading = {.since = since_wall_ns, .each = each, .ctx = ctx};
	char older[PATH_MAX];
	int error, count = 0;

	while (rotated && count < ROTATED_MAX) {
		snprintf(older, sizeof(older), "%s.%d", path, count + 1);
		if (access(older, F_OK) != 0)
			break;
		count++;
	}
	for (error = 0; count > 0 && !error; count--) {
		snprintf(older, sizeof(older), "%s.%d", path, count);
		error = read_file(older, &reading, diag);
	}
	if (!error)
		error = read_file(path, &reading, diag);
	if (rotated && (error == -ENOENT || error == -EACCES))
		return gp_fail(diag, error,
			       "cannot read %s: %s; gpreemptd records decisions if decision_log is "
			       "set in gpreemptd.conf, for root and the group gpreempt to read; "
			       "--decisions names another file",
			       path, strerror(-error));
	if (error == -ENOENT || error == -EACCES)
		return gp_fail(diag, error,
			       "cannot read %s: %s (set decision_log in gpreemptd.conf; root and "
			       "the group gpreempt can read the file)",
			       path, strerror(-error));
	if (error)
		return error;
	if (!reading.lines && rotated)
		return gp_fail(diag, -ENODATA,
			       "%s contains no decisions of gpreemptd; with --decisions, name the "
			       "file of decision_log or the output of 'gpreempt log --json'",
			       path);
	if (!reading.lines)
		return gp_fail(diag, -ENODATA,
			       "%s contains no decisions of gpreemptd; give the file of "
			       "decision_log or the output of 'gpreempt log --json'",
			       path);
	if (reading.damaged)
		gp_diag(diag, GP_WARNING,
			ngettext("%s: skipped %llu line that is damaged or of another version",
				 "%s: skipped %llu lines that are damaged or of another version",
				 (unsigned long)reading.damaged),
			path, (unsigned long long)reading.damaged);
	return 0;
}

void gp_cli_diary_time(s64 wall_ns, char *out, size_t size)
{
	time_t seconds = (time_t)(wall_ns / (s64)GP_NS_PER_S);
	struct tm local;

	localtime_r(&seconds, &local);
	strftime(out, size, "%Y-%m-%d %H:%M:%S", &local);
}

/* The end of a second of CLOCK_REALTIME; of a year that does not fit, the last or the first that
 * does. */
static s64 wall_of(struct tm *local)
{
	local->tm_isdst = -1;
	return GP_MIN(GP_MAX((s64)mktime(local), -SECONDS_MAX), SECONDS_MAX) * (s64)GP_NS_PER_S +
	       (s64)GP_NS_PER_S - 1;
}

bool gp_cli_diary_time_parse(const char *text, s64 latest_wall_ns, s64 *out, s64 *until)
{
	static const struct {
		const char *form;
		bool dated;
		s64 seconds;
	} forms[] = {{"%Y-%m-%d %H:%M:%S", true, 1},
		     {"%Y-%m-%d %H:%M", true, 60},
		     {"%H:%M:%S", false, 1},
		     {"%H:%M", false, 60}};
	time_t day = (time_t)(latest_wall_ns / (s64)GP_NS_PER_S);

	for (size_t i = 0; i < GP_ARRAY_SIZE(forms); i++) {
		struct tm local;
		const char *end;

		localtime_r(&day, &local);
		local.tm_sec = 0;
		end = strptime(text, forms[i].form, &local);
		if (!end || *end)
			continue;
		*out = wall_of(&local);
		if (!forms[i].dated && *out >= latest_wall_ns) {
			local.tm_mday--;
			*out = wall_of(&local);
		}
		*until = *out + (forms[i].seconds - 1) * (s64)GP_NS_PER_S;
		return true;
	}
	return false;
}
