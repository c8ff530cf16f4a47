// SPDX-License-Identifier: MIT
/* What analyze reads besides logs and traces: lists of processes, decisions, libhsakmt's lines and
 * readings of clocks; and their sections of the report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/i18n.h"
#include "trace/read/decision_log.h"
#include "trace/read/hsakmt.h"
#include "trace/analyse/inquiry.h"
#include "trace/read/smi.h"

#define PROCESSES_MAX 65536 /* that are kept; a machine has fewer pids by default */

static struct gp_trace_inquiry_input *current(struct gp_trace_inquiry *inquiry)
{
	return inquiry->inputs[inquiry->count - 1];
}

/* ---- reading ---- */

static int process_event(void *ctx, const struct gp_event *event)
{
	struct gp_trace_inquiry *inquiry = ctx;
	struct gp_trace_inquiry_process process = {.pid = event->pid,
						   .input = (u32)(inquiry->count - 1),
						   .line = event->line,
						   .gpu = event->gpu,
						   .gpus = event->count,
						   .vram = event->size,
						   .valid = event->valid};

	if (event->name)
		snprintf(process.name, sizeof(process.name), "%.*s", (int)event->name_len,
			 event->name);
	if (event->text)
		snprintf(process.occupancy, sizeof(process.occupancy), "%.*s", (int)event->text_len,
			 event->text);
	if (inquiry->process_count < PROCESSES_MAX) {
		if (gp_array_grow((void **)&inquiry->processes, inquiry->process_count,
				  &inquiry->process_capacity, sizeof(process)))
			return -ENOMEM;
		inquiry->processes[inquiry->process_count++] = process;
	}
	return gp_trace_inquiry_tell(inquiry, event);
}

static bool named(const struct gp_event *event, const char *name)
{
	return event->name_len == strlen(name) && !memcmp(event->name, name, event->name_len);
}

static int decision_event(void *ctx, const struct gp_event *event)
{
	struct gp_trace_inquiry *inquiry = ctx;
	struct gp_trace_inquiry_decisions *decisions = &inquiry->decisions;

	if (event->kind == GP_EVENT_DECISION) {
		if (!decisions->count++) {
			decisions->line = event->line;
			decisions->input = (u32)(inquiry->count - 1);
		}
		decisions->suspends += named(event, "suspend");
		decisions->resumes += named(event, "resume");
		decisions->failed += named(event, "done") && event->valid & GP_EV_COUNT;
		decisions->observed += event->partial;
		/* A resume carries the time suspended. */
		if (named(event, "resume") && event->valid & GP_EV_DURATION) {
			decisions->held++;
			decisions->held_ns += event->duration_ns;
			if (event->duration_ns > decisions->held_max_ns)
				decisions->held_max_ns = event->duration_ns;
		}
	}
	return gp_trace_inquiry_tell(inquiry, event);
}

static int hsakmt_event(void *ctx, const struct gp_event *event)
{
	struct gp_trace_inquiry *inquiry = ctx;

	if (!inquiry->hsakmt_lines++) {
		inquiry->hsakmt_line = event->line;
		inquiry->hsakmt_input = (u32)(inquiry->count - 1);
	}
	inquiry->hsakmt_calls += event->kind == GP_EVENT_API_ENTER;
	return gp_trace_inquiry_tell(inquiry, event);
}

int gp_trace_inquiry_read_decisions(struct gp_trace_inquiry *inquiry, int fd, struct gp_diag *diag)
{
	struct gp_trace_inquiry_input *input = current(inquiry);
	struct gp_trace_decision_log_stats stats;
	int ret =
		gp_trace_decision_log_read(fd, input->name, diag, decision_event, inquiry, &stats);

	input->clock = GP_CLOCK_MONOTONIC;
	input->damaged = stats.damaged;
	input->gaps = stats.gaps;
	input->lost = stats.lost;
	return ret;
}

int gp_trace_inquiry_read_hsakmt(struct gp_trace_inquiry *inquiry, int fd, struct gp_diag *diag)
{
	struct gp_trace_hsakmt_stats stats;

	return gp_trace_hsakmt_read(fd, current(inquiry)->name, diag, hsakmt_event, inquiry,
				    &stats);
}

int gp_trace_inquiry_read_smi(struct gp_trace_inquiry *inquiry, int fd, struct gp_diag *diag)
{
	struct gp_trace_inquiry_input *input = current(inquiry);
	struct gp_trace_smi_stats stats;
	int ret = gp_trace_smi_read(fd, input->name, diag, process_event, inquiry, &stats);

	input->damaged = stats.damaged;
	return ret;
}

