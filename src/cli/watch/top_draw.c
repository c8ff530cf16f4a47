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

enum { TEXT = 512, NAME_LEAST = 12, CHART_LEAST = 7, RECENT = 8 };

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

/* Which columns are drawn: those with a value of any job that fit. */
struct columns {
	int rank;  /* the highest that is drawn */
	u64 empty; /* a bit per column, in the order of text */
};

static bool is_drawn(const struct columns *columns, const struct gp_cli_row *row, size_t i)
{
	return rank_of(&row->cells[i]) <= columns->rank && !(columns->empty >> i & 1);
}

/* Optional columns without a value of any job. */
static u64 empty_columns(const struct gp_cli_top_data *top)
{
	struct gp_cli_row row = {.part = GP_CLI_TEXT};
	u64 empty = top->job_count ? UINT64_MAX : 0;

	for (size_t i = 0; i < top->job_count && empty; i++) {
		gp_cli_top_put_job(&row, top, &top->jobs[i]);
		gp_cli_row_arrange(&row);
		for (size_t k = 0; k < row.count; k++)
			if (!(row.cells[k].flags & GP_CLI_OPTIONAL) ||
			    row.cells[k].value.unit != GP_UNIT_MISSING)
				empty &= ~(1ull << k);
		gp_cli_row_clear(&row);
	}
	return empty;
}

/* With the highest rank with which all columns fit. */
static struct columns choose_columns(const struct gp_cli_top_data *top,
				     const struct gp_cli_row *titles, int width)
{
	struct columns columns = {.rank = 15, .empty = empty_columns(top)};

	for (; columns.rank > 0; columns.rank--) {
		int used = 1;

		for (size_t i = 0; i < titles->count; i++)
			if (is_drawn(&columns, titles, i))
				used += width_of(&titles->cells[i]) + 1;
		if (used <= width + 1)
			break;
	}
	return columns;
}

/* The cells of a row, or their titles. Both have the same cells, in the same order. */
static void draw_row(struct gp_cli_canvas *canvas, int y, struct gp_cli_row *row,
		     const struct columns *columns, bool titles, bool selected)
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

		if (!is_drawn(columns, row, i))
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

/* Lines below the job in the tree: one per process if it has several. */
static int process_lines(const struct gp_cli_top_screen *screen, const struct gp_proto_msg_job *job)
{
	size_t known = gp_cli_top_member_count(&screen->top, job->id);

	if (!screen->tree || job->processes < 2)
		return 0;
	return (int)known + (known < job->processes);
}

static void draw_process(struct gp_cli_top_screen *screen, int y, u32 pid, bool last)
{
	const struct gp_inspect_ps_row *process = gp_cli_top_process(&screen->top, pid);
	const char *branch = screen->canvas.ascii ? last ? "`-" : "|-" : last ? "└─" : "├─";
	struct gp_gpu_usage usage = {0};
	struct gp_buf text = {0};

	gp_buf_printf(&text, "%s %u", branch, pid);
	if (process) {
		gp_cli_top_process_usage(process->gpu, &usage);
		if (usage.valid & GP_USAGE_VRAM)
			gp_buf_printf(&text, "  VRAM %s", gp_size_text(usage.vram_bytes).text);
		if (usage.valid & GP_USAGE_OCCUPANCY)
			gp_buf_printf(&text, "  CUS %u", (u32)usage.cu_occupancy);
		gp_buf_printf(&text, "  %s",
			      *process->process.command ? process->process.command
							: process->process.comm);
	}
	gp_cli_canvas_put(&screen->canvas, y, 6, screen->canvas.width, gp_buf_str(&text),
			  GP_STYLE_DIM);
	gp_buf_free(&text);
}

/* The processes of a job, as a branch each. */
static int draw_processes(struct gp_cli_top_screen *screen, int y, int end,
			  const struct gp_proto_msg_job *job)
{
	int lines = process_lines(screen, job), drawn = 0;
	size_t known = gp_cli_top_member_count(&screen->top, job->id);
	char text[96];

	for (size_t i = 0; lines && i < screen->top.member_count && y < end; i++) {
		if (screen->top.members[i].job != job->id)
			continue;
		drawn++;
		draw_process(screen, y++, screen->top.members[i].pid, drawn == lines);
	}
	if (lines > (int)known && y < end) {
		snprintf(text, sizeof(text),
			 ngettext("%s %zu process that does not use a GPU now",
				  "%s %zu processes that do not use a GPU now",
				  job->processes - known),
			 screen->canvas.ascii ? "`-" : "└─", job->processes - known);
		gp_cli_canvas_put(&screen->canvas, y++, 6, screen->canvas.width, text,
				  GP_STYLE_DIM);
	}
	return y;
}

