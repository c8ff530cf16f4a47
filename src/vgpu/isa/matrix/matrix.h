/* SPDX-License-Identifier: MIT */
/*
 * Matrix operations (v_mfma_*, v_smfmac_*): D = A * B + C on blocks of matrices that the lanes of a
 * wave hold together. Private to mfma*.c and vop3p_table.c.
 *
 * Where the elements are, for square results of `size` rows in `blocks` blocks: a lane holds
 * per_lane consecutive k of one row of A (column of B), packed from the lowest bits on:
 *     A[block][i][k]  lane i + size * (block + blocks * (k / per_lane)), item k % per_lane
 * A row of D is `size` consecutive lanes of one register; see gp_isa_place_32() and _64().
 */
#ifndef GP_VGPU_ISA_MATRIX_H
#define GP_VGPU_ISA_MATRIX_H

#include "vgpu/isa/vector/lanes.h"

enum gp_isa_element {
	GP_ISA_ELEMENT_F64,
	GP_ISA_ELEMENT_F32,
	GP_ISA_ELEMENT_XF32, /* f32 of which 10 bits of the fraction count */
	GP_ISA_ELEMENT_F16,
	GP_ISA_ELEMENT_BF16,
	GP_ISA_ELEMENT_I8,
	GP_ISA_ELEMENT_FP8, /* e4m3, e5m2: no infinities, no -0, one NaN */
	GP_ISA_ELEMENT_BF8,
};

/* How the products are added. Measured on MI250X and MI300X by the authors of MMA-Sim
 * (arXiv:2511.10909), not documented by AMD. */
enum gp_isa_sum {
	GP_ISA_SUM_FMA,   /* one fused multiply-add per product, in the order of k */
	GP_ISA_SUM_PAIRS, /* gfx90a: products of a group as a tree; denormals become 0 */
	/* gfx942: the products of a group are aligned to the largest exponent, cut to 24 bits of
	 * fraction, added, and rounded once together with C. */
	GP_ISA_SUM_ALIGNED,
	GP_ISA_SUM_ALIGNED_8, /* the same for even and odd k apart: 8-bit floats */
	GP_ISA_SUM_INTEGERS,
};

struct gp_isa_matrix {
	u8 size, k, blocks;
	u8 a, b; /* enum gp_isa_element */
	u8 sum;  /* enum gp_isa_sum */
	u8 group;
	bool sparse; /* A holds two of four; src2 says which */
	bool blgp;   /* takes lane group patterns (f64: negation) */
};

#define GP_ISA_ITEMS    16 /* per lane, at most */
#define GP_ISA_PRODUCTS 32 /* per element of D, at most */
#define GP_ISA_PADDING  8  /* lanes that a row of 4 columns may be read beyond its end */

/* A mantissa has 10 bits of fraction: the value is mantissa * 2^(exponent - 10). */
#define GP_ISA_FRACTION 10
#define GP_ISA_INFINITY 4096 /* exponents that stand for no number */
#define GP_ISA_NAN      8192

/* The elements of A or B by item and lane: floats, integers or mantissas. */
struct gp_isa_unpacked {
	union {
		_Alignas(32) s32 value[GP_ISA_ITEMS * GP_ISA_LANES + GP_ISA_PADDING];
		_Alignas(32) float number[GP_ISA_ITEMS * GP_ISA_LANES + GP_ISA_PADDING];
	};
	_Alignas(32) s32 exponent[GP_ISA_ITEMS * GP_ISA_LANES + GP_ISA_PADDING];
	s32 top; /* the largest exponent; at least GP_ISA_INFINITY if not all are numbers */
};

/* The products of one row of D. */
struct gp_isa_products {
	u32 count, group;
	bool special; /* not only numbers, or products beyond f32 */
	bool flush;   /* products can be denormal */
	union {
		s32 a[GP_ISA_PRODUCTS];
		float number[GP_ISA_PRODUCTS];
	};
	s32 a_exponent[GP_ISA_PRODUCTS];
	union {
		const s32 *b[GP_ISA_PRODUCTS]; /* rows of columns */
		const float *b_number[GP_ISA_PRODUCTS];
	};
	const s32 *b_exponent[GP_ISA_PRODUCTS];
};

struct gp_isa_place {
	u32 row, lane;
};

/* Where row i of a block of D begins. Four rows follow each other in registers, the next four in
 * the next lanes. */
static inline struct gp_isa_place gp_isa_place_32(u32 size, u32 block, u32 i)
{
	u32 across = GP_ISA_LANES / size, blocks = size == 4 ? 16 : 1;

	return (struct gp_isa_place){
		.row = block * (size * size / GP_ISA_LANES) + i / (4 * across) * 4 + i % 4,
		.lane = block % blocks * size + i / 4 % across * blocks * size,
	};
}

/* The same for f64, in pairs of registers: rows follow each other in the lanes. */
static inline struct gp_isa_place gp_isa_place_64(u32 size, u32 block, u32 i)
{
	u32 across = GP_ISA_LANES / size, blocks = size == 4 ? 4 : 1;

	return (struct gp_isa_place){
		.row = (block * (size * size / GP_ISA_LANES) + i / across) * 2,
		.lane = block % blocks * size + i % across * blocks * size,
	};
}

/* mfma_unpack.c. `items` of each lane, from registers that follow each other. */
void gp_isa_unpack(enum gp_isa_element type, const u32 (*rows)[GP_ISA_LANES], u32 items,
		   struct gp_isa_unpacked *out);
/* As f32; with `flush`, denormals become +0. */
void gp_isa_unpack_numbers(enum gp_isa_element type, const u32 (*rows)[GP_ISA_LANES], u32 items,
			   bool flush, struct gp_isa_unpacked *out);
void gp_isa_unpack_integers(const u32 (*rows)[GP_ISA_LANES], u32 items,
			    struct gp_isa_unpacked *out);

/* mfma_rows.c, mfma_aligned.c: `columns` (a multiple of 8) of a row of D, which holds C. */
void gp_isa_row_fma(const struct gp_isa_products *products, u32 *d, u32 columns);
void gp_isa_row_pairs(const struct gp_isa_products *products, u32 *d, u32 columns);
void gp_isa_row_integers(const struct gp_isa_products *products, u32 *d, u32 columns);
void gp_isa_row_saturating(const struct gp_isa_products *products, u32 *d, u32 columns);
void gp_isa_row_aligned(const struct gp_isa_products *products, u32 *d, u32 columns);
void gp_isa_row_aligned_8(const struct gp_isa_products *products, u32 *d, u32 columns);

/* mfma.c, mfma_f64.c */
gp_isa_execute gp_isa_mfma, gp_isa_mfma_f64;
/* Whether cbsz, abid and blgp are what the operation takes. */
bool gp_isa_mfma_valid(const struct gp_isa_matrix *shape, const struct gp_isa_inst *inst);

#endif
