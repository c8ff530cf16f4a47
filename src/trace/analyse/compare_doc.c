// SPDX-License-Identifier: MIT
/* The comparison as a report. */
#include <stdio.h>

#include "base/i18n.h"
#include "trace/analyse/compare.h"

#define NAMES_SHOWN 20 /* kernels of each case */
_Static_assert(NAMES_SHOWN == 20, "the title of the table says so");
#define NAME_COLUMNS 72 /* bytes of a kernel's name that people see; JSON has all of it */

static const char *const letters[2] = {"A", "B"};

static void metric(struct gp_doc *doc, const char *code, const char *label, struct gp_show_value a,
		   struct gp_show_value b)
{
	gp_doc_cell(doc, gp_v_word(code, label));
	gp_doc_cell(doc, a);
	gp_doc_cell(doc, b);
}

static struct gp_show_value percent(u64 part, u64 whole)
{
	return gp_v_if(whole, gp_v_real(GP_UNIT_PERCENT,
					whole ? 100.0 * (double)part / (double)whole : 0));
}

static u64 length(const struct gp_trace_workload *workload)
{
	return workload->last_ns - workload->first_ns;
}

static struct gp_show_value at_once(const struct gp_trace_workload *workload)
{
	for (size_t i = GP_WORKLOAD_AT_ONCE; i; i--)
		if (workload->windows[i])
			return gp_v_count(i);
	return gp_v_missing();
}

static struct gp_show_value mean_at_once(const struct gp_trace_workload *workload)
{
	u64 windows = 0, sum = 0;

	for (size_t i = 1; i <= GP_WORKLOAD_AT_ONCE; i++) {
		windows += workload->windows[i];
		sum += workload->windows[i] * i;
	}
	return gp_v_if(windows,
		       gp_v_real(GP_UNIT_REAL, windows ? (double)sum / (double)windows : 0));
}

static struct gp_show_value rate(const struct gp_trace_workload *workload)
{
	double value = gp_trace_workload_rate(workload);

	return gp_v_if(value > 0, gp_v_real(GP_UNIT_RATE, value));
}

static struct gp_show_value ahead(const struct gp_trace_workload *workload)
{
	return gp_v_if(workload->ahead_count,
		       gp_v_real(GP_UNIT_REAL, workload->ahead_count
						       ? (double)workload->ahead_sum /
								 (double)workload->ahead_count
						       : 0));
}

static struct gp_show_value copy_bytes(const struct gp_trace_workload *workload)
{
	return gp_v_if(workload->unsized_copies < workload->copies,
		       gp_v_bytes(workload->copy_bytes));
}

/* One metric of both cases. */
#define METRIC(code, label, of) metric(doc, code, label, of(0), of(1))