/* Lines from job `first` to job `last`. */
static size_t height_of(const struct gp_cli_top_screen *screen, size_t first, size_t last)
{
	size_t height = 0;

	for (size_t i = first; i <= last && i < screen->top.job_count; i++)
		height += 1 + begins_gpu(screen, i, first) +
			  (size_t)process_lines(screen, &screen->top.jobs[i]);
	return height;
}

/* Only as far as needed to show the selected job. */
static void scroll(struct gp_cli_top_screen *screen, size_t at, size_t room)
{
	if (at < screen->first_job)
		screen->first_job = at;
	while (screen->first_job < at && height_of(screen, screen->first_job, at) > room)
		screen->first_job++;
	if (height_of(screen, 0, screen->top.job_count) <= room)
		screen->first_job = 0;
}

static void draw_more(struct gp_cli_top_screen *screen, int y, size_t above, size_t below)
{
	char text[128];

	snprintf(text, sizeof(text), _("%zu more above, %zu more below (PgUp, PgDn)"), above,
		 below);
	gp_cli_canvas_put(&screen->canvas, y, 1, screen->canvas.width, text, GP_STYLE_NOTE);
}

/* As many as fit, the selected one among them. Returns the next free line. */
static int draw_jobs(struct gp_cli_top_screen *screen, int y)
{
	const struct gp_cli_top_data *top = &screen->top;
	struct gp_cli_row row = {.part = GP_CLI_TEXT};
	struct columns columns;
	int end = screen->canvas.height - 1, line = y + 1;
	size_t at = selected_at(screen), room = (size_t)GP_MAX(end - line, 0), i;

	gp_cli_canvas_fill(&screen->canvas, y, GP_STYLE_TITLE);
	gp_cli_top_put_job(&row, top, &(struct gp_proto_msg_job){0});
	gp_cli_row_arrange(&row);
	columns = choose_columns(top, &row, screen->canvas.width);
	draw_row(&screen->canvas, y, &row, &columns, true, false);
	screen->jobs_y = line;
	if (height_of(screen, 0, top->job_count) > room && room > 1) {
		room--;
		end--;
	}
	scroll(screen, at, room);
	for (i = screen->first_job; i < top->job_count && line < end; i++) {
		const struct gp_proto_msg_job *job = &top->jobs[i];
		bool selected = job->id == screen->selected;

		if (begins_gpu(screen, i, screen->first_job) && line + 1 < end)
			draw_gpu_heading(screen, line++, job->gpu_id);
		if (selected)
			gp_cli_canvas_put(&screen->canvas, line, 0, 1, ">", GP_STYLE_BOLD);
		gp_cli_top_put_job(&row, top, job);
		draw_row(&screen->canvas, line++, &row, &columns, false, selected);
		line = draw_processes(screen, line, end, job);
	}
	if (!top->job_count)
		line = gp_cli_canvas_wrap(
			&screen->canvas, line, 1, end,
			*screen->filter    ? _("No job matches the filter; Esc clears it.")
			: top->from_driver ? _("No process has a queue.")
					   : _("No jobs. A program becomes one when it is started "
					       "with 'gpreempt run -- PROGRAM'; 'gpreempt ps' "
					       "lists all that use a GPU."),
			GP_STYLE_NOTE);
	screen->jobs_shown = (int)(i - screen->first_job);
	if (screen->first_job || i < top->job_count) {
		draw_more(screen, end, screen->first_job, top->job_count - i);
		line = end + 1;
	}
	return line;
}

/* ---- first and last line ---- */

