// SPDX-License-Identifier: MIT
/*
 * Kernels of bench/run instructions: a sum of vectors, products of matrices, a transformer layer. Each is called as
 * (input, output); the kernels of the layer hand their results on in `output`. No library: clang and its builtins only.
 */
typedef __global const float *in_t;
typedef __global float *out_t;
typedef float float4v __attribute__((ext_vector_type(4)));
typedef long fp8x8; /* eight of them */

#define KERNEL(size, name) __kernel __attribute__((reqd_work_group_size(size, 1, 1))) void name(in_t input, out_t output)
#define ITEM  ((int)__builtin_amdgcn_workitem_id_x())
#define GROUP ((int)__builtin_amdgcn_workgroup_id_x())
#define LOG2E 1.44269504f

static inline void barrier_lds(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#define VECTOR (1 << 22)
KERNEL(256, vector_add)
{
	int at = GROUP * 256 + ITEM;

	output[at] = input[at] + input[VECTOR + at];
}

/* ---- C = A B with vector instructions: 64 x 64 elements per group, 4 x 4 per item; rows of A and B in LDS ---- */

#define TILE  64
#define DEPTH 16

static inline __attribute__((always_inline)) void tile(in_t a, in_t b, int n, int k, __local float *as, __local float *bs, float c[4][4])
{
	int row = GROUP / (n / TILE) * TILE, column = GROUP % (n / TILE) * TILE;
	int x = ITEM % 16 * 4, y = ITEM / 16 * 4;

	for (int from = 0; from < k; from += DEPTH) {
		for (int i = 0; i < 4; i++) {
			int at = i * 256 + ITEM;

			as[at % DEPTH * TILE + at / DEPTH] = a[(row + at / DEPTH) * k + from + at % DEPTH];
			bs[at] = b[(from + at / TILE) * n + column + at % TILE];
		}
		barrier_lds();
		for (int d = 0; d < DEPTH; d++)
			for (int i = 0; i < 4; i++)
				for (int j = 0; j < 4; j++)
					c[i][j] = __builtin_fmaf(as[d * TILE + y + i], bs[d * TILE + x + j], c[i][j]);
		barrier_lds();
	}
}

#define PRODUCT(a, b, n, k, element)                                                                                    \
	__local float as[TILE * DEPTH], bs[TILE * DEPTH];                                                               \
	float c[4][4] = {{0}};                                                                                          \
	tile(a, b, n, k, as, bs, c);                                                                                    \
	for (int i = 0; i < 4; i++)                                                                                     \
		for (int j = 0; j < 4; j++) {                                                                           \
			int at = (GROUP / ((n) / TILE) * TILE + ITEM / 16 * 4 + i) * (n) + GROUP % ((n) / TILE) * TILE + \
				 ITEM % 16 * 4 + j;                                                                     \
			float sum = c[i][j];                                                                            \
			element;                                                                                        \
		}

#define SIDE 512
KERNEL(256, sgemm)
{
	PRODUCT(input, input + SIDE * SIDE, SIDE, SIDE, output[at] = sum)
}

/* ---- the same with matrix instructions: 16 x 16 elements per wave, B transposed ---- */

KERNEL(64, sgemm_mfma)
{
	int row = GROUP / (SIDE / 16) * 16, column = GROUP % (SIDE / 16) * 16, lane = ITEM % 16, quad = ITEM / 16;
	in_t a = input + (row + lane) * SIDE + quad, b = input + SIDE * SIDE + (column + lane) * SIDE + quad;
	float4v c = 0;

	for (int k = 0; k < SIDE; k += 4)
		c = __builtin_amdgcn_mfma_f32_16x16x4f32(a[k], b[k], c, 0, 0, 0);
	for (int i = 0; i < 4; i++)
		output[(row + quad * 4 + i) * SIDE + column + lane] = c[i];
}

#ifdef __gfx942__
#define SIDE_FP8 1024
KERNEL(64, gemm_fp8)
{
	int row = GROUP / (SIDE_FP8 / 16) * 16, column = GROUP % (SIDE_FP8 / 16) * 16, lane = ITEM % 16, quad = ITEM / 16;
	__global const fp8x8 *a = (__global const fp8x8 *)input + (row + lane) * (SIDE_FP8 / 8) + quad;
	__global const fp8x8 *b = (__global const fp8x8 *)input + (SIDE_FP8 + column + lane) * (SIDE_FP8 / 8) + quad;
	float4v c = 0;

	for (int k = 0; k < SIDE_FP8 / 8; k += 4)
		c = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a[k], b[k], c, 0, 0, 0);
	for (int i = 0; i < 4; i++)
		output[(row + quad * 4 + i) * SIDE_FP8 + column + lane] = c[i];
}
#endif

