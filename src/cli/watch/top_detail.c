// SPDX-License-Identifier: MIT
/*
 * `gpreempt top`: one job: what is known of it, its queues, why it runs or waits, and the last
 * decisions about it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"
#include "base/units.h"
#include "cli/daemon/why_state.h"
#include "cli/watch/top_screen.h"
#include "sched/sched.h"

enum { TOP = 2, LINES_MOST = 512 };

/* ---- reading ---- */

static struct gp_cli_top_queue *find_queue(struct gp_cli_top_screen *screen, u32 pid, u32 id)
{
	for (size_t i = 0; i < screen->queue_count; i++)
		if (screen->queues[i].pid == pid && screen->queues[i].id == id)
			return &screen->queues[i];
	if (screen->queue_count == GP_TOP_QUEUES)
		return NULL;
	screen->queues[screen->queue_count] = (struct gp_cli_top_queue){.pid = pid, .id = id};
	return &screen->queues[screen->queue_count++];
}

/* The record has what queues did, the oldest first: the last line about one is its state. */
static int keep_work(const struct gp_proto_msg_work *line, void *data)
{
	struct gp_cli_top_queue *queue = find_queue(data, line->pid, line->kfd_id);

	if (queue) {
		queue->gpu_id = line->gpu_id;
		queue->work = line->work;
		queue->since_ns = line->at_ns;
	}
	return 0;
}

/* As the driver lists them, and what gpreemptd saw of their work. */
static void read_queues(struct gp_cli_top_screen *screen, u32 pid)
{
	const struct gp_inspect_ps_row *process = gp_cli_top_process(&screen->top, pid);
	u64 first = 1;

	for (size_t i = 0; process && i < process->gpu->queue_count; i++) {
		const struct gp_gpu_queue *listed = &process->gpu->queues[i];
		struct gp_cli_top_queue *queue = find_queue(screen, pid, listed->id);

		if (!queue)
			break;
		queue->gpu_id = listed->gpu_id;
		queue->type = gp_kfd_queue_type_name(listed->type);
		queue->ring_bytes = listed->size;
	}
	gp_cli_daemon_work(screen->client, NULL, &first, pid, keep_work, screen);
}

static void read_why(struct gp_cli_top_screen *screen, const struct gp_proto_msg_job *job)
{
	struct gp_doc *doc = gp_doc_new_answer();
	size_t size;
	FILE *out = open_memstream(&screen->why, &size);

	gp_cli_why_state(doc, &(struct gp_cli_why_about){job->pid, &screen->top.status, job});
	if (out) {
		(void)gp_show_print(doc, out, GP_SHOW_TEXT);
		fclose(out);
	}
	gp_doc_free(doc);
}

void gp_cli_top_read_detail(struct gp_cli_top_screen *screen)
{
	const struct gp_proto_msg_job *job = gp_cli_top_find(screen, screen->selected);

	screen->line_count = screen->queue_count = 0;
	free(screen->why);
	screen->why = NULL;
	if (!job || !screen->client || !screen->connected)
		return;
	gp_cli_top_read_decisions(screen, job->pid);
	if (!gp_cli_top_member_count(&screen->top, job->id))
		read_queues(screen, job->pid);
	for (size_t i = 0; i < screen->top.member_count; i++)
		if (screen->top.members[i].job == job->id)
			read_queues(screen, screen->top.members[i].pid);
	read_why(screen, job);
}

/* ---- drawing ---- */

/* Facts go into two columns if there is room. */
struct facts {
	struct gp_cli_canvas *canvas;
	int y, count, columns, wide;
};

static void fact(struct facts *facts, const char *label, const char *text, int style)
{
	int y = facts->y + facts->count / facts->columns;
	int x = facts->count % facts->columns * facts->wide;

	if (!text || !*text)
		return;
	gp_cli_canvas_put(facts->canvas, y, x + 1, 15, gettext(label), GP_STYLE_DIM);
	gp_cli_canvas_put(facts->canvas, y, x + 17, facts->wide - 18, text, style);
	facts->count++;
}

