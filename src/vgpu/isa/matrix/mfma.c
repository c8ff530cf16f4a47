// SPDX-License-Identifier: MIT
/*
 * Matrix operations with results of 32 bits: operands from registers, row after row, results into
 * registers. EXEC is ignored, all lanes take part; everything is read before anything is written.
 */
#include "vgpu/isa/vector/float.h"
#include "vgpu/isa/matrix/matrix.h"

#define REGISTERS_IN   4 /* of A and B, at most */
#define REGISTERS_OUT  32
#define PRODUCT_BEYOND 127 /* exponents whose product may be beyond f32 */
#define F32_MAX        0x7f7fffffu

struct work {
	const struct gp_isa_matrix *shape;
	struct gp_isa_unpacked a, b;
	u32 a_per_lane, b_per_lane; /* k that a lane holds */
	u32 a_shift, b_shift;       /* their logarithms */
	u32 cbsz, abid;
	const u32 *index; /* sparse */
	u32 index_shift;
	u32 d[REGISTERS_OUT][GP_ISA_LANES];
};

bool gp_isa_mfma_valid(const struct gp_isa_matrix *shape, const struct gp_isa_inst *inst)
{
	if (inst->src[0] < GP_ISA_VGPR || inst->src[1] < GP_ISA_VGPR)
		return false;
	if (inst->mfma.blgp && !shape->blgp)
		return false;
	if (shape->sparse) /* cbsz and abid choose the set of indices */
		return inst->src[2] >= GP_ISA_VGPR;
	return 1u << inst->mfma.cbsz <= shape->blocks && inst->mfma.abid < 1u << inst->mfma.cbsz;
}

static u32 bits_of(enum gp_isa_element type)
{
	switch (type) {
	case GP_ISA_ELEMENT_F64:
		return 64;
	case GP_ISA_ELEMENT_F32:
	case GP_ISA_ELEMENT_XF32:
		return 32;
	case GP_ISA_ELEMENT_F16:
	case GP_ISA_ELEMENT_BF16:
		return 16;
	default:
		return 8;
	}
}

/* The lane that lane `lane` of B is read from. */
static u32 lane_of_pattern(u32 lane, u32 blgp)
{
	switch (blgp) {
	case 0:
		return lane;
	case 1:
	case 2:
		return lane % 32 + (blgp - 1) * 32;
	case 3:
		return (lane + 16) % GP_ISA_LANES;
	default:
		return lane % 16 + (blgp - 4) * 16;
	}
}

static void unpack(const struct gp_isa_matrix *shape, enum gp_isa_element type,
		   bool keeps_denormals, const u32 (*rows)[GP_ISA_LANES], u32 items,
		   struct gp_isa_unpacked *out)
{
	out->top = 0;
	switch (shape->sum) {
	case GP_ISA_SUM_FMA:
		gp_isa_unpack_numbers(type, rows, items, !keeps_denormals, out);
		break;
	case GP_ISA_SUM_PAIRS:
		gp_isa_unpack_numbers(type, rows, items, true, out);
		break;
	case GP_ISA_SUM_INTEGERS:
		gp_isa_unpack_integers(rows, items, out);
		break;
	default:
		gp_isa_unpack(type, rows, items, out);
	}
}

/* A and B as they are, or B with its lanes permuted. */
static void work_read(struct work *work, const struct gp_isa_wave *wave,
		      const struct gp_isa_inst *inst)
{
	const struct gp_isa_matrix *shape = work->shape;
	u32 stored = shape->sparse ? shape->k / 2 : shape->k;
	bool keeps = !gp_isa_flushes_in(wave->mode, GP_ISA_OF_F32);
	u32 permuted[REGISTERS_IN][GP_ISA_LANES];
	const u32(*b)[GP_ISA_LANES] = &wave->v[gp_isa_row_of(inst->src[1])];
	u32 registers;

	work->a_per_lane = stored * shape->size * shape->blocks / GP_ISA_LANES;
	work->b_per_lane = shape->k * shape->size * shape->blocks / GP_ISA_LANES;
	work->a_shift = (u32)__builtin_ctz(work->a_per_lane);
	work->b_shift = (u32)__builtin_ctz(work->b_per_lane);
	work->cbsz = inst->mfma.cbsz;
	work->abid = inst->mfma.abid;
	unpack(shape, shape->a, keeps, &wave->v[gp_isa_row_of(inst->src[0])], work->a_per_lane,
	       &work->a);
	registers = work->b_per_lane * bits_of(shape->b) / 32;
	if (inst->mfma.blgp) {
		for (u32 n = 0; n < registers; n++)
			for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
				permuted[n][lane] = b[n][lane_of_pattern(lane, inst->mfma.blgp)];
		b = permuted;
	}
	unpack(shape, shape->b, keeps, b, work->b_per_lane, &work->b);
	if (!shape->sparse)
		return;
	work->index = wave->v[gp_isa_row_of(inst->src[2]) % GP_ISA_VECTORS]; /* never an AGPR */
	work->index_shift = work->cbsz ? 0 : work->abid * work->a_per_lane * 2 % 32;
}

