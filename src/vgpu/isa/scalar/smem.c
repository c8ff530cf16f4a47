// SPDX-License-Identifier: MIT
/*
 * SMEM: scalar memory. Addresses are those of dwords: the two lowest bits are ignored. Loads beyond
 * the end of a buffer read 0, stores and atomics there do nothing.
 */
#include "vgpu/isa/scalar/scalar.h"

#define DWORDS_MAX 16

/* Shape: how many dwords, and these. */
#define COUNT(shape) ((shape)&0x1f)
#define BUFFER       0x20 /* the base is a buffer resource, not an address */

/* Words of a buffer resource. */
#define RESOURCE_BASE_HIGH(word) ((word)&0xffff)
#define RESOURCE_STRIDE(word)    ((word) >> 16 & 0x3fff)

/* Where an instruction reads or writes: the first address, and how many bytes are there. */
struct place {
	u64 va, bytes;
};

static u64 offset_of(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		     const struct gp_isa_inst *inst)
{
	u64 offset = (u64)(s64)inst->memory.offset;

	if (inst->memory.soffset != GP_ISA_NO_OPERAND)
		offset += gp_isa_scalar32(runner, wave, inst, inst->memory.soffset, GP_ISA_B32);
	return offset;
}

static struct place place_of(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
			     const struct gp_isa_inst *inst, u64 align)
{
	const u32 *base = &wave->s[inst->src[0]];
	u64 offset = offset_of(runner, wave, inst) & ~(align - 1), stride, size;

	if (!(inst->op->shape & BUFFER))
		return (struct place){((base[0] | (u64)base[1] << 32) +
				       offset_of(runner, wave, inst)) &
					      ~(align - 1),
				      ~0ull};
	stride = RESOURCE_STRIDE(base[1]);
	size = stride ? stride * base[2] : base[2];
	return (struct place){((base[0] | (u64)RESOURCE_BASE_HIGH(base[1]) << 32) + offset) &
				      ~(align - 1),
			      offset < size ? size - offset : 0};
}

/* Whether base, resource and data are registers that exist. */
static bool operands_exist(const struct gp_isa_inst *inst, u32 dwords)
{
	return gp_isa_scalar_exists(inst->src[0], inst->op->shape & BUFFER ? 4 : 2) &&
	       gp_isa_scalar_exists(inst->dst, dwords);
}

static enum gp_isa_stop load(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			     const struct gp_isa_inst *inst)
{
	u32 count = COUNT(inst->op->shape), value[DWORDS_MAX] = {0};
	struct place place;

	if (!operands_exist(inst, count))
		return GP_ISA_ILLEGAL;
	place = place_of(runner, wave, inst, sizeof(u32));
	for (u32 i = 0; i < count && (i + 1) * sizeof(u32) <= place.bytes; i++)
		if (!gp_isa_load(runner, wave, place.va + i * sizeof(u32), &value[i], sizeof(u32)))
			return GP_ISA_FAULT;
	memcpy(&wave->s[inst->dst], value, count * sizeof(u32));
	return GP_ISA_RUNNING;
}

static enum gp_isa_stop store(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			      const struct gp_isa_inst *inst)
{
	u32 count = COUNT(inst->op->shape);
	struct place place;

	if (!operands_exist(inst, count))
		return GP_ISA_ILLEGAL;
	place = place_of(runner, wave, inst, sizeof(u32));
	for (u32 i = 0; i < count && (i + 1) * sizeof(u32) <= place.bytes; i++)
		if (!gp_isa_store(runner, wave, place.va + i * sizeof(u32), &wave->s[inst->dst + i],
				  sizeof(u32)))
			return GP_ISA_FAULT;
	return GP_ISA_RUNNING;
}

static enum gp_isa_stop clock_read(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	const struct gp_isa_host *host = runner->host;

	return gp_isa_scalar_put(wave, inst->dst, host->clock(host->data, inst->op->shape), true);
}

