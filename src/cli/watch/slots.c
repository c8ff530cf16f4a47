// SPDX-License-Identifier: MIT
/* The documents of `gpreempt hqd` and `gpreempt mqd`. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/i18n.h"
#include "cli/watch/documents.h"

/* "CP 0.2", "HIQ 2.0.0", "SDMA 3.1" */
static void slot_name(const struct gp_kfd_slot *slot, char *out, size_t size)
{
	if (slot->kind == GP_SLOT_COMPUTE)
		snprintf(out, size, "CP %u.%u", slot->pipe, slot->queue);
	else if (slot->kind == GP_SLOT_HIQ)
		snprintf(out, size, "HIQ %u.%u.%u", slot->mec, slot->pipe, slot->queue);
	else if (slot->kind == GP_SLOT_SDMA)
		snprintf(out, size, "SDMA %u.%u", slot->pipe, slot->queue);
	else
		snprintf(out, size, "DIQ");
}

/* ---- columns ---- */

/* A slot or descriptor on its way into a row. */
struct item {
	const struct gp_kfd_slot *slot;
	u32 xccs;  /* that run the queue */
	u32 valid; /* of a slot without a queue: 0 */
	bool hqd, queue;
	const struct gp_cli_slot_options *options;
};

static const char *type_text(const struct item *item, const char *name)
{
	const struct gp_kfd_slot *slot = item->slot;

	if (slot->kind == GP_SLOT_DIQ)
		return "DIQ";
	if (slot->kind == GP_SLOT_SDMA)
		return item->queue ? name : "SDMA";
	return !item->queue ? "compute" : slot->aql ? "AQL" : "PM4";
}

static void put_place(struct gp_cli_row *row, const struct item *item)
{
	const struct gp_kfd_slot *slot = item->slot;
	bool hqd = item->hqd, sdma = slot->kind == GP_SLOT_SDMA;
	bool decoded = slot->valid & GP_SLOT_REGISTERS, engine = sdma && (hqd || decoded);
	char name[32];

	slot_name(slot, name, sizeof(name));
	gp_cli_put(row, "gpu_id", "GPU", 0,
		   gp_v_as(gp_v_count(slot->gpu_id), gp_cli_text(row, "0x%x", slot->gpu_id)));
	gp_cli_put(row, "kind", hqd ? NULL : N_("TYPE"), 0,
		   gp_v_word(gp_inspect_slot_kind_name(slot->kind),
			     gp_cli_text(row, "%s", type_text(item, name))));
	if (hqd)
		gp_cli_put(row, NULL, "SLOT", 0, gp_v_text(gp_cli_text(row, "%s", name)));
	/* In text "0" is an XCC, "x4" a queue that runs on four. */
	gp_cli_put(row, "xcc", "XCC", GP_CLI_RIGHT,
		   gp_v_if(slot->valid & GP_SLOT_XCC,
			   gp_v_as(gp_v_count(slot->xcc),
				   item->xccs > 1 ? gp_cli_text(row, "x%u", item->xccs)
						  : gp_cli_text(row, "%u", slot->xcc))));
	if (hqd) {
		gp_cli_put(row, "node", NULL, 0, gp_v_count(slot->node));
		gp_cli_put(row, "mec", NULL, 0, gp_v_if(!sdma, gp_v_count(slot->mec)));
		gp_cli_put(row, "pipe", NULL, 0, gp_v_if(!sdma, gp_v_count(slot->pipe)));
		gp_cli_put(row, "queue", NULL, 0, gp_v_if(!sdma, gp_v_count(slot->queue)));
	} else {
		gp_cli_put(row, "pasid", "PASID", GP_CLI_RIGHT,
			   gp_v_if(slot->pasid,
				   gp_v_as(gp_v_count(slot->pasid),
					   gp_cli_text(row, "0x%" PRIx64, slot->pasid))));
	}
	gp_cli_put(row, "engine", NULL, 0, gp_v_if(engine, gp_v_count(slot->pipe)));
	gp_cli_put(row, "rlc", NULL, 0, gp_v_if(engine, gp_v_count(slot->queue)));
	gp_cli_put(row, "pid", "PID", GP_CLI_RIGHT, gp_v_if(slot->pid, gp_v_count(slot->pid)));
	gp_cli_put(row, "active", "ACTIVE", GP_CLI_RIGHT,
		   gp_v_if(decoded, gp_v_as(gp_v_bool(slot->active), slot->active ? "1" : "0")));
}

