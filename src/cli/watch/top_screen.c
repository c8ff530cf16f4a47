// SPDX-License-Identifier: MIT
/* The keys and the loop of `gpreempt top`: see top_screen.h. */
#include "cli/watch/top_screen.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <ncurses.h>

#include "base/core.h"
#include "base/parse.h"
#include "base/clock.h"
#include "base/units.h"

enum { ESCAPE = 27, PIN_NONE = 0, PIN_HOLD = 2 };

static void keep_said(struct gp_diag *diag, enum gp_severity severity, const char *text)
{
	struct gp_cli_top_screen *screen = gp_container(diag, struct gp_cli_top_screen, diag);

	(void)severity;
	snprintf(screen->said, sizeof(screen->said), "%s", text);
}

const struct gp_proto_msg_job *gp_cli_top_find(const struct gp_cli_top_screen *screen, u64 id)
{
	for (size_t i = 0; i < screen->top.job_count; i++) {
		if (screen->top.jobs[i].id == id)
			return &screen->top.jobs[i];
	}
	return NULL;
}

/* ---- readings ---- */

/* 0: there is a new reading. */
static int read_top(struct gp_cli_top_screen *screen)
{
	int error = 0;

	if (!screen->client) {
		error = gp_cli_top_read_driver(&screen->top, screen->root, &screen->diag);
		if (!error && !screen->connected)
			screen->said[0] = 0;
		return error;
	}
	if (!screen->connected)
		error = gp_cli_daemon_open(screen->client, &screen->diag);
	if (!error) {
		if (!screen->connected)
			screen->said[0] = 0;
		error = gp_cli_top_read(&screen->top, screen->client, &screen->diag);
	}
	if (error)
		gp_cli_daemon_close(screen->client);
	return error;
}

/* The daemon ends a suspension at max_suspend, or when its lease is lost. */
static void watch_held(struct gp_cli_top_screen *screen)
{
	const struct gp_proto_msg_job *job = gp_cli_top_find(screen, screen->held);

	if (!screen->held || !job || job->pin == PIN_HOLD)
		return;
	snprintf(screen->said, sizeof(screen->said),
		 _("process %u runs again: the suspension ended after %s; 's' suspends it again"),
		 job->pid, gp_duration_text(screen->top.status.now_ns - screen->held_ns).text);
	screen->held = 0;
}

static void take(struct gp_cli_top_screen *screen, bool tick)
{
	struct gp_cli_top_data *top = &screen->top;
	int error = read_top(screen);

	screen->connected = !error;
	if (error) {
		/* Tried again at the next reading. */
		gp_cli_top_free(top);
		gp_cli_top_read_absent(screen);
		return;
	}
	top->rates = &screen->rates;
	if (tick && gp_cli_top_rates_note(&screen->rates, top))
		snprintf(screen->said, sizeof(screen->said), "%s", _("out of memory"));
	watch_held(screen);
	gp_cli_top_arrange(top, screen->sort, screen->filter);
	if (!gp_cli_top_find(screen, screen->selected))
		screen->selected = top->job_count ? top->jobs[0].id : 0;
	if (screen->mode == GP_TOP_DETAIL)
		gp_cli_top_read_detail(screen);
	else
		gp_cli_top_read_decisions(screen, 0);
}

/* ---- what keys do ---- */