static void put_metrics(struct gp_doc *doc, const struct gp_trace_comparison *c)
{
	gp_doc_section(doc, "cases", "Cases");
	gp_doc_fact(doc, "a", "A", gp_v_text(c->names[0]));
	gp_doc_fact(doc, "b", "B", gp_v_text(c->names[1]));
	gp_doc_table(doc, "metrics", NULL);
	gp_doc_column(doc, "metric", "METRIC");
	gp_doc_column(doc, "a", "A");
	gp_doc_column(doc, "b", "B");
#define OF_QUEUES(i)   gp_v_count(c->queues[i])
#define PACKETS(i)     gp_trace_workload_has_packets(c->cases[i])
#define OF_COUNT(i)    gp_v_if(PACKETS(i), gp_v_count(c->cases[i]->dispatches))
#define OF_NAMED(i)    gp_v_if(PACKETS(i), gp_v_count(c->cases[i]->named))
#define OF_KERNELS(i)  gp_v_count(c->cases[i]->kernel_count)
#define OF_BARRIERS(i) gp_v_if(PACKETS(i), gp_v_count(c->cases[i]->barriers))
#define OF_COPIES(i) \
	gp_v_if(gp_trace_workload_has_copies(c->cases[i]), gp_v_count(c->cases[i]->copies))
#define OF_BYTES(i)   copy_bytes(c->cases[i])
#define OF_CALLS(i)   gp_v_if(c->cases[i]->calls, gp_v_count(c->cases[i]->calls))
#define OF_WAITS(i)   gp_v_if(c->cases[i]->calls, gp_v_count(c->cases[i]->waits))
#define OF_LENGTH(i)  gp_v_if(c->cases[i]->has_time, gp_v_ns(length(c->cases[i])))
#define OF_RATE(i)    rate(c->cases[i])
#define OF_AT_ONCE(i) at_once(c->cases[i])
#define OF_MEAN(i)    mean_at_once(c->cases[i])
#define OF_AHEAD(i)   ahead(c->cases[i])
#define OF_GAPS(i)    gp_v_if(c->cases[i]->has_time, gp_v_count(c->cases[i]->idle_gaps))
#define OF_IDLE(i)    percent(c->cases[i]->idle_ns, length(c->cases[i]))
#define OF_JUMPS(i)   gp_v_count(c->cases[i]->jumps)
	METRIC("queues", _("hardware queues"), OF_QUEUES);
	METRIC("dispatches", _("kernels submitted"), OF_COUNT);
	METRIC("named", _("kernels submitted, with a known name"), OF_NAMED);
	METRIC("kernels", _("distinct kernels"), OF_KERNELS);
	METRIC("barriers", _("barriers"), OF_BARRIERS);
	METRIC("copies", _("copies submitted to a copy engine"), OF_COPIES);
	METRIC("copy_bytes", _("bytes copied by the copy engines"), OF_BYTES);
	METRIC("calls", _("HIP calls"), OF_CALLS);
	METRIC("waits", _("HIP calls that wait (*Synchronize)"), OF_WAITS);
	METRIC("length_ns", _("time from first to last submission"), OF_LENGTH);
	METRIC("rate", _("kernels per second"), OF_RATE);
	METRIC("queues_at_once_high", _("queues used in a 10 ms window, maximum (16: 16 or more)"),
	       OF_AT_ONCE);
	METRIC("queues_at_once_mean", _("queues used in a 10 ms window, mean"), OF_MEAN);
	METRIC("packets_ahead_mean", _("packets already in the queue at submission, mean"),
	       OF_AHEAD);
	METRIC("idle_gaps", _("pauses of 1 ms or more"), OF_GAPS);
	METRIC("idle_share", _("share of time spent in pauses of 1 ms or more"), OF_IDLE);
	if (c->cases[0]->jumps || c->cases[1]->jumps)
		METRIC("jumps", _("backward clock jumps"), OF_JUMPS);
}

static struct gp_show_value priority_word(const struct gp_trace_log_queue *queue)
{
	if (!(queue->valid & GP_LQ_PRIORITY))
		return gp_v_missing();
	return queue->priority == 0   ? gp_v_word("low", _("low"))
	       : queue->priority == 1 ? gp_v_word("normal", _("normal"))
	       : queue->priority == 2 ? gp_v_word("high", _("high"))
				      : gp_v_count(queue->priority);
}

static void put_queue_rows(struct gp_doc *doc, const struct gp_trace_comparison *c, int which)
{
	size_t count;
	const struct gp_trace_log_queue *rows =
		gp_trace_log_queues_items(c->cases[which]->queues, &count);

	for (size_t i = 0; i < count; i++) {
		const struct gp_trace_log_queue *q = &rows[i];
		bool packets = q->valid & GP_LQ_PACKETS;

		gp_doc_cell(doc, gp_v_text(letters[which]));
		gp_doc_cell(doc, gp_v_if(q->pid, gp_v_count(q->pid)));
		gp_doc_cell(doc, gp_v_hex(q->address));
		gp_doc_cell(doc, gp_v_if(q->valid & GP_LQ_HSA_ID, gp_v_count(q->hsa_id)));
		gp_doc_cell(doc, priority_word(q));
		gp_doc_cell(doc, gp_v_if(q->valid & GP_LQ_STREAMS, gp_v_count(q->streams_max)));
		gp_doc_cell(doc, gp_v_if(packets, gp_v_count(q->dispatches)));
		gp_doc_cell(doc, gp_v_if(packets, gp_v_count(q->barriers)));
		gp_doc_cell(doc, gp_v_if(packets && q->valid & GP_LQ_FIRST,
					 gp_v_ns(q->last_ns - q->first_ns)));
		gp_doc_cell(doc, gp_v_if(q->failed, gp_v_text(q->failure.error[0] ? q->failure.error
										  : "yes")));
	}
}