static struct gp_show_value quantum_value(struct gp_cli_row *row, const struct item *item)
{
	struct gp_inspect_quantum quantum = gp_inspect_slot_quantum(item->slot);
	const char *text;

	if (!(item->valid & GP_SLOT_PRIORITY))
		return gp_v_missing();
	if (!quantum.enabled)
		text = _("off");
	else if (quantum.in_ms)
		text = gp_cli_text(row, "%u ms", quantum.duration);
	else
		text = gp_cli_text(row, "0x%x", item->slot->quantum);
	return gp_v_as(gp_v_json(json_pack("{s:o, s:b, s:i, s:i}", "raw",
					   gp_json_hex(item->slot->quantum), "enabled",
					   quantum.enabled, "scale", (int)quantum.scale, "duration",
					   (int)quantum.duration)),
		       text);
}

/* "0x7f1000480000+11.6M" */
static struct gp_show_value area_value(struct gp_cli_row *row, bool known, u64 address, u64 bytes)
{
	if (!known)
		return gp_v_missing();
	return gp_v_as(gp_v_hex(address), bytes < 1u << 20
						  ? gp_cli_text(row, "0x%" PRIx64 "+%" PRIu64 "K",
								address, bytes >> 10)
						  : gp_cli_text(row, "0x%" PRIx64 "+%.1fM", address,
								(double)bytes / (1u << 20)));
}

/* A number of packets, or "12 dw". */
static struct gp_show_value index_value(struct gp_cli_row *row, const struct gp_kfd_slot *slot,
					bool known, u64 value)
{
	return gp_v_if(known,
		       gp_v_as(gp_v_count(value),
			       gp_cli_text(row, slot->aql ? "%" PRIu64 : "%" PRIu64 " dw", value)));
}

static void put_queue(struct gp_cli_row *row, const struct item *item)
{
	const struct gp_kfd_slot *slot = item->slot;
	bool pointers = item->valid & GP_SLOT_POINTERS;
	bool backlog = pointers && (slot->valid & GP_SLOT_BACKLOG);
	bool priority = item->valid & GP_SLOT_PRIORITY;
	const char *mqd = item->hqd ? NULL : N_("MQD");

	gp_cli_put(row, "vmid", "VMID", GP_CLI_RIGHT,
		   gp_v_if(item->valid & GP_SLOT_VMID, gp_v_count(slot->vmid)));
	gp_cli_put(row, NULL, "PRIO", GP_CLI_RIGHT,
		   gp_v_if(priority, gp_v_text(gp_cli_text(row, "%u/%u", slot->pipe_priority,
							   slot->queue_priority))));
	gp_cli_put(row, "pipe_priority", NULL, 0,
		   gp_v_if(priority, gp_v_count(slot->pipe_priority)));
	gp_cli_put(row, "queue_priority", NULL, 0,
		   gp_v_if(priority, gp_v_count(slot->queue_priority)));
	gp_cli_put(row, "quantum", "QUANTUM", GP_CLI_RIGHT, quantum_value(row, item));
	gp_cli_put(row, "mqd", mqd, 0,
		   gp_v_if(item->valid & GP_SLOT_MQD, gp_v_hex(slot->mqd_address)));
	gp_cli_put(row, "ring", "RING", 0,
		   gp_v_if(item->valid & GP_SLOT_REGISTERS, gp_v_hex(slot->ring)));
	gp_cli_put(row, "ring_bytes", NULL, 0, gp_v_if(pointers, gp_v_count(slot->ring_bytes)));
	gp_cli_put(row, "object", "OBJECT", 0,
		   gp_v_if(item->valid & GP_SLOT_OBJECT, gp_v_hex(slot->object)));
	gp_cli_put(row, "unit", NULL, 0,
		   gp_v_if(pointers, gp_v_text(slot->aql ? "packets" : "dwords")));
	gp_cli_put(row, "rptr", "RPTR", GP_CLI_RIGHT, index_value(row, slot, backlog, slot->rptr));
	gp_cli_put(row, "wptr", "WPTR", GP_CLI_RIGHT, index_value(row, slot, pointers, slot->wptr));
	gp_cli_put(row, "backlog", "BACKLOG", GP_CLI_RIGHT,
		   index_value(row, slot, backlog, slot->backlog));
}