/* C: the destination itself (sparse), registers, or a constant in every element. */
static void work_read_c(struct work *work, const struct gp_isa_runner *runner,
			const struct gp_isa_wave *wave, const struct gp_isa_inst *inst,
			u32 registers)
{
	enum gp_isa_type type = work->shape->sum == GP_ISA_SUM_INTEGERS ? GP_ISA_B32 : GP_ISA_F32;
	u32 row = inst->dst, value;

	if (!work->shape->sparse && inst->src[2] >= GP_ISA_VGPR)
		row = gp_isa_row_of(inst->src[2]);
	if (work->shape->sparse || inst->src[2] >= GP_ISA_VGPR) {
		memcpy(work->d, wave->v[row], registers * sizeof(work->d[0]));
		return;
	}
	value = gp_isa_scalar32(runner, wave, inst, inst->src[2], type);
	for (u32 n = 0; n < registers; n++)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			work->d[n][lane] = value;
}

/* Where the columns of row k of B begin. A lane holds a power of two of k. */
static u32 column_of(const struct work *work, u32 block, u32 k)
{
	u32 group = k >> work->b_shift, item = k & (work->b_per_lane - 1);

	return item * GP_ISA_LANES + work->shape->size * (block + work->shape->blocks * group);
}

static void products_fill(const struct work *work, u32 block, u32 i, struct gp_isa_products *out)
{
	const struct gp_isa_matrix *shape = work->shape;
	bool aligned = shape->sum == GP_ISA_SUM_ALIGNED || shape->sum == GP_ISA_SUM_ALIGNED_8;
	u32 from = shape->sparse ? 0 : (block & ~((1u << work->cbsz) - 1)) + work->abid;

	for (u32 s = 0; s < out->count; s++) {
		u32 item = s & (work->a_per_lane - 1), group = s >> work->a_shift, k = s;
		u32 lane = i + shape->size * (from + shape->blocks * group);
		u32 at = item * GP_ISA_LANES + lane, column;

		out->a[s] = work->a.value[at];
		if (aligned)
			out->a_exponent[s] = work->a.exponent[at];
		if (shape->sparse)
			k = s / 2 * 4 + (work->index[lane] >> (work->index_shift + item * 2) & 3);
		else if (i)
			continue; /* the same rows of B as before */
		column = column_of(work, block, k);
		out->b[s] = work->b.value + column;
		out->b_exponent[s] = work->b.exponent + column;
	}
}

typedef void row_sum(const struct gp_isa_products *products, u32 *d, u32 columns);

static row_sum *sum_of(const struct gp_isa_matrix *shape, bool saturates)
{
	switch (shape->sum) {
	case GP_ISA_SUM_FMA:
		return gp_isa_row_fma;
	case GP_ISA_SUM_PAIRS:
		return gp_isa_row_pairs;
	case GP_ISA_SUM_ALIGNED:
		return gp_isa_row_aligned;
	case GP_ISA_SUM_ALIGNED_8:
		return gp_isa_row_aligned_8;
	default:
		return saturates ? gp_isa_row_saturating : gp_isa_row_integers;
	}
}

static void work_multiply(struct work *work, bool saturates)
{
	const struct gp_isa_matrix *shape = work->shape;
	row_sum *sum = sum_of(shape, saturates);
	struct gp_isa_products products = {
		.count = shape->sparse ? shape->k / 2 : shape->k,
		.group = shape->group,
		.flush = shape->b == GP_ISA_ELEMENT_BF16,
		.special = work->a.top + work->b.top >= PRODUCT_BEYOND,
	};

	for (u32 block = 0; block < shape->blocks; block++)
		for (u32 i = 0; i < shape->size; i++) {
			struct gp_isa_place place = gp_isa_place_32(shape->size, block, i);
			u32 *row = &work->d[place.row][place.lane];
			u32 wide[8] = {0};

			products_fill(work, block, i, &products);
			if (shape->size >= 8) {
				sum(&products, row, shape->size);
				continue;
			}
			memcpy(wide, row, shape->size * sizeof(*row));
			sum(&products, wide, 8);
			memcpy(row, wide, shape->size * sizeof(*row));
		}
}

/* MODE.FP16_OVFL: f32 that became infinite although no operand was is the largest number. */
static void work_clamp(struct work *work, const u32 (*c)[GP_ISA_LANES], u32 registers)
{
	for (u32 n = 0; n < registers; n++)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u32 d = work->d[n][lane];

			if ((d & ~GP_ISA_SIGN32) == GP_ISA_INF32 &&
			    (c[n][lane] & ~GP_ISA_SIGN32) < GP_ISA_INF32)
				work->d[n][lane] = F32_MAX | (d & GP_ISA_SIGN32);
		}
}

enum gp_isa_stop gp_isa_mfma(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			     const struct gp_isa_inst *inst)
{
	const struct gp_isa_matrix *shape = inst->op->lanes;
	struct work work; /* large: what is used is set below */
	u32 registers = shape->size * shape->size * shape->blocks / GP_ISA_LANES;
	bool overflow = runner->gfx == GP_ISA_GFX942 && wave->mode & GP_ISA_MODE_FP16_OVFL;
	u32 c[REGISTERS_OUT][GP_ISA_LANES];

	if (!gp_isa_mfma_valid(shape, inst))
		return GP_ISA_ILLEGAL;
	gp_isa_environment(runner, GP_ISA_CSR_PLAIN);
	work.shape = shape;
	work_read(&work, wave, inst);
	work_read_c(&work, runner, wave, inst, registers);
	if (overflow)
		memcpy(c, work.d, registers * sizeof(c[0]));
	work_multiply(&work, overflow);
	if (overflow && shape->sum != GP_ISA_SUM_INTEGERS && work.a.top < GP_ISA_INFINITY &&
	    work.b.top < GP_ISA_INFINITY)
		work_clamp(&work, c, registers);
	memcpy(wave->v[inst->dst], work.d, registers * sizeof(work.d[0]));
	return GP_ISA_RUNNING;
}
