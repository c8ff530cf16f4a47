// SPDX-License-Identifier: MIT
/* Checks of a run: how submission must look if it works as the runtime and the driver describe it.
 */
#include <string.h>

#include "base/i18n.h"
#include "trace/analyse/submission.h"

enum verdict { VERDICT_YES, VERDICT_NO, VERDICT_ABSENT };

static void put(struct gp_doc *doc, const char *code, const char *what, enum verdict verdict,
		const struct gp_buf *evidence)
{
	gp_doc_cell(doc, gp_v_word(code, what));
	gp_doc_cell(doc, verdict == VERDICT_YES  ? gp_v_word("yes", _("yes"))
			 : verdict == VERDICT_NO ? gp_v_word("no", _("no"))
						 : gp_v_word("absent", _("not in this data")));
	gp_doc_cell(doc, gp_v_text(evidence && evidence->len ? evidence->data : NULL));
}

/* "hsa_queue_create 1 x, 11.23 ms; ..." of every name with this start; how many calls. */
static u64 evidence(const struct gp_trace_submission *s, enum gp_trace_layer layer,
		    const char *start, struct gp_buf *out)
{
	u64 calls = 0;

	for (size_t i = 0; i < s->use_count; i++) {
		const struct gp_trace_use *use = &s->uses[i];
		const struct gp_string *name = &s->names.items[use->name];
		struct gp_show_value total = gp_v_ns(gp_trace_use_total(use));

		if (use->layer != layer || strncmp(name->text, start, strlen(start)) != 0)
			continue;
		calls += gp_trace_use_calls(use);
		gp_buf_printf(out, "%s%s %llu x, ", out->len ? "; " : "", name->text,
			      (unsigned long long)gp_trace_use_calls(use));
		gp_show_value_text(&total, out);
	}
	return calls;
}

static bool has_layer(const struct gp_trace_submission *s, enum gp_trace_layer layer)
{
	for (size_t i = 0; i < s->use_count; i++)
		if (s->uses[i].layer == layer)
			return true;
	return false;
}

static void check_calls(const struct gp_trace_submission *s, struct gp_doc *doc,
			enum gp_trace_layer layer, const char *code, const char *what,
			const char *const *starts)
{
	struct gp_buf text = {0};
	u64 calls = 0;

	for (; *starts; starts++)
		calls += evidence(s, layer, *starts, &text);
	put(doc, code, what,
	    !has_layer(s, layer) ? VERDICT_ABSENT
	    : calls              ? VERDICT_YES
				 : VERDICT_NO,
	    &text);
	gp_buf_free(&text);
}

/* The single calls and the profiler's own summary, where both are there. */
static void check_totals(const struct gp_trace_submission *s, struct gp_doc *doc)
{
	struct gp_buf text = {0};
	u64 compared = 0, differing = 0;

	for (size_t i = 0; i < s->use_count; i++) {
		const struct gp_trace_use *use = &s->uses[i];

		if (!(use->valid & GP_USE_SUMMARY) || !(use->valid & GP_USE_TIMED))
			continue;
		compared++;
		if (use->calls == use->summary_calls && use->total_ns == use->summary_ns)
			continue;
		if (!differing++)
			gp_buf_printf(&text,
				      _("%s: in the trace: calls %llu, time %llu ns; in the "
					"summary: calls %llu, time %llu ns"),
				      s->names.items[use->name].text,
				      (unsigned long long)use->calls,
				      (unsigned long long)use->total_ns,
				      (unsigned long long)use->summary_calls,
				      (unsigned long long)use->summary_ns);
	}
	if (compared && !differing)
		gp_buf_printf(&text,
			      ngettext("%llu entry matches", "%llu entries match",
				       (unsigned long)compared),
			      (unsigned long long)compared);
	put(doc, "totals", _("the calls match the profiler summary"),
	    !compared   ? VERDICT_ABSENT
	    : differing ? VERDICT_NO
			: VERDICT_YES,
	    &text);
	gp_buf_free(&text);
}