static void put_queues(struct gp_doc *doc, const struct gp_trace_comparison *c)
{
	gp_doc_section(doc, "queues", "Queues");
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "case", "CASE");
	gp_doc_column(doc, "pid", "PID");
	gp_doc_column(doc, "address", "ADDRESS");
	gp_doc_column(doc, "hsa_id", "HSA ID");
	gp_doc_column(doc, "priority", "PRIORITY");
	gp_doc_column(doc, "streams", "STREAMS");
	gp_doc_column(doc, "dispatches", "KERNELS");
	gp_doc_bars(doc);
	gp_doc_column(doc, "barriers", "BARRIERS");
	gp_doc_column(doc, "used_ns", "FIRST TO LAST PACKET");
	gp_doc_column(doc, "error", "ABORTED");
	put_queue_rows(doc, c, 0);
	put_queue_rows(doc, c, 1);
	gp_doc_section(doc, "overlap", "Overlap");
	gp_doc_fact(doc, "same_process", "Same process",
		    gp_v_if(c->pids_known, gp_v_bool(c->same_process)));
	gp_doc_fact(doc, "shared_queues", "Queues used by both",
		    gp_v_if(c->pids_known, gp_v_count(c->shared_queues)));
	gp_doc_fact(doc, "same_hsa_ids", "HSA ids found in both", gp_v_count(c->same_ids));
	gp_doc_fact(doc, "overlap_ns",
		    "Overlap of both runs, first to last event (only if recorded on one machine)",
		    gp_v_if(c->has_overlap, gp_v_ns(c->overlap_ns)));
	gp_doc_note(doc, "HSA ids are per process: the same id in two processes means two queues.");
}

static void put_classes(struct gp_doc *doc, const struct gp_trace_comparison *c)
{
	gp_doc_section(doc, "kernels", "Kernels");
	gp_doc_table(doc, "classes", "By class (derived from the kernel name)");
	gp_doc_column(doc, "class", "CLASS");
	gp_doc_column(doc, "a", "A");
	gp_doc_column(doc, "a_share", "SHARE OF A");
	gp_doc_bars(doc);
	gp_doc_column(doc, "b", "B");
	gp_doc_column(doc, "b_share", "SHARE OF B");
	gp_doc_bars(doc);
	for (u32 i = 0; i < GP_KERNEL_CLASSES; i++) {
		u64 a = c->cases[0]->classes[i], b = c->cases[1]->classes[i];

		if (!a && !b)
			continue;
		gp_doc_cell(doc, gp_v_word(gp_trace_kernel_class_code(i),
					   gp_trace_kernel_class_name(i)));
		gp_doc_cell(doc, gp_v_if(PACKETS(0), gp_v_count(a)));
		gp_doc_cell(doc, percent(a, c->cases[0]->named));
		gp_doc_cell(doc, gp_v_if(PACKETS(1), gp_v_count(b)));
		gp_doc_cell(doc, percent(b, c->cases[1]->named));
	}
}