/* Caches, and probes of translations: memory is the same without them. */
static enum gp_isa_stop nothing(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				const struct gp_isa_inst *inst)
{
	(void)runner;
	(void)wave;
	(void)inst;
	return GP_ISA_RUNNING;
}

/* ---- atomics ---- */

enum atomic { SWAP, CMPSWAP, ADD, SUB, SMIN, UMIN, SMAX, UMAX, AND, OR, XOR, INC, DEC };

#define OPERATION(shape) ((shape)&0xf)
#define WIDE             0x10

/* What memory holds afterwards. Values of 32 bits come with their sign where that matters. */
static u64 combined(enum atomic atomic, u64 old, u64 data, u64 compare)
{
	switch (atomic) {
	case SWAP:
		return data;
	case CMPSWAP:
		return old == compare ? data : old;
	case ADD:
		return old + data;
	case SUB:
		return old - data;
	case SMIN:
		return (s64)data < (s64)old ? data : old;
	case UMIN:
		return data < old ? data : old;
	case SMAX:
		return (s64)data > (s64)old ? data : old;
	case UMAX:
		return data > old ? data : old;
	case AND:
		return old & data;
	case OR:
		return old | data;
	case XOR:
		return old ^ data;
	case INC:
		return old >= data ? 0 : old + 1;
	default:
		return !old || old > data ? data : old - 1;
	}
}

