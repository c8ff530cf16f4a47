// SPDX-License-Identifier: MIT
#include <math.h>

#include "matrix.h"

/* Bits of exponent and fraction, and bias. */
static const struct {
	u32 exponent, fraction;
	int bias;
} formats[] = {
	[TYPE_F64] = {11, 52, 1023}, [TYPE_F32] = {8, 23, 127}, [TYPE_XF32] = {8, 23, 127},
	[TYPE_F16] = {5, 10, 15},    [TYPE_BF16] = {8, 7, 127}, [TYPE_FP8] = {4, 3, 8},
	[TYPE_BF8] = {5, 2, 16},
};

u32 type_width(enum type type)
{
	return type == TYPE_I8 ? 8 : 1 + formats[type].exponent + formats[type].fraction;
}

/* 8-bit floats of gfx942 have no infinities and no -0; the bits of -0 are the NaN. */
static bool is_fnuz(enum type type)
{
	return type == TYPE_FP8 || type == TYPE_BF8;
}

u64 type_bits(enum type type, double number)
{
	u64 sign = signbit(number) ? 1ull << (type_width(type) - 1) : 0;
	int power;
	double fraction, scaled;

	if (type == TYPE_I8) {
		assert_true(number == (int8_t)number);
		return (u8)(int8_t)number;
	}
	if (number == 0)
		return is_fnuz(type) ? 0 : sign;
	fraction = frexp(fabs(number), &power);
	power += formats[type].bias - 1;
	scaled = ldexp(fraction, (int)formats[type].fraction + 1 + (power < 1 ? power - 1 : 0));
	assert_true(scaled == floor(scaled));
	assert_true(power < 1 << formats[type].exponent);
	if (power < 1)
		return sign | (u64)scaled;
	return sign + ((u64)power << formats[type].fraction) + (u64)scaled -
	       (1ull << formats[type].fraction);
}

double type_number(enum type type, u64 bits)
{
	u64 sign = bits >> (type_width(type) - 1) & 1, fraction, field, most;
	double number;

	if (type == TYPE_I8)
		return (int8_t)bits;
	most = (1ull << formats[type].exponent) - 1;
	fraction = bits & ((1ull << formats[type].fraction) - 1);
	field = bits >> formats[type].fraction & most;
	if (is_fnuz(type) && sign && !field && !fraction)
		return NAN;
	if (!is_fnuz(type) && field == most)
		return fraction ? NAN : sign ? -INFINITY : INFINITY;
	if (field)
		fraction |= 1ull << formats[type].fraction;
	if (type == TYPE_XF32) /* ten bits of the fraction count */
		fraction &= ~0x1fffull;
	number = ldexp((double)fraction,
		       (int)(field ? field : 1) - formats[type].bias - (int)formats[type].fraction);
	return sign ? -number : number;
}

enum type shape_result(const struct shape *shape)
{
	return shape->a == TYPE_F64 ? TYPE_F64 : shape->a == TYPE_I8 ? TYPE_I8 : TYPE_F32;
}

u32 shape_stored(const struct shape *shape)
{
	return shape->sparse ? shape->k / 2 : shape->k;
}

u32 at_a(const struct shape *shape, u32 block, u32 i, u32 k)
{
	return (block * shape->size + i) * shape_stored(shape) + k;
}

u32 at_b(const struct shape *shape, u32 block, u32 k, u32 j)
{
	return (block * shape->k + k) * shape->size + j;
}

u32 at_c(const struct shape *shape, u32 block, u32 i, u32 j)
{
	return (block * shape->size + i) * shape->size + j;
}

struct place {
	u32 item, lane;
};

/* K_L = K / (64 / (M * B)); item k % K_L of lane i + M * (b + B * (k / K_L)) */
static struct place place_in(const struct shape *shape, u32 k_count, u32 block, u32 i, u32 k)
{
	u32 per_lane = k_count / (64 / (shape->size * shape->blocks));

	return (struct place){k % per_lane,
			      i + shape->size * (block + shape->blocks * (k / per_lane))};
}

/*
 * H = 4 (f64: 1), B_I = ceil(64 / (N * M / H)), M_I = (64 / B_I) / N, G = M / (H * M_I);
 * item (i % H) + H * (i / (H * M_I) + G * (b / B_I)) of lane j + N * ((i / H) % M_I + M_I * (b %
 * B_I)).
 *
 * v_mfma_f64_4x4x4 is not like that: rows are 16 lanes apart (AMD's matrix instruction calculator,
 * and measured on MI350).
 */
static struct place place_out(const struct shape *shape, u32 block, u32 i, u32 j)
{
	u32 n = shape->size, h = shape->a == TYPE_F64 ? 1 : 4, per_item = n * n / h;
	u32 blocks = (64 + per_item - 1) / per_item, rows = 64 / blocks / n,
	    groups = n / (h * rows);

	if (shape->a == TYPE_F64 && n == 4)
		return (struct place){0, j + 4 * block + 16 * i};
	return (struct place){i % h + h * (i / (h * rows) + groups * (block / blocks)),
			      j + n * (i / h % rows + rows * (block % blocks))};
}