int gp_trace_inquiry_read_clocks(struct gp_trace_inquiry *inquiry, int fd, struct gp_diag *diag)
{
	struct gp_trace_inquiry_input *input = current(inquiry);
	int ret = gp_trace_clocks_read(fd, input->name, diag, &inquiry->clocks);

	input->events = inquiry->clocks.count;
	return ret;
}

/* ---- the report ---- */

static struct gp_show_value place(const struct gp_trace_inquiry *q, u32 input, u64 line, char *out,
				  size_t size)
{
	const char *name = q->inputs[input]->name, *slash = strrchr(name, '/');

	if (!line)
		return gp_v_text(slash ? slash + 1 : name);
	snprintf(out, size, "%s:%llu", slash ? slash + 1 : name, (unsigned long long)line);
	return gp_v_text(out);
}

static bool has_log(const struct gp_trace_inquiry *q, u32 pid)
{
	for (size_t i = 0; i < q->count; i++)
		if (q->inputs[i]->kind == GP_SOURCE_AMDLOG && q->inputs[i]->pid == pid)
			return true;
	return false;
}

static void put_processes(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	char text[256];

	gp_doc_section(doc, "processes", "Processes on the GPUs");
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "pid", "PID");
	gp_doc_column(doc, "name", "NAME");
	gp_doc_column(doc, "gpu", "GPU");
	gp_doc_column(doc, "gpus", "GPU COUNT");
	gp_doc_column(doc, "vram_bytes", "VRAM");
	gp_doc_column(doc, "cu_occupancy", "CU OCCUPANCY");
	gp_doc_column(doc, "log", "HAS LOG");
	gp_doc_column(doc, "evidence", "EVIDENCE");
	for (size_t i = 0; i < q->process_count; i++) {
		const struct gp_trace_inquiry_process *process = &q->processes[i];

		gp_doc_cell(doc, gp_v_count(process->pid));
		gp_doc_cell(doc, gp_v_if(process->name[0], gp_v_text(process->name)));
		gp_doc_cell(doc, gp_v_if(process->valid & GP_EV_GPU, gp_v_count(process->gpu)));
		gp_doc_cell(doc, gp_v_if(process->valid & GP_EV_COUNT, gp_v_count(process->gpus)));
		gp_doc_cell(doc, gp_v_if(process->valid & GP_EV_BYTES, gp_v_bytes(process->vram)));
		gp_doc_cell(doc, gp_v_if(process->occupancy[0], gp_v_text(process->occupancy)));
		gp_doc_cell(doc, gp_v_bool(has_log(q, process->pid)));
		gp_doc_cell(doc, place(q, process->input, process->line, text, sizeof(text)));
	}
}

static void put_decisions(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	const struct gp_trace_inquiry_decisions *decisions = &q->decisions;
	char text[256];

	gp_doc_section(doc, "decisions", "Decisions of gpreemptd");
	gp_doc_fact(doc, "lines", "Lines in the log", gp_v_count(decisions->count));
	gp_doc_fact(doc, "suspends", "Decisions to suspend", gp_v_count(decisions->suspends));
	gp_doc_fact(doc, "resumes", "Decisions to resume", gp_v_count(decisions->resumes));
	gp_doc_fact(doc, "failed", "Operations that failed", gp_v_count(decisions->failed));
	gp_doc_fact(doc, "observed", "Decisions recorded but not executed (observe mode)",
		    gp_v_count(decisions->observed));
	gp_doc_fact(doc, "held_ns",
		    "Time from a decision to suspend to the decision to resume, mean",
		    gp_v_if(decisions->held,
			    gp_v_ns(decisions->held ? decisions->held_ns / decisions->held : 0)));
	gp_doc_fact(doc, "held_longest_ns",
		    "Time from a decision to suspend to the decision to resume, longest",
		    gp_v_if(decisions->held, gp_v_ns(decisions->held_max_ns)));
	gp_doc_fact(doc, "evidence", "First line",
		    place(q, decisions->input, decisions->line, text, sizeof(text)));
}

void gp_trace_inquiry_lists(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	char text[256];

	if (q->process_count)
		put_processes(q, doc);
	if (q->decisions.count)
		put_decisions(q, doc);
	if (!q->hsakmt_lines)
		return;
	gp_doc_section(doc, "hsakmt", "libhsakmt");
	gp_doc_fact(doc, "lines", "Lines printed", gp_v_count(q->hsakmt_lines));
	gp_doc_fact(doc, "calls", "Lines with a function name", gp_v_count(q->hsakmt_calls));
	gp_doc_fact(doc, "evidence", "First line",
		    place(q, q->hsakmt_input, q->hsakmt_line, text, sizeof(text)));
	gp_doc_note(doc, "libhsakmt prints neither times nor process ids: its lines cannot be "
			 "ordered relative to other events.");
}