static void check_kernels(const struct gp_trace_submission *s, struct gp_doc *doc)
{
	struct gp_buf text = {0};
	u64 kernels = 0, total = gp_trace_submission_layer_total(s, GP_LAYER_KERNEL);
	struct gp_show_value shown = gp_v_ns(total);

	for (size_t i = 0; i < s->use_count; i++)
		if (s->uses[i].layer == GP_LAYER_KERNEL)
			kernels += gp_trace_use_calls(&s->uses[i]);
	gp_buf_printf(&text, _("kernels: %llu, total time "), (unsigned long long)kernels);
	gp_show_value_text(&shown, &text);
	put(doc, "kernels", _("kernels ran on the GPU"), kernels ? VERDICT_YES : VERDICT_ABSENT,
	    kernels ? &text : NULL);
	gp_buf_free(&text);
}

/* Is the time in hipMemcpy the transfer's? The engines say. */
static void check_copies(const struct gp_trace_submission *s, struct gp_doc *doc)
{
	struct gp_buf text = {0};
	u64 engines = s->sum_ns[GP_LAYER_COPY], calls = 0;
	struct gp_show_value a, b = gp_v_ns(engines);

	for (size_t i = 0; i < s->use_count; i++)
		if (s->uses[i].layer == GP_LAYER_HIP &&
		    !strncmp(s->names.items[s->uses[i].name].text, "hipMemcpy", 9))
			calls += gp_trace_use_total(&s->uses[i]);
	a = gp_v_ns(calls);
	if (calls && engines) {
		gp_buf_puts(&text, "hipMemcpy* ");
		gp_show_value_text(&a, &text);
		gp_buf_puts(&text, _("; copy engines busy for "));
		gp_show_value_text(&b, &text);
	}
	put(doc, "transfer",
	    _("hipMemcpy time is mostly transfer (copy engines busy for at least half of it)"),
	    !calls || !engines     ? VERDICT_ABSENT
	    : engines >= calls / 2 ? VERDICT_YES
				   : VERDICT_NO,
	    &text);
	gp_buf_free(&text);
}

void gp_trace_submission_checks(const struct gp_trace_submission *s, struct gp_doc *doc)
{
	static const char *const launch[] = {"hipLaunchKernel", "hipModuleLaunchKernel",
					     "hipExtLaunch",    "hipExtModuleLaunch",
					     "hipGraphLaunch",  NULL};
	static const char *const queue[] = {"hsa_queue_create", NULL};
	static const char *const memory[] = {"hsa_amd_memory_pool_allocate",
					     "hsa_amd_memory_async_copy",
					     "hsa_amd_memory_lock_to_pool", NULL};
	static const char *const signals[] = {"hsa_signal_create", "hsa_amd_signal_create",
					      "hsa_signal_wait", NULL};
	static const char *const index[] = {"hsa_queue_add_write_index", NULL};
	static const char *const doorbell[] = {"hsa_signal_store", NULL};

	gp_doc_section(doc, "checks", "Checks");
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "check", "CHECK");
	gp_doc_column(doc, "verdict", "CONFIRMED");
	gp_doc_column(doc, "evidence", "EVIDENCE");
	check_calls(s, doc, GP_LAYER_HIP, "launch", _("kernels are launched through HIP"), launch);
	check_calls(s, doc, GP_LAYER_HSA, "queue", _("queues are created through HSA"), queue);
	check_calls(s, doc, GP_LAYER_HSA, "memory", _("HSA manages memory and copies"), memory);
	check_calls(s, doc, GP_LAYER_HSA, "signals", _("the program uses HSA signals"), signals);
	check_calls(s, doc, GP_LAYER_HSA, "write_index",
		    _("packets are added to the queue (hsa_queue_add_write_index)"), index);
	check_calls(s, doc, GP_LAYER_HSA, "doorbell",
		    _("the doorbell is rung (with hsa_signal_store; writing the index does not "
		      "ring it)"),
		    doorbell);
	put(doc, "ioctl", _("KFD creates the queue (CREATE_QUEUE)"), VERDICT_ABSENT, NULL);
	put(doc, "scheduler", _("CPSCH or MES schedules the queue"), VERDICT_ABSENT, NULL);
	check_kernels(s, doc);
	check_copies(s, doc);
	check_totals(s, doc);
}
