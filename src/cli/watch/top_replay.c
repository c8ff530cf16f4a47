// SPDX-License-Identifier: MIT
/* gpreempt top --replay: see top_replay.h. */
#include "cli/watch/top_replay.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/core.h"
#include "base/i18n.h"
#include "cli/daemon/diary.h"

#define EVERY_NS (10 * (s64)GP_NS_PER_S) /* from one state to the next */

enum { PLAY_MS = 500, CTRL_C = 3 };

struct snapshot {
	s64 wall_ns;
	struct gp_proto_msg_daemon_status status;
	struct gp_proto_msg_device *devices;
	size_t device_count, device_capacity;
	struct gp_proto_msg_job *jobs;
	size_t job_count, job_capacity;
};

struct film {
	struct snapshot *items;
	size_t count, capacity;
};

static int take(void *ctx, const struct gp_proto_diary_line *line)
{
	struct film *film = ctx;
	struct snapshot *last;

	if (line->kind == GP_DIARY_STATE) {
		if (gp_array_grow((void **)&film->items, film->count, &film->capacity,
				  sizeof(*film->items)))
			return -ENOMEM;
		film->items[film->count++] =
			(struct snapshot){.wall_ns = line->wall_ns, .status = line->is.state};
		return 0;
	}
	/* A file that was rotated may begin in the middle of a snapshot. */
	if (!film->count || line->kind == GP_DIARY_DECISION)
		return 0;
	last = &film->items[film->count - 1];
	/* The figures of a job that ended since. */
	if (line->wall_ns != last->wall_ns)
		return 0;
	if (line->kind == GP_DIARY_DEVICE && last->device_count < GP_DAEMON_DEVICES) {
		if (gp_array_grow((void **)&last->devices, last->device_count,
				  &last->device_capacity, sizeof(*last->devices)))
			return -ENOMEM;
		last->devices[last->device_count++] = line->is.device;
	} else if (line->kind == GP_DIARY_JOB) {
		if (gp_array_grow((void **)&last->jobs, last->job_count, &last->job_capacity,
				  sizeof(*last->jobs)))
			return -ENOMEM;
		last->jobs[last->job_count++] = line->is.job;
	}
	return 0;
}

static void film_free(struct film *film)
{
	for (size_t i = 0; i < film->count; i++) {
		free(film->items[i].devices);
		free(film->items[i].jobs);
	}
	free(film->items);
}

/* ---- one of them ---- */

static int print(const struct gp_cli_top_replay *replay, const struct snapshot *snapshot)
{
	struct gp_cli_top_data top = {.status = snapshot->status,
				      .device_count = snapshot->device_count};
	struct gp_doc *doc;
	char at[32];
	int error;

	if (snapshot->device_count)
		memcpy(top.devices, snapshot->devices,
		       snapshot->device_count * sizeof(*snapshot->devices));
	/* Arranging sorts and removes. */
	top.jobs = calloc(snapshot->job_count + 1, sizeof(*top.jobs));
	if (!top.jobs)
		return -ENOMEM;
	if (snapshot->job_count)
		memcpy(top.jobs, snapshot->jobs, snapshot->job_count * sizeof(*top.jobs));
	top.job_count = snapshot->job_count;
	gp_cli_top_arrange(&top, replay->sort, replay->filter);
	doc = gp_cli_top_doc(&top, "");
	gp_cli_diary_time(snapshot->wall_ns, at, sizeof(at));
	gp_doc_fact(doc, "at", NULL, gp_v_text(at));
	gp_cli_line(doc, _("State of %s"), at);
	error = gp_show_print(doc, stdout, replay->format);
	gp_doc_free(doc);
	gp_cli_top_free(&top);
	return error;
}

/* The last one that is not later; the first if all are. */
static size_t find(const struct film *film, s64 wall_ns)
{
	size_t i = film->count - 1;

	while (i > 0 && film->items[i].wall_ns > wall_ns)
		i--;
	return i;
}

/* ---- back and forth ---- */