static void element_put(struct machine *m, u32 row, u32 width, struct place place, u64 bits)
{
	u32 *word;

	if (width == 64) {
		m->wave->v[row + place.item * 2][place.lane] = (u32)bits;
		m->wave->v[row + place.item * 2 + 1][place.lane] = (u32)(bits >> 32);
		return;
	}
	word = &m->wave->v[row + place.item * width / 32][place.lane];
	*word = (*word & ~(u32)((0xffffffffull >> (32 - width)) << place.item * width % 32)) |
		(u32)bits << place.item * width % 32;
}

void matrices_load(struct machine *m, const struct shape *shape, const struct matrices *x)
{
	u32 stored = shape_stored(shape), wide = shape->a == TYPE_F64 ? 64 : 32;

	for (u32 block = 0; block < shape->blocks; block++)
		for (u32 i = 0; i < shape->size; i++) {
			for (u32 k = 0; k < stored; k++)
				element_put(m, MATRIX_A, type_width(shape->a),
					    place_in(shape, stored, block, i, k),
					    x->a[at_a(shape, block, i, k)]);
			for (u32 k = 0; k < shape->k; k++)
				element_put(m, MATRIX_B, type_width(shape->b),
					    place_in(shape, shape->k, block, i, k),
					    x->b[at_b(shape, block, k, i)]);
			for (u32 j = 0; j < shape->size; j++)
				element_put(m, shape->sparse ? MATRIX_D : MATRIX_C, wide,
					    place_out(shape, block, i, j),
					    x->c[at_c(shape, block, i, j)]);
		}
}

/* Two bits for each item of A, from the lowest on. */
static void index_load(struct machine *m, const struct shape *shape, u32 set,
		       const struct matrices *x)
{
	u32 stored = shape_stored(shape), bits = stored / (64 / shape->size) * 2;

	for (u32 i = 0; i < shape->size; i++)
		for (u32 k = 0; k < stored; k++) {
			struct place place = place_in(shape, stored, 0, i, k);
			u32 shift = set * bits + place.item * 2;
			u32 *word = &m->wave->v[MATRIX_INDEX][place.lane];

			*word = (*word & ~(3u << shift)) | (u32)x->index[at_a(shape, 0, i, k)]
								   << shift;
		}
}

void matrices_run(struct machine *m, const struct shape *shape, struct fields fields)
{
	RUN(m, shape->words[0] | fields.cbsz << 8 | fields.abid << 11,
	    shape->words[1] | fields.blgp << 29);
}

void matrices_take(const struct machine *m, const struct shape *shape, u32 row, struct matrices *x)
{
	for (u32 block = 0; block < shape->blocks; block++)
		for (u32 i = 0; i < shape->size; i++)
			for (u32 j = 0; j < shape->size; j++) {
				struct place place = place_out(shape, block, i, j);
				const u32(*at)[GP_ISA_LANES] = &m->wave->v[row];
				u64 *d = &x->d[at_c(shape, block, i, j)];

				if (shape->a == TYPE_F64)
					*d = at[place.item * 2][place.lane] |
					     (u64)at[place.item * 2 + 1][place.lane] << 32;
				else
					*d = at[place.item][place.lane];
			}
}

void matrices_multiply(struct machine *m, const struct shape *shape, struct fields fields,
		       struct matrices *x)
{
	matrices_load(m, shape, x);
	if (shape->sparse)
		index_load(m, shape, fields.cbsz ? 0 : fields.abid, x);
	matrices_run(m, shape, fields);
	matrices_take(m, shape, MATRIX_D, x);
}

/* The lane whose B is read for this lane. */
static u32 pattern(u32 lane, u32 blgp)
{
	static const u32 first[] = {0, 0, 32, 0, 0, 16, 32, 48};

	if (!blgp)
		return lane;
	if (blgp == 3)
		return (lane + 16) % 64;
	return lane % (blgp < 3 ? 32 : 16) + first[blgp];
}

/* B[k][j] of a block, through the lanes if they are permuted. */
static u64 b_of(const struct shape *shape, u32 blgp, const struct matrices *x, u32 block, u32 k,
		u32 j)
{
	struct place place = place_in(shape, shape->k, block, j, k);
	u32 lane = pattern(place.lane, blgp),
	    per_lane = shape->k * shape->size * shape->blocks / 64;
	u32 from = lane / shape->size;

	if (!blgp || shape->a == TYPE_F64)
		return x->b[at_b(shape, block, k, j)];
	return x->b[at_b(shape, from % shape->blocks, from / shape->blocks * per_lane + place.item,
			 lane % shape->size)];
}

/* cbsz: 2^cbsz blocks that follow each other have the A of the one with number abid among them. */
void matrices_factors(const struct shape *shape, struct fields fields, const struct matrices *x,
		      u32 block, u32 i, u32 j, struct factors *out)
{
	u32 from = shape->sparse ? 0 : (block >> fields.cbsz << fields.cbsz) + fields.abid;

	out->count = shape_stored(shape);
	for (u32 s = 0; s < out->count; s++) {
		u32 k = shape->sparse ? s / 2 * 4 + x->index[at_a(shape, 0, i, s)] : s;

		out->a[s] = type_number(shape->a, x->a[at_a(shape, from, i, s)]);
		out->b[s] = type_number(shape->b, b_of(shape, fields.blgp, x, block, k, j));
	}
}
