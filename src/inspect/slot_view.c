// SPDX-License-Identifier: MIT
/* Slots and descriptors as rows of a grid. */
#include "inspect/slot_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi/kfd_hqd.h"
#include "base/i18n.h"
#include "inspect/slot_check.h"

/* A row: the slot of the first XCC, and how many XCCs run the queue. */
struct row {
	const struct gp_kfd_slot *slot;
	size_t order; /* in the text */
	u32 xccs;
	enum gp_inspect_slot_view view;
	bool per_xcc;
};

bool gp_inspect_slot_is_queue(const struct gp_kfd_slot *slot, enum gp_inspect_slot_view view)
{
	return (slot->valid & GP_SLOT_REGISTERS) && (view == GP_VIEW_DESCRIPTORS || slot->active);
}

bool gp_inspect_slot_is_shown(const struct gp_kfd_slot *slot, enum gp_inspect_slot_view view)
{
	return slot->valid & GP_SLOT_REGISTERS ? gp_inspect_slot_is_queue(slot, view)
					       : slot->word_count;
}

struct gp_inspect_slot_counts gp_inspect_slot_count(const struct gp_kfd_slot_list *list,
						    enum gp_inspect_slot_view view)
{
	struct gp_inspect_slot_counts counts = {.total = list->count};

	for (size_t i = 0; i < list->count; i++) {
		if (!list->items[i].word_count)
			counts.empty++;
		else if (!(list->items[i].valid & GP_SLOT_REGISTERS))
			counts.unknown++;
		else if (gp_inspect_slot_is_queue(&list->items[i], view))
			counts.active++;
		else
			counts.inactive++;
	}
	return counts;
}

void gp_inspect_slot_name(const struct gp_kfd_slot *slot, char *out, size_t size)
{
	switch (slot->kind) {
	case GP_SLOT_COMPUTE:
		snprintf(out, size, "CP %u.%u", slot->pipe, slot->queue);
		break;
	case GP_SLOT_HIQ:
		snprintf(out, size, "HIQ %u.%u.%u", slot->mec, slot->pipe, slot->queue);
		break;
	case GP_SLOT_SDMA:
		snprintf(out, size, "SDMA %u.%u", slot->pipe, slot->queue);
		break;
	case GP_SLOT_DIQ:
		snprintf(out, size, "DIQ");
		break;
	}
}

/* ---- cells; an empty text is a missing value ---- */

static bool has(const struct row *row, u32 field)
{
	return gp_inspect_slot_is_queue(row->slot, row->view) && (row->slot->valid & field);
}

static void cell_gpu(const struct row *row, char *out, size_t size)
{
	snprintf(out, size, "%x", row->slot->gpu_id);
}

static void cell_slot(const struct row *row, char *out, size_t size)
{
	gp_inspect_slot_name(row->slot, out, size);
}

static void cell_type(const struct row *row, char *out, size_t size)
{
	bool decoded = has(row, GP_SLOT_REGISTERS);

	if (row->slot->kind == GP_SLOT_DIQ)
		snprintf(out, size, "DIQ");
	else if (row->slot->kind == GP_SLOT_SDMA && decoded)
		gp_inspect_slot_name(row->slot, out, size);
	else if (row->slot->kind == GP_SLOT_SDMA)
		snprintf(out, size, "SDMA");
	else
		snprintf(out, size, "%s", !decoded ? "compute" : row->slot->aql ? "AQL" : "PM4");
}

/* "0" is an XCC; "x4" is a queue that runs on four. */
static void cell_xcc(const struct row *row, char *out, size_t size)
{
	if (!(row->slot->valid & GP_SLOT_XCC))
		return;
	if (row->per_xcc || row->xccs == 1)
		snprintf(out, size, "%u", row->slot->xcc);
	else
		snprintf(out, size, "x%u", row->xccs);
}

static void cell_pid(const struct row *row, char *out, size_t size)
{
	if (row->slot->pid)
		snprintf(out, size, "%u", row->slot->pid);
}

