// SPDX-License-Identifier: MIT
/*
 * Memory of the host for 64 lanes. The common case is lanes that follow each other within a page:
 * one translation and a copy. Otherwise each lane is translated through the runner's pages.
 *
 * Waves of other GPUs, and threads of the CPU, poll what is stored. On the hardware an instruction
 * writes or reads a line of memory at once, and programs (RCCL) rely on it: a line ends with a
 * flag, and whoever sees the flag takes the rest. The processor has no such access, but one of 16
 * bytes. So each lane is one (of 12 bytes, or across pages, more than one), stores go upwards and
 * loads downwards: a load that finds the flag finds what was stored before it.
 */
#include <immintrin.h>

#include "vgpu/isa/memory/access.h"

/* One access of the processor each, whatever the alignment: other threads may poll what is
 * stored. */
typedef u16 __attribute__((aligned(1), may_alias)) loose16;
typedef u32 __attribute__((aligned(1), may_alias)) loose32;
typedef u64 __attribute__((aligned(1), may_alias)) loose64;
typedef long long loose128 __attribute__((vector_size(16), aligned(1), may_alias));

#define ROW_VECTORS (GP_ISA_LANES * sizeof(u32) / sizeof(__m256i))
#define ROW_QUADS   (GP_ISA_LANES * sizeof(u32) / sizeof(loose128))

static void row_load(u32 *to, const u8 *from)
{
	for (u32 i = ROW_QUADS; i--;)
		((loose128 *)to)[i] = ((const volatile loose128 *)from)[i];
}

static void row_store_all(u8 *to, const u32 *from)
{
	for (u32 i = 0; i < ROW_QUADS; i++)
		((volatile loose128 *)to)[i] = ((const loose128 *)from)[i];
}

static __m128i take(const u8 *from)
{
	return (__m128i) * (const volatile loose128 *)from;
}

static void put(u8 *to, __m128i value)
{
	*(volatile loose128 *)to = (loose128)value;
}

/* Four rows of four become four columns. */
static void transpose(__m128i row[4])
{
	__m128i low = _mm_unpacklo_epi32(row[0], row[1]), high = _mm_unpackhi_epi32(row[0], row[1]);
	__m128i low2 = _mm_unpacklo_epi32(row[2], row[3]);
	__m128i high2 = _mm_unpackhi_epi32(row[2], row[3]);

	row[0] = _mm_unpacklo_epi64(low, low2);
	row[1] = _mm_unpackhi_epi64(low, low2);
	row[2] = _mm_unpacklo_epi64(high, high2);
	row[3] = _mm_unpackhi_epi64(high, high2);
}

/* 16 bytes of each lane. */
static void quads_load(const u8 *from, gp_isa_lanes *out)
{
	for (u32 lane = GP_ISA_LANES; lane;) {
		__m128i part[4];

		lane -= 4;
		for (u32 i = 4; i--;)
			part[i] = take(from + 16 * (lane + i));
		transpose(part);
		for (u32 i = 0; i < 4; i++)
			_mm_storeu_si128((__m128i *)&out[i][lane], part[i]);
	}
}

static void quads_store(u8 *to, const gp_isa_lanes *in)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane += 4) {
		__m128i part[4];

		for (u32 i = 0; i < 4; i++)
			part[i] = _mm_loadu_si128((const __m128i *)&in[i][lane]);
		transpose(part);
		for (u32 i = 0; i < 4; i++)
			put(to + 16 * (lane + i), part[i]);
	}
}

/* 8 bytes of each lane: two lanes at once. */
static void pairs_load(const u8 *from, gp_isa_lanes *out)
{
	for (u32 lane = GP_ISA_LANES; lane;) {
		__m128i high, low;

		lane -= 4;
		high = _mm_shuffle_epi32(take(from + 8 * (lane + 2)), 0xd8);
		low = _mm_shuffle_epi32(take(from + 8 * lane), 0xd8);
		_mm_storeu_si128((__m128i *)&out[0][lane], _mm_unpacklo_epi64(low, high));
		_mm_storeu_si128((__m128i *)&out[1][lane], _mm_unpackhi_epi64(low, high));
	}
}

static void pairs_store(u8 *to, const gp_isa_lanes *in)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane += 4) {
		__m128i low = _mm_loadu_si128((const __m128i *)&in[0][lane]);
		__m128i high = _mm_loadu_si128((const __m128i *)&in[1][lane]);

		put(to + 8 * lane, _mm_unpacklo_epi32(low, high));
		put(to + 8 * (lane + 2), _mm_unpackhi_epi32(low, high));
	}
}

