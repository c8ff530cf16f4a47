// SPDX-License-Identifier: MIT
/*
 * Reads hqds or mqds and determines the process of each slot. hqds does not name it: a slot is
 * joined with the descriptors of mqds, live or saved.
 */
#include "inspect/slots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/bits.h"
#include "abi/kfd_hqd.h"
#include "base/core.h"

void gp_inspect_slots_free(struct gp_inspect_slots *slots)
{
	gp_kfd_slot_list_free(&slots->list);
	*slots = (struct gp_inspect_slots){0};
}

typedef int (*gp_parse)(const struct gp_gpu_debugfs_source *source, struct gp_diag *diag,
			struct gp_kfd_slot_list *out);

static int read_list(const struct gp_inspect_kfd_query *query, const char *path, gp_parse parse,
		     struct gp_kfd_gfx *gfx, struct gp_diag *diag, struct gp_inspect_slots *out)
{
	struct gp_inspect_kfd_input input = {0};
	struct gp_gpu_debugfs_source source;
	int error = gp_inspect_kfd_input_read(query, query->file, path, diag, &input);

	if (!error) {
		source = gp_inspect_kfd_input_source(query, &input, gfx);
		error = gp_inspect_kfd_input_judge(parse(&source, diag, &out->list), diag);
	}
	out->incomplete = out->list.incomplete;
	memcpy(out->source, input.name, sizeof(out->source));
	gp_inspect_kfd_input_free(&input);
	return error;
}

int gp_inspect_hqd_read(const struct gp_inspect_kfd_query *query, struct gp_diag *diag,
			struct gp_inspect_slots *out)
{
	struct gp_kfd_gfx gfx = {0};
	struct gp_kfd_slot_list owners = {0};
	int error = gp_inspect_kfd_query_gfx(query, &gfx);

	out->view = GP_VIEW_SLOTS;
	if (!error)
		error = read_list(query, GP_DEBUGFS_HQDS, gp_kfd_parse_hqds, &gfx, diag, out);
	if (!error)
		error = gp_inspect_kfd_query_owners(query, &gfx, diag, &owners, out->pids_from,
						    sizeof(out->pids_from));
	if (!error) {
		out->incomplete |= owners.incomplete;
		gp_kfd_slots_join(&out->list, &owners);
		gp_inspect_kfd_query_filter(query, &out->list);
	}
	gp_kfd_slot_list_free(&owners);
	gp_kfd_gfx_free(&gfx);
	return error;
}

int gp_inspect_mqd_read(const struct gp_inspect_kfd_query *query, struct gp_diag *diag,
			struct gp_inspect_slots *out)
{
	struct gp_kfd_gfx gfx = {0};
	int error = gp_inspect_kfd_query_gfx(query, &gfx);

	out->view = GP_VIEW_DESCRIPTORS;
	if (!error)
		error = read_list(query, GP_DEBUGFS_MQDS, gp_kfd_parse_mqds, &gfx, diag, out);
	if (!error) {
		memcpy(out->pids_from, out->source, sizeof(out->pids_from));
		gp_inspect_kfd_query_filter(query, &out->list);
	}
	gp_kfd_gfx_free(&gfx);
	return error;
}

/* ---- what a slot is ---- */

bool gp_inspect_slot_is_queue(const struct gp_kfd_slot *slot, enum gp_inspect_slot_view view)
{
	return (slot->valid & GP_SLOT_REGISTERS) && (view == GP_VIEW_DESCRIPTORS || slot->active);
}

bool gp_inspect_slot_is_shown(const struct gp_kfd_slot *slot, enum gp_inspect_slot_view view)
{
	return slot->valid & GP_SLOT_REGISTERS ? gp_inspect_slot_is_queue(slot, view)
					       : slot->word_count;
}

struct gp_inspect_slot_counts gp_inspect_slot_count(const struct gp_inspect_slots *slots)
{
	struct gp_inspect_slot_counts counts = {.total = slots->list.count};

