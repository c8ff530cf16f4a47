// SPDX-License-Identifier: MIT
/* The submission report. */
#include "base/i18n.h"
#include "trace/analyse/submission.h"

static struct gp_show_value percent(u64 part, u64 whole)
{
	return gp_v_if(whole, gp_v_real(GP_UNIT_PERCENT,
					whole ? 100.0 * (double)part / (double)whole : 0));
}

static struct gp_show_value name_of(const struct gp_trace_submission *submission, u32 name)
{
	const struct gp_string *text = &submission->names.items[name];

	return gp_v_if(text->len, gp_v_textn(text->text, text->len));
}

static void put_overview(const struct gp_trace_submission *s, struct gp_doc *doc)
{
	u64 kernels = 0;

	for (size_t i = 0; i < s->use_count; i++)
		if (s->uses[i].layer == GP_LAYER_KERNEL)
			kernels += gp_trace_use_calls(&s->uses[i]);
	gp_doc_section(doc, "run", "Run");
	gp_doc_fact(doc, "pid", "Process",
		    gp_v_if(s->has_pid && !s->several_pids, gp_v_count(s->pid)));
	gp_doc_fact(doc, "wall_ns", "From first to last event",
		    gp_v_if(s->has_wall && !s->unrelated, gp_v_ns(s->last_ns - s->first_ns)));
	gp_doc_fact(doc, "kernels", "Kernels", gp_v_count(kernels));
	gp_doc_fact(doc, "queues", "Queues with kernels", gp_v_count(s->queue_count));
	gp_doc_fact(doc, "duplicates", "Events found in two files, counted once",
		    gp_v_count(s->duplicates));
	if (s->several_pids)
		gp_doc_note(doc,
			    "The files come from several processes; their figures are added up.");
	if (s->spans_left_out)
		gp_doc_note(
			doc,
			ngettext("'Time by layer' omits %llu call beyond the limit of %u calls "
				 "per layer; the other tables include it.",
				 "'Time by layer' omits %llu calls beyond the limit of %u calls "
				 "per layer; the other tables include them.",
				 (unsigned long)s->spans_left_out),
			(unsigned long long)s->spans_left_out, GP_SUBMISSION_SPANS_MAX);
	if (!s->device_count)
		return;
	gp_doc_table(doc, "devices", "Devices");
	gp_doc_column(doc, "node", "NODE");
	gp_doc_column(doc, "name", "NAME");
	gp_doc_column(doc, "cus", "COMPUTE UNITS");
	for (size_t i = 0; i < s->device_count; i++) {
		gp_doc_cell(doc, gp_v_count(s->devices[i].node));
		gp_doc_cell(doc, name_of(s, s->devices[i].name));
		gp_doc_cell(doc, gp_v_count(s->devices[i].cus));
	}
}

static void put_calls(const struct gp_trace_submission *s, struct gp_doc *doc,
		      enum gp_trace_layer layer, const char *key, const char *title)
{
	u64 whole = s->sum_ns[layer];

	gp_doc_section(doc, key, title);
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "name", "NAME");
	gp_doc_column(doc, "calls", "COUNT");
	gp_doc_column(doc, "total_ns", "TOTAL");
	gp_doc_column(doc, "average_ns", "AVERAGE");
	gp_doc_column(doc, "min_ns", "SHORTEST");
	gp_doc_column(doc, "max_ns", "LONGEST");
	gp_doc_column(doc, "share", "SHARE");
	gp_doc_bars(doc);
	gp_doc_column(doc, "bytes", "BYTES");
	for (size_t i = 0; i < s->use_count; i++) {
		const struct gp_trace_use *use = &s->uses[i];
		u64 calls = gp_trace_use_calls(use), total = gp_trace_use_total(use);
		bool timed = use->valid & (GP_USE_TIMED | GP_USE_SUMMARY);

		if (use->layer != layer)
			continue;
		gp_doc_cell(doc, name_of(s, use->name));
		gp_doc_cell(doc, gp_v_count(calls));
		gp_doc_cell(doc, gp_v_if(timed, gp_v_ns(total)));
		gp_doc_cell(doc, gp_v_if(timed && calls, gp_v_ns(calls ? total / calls : 0)));
		gp_doc_cell(doc, gp_v_if(use->valid & GP_USE_TIMED, gp_v_ns(use->low_ns)));
		gp_doc_cell(doc, gp_v_if(use->valid & GP_USE_TIMED, gp_v_ns(use->high_ns)));
		gp_doc_cell(doc, gp_v_if(timed, percent(total, whole)));
		gp_doc_cell(doc, gp_v_if(use->valid & GP_USE_BYTES, gp_v_bytes(use->bytes)));
	}
}

