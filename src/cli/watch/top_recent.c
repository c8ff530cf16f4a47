// SPDX-License-Identifier: MIT
/* `gpreempt top`: the last decisions, about one job or all. */
#include <stdio.h>
#include <string.h>

#include "base/core.h"
#include "base/units.h"
#include "cli/watch/top_screen.h"

enum { LINES_READ = 256, LINES_LEAST = 4 };

static int keep_decision(const struct gp_proto_msg_decision *line, void *data)
{
	struct gp_cli_top_screen *screen = data;
	struct gp_cli_top_line *kept;

	if (line->kind == GP_DECISION_RENEW || line->kind == GP_DECISION_TIMER)
		return 0;
	/* Of one job, also that an operation ended. */
	if (screen->mode != GP_TOP_DETAIL && gp_cli_decision_is_routine(line))
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

void gp_cli_top_read_decisions(struct gp_cli_top_screen *screen, u32 pid)
{
	const struct gp_proto_msg_daemon_status *status = &screen->top.status;
	u64 first = status->first_decision;

	screen->line_count = 0;
	if (!screen->client || !screen->connected)
		return;
	/* Of all jobs, only as many as a screen may show. */
	if (!pid && status->next_decision > first + LINES_READ)
		first = status->next_decision - LINES_READ;
	gp_cli_daemon_decisions(screen->client, &screen->diag, &first, pid, keep_decision, screen);
}

int gp_cli_top_draw_decisions(struct gp_cli_top_screen *screen, int y, int end, bool whole)
{
	u64 now = screen->top.status.now_ns;
	char text[512];

	for (size_t i = screen->line_count; i > 0 && y < end; i--) {
		const struct gp_cli_top_line *line = &screen->lines[i - 1];

		/* Decisions are read after the time. */
		if (line->at_ns >= now)
			snprintf(text, sizeof(text), _("just now: %s"), line->text);
		else
			snprintf(text, sizeof(text), _("%s ago: %s"),
				 gp_duration_text(now - line->at_ns).text, line->text);
		if (whole)
			y = gp_cli_canvas_wrap(&screen->canvas, y, 1, end, text, GP_STYLE_PLAIN);
		else
			gp_cli_canvas_put(&screen->canvas, y++, 1, screen->canvas.width - 1, text,
					  GP_STYLE_PLAIN);
	}
	return y;
}

void gp_cli_top_draw_recent(struct gp_cli_top_screen *screen, int y)
{
	int end = screen->canvas.height - 1;

	if (!screen->line_count || end - y < LINES_LEAST)
		return;
	y = gp_cli_canvas_heading(&screen->canvas, y, _("Last decisions, newest first"));
	gp_cli_top_draw_decisions(screen, y, end, false);
}