static void put_areas(struct gp_cli_row *row, const struct item *item)
{
	const struct gp_kfd_slot *slot = item->slot;
	bool doorbell = item->valid & GP_SLOT_DOORBELL;
	bool cwsr = item->valid & GP_SLOT_CWSR, eop = item->valid & GP_SLOT_EOP;

	gp_cli_put(row, "doorbell", "DOORBELL", GP_CLI_RIGHT,
		   gp_v_if(doorbell, gp_v_hex(slot->doorbell)));
	gp_cli_put(row, "doorbell_enabled", NULL, 0,
		   gp_v_if(doorbell, gp_v_bool(slot->doorbell_enabled)));
	gp_cli_put(row, "cwsr", "CWSR", 0,
		   area_value(row, cwsr, slot->cwsr_address, slot->cwsr_bytes));
	gp_cli_put(row, "cwsr_bytes", NULL, 0, gp_v_if(cwsr, gp_v_count(slot->cwsr_bytes)));
	gp_cli_put(row, "cwsr_stack_used", item->hqd ? NULL : N_("SAVED"), GP_CLI_RIGHT,
		   gp_v_if(cwsr, gp_v_count(slot->cwsr_stack_used)));
	gp_cli_put(row, "eop", "EOP", 0, area_value(row, eop, slot->eop_address, slot->eop_bytes));
	gp_cli_put(row, "eop_bytes", NULL, 0,
		   gp_v_if(eop && slot->eop_bytes, gp_v_count(slot->eop_bytes)));
}

static struct gp_show_value check_value(const struct gp_kfd_slot *slot)
{
	struct gp_inspect_slot_check check = gp_inspect_slot_check(slot);
	struct gp_show_value value;

	if (!check.state)
		return gp_v_missing();
	value = gp_v_as(gp_v_json(json_pack("{s:s, s:s, s:s?, s:s?}", "state", check.state,
					    "active", check.active, "backlog", check.backlog,
					    "quantum", check.quantum)),
			check.state);
	value.colour = strcmp(check.state, "ok") == 0 ? GP_GREEN : GP_YELLOW;
	return value;
}

static json_t *registers_json(const struct gp_kfd_slot *slot)
{
	json_t *object = json_object();

	for (size_t r = 0; r < gp_inspect_register_count(slot); r++) {
		struct gp_inspect_register reg = gp_inspect_register_at(slot, r);
		json_t *fields = json_object();

		for (size_t f = 0; f < reg.field_count; f++)
			json_object_set_new(fields, reg.fields[f].name,
					    json_integer(reg.fields[f].value));
		json_object_set_new(object, reg.name,
				    json_pack("{s:o, s:o}", "value", gp_json_hex(reg.value),
					      "fields", fields));
	}
	return object;
}

static json_t *words_json(const struct gp_kfd_slot *slot)
{
	json_t *rows = json_array();

	for (size_t w = 0; w < slot->word_count; w++)
		json_array_append_new(rows, json_pack("[o, o]", gp_json_hex(slot->addresses[w]),
						      gp_json_hex(slot->words[w])));
	return rows;
}

static void put_slot(struct gp_cli_row *row, const struct gp_inspect_slots *slots,
		     const struct gp_cli_slot_options *options, const struct gp_kfd_slot *slot,
		     u32 xccs)
{
	bool queue = gp_inspect_slot_is_queue(slot, slots->view);
	struct item item = {.slot = slot,
			    .xccs = xccs,
			    .valid = queue ? slot->valid : 0,
			    .hqd = slots->view == GP_VIEW_SLOTS,
			    .queue = queue};

	put_place(row, &item);
	put_queue(row, &item);
	put_areas(row, &item);
	if (item.hqd)
		gp_cli_put(row, "check", "CHECK", 0, check_value(slot));
	if (options->registers)
		gp_cli_put(row, "registers", NULL, 0,
			   gp_inspect_register_count(slot) ? gp_v_json(registers_json(slot))
							   : gp_v_missing());
	if (options->raw)
		gp_cli_put(row, "words", NULL, 0, gp_v_json(words_json(slot)));
	for (size_t i = 0; !queue && i < row->count; i++)
		row->cells[i].value.colour = GP_DIM;
}