static void kernel_cells(struct gp_doc *doc, const struct gp_trace_use *use)
{
	bool grid = use->valid & GP_USE_GRID, registers = use->valid & GP_USE_REGISTERS;
	bool stages = use->valid & GP_USE_STAGES;

	gp_doc_cell(doc, gp_v_if(grid, gp_v_count(use->grid_low)));
	gp_doc_cell(doc, gp_v_if(grid, gp_v_count(use->grid_high)));
	gp_doc_cell(doc, gp_v_if(grid, gp_v_count(use->workgroup)));
	gp_doc_cell(doc, gp_v_if(use->valid & GP_USE_WAVE, gp_v_count(use->wave)));
	gp_doc_cell(doc, gp_v_if(registers, gp_v_count(use->vgpr)));
	gp_doc_cell(doc, gp_v_if(registers, gp_v_count(use->sgpr)));
	gp_doc_cell(doc, gp_v_if(use->valid & GP_USE_LDS, gp_v_bytes(use->lds)));
	gp_doc_cell(doc, gp_v_if(use->valid & GP_USE_LDS, gp_v_bytes(use->scratch)));
	gp_doc_cell(doc, gp_v_if(stages, gp_v_ns(stages ? use->queued_ns / use->stages : 0)));
	gp_doc_cell(doc, gp_v_if(stages, gp_v_ns(stages ? use->seen_ns / use->stages : 0)));
}

static void put_kernels(const struct gp_trace_submission *s, struct gp_doc *doc)
{
	put_calls(s, doc, GP_LAYER_KERNEL, "kernels", _("Kernels on the GPU"));
	gp_doc_table(doc, "shapes", "Kernel shapes (sizes in work-items; times are means)");
	gp_doc_column(doc, "name", "NAME");
	gp_doc_column(doc, "grid_low", "GRID MIN");
	gp_doc_column(doc, "grid_high", "GRID MAX");
	gp_doc_column(doc, "workgroup", "WORKGROUP");
	gp_doc_column(doc, "wave", "WAVE");
	gp_doc_column(doc, "vgpr", "VGPR");
	gp_doc_column(doc, "sgpr", "SGPR");
	gp_doc_column(doc, "lds_bytes", "LDS");
	gp_doc_column(doc, "scratch_bytes", "SCRATCH");
	gp_doc_column(doc, "dispatch_to_begin_ns", "DISPATCH TO BEGIN");
	gp_doc_column(doc, "end_to_complete_ns", "END TO COMPLETE");
	for (size_t i = 0; i < s->use_count; i++) {
		if (s->uses[i].layer != GP_LAYER_KERNEL)
			continue;
		gp_doc_cell(doc, name_of(s, s->uses[i].name));
		kernel_cells(doc, &s->uses[i]);
	}
}

static void put_queues(const struct gp_trace_submission *s, struct gp_doc *doc)
{
	gp_doc_section(doc, "queues", "Queues");
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "gpu", "GPU");
	gp_doc_column(doc, "queue", "QUEUE");
	gp_doc_column(doc, "kernels", "KERNELS");
	gp_doc_column(doc, "busy_ns", "KERNEL TIME");
	gp_doc_bars(doc);
	gp_doc_column(doc, "used_ns", "FIRST TO LAST KERNEL");
	for (size_t i = 0; i < s->queue_count; i++) {
		const struct gp_trace_queue_use *queue = &s->queues[i];
		bool timed = queue->last_ns >= queue->first_ns;

		gp_doc_cell(doc, gp_v_if(queue->gpu != UINT64_MAX, gp_v_count(queue->gpu)));
		gp_doc_cell(doc, gp_v_count(queue->queue));
		gp_doc_cell(doc, gp_v_count(queue->kernels));
		gp_doc_cell(doc, gp_v_if(timed, gp_v_ns(queue->busy_ns)));
		gp_doc_cell(doc, gp_v_if(timed && !s->unrelated,
					 gp_v_ns(queue->last_ns - queue->first_ns)));
	}
	gp_doc_note(
		doc,
		"These queue numbers are assigned by the profiler; they are not HSA or KFD ids.");
}

