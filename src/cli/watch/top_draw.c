// SPDX-License-Identifier: MIT
/*
 * What `gpreempt top` looks like: see top_screen.h. Columns that are wanted most (pid, GPU, state,
 * p99, name) fit in 60 columns; wider screens show more.
 */
#include <stdio.h>
#include <string.h>

#include "base/core.h"
#include "base/units.h"
#include "cli/watch/top_screen.h"
#include "show/term.h"

enum { TEXT = 512, NAME_LEAST = 12 };

enum gp_cli_style gp_cli_top_style(enum gp_show_colour colour)
{
	switch (colour) {
	case GP_BOLD:
		return GP_STYLE_BOLD;
	case GP_DIM:
		return GP_STYLE_DIM;
	case GP_RED:
		return GP_STYLE_BAD;
	case GP_GREEN:
		return GP_STYLE_GOOD;
	case GP_YELLOW:
		return GP_STYLE_WARN;
	default:
		return GP_STYLE_PLAIN;
	}
}

/* ---- columns ---- */

static int rank_of(const struct gp_cli_cell *cell)
{
	return cell->flags >> 4 & 15;
}

static int width_of(const struct gp_cli_cell *cell)
{
	int width = cell->flags >> 16, title = (int)gp_term_width(gettext(cell->title));

	return width ? GP_MAX(width, title) : NAME_LEAST;
}

/* The highest rank with which all columns fit. */
static int fitting_rank(const struct gp_cli_row *titles, int width)
{
	for (int rank = 15; rank > 0; rank--) {
		int used = 1;

		for (size_t i = 0; i < titles->count; i++)
			if (rank_of(&titles->cells[i]) <= rank)
				used += width_of(&titles->cells[i]) + 1;
		if (used <= width + 1)
			return rank;
	}
	return 0;
}

/* The cells of a row, or their titles. Both have the same cells, in the same order. */
static void draw_row(struct gp_cli_canvas *canvas, int y, struct gp_cli_row *row, int rank,
		     bool titles, bool selected)
{
	int x = 1;

	gp_cli_row_arrange(row);
	for (size_t i = 0; i < row->count; i++) {
		const struct gp_cli_cell *cell = &row->cells[i];
		int width = cell->flags >> 16 ? width_of(cell) : canvas->width;
		int style = titles     ? GP_STYLE_TITLE
			    : selected ? GP_STYLE_BOLD
				       : (int)gp_cli_top_style(cell->value.colour);
		struct gp_buf text = {0};

		if (rank_of(cell) > rank)
			continue;
		if (titles)
			gp_buf_puts(&text, gettext(cell->title));
		else
			gp_show_value_text(&cell->value, &text);
		gp_cli_canvas_put(canvas, y, x, width, gp_buf_str(&text),
				  style | (cell->flags & GP_CLI_RIGHT ? GP_STYLE_RIGHT : 0));
		gp_buf_free(&text);
		x += width + 1;
	}
	gp_cli_row_clear(row);
}

/* ---- jobs ---- */

static size_t selected_at(const struct gp_cli_top_screen *screen)
{
	for (size_t i = 0; i < screen->top.job_count; i++)
		if (screen->top.jobs[i].id == screen->selected)
			return i;
	return 0;
}

/* Jobs of one GPU have a line above them that names it. */
static bool begins_gpu(const struct gp_cli_top_screen *screen, size_t index, size_t first)
{
	const struct gp_proto_msg_job *jobs = screen->top.jobs;

	return screen->sort == GP_TOP_GPU &&
	       (index == first || jobs[index].gpu_id != jobs[index - 1].gpu_id);
}

static void draw_gpu_heading(struct gp_cli_top_screen *screen, int y, u32 gpu_id)
{
	int index = gp_cli_top_gpu_index(&screen->top, gpu_id);
	char text[160], name[128];

	if (index < 0) {
		snprintf(text, sizeof(text), "%s", _("without a GPU"));
	} else {
		gp_cli_top_gpu_name(&screen->top, &screen->top.devices[index], name, sizeof(name));
		snprintf(text, sizeof(text), _("GPU %d  %s"), index, name);
	}
	gp_cli_canvas_put(&screen->canvas, y, 0, screen->canvas.width, text, GP_STYLE_NOTE);
}

