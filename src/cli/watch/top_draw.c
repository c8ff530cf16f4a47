// SPDX-License-Identifier: MIT
/* What `gpreempt top` looks like: see top_screen.h. Fits in 80 columns; wider ones show more. */
#include <langinfo.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include <ncurses.h>

#include "base/core.h"
#include "base/units.h"
#include "cli/watch/top_screen.h"
#include "show/reason.h"

enum { BAR = 20, WIDE = 100, TEXT = 512 };

/* Text cut to a number of columns of the terminal, not of bytes. Returns how many it takes. */
static int cut(const char *text, int width, wchar_t *out, size_t room)
{
	mbstate_t state = {0};
	size_t count = 0, left = strlen(text);
	int used = 0;

	while (left && count + 1 < room) {
		wchar_t c;
		size_t size = mbrtowc(&c, text, left, &state);
		int columns;

		if (size == (size_t)-1 || size == (size_t)-2) {
			c = L'?';
			size = 1;
			state = (mbstate_t){0};
		}
		columns = wcwidth(c);
		/* Names are the programs' own: nothing that moves the cursor. */
		if (columns < 0) {
			c = L'?';
			columns = 1;
		}
		if (used + columns > width)
			break;
		out[count++] = c;
		used += columns;
		text += size;
		left -= size;
	}
	out[count] = 0;
	return used;
}

static void put(int y, int x, int width, const char *text, bool right)
{
	wchar_t out[TEXT];
	int used;

	/* The last column of the last line would scroll. */
	width = GP_MIN(width, COLS - x);
	if (y < 0 || y >= LINES || width <= 0)
		return;
	used = cut(text, width, out, TEXT);
	mvaddwstr(y, right ? x + width - used : x, out);
}

static void put_time(int y, int x, int width, u64 ns)
{
	put(y, x, width, gp_duration_text(ns).text, true);
}

/* ---- GPUs ---- */

static void draw_history(int y, int x, const u8 *history)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
	bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	int width = GP_MIN(COLS - x, GP_TOP_HISTORY);

	for (int i = 0; i < width; i++) {
		u8 percent = history[GP_TOP_HISTORY - width + i];
		u32 step = percent == GP_TOP_UNKNOWN ? 0 : (percent * 8u + 99) / 100;

		put(y, x + i, 1, (utf8 ? blocks : plain)[GP_MIN(step, 8u)], false);
	}
}

static void draw_gpu(int y, const char *policy, const struct gp_proto_msg_device *device,
		     const struct gp_cli_top_gpu *gpu)
{
	u8 percent = gpu->history[GP_TOP_HISTORY - 1];
	char text[64], bar[BAR + 1];
	u32 filled = percent == GP_TOP_UNKNOWN ? 0 : (percent * (u32)BAR + 50) / 100;

	snprintf(text, sizeof(text), _("GPU %x"), device->gpu_id);
	put(y, 0, 10, text, false);
	memset(bar, ' ', BAR);
	memset(bar, '|', GP_MIN(filled, (u32)BAR));
	bar[BAR] = 0;
	if (percent == GP_TOP_UNKNOWN)
		snprintf(text, sizeof(text), "[%s]    -", bar);
	else
		snprintf(text, sizeof(text), "[%s] %3u%%", bar, percent);
	put(y, 11, BAR + 7, text, false);
	put(y, 40, 12, policy, false);
	draw_history(y, 53, gpu->history);
}

/* ---- jobs ---- */

struct layout {
	int pid, class, priority, state, queues, backlog, waited, ran, held, times, name;
	int state_width;
};

/* Where columns begin. */
static struct layout lay_out(const struct gp_cli_top_screen *screen)
{
	struct layout at = {.pid = 1, .class = 9, .priority = 17, .state = 23, .state_width = 8};

	/* "would be held" */
	if (!screen->top.status.mode)
		at.state_width = 13;
	at.queues = at.state + at.state_width + 1;
	at.backlog = COLS >= WIDE ? at.queues + 7 : -1;
	at.waited = at.queues + 7 + (COLS >= WIDE ? 9 : 0);
	at.ran = at.waited + 8;
	at.held = at.ran + 8;
	at.times = at.held + 8;
	at.name = at.times + 7;
	return at;
}

static void draw_head(int y, const struct layout *at)
{
	attron(A_REVERSE);
	mvhline(y, 0, ' ', COLS);
	put(y, at->pid, 7, _("PID"), true);
	put(y, at->class, 7, _("CLASS"), false);
	put(y, at->priority, 5, _("PRIO"), true);
	put(y, at->state, at->state_width, _("STATE"), false);
	put(y, at->queues, 6, _("QUEUES"), true);
	if (at->backlog >= 0)
		put(y, at->backlog, 8, _("BACKLOG"), true);
	put(y, at->waited, 7, _("WAITED"), true);
	put(y, at->ran, 7, _("RAN"), true);
	put(y, at->held, 7, _("HELD"), true);
	put(y, at->times, 6, _("TIMES"), true);
	put(y, at->name, COLS, _("NAME"), false);
	attroff(A_REVERSE);
}

