// SPDX-License-Identifier: MIT
/* What `gpreempt top` looks like: see top_screen.h. Fits in 80 columns; wider ones show more. */
#include <langinfo.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include <ncurses.h>

#include "base/core.h"
#include "cli/watch/top_screen.h"

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

/* A title that is wider than its column moves the next ones. Returns where it ends. */
static int draw_title(int y, int x, int width, const char *text, bool right)
{
	wchar_t out[TEXT];
	int used = cut(text, GP_MAX(COLS - x, 0), out, TEXT);

	put(y, x, GP_MAX(width, used), text, right);
	return right || used > width ? x + GP_MAX(width, used) : x + used;
}

/* The cells of a row, or their titles, as far as they fit. */
static void draw_row(int y, struct gp_cli_row *row, bool titles)
{
	int x = 1, past = 0;

	gp_cli_row_arrange(row);
	for (size_t i = 0; i < row->count; i++) {
		const struct gp_cli_cell *cell = &row->cells[i];
		int width = cell->flags >> 16 ? cell->flags >> 16 : COLS;
		struct gp_buf text = {0};

		if ((cell->flags & GP_CLI_WIDE) && COLS < WIDE)
			continue;
		if (titles) {
			gp_buf_puts(&text, gettext(cell->title));
			past = 1 + draw_title(y, GP_MAX(x, past), width - GP_MAX(past - x, 0),
					      gp_buf_str(&text), cell->flags & GP_CLI_RIGHT);
		} else {
			gp_show_value_text(&cell->value, &text);
			put(y, x, width, gp_buf_str(&text), cell->flags & GP_CLI_RIGHT);
		}
		gp_buf_free(&text);
		x += width + 1;
	}
	gp_cli_row_clear(row);
}

/* As many as fit, the selected one among them. */
static void draw_jobs(const struct gp_cli_top_screen *screen, int y)
{
	const struct gp_cli_top_data *top = &screen->top;
	struct gp_cli_row row = {.part = GP_CLI_TEXT};
	int room = LINES - 2 - y;
	size_t first = 0;

	attron(A_REVERSE);
	mvhline(y, 0, ' ', COLS);
	gp_cli_top_put_job(&row, top, &(struct gp_proto_msg_job){0});
	draw_row(y, &row, true);
	attroff(A_REVERSE);
	if (room <= 0)
		return;
	for (size_t i = 0; i < top->job_count; i++) {
		if (top->jobs[i].id == screen->selected && i >= (size_t)room)
			first = i + 1 - (size_t)room;
	}
	for (int i = 0; i < room && first + (size_t)i < top->job_count; i++) {
		const struct gp_proto_msg_job *job = &top->jobs[first + (size_t)i];

		if (job->id == screen->selected) {
			attron(A_BOLD);
			put(y + 1 + i, 0, 1, ">", false);
		}
		gp_cli_top_put_job(&row, top, job);
		draw_row(y + 1 + i, &row, false);
		attroff(A_BOLD);
	}
}

/* ---- first and last line ---- */

static void draw_status(const struct gp_cli_top_screen *screen)
{
	const struct gp_proto_msg_daemon_status *status = &screen->top.status;
	char text[TEXT];

	gp_cli_top_status_text(&screen->top, text, sizeof(text));
	put(0, 0, COLS, text, false);
	snprintf(text, sizeof(text), _("order: %s"), gp_cli_top_sort_name(screen->sort));
	put(1, 0, 20, text, false);
	if (*screen->filter) {
		snprintf(text, sizeof(text), _("filter: %s"), screen->filter);
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
		snprintf(out, size, _("Set the priority of %s to %u? (y/n)"), who,
			 screen->priority);
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
		snprintf(text, sizeof(text), _("Filter: %s_"), screen->input);
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
			 _("q quit  j/k select  o order  / filter  n renice  s suspend  c resume"));
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
