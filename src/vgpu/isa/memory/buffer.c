// SPDX-License-Identifier: MIT
/*
 * MUBUF: addresses and range checks of buffers, loads, stores and atomics. A buffer that adds the
 * lane to the index and is swizzled with the stride of a lane's memory is private memory: its
 * addresses are those of scratch and flat instructions.
 */
#include "vgpu/isa/memory/buffer.h"

#define ELEMENT_BYTES                                                               \
	4 /* of a swizzled buffer; the descriptor of these GPUs has no field for it \
	   */

static const gp_isa_lanes *rows_of(const struct gp_isa_wave *wave, u32 code)
{
	return (const gp_isa_lanes *)&wave->v[gp_isa_row_of(code)];
}

/* The fields of the descriptor. */
static void buffer_describe(const u32 *word, bool format, struct gp_isa_buffer *buffer)
{
	bool add_lane = word[3] >> 23 & 1;

	buffer->base = word[0] | (u64)(word[1] & 0xffff) << 32;
	buffer->stride = word[1] >> 16 & 0x3fff;
	buffer->swizzled = word[1] >> 31;
	buffer->records = word[2];
	for (u32 i = 0; i < GP_ARRAY_SIZE(buffer->select); i++)
		buffer->select[i] = (u8)(word[3] >> 3 * i & 7);
	buffer->number_format = (u8)(word[3] >> 12 & 7);
	buffer->data_format = (u8)(word[3] >> 15 & 0xf);
	buffer->index_stride = 8u << (word[3] >> 21 & 3);
	buffer->bound = buffer->data_format != 0;
	if (add_lane && !format) {
		buffer->stride |= (u32)buffer->data_format << 14;
		buffer->bound = true;
	}
}

void gp_isa_buffer_find(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
			const struct gp_isa_inst *inst, bool format, struct gp_isa_buffer *buffer)
{
	const u32 *word = &wave->s[inst->src[2]];
	bool add_lane = word[3] >> 23 & 1, idxen = inst->memory.idxen, offen = inst->memory.offen;
	const gp_isa_lanes *v = rows_of(wave, inst->src[0]);
	const u32 *offset = v[idxen ? 1 : 0];

	buffer_describe(word, format, buffer);
	buffer->unchecked = add_lane && !idxen;
	buffer->structured = buffer->stride && (idxen || buffer->swizzled);
	if (inst->memory.soffset != GP_ISA_NO_OPERAND)
		buffer->base +=
			gp_isa_scalar32(runner, wave, inst, inst->memory.soffset, GP_ISA_B32);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		buffer->offset.lane[lane] = (u32)inst->memory.offset + (offen ? offset[lane] : 0);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		buffer->index.lane[lane] = (idxen ? v[0][lane] : 0) + (add_lane ? lane : 0);
}

/* Addresses of what is `skip` bytes behind the lanes' offsets. */
static void buffer_address(const struct gp_isa_buffer *buffer, u32 skip, struct gp_isa_row64 *at)
{
	u32 shift = (u32)__builtin_ctz(buffer->index_stride), low = buffer->index_stride - 1;

	if (!buffer->swizzled) {
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			at->lane[lane] = buffer->base +
					 (u64)buffer->index.lane[lane] * buffer->stride +
					 (buffer->offset.lane[lane] + skip);
		return;
	}
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 offset = buffer->offset.lane[lane] + skip, index = buffer->index.lane[lane];
		u64 record = (u64)(index >> shift) * buffer->stride;

		at->lane[lane] = buffer->base +
				 ((record + offset / ELEMENT_BYTES * ELEMENT_BYTES) << shift) +
				 (index & low) * ELEMENT_BYTES + offset % ELEMENT_BYTES;
	}
}

/* Lanes for which byte `skip` behind the offset is in range. */
static u64 buffer_in_range(const struct gp_isa_buffer *buffer, u64 lanes, u32 skip)
{
	const u32 *at;
	u32 highest = 0;
	u64 in = 0;

	if (!buffer->bound)
		return 0;
	if (buffer->unchecked)
		return lanes;
	at = buffer->structured ? buffer->index.lane : buffer->offset.lane;
	if (buffer->structured)
		skip = 0;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		highest = GP_MAX(highest, at[lane]);
	if ((u64)highest + skip < buffer->records)
		return lanes;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		in |= (u64)((u64)at[lane] + skip < buffer->records) << lane;
	return in & lanes;
}

static void row_clear(u32 *row, u64 lanes)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		row[lane] &= (u32)(lanes >> lane & 1) - 1;
}

