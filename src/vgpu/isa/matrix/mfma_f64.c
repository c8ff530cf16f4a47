// SPDX-License-Identifier: MIT
/*
 * v_mfma_f64_*: fused multiply-adds in the order of k, to nearest even, with denormals, whatever
 * MODE says.
 */
#include "vgpu/isa/vector/float.h"
#include "vgpu/isa/matrix/matrix.h"

#define K             4
#define REGISTERS_OUT 8

struct numbers {
	_Alignas(32) double lane[GP_ISA_LANES];
};

static void read_lanes(const u32 (*rows)[GP_ISA_LANES], bool negative, struct numbers *out)
{
	u32 sign = negative ? 0x80000000u : 0;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		out->lane[lane] = gp_isa_f64(rows[0][lane] | (u64)(rows[1][lane] ^ sign) << 32);
}

static void read_c(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		   const struct gp_isa_inst *inst, bool negative, u32 pairs, struct numbers *out)
{
	u64 bits;

	if (inst->src[2] >= GP_ISA_VGPR) {
		for (u32 n = 0; n < pairs; n++)
			read_lanes(&wave->v[gp_isa_row_of(inst->src[2]) + n * 2], negative,
				   &out[n]);
		return;
	}
	bits = gp_isa_scalar64(runner, wave, inst, inst->src[2], GP_ISA_F64);
	bits ^= (u64)negative << 63;
	for (u32 n = 0; n < pairs; n++)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			out[n].lane[lane] = gp_isa_f64(bits);
}

static void multiply(const struct gp_isa_matrix *shape, const struct numbers *a,
		     const struct numbers *b, struct numbers *d)
{
	u32 size = shape->size, stride = size * shape->blocks;

	for (u32 block = 0; block < shape->blocks; block++)
		for (u32 i = 0; i < size; i++) {
			struct gp_isa_place place = gp_isa_place_64(size, block, i);
			double *row = &d[place.row / 2].lane[place.lane];

			for (u32 j = 0; j < size; j += 4) {
				__m256d sum = _mm256_loadu_pd(row + j);

				for (u32 k = 0; k < K; k++) {
					const double *from = b->lane + k * stride + block * size;
					double factor = a->lane[i + block * size + k * stride];

					sum = _mm256_fmadd_pd(_mm256_set1_pd(factor),
							      _mm256_loadu_pd(from + j), sum);
				}
				_mm256_storeu_pd(row + j, sum);
			}
		}
}

enum gp_isa_stop gp_isa_mfma_f64(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				 const struct gp_isa_inst *inst)
{
	const struct gp_isa_matrix *shape = inst->op->lanes;
	u32 pairs = shape->size * shape->size * shape->blocks / GP_ISA_LANES;
	u32 negative = inst->mfma.blgp;
	struct numbers a, b, d[REGISTERS_OUT / 2];

	if (!gp_isa_mfma_valid(shape, inst))
		return GP_ISA_ILLEGAL;
	gp_isa_environment(runner, GP_ISA_CSR_PLAIN);
	read_lanes(&wave->v[gp_isa_row_of(inst->src[0])], negative & 1, &a);
	read_lanes(&wave->v[gp_isa_row_of(inst->src[1])], negative & 2, &b);
	read_c(runner, wave, inst, negative & 4, pairs, d);
	multiply(shape, &a, &b, d);
	for (u32 n = 0; n < pairs; n++)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u64 bits = gp_isa_bits64(d[n].lane[lane]);

			wave->v[inst->dst + n * 2][lane] = (u32)bits;
			wave->v[inst->dst + n * 2 + 1][lane] = (u32)(bits >> 32);
		}
	return GP_ISA_RUNNING;
}