/* ---- a layer: norm, attention, norm, two products with a gate between them ---- */

#define TOKENS 64
#define WIDTH  256
#define HEADS  8
#define HEAD   (WIDTH / HEADS)
#define INNER  1024
/* input: tokens, then the weights; output: the layer's result, then what its kernels hand on */
#define W_QKV  (input + TOKENS * WIDTH)
#define W_OUT  (W_QKV + WIDTH * 3 * WIDTH)
#define W_UP   (W_OUT + WIDTH * WIDTH)
#define W_DOWN (W_UP + WIDTH * INNER)
#define NORMED (output + TOKENS * WIDTH)
#define QKV    (NORMED + TOKENS * WIDTH)
#define MIXED  (QKV + TOKENS * 3 * WIDTH)
#define MIDDLE (MIXED + TOKENS * WIDTH)
#define UP     (MIDDLE + TOKENS * WIDTH)

/* The sum of 64 lanes' values, or the largest. */
static inline __attribute__((always_inline)) float wave_fold(__local float *room, float value, bool largest)
{
	for (int apart = 32; apart; apart /= 2) {
		float other;

		room[ITEM] = value;
		barrier_lds();
		other = room[ITEM ^ apart];
		barrier_lds();
		value = largest ? __builtin_fmaxf(value, other) : value + other;
	}
	return value;
}

static inline __attribute__((always_inline)) void norm(in_t from, out_t to, __local float *room)
{
	float sum = 0;

	for (int i = ITEM; i < WIDTH; i += 64)
		sum += from[GROUP * WIDTH + i] * from[GROUP * WIDTH + i];
	sum = __builtin_amdgcn_rsqf(wave_fold(room, sum, false) / WIDTH + 1e-5f);
	for (int i = ITEM; i < WIDTH; i += 64)
		to[GROUP * WIDTH + i] = from[GROUP * WIDTH + i] * sum;
}

KERNEL(64, layer_norm1)
{
	__local float room[64];

	norm(input, NORMED, room);
}

KERNEL(256, layer_qkv)
{
	PRODUCT(NORMED, W_QKV, 3 * WIDTH, WIDTH, QKV[at] = sum)
}

/* A group per token and head; a lane per key, then per element. */
KERNEL(64, layer_attention)
{
	int token = GROUP / HEADS, head = GROUP % HEADS;
	in_t query = QKV + token * 3 * WIDTH + head * HEAD, key = QKV + ITEM * 3 * WIDTH + WIDTH + head * HEAD;
	__local float room[64], part[64];
	float score = 0, sum = 0;

	for (int i = 0; i < HEAD; i++)
		score = __builtin_fmaf(query[i], key[i], score);
	score *= 0.17677669f; /* 1 / sqrt(HEAD) */
	score = __builtin_amdgcn_exp2f((score - wave_fold(room, score, true)) * LOG2E);
	part[ITEM] = score / wave_fold(room, score, false);
	barrier_lds();
	if (ITEM >= HEAD)
		return;
	for (int i = 0; i < TOKENS; i++)
		sum = __builtin_fmaf(part[i], QKV[i * 3 * WIDTH + 2 * WIDTH + head * HEAD + ITEM], sum);
	MIXED[token * WIDTH + head * HEAD + ITEM] = sum;
}

KERNEL(256, layer_out)
{
	PRODUCT(MIXED, W_OUT, WIDTH, WIDTH, MIDDLE[at] = input[at] + sum)
}

KERNEL(64, layer_norm2)
{
	__local float room[64];

	norm(MIDDLE, NORMED, room);
}

KERNEL(256, layer_up)
{
	PRODUCT(NORMED, W_UP, INNER, WIDTH, UP[at] = sum / (1 + __builtin_amdgcn_exp2f(-sum * LOG2E)))
}

KERNEL(256, layer_down)
{
	PRODUCT(UP, W_DOWN, WIDTH, INNER, output[at] = MIDDLE[at] + sum)
}