/* A job of several processes, in the tree: a line that says how many are below it. */
static int draw_processes(struct gp_cli_top_screen *screen, int y, int end,
			  const struct gp_proto_msg_job *job)
{
	char text[96];

	if (!screen->tree || job->processes < 2 || y >= end)
		return y;
	snprintf(text, sizeof(text),
		 ngettext("%u more process of this job", "%u more processes of this job",
			  job->processes - 1),
		 job->processes - 1);
	gp_cli_canvas_put(&screen->canvas, y, 6, screen->canvas.width, text, GP_STYLE_DIM);
	return y + 1;
}

static void draw_more(struct gp_cli_top_screen *screen, int y, size_t above, size_t below)
{
	char text[128];

	snprintf(text, sizeof(text), _("%zu more above, %zu more below (PgUp, PgDn)"), above,
		 below);
	gp_cli_canvas_put(&screen->canvas, y, 1, screen->canvas.width, text, GP_STYLE_NOTE);
}

/* As many as fit, the selected one among them. */
static void draw_jobs(struct gp_cli_top_screen *screen, int y)
{
	const struct gp_cli_top_data *top = &screen->top;
	struct gp_cli_row row = {.part = GP_CLI_TEXT};
	int end = screen->canvas.height - 1, rank, line = y + 1;
	size_t at = selected_at(screen), room = (size_t)GP_MAX(end - line, 0), i;

	gp_cli_canvas_fill(&screen->canvas, y, GP_STYLE_TITLE);
	gp_cli_top_put_job(&row, top, &(struct gp_proto_msg_job){0});
	rank = fitting_rank(&row, screen->canvas.width);
	draw_row(&screen->canvas, y, &row, rank, true, false);
	screen->jobs_y = line;
	if (top->job_count > room && room > 1) {
		room--;
		end--;
	}
	/* Scrolled only as far as needed. */
	if (at < screen->first_job)
		screen->first_job = at;
	if (room && at >= screen->first_job + room)
		screen->first_job = at + 1 - room;
	if (top->job_count <= room)
		screen->first_job = 0;
	for (i = screen->first_job; i < top->job_count && line < end; i++) {
		const struct gp_proto_msg_job *job = &top->jobs[i];
		bool selected = job->id == screen->selected;

		if (begins_gpu(screen, i, screen->first_job) && line + 1 < end)
			draw_gpu_heading(screen, line++, job->gpu_id);
		if (selected)
			gp_cli_canvas_put(&screen->canvas, line, 0, 1, ">", GP_STYLE_BOLD);
		gp_cli_top_put_job(&row, top, job);
		draw_row(&screen->canvas, line++, &row, rank, false, selected);
		line = draw_processes(screen, line, end, job);
	}
	screen->jobs_shown = (int)(i - screen->first_job);
	if (screen->first_job || i < top->job_count)
		draw_more(screen, end, screen->first_job, top->job_count - i);
}

/* ---- first and last line ---- */

