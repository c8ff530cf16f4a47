// SPDX-License-Identifier: MIT
/* Slots and descriptors as JSON, as raw rows and as named registers. */
#include "inspect/slot_view.h"

#include <inttypes.h>
#include <string.h>

#include "abi/bits.h"
#include "abi/kfd_hqd.h"
#include "inspect/slot_check.h"

#define GP_ROW_WORDS 8

static const char *kind_word(enum gp_kfd_slot_kind kind)
{
	switch (kind) {
	case GP_SLOT_COMPUTE:
		return "compute";
	case GP_SLOT_HIQ:
		return "hiq";
	case GP_SLOT_SDMA:
		return "sdma";
	case GP_SLOT_DIQ:
		break;
	}
	return "diq";
}

/* ---- registers ---- */

struct gp_inspect_register {
	const char *name;
	size_t index;
};

struct gp_inspect_field {
	size_t index;
	const char *name;
	unsigned int from, to;
};

#define GP_NAMED(number, reg)                   {#reg, (number)},
#define GP_CP_FIELD(reg, field, from, to)       {GP_##reg, #field, (from), (to)},
#define GP_SDMA_REG_FIELD(reg, field, from, to) {GP_SDMA_##reg, #field, (from), (to)},

static const struct gp_inspect_register cp_registers[] = {GP_HQD_REGISTERS(GP_NAMED)};
static const struct gp_inspect_register sdma_registers[] = {GP_SDMA_REGISTERS(GP_NAMED)};
static const struct gp_inspect_field cp_fields[] = {GP_HQD_FIELDS(GP_CP_FIELD)};
static const struct gp_inspect_field sdma_fields[] = {GP_SDMA_FIELDS(GP_SDMA_REG_FIELD)};

/* The registers of a slot: which table, and the words they are in. */
struct gp_inspect_register_set {
	const struct gp_inspect_register *registers;
	size_t register_count;
	const struct gp_inspect_field *fields;
	size_t field_count;
	const char *prefix;
	const u32 *words;
};

static struct gp_inspect_register_set registers_of(const struct gp_kfd_slot *slot)
{
	struct gp_inspect_register_set set = {.registers = cp_registers,
					      .register_count = GP_ARRAY_SIZE(cp_registers),
					      .fields = cp_fields,
					      .field_count = GP_ARRAY_SIZE(cp_fields),
					      .prefix = "",
					      .words = slot->words};

	if (!(slot->valid & GP_SLOT_REGISTERS)) {
		set.register_count = 0;
	} else if (slot->kind == GP_SLOT_SDMA) {
		set.registers = sdma_registers;
		set.register_count = slot->word_count < GP_ARRAY_SIZE(sdma_registers)
					     ? slot->word_count
					     : GP_ARRAY_SIZE(sdma_registers);
		set.fields = sdma_fields;
		set.field_count = GP_ARRAY_SIZE(sdma_fields);
		set.prefix = "SDMA_RLC_";
	} else if (slot->word_count > GP_HQD_WORDS) {
		set.words += GP_MQD_BLOCK;
	}
	return set;
}

static void heading(const struct gp_kfd_slot *slot, const struct gp_inspect_slot_options *options,
		    struct gp_buf *out)
{
	char name[32];

	gp_inspect_slot_name(slot, name, sizeof(name));
	gp_buf_printf(out, "GPU %x", slot->gpu_id);
	if (options->view == GP_VIEW_DESCRIPTORS)
		gp_buf_printf(out, " %s", kind_word(slot->kind));
	else
		gp_buf_printf(out, " %s", name);
	if (slot->valid & GP_SLOT_XCC)
		gp_buf_printf(out, " XCC %u", slot->xcc);
	if (slot->pid)
		gp_buf_printf(out, " PID %u", slot->pid);
	if ((slot->valid & GP_SLOT_REGISTERS) && !gp_inspect_slot_is_queue(slot, options->view))
		gp_buf_puts(out, " inactive");
	gp_buf_puts(out, ":\n");
}

static bool is_wanted(const struct gp_kfd_slot *slot, const struct gp_inspect_slot_options *options)
{
	return options->all || gp_inspect_slot_is_shown(slot, options->view);
}

