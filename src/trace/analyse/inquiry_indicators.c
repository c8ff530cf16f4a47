// SPDX-License-Identifier: MIT
/* The files, their clocks, and the table of indicators. */
#include <stdio.h>

#include "base/core.h"
#include "base/i18n.h"
#include "trace/analyse/inquiry.h"

enum verdict { MET, MISSED, ABSENT };

static void indicator(struct gp_doc *doc, const char *code, const char *what, const char *target,
		      struct gp_show_value found, enum verdict verdict)
{
	gp_doc_cell(doc, gp_v_word(code, what));
	gp_doc_cell(doc, gp_v_text(target));
	gp_doc_cell(doc, found);
	gp_doc_cell(doc, verdict == MET      ? gp_v_word("met", _("met"))
			 : verdict == MISSED ? gp_v_word("missed", _("not met"))
					     : gp_v_word("absent", _("not in this data")));
}

static enum verdict judge(bool known, bool met)
{
	return known ? met ? MET : MISSED : ABSENT;
}

/* How often functions were seen; `all`: none of them can have been missed. */
static struct gp_show_value seen(bool traced, u64 count, bool all)
{
	return !traced        ? gp_v_missing()
	       : count || all ? gp_v_count(count)
			      : gp_v_word("not-seen", _("not seen"));
}

void gp_trace_inquiry_indicators(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	const struct gp_trace_kfdpath *path = &q->path;
	bool traced = path->function_count > 0;
	u64 mqd = gp_trace_kfdpath_count(path, GP_MATCH_START, "init_mqd", NULL) +
		  gp_trace_kfdpath_count(path, GP_MATCH_START, "update_mqd", NULL);
	u64 kcq = gp_trace_kfdpath_count(path, GP_MATCH_PART, "kcq", NULL);
	u64 doorbell = gp_trace_kfdpath_count(path, GP_MATCH_PART, "doorbell", NULL);
	u64 creations = path->creation_count, sum = path->creation_ns;

	gp_doc_section(doc, "indicators", "Indicators");
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "indicator", "INDICATOR");
	gp_doc_column(doc, "target", "TARGET");
	gp_doc_column(doc, "found", "FOUND");
	gp_doc_column(doc, "verdict", "VERDICT");
	indicator(doc, "creation", _("time to create a queue in the driver, mean"), "< 1 ms",
		  gp_v_if(creations, gp_v_ns(creations ? sum / creations : 0)),
		  judge(creations, creations && sum / creations < GP_NS_PER_MS));
	/* A trace of a few functions only would show none; that says nothing. */
	indicator(doc, "mqd", _("calls to init_mqd* and update_mqd* per queue created"), "1-2",
		  gp_v_if(creations && mqd,
			  gp_v_real(GP_UNIT_REAL, creations ? (double)mqd / (double)creations : 0)),
		  judge(creations && mqd, creations && mqd >= creations && mqd <= 2 * creations));
	/* A function that was not traced is not seen either: that is no 0. */
	indicator(doc, "kcq", _("calls to functions named *kcq* (kernel compute queues)"), "0",
		  seen(traced, kcq, q->kcq_traced), judge(traced && (kcq || q->kcq_traced), !kcq));
	indicator(doc, "doorbell", _("calls to functions named *doorbell*"), NULL,
		  seen(traced, doorbell, false), judge(doorbell, true));
	for (size_t i = 0; i < q->count; i++) {
		const struct gp_trace_workload *workload;
		char label[256];
		size_t count;

		if (q->inputs[i]->kind != GP_SOURCE_AMDLOG)
			continue;
		workload = q->inputs[i]->workload;
		gp_trace_log_queues_items(workload->queues, &count);
		snprintf(label, sizeof(label), _("%s: compute queues"),
			 gp_trace_inquiry_file(q->inputs[i]->name));
		indicator(doc, "queues", label, "1-3", gp_v_count(count), judge(count, count <= 3));
		snprintf(label, sizeof(label), _("%s: packets waiting in a queue, maximum"),
			 gp_trace_inquiry_file(q->inputs[i]->name));
		indicator(doc, "backlog", label, "< 100",
			  gp_v_if(workload->ahead_seen, gp_v_count(workload->ahead_high)),
			  judge(workload->ahead_seen, workload->ahead_high < 100));
	}
	/* Indicators that no log or trace contains. */
	indicator(doc, "active", _("hardware slot in use (CP_HQD_ACTIVE)"), "1", gp_v_missing(),
		  ABSENT);
	indicator(doc, "quantum", _("time slice of a slot (QUANTUM)"), "512-1024", gp_v_missing(),
		  ABSENT);
	gp_doc_note(doc, "'gpreempt hqd' shows the slots and their time slices on a live system.");
}