static void factf(struct facts *facts, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void factf(struct facts *facts, const char *label, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fact(facts, label, text, GP_STYLE_PLAIN);
}

/* "0: be32, 0000:c1:00.0, AMD Instinct MI300X" */
static void fact_gpu(struct facts *facts, const struct gp_cli_top_data *top,
		     const struct gp_proto_msg_job *job)
{
	int index = gp_cli_top_gpu_index(top, job->gpu_id);
	const struct gp_gpu *gpu = gp_cli_top_gpu(top, job->gpu_id);
	char address[32] = "", name[GP_PROTO_NAME + 64] = "";

	if (index < 0)
		return;
	if (gpu)
		gp_inspect_pci_address(gpu, address, sizeof(address));
	gp_cli_top_gpu_name(top, &top->devices[index], name, sizeof(name));
	factf(facts, N_("GPU"), "%d: 0x%x%s%s%s%s%s", index, job->gpu_id, *address ? ", " : "",
	      address, *name ? ", " : "", name, job->devices > 1 ? _(" and others") : "");
}

/* The text of a column of the list. */
static void fact_cell(struct facts *facts, const struct gp_cli_row *row, const char *label,
		      const char *key)
{
	for (size_t i = 0; i < row->count; i++) {
		const struct gp_cli_cell *cell = &row->cells[i];
		struct gp_buf text = {0};

		if (!cell->key || strcmp(cell->key, key) != 0 ||
		    cell->value.unit == GP_UNIT_MISSING)
			continue;
		gp_show_value_text(&cell->value, &text);
		fact(facts, label, gp_buf_str(&text), (int)gp_cli_top_style(cell->value.colour));
		gp_buf_free(&text);
	}
}

static void fact_times(struct facts *facts, const struct gp_cli_top_data *top,
		       const struct gp_proto_msg_job *job)
{
	if (job->latency_count)
		factf(facts, N_("Latency"),
		      job->latency_of ? _("p50 %s, p99 %s (requests: %llu)")
				      : _("p50 %s, p99 %s (bursts of work: %llu)"),
		      gp_duration_text(job->latency_p50_ns).text,
		      gp_duration_text(job->latency_p99_ns).text,
		      (unsigned long long)job->latency_count);
	if (gp_cli_top_sees_work(job->gpu_id) || job->activity)
		factf(facts, N_("Ran"), _("%s; its work waited %s"),
		      gp_duration_text(gp_cli_top_ran_ns(job)).text,
		      gp_duration_text(job->waited_ns).text);
	if (top->status.mode || job->held_ns)
		factf(facts, N_("Held"), _("%s (suspensions: %llu, longest: %s)"),
		      gp_duration_text(job->held_ns).text, (unsigned long long)job->suspends,
		      gp_duration_text(job->longest_ns).text);
	if (!top->status.mode || job->would_held_ns)
		factf(facts, N_("Would be held"), _("%s (suspensions: %llu, longest: %s)"),
		      gp_duration_text(job->would_held_ns).text,
		      (unsigned long long)job->would_suspends,
		      gp_duration_text(job->would_longest_ns).text);
}

/* Returns the next free line. */
static int draw_facts(struct gp_cli_top_screen *screen, int y, const struct gp_proto_msg_job *job)
{
	struct gp_cli_row row = {.part = GP_CLI_JSON};
	struct facts facts = {.canvas = &screen->canvas, .y = y};

	facts.columns = screen->canvas.width >= 140 ? 2 : 1;
	facts.wide = screen->canvas.width / facts.columns;
	gp_cli_top_put_job(&row, &screen->top, job);
	factf(&facts, N_("Process"), "%u  %.*s", job->pid, (int)sizeof(job->name), job->name);
	fact_gpu(&facts, &screen->top, job);
	fact_cell(&facts, &row, N_("State"), "state");
	factf(&facts, N_("Class, priority"), "%s, %u", gp_cli_class_name(job->job_class),
	      job->priority);
	if (*job->group)
		factf(&facts, N_("Group"), _("%.*s (processes: %u)"), (int)sizeof(job->group),
		      job->group, job->processes);
	fact_cell(&facts, &row, N_("Rule"), "rule");
	fact_times(&facts, &screen->top, job);
	fact_cell(&facts, &row, "VRAM", "vram_bytes");
	fact_cell(&facts, &row, N_("Compute units"), "cu_occupancy");
	if (job->swapped)
		fact_cell(&facts, &row, N_("Swapped out"), "swapped_bytes");
	gp_cli_row_clear(&row);
	return y + (facts.count + facts.columns - 1) / facts.columns;
}

static const char *work_text(u32 work)
{
	switch (work) {
	case GP_SCHED_BUSY:
		return _("busy for %s");
	case GP_SCHED_DRAINED:
		return _("idle for %s");
	default:
		return _("probably idle for %s");
	}
}

static int draw_queues(struct gp_cli_top_screen *screen, int y, int end)
{
	u64 now = screen->top.status.now_ns;
	struct gp_buf text = {0};

	for (size_t i = 0; i < screen->queue_count && y < end; i++) {
		const struct gp_cli_top_queue *queue = &screen->queues[i];
		int index = gp_cli_top_gpu_index(&screen->top, queue->gpu_id);

		text.len = 0;
		gp_buf_printf(&text, _("queue %u of process %u"), queue->id, queue->pid);
		if (index >= 0)
			gp_buf_printf(&text, _(", GPU %d"), index);
		if (queue->type)
			gp_buf_printf(&text, ", %s", queue->type);
		if (queue->ring_bytes)
			gp_buf_printf(&text, _(", ring of %s"),
				      gp_size_text(queue->ring_bytes).text);
		if (queue->since_ns) {
			gp_buf_puts(&text, ", ");
			gp_buf_printf(&text, work_text(queue->work),
				      gp_duration_text(now - GP_MIN(queue->since_ns, now)).text);
		}
		gp_cli_canvas_put(&screen->canvas, y++, 1, screen->canvas.width, gp_buf_str(&text),
				  queue->since_ns && queue->work == GP_SCHED_BUSY ? GP_STYLE_GOOD
										  : GP_STYLE_PLAIN);
	}
	gp_buf_free(&text);
	return y;
}

static int draw_why(struct gp_cli_top_screen *screen, int y, int end)
{
	char *rest = NULL, *copy = strdup(screen->why ? screen->why : ""), *line;

	for (line = copy ? strtok_r(copy, "\n", &rest) : NULL; line && y < end;
	     line = strtok_r(NULL, "\n", &rest))
		y = gp_cli_canvas_wrap(&screen->canvas, y, 1, end, line, GP_STYLE_PLAIN);
	free(copy);
	return y;
}

/* All of it, however long. Returns the next free line. */
static int draw_job(struct gp_cli_top_screen *screen, const struct gp_proto_msg_job *job)
{
	struct gp_cli_canvas *canvas = &screen->canvas;
	int y = draw_facts(screen, 0, job);

	if (screen->why) {
		y = gp_cli_canvas_heading(canvas, y, _("Why it runs or waits"));
		y = draw_why(screen, y, canvas->height);
	}
	if (screen->queue_count) {
		y = gp_cli_canvas_heading(canvas, y, _("Queues"));
		y = draw_queues(screen, y, canvas->height);
	}
	if (screen->line_count) {
		y = gp_cli_canvas_heading(canvas, y, _("Last decisions about it, newest first"));
		y = gp_cli_top_draw_decisions(screen, y, canvas->height, true);
	}
	return y;
}

static void draw_rest(struct gp_cli_top_screen *screen, int y, int above, int below)
{
	char text[128];

	snprintf(text, sizeof(text),
		 _("lines: %d more above, %d more below (Up, Down, PgUp, PgDn)"), above, below);
	gp_cli_canvas_put(&screen->canvas, y, 1, screen->canvas.width, text, GP_STYLE_NOTE);
}

void gp_cli_top_draw_detail(struct gp_cli_top_screen *screen)
{
	const struct gp_proto_msg_job *job = gp_cli_top_find(screen, screen->selected);
	struct gp_cli_canvas shown = screen->canvas, whole = {.ascii = shown.ascii};
	int room = GP_MAX(shown.height - TOP - 1, 1), lines, first;

	if (!job) {
		gp_cli_canvas_put(&shown, TOP, 0, shown.width, _("the job no longer exists"),
				  GP_STYLE_WARN);
		return;
	}
	if (gp_cli_canvas_begin(&whole, shown.width, LINES_MOST))
		return;
	screen->canvas = whole;
	lines = draw_job(screen, job);
	screen->canvas = shown;
	if (lines > room)
		room = GP_MAX(room - 1, 1);
	first = GP_MAX(GP_MIN(screen->detail_first, lines - room), 0);
	gp_cli_canvas_copy(&screen->canvas, TOP, &whole, first, GP_MIN(room, lines - first));
	if (lines > room)
		draw_rest(screen, TOP + room, first, lines - first - room);
	screen->detail_first = first;
	screen->detail_page = room;
	gp_cli_canvas_free(&whole);
}