void gp_inspect_slot_raw(const struct gp_kfd_slot_list *list,
			 const struct gp_inspect_slot_options *options, struct gp_buf *out)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct gp_kfd_slot *slot = &list->items[i];
		size_t column = 0;

		if (!is_wanted(slot, options))
			continue;
		heading(slot, options, out);
		for (size_t w = 0; w < slot->word_count; w++) {
			bool gap = w && slot->addresses[w] != slot->addresses[w - 1] + 4;

			if (!w || gap || column == GP_ROW_WORDS) {
				gp_buf_printf(out, "%s    %08x:", w ? "\n" : "",
					      slot->addresses[w]);
				column = 0;
			}
			gp_buf_printf(out, " %08x", slot->words[w]);
			column++;
		}
		gp_buf_puts(out, slot->word_count ? "\n" : "");
	}
}

static void print_register(const struct gp_inspect_register_set *set, size_t number,
			   struct gp_buf *out)
{
	const struct gp_inspect_register *reg = &set->registers[number];
	u32 value = set->words[reg->index];
	const char *separator = " (";

	gp_buf_printf(out, "    %s%s = 0x%08x", set->prefix, reg->name, value);
	for (size_t f = 0; f < set->field_count; f++) {
		const struct gp_inspect_field *field = &set->fields[f];

		if (field->index != reg->index)
			continue;
		gp_buf_printf(out, "%s%s %u", separator, field->name,
			      gp_bits(value, field->from, field->to));
		separator = ", ";
	}
	gp_buf_puts(out, separator[0] == ',' ? ")\n" : "\n");
}

void gp_inspect_slot_registers(const struct gp_kfd_slot_list *list,
			       const struct gp_inspect_slot_options *options, struct gp_buf *out)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct gp_kfd_slot *slot = &list->items[i];
		struct gp_inspect_register_set set = registers_of(slot);

		if (!is_wanted(slot, options))
			continue;
		heading(slot, options, out);
		for (size_t r = 0; r < set.register_count; r++)
			print_register(&set, r, out);
	}
}

json_t *gp_inspect_slot_registers_json(const struct gp_kfd_slot *slot)
{
	struct gp_inspect_register_set set = registers_of(slot);
	json_t *object;

	if (!set.register_count)
		return json_null();
	object = json_object();
	for (size_t r = 0; r < set.register_count; r++) {
		const struct gp_inspect_register *reg = &set.registers[r];
		u32 value = set.words[reg->index];
		json_t *fields = json_object();
		char name[64];

		for (size_t f = 0; f < set.field_count; f++) {
			const struct gp_inspect_field *field = &set.fields[f];

			if (field->index == reg->index)
				json_object_set_new(fields, field->name,
						    json_integer(gp_bits(value, field->from,
									 field->to)));
		}
		snprintf(name, sizeof(name), "%s%s", set.prefix, reg->name);
		json_object_set_new(object, name,
				    json_pack("{s:o, s:o}", "value", gp_json_hex(value), "fields",
					      fields));
	}
	return object;
}

/* ---- JSON ---- */

static json_t *rows_json(const struct gp_kfd_slot *slot)
{
	json_t *rows = json_array();

	for (size_t w = 0; w < slot->word_count; w++)
		json_array_append_new(rows, json_pack("[o, o]", gp_json_hex(slot->addresses[w]),
						      gp_json_hex(slot->words[w])));
	return rows;
}

static json_t *quantum_json(bool known, u32 quantum)
{
	const u32 words[GP_HQD_WORDS] = {[GP_CP_HQD_QUANTUM] = quantum};

	if (!known)
		return json_null();
	return json_pack("{s:o, s:b, s:i, s:i}", "raw", gp_json_hex(quantum), "enabled",
			 (int)GP_HQD_FIELD(words, CP_HQD_QUANTUM, QUANTUM_EN), "scale",
			 (int)GP_HQD_FIELD(words, CP_HQD_QUANTUM, QUANTUM_SCALE), "duration",
			 (int)GP_HQD_FIELD(words, CP_HQD_QUANTUM, QUANTUM_DURATION));
}