static void do_action(struct gp_cli_top_screen *screen)
{
	const struct gp_proto_msg_job *job = gp_cli_top_find(screen, screen->concerns);

	if (!job) {
		snprintf(screen->said, sizeof(screen->said), "%s", _("the job no longer exists"));
	} else if (screen->action == GP_TOP_DO_RENICE) {
		struct gp_proto_msg_set set = {.pid = job->pid,
					       .what = GP_DAEMON_SET_PRIORITY,
					       .priority = screen->priority};

		gp_cli_daemon_ask(screen->client, &screen->diag, GP_MSG_DAEMON_SET, &set,
				  sizeof(set), 0, 0);
	} else if (screen->action == GP_TOP_DO_SUSPEND && !screen->top.status.mode) {
		snprintf(screen->said, sizeof(screen->said), "%s",
			 _("gpreemptd only observes: nothing was suspended; set mode = act in its "
			   "configuration"));
	} else {
		struct gp_proto_msg_pin pin = {.pid = job->pid,
					       .pin = screen->action == GP_TOP_DO_SUSPEND
							      ? PIN_HOLD
							      : PIN_NONE};

		int error = gp_cli_daemon_ask(screen->client, &screen->diag, GP_MSG_DAEMON_PIN,
					      &pin, sizeof(pin), 0, 0);
		screen->held = !error && pin.pin == PIN_HOLD ? job->id : 0;
		screen->held_ns = screen->top.status.now_ns;
	}
	take(screen, false);
}

void gp_cli_top_move(struct gp_cli_top_screen *screen, long by)
{
	const struct gp_proto_msg_job *job = gp_cli_top_find(screen, screen->selected);
	long last = (long)screen->top.job_count - 1;

	if (job)
		screen->selected =
			screen->top.jobs[GP_MIN(GP_MAX(job - screen->top.jobs + by, 0l), last)].id;
}

void gp_cli_top_click(struct gp_cli_top_screen *screen, int y)
{
	size_t at = screen->first_job + (size_t)GP_MAX(y - screen->jobs_y, 0);

	if (screen->mode == GP_TOP_LIST && y >= screen->jobs_y && screen->sort != GP_TOP_GPU &&
	    !screen->tree && y < screen->jobs_y + screen->jobs_shown && at < screen->top.job_count)
		screen->selected = screen->top.jobs[at].id;
}

static void begin(struct gp_cli_top_screen *screen, enum gp_cli_top_mode mode,
		  enum gp_cli_top_action action)
{
	if (!screen->client) {
		snprintf(screen->said, sizeof(screen->said), "%s",
			 _("cannot change these jobs: they belong to the driver's scheduler"));
		return;
	}
	if (!gp_cli_top_find(screen, screen->selected))
		return;
	screen->concerns = screen->selected;
	screen->action = action;
	screen->mode = mode;
	screen->input[0] = 0;
}

/* Keys that select and scroll. */
static bool move_key(struct gp_cli_top_screen *screen, int key)
{
	long page = GP_MAX(screen->jobs_shown - 1, 1);
	long all = (long)screen->top.job_count;

	switch (key) {
	case 'j':
	case KEY_DOWN:
		gp_cli_top_move(screen, 1);
		return true;
	case 'k':
	case KEY_UP:
		gp_cli_top_move(screen, -1);
		return true;
	case KEY_NPAGE:
		gp_cli_top_move(screen, page);
		return true;
	case KEY_PPAGE:
		gp_cli_top_move(screen, -page);
		return true;
	case KEY_HOME:
		gp_cli_top_move(screen, -all);
		return true;
	case KEY_END:
		gp_cli_top_move(screen, all);
		return true;
	case ']':
		screen->first_gpu++;
		return true;
	case '[':
		screen->first_gpu -= screen->first_gpu != 0;
		return true;
	}
	return false;
}

/* A key that changes nothing on the screen says why. */
static void toggle_tree(struct gp_cli_top_screen *screen)
{
	bool several = false;

	for (size_t i = 0; i < screen->top.job_count; i++)
		several |= screen->top.jobs[i].processes > 1;
	screen->tree = !screen->tree && several;
	if (!several)
		snprintf(screen->said, sizeof(screen->said), "%s",
			 _("every job has one process: the tree lists those of jobs with several "
			   "('gpreempt run --group NAME')"));
}