/* ---- text ---- */

static void heading(struct gp_doc *doc, const struct gp_inspect_slots *slots,
		    const struct gp_kfd_slot *slot)
{
	struct gp_buf text = {0};
	char name[32];

	slot_name(slot, name, sizeof(name));
	gp_buf_printf(&text, "GPU 0x%x %s", slot->gpu_id,
		      slots->view == GP_VIEW_SLOTS ? name : gp_inspect_slot_kind_name(slot->kind));
	if (slot->valid & GP_SLOT_XCC)
		gp_buf_printf(&text, " XCC %u", slot->xcc);
	if (slot->pid)
		gp_buf_printf(&text, " PID %u", slot->pid);
	if ((slot->valid & GP_SLOT_REGISTERS) && !gp_inspect_slot_is_queue(slot, slots->view))
		gp_buf_puts(&text, " inactive");
	gp_cli_line(doc, "%s:", gp_buf_str(&text));
	gp_buf_free(&text);
}

/* The words in rows of eight, as the kernel printed them. */
static void add_words(struct gp_doc *doc, const struct gp_kfd_slot *slot)
{
	for (size_t w = 0; w < slot->word_count;) {
		size_t first = w;
		struct gp_buf text = {0};

		do {
			gp_buf_printf(&text, " %08x", slot->words[w++]);
		} while (w < slot->word_count && w < first + 8 &&
			 slot->addresses[w] == slot->addresses[w - 1] + 4);
		gp_cli_line(doc, "    %08x:%s", slot->addresses[first], gp_buf_str(&text));
		gp_buf_free(&text);
	}
}

static void add_registers(struct gp_doc *doc, const struct gp_kfd_slot *slot)
{
	for (size_t r = 0; r < gp_inspect_register_count(slot); r++) {
		struct gp_inspect_register reg = gp_inspect_register_at(slot, r);
		struct gp_buf fields = {0};

		for (size_t f = 0; f < reg.field_count; f++)
			gp_buf_printf(&fields, "%s%s %u", f ? ", " : " (", reg.fields[f].name,
				      reg.fields[f].value);
		gp_cli_line(doc, "    %s = 0x%08x%s%s", reg.name, reg.value, gp_buf_str(&fields),
			    fields.len ? ")" : "");
		gp_buf_free(&fields);
	}
}

/* A queue keeps its name when it moves to another slot; a descriptor has no slot. */
static void row_name(const struct gp_inspect_slots *slots, const struct gp_kfd_slot *slot,
		     bool per_xcc, char *out, size_t size)
{
	char name[32];

	slot_name(slot, name, sizeof(name));
	if (gp_inspect_slot_is_queue(slot, slots->view) && !per_xcc)
		snprintf(out, size, "%x/%d/%u/%" PRIx64 "/%x", slot->gpu_id, (int)slot->kind,
			 slot->pid, slot->ring, slot->doorbell);
	else
		snprintf(out, size, "%x/%s/%u/%u/%" PRIx64, slot->gpu_id, name, slot->xcc,
			 slot->pid, slots->view == GP_VIEW_SLOTS ? 0 : slot->mqd_address);
}

static int add_table(struct gp_doc *doc, const struct gp_inspect_slots *slots,
		     const struct gp_cli_slot_options *options)
{
	static const struct gp_kfd_slot none;
	struct gp_cli_row row = {.part = GP_CLI_TEXT};
	struct gp_inspect_slot_row *rows;
	size_t count;
	int error = gp_inspect_slot_rows(slots, options->all, options->per_xcc, &rows, &count);

	gp_doc_table(doc, NULL, NULL);
	gp_doc_if_empty(doc, NULL);
	put_slot(&row, slots, options, &none, 1);
	gp_cli_row_columns(&row, doc);
	for (size_t i = 0; i < count; i++) {
		char name[GP_CLI_MARK_TEXT];

		put_slot(&row, slots, options, rows[i].slot, rows[i].xccs);
		row_name(slots, rows[i].slot, options->per_xcc, name, sizeof(name));
		if (options->marks)
			gp_cli_marks_row(options->marks, name, &row);
		gp_cli_row_cells(&row, doc);
	}
	free(rows);
	return error;
}