static void put_layer(const struct gp_trace_submission *s, struct gp_doc *doc,
		      enum gp_trace_layer layer, const char *code, const char *name)
{
	u64 wall = s->last_ns - s->first_ns;
	bool timed = s->timed[layer], one_run = timed && !s->several_pids && !s->unrelated;

	if (!timed && !s->sum_ns[layer])
		return;
	gp_doc_cell(doc, gp_v_word(code, name));
	gp_doc_cell(doc, gp_v_ns(s->sum_ns[layer]));
	gp_doc_cell(doc, gp_v_if(timed, gp_v_ns(s->alone_ns[layer])));
	gp_doc_cell(doc, gp_v_if(one_run, percent(s->alone_ns[layer], wall)));
}

static void put_layers(const struct gp_trace_submission *s, struct gp_doc *doc)
{
	/* Between two runs no one was in a call, and it says nothing. */
	bool any = (s->timed[GP_LAYER_HIP] || s->timed[GP_LAYER_HSA]) && !s->several_pids &&
		   !s->unrelated;

	gp_doc_section(doc, "layers", "Time by layer");
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "layer", "LAYER");
	gp_doc_column(doc, "sum_ns", "SUM OF CALLS");
	gp_doc_column(doc, "alone_ns", "SELF TIME");
	gp_doc_column(doc, "share", "SHARE OF RUN");
	gp_doc_bars(doc);
	if (any) {
		gp_doc_cell(doc, gp_v_word("application", _("application (outside calls)")));
		gp_doc_cell(doc, gp_v_missing());
		gp_doc_cell(doc, gp_v_ns(s->application_ns));
		gp_doc_cell(doc, percent(s->application_ns, s->last_ns - s->first_ns));
	}
	put_layer(s, doc, GP_LAYER_HIP, "hip", _("HIP runtime"));
	put_layer(s, doc, GP_LAYER_HSA, "hsa", _("HSA runtime"));
	put_layer(s, doc, GP_LAYER_COPY, "copy", _("copy engines"));
	put_layer(s, doc, GP_LAYER_KERNEL, "kernel", _("kernels"));
	gp_doc_note(doc, "HSA calls run inside HIP calls, and kernels and copies run while either "
			 "waits: SUM OF CALLS counts such time in every layer, so its total can "
			 "exceed the length of the run. The other columns assign each moment only "
			 "to the deepest active layer.");
}

static void put_path(const struct gp_trace_submission *s, struct gp_doc *doc)
{
	gp_doc_section(doc, "critical_path", "Where the time of HIP calls goes");
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "name", "NAME");
	gp_doc_column(doc, "total_ns", "TOTAL");
	gp_doc_bars(doc);
	gp_doc_column(doc, "max_ns", "LONGEST CALL");
	gp_doc_column(doc, "hsa_ns", "IN HSA CALLS");
	gp_doc_column(doc, "gpu_ns", "GPU BUSY");
	gp_doc_column(doc, "rest_ns", "OTHER");
	for (size_t i = 0; i < s->use_count; i++) {
		const struct gp_trace_use *use = &s->uses[i];
		u64 known;

		if (use->layer != GP_LAYER_HIP || !(use->valid & GP_USE_INSIDE))
			continue;
		/* The GPU works during HSA calls too; the rest is at least this. */
		known = use->hsa_ns + use->gpu_ns;
		gp_doc_cell(doc, name_of(s, use->name));
		gp_doc_cell(doc, gp_v_ns(use->total_ns));
		gp_doc_cell(doc, gp_v_ns(use->high_ns));
		gp_doc_cell(doc, gp_v_ns(use->hsa_ns));
		gp_doc_cell(doc, gp_v_ns(use->gpu_ns));
		gp_doc_cell(doc, gp_v_ns(known < use->total_ns ? use->total_ns - known : 0));
	}
}

void gp_trace_submission_doc(const struct gp_trace_submission *submission, struct gp_doc *doc)
{
	put_overview(submission, doc);
	put_calls(submission, doc, GP_LAYER_HIP, "hip", _("HIP calls"));
	put_calls(submission, doc, GP_LAYER_HSA, "hsa", _("HSA calls"));
	put_kernels(submission, doc);
	put_calls(submission, doc, GP_LAYER_COPY, "copies", _("Copies by the copy engines"));
	put_queues(submission, doc);
	put_layers(submission, doc);
	put_path(submission, doc);
}
