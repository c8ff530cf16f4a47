// SPDX-License-Identifier: MIT
/* The keys and the loop of `gpreempt top`: see top_screen.h. */
#include "cli/watch/top_screen.h"

#include <errno.h>
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

enum { INTERVAL_MS = 1000, ESCAPE = 27, PIN_NONE = 0, PIN_HOLD = 2 };

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

/* The part of the time since the last reading in which the GPU was busy. */
static void note_gpu(struct gp_cli_top_gpu *gpu, const struct gp_proto_msg_device *device,
		     u64 elapsed)
{
	u8 percent = GP_TOP_UNKNOWN;

	if (gpu->gpu_id != device->gpu_id) {
		gpu->gpu_id = device->gpu_id;
		memset(gpu->history, GP_TOP_UNKNOWN, sizeof(gpu->history));
	} else if (elapsed) {
		u64 busy = device->busy_ns - GP_MIN(gpu->busy_ns, device->busy_ns);

		percent = (u8)(GP_MIN(busy, elapsed) * 100 / elapsed);
	}
	gpu->busy_ns = device->busy_ns;
	memmove(gpu->history, gpu->history + 1, GP_TOP_HISTORY - 1);
	gpu->history[GP_TOP_HISTORY - 1] = percent;
}

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
		return;
	}
	if (tick) {
		u64 elapsed = screen->read_ns ? top->status.now_ns - screen->read_ns : 0;

		for (size_t i = 0; i < top->device_count; i++)
			note_gpu(&screen->gpus[i], &top->devices[i], elapsed);
		screen->read_ns = top->status.now_ns;
	}
	watch_held(screen);
	gp_cli_top_arrange(top, screen->sort, screen->filter);
	if (!gp_cli_top_find(screen, screen->selected))
		screen->selected = top->job_count ? top->jobs[0].id : 0;
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

static void move_selection(struct gp_cli_top_screen *screen, int by)
{
	const struct gp_proto_msg_job *job = gp_cli_top_find(screen, screen->selected);
	size_t count = screen->top.job_count;

	if (!job)
		return;
	size_t at = (size_t)(job - screen->top.jobs);
	if (by < 0 && at)
		at--;
	else if (by > 0 && at + 1 < count)
		at++;
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

static void list_key(struct gp_cli_top_screen *screen, int key)
{
	screen->said[0] = 0;
	switch (key) {
	case 'q':
		screen->quit = true;
		break;
	case 'j':
	case KEY_DOWN:
		move_selection(screen, 1);
		break;
	case 'k':
	case KEY_UP:
		move_selection(screen, -1);
		break;
	case 'o':
		screen->sort = (screen->sort + 1) % GP_TOP_SORTS;
		take(screen, false);
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

static void end_input(struct gp_cli_top_screen *screen)
{
	u64 priority;

	if (screen->mode == GP_TOP_FILTER) {
		memcpy(screen->filter, screen->input, sizeof(screen->filter));
		screen->mode = GP_TOP_LIST;
		take(screen, false);
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

static void handle(struct gp_cli_top_screen *screen, int key)
{
	/* A change of the terminal's size: drawing again is all it needs. */
	if (key == KEY_RESIZE)
		return;
	if (screen->mode == GP_TOP_LIST) {
		list_key(screen, key);
	} else if (screen->mode == GP_TOP_CONFIRM) {
		screen->mode = GP_TOP_LIST;
		if (key == 'y')
			do_action(screen);
	} else {
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
			take(screen, true);
			next = now + INTERVAL_MS * GP_NS_PER_MS;
		}
		gp_cli_top_draw(screen);
		/* Signals that ncurses handles (size, stop, continue) also end the wait. */
		poll(fds, GP_ARRAY_SIZE(fds), (int)((next - now) / GP_NS_PER_MS) + 1);
		for (int key; !screen->quit && (key = getch()) != ERR;)
			handle(screen, key);
		/* A terminal that is gone, or a signal to end. */
		if (fds[1].revents || fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			screen->quit = true;
	}
}

/* ncurses handles stop, continue and size: it restores the terminal before stopping and redraws
 * after. */
static int on_terminal(struct gp_cli_top_screen *screen, int signals)
{
	SCREEN *terminal = newterm(NULL, stdout, stdin);

	if (!terminal)
		return -ENOTTY;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	set_escdelay(50);
	loop(screen, signals);
	endwin();
	delscreen(terminal);
	return 0;
}

int gp_cli_top_screen(struct gp_cli_daemon_client *client, const struct gp_root *root,
		      enum gp_cli_top_sort sort, const char *filter)
{
	struct gp_cli_top_screen screen = {.client = client,
					   .root = root,
					   .sort = sort,
					   .connected = true};
	struct signalfd_siginfo info;
	sigset_t set, old;
	int signals, error;

	screen.diag.emit = keep_said;
	if (filter)
		snprintf(screen.filter, sizeof(screen.filter), "%s", filter);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &old);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	error = signals < 0 ? -errno : on_terminal(&screen, signals);
	/* Taken, or it would be delivered once more when it is unblocked. */
	while (signals >= 0 && read(signals, &info, sizeof(info)) > 0)
		;
	if (signals >= 0)
		close(signals);
	sigprocmask(SIG_SETMASK, &old, NULL);
	gp_cli_top_free(&screen.top);
	return error;
}