static void add_summary(struct gp_doc *doc, const struct gp_inspect_slots *slots,
			const struct gp_cli_slot_options *options)
{
	struct gp_inspect_slot_counts counts = gp_inspect_slot_count(slots);

	if (slots->view != GP_VIEW_SLOTS) {
		if (!counts.total)
			gp_doc_line(doc, "No queues.");
		return;
	}
	if (!counts.active && !counts.unknown && !options->all)
		gp_doc_line(doc, "No active queues.");
	if (counts.inactive && !options->all)
		gp_doc_line(doc, "Inactive slots (shown with --all): %zu", counts.inactive);
	if (counts.empty && !options->all)
		gp_doc_line(doc, "Slots that the driver could not read: %zu", counts.empty);
	if (counts.unknown)
		gp_doc_line(doc, "Slots with an unknown register layout (shown with --raw): %zu",
			    counts.unknown);
	if (!slots->pids_from[0] && counts.active && options->from_file)
		gp_doc_line(doc, "PID is unknown: give the mqds saved with this file (--mqds).");
	else if (!slots->pids_from[0] && counts.active)
		gp_doc_line(doc,
			    "PID is unknown: mqds, which names the processes, cannot be read.");
}

/* ---- documents ---- */

static void add_json(struct gp_doc *doc, const struct gp_inspect_slots *slots,
		     const struct gp_cli_slot_options *options)
{
	static const struct gp_kfd_slot none;
	struct gp_inspect_slot_counts counts = gp_inspect_slot_count(slots);
	bool hqd = slots->view == GP_VIEW_SLOTS;
	struct gp_cli_row row = {.part = GP_CLI_JSON};

	gp_doc_fact(doc, "source", NULL, gp_v_text(slots->source));
	gp_doc_fact(doc, "incomplete", NULL, gp_v_bool(slots->incomplete));
	if (hqd) {
		gp_doc_fact(doc, "pids_from", NULL, gp_v_text_or_missing(slots->pids_from));
		gp_doc_open(doc, "counts", NULL);
		gp_doc_fact(doc, "slots", NULL, gp_v_count(counts.total));
		gp_doc_fact(doc, "active", NULL, gp_v_count(counts.active));
		gp_doc_fact(doc, "inactive", NULL, gp_v_count(counts.inactive));
		gp_doc_fact(doc, "unknown", NULL, gp_v_count(counts.unknown));
		gp_doc_fact(doc, "empty", NULL, gp_v_count(counts.empty));
		gp_doc_close(doc);
	}
	gp_doc_table(doc, hqd ? "slots" : "descriptors", NULL);
	put_slot(&row, slots, options, &none, 1);
	gp_cli_row_columns(&row, doc);
	for (size_t i = 0; i < slots->list.count; i++) {
		put_slot(&row, slots, options, &slots->list.items[i], 1);
		gp_cli_row_cells(&row, doc);
	}
}

static int add_text(struct gp_doc *doc, const struct gp_inspect_slots *slots,
		    const struct gp_cli_slot_options *options)
{
	if (!options->raw && !options->registers) {
		int error = add_table(doc, slots, options);

		add_summary(doc, slots, options);
		return error;
	}
	for (size_t i = 0; i < slots->list.count; i++) {
		const struct gp_kfd_slot *slot = &slots->list.items[i];

		if (!options->all && !gp_inspect_slot_is_shown(slot, slots->view))
			continue;
		heading(doc, slots, slot);
		if (options->raw)
			add_words(doc, slot);
		else
			add_registers(doc, slot);
	}
	return 0;
}

struct gp_doc *gp_cli_slots_doc(const struct gp_inspect_slots *slots,
				const struct gp_cli_slot_options *options)
{
	struct gp_doc *doc = gp_doc_new_answer();

	if (options->json || options->csv) {
		add_json(doc, slots, options);
	} else if (add_text(doc, slots, options)) {
		gp_doc_free(doc);
		return NULL;
	}
	return doc;
}