static void cell_pasid(const struct row *row, char *out, size_t size)
{
	if (row->slot->pasid)
		snprintf(out, size, "0x%" PRIx64, row->slot->pasid);
}

static void cell_active(const struct row *row, char *out, size_t size)
{
	if (row->slot->valid & GP_SLOT_REGISTERS)
		snprintf(out, size, "%d", row->slot->active);
}

static void cell_vmid(const struct row *row, char *out, size_t size)
{
	if (has(row, GP_SLOT_VMID))
		snprintf(out, size, "%u", row->slot->vmid);
}

static void cell_priority(const struct row *row, char *out, size_t size)
{
	if (has(row, GP_SLOT_PRIORITY))
		snprintf(out, size, "%u/%u", row->slot->pipe_priority, row->slot->queue_priority);
}

static void cell_quantum(const struct row *row, char *out, size_t size)
{
	const u32 words[GP_HQD_WORDS] = {[GP_CP_HQD_QUANTUM] = row->slot->quantum};

	if (!has(row, GP_SLOT_PRIORITY))
		return;
	if (!GP_HQD_FIELD(words, CP_HQD_QUANTUM, QUANTUM_EN))
		snprintf(out, size, "%s", _("off"));
	else if (GP_HQD_FIELD(words, CP_HQD_QUANTUM, QUANTUM_SCALE) == GP_HQD_QUANTUM_SCALE_MS)
		snprintf(out, size, "%u ms", GP_HQD_FIELD(words, CP_HQD_QUANTUM, QUANTUM_DURATION));
	else
		snprintf(out, size, "0x%x", row->slot->quantum);
}

static void cell_mqd(const struct row *row, char *out, size_t size)
{
	if (has(row, GP_SLOT_MQD))
		snprintf(out, size, "0x%" PRIx64, row->slot->mqd_address);
}

static void cell_ring(const struct row *row, char *out, size_t size)
{
	if (has(row, GP_SLOT_REGISTERS))
		snprintf(out, size, "0x%" PRIx64, row->slot->ring);
}

static void cell_object(const struct row *row, char *out, size_t size)
{
	if (has(row, GP_SLOT_OBJECT))
		snprintf(out, size, "0x%" PRIx64, row->slot->object);
}

static void cell_rptr(const struct row *row, char *out, size_t size)
{
	if (has(row, GP_SLOT_POINTERS))
		snprintf(out, size, "%" PRIu64, row->slot->rptr);
}

static void cell_wptr(const struct row *row, char *out, size_t size)
{
	if (has(row, GP_SLOT_POINTERS))
		snprintf(out, size, "%" PRIu64, row->slot->wptr);
}

static void cell_backlog(const struct row *row, char *out, size_t size)
{
	if (has(row, GP_SLOT_BACKLOG))
		snprintf(out, size, row->slot->aql ? "%" PRIu64 : "%" PRIu64 " dw",
			 row->slot->backlog);
}

static void cell_doorbell(const struct row *row, char *out, size_t size)
{
	if (has(row, GP_SLOT_DOORBELL))
		snprintf(out, size, "0x%x", row->slot->doorbell);
}

static void area(char *out, size_t size, u64 address, u64 bytes)
{
	if (bytes < 1u << 20)
		snprintf(out, size, "0x%" PRIx64 "+%" PRIu64 "K", address, bytes >> 10);
	else
		snprintf(out, size, "0x%" PRIx64 "+%.1fM", address, (double)bytes / (1u << 20));
}

static void cell_cwsr(const struct row *row, char *out, size_t size)
{
	if (has(row, GP_SLOT_CWSR))
		area(out, size, row->slot->cwsr_address, row->slot->cwsr_bytes);
}

static void cell_saved(const struct row *row, char *out, size_t size)
{
	if (has(row, GP_SLOT_CWSR))
		snprintf(out, size, "%u", row->slot->cwsr_stack_used);
}

