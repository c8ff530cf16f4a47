// SPDX-License-Identifier: MIT
/* `gpreempt top`: its keys, and what it shows while it has no daemon. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"
#include "base/i18n.h"
#include "cli/watch/documents.h"
#include "cli/watch/top_screen.h"

void gp_cli_top_draw_help(struct gp_cli_top_screen *screen)
{
	static const struct {
		const char *keys, *text;
	} keys[] = {
		{"? F1", N_("this help")},
		{"q", N_("quit")},
		{"j k Up Down", N_("select a job; so do the mouse and its wheel")},
		{"PgUp PgDn Home End", N_("move by a page, to the first, to the last job")},
		{"Enter", N_("the job: why it waits, queues, decisions; Esc goes back")},
		{"o", N_("sort by priority, ran, held, preemptions, pid, p99, gpu")},
		{"g", N_("group the jobs by GPU")},
		{"t", N_("tree: list the processes of jobs that have several")},
		{"v", N_("rates of the last interval, or totals")},
		{"[ ]", N_("scroll the GPUs")},
		{"/", N_("filter by name, group or pid; Esc clears it")},
		{"d", N_("set the interval")},
		{"space", N_("pause, and go on")},
		{"n", N_("set the priority of the job")},
		{"s", N_("suspend the job until 'c', at most for max_suspend")},
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
	gp_cli_canvas_put(canvas, y++, 34, canvas->width,
			  _("stopped, p99 above its target, GPU disabled"), GP_STYLE_BAD);
	gp_cli_canvas_wrap(canvas, y, 1, canvas->height,
			   _("BUSY%: share of the interval in which the job had work on the GPU. "
			     "Jobs that run at the same time can add up to more than 100 %. GPU%: "
			     "the share that the driver reports."),
			   GP_STYLE_DIM);
}

/* What is missing, what to do about it, and what the drivers list. */
void gp_cli_top_draw_absent(struct gp_cli_top_screen *screen)
{
	struct gp_cli_canvas *canvas = &screen->canvas;
	int y = 0, end = canvas->height - 1;
	char *rest = NULL, *copy, *line;

	gp_cli_canvas_fill(canvas, y, GP_STYLE_TITLE);
	gp_cli_canvas_put(canvas, y++, 0, canvas->width,
			  screen->client ? _("gpreempt top: no connection to gpreemptd")
					 : _("gpreempt top: the driver's scheduler cannot be read"),
			  GP_STYLE_TITLE);
	y = gp_cli_canvas_wrap(canvas, y + 1, 0, end, screen->said, GP_STYLE_WARN) + 1;
	if (screen->client)
		y = gp_cli_canvas_wrap(canvas, y, 0, end,
				       _("Jobs, priorities and latencies come from gpreemptd; they "
					 "appear here as soon as it runs."),
				       GP_STYLE_PLAIN) +
		    1;
	gp_cli_canvas_put(canvas, y++, 0, canvas->width,
			  _("Processes that use a GPU now, as the drivers list them:"),
			  GP_STYLE_BOLD);
	copy = strdup(screen->processes ? screen->processes : "");
	for (line = copy ? strtok_r(copy, "\n", &rest) : NULL; line && y < end;
	     line = strtok_r(NULL, "\n", &rest))
		gp_cli_canvas_put(canvas, y++, 1, canvas->width, line, GP_STYLE_PLAIN);
	free(copy);
}

void gp_cli_top_read_absent(struct gp_cli_top_screen *screen)
{
	struct gp_root root = {.dir = ""};
	struct gp_inspect_ps ps = {0};
	struct gp_doc *doc;
	size_t size;
	FILE *out;

	free(screen->processes);
	screen->processes = NULL;
	out = open_memstream(&screen->processes, &size);
	if (!out)
		return;
	if (gp_inspect_ps_read(&root, NULL, &ps) == 0) {
		if (ps.count) {
			doc = gp_cli_ps_doc(&ps);
			(void)gp_show_print(doc, out, GP_SHOW_TEXT);
			gp_doc_free(doc);
		} else if (!ps.driver_present && !ps.nvidia_present) {
			fputs(_("none: no GPU driver is loaded ('gpreempt doctor' says more)"),
			      out);
		} else {
			fputs(_("none"), out);
		}
		gp_inspect_ps_free(&ps);
	}
	fclose(out);
}