static void put_kernel(struct gp_doc *doc, const struct gp_trace_workload *workload,
		       const struct gp_trace_kernel_use *kernel)
{
	const struct gp_string *name = &workload->names.items[kernel->name];
	char shown[NAME_COLUMNS + 8];
	int keep = NAME_COLUMNS;

	/* Not in the middle of a character. */
	while ((size_t)keep < name->len && keep > 0 && ((u8)name->text[keep] & 0xc0) == 0x80)
		keep--;
	snprintf(shown, sizeof(shown), name->len > NAME_COLUMNS ? "%.*s..." : "%.*s", keep,
		 name->text);
	gp_doc_cell(doc, name->len > NAME_COLUMNS ? gp_v_word(name->text, shown)
						  : gp_v_textn(name->text, name->len));
	gp_doc_cell(doc, gp_v_word(gp_trace_kernel_class_code(kernel->kernel_class),
				   gp_trace_kernel_class_name(kernel->kernel_class)));
	gp_doc_cell(doc, gp_v_count(kernel->count));
	gp_doc_cell(doc, percent(kernel->count, workload->named));
	gp_doc_cell(doc, gp_v_if(kernel->sized, gp_v_count(kernel->grid_low)));
	gp_doc_cell(doc, gp_v_if(kernel->sized, gp_v_count(kernel->grid_high)));
	gp_doc_cell(doc, gp_v_if(kernel->sized, gp_v_count(kernel->workgroup)));
}

static void put_names(struct gp_doc *doc, const struct gp_trace_comparison *c)
{
	gp_doc_table(doc, "names",
		     "By name, the 20 most frequent of each case; sizes in work-items");
	gp_doc_column(doc, "case", "CASE");
	gp_doc_column(doc, "kernel", "KERNEL");
	gp_doc_column(doc, "class", "CLASS");
	gp_doc_column(doc, "count", "COUNT");
	gp_doc_column(doc, "share", "SHARE");
	gp_doc_bars(doc);
	gp_doc_column(doc, "grid_low", "GRID MIN");
	gp_doc_column(doc, "grid_high", "GRID MAX");
	gp_doc_column(doc, "workgroup", "WORKGROUP");
	for (int which = 0; which < 2; which++) {
		const struct gp_trace_workload *workload = c->cases[which];

		for (size_t i = 0; i < workload->kernel_count && i < NAMES_SHOWN; i++) {
			if (!workload->kernels[i].count)
				break;
			gp_doc_cell(doc, gp_v_text(letters[which]));
			put_kernel(doc, workload, &workload->kernels[i]);
		}
	}
}

static void put_times(struct gp_doc *doc, const struct gp_trace_comparison *c)
{
	gp_doc_section(doc, "times", "Submissions over time");
	for (int i = 0; i < 2; i++) {
		const struct gp_trace_workload *workload = c->cases[i];
		size_t bins =
			workload->has_time ? (size_t)(length(workload) / workload->bin_ns) + 1 : 0;

		if (bins)
			gp_doc_series(doc, i ? "b" : "a", letters[i], workload->bins, bins,
				      workload->first_ns, workload->bin_ns);
	}
	gp_doc_table(doc, "gaps", "Longest pauses");
	gp_doc_column(doc, "case", "CASE");
	gp_doc_column(doc, "after_ns", "START");
	gp_doc_column(doc, "length_ns", "LENGTH");
	gp_doc_bars(doc);
	gp_doc_column(doc, "line", "ENDS AT LINE");
	for (int i = 0; i < 2; i++) {
		const struct gp_trace_workload *workload = c->cases[i];

		for (size_t g = 0; g < workload->gap_count; g++) {
			const struct gp_trace_gap *gap = &workload->gaps[g];

			gp_doc_cell(doc, gp_v_text(letters[i]));
			gp_doc_cell(doc, gp_v_ns(gap->start_ns - workload->first_ns));
			gp_doc_cell(doc, gp_v_ns(gap->length_ns));
			gp_doc_cell(doc, gp_v_count(gap->line));
		}
	}
}

