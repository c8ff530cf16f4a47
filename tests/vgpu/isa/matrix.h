/* SPDX-License-Identifier: MIT */
/*
 * Matrices for tests of v_mfma_* and v_smfmac_*: where the instruction set's document says that
 * their elements are (general input and output layout, chapter "Matrix Arithmetic Instructions"),
 * written apart from the implementation.
 *
 * Registers: A from v0 on, B from v8, the sparse index in v16, C from v64, D from v96; of a sparse
 * operation C is D.
 */
#ifndef GP_TESTS_VGPU_ISA_MATRIX_H
#define GP_TESTS_VGPU_ISA_MATRIX_H

#include "machine.h"

enum type { TYPE_F64, TYPE_F32, TYPE_XF32, TYPE_F16, TYPE_BF16, TYPE_I8, TYPE_FP8, TYPE_BF8 };

struct shape {
	u32 gfx; /* enum gp_isa_gfx */
	const char *name;
	u32 words[2];
	u32 size, k, blocks;
	enum type a, b;
	bool sparse;
	u32 pair; /* gfx90a: products that are added before C */
};

extern const struct shape matrix_shapes[];
extern const u32 matrix_shape_count;

#define MATRIX_A     0
#define MATRIX_B     8
#define MATRIX_INDEX 16
#define MATRIX_C     64
#define MATRIX_D     96

/* Bits of elements: a[block][i][k], b[block][k][j], c and d[block][i][j]. A of a sparse operation
 * is stored with half of k, and index says which of four an element is. */
struct matrices {
	u64 a[1024], b[1024], c[2048], d[2048];
	u8 index[1024];
};

struct fields {
	u32 cbsz, abid, blgp;
};

u64 type_bits(enum type type, double number); /* exact or not at all */
double type_number(enum type type, u64 bits);
u32 type_width(enum type type);
enum type shape_result(const struct shape *shape); /* TYPE_F64, TYPE_F32 or TYPE_I8 for i32 */
u32 shape_stored(const struct shape *shape);       /* k of A as it is stored */

u32 at_a(const struct shape *shape, u32 block, u32 i, u32 k);
u32 at_b(const struct shape *shape, u32 block, u32 k, u32 j);
u32 at_c(const struct shape *shape, u32 block, u32 i, u32 j);

/* Puts A, B, C and the index into registers, runs the words with the fields set, and takes D. */
void matrices_load(struct machine *m, const struct shape *shape, const struct matrices *x);
void matrices_run(struct machine *m, const struct shape *shape, struct fields fields);
void matrices_take(const struct machine *m, const struct shape *shape, u32 row, struct matrices *x);
void matrices_multiply(struct machine *m, const struct shape *shape, struct fields fields,
		       struct matrices *x);

/* Factors of d[block][i][j]: product s of matrix A and B, as numbers. */
struct factors {
	u32 count;
	double a[32], b[32];
};

void matrices_factors(const struct shape *shape, struct fields fields, const struct matrices *x,
		      u32 block, u32 i, u32 j, struct factors *out);

#endif