/* -1: the end. */
static int key(int signals, int wait_ms)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
			       {.fd = signals, .events = POLLIN}};
	char text[8];
	ssize_t size;

	if (poll(fds, GP_ARRAY_SIZE(fds), wait_ms) <= 0)
		return 0;
	if (fds[1].revents)
		return -1;
	size = read(STDIN_FILENO, text, sizeof(text));
	if (size <= 0)
		return -1;
	if (size >= 3 && text[0] == '\033' && text[1] == '[')
		return text[2] == 'C' ? 'l' : text[2] == 'D' ? 'h' : 0;
	return text[0];
}

static int draw(const struct gp_cli_top_replay *replay, const struct film *film, size_t at,
		bool playing)
{
	char time[32];
	int error;

	gp_cli_diary_time(film->items[at].wall_ns, time, sizeof(time));
	printf("\033[H\033[2J%s  %zu/%zu%s\n", time, at + 1, film->count, playing ? "  >" : "");
	error = print(replay, &film->items[at]);
	printf(_("\nh, l: back, forward   g, G: first, last   space: play   q: quit\n"));
	return error ? error : fflush(stdout) ? -EIO : 0;
}

static int play(const struct gp_cli_top_replay *replay, const struct film *film, size_t at,
		int signals)
{
	bool playing = false;
	int error = 0, pressed = 0;

	while (!error && pressed != 'q' && pressed != CTRL_C && pressed != -1) {
		error = draw(replay, film, at, playing);
		pressed = key(signals, playing ? PLAY_MS : -1);
		if (pressed == ' ')
			playing = !playing;
		else if (pressed == 'g')
			at = 0;
		else if (pressed == 'G')
			at = film->count - 1;
		else if (pressed == 'h' && at > 0)
			at--;
		else if ((pressed == 'l' || (playing && !pressed)) && at + 1 < film->count)
			at++;
		playing = playing && at + 1 < film->count;
	}
	return error;
}

/* Keys come one by one and are not shown; the terminal is as it was afterwards, also when a signal
 * ends it. */
static int browse(const struct gp_cli_top_replay *replay, const struct film *film, size_t at)
{
	struct signalfd_siginfo info;
	struct termios before, raw;
	sigset_t set, old;
	int signals, error;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return -ENOTTY;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &old);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
	error = signals < 0 ? -errno : tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0 ? -errno : 0;
	if (!error)
		error = play(replay, film, at, signals);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	/* Taken, or it would be delivered once more when it is unblocked. */
	while (signals >= 0 && read(signals, &info, sizeof(info)) > 0)
		;
	if (signals >= 0)
		close(signals);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return error;
}

/* A time outside the file is not that of its first or last state. */
static int check_covered(const struct gp_cli_top_replay *replay, const struct film *film, s64 at,
			 s64 until, struct gp_diag *diag)
{
	s64 first = film->items[0].wall_ns, last = film->items[film->count - 1].wall_ns;
	char from[32], to[32];

	if (until >= first && at < last + EVERY_NS)
		return 0;
	gp_cli_diary_time(first, from, sizeof(from));
	gp_cli_diary_time(last, to, sizeof(to));
	return gp_fail(diag, -ENODATA, "%s covers %s to %s, not '%s'", replay->path, from, to,
		       replay->at);
}

int gp_cli_top_replay(const struct gp_cli_top_replay *replay, struct gp_diag *diag)
{
	struct film film = {0};
	s64 at = INT64_MAX, until = INT64_MAX;
	int error = gp_cli_diary_read(replay->path, false, 0, diag, take, &film);

	if (!error && !film.count)
		error = gp_fail(diag, -ENODATA,
				"%s contains no state of gpreemptd (written every 10 s); choose "
				"another --at, or a file that covers more time",
				replay->path);
	if (!error && replay->at &&
	    !gp_cli_diary_time_parse(replay->at, film.items[film.count - 1].wall_ns + EVERY_NS, &at,
				     &until))
		error = gp_fail(diag, -EINVAL,
				"invalid time '%s'; use 14:03, 14:03:05 or '2026-11-17 14:03:05'",
				replay->at);
	if (!error && replay->at)
		error = check_covered(replay, &film, at, until, diag);
	if (!error) {
		error = -ENOTTY;
		if (!replay->once && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
			error = browse(replay, &film, find(&film, at));
		if (error == -ENOTTY)
			error = print(replay, &film.items[find(&film, at)]);
	}
	film_free(&film);
	return error;
}