/*
 * CPU address of lane 0 if lane n is n * bytes behind it for all lanes that are on and all 64 are
 * within one page; lanes that are off may then be read, not written. NULL: not so, or not mapped.
 */
static u8 *lanes_together(struct gp_isa_runner *runner, const struct gp_isa_row64 *at, u64 lanes,
			  u32 bytes, bool write)
{
	u32 first = (u32)__builtin_ctzll(lanes);
	u64 base = at->lane[first] - (u64)first * bytes, apart = 0;

	if (base % GP_ISA_PAGE_BYTES + GP_ISA_LANES * bytes > GP_ISA_PAGE_BYTES)
		return NULL;
	if (lanes == GP_ISA_ALL) {
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			apart |= at->lane[lane] ^ (base + lane * bytes);
	} else {
		struct gp_isa_row mask;

		gp_isa_spread(lanes, &mask);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			apart |= (at->lane[lane] ^ (base + lane * bytes)) &
				 (u64)(s64)(s32)mask.lane[lane];
	}
	return apart ? NULL : gp_isa_address(runner, base, write);
}

/* Whether the last bytes are in another page; false and wave->fault if it is not there. */
static bool rest_exists(struct gp_isa_runner *runner, struct gp_isa_wave *wave, u64 va, bool write)
{
	u64 next = (va / GP_ISA_PAGE_BYTES + 1) * GP_ISA_PAGE_BYTES;

	if (gp_isa_address(runner, next, write))
		return true;
	wave->fault = next;
	return false;
}

static bool crosses(u64 va, u32 bytes)
{
	return va % GP_ISA_PAGE_BYTES > GP_ISA_PAGE_BYTES - bytes;
}

u32 gp_isa_translate(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
		     const struct gp_isa_row64 *at, u64 lanes, u32 bytes, bool write,
		     u8 *to[GP_ISA_LANES], u64 *split)
{
	u64 crossing = 0;

	for (u64 rest = lanes; rest; rest &= rest - 1) {
		u32 lane = (u32)__builtin_ctzll(rest);
		u64 va = at->lane[lane];

		to[lane] = gp_isa_address(runner, va, write);
		if (!to[lane]) {
			wave->fault = va;
			return lane;
		}
		if (!crosses(va, bytes))
			continue;
		if (!rest_exists(runner, wave, va, write))
			return lane;
		crossing |= 1ull << lane;
	}
	*split = crossing;
	return GP_ISA_LANES;
}

static void together_load(const u8 *from, u32 bytes, gp_isa_lanes *out)
{
	const volatile loose16 *shorts = (const volatile loose16 *)from;
	const volatile loose32 *words = (const volatile loose32 *)from;
	const volatile u8 *one = from;
	u32 dwords = gp_isa_dwords(bytes);

	switch (bytes) {
	case 1:
		for (u32 lane = GP_ISA_LANES; lane--;)
			out[0][lane] = one[lane];
		break;
	case 2:
		for (u32 lane = GP_ISA_LANES; lane--;)
			out[0][lane] = shorts[lane];
		break;
	case 4:
		row_load(out[0], from);
		break;
	case 8:
		pairs_load(from, out);
		break;
	case 16:
		quads_load(from, out);
		break;
	default: /* 12 */
		for (u32 i = dwords * GP_ISA_LANES; i--;)
			out[i % dwords][i / dwords] = words[i];
	}
}

static inline void lane_load(const u8 *from, u32 bytes, gp_isa_lanes *out, u32 lane)
{
	const volatile loose32 *words = (const volatile loose32 *)from;
	loose128 quad;
	u64 pair;

	switch (bytes) {
	case 1:
		out[0][lane] = *(const volatile u8 *)from;
		break;
	case 2:
		out[0][lane] = *(const volatile loose16 *)from;
		break;
	case 4:
		out[0][lane] = *(const volatile loose32 *)from;
		break;
	case 8:
		pair = *(const volatile loose64 *)from;
		out[0][lane] = (u32)pair;
		out[1][lane] = (u32)(pair >> 32);
		break;
	case 16:
		quad = *(const volatile loose128 *)from;
		out[0][lane] = (u32)quad[0];
		out[1][lane] = (u32)((u64)quad[0] >> 32);
		out[2][lane] = (u32)quad[1];
		out[3][lane] = (u32)((u64)quad[1] >> 32);
		break;
	default: /* 12 */
		for (u32 i = 3; i--;)
			out[i][lane] = words[i];
	}
}

