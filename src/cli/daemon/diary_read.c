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