/* Whether a lane's bytes are in more than one dword of a swizzled buffer, and not whole ones. */
static bool buffer_scattered(const struct gp_isa_buffer *buffer, u64 lanes, u32 bytes)
{
	u32 most = bytes < ELEMENT_BYTES ? ELEMENT_BYTES - bytes : 0, highest = 0;

	if (!buffer->swizzled)
		return false;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		highest = GP_MAX(highest, buffer->offset.lane[lane] % ELEMENT_BYTES);
	for (; highest > most && lanes; lanes &= lanes - 1)
		if (buffer->offset.lane[__builtin_ctzll(lanes)] % ELEMENT_BYTES > most)
			return true;
	return false;
}

/* Byte behind the offset that decides about a dword: its own first, or the last of all. */
static u32 checked_byte(u32 dword, u32 bytes, bool whole)
{
	return whole ? bytes - 1 : 4 * dword;
}

/* Whether the dwords of each lane lie together and are in range together. */
static bool buffer_plain(const struct gp_isa_buffer *buffer, u32 bytes, bool whole)
{
	if (bytes <= ELEMENT_BYTES)
		return true;
	return !buffer->swizzled &&
	       (whole || buffer_in_range(buffer, GP_ISA_ALL, 0) ==
				 buffer_in_range(buffer, GP_ISA_ALL, bytes - 4));
}

/* Each byte by itself. */
static u32 bytes_gather(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			const struct gp_isa_buffer *buffer, u32 bytes, bool whole,
			gp_isa_lanes *out)
{
	struct gp_isa_row64 at;
	gp_isa_lanes part[1];

	memset(out, 0, gp_isa_dwords(bytes) * sizeof(*out));
	for (u32 i = 0; i < bytes; i++) {
		u64 in = buffer_in_range(buffer, gp_isa_exec(wave),
					 checked_byte(i / 4, bytes, whole));
		u32 bad;

		buffer_address(buffer, i, &at);
		bad = gp_isa_gather(runner, wave, &at, in, 1, part);
		if (bad < GP_ISA_LANES)
			return bad;
		row_clear(part[0], ~in);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			out[i / 4][lane] |= part[0][lane] << i % 4 * 8;
	}
	return GP_ISA_LANES;
}

static u32 bytes_scatter(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			 const struct gp_isa_buffer *buffer, u32 bytes, bool whole,
			 const gp_isa_lanes *in)
{
	struct gp_isa_row64 at;
	gp_isa_lanes part[1];

	for (u32 i = 0; i < bytes; i++) {
		u64 inside = buffer_in_range(buffer, gp_isa_exec(wave),
					     checked_byte(i / 4, bytes, whole));
		u32 bad;

		buffer_address(buffer, i, &at);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			part[0][lane] = in[i / 4][lane] >> i % 4 * 8;
		bad = gp_isa_scatter(runner, wave, &at, inside, 1, (const gp_isa_lanes *)part);
		if (bad < GP_ISA_LANES)
			return bad;
	}
	return GP_ISA_LANES;
}

u32 gp_isa_buffer_gather(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			 const struct gp_isa_buffer *buffer, u32 bytes, bool whole,
			 gp_isa_lanes *out)
{
	bool plain = buffer_plain(buffer, bytes, whole);
	u32 step = plain ? gp_isa_dwords(bytes) : 1, each = plain ? bytes : 4;
	u64 lanes = gp_isa_exec(wave);
	struct gp_isa_row64 at;

	if (buffer_scattered(buffer, lanes, bytes))
		return bytes_gather(runner, wave, buffer, bytes, whole, out);
	for (u32 i = 0; i < gp_isa_dwords(bytes); i += step) {
		u64 in = buffer_in_range(buffer, lanes, checked_byte(i, bytes, whole));
		u32 bad;

		buffer_address(buffer, 4 * i, &at);
		bad = gp_isa_gather(runner, wave, &at, in, each, &out[i]);
		if (bad < GP_ISA_LANES)
			return bad;
		if (in != lanes)
			for (u32 row = i; row < i + step; row++)
				row_clear(out[row], ~in);
	}
	return GP_ISA_LANES;
}