static struct gp_show_value strategy_word(enum gp_trace_strategy strategy)
{
	switch (strategy) {
	case GP_STRATEGY_WAIT:
		return gp_v_word("wait", _("wait for the next pause of the batch job"));
	case GP_STRATEGY_SUSPEND_PROCESS:
		return gp_v_word("suspend-process", _("suspend the batch process as a whole"));
	case GP_STRATEGY_SUSPEND_QUEUES:
		return gp_v_word("suspend-queues", _("suspend only the queues of the batch work"));
	case GP_STRATEGY_TIME_SLICE:
		return gp_v_word("time-slice", _("time-slice the whole process; its batch work "
						 "cannot be suspended separately"));
	case GP_STRATEGY_UNKNOWN:
		break;
	}
	return gp_v_word("unknown", _("cannot be determined from these logs"));
}

static void put_reason(struct gp_doc *doc, const struct gp_trace_comparison *c)
{
	switch (c->strategy) {
	case GP_STRATEGY_WAIT:
		gp_doc_note(
			doc,
			_("The batch job pauses every %.2f ms on average. Suspending and resuming "
			  "it costs about %.2f ms, so waiting for a pause is cheaper."),
			(double)c->batch_pause_ns / 1e6, 2.0 * (double)GP_SUSPEND_COST_NS / 1e6);
		break;
	case GP_STRATEGY_SUSPEND_PROCESS:
		gp_doc_note(doc, "Two processes never share a queue. Suspending a process stops "
				 "its kernels mid-execution (CWSR) without losing work.");
		break;
	case GP_STRATEGY_SUSPEND_QUEUES:
		gp_doc_note(doc, "One process uses separate queues for batch and urgent work: its "
				 "batch queues can be suspended by id while the others run.");
		break;
	case GP_STRATEGY_TIME_SLICE:
		gp_doc_note(doc,
			    ngettext("%zu queue carries both kinds of work: suspending it would "
				     "also stop the urgent work. Use separate processes, or "
				     "streams of different priority, which have separate queues.",
				     "%zu queues carry both kinds of work: suspending one would "
				     "also stop the urgent work. Use separate processes, or "
				     "streams of different priority, which have separate queues.",
				     (unsigned long)c->shared_queues),
			    c->shared_queues);
		break;
	case GP_STRATEGY_UNKNOWN:
		gp_doc_note(doc, "%s",
			    c->cases[0]->dispatches && c->cases[1]->dispatches
				    ? _("The logs contain no process ids: use AMD_LOG_LEVEL=4 or "
					"higher.")
				    : _("At least one of the logs contains no kernels: use "
					"AMD_LOG_LEVEL=4 (5 with ROCm 7.1 or later)."));
		break;
	}
	gp_doc_note(doc,
		    "Stream priorities alone do not preempt: they order waiting work, recent ROCm "
		    "ignores them by default, and a running kernel keeps its compute units.");
}

static void put_recommendation(struct gp_doc *doc, const struct gp_trace_comparison *c)
{
	gp_doc_section(doc, "recommendation", "Preemption strategy");
	gp_doc_fact(doc, "strategy", "Recommended strategy", strategy_word(c->strategy));
	gp_doc_fact(doc, "online", "Latency-critical workload (assumed, because it pauses more)",
		    gp_v_if(c->online >= 0, gp_v_text(c->online >= 0 ? letters[c->online] : "")));
	gp_doc_fact(doc, "assumed_suspend_cost_ns", "Assumed cost of a suspend or resume",
		    gp_v_ns(GP_SUSPEND_COST_NS));
	put_reason(doc, c);
}

struct gp_doc *gp_trace_compare_doc(const struct gp_trace_comparison *comparison)
{
	struct gp_doc *doc = gp_doc_new("compare", "Comparison of two workloads");

	if (!doc)
		return NULL;
	put_metrics(doc, comparison);
	put_queues(doc, comparison);
	put_classes(doc, comparison);
	put_names(doc, comparison);
	put_times(doc, comparison);
	put_recommendation(doc, comparison);
	return doc;
}