static void draw_status(struct gp_cli_top_screen *screen)
{
	const struct gp_proto_msg_daemon_status *status = &screen->top.status;
	struct gp_cli_canvas *canvas = &screen->canvas;
	char text[TEXT];
	int x = 0;

	gp_cli_top_status_text(&screen->top, text, sizeof(text));
	gp_cli_canvas_put(canvas, 0, 0, canvas->width, text, GP_STYLE_BOLD);
	snprintf(text, sizeof(text), _("order: %s"), gp_cli_top_sort_name(screen->sort));
	x += gp_cli_canvas_put(canvas, 1, x, canvas->width, text, GP_STYLE_PLAIN) + 2;
	snprintf(text, sizeof(text), _("every %s"), gp_duration_text(screen->interval_ns).text);
	x += gp_cli_canvas_put(canvas, 1, x, canvas->width, text, GP_STYLE_PLAIN) + 2;
	if (screen->paused)
		x += gp_cli_canvas_put(canvas, 1, x, canvas->width, _("PAUSED (space goes on)"),
				       GP_STYLE_WARN) +
		     2;
	if (*screen->filter) {
		snprintf(text, sizeof(text), _("filter: %s"), screen->filter);
		x += gp_cli_canvas_put(canvas, 1, x, canvas->width, text, GP_STYLE_NOTE) + 2;
	}
	if (status->latency_target_us) {
		snprintf(text, sizeof(text), _("target p99: %s"),
			 gp_duration_text(status->latency_target_us * 1000ull).text);
		x += gp_cli_canvas_put(canvas, 1, x, canvas->width, text, GP_STYLE_PLAIN) + 2;
	}
	if (*status->problem) {
		snprintf(text, sizeof(text), _("gpreemptd cannot act: %.*s"),
			 (int)sizeof(status->problem), status->problem);
		gp_cli_canvas_put(canvas, 1, x, canvas->width, text, GP_STYLE_BAD);
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
			 screen->action == GP_TOP_DO_SUSPEND
				 ? _("Suspend %s, at most for max_suspend? (y/n)")
				 : _("Resume %s? (y/n)"),
			 who);
}

/* How long the job that was suspended here has been held so far. */
static bool held_text(const struct gp_cli_top_screen *screen, char *out, size_t size)
{
	const struct gp_proto_msg_job *job = gp_cli_top_find(screen, screen->held);

	if (!screen->held || !job)
		return false;
	snprintf(out, size,
		 _("process %u is suspended for %s so far; 'c' resumes it, and gpreemptd does at "
		   "max_suspend"),
		 job->pid, gp_duration_text(screen->top.status.now_ns - screen->held_ns).text);
	return true;
}

static void draw_last(struct gp_cli_top_screen *screen)
{
	char text[TEXT];
	int style = GP_STYLE_PLAIN;

	if (screen->mode == GP_TOP_FILTER)
		snprintf(text, sizeof(text), _("Filter: %s_"), screen->input);
	else if (screen->mode == GP_TOP_RENICE)
		snprintf(text, sizeof(text), _("Priority (0 to 65535): %s_"), screen->input);
	else if (screen->mode == GP_TOP_INTERVAL)
		snprintf(text, sizeof(text), _("Interval, such as 500ms or 2s: %s_"),
			 screen->input);
	else if (screen->mode == GP_TOP_CONFIRM)
		ask_text(screen, text, sizeof(text));
	else if (*screen->said)
		snprintf(text, sizeof(text), "%s", screen->said), style = GP_STYLE_WARN;
	else if (held_text(screen, text, sizeof(text)))
		style = GP_STYLE_WARN;
	else if (screen->top.from_driver)
		snprintf(text, sizeof(text), "%s",
			 _("q quit  ? help  j/k select  o order  / filter"));
	else
		snprintf(text, sizeof(text), "%s",
			 _("q quit  ? help  Enter detail  o order  v totals  / filter  n renice  s "
			   "suspend  c resume"));
	gp_cli_canvas_put(&screen->canvas, screen->canvas.height - 1, 0, screen->canvas.width - 1,
			  text, style);
}

void gp_cli_top_draw(struct gp_cli_top_screen *screen)
{
	int height = screen->canvas.height, y = 2;

	if (screen->mode == GP_TOP_HELP) {
		gp_cli_top_draw_help(screen);
		return;
	}
	if (screen->connected) {
		draw_status(screen);
		if (screen->mode == GP_TOP_DETAIL) {
			gp_cli_top_draw_detail(screen);
		} else {
			/* Jobs get the lines they need, at least half; charts use what is left. */
			int jobs = GP_MAX((int)GP_MIN(screen->top.job_count, (size_t)height) + 3,
					  height / 2);

			y = gp_cli_top_draw_gpus(screen, y,
						 height - 2 - GP_MIN(jobs, height * 2 / 3));
			draw_jobs(screen, y);
		}
	}
	draw_last(screen);
}