u32 gp_isa_buffer_scatter(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			  const struct gp_isa_buffer *buffer, u32 bytes, bool whole,
			  const gp_isa_lanes *in)
{
	bool plain = buffer_plain(buffer, bytes, whole);
	u32 step = plain ? gp_isa_dwords(bytes) : 1, each = plain ? bytes : 4;
	u64 lanes = gp_isa_exec(wave);
	struct gp_isa_row64 at;

	if (buffer_scattered(buffer, lanes, bytes))
		return bytes_scatter(runner, wave, buffer, bytes, whole, in);
	for (u32 i = 0; i < gp_isa_dwords(bytes); i += step) {
		u64 inside = buffer_in_range(buffer, lanes, checked_byte(i, bytes, whole));
		u32 bad;

		buffer_address(buffer, 4 * i, &at);
		bad = gp_isa_scatter(runner, wave, &at, inside, each, &in[i]);
		if (bad < GP_ISA_LANES)
			return bad;
	}
	return GP_ISA_LANES;
}

enum gp_isa_stop gp_isa_buffer_load(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				    const struct gp_isa_inst *inst)
{
	u32 shape = inst->op->shape, bytes = shape & GP_ISA_BYTES;
	gp_isa_lanes out[GP_ISA_DWORDS_MAX];
	u64 lanes = gp_isa_exec(wave);
	struct gp_isa_buffer buffer;

	if (inst->memory.lds && (bytes > 4 || shape & (GP_ISA_D16 | GP_ISA_D16_HI)))
		return GP_ISA_REFUSED;
	gp_isa_buffer_find(runner, wave, inst, false, &buffer);
	if (gp_isa_buffer_gather(runner, wave, &buffer, bytes, false, out) < GP_ISA_LANES)
		return GP_ISA_FAULT;
	if (!inst->memory.lds) {
		gp_isa_put_loaded(wave, inst->dst, shape, lanes, out);
		return GP_ISA_RUNNING;
	}
	gp_isa_extend(shape, out[0]);
	gp_isa_lds_fill(wave, gp_isa_buffer_lds(wave, inst), lanes, (const gp_isa_lanes *)out);
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_buffer_store(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				     const struct gp_isa_inst *inst)
{
	u32 shape = inst->op->shape, bytes = shape & GP_ISA_BYTES, bad;
	struct gp_isa_buffer buffer;
	gp_isa_lanes room;

	gp_isa_buffer_find(runner, wave, inst, false, &buffer);
	bad = gp_isa_buffer_scatter(runner, wave, &buffer, bytes, false,
				    gp_isa_stored(wave, gp_isa_row_of(inst->src[1]), shape, &room));
	return bad < GP_ISA_LANES ? GP_ISA_FAULT : GP_ISA_RUNNING;
}

/* A dword of each lane from LDS, where a load with the LDS bit would have put it. */
enum gp_isa_stop gp_isa_buffer_store_lds(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
					 const struct gp_isa_inst *inst)
{
	u32 base = gp_isa_buffer_lds(wave, inst), bad;
	struct gp_isa_buffer buffer;
	gp_isa_lanes at, data[1];

	gp_isa_buffer_find(runner, wave, inst, false, &buffer);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		at[lane] = base + 4 * lane;
	gp_isa_lds_gather(wave->group, at, gp_isa_exec(wave), 4, data);
	bad = gp_isa_buffer_scatter(runner, wave, &buffer, 4, false, (const gp_isa_lanes *)data);
	return bad < GP_ISA_LANES ? GP_ISA_FAULT : GP_ISA_RUNNING;
}

/* Lanes out of range return 0. 64 bits of a swizzled buffer are not together: refused. */
enum gp_isa_stop gp_isa_buffer_atomic(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				      const struct gp_isa_inst *inst)
{
	u32 shape = inst->op->shape, rows = shape & GP_ISA_WIDE ? 2 : 1, bad;
	struct gp_isa_buffer buffer;
	struct gp_isa_row64 at;
	gp_isa_lanes out[2];
	u64 in;

	gp_isa_buffer_find(runner, wave, inst, false, &buffer);
	if (buffer.swizzled && shape & GP_ISA_WIDE)
		return GP_ISA_REFUSED;
	in = buffer_in_range(&buffer, gp_isa_exec(wave), 4 * rows - 1);
	buffer_address(&buffer, 0, &at);
	memset(out, 0, sizeof(out));
	bad = gp_isa_memory_atomic(runner, wave, &at, in, shape, rows_of(wave, inst->src[1]), out);
	if (bad < GP_ISA_LANES)
		return GP_ISA_FAULT;
	if (inst->memory.glc)
		gp_isa_put_rows(wave, inst->dst, rows, gp_isa_exec(wave),
				(const gp_isa_lanes *)out);
	return GP_ISA_RUNNING;
}

/* Caches are not modelled: memory is always up to date. */
enum gp_isa_stop gp_isa_buffer_cache(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				     const struct gp_isa_inst *inst)
{
	(void)runner;
	(void)wave;
	(void)inst;
	return GP_ISA_RUNNING;
}