	for (size_t i = 0; i < slots->list.count; i++) {
		const struct gp_kfd_slot *slot = &slots->list.items[i];

		if (!slot->word_count)
			counts.empty++;
		else if (!(slot->valid & GP_SLOT_REGISTERS))
			counts.unknown++;
		else if (gp_inspect_slot_is_queue(slot, slots->view))
			counts.active++;
		else
			counts.inactive++;
	}
	return counts;
}

const char *gp_inspect_slot_kind_name(enum gp_kfd_slot_kind kind)
{
	static const char *const names[] = {
		[GP_SLOT_COMPUTE] = "compute",
		[GP_SLOT_HIQ] = "hiq",
		[GP_SLOT_SDMA] = "sdma",
		[GP_SLOT_DIQ] = "diq",
	};

	return names[kind];
}

struct gp_inspect_quantum gp_inspect_slot_quantum(const struct gp_kfd_slot *slot)
{
	const u32 words[GP_HQD_WORDS] = {[GP_CP_HQD_QUANTUM] = slot->quantum};
	u32 scale = GP_HQD_FIELD(words, CP_HQD_QUANTUM, QUANTUM_SCALE);

	return (struct gp_inspect_quantum){.enabled =
						   GP_HQD_FIELD(words, CP_HQD_QUANTUM, QUANTUM_EN),
					   .in_ms = scale == GP_HQD_QUANTUM_SCALE_MS,
					   .scale = scale,
					   .duration = GP_HQD_FIELD(words, CP_HQD_QUANTUM,
								    QUANTUM_DURATION)};
}

struct gp_inspect_slot_check gp_inspect_slot_check(const struct gp_kfd_slot *slot)
{
	struct gp_inspect_slot_check check = {0};
	bool high, off;

	if (!(slot->valid & GP_SLOT_REGISTERS))
		return check;
	check.state = check.active = slot->active ? "ok" : "inactive";
	if (!slot->active)
		return check;
	/* The limit is in packets; SDMA and kernel queues count dwords. */
	high = (slot->valid & GP_SLOT_BACKLOG) && slot->aql && slot->backlog >= GP_BACKLOG_HIGH;
	off = (slot->valid & GP_SLOT_PRIORITY) && !gp_inspect_slot_quantum(slot).enabled;
	if ((slot->valid & GP_SLOT_BACKLOG) && slot->aql)
		check.backlog = high ? "high" : "ok";
	if (slot->valid & GP_SLOT_PRIORITY)
		check.quantum = off ? "off" : "ok";
	check.state = high ? check.backlog : off ? check.quantum : check.active;
	return check;
}

/* ---- rows ---- */

static int compare_u64(u64 a, u64 b)
{
	return a == b ? 0 : a < b ? -1 : 1;
}

/* Puts the XCCs of a queue next to each other, the first one first. */
static int by_queue(const void *a, const void *b)
{
	const struct gp_inspect_slot_row *x = a, *y = b;
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
	const struct gp_inspect_slot_row *x = a, *y = b;

	return compare_u64(x->order, y->order);
}

static bool same_queue(const struct gp_kfd_slot *x, const struct gp_kfd_slot *y,
		       enum gp_inspect_slot_view view)
{
	return gp_inspect_slot_is_queue(x, view) && gp_inspect_slot_is_queue(y, view) &&
	       (x->valid & y->valid & GP_SLOT_XCC) && x->xcc != y->xcc && x->gpu_id == y->gpu_id &&
	       x->kind == y->kind && x->pid == y->pid && x->ring == y->ring &&
	       x->doorbell == y->doorbell;
}

static size_t merge_xccs(struct gp_inspect_slot_row *rows, size_t count,
			 enum gp_inspect_slot_view view)
{
	size_t kept = 0;

	qsort(rows, count, sizeof(*rows), by_queue);
	for (size_t i = 0; i < count; i++) {
		if (kept && same_queue(rows[kept - 1].slot, rows[i].slot, view))
			rows[kept - 1].xccs++;
		else
			rows[kept++] = rows[i];
	}
	qsort(rows, kept, sizeof(*rows), by_order);
	return kept;
}

int gp_inspect_slot_rows(const struct gp_inspect_slots *slots, bool all, bool per_xcc,
			 struct gp_inspect_slot_row **out, size_t *count)
{
	struct gp_inspect_slot_row *rows = calloc(slots->list.count + 1, sizeof(*rows));