/* Of what the kernel's tracer recorded. */
static bool is_trace(const struct gp_trace_inquiry_input *input)
{
	return input->kind == GP_SOURCE_FTRACE || input->kind == GP_SOURCE_TRACEDAT;
}

/* "MONOTONIC", or all clocks of its events; empty if no event has a time. */
static struct gp_show_value clocks_of(const struct gp_trace_inquiry_input *input, char *out,
				      size_t size)
{
	size_t len = 0;

	for (u32 clock = 0; clock <= GP_CLOCK_DMESG; clock++)
		if (input->clocks & 1u << clock && len < size)
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "",
						gp_trace_clock_name(clock));
	return gp_v_if(len, gp_v_text(out));
}

/* What a reader calls it; the JSON has the name of the kind. */
static struct gp_show_value kind_word(enum gp_trace_source_kind kind)
{
	const char *name = gp_trace_source_name(kind);

	switch (kind) {
	case GP_SOURCE_KFDLOG:
		return gp_v_word(name, _("KFD kernel messages"));
	case GP_SOURCE_SMI:
		return gp_v_word(name, _("process list"));
	case GP_SOURCE_DECISIONS:
		return gp_v_word(name, _("gpreemptd log"));
	case GP_SOURCE_CLOCKS:
		return gp_v_word(name, _("clock readings"));
	default:
		return gp_v_text(name);
	}
}

static void put_files(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	bool profile = false;

	gp_doc_section(doc, "files", "Files");
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "file", "FILE");
	gp_doc_column(doc, "kind", "KIND");
	gp_doc_column(doc, "clock", "CLOCK");
	gp_doc_column(doc, "events", "EVENTS");
	gp_doc_column(doc, "damaged", "DAMAGED");
	gp_doc_column(doc, "gaps", "GAPS");
	gp_doc_column(doc, "lost", "LOST");
	gp_doc_column(doc, "jumps", "BACKWARD JUMPS");
	for (size_t i = 0; i < q->count; i++) {
		const struct gp_trace_inquiry_input *input = q->inputs[i];
		char clocks[96];
		bool trace = is_trace(input), gaps = trace || input->kind == GP_SOURCE_DECISIONS;

		gp_doc_cell(doc, gp_v_text(input->name));
		gp_doc_cell(doc, kind_word(input->kind));
		gp_doc_cell(doc, clocks_of(input, clocks, sizeof(clocks)));
		gp_doc_cell(doc, gp_v_count(input->events));
		gp_doc_cell(doc, gp_v_count(input->damaged));
		gp_doc_cell(doc, gp_v_if(gaps, gp_v_count(input->gaps)));
		gp_doc_cell(doc, gp_v_if(gaps, gp_v_count(input->lost)));
		gp_doc_cell(doc, gp_v_if(trace || input->kind == GP_SOURCE_AMDLOG,
					 gp_v_count(input->jumps)));
		profile |= input->kind == GP_SOURCE_ROCPROF;
	}
	if (profile)
		gp_doc_note(doc, "A profile contains nothing about the driver. 'gpreempt report' "
				 "shows what rocprof recorded: calls, kernels, copies, queues and "
				 "the time spent in each layer.");
}

/* One clock against another, by whatever was seen on both. */
static void put_pair(struct gp_doc *doc, const char *clock, const char *against, const char *code,
		     const char *by, const struct gp_trace_alignment *a)
{
	gp_doc_cell(doc, gp_v_text(clock));
	gp_doc_cell(doc, gp_v_text(against));
	gp_doc_cell(doc, gp_v_word(code, by));
	gp_doc_cell(doc, gp_v_count(a->anchors));
	gp_doc_cell(doc, gp_v_if(a->offset_ns >= 0, gp_v_ns((u64)a->offset_ns)));
	gp_doc_cell(doc, gp_v_if(a->offset_ns < 0, gp_v_ns(0 - (u64)a->offset_ns)));
	gp_doc_cell(doc, gp_v_ns(a->residual_ns));
}

static void put_pairs(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	static const enum gp_trace_clock clocks[] = {GP_CLOCK_MONOTONIC_RAW, GP_CLOCK_BOOTTIME};
	enum gp_trace_clock trace = q->trace_clock;

	if (!q->alignment.known && !q->clocks.count)
		return;
	for (size_t i = 0; i < q->count; i++)
		if (is_trace(q->inputs[i]))
			trace = q->inputs[i]->clock;
	gp_doc_table(doc, "pairs", NULL);
	gp_doc_column(doc, "clock", "CLOCK");
	gp_doc_column(doc, "against", "REFERENCE CLOCK");
	gp_doc_column(doc, "by", "ALIGNED BY");
	gp_doc_column(doc, "anchors", "COMMON POINTS");
	gp_doc_column(doc, "ahead_ns", "AHEAD BY");
	gp_doc_column(doc, "behind_ns", "BEHIND BY");
	gp_doc_column(doc, "residual_ns", "RESIDUAL");
	if (q->alignment.known)
		put_pair(doc, gp_trace_clock_name(GP_CLOCK_MONOTONIC), gp_trace_clock_name(trace),
			 "creations", _("queue creations"), &q->alignment);
	for (size_t i = 0; i < GP_ARRAY_SIZE(clocks) && q->clocks.count; i++) {
		struct gp_trace_alignment a;

		gp_trace_clocks_align(&q->clocks, clocks[i], &a);
		put_pair(doc, gp_trace_clock_name(clocks[i]),
			 gp_trace_clock_name(GP_CLOCK_MONOTONIC), "readings",
			 _("readings of both clocks"), &a);
	}
}