static void draw_job(int y, const struct layout *at, const struct gp_cli_top_screen *screen,
		     const struct gp_proto_msg_job *job)
{
	char text[64], name[GP_PROTO_NAME];
	bool driver = screen->top.from_driver;

	if (job->id == screen->selected) {
		attron(A_BOLD);
		put(y, 0, 1, ">", false);
	}
	snprintf(text, sizeof(text), "%u", job->pid);
	put(y, at->pid, 7, text, true);
	put(y, at->class, 7, driver ? "-" : gp_cli_class_name(job->job_class), false);
	snprintf(text, sizeof(text), "%u", job->priority);
	put(y, at->priority, 5, text, true);
	put(y, at->state, at->state_width, gp_cli_top_state(&screen->top, job), false);
	snprintf(text, sizeof(text), "%u/%u", job->busy_queues, job->queues);
	if (!gp_cli_top_sees_work(job->gpu_id))
		snprintf(text, sizeof(text), "-/%u", job->queues);
	put(y, at->queues, 6, text, true);
	if (at->backlog >= 0) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)job->backlog);
		put(y, at->backlog, 8, job->backlog == GP_DAEMON_UNKNOWN ? "-" : text, true);
	}
	if (driver)
		put(y, at->waited, 7, "-", true);
	else
		put_time(y, at->waited, 7, job->waited_ns);
	if (gp_cli_top_sees_work(job->gpu_id))
		put_time(y, at->ran, 7, job->ran_ns);
	else
		put(y, at->ran, 7, "-", true);
	put_time(y, at->held, 7, job->held_ns);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)job->suspends);
	put(y, at->times, 6, text, true);
	gp_wire_text(name, sizeof(name), job->name, sizeof(job->name));
	put(y, at->name, COLS, name, false);
	attroff(A_BOLD);
}

/* As many as fit, the selected one among them. */
static void draw_jobs(const struct gp_cli_top_screen *screen, int y)
{
	struct layout at = lay_out(screen);
	int room = LINES - 2 - y;
	size_t first = 0;

	draw_head(y, &at);
	if (room <= 0)
		return;
	for (size_t i = 0; i < screen->top.job_count; i++) {
		if (screen->top.jobs[i].id == screen->selected && i >= (size_t)room)
			first = i + 1 - (size_t)room;
	}
	for (int i = 0; i < room && first + (size_t)i < screen->top.job_count; i++)
		draw_job(y + 1 + i, &at, screen, &screen->top.jobs[first + (size_t)i]);
}

/* ---- first and last line ---- */

static void draw_status(const struct gp_cli_top_screen *screen)
{
	const struct gp_proto_msg_daemon_status *status = &screen->top.status;
	char text[TEXT];

	if (screen->top.from_driver)
		gp_cli_top_driver_text(&screen->top, text, sizeof(text));
	else
		snprintf(text, sizeof(text),
			 status->mode ? _("gpreemptd (pid %u), mode %s: %u jobs, %u held")
				      : _("gpreemptd (pid %u), mode %s: %u jobs, %u would be held"),
			 status->pid, status->mode ? "act" : "observe", status->jobs, status->held);
	put(0, 0, COLS, text, false);
	snprintf(text, sizeof(text), _("order: %s"), gp_cli_top_sort_name(screen->sort));
	put(1, 0, 20, text, false);
	if (*screen->filter) {
		snprintf(text, sizeof(text), _("only: %s"), screen->filter);
		put(1, 21, 20, text, false);
	}
	if (*status->problem) {
		snprintf(text, sizeof(text), _("gpreemptd cannot act: %.*s"),
			 (int)sizeof(status->problem), status->problem);
		put(1, 42, COLS, text, false);
	}
}

static void ask_text(const struct gp_cli_top_screen *screen, char *out, size_t size)
{
	const struct gp_proto_msg_job *job = gp_cli_top_find(screen, screen->concerns);
	char name[GP_PROTO_NAME], who[GP_PROTO_NAME + 32];

	if (!job) {
		snprintf(out, size, "%s", _("the job no longer exists"));
		return;
	}
	gp_wire_text(name, sizeof(name), job->name, sizeof(job->name));
	gp_cli_decision_who(name, job->pid, who, sizeof(who));
	if (screen->action == GP_TOP_DO_RENICE)
		snprintf(out, size, _("Give %s priority %u? (y/n)"), who, screen->priority);
	else
		snprintf(out, size,
			 screen->action == GP_TOP_DO_SUSPEND ? _("Suspend %s? (y/n)")
							     : _("Resume %s? (y/n)"),
			 who);
}

static void draw_last(const struct gp_cli_top_screen *screen)
{
	char text[TEXT];

	if (screen->mode == GP_TOP_FILTER)
		snprintf(text, sizeof(text), _("Only jobs with: %s_"), screen->input);
	else if (screen->mode == GP_TOP_RENICE)
		snprintf(text, sizeof(text), _("Priority (0 to 65535): %s_"), screen->input);
	else if (screen->mode == GP_TOP_CONFIRM)
		ask_text(screen, text, sizeof(text));
	else if (*screen->said)
		snprintf(text, sizeof(text), "%s", screen->said);
	else if (screen->top.from_driver)
		snprintf(text, sizeof(text), "%s", _("q quit  j/k select  o order  / filter"));
	else
		snprintf(text, sizeof(text), "%s",
			 _("q quit  j/k select  o order  / filter  n renice  s suspend  "
			   "c continue"));
	put(LINES - 1, 0, COLS - 1, text, false);
}

void gp_cli_top_draw(const struct gp_cli_top_screen *screen)
{
	int y = 2;

	erase();
	if (screen->connected) {
		draw_status(screen);
		for (size_t i = 0; i < screen->top.device_count && y < LINES / 2; i++)
			draw_gpu(y++, gp_cli_top_policy(&screen->top, &screen->top.devices[i]),
				 &screen->top.devices[i], &screen->gpus[i]);
		draw_jobs(screen, y);
	}
	draw_last(screen);
	refresh();
}