static u64 update64(u64 *at, enum atomic atomic, u64 data, u64 compare)
{
	u64 old = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(at, &old, combined(atomic, old, data, compare), false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	return old;
}

static u32 update32(u32 *at, enum atomic atomic, u32 data, u32 compare)
{
	bool with_sign = atomic == SMIN || atomic == SMAX;
	u32 old = __atomic_load_n(at, __ATOMIC_RELAXED), value;

	do {
		value = (u32)(with_sign
				      ? combined(atomic, (u64)(s64)(s32)old, (u64)(s64)(s32)data, 0)
				      : combined(atomic, old, data, compare));
	} while (!__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	return old;
}

static enum gp_isa_stop atomic(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			       const struct gp_isa_inst *inst)
{
	u32 shape = inst->op->shape, dwords = shape & WIDE ? 2 : 1, *data = &wave->s[inst->dst];
	bool compares = OPERATION(shape) == CMPSWAP;
	struct place place;
	u64 old = 0;

	if (!operands_exist(inst, compares ? 2 * dwords : dwords))
		return GP_ISA_ILLEGAL;
	place = place_of(runner, wave, inst, dwords * sizeof(u32));
	if (place.bytes >= dwords * sizeof(u32)) {
		void *at = gp_isa_address(runner, place.va, true);

		if (!at) {
			wave->fault = place.va;
			return GP_ISA_FAULT;
		}
		old = shape & WIDE
			      ? update64(at, OPERATION(shape), gp_isa_pair(wave, inst->dst),
					 compares ? gp_isa_pair(wave, inst->dst + 2u) : 0)
			      : update32(at, OPERATION(shape), data[0], compares ? data[1] : 0);
	}
	return inst->memory.glc ? gp_isa_scalar_put(wave, inst->dst, old, shape & WIDE)
				: GP_ISA_RUNNING;
}

/* Refused: scalar access to scratch memory, which no compiler emits. */
/* clang-format off */
static const struct gp_isa_op ops[] = {
	[0x00] = {"s_load_dword", .execute = load, .shape = 1},
	[0x01] = {"s_load_dwordx2", .execute = load, .shape = 2},
	[0x02] = {"s_load_dwordx4", .execute = load, .shape = 4},
	[0x03] = {"s_load_dwordx8", .execute = load, .shape = 8},
	[0x04] = {"s_load_dwordx16", .execute = load, .shape = 16},
	[0x05] = {.name = "s_scratch_load_dword"},
	[0x06] = {.name = "s_scratch_load_dwordx2"},
	[0x07] = {.name = "s_scratch_load_dwordx4"},
	[0x08] = {"s_buffer_load_dword", .execute = load, .shape = BUFFER | 1},
	[0x09] = {"s_buffer_load_dwordx2", .execute = load, .shape = BUFFER | 2},
	[0x0a] = {"s_buffer_load_dwordx4", .execute = load, .shape = BUFFER | 4},
	[0x0b] = {"s_buffer_load_dwordx8", .execute = load, .shape = BUFFER | 8},
	[0x0c] = {"s_buffer_load_dwordx16", .execute = load, .shape = BUFFER | 16},
	[0x10] = {"s_store_dword", .execute = store, .shape = 1},
	[0x11] = {"s_store_dwordx2", .execute = store, .shape = 2},
	[0x12] = {"s_store_dwordx4", .execute = store, .shape = 4},
	[0x15] = {.name = "s_scratch_store_dword"},
	[0x16] = {.name = "s_scratch_store_dwordx2"},
	[0x17] = {.name = "s_scratch_store_dwordx4"},
	[0x18] = {"s_buffer_store_dword", .execute = store, .shape = BUFFER | 1},
	[0x19] = {"s_buffer_store_dwordx2", .execute = store, .shape = BUFFER | 2},
	[0x1a] = {"s_buffer_store_dwordx4", .execute = store, .shape = BUFFER | 4},
	[0x20] = {"s_dcache_inv", .execute = nothing},
	[0x21] = {"s_dcache_wb", .execute = nothing},
	[0x22] = {"s_dcache_inv_vol", .execute = nothing},
	[0x23] = {"s_dcache_wb_vol", .execute = nothing},
	[0x24] = {"s_memtime", .execute = clock_read, .shape = false},
	[0x25] = {"s_memrealtime", .execute = clock_read, .shape = true},
	[0x26] = {"s_atc_probe", .execute = nothing},
	[0x27] = {"s_atc_probe_buffer", .execute = nothing},
	[0x28] = {"s_dcache_discard", .execute = nothing},
	[0x29] = {"s_dcache_discard_x2", .execute = nothing},
	[0x40] = {"s_buffer_atomic_swap", .execute = atomic, .shape = BUFFER | SWAP},
	[0x41] = {"s_buffer_atomic_cmpswap", .execute = atomic, .shape = BUFFER | CMPSWAP},
	[0x42] = {"s_buffer_atomic_add", .execute = atomic, .shape = BUFFER | ADD},
	[0x43] = {"s_buffer_atomic_sub", .execute = atomic, .shape = BUFFER | SUB},
	[0x44] = {"s_buffer_atomic_smin", .execute = atomic, .shape = BUFFER | SMIN},
	[0x45] = {"s_buffer_atomic_umin", .execute = atomic, .shape = BUFFER | UMIN},
	[0x46] = {"s_buffer_atomic_smax", .execute = atomic, .shape = BUFFER | SMAX},
	[0x47] = {"s_buffer_atomic_umax", .execute = atomic, .shape = BUFFER | UMAX},
	[0x48] = {"s_buffer_atomic_and", .execute = atomic, .shape = BUFFER | AND},
	[0x49] = {"s_buffer_atomic_or", .execute = atomic, .shape = BUFFER | OR},
	[0x4a] = {"s_buffer_atomic_xor", .execute = atomic, .shape = BUFFER | XOR},
	[0x4b] = {"s_buffer_atomic_inc", .execute = atomic, .shape = BUFFER | INC},
	[0x4c] = {"s_buffer_atomic_dec", .execute = atomic, .shape = BUFFER | DEC},
	[0x60] = {"s_buffer_atomic_swap_x2", .execute = atomic, .shape = BUFFER | WIDE | SWAP},
	[0x61] = {"s_buffer_atomic_cmpswap_x2", .execute = atomic, .shape = BUFFER | WIDE | CMPSWAP},
	[0x62] = {"s_buffer_atomic_add_x2", .execute = atomic, .shape = BUFFER | WIDE | ADD},
	[0x63] = {"s_buffer_atomic_sub_x2", .execute = atomic, .shape = BUFFER | WIDE | SUB},
	[0x64] = {"s_buffer_atomic_smin_x2", .execute = atomic, .shape = BUFFER | WIDE | SMIN},
	[0x65] = {"s_buffer_atomic_umin_x2", .execute = atomic, .shape = BUFFER | WIDE | UMIN},
	[0x66] = {"s_buffer_atomic_smax_x2", .execute = atomic, .shape = BUFFER | WIDE | SMAX},
	[0x67] = {"s_buffer_atomic_umax_x2", .execute = atomic, .shape = BUFFER | WIDE | UMAX},
	[0x68] = {"s_buffer_atomic_and_x2", .execute = atomic, .shape = BUFFER | WIDE | AND},
	[0x69] = {"s_buffer_atomic_or_x2", .execute = atomic, .shape = BUFFER | WIDE | OR},
	[0x6a] = {"s_buffer_atomic_xor_x2", .execute = atomic, .shape = BUFFER | WIDE | XOR},
	[0x6b] = {"s_buffer_atomic_inc_x2", .execute = atomic, .shape = BUFFER | WIDE | INC},
	[0x6c] = {"s_buffer_atomic_dec_x2", .execute = atomic, .shape = BUFFER | WIDE | DEC},
	[0x80] = {"s_atomic_swap", .execute = atomic, .shape = SWAP},
	[0x81] = {"s_atomic_cmpswap", .execute = atomic, .shape = CMPSWAP},
	[0x82] = {"s_atomic_add", .execute = atomic, .shape = ADD},
	[0x83] = {"s_atomic_sub", .execute = atomic, .shape = SUB},
	[0x84] = {"s_atomic_smin", .execute = atomic, .shape = SMIN},
	[0x85] = {"s_atomic_umin", .execute = atomic, .shape = UMIN},
	[0x86] = {"s_atomic_smax", .execute = atomic, .shape = SMAX},
	[0x87] = {"s_atomic_umax", .execute = atomic, .shape = UMAX},
	[0x88] = {"s_atomic_and", .execute = atomic, .shape = AND},
	[0x89] = {"s_atomic_or", .execute = atomic, .shape = OR},
	[0x8a] = {"s_atomic_xor", .execute = atomic, .shape = XOR},
	[0x8b] = {"s_atomic_inc", .execute = atomic, .shape = INC},
	[0x8c] = {"s_atomic_dec", .execute = atomic, .shape = DEC},
	[0xa0] = {"s_atomic_swap_x2", .execute = atomic, .shape = WIDE | SWAP},
	[0xa1] = {"s_atomic_cmpswap_x2", .execute = atomic, .shape = WIDE | CMPSWAP},
	[0xa2] = {"s_atomic_add_x2", .execute = atomic, .shape = WIDE | ADD},
	[0xa3] = {"s_atomic_sub_x2", .execute = atomic, .shape = WIDE | SUB},
	[0xa4] = {"s_atomic_smin_x2", .execute = atomic, .shape = WIDE | SMIN},
	[0xa5] = {"s_atomic_umin_x2", .execute = atomic, .shape = WIDE | UMIN},
	[0xa6] = {"s_atomic_smax_x2", .execute = atomic, .shape = WIDE | SMAX},
	[0xa7] = {"s_atomic_umax_x2", .execute = atomic, .shape = WIDE | UMAX},
	[0xa8] = {"s_atomic_and_x2", .execute = atomic, .shape = WIDE | AND},
	[0xa9] = {"s_atomic_or_x2", .execute = atomic, .shape = WIDE | OR},
	[0xaa] = {"s_atomic_xor_x2", .execute = atomic, .shape = WIDE | XOR},
	[0xab] = {"s_atomic_inc_x2", .execute = atomic, .shape = WIDE | INC},
	[0xac] = {"s_atomic_dec_x2", .execute = atomic, .shape = WIDE | DEC},
};
/* clang-format on */

const struct gp_isa_table gp_isa_smem = {ops, GP_ARRAY_SIZE(ops)};