/* Clocks that events have and nothing here relates to MONOTONIC. */
static void note_strangers(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	u32 used = 0, known = 1u << GP_CLOCK_MONOTONIC;
	char names[96];
	size_t len = 0;

	for (size_t i = 0; i < q->count; i++)
		used |= q->inputs[i]->clocks;
	if (q->alignment.known)
		known |= 1u << GP_CLOCK_TRACE;
	if (q->clocks.count)
		known |= 1u << GP_CLOCK_MONOTONIC_RAW | 1u << GP_CLOCK_BOOTTIME;
	/* One clock alone needs no other. */
	if (!(used & (used - 1)) || !(used & ~known))
		return;
	for (u32 clock = 0; clock <= GP_CLOCK_DMESG; clock++)
		if (used & ~known & 1u << clock)
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
						len ? ", " : "", gp_trace_clock_name(clock));
	gp_doc_note(doc,
		    "No input relates these clocks to MONOTONIC: %s. Their times are not compared "
		    "with those of other clocks (clocks.json from 'gpreempt trace' relates "
		    "MONOTONIC_RAW and BOOTTIME).",
		    names);
}

static void put_clocks(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	const struct gp_trace_alignment *a = &q->alignment;
	bool log = false, trace = false, text = false, same = true;

	for (size_t i = 0; i < q->count; i++) {
		log |= q->inputs[i]->kind == GP_SOURCE_AMDLOG;
		trace |= is_trace(q->inputs[i]);
		same &= !is_trace(q->inputs[i]) || q->inputs[i]->clock == GP_CLOCK_MONOTONIC;
		text |= q->inputs[i]->kind == GP_SOURCE_FTRACE;
	}
	gp_doc_section(doc, "clocks", "Clocks");
	/* Without both there is nothing to align: only JSON has these. */
	gp_doc_fact(doc, "anchors",
		    log && trace ? _("Queue creations found in both log and trace") : NULL,
		    gp_v_if(log && trace, gp_v_count(a->anchors)));
	gp_doc_fact(doc, "offset_ns",
		    a->known && a->offset_ns >= 0
			    ? _("The clock of the AMD log is ahead of the ftrace clock by")
			    : NULL,
		    gp_v_if(a->known && a->offset_ns >= 0, gp_v_ns((u64)a->offset_ns)));
	gp_doc_fact(doc, "offset_behind_ns",
		    a->known && a->offset_ns < 0
			    ? _("The clock of the AMD log is behind the ftrace clock by")
			    : NULL,
		    gp_v_if(a->known && a->offset_ns < 0, gp_v_ns(0 - (u64)a->offset_ns)));
	gp_doc_fact(doc, "residual_ns", a->known ? _("Largest deviation (residual)") : NULL,
		    gp_v_if(a->known, gp_v_ns(a->residual_ns)));
	if (!log || !trace)
		gp_doc_note(doc, "Only a log together with a trace has two clocks to align.");
	put_pairs(q, doc);
	if (log && trace && !a->known && !same)
		gp_doc_note(doc, "The two clocks cannot be aligned: the log and the trace do not "
				 "contain the same queue creations. Their times are not compared.");
	note_strangers(q, doc);
	if (log && trace && same)
		gp_doc_note(doc, "The log and the trace use the same clock, MONOTONIC: their times "
				 "can be compared directly.");
	if (text)
		gp_doc_note(doc,
			    "ftrace text does not name its clock; 'gpreempt analyze --trace-clock' "
			    "sets it. Durations are never computed across clocks.");
}

struct gp_doc *gp_trace_inquiry_doc(const struct gp_trace_inquiry *inquiry)
{
	struct gp_doc *doc =
		gp_doc_new("analyze", "The path of work from the runtime through KFD to the GPU");

	if (!doc)
		return NULL;
	put_files(inquiry, doc);
	gp_trace_inquiry_questions(inquiry, doc);
	gp_trace_inquiry_indicators(inquiry, doc);
	gp_trace_inquiry_lists(inquiry, doc);
	put_clocks(inquiry, doc);
	return doc;
}