	*count = 0;
	*out = rows;
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < slots->list.count; i++) {
		const struct gp_kfd_slot *slot = &slots->list.items[i];

		if (all || gp_inspect_slot_is_shown(slot, slots->view))
			rows[(*count)++] = (struct gp_inspect_slot_row){slot, i, 1};
	}
	if (!per_xcc)
		*count = merge_xccs(rows, *count, slots->view);
	return 0;
}

/* ---- registers by name ---- */

struct name {
	const char *name;
	size_t index;
};

struct field {
	size_t index;
	const char *name;
	unsigned int from, to;
};

#define GP_NAMED(number, reg)                   {#reg, (number)},
#define GP_CP_FIELD(reg, field, from, to)       {GP_##reg, #field, (from), (to)},
#define GP_SDMA_REG_FIELD(reg, field, from, to) {GP_SDMA_##reg, #field, (from), (to)},

static const struct name cp_registers[] = {GP_HQD_REGISTERS(GP_NAMED)};
static const struct name sdma_registers[] = {GP_SDMA_REGISTERS(GP_NAMED)};
static const struct name sdma11_registers[] = {GP_SDMA11_REGISTERS(GP_NAMED)};
static const struct name sdma12_registers[] = {GP_SDMA12_REGISTERS(GP_NAMED)};
static const struct field cp_fields[] = {GP_HQD_FIELDS(GP_CP_FIELD)};
static const struct field sdma_fields[] = {GP_SDMA_FIELDS(GP_SDMA_REG_FIELD)};

struct registers {
	const struct name *names;
	size_t count;
};

static struct registers registers_of(const struct gp_kfd_slot *slot)
{
	if (slot->kind != GP_SLOT_SDMA)
		return (struct registers){cp_registers, GP_ARRAY_SIZE(cp_registers)};
	if (slot->sdma_family == GP_SDMA_GFX11)
		return (struct registers){sdma11_registers, GP_ARRAY_SIZE(sdma11_registers)};
	if (slot->sdma_family == GP_SDMA_GFX12)
		return (struct registers){sdma12_registers, GP_ARRAY_SIZE(sdma12_registers)};
	return (struct registers){sdma_registers, GP_ARRAY_SIZE(sdma_registers)};
}

size_t gp_inspect_register_count(const struct gp_kfd_slot *slot)
{
	struct registers registers = registers_of(slot);

	if (!(slot->valid & GP_SLOT_REGISTERS))
		return 0;
	return slot->kind == GP_SLOT_SDMA ? GP_MIN(slot->word_count, registers.count)
					  : registers.count;
}

/* Whether a field is part of a register: of an SDMA register by its name, which moves. */
static bool field_is_of(const struct field *field, const struct name *reg, bool sdma)
{
	return sdma ? strcmp(sdma_registers[field->index].name, reg->name) == 0
		    : field->index == reg->index;
}

struct gp_inspect_register gp_inspect_register_at(const struct gp_kfd_slot *slot, size_t index)
{
	bool sdma = slot->kind == GP_SLOT_SDMA;
	const struct name *reg = &registers_of(slot).names[index];
	const struct field *fields = sdma ? sdma_fields : cp_fields;
	size_t count = sdma ? GP_ARRAY_SIZE(sdma_fields) : GP_ARRAY_SIZE(cp_fields);
	/* A descriptor has the block of registers in its middle. */
	size_t skip = !sdma && slot->word_count > GP_HQD_WORDS ? GP_MQD_BLOCK : 0;
	struct gp_inspect_register out = {.value = slot->words[skip + reg->index]};

	snprintf(out.name, sizeof(out.name), "%s%s", sdma ? "SDMA_RLC_" : "", reg->name);
	for (size_t i = 0; i < count && out.field_count < GP_REGISTER_FIELDS; i++) {
		if (!field_is_of(&fields[i], reg, sdma))
			continue;
		out.fields[out.field_count].name = fields[i].name;
		out.fields[out.field_count++].value =
			gp_bits(out.value, fields[i].from, fields[i].to);
	}
	return out;
}
