// SPDX-License-Identifier: MIT
/* `gpreempt top`: what is known of one job, with the last decisions about it; and the keys. */
#include <stdio.h>
#include <string.h>

#include "base/core.h"
#include "base/units.h"
#include "cli/watch/top_screen.h"

static int keep_decision(const struct gp_proto_msg_decision *line, void *data)
{
	struct gp_cli_top_screen *screen = data;
	struct gp_cli_top_line *kept;

	if (line->kind == GP_DECISION_RENEW || line->kind == GP_DECISION_TIMER)
		return 0;
	if (screen->line_count == GP_TOP_LINES) {
		memmove(screen->lines, screen->lines + 1,
			(GP_TOP_LINES - 1) * sizeof(screen->lines[0]));
		screen->line_count--;
	}
	kept = &screen->lines[screen->line_count++];
	kept->at_ns = line->at_ns;
	gp_cli_decision_text(line, kept->text, sizeof(kept->text));
	return 0;
}

void gp_cli_top_read_detail(struct gp_cli_top_screen *screen)
{
	const struct gp_proto_msg_job *job = gp_cli_top_find(screen, screen->selected);
	u64 first = 1;

	screen->line_count = 0;
	if (job && screen->client && screen->connected)
		gp_cli_daemon_decisions(screen->client, &screen->diag, &first, job->pid,
					keep_decision, screen);
}

/* Every column of the list, below each other in two columns. Returns the next free line. */
static int draw_facts(struct gp_cli_top_screen *screen, int y, const struct gp_proto_msg_job *job)
{
	struct gp_cli_row row = {.part = GP_CLI_JSON};
	struct gp_cli_canvas *canvas = &screen->canvas;
	int columns = canvas->width >= 80 ? 2 : 1, at = 0, wide = canvas->width / columns;

	gp_cli_top_put_job(&row, &screen->top, job);
	for (size_t i = 0; i < row.count; i++) {
		const struct gp_cli_cell *cell = &row.cells[i];
		struct gp_buf text = {0};
		int x = at % columns * wide;

		gp_show_value_text(&cell->value, &text);
		if (cell->value.unit > GP_UNIT_JSON && text.len &&
		    y + at / columns < canvas->height / 2) {
			gp_cli_canvas_put(canvas, y + at / columns, x + 1, 16, cell->key,
					  GP_STYLE_DIM);
			gp_cli_canvas_put(canvas, y + at / columns, x + 18, wide - 19,
					  gp_buf_str(&text),
					  (int)gp_cli_top_style(cell->value.colour));
			at++;
		}
		gp_buf_free(&text);
	}
	gp_cli_row_clear(&row);
	return y + (at + columns - 1) / columns;
}

void gp_cli_top_draw_detail(struct gp_cli_top_screen *screen)
{
	const struct gp_proto_msg_job *job = gp_cli_top_find(screen, screen->selected);
	struct gp_cli_canvas *canvas = &screen->canvas;
	int y = 3, room;
	char text[512];

	if (!job) {
		gp_cli_canvas_put(canvas, y, 0, canvas->width, _("the job no longer exists"),
				  GP_STYLE_WARN);
		return;
	}
	y = draw_facts(screen, y, job) + 1;
	snprintf(text, sizeof(text),
		 _("Last decisions about process %u (newest first); 'gpreempt why "
		   "%u' explains them"),
		 job->pid, job->pid);
	gp_cli_canvas_fill(canvas, y, GP_STYLE_TITLE);
	gp_cli_canvas_put(canvas, y++, 0, canvas->width, text, GP_STYLE_TITLE);
	room = canvas->height - 1 - y;
	for (int i = 0; i < room && (size_t)i < screen->line_count; i++) {
		const struct gp_cli_top_line *line =
			&screen->lines[screen->line_count - 1 - (size_t)i];

		snprintf(text, sizeof(text), _("%s ago: %s"),
			 gp_duration_text(screen->top.status.now_ns -
					  GP_MIN(line->at_ns, screen->top.status.now_ns))
				 .text,
			 line->text);
		gp_cli_canvas_put(canvas, y + i, 1, canvas->width, text, GP_STYLE_PLAIN);
	}
}

void gp_cli_top_draw_help(struct gp_cli_top_screen *screen)
{
	static const struct {
		const char *keys, *text;
	} keys[] = {
		{"? F1", N_("this help")},
		{"q", N_("quit")},
		{"j k Up Down", N_("select a job; the mouse and its wheel do as well")},
		{"PgUp PgDn Home End", N_("move by a page, to the first, to the last job")},
		{"Enter", N_("details of the job and the last decisions about it; Esc goes back")},
		{"o", N_("next order: priority, ran, held, preemptions, pid, p99, gpu")},
		{"g", N_("group the jobs by GPU")},
		{"t", N_("tree: also show how many processes a job has")},
		{"v", N_("rates of the last interval, or totals")},
		{"[ ]", N_("scroll the GPUs")},
		{"/", N_("show only jobs with a text in name, group or pid; Esc clears it")},
		{"d", N_("set the interval")},
		{"space", N_("pause, and go on")},
		{"n", N_("set the priority of the job")},
		{"s", N_("suspend the job: until 'c', at most max_suspend of gpreemptd (2 s if not "
			 "configured)")},
		{"c", N_("resume it")},
	};
	struct gp_cli_canvas *canvas = &screen->canvas;
	int y = 0;

	gp_cli_canvas_fill(canvas, y, GP_STYLE_TITLE);
	gp_cli_canvas_put(canvas, y++, 0, canvas->width,
			  _("gpreempt top: keys (any key goes back)"), GP_STYLE_TITLE);
	for (size_t i = 0; i < GP_ARRAY_SIZE(keys); i++, y++) {
		gp_cli_canvas_put(canvas, y, 1, 18, keys[i].keys, GP_STYLE_BOLD);
		gp_cli_canvas_put(canvas, y, 20, canvas->width, gettext(keys[i].text),
				  GP_STYLE_PLAIN);
	}
	y++;
	gp_cli_canvas_put(canvas, y, 1, canvas->width, _("running"), GP_STYLE_GOOD);
	gp_cli_canvas_put(canvas, y, 14, canvas->width, _("held, suspending"), GP_STYLE_WARN);
	gp_cli_canvas_put(canvas, y, 34, canvas->width,
			  _("stopped, p99 above its target, GPU disabled"), GP_STYLE_BAD);
}
