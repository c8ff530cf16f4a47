// SPDX-License-Identifier: MIT
/*
 * Typed buffers: components of 2 to 32 bits, converted between what memory holds and registers. The
 * format is that of the instruction (MTBUF) or of the descriptor (MUBUF).
 *
 * Refused when they are executed: floats of less than 16 bits, d16 with components of more than 16
 * bits, stores with fewer components than the format has or with a descriptor that reorders them.
 */
#include <immintrin.h>
#include <math.h>

#include "vgpu/isa/memory/buffer.h"

#define DEFAULT_CSR 0x1f80 /* nearest even, no flushing, no exceptions */
#define COMPONENTS  4
#define SELECT_ONE  1
#define SELECT_R    4

enum number { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, RESERVED, FLOAT };

/* Bits of the components, from the lowest on. */
static const struct layout {
	u8 count, bits[COMPONENTS];
} layouts[16] = {
	[1] = {1, {8}},
	[2] = {1, {16}},
	[3] = {2, {8, 8}},
	[4] = {1, {32}},
	[5] = {2, {16, 16}},
	[6] = {3, {11, 11, 10}},
	[7] = {3, {10, 11, 11}},
	[8] = {4, {2, 10, 10, 10}},
	[9] = {4, {10, 10, 10, 2}},
	[10] = {4, {8, 8, 8, 8}},
	[11] = {2, {32, 32}},
	[12] = {4, {16, 16, 16, 16}},
	[13] = {3, {32, 32, 32}},
	[14] = {4, {32, 32, 32, 32}},
};

struct format {
	const struct layout *layout;
	enum number number;
	u32 bytes;
	bool half; /* registers hold 16 bits */
};

static u32 float_bits(float value)
{
	u32 bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float float_from(u32 bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static s32 signed_from(u32 raw, u32 width)
{
	return (s32)(raw << (32 - width)) >> (32 - width);
}

static u32 largest(u32 width)
{
	return width == 32 ? ~0u : (1u << width) - 1;
}

static bool is_integer(enum number number)
{
	return number == UINT || number == SINT;
}

/* A component as a register of 32 bits has it. Data of 32 bits are not converted. */
static u32 component_load(u32 raw, u32 width, enum number number)
{
	float value;

	if (width == 32)
		return raw;
	switch (number) {
	case UINT:
		return raw;
	case SINT:
		return (u32)signed_from(raw, width);
	case UNORM:
		value = (float)raw / (float)largest(width);
		break;
	case SNORM:
		value = fmaxf((float)signed_from(raw, width) / (float)largest(width - 1), -1);
		break;
	case USCALED:
		value = (float)raw;
		break;
	case SSCALED:
		value = (float)signed_from(raw, width);
		break;
	default:
		value = _cvtsh_ss((u16)raw);
	}
	return float_bits(value);
}

static float clamped(float value, float low, float high)
{
	return value >= low ? fminf(value, high) : low; /* NaN is the least */
}

static u32 component_store(u32 value, u32 width, enum number number)
{
	float real = float_from(value), most = (float)largest(width),
	      half = (float)largest(width - 1);

	if (width == 32)
		return value;
	switch (number) {
	case UINT:
		return GP_MIN(value, largest(width));
	case SINT:
		return (u32)GP_MAX(GP_MIN((s32)value, (s32)largest(width - 1)),
				   -(s32)largest(width - 1) - 1);
	case UNORM:
		return (u32)rintf(clamped(real, 0, 1) * most);
	case SNORM:
		return isnan(real) ? 0 : (u32)(s32)rintf(clamped(real, -1, 1) * half);
	case USCALED:
		return (u32)rintf(clamped(real, 0, most));
	case SSCALED:
		return isnan(real) ? 0 : (u32)(s32)rintf(clamped(real, -half - 1, half));
	default:
		return _cvtss_sh(real, _MM_FROUND_TO_NEAREST_INT);
	}
}

/* False: refused. */
static bool format_find(const struct gp_isa_inst *inst, const struct gp_isa_buffer *buffer,
			struct format *format)
{
	bool typed = inst->format == GP_ISA_MTBUF;
	u32 bits = 0;

	format->layout = &layouts[typed ? inst->memory.data_format : buffer->data_format];
	format->number = typed ? inst->memory.number_format : buffer->number_format;
	format->half = inst->op->shape & (GP_ISA_D16 | GP_ISA_D16_HI);
	for (u32 i = 0; i < format->layout->count; i++) {
		u32 width = format->layout->bits[i];

		if ((format->number == FLOAT && width < 16) || (format->half && width > 16))
			return false;
		bits += width;
	}
	format->bytes = bits / 8;
	return format->number != RESERVED && format->layout->count;
}

static u32 rounded(const struct format *format, u32 value)
{
	if (!format->half)
		return value;
	if (is_integer(format->number))
		return value & 0xffff;
	return _cvtss_sh(float_from(value), _MM_FROUND_TO_NEAREST_INT);
}

/* Component n of a lane; 0 if the format has fewer. */
static u32 component_of(const struct format *format, const gp_isa_lanes *raw, u32 lane, u32 n)
{
	u32 at = 0, width = format->layout->bits[n];

	if (n >= format->layout->count)
		return 0;
	for (u32 i = 0; i < n; i++)
		at += format->layout->bits[i];
	return rounded(format, component_load(raw[at / 32][lane] >> at % 32 & largest(width), width,
					      format->number));
}

static u32 component_one(const struct format *format)
{
	return is_integer(format->number) ? 1 : format->half ? 0x3c00 : 0x3f800000;
}

/* Not inlined: float operations must stay between the changes of the environment. */
static __attribute__((noinline)) void rows_load(const struct gp_isa_inst *inst,
						const struct gp_isa_buffer *buffer,
						const struct format *format,
						const gp_isa_lanes *raw, gp_isa_lanes *out)
{
	u32 count = inst->op->shape & GP_ISA_BYTES, shape = inst->op->shape;

	memset(out, 0, COMPONENTS * sizeof(*out));
	for (u32 n = 0; n < count; n++) {
		u32 select = inst->format == GP_ISA_MTBUF ? SELECT_R + n : buffer->select[n];
		u32 row = format->half ? n / 2 : n;
		u32 shift = format->half && (n % 2 || shape & GP_ISA_D16_HI) ? 16 : 0;

		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u32 value = select == SELECT_ONE ? component_one(format) : 0;

			if (select >= SELECT_R)
				value = component_of(format, raw, lane, select - SELECT_R);
			out[row][lane] |= value << shift;
		}
	}
}

static __attribute__((noinline)) void rows_store(const struct gp_isa_inst *inst,
						 const struct format *format,
						 const gp_isa_lanes *in, gp_isa_lanes *raw)
{
	u32 at = 0;

	memset(raw, 0, GP_ISA_DWORDS_MAX * sizeof(*raw));
	for (u32 n = 0; n < format->layout->count; at += format->layout->bits[n], n++) {
		u32 width = format->layout->bits[n], row = format->half ? n / 2 : n;
		bool high = n % 2 || inst->op->shape & GP_ISA_D16_HI;

		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u32 value = in[row][lane];

			if (format->half) {
				value = high ? value >> 16 : value & 0xffff;
				if (format->number == SINT)
					value = (u32)signed_from(value, 16);
				else if (format->number != UINT)
					value = float_bits(_cvtsh_ss((u16)value));
			}
			value = component_store(value, width, format->number);
			raw[at / 32][lane] |= (value & largest(width)) << at % 32;
		}
	}
}