/* Keys that change what is shown. */
static bool view_key(struct gp_cli_top_screen *screen, int key)
{
	switch (key) {
	case 'o':
		screen->sort = (screen->sort + 1) % GP_TOP_SORTS;
		break;
	case 'g':
		screen->sort = screen->sort == GP_TOP_GPU ? GP_TOP_PRIORITY : GP_TOP_GPU;
		break;
	case 't':
		toggle_tree(screen);
		break;
	case 'v':
		screen->rates.totals = !screen->rates.totals;
		break;
	case ' ':
		screen->paused = !screen->paused;
		break;
	case ESCAPE:
		screen->filter[0] = 0;
		break;
	default:
		return false;
	}
	take(screen, false);
	return true;
}

static void list_key(struct gp_cli_top_screen *screen, int key)
{
	screen->said[0] = 0;
	if (move_key(screen, key) || view_key(screen, key))
		return;
	switch (key) {
	case 'q':
		screen->quit = true;
		break;
	case '?':
	case KEY_F(1):
		screen->mode = GP_TOP_HELP;
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		if (!gp_cli_top_find(screen, screen->selected))
			break;
		screen->mode = GP_TOP_DETAIL;
		screen->detail_first = 0;
		gp_cli_top_read_detail(screen);
		break;
	case 'd':
		screen->mode = GP_TOP_INTERVAL;
		screen->input[0] = 0;
		break;
	case '/':
		screen->mode = GP_TOP_FILTER;
		memcpy(screen->input, screen->filter, sizeof(screen->input));
		break;
	case 'n':
		begin(screen, GP_TOP_RENICE, GP_TOP_DO_RENICE);
		break;
	case 's':
		begin(screen, GP_TOP_CONFIRM, GP_TOP_DO_SUSPEND);
		break;
	case 'c':
		begin(screen, GP_TOP_CONFIRM, GP_TOP_DO_CONTINUE);
		break;
	}
}

/* Keys that scroll one job. Drawing knows how long it is. */
static bool scroll_key(struct gp_cli_top_screen *screen, int key)
{
	int page = GP_MAX(screen->detail_page - 1, 1);

	switch (key) {
	case 'j':
	case KEY_DOWN:
		screen->detail_first++;
		return true;
	case 'k':
	case KEY_UP:
		screen->detail_first--;
		break;
	case KEY_NPAGE:
	case ' ':
		screen->detail_first += page;
		return true;
	case KEY_PPAGE:
		screen->detail_first -= page;
		break;
	case KEY_HOME:
		screen->detail_first = 0;
		return true;
	case KEY_END:
		screen->detail_first = INT_MAX / 2;
		return true;
	default:
		return false;
	}
	screen->detail_first = GP_MAX(screen->detail_first, 0);
	return true;
}

static void detail_key(struct gp_cli_top_screen *screen, int key)
{
	if (scroll_key(screen, key))
		return;
	if (key == 'q') {
		screen->quit = true;
	} else if (key == KEY_LEFT || key == KEY_RIGHT) {
		gp_cli_top_move(screen, key == KEY_LEFT ? -1 : 1);
		screen->detail_first = 0;
		gp_cli_top_read_detail(screen);
	} else if (key == ESCAPE || key == '\n' || key == '\r' || key == KEY_ENTER) {
		screen->mode = GP_TOP_LIST;
		gp_cli_top_read_decisions(screen, 0);
	}
}

void gp_cli_top_wheel(struct gp_cli_top_screen *screen, int by)
{
	if (screen->mode == GP_TOP_DETAIL)
		screen->detail_first = GP_MAX(screen->detail_first + by, 0);
	else
		gp_cli_top_move(screen, by);
}

static void set_interval(struct gp_cli_top_screen *screen)
{
	char error[GP_UNITS_ERROR];
	u64 ns;

	if (gp_duration_parse(screen->input, 100 * GP_NS_PER_MS, 3600 * GP_NS_PER_S, &ns, error))
		snprintf(screen->said, sizeof(screen->said), "%s", error);
	else
		screen->interval_ns = ns;
	screen->mode = GP_TOP_LIST;
}