static void cell_eop(const struct row *row, char *out, size_t size)
{
	if (has(row, GP_SLOT_EOP))
		area(out, size, row->slot->eop_address, row->slot->eop_bytes);
}

static void cell_check(const struct row *row, char *out, size_t size)
{
	const char *word = gp_inspect_check_word(gp_inspect_check_slot(row->slot));

	if (word)
		snprintf(out, size, "%s", word);
}

#define IN_SLOTS       (1u << GP_VIEW_SLOTS)
#define IN_DESCRIPTORS (1u << GP_VIEW_DESCRIPTORS)

static const struct column {
	const char *title;
	enum gp_align align;
	u32 views;
	void (*cell)(const struct row *row, char *out, size_t size);
} columns[] = {
	{N_("GPU"), GP_LEFT, IN_SLOTS | IN_DESCRIPTORS, cell_gpu},
	{N_("SLOT"), GP_LEFT, IN_SLOTS, cell_slot},
	{N_("PID"), GP_RIGHT, IN_SLOTS | IN_DESCRIPTORS, cell_pid},
	{N_("PASID"), GP_RIGHT, IN_DESCRIPTORS, cell_pasid},
	{N_("TYPE"), GP_LEFT, IN_DESCRIPTORS, cell_type},
	{N_("XCC"), GP_RIGHT, IN_SLOTS | IN_DESCRIPTORS, cell_xcc},
	{N_("ACTIVE"), GP_RIGHT, IN_SLOTS | IN_DESCRIPTORS, cell_active},
	{N_("VMID"), GP_RIGHT, IN_SLOTS | IN_DESCRIPTORS, cell_vmid},
	{N_("PRIO"), GP_RIGHT, IN_SLOTS | IN_DESCRIPTORS, cell_priority},
	{N_("QUANTUM"), GP_RIGHT, IN_SLOTS | IN_DESCRIPTORS, cell_quantum},
	{N_("MQD"), GP_LEFT, IN_DESCRIPTORS, cell_mqd},
	{N_("RING"), GP_LEFT, IN_SLOTS | IN_DESCRIPTORS, cell_ring},
	{N_("OBJECT"), GP_LEFT, IN_SLOTS | IN_DESCRIPTORS, cell_object},
	{N_("RPTR"), GP_RIGHT, IN_SLOTS | IN_DESCRIPTORS, cell_rptr},
	{N_("WPTR"), GP_RIGHT, IN_SLOTS | IN_DESCRIPTORS, cell_wptr},
	{N_("BACKLOG"), GP_RIGHT, IN_SLOTS | IN_DESCRIPTORS, cell_backlog},
	{N_("DOORBELL"), GP_RIGHT, IN_SLOTS | IN_DESCRIPTORS, cell_doorbell},
	{N_("CWSR"), GP_LEFT, IN_SLOTS | IN_DESCRIPTORS, cell_cwsr},
	{N_("SAVED"), GP_RIGHT, IN_DESCRIPTORS, cell_saved},
	{N_("EOP"), GP_LEFT, IN_SLOTS | IN_DESCRIPTORS, cell_eop},
	{N_("CHECK"), GP_LEFT, IN_SLOTS, cell_check},
};

/* ---- rows ---- */

static int compare_u64(u64 a, u64 b)
{
	return a == b ? 0 : a < b ? -1 : 1;
}

/* The XCCs of a queue come to lie beside each other, the first one first. */
static int by_queue(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	const u64 keys[][2] = {{x->slot->gpu_id, y->slot->gpu_id},
			       {x->slot->kind, y->slot->kind},
			       {x->slot->pid, y->slot->pid},
			       {x->slot->ring, y->slot->ring},
			       {x->slot->doorbell, y->slot->doorbell},
			       {x->slot->xcc, y->slot->xcc},
			       {x->order, y->order}};

	for (size_t i = 0; i < GP_ARRAY_SIZE(keys); i++) {
		int order = compare_u64(keys[i][0], keys[i][1]);

		if (order)
			return order;
	}
	return 0;
}