static inline void lane_store(u8 *to, u32 bytes, const gp_isa_lanes *in, u32 lane)
{
	switch (bytes) {
	case 1:
		*(volatile u8 *)to = (u8)in[0][lane];
		break;
	case 2:
		*(volatile loose16 *)to = (u16)in[0][lane];
		break;
	case 4:
		*(volatile loose32 *)to = in[0][lane];
		break;
	case 16:
		*(volatile loose128 *)to = (loose128){
			(long long)(in[0][lane] | (u64)in[1][lane] << 32),
			(long long)(in[2][lane] | (u64)in[3][lane] << 32),
		};
		break;
	default:
		*(volatile loose64 *)to = in[0][lane] | (u64)in[1][lane] << 32;
		if (bytes == 12)
			*(volatile loose32 *)(to + 8) = in[2][lane];
	}
}

/* A lane that crosses a page. */
static bool split_load(struct gp_isa_runner *runner, struct gp_isa_wave *wave, u64 va, u32 bytes,
		       gp_isa_lanes *out, u32 lane)
{
	u8 part[16];

	if (!gp_isa_load(runner, wave, va, part, bytes))
		return false;
	lane_load(part, bytes, out, lane);
	return true;
}

static void split_store(struct gp_isa_runner *runner, struct gp_isa_wave *wave, u64 va, u32 bytes,
			const gp_isa_lanes *in, u32 lane)
{
	u8 part[16];

	lane_store(part, bytes, in, lane);
	gp_isa_store(runner, wave, va, part, bytes);
}

static u64 reversed(u64 bits)
{
	bits = (bits & 0x5555555555555555) << 1 | (bits >> 1 & 0x5555555555555555);
	bits = (bits & 0x3333333333333333) << 2 | (bits >> 2 & 0x3333333333333333);
	bits = (bits & 0x0f0f0f0f0f0f0f0f) << 4 | (bits >> 4 & 0x0f0f0f0f0f0f0f0f);
	return __builtin_bswap64(bits);
}

/* Lanes that are anywhere; inlined with a constant size. */
static inline __attribute__((always_inline)) u32 apart_load(struct gp_isa_runner *runner,
							    struct gp_isa_wave *wave,
							    const struct gp_isa_row64 *at,
							    u64 lanes, u32 bytes, gp_isa_lanes *out)
{
	u32 bad = GP_ISA_LANES;

	/* Downwards; the lowest bit is found faster than the highest. */
	for (u64 rest = reversed(lanes); rest; rest &= rest - 1) {
		u32 lane = GP_ISA_LANES - 1 - (u32)__builtin_ctzll(rest);
		u64 va = at->lane[lane];
		const u8 *from = gp_isa_address(runner, va, false);

		if (__builtin_expect(!from, 0)) {
			wave->fault = va;
			bad = lane;
		} else if (__builtin_expect(!crosses(va, bytes), 1)) {
			lane_load(from, bytes, out, lane);
		} else if (!split_load(runner, wave, va, bytes, out, lane)) {
			bad = lane;
		}
	}
	return bad;
}

static u32 apart_gather(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			const struct gp_isa_row64 *at, u64 lanes, u32 bytes, gp_isa_lanes *out)
{
	switch (bytes) {
	case 1:
		return apart_load(runner, wave, at, lanes, 1, out);
	case 2:
		return apart_load(runner, wave, at, lanes, 2, out);
	case 4:
		return apart_load(runner, wave, at, lanes, 4, out);
	case 8:
		return apart_load(runner, wave, at, lanes, 8, out);
	case 12:
		return apart_load(runner, wave, at, lanes, 12, out);
	default:
		return apart_load(runner, wave, at, lanes, 16, out);
	}
}

u32 gp_isa_gather(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
		  const struct gp_isa_row64 *at, u64 lanes, u32 bytes, gp_isa_lanes *out)
{
	const u8 *base;

	if (!lanes)
		return GP_ISA_LANES;
	base = lanes_together(runner, at, lanes, bytes, false);
	if (!base)
		return apart_gather(runner, wave, at, lanes, bytes, out);
	together_load(base, bytes, out);
	return GP_ISA_LANES;
}