static json_t *check_json(const struct gp_kfd_slot *slot, bool queue)
{
	if (!(slot->valid & GP_SLOT_REGISTERS))
		return json_null();
	return json_pack(
		"{s:o, s:o, s:o, s:o}", "state",
		gp_json_str(gp_inspect_check_word(gp_inspect_check_slot(slot))), "active",
		gp_json_str(gp_inspect_check_word(gp_inspect_check_active(slot))), "backlog",
		gp_json_str(queue ? gp_inspect_check_word(gp_inspect_check_backlog(slot)) : NULL),
		"quantum",
		gp_json_str(queue ? gp_inspect_check_word(gp_inspect_check_quantum(slot)) : NULL));
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void place_json(json_t *object, const struct gp_kfd_slot *slot,
		       enum gp_inspect_slot_view view)
{
	bool slots = view == GP_VIEW_SLOTS, sdma = slot->kind == GP_SLOT_SDMA;
	bool engine_known = slots || (sdma && (slot->valid & GP_SLOT_REGISTERS));

	set(object, "gpu_id", json_integer(slot->gpu_id));
	set(object, "kind", json_string(kind_word(slot->kind)));
	set(object, "xcc", gp_json_u64_if(slot->valid & GP_SLOT_XCC, slot->xcc));
	if (slots) {
		set(object, "node", json_integer(slot->node));
		set(object, "mec", gp_json_u64_if(!sdma, slot->mec));
		set(object, "pipe", gp_json_u64_if(!sdma, slot->pipe));
		set(object, "queue", gp_json_u64_if(!sdma, slot->queue));
	} else {
		set(object, "pasid", gp_json_u64_if(slot->pasid, slot->pasid));
	}
	set(object, "engine", gp_json_u64_if(sdma && engine_known, slot->pipe));
	set(object, "rlc", gp_json_u64_if(sdma && engine_known, slot->queue));
	set(object, "pid", gp_json_u64_if(slot->pid, slot->pid));
	set(object, "active",
	    slot->valid & GP_SLOT_REGISTERS ? json_boolean(slot->active) : json_null());
}

static void values_json(json_t *object, const struct gp_kfd_slot *slot, u32 valid)
{
	bool pointers = valid & GP_SLOT_POINTERS, cwsr = valid & GP_SLOT_CWSR;
	bool priority = valid & GP_SLOT_PRIORITY, registers = valid & GP_SLOT_REGISTERS;

	set(object, "vmid", gp_json_u64_if(valid & GP_SLOT_VMID, slot->vmid));
	set(object, "pipe_priority", gp_json_u64_if(priority, slot->pipe_priority));
	set(object, "queue_priority", gp_json_u64_if(priority, slot->queue_priority));
	set(object, "quantum", quantum_json(priority, slot->quantum));
	set(object, "mqd", gp_json_hex_if(valid & GP_SLOT_MQD, slot->mqd_address));
	set(object, "ring", gp_json_hex_if(registers, slot->ring));
	set(object, "ring_bytes", gp_json_u64_if(pointers, slot->ring_bytes));
	set(object, "object", gp_json_hex_if(valid & GP_SLOT_OBJECT, slot->object));
	set(object, "unit", pointers ? json_string(slot->aql ? "packets" : "dwords") : json_null());
	set(object, "rptr", gp_json_u64_if(pointers, slot->rptr));
	set(object, "wptr", gp_json_u64_if(pointers, slot->wptr));
	set(object, "backlog",
	    gp_json_u64_if(pointers && (slot->valid & GP_SLOT_BACKLOG), slot->backlog));
	set(object, "doorbell", gp_json_hex_if(valid & GP_SLOT_DOORBELL, slot->doorbell));
	set(object, "doorbell_enabled",
	    valid & GP_SLOT_DOORBELL ? json_boolean(slot->doorbell_enabled) : json_null());
	set(object, "cwsr", gp_json_hex_if(cwsr, slot->cwsr_address));
	set(object, "cwsr_bytes", gp_json_u64_if(cwsr, slot->cwsr_bytes));
	set(object, "cwsr_stack_used", gp_json_u64_if(cwsr, slot->cwsr_stack_used));
	set(object, "eop", gp_json_hex_if(valid & GP_SLOT_EOP, slot->eop_address));
	set(object, "eop_bytes",
	    gp_json_u64_if((valid & GP_SLOT_EOP) && slot->eop_bytes, slot->eop_bytes));
}

json_t *gp_inspect_slot_json(const struct gp_kfd_slot_list *list,
			     const struct gp_inspect_slot_options *options)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++) {
		const struct gp_kfd_slot *slot = &list->items[i];
		bool queue = gp_inspect_slot_is_queue(slot, options->view);
		json_t *object = json_object();

		place_json(object, slot, options->view);
		values_json(object, slot, queue ? slot->valid : 0);
		if (options->view == GP_VIEW_SLOTS)
			set(object, "check", check_json(slot, queue));
		if (options->registers)
			set(object, "registers", gp_inspect_slot_registers_json(slot));
		if (options->raw)
			set(object, "words", rows_json(slot));
		json_array_append_new(array, object);
	}
	return array;
}