static void draw_status(struct gp_cli_top_screen *screen)
{
	const struct gp_proto_msg_daemon_status *status = &screen->top.status;
	struct gp_cli_canvas *canvas = &screen->canvas;
	char text[TEXT];
	int x = 0;

	gp_cli_top_status_text(&screen->top, text, sizeof(text));
	x = gp_cli_canvas_put(canvas, 0, 0, canvas->width, text, GP_STYLE_BOLD) + 2;
	if (gp_cli_top_common_policy(&screen->top)) {
		snprintf(text, sizeof(text), _("policy %s"),
			 gp_cli_top_common_policy(&screen->top));
		if (x + (int)gp_term_width(text) <= canvas->width)
			gp_cli_canvas_put(canvas, 0, x, canvas->width, text, GP_STYLE_PLAIN);
	}
	x = 0;
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
	if (!gp_cli_top_knows_latency(&screen->top))
		x += gp_cli_canvas_put(canvas, 1, x, canvas->width,
				       _("no latency: no job announced a request"), GP_STYLE_DIM) +
		     2;
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

struct key {
	const char *text;
	bool daemon, off; /* needs a daemon; is there without one */
};

/* The keys that fit, the most wanted first; '?' lists all. */
static void keys_text(const struct gp_cli_top_screen *screen, char *out, size_t size)
{
	/* clang-format off */
	static const struct key list[] = {
		{N_("q quit"), false, true},     {N_("? help"), false, true},
		{N_("Enter detail"), true, false}, {N_("/ filter"), false, false},
		{N_("o order"), false, false},   {N_("v totals"), true, false},
		{N_("s suspend"), true, false},  {N_("c resume"), true, false},
		{N_("t tree"), true, false},     {N_("g by GPU"), true, false},
		{N_("n renice"), true, false},   {N_("d interval"), false, true},
		{N_("space pause"), false, false},
	}, detail[] = {
		{N_("Esc back"), false, true},   {N_("q quit"), false, true},
		{N_("Up Down PgUp PgDn scroll"), false, true},
		{N_("Left Right other job"), false, true},
	};
	/* clang-format on */
	bool one = screen->mode == GP_TOP_DETAIL;
	const struct key *keys = one ? detail : list;
	size_t used = 0;

	*out = '\0';
	for (size_t i = 0; i < (one ? GP_ARRAY_SIZE(detail) : GP_ARRAY_SIZE(list)); i++) {
		const char *text = gettext(keys[i].text);
		size_t width = gp_term_width(out) + gp_term_width(text) + (used ? 2 : 0);

		if ((keys[i].daemon && screen->top.from_driver) ||
		    (!keys[i].off && !screen->connected))
			continue;
		if (width >= (size_t)screen->canvas.width || used + strlen(text) + 3 > size)
			break;
		used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "  " : "", text);
	}
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
	else if (*screen->said && screen->connected)
		snprintf(text, sizeof(text), "%s", screen->said), style = GP_STYLE_WARN;
	else if (held_text(screen, text, sizeof(text)))
		style = GP_STYLE_WARN;
	else
		keys_text(screen, text, sizeof(text));
	gp_cli_canvas_put(&screen->canvas, screen->canvas.height - 1, 0, screen->canvas.width - 1,
			  text, style);
}

/* Jobs get the lines they need, at least half; charts use what is left, and leave some for the last
 * decisions. */
static int gpu_room(const struct gp_cli_top_screen *screen)
{
	int height = screen->canvas.height;
	int jobs = GP_MAX((int)GP_MIN(screen->top.job_count, (size_t)height) + 3, height / 2);
	int room = height - 2 - GP_MIN(jobs, height * 2 / 3);
	int least = (int)screen->top.device_count * CHART_LEAST + RECENT;

	return screen->line_count && room >= least ? room - RECENT : room;
}

void gp_cli_top_draw(struct gp_cli_top_screen *screen)
{
	int y = 2;

	if (screen->mode == GP_TOP_HELP) {
		gp_cli_top_draw_help(screen);
		return;
	}
	if (screen->connected) {
		draw_status(screen);
		if (screen->mode == GP_TOP_DETAIL) {
			gp_cli_top_draw_detail(screen);
		} else {
			y = gp_cli_top_draw_gpus(screen, y, gpu_room(screen));
			y = draw_jobs(screen, y);
			gp_cli_top_draw_recent(screen, y + 1);
		}
	} else {
		gp_cli_top_draw_absent(screen);
	}
	draw_last(screen);
}