static int by_order(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return compare_u64(x->order, y->order);
}

static bool same_queue(const struct row *a, const struct row *b)
{
	const struct gp_kfd_slot *x = a->slot, *y = b->slot;

	return gp_inspect_slot_is_queue(x, a->view) && gp_inspect_slot_is_queue(y, b->view) &&
	       (x->valid & y->valid & GP_SLOT_XCC) && x->xcc != y->xcc && x->gpu_id == y->gpu_id &&
	       x->kind == y->kind && x->pid == y->pid && x->ring == y->ring &&
	       x->doorbell == y->doorbell;
}

static size_t merge_xccs(struct row *rows, size_t count)
{
	size_t kept = 0;

	qsort(rows, count, sizeof(*rows), by_queue);
	for (size_t i = 0; i < count; i++) {
		if (kept && same_queue(&rows[kept - 1], &rows[i]))
			rows[kept - 1].xccs++;
		else
			rows[kept++] = rows[i];
	}
	qsort(rows, kept, sizeof(*rows), by_order);
	return kept;
}

static void row_name(const struct row *row, char *out, size_t size)
{
	const struct gp_kfd_slot *slot = row->slot;
	char name[32];

	/* A queue keeps its name when it moves to another slot; a descriptor has no slot. */
	if (gp_inspect_slot_is_queue(slot, row->view) && !row->per_xcc)
		snprintf(out, size, "%x/%d/%u/%" PRIx64 "/%x", slot->gpu_id, (int)slot->kind,
			 slot->pid, slot->ring, slot->doorbell);
	else {
		gp_inspect_slot_name(slot, name, sizeof(name));
		snprintf(out, size, "%x/%s/%u/%u/%" PRIx64, slot->gpu_id, name, slot->xcc,
			 slot->pid, row->view == GP_VIEW_DESCRIPTORS ? slot->mqd_address : 0);
	}
}

static enum gp_show_colour cell_colour(const struct row *row, const struct column *column)
{
	if (!gp_inspect_slot_is_queue(row->slot, row->view))
		return GP_DIM;
	if (column->cell != cell_check)
		return GP_PLAIN;
	return gp_inspect_check_slot(row->slot) == GP_CHECK_OK ? GP_GREEN : GP_YELLOW;
}

static void add_row(struct gp_inspect_grid *grid, const struct row *row)
{
	char text[GP_GRID_TEXT];

	row_name(row, text, sizeof(text));
	gp_inspect_grid_row(grid, text);
	for (size_t c = 0; c < GP_ARRAY_SIZE(columns); c++) {
		if (!(columns[c].views & (1u << row->view)))
			continue;
		text[0] = '\0';
		columns[c].cell(row, text, sizeof(text));
		gp_inspect_grid_cell(grid, cell_colour(row, &columns[c]), text);
	}
}

int gp_inspect_slot_grid(const struct gp_kfd_slot_list *list,
			 const struct gp_inspect_slot_options *options, struct gp_inspect_grid *out)
{
	struct row *rows = calloc(list->count + 1, sizeof(*rows));
	size_t count = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t c = 0; c < GP_ARRAY_SIZE(columns); c++) {
		if (columns[c].views & (1u << options->view))
			gp_inspect_grid_column(out, gettext(columns[c].title), columns[c].align);
	}
	for (size_t i = 0; i < list->count; i++) {
		const struct gp_kfd_slot *slot = &list->items[i];

		if (options->all || gp_inspect_slot_is_shown(slot, options->view))
			rows[count++] = (struct row){.slot = slot,
						     .order = i,
						     .xccs = 1,
						     .view = options->view,
						     .per_xcc = options->per_xcc};
	}
	if (!options->per_xcc)
		count = merge_xccs(rows, count);
	for (size_t i = 0; i < count; i++)
		add_row(out, &rows[i]);
	free(rows);
	return out->error;
}