enum gp_isa_stop gp_isa_buffer_load_format(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
					   const struct gp_isa_inst *inst)
{
	u32 count = inst->op->shape & GP_ISA_BYTES, environment = _mm_getcsr();
	gp_isa_lanes raw[GP_ISA_DWORDS_MAX], out[COMPONENTS];
	u64 lanes = gp_isa_exec(wave);
	struct gp_isa_buffer buffer;
	struct format format;

	gp_isa_buffer_find(runner, wave, inst, true, &buffer);
	if (!format_find(inst, &buffer, &format) || (inst->memory.lds && count > 1))
		return GP_ISA_REFUSED;
	if (gp_isa_buffer_gather(runner, wave, &buffer, format.bytes, true, raw) < GP_ISA_LANES)
		return GP_ISA_FAULT;
	_mm_setcsr(DEFAULT_CSR);
	rows_load(inst, &buffer, &format, (const gp_isa_lanes *)raw, out);
	_mm_setcsr(environment);
	if (inst->memory.lds)
		gp_isa_lds_fill(wave, gp_isa_buffer_lds(wave, inst), lanes,
				(const gp_isa_lanes *)out);
	else
		gp_isa_put_rows(wave, inst->dst, format.half ? (count + 1) / 2 : count, lanes,
				(const gp_isa_lanes *)out);
	return GP_ISA_RUNNING;
}

static bool in_order(const struct gp_isa_buffer *buffer, u32 count)
{
	for (u32 n = 0; n < count; n++)
		if (buffer->select[n] != SELECT_R + n)
			return false;
	return true;
}

enum gp_isa_stop gp_isa_buffer_store_format(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
					    const struct gp_isa_inst *inst)
{
	u32 count = inst->op->shape & GP_ISA_BYTES, environment = _mm_getcsr(), bad;
	gp_isa_lanes raw[GP_ISA_DWORDS_MAX];
	struct gp_isa_buffer buffer;
	struct format format;

	gp_isa_buffer_find(runner, wave, inst, true, &buffer);
	if (!format_find(inst, &buffer, &format) || count < format.layout->count ||
	    (inst->format == GP_ISA_MUBUF && !in_order(&buffer, format.layout->count)))
		return GP_ISA_REFUSED;
	_mm_setcsr(DEFAULT_CSR);
	rows_store(inst, &format, (const gp_isa_lanes *)&wave->v[gp_isa_row_of(inst->src[1])], raw);
	_mm_setcsr(environment);
	bad = gp_isa_buffer_scatter(runner, wave, &buffer, format.bytes, true,
				    (const gp_isa_lanes *)raw);
	return bad < GP_ISA_LANES ? GP_ISA_FAULT : GP_ISA_RUNNING;
}