static void end_input(struct gp_cli_top_screen *screen)
{
	u64 priority;

	if (screen->mode == GP_TOP_FILTER) {
		memcpy(screen->filter, screen->input, sizeof(screen->filter));
		screen->mode = GP_TOP_LIST;
		take(screen, false);
	} else if (screen->mode == GP_TOP_INTERVAL) {
		set_interval(screen);
	} else if (gp_argument_u64(screen->input, &priority) && priority <= 65535) {
		screen->priority = (u32)priority;
		screen->mode = GP_TOP_CONFIRM;
	} else {
		snprintf(screen->said, sizeof(screen->said),
			 _("'%s' is not a priority (0 to 65535)"), screen->input);
		screen->mode = GP_TOP_LIST;
	}
}

static void input_key(struct gp_cli_top_screen *screen, int key)
{
	size_t length = strlen(screen->input);

	if (key == ESCAPE) {
		screen->mode = GP_TOP_LIST;
	} else if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		end_input(screen);
	} else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && length) {
		/* All bytes of a character. */
		while (length && (screen->input[--length] & 0xc0) == 0x80)
			;
		screen->input[length] = 0;
	} else if (key >= ' ' && key < 256 && key != 127 && length + 1 < sizeof(screen->input)) {
		screen->input[length] = (char)key;
		screen->input[length + 1] = 0;
	}
}

void gp_cli_top_key(struct gp_cli_top_screen *screen, int key)
{
	switch (screen->mode) {
	case GP_TOP_LIST:
		list_key(screen, key);
		break;
	case GP_TOP_HELP:
		screen->mode = GP_TOP_LIST;
		break;
	case GP_TOP_DETAIL:
		detail_key(screen, key);
		break;
	case GP_TOP_CONFIRM:
		screen->mode = GP_TOP_LIST;
		if (key == 'y')
			do_action(screen);
		break;
	default:
		input_key(screen, key);
	}
}

/* ---- the loop ---- */

static void loop(struct gp_cli_top_screen *screen, int signals)
{
	u64 next = 0;

	while (!screen->quit) {
		struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
				       {.fd = signals, .events = POLLIN}};
		u64 now = gp_monotonic_ns();

		if (now >= next) {
			if (!screen->paused)
				take(screen, true);
			next = now + screen->interval_ns;
		}
		next = GP_MIN(next, now + screen->interval_ns); /* it was made shorter */
		gp_cli_top_refresh(screen);
		/* Signals that ncurses handles (size, stop, continue) also end the wait. */
		poll(fds, GP_ARRAY_SIZE(fds), (int)((next - now) / GP_NS_PER_MS) + 1);
		gp_cli_top_read_keys(screen);
		/* A terminal that is gone, or a signal to end. */
		if (fds[1].revents || fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			screen->quit = true;
	}
}

int gp_cli_top_screen(struct gp_cli_daemon_client *client, const struct gp_root *root,
		      const struct gp_cli_top_options *options)
{
	struct gp_cli_top_screen screen = {.client = client,
					   .root = root,
					   .sort = options->sort,
					   .interval_ns = options->interval_ns,
					   .colour = options->colour,
					   .connected = !client || client->socket >= 0};
	struct signalfd_siginfo info;
	sigset_t set, old;
	int signals, error;

	screen.diag.emit = keep_said;
	if (options->filter)
		snprintf(screen.filter, sizeof(screen.filter), "%s", options->filter);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &old);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	error = signals < 0 ? -errno : gp_cli_top_terminal(&screen, signals, loop);
	/* Taken, or it would be delivered once more when it is unblocked. */
	while (signals >= 0 && read(signals, &info, sizeof(info)) > 0)
		;
	if (signals >= 0)
		close(signals);
	sigprocmask(SIG_SETMASK, &old, NULL);
	gp_cli_top_free(&screen.top);
	gp_cli_top_rates_free(&screen.rates);
	gp_cli_canvas_free(&screen.canvas);
	free(screen.why);
	free(screen.processes);
	return error;
}