/* Dwords of the lanes that are on, side by side. */
static void row_store(u8 *to, u64 lanes, const u32 *row)
{
	struct gp_isa_row mask;

	gp_isa_spread(lanes, &mask);
	for (u32 i = 0; i < ROW_VECTORS; i++)
		_mm256_maskstore_epi32((int *)to + 8 * i,
				       _mm256_load_si256((const __m256i *)mask.lane + i),
				       _mm256_loadu_si256((const __m256i *)row + i));
}

static void together_store(u8 *to, u64 lanes, u32 bytes, const gp_isa_lanes *in)
{
	if (bytes == 4 && lanes == GP_ISA_ALL) {
		row_store_all(to, in[0]);
	} else if (bytes == 4) {
		row_store(to, lanes, in[0]);
	} else if (bytes == 8 && lanes == GP_ISA_ALL) {
		pairs_store(to, in);
	} else if (bytes == 16 && lanes == GP_ISA_ALL) {
		quads_store(to, in);
	} else {
		for (; lanes; lanes &= lanes - 1) {
			u32 lane = (u32)__builtin_ctzll(lanes);

			lane_store(to + lane * bytes, bytes, in, lane);
		}
	}
}

/* Lanes that are anywhere; inlined with a constant size. */
static inline __attribute__((always_inline)) void apart_store(u8 *const to[GP_ISA_LANES], u64 lanes,
							      u32 bytes, const gp_isa_lanes *in)
{
	if (lanes == GP_ISA_ALL) {
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			lane_store(to[lane], bytes, in, lane);
		return;
	}
	for (; lanes; lanes &= lanes - 1) {
		u32 lane = (u32)__builtin_ctzll(lanes);

		lane_store(to[lane], bytes, in, lane);
	}
}

static void apart_scatter(u8 *const to[GP_ISA_LANES], u64 lanes, u32 bytes, const gp_isa_lanes *in)
{
	switch (bytes) {
	case 1:
		apart_store(to, lanes, 1, in);
		break;
	case 2:
		apart_store(to, lanes, 2, in);
		break;
	case 4:
		apart_store(to, lanes, 4, in);
		break;
	case 8:
		apart_store(to, lanes, 8, in);
		break;
	case 12:
		apart_store(to, lanes, 12, in);
		break;
	default:
		apart_store(to, lanes, 16, in);
	}
}

/* All 64 lanes, each aligned and so within one page: what gp_isa_translate() does, faster. */
static u32 aligned_translate(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			     const struct gp_isa_row64 *at, u8 *to[GP_ISA_LANES])
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		to[lane] = gp_isa_address(runner, at->lane[lane], true);
		if (__builtin_expect(!to[lane], 0)) {
			wave->fault = at->lane[lane];
			return lane;
		}
	}
	return GP_ISA_LANES;
}

static bool lanes_aligned(const struct gp_isa_row64 *at, u64 lanes, u32 bytes)
{
	u64 low = 0;

	if (lanes != GP_ISA_ALL || bytes & (bytes - 1))
		return false;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		low |= at->lane[lane];
	return !(low & (bytes - 1));
}

u32 gp_isa_scatter(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
		   const struct gp_isa_row64 *at, u64 lanes, u32 bytes, const gp_isa_lanes *in)
{
	u8 *to[GP_ISA_LANES], *base;
	u64 split = 0;
	u32 bad;

	if (!lanes)
		return GP_ISA_LANES;
	base = lanes_together(runner, at, lanes, bytes, true);
	if (base) {
		together_store(base, lanes, bytes, in);
		return GP_ISA_LANES;
	}
	if (lanes_aligned(at, lanes, bytes))
		bad = aligned_translate(runner, wave, at, to);
	else
		bad = gp_isa_translate(runner, wave, at, lanes, bytes, true, to, &split);
	if (bad < GP_ISA_LANES)
		return bad;
	if (!split) {
		apart_scatter(to, lanes, bytes, in);
		return GP_ISA_LANES;
	}
	for (; lanes; lanes &= lanes - 1) { /* in their order, because they may overlap */
		u32 lane = (u32)__builtin_ctzll(lanes);

		if (gp_isa_on(split, lane))
			split_store(runner, wave, at->lane[lane], bytes, in, lane);
		else
			lane_store(to[lane], bytes, in, lane);
	}
	return GP_ISA_LANES;
}
