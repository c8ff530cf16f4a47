// SPDX-License-Identifier: MIT
/*
 * Memory of the host for 64 lanes. The common case is lanes that follow each other within a page:
 * one translation and a copy. Otherwise each lane is translated through the runner's pages.
 */
#include <immintrin.h>

#include "vgpu/isa/access.h"

/* One access of the processor each, whatever the alignment: other threads may poll what is
 * stored. */
typedef u16 __attribute__((aligned(1), may_alias)) loose16;
typedef u32 __attribute__((aligned(1), may_alias)) loose32;
typedef u64 __attribute__((aligned(1), may_alias)) loose64;

#define ROW_VECTORS (GP_ISA_LANES * sizeof(u32) / sizeof(__m256i))

static const u8 nothing[16];

static void row_copy(void *to, const void *from)
{
	for (u32 i = 0; i < ROW_VECTORS; i++)
		_mm256_storeu_si256((__m256i *)to + i,
				    _mm256_loadu_si256((const __m256i *)from + i));
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
	if (lanes == GP_ISA_ALL)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			apart |= at->lane[lane] ^ (base + lane * bytes);
	else
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			apart |= (at->lane[lane] ^ (base + lane * bytes)) & -(lanes >> lane & 1);
	return apart ? NULL : gp_isa_address(runner, base, write);
}

u32 gp_isa_translate(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
		     const struct gp_isa_row64 *at, u64 lanes, u32 bytes, bool write,
		     u8 *to[GP_ISA_LANES], u64 *split)
{
	*split = 0;
	for (u64 rest = lanes; rest; rest &= rest - 1) {
		u32 lane = (u32)__builtin_ctzll(rest);
		u64 va = at->lane[lane], last = va + bytes - 1;

		to[lane] = gp_isa_address(runner, va, write);
		if (!to[lane]) {
			wave->fault = va;
			return lane;
		}
		if (va / GP_ISA_PAGE_BYTES == last / GP_ISA_PAGE_BYTES)
			continue;
		if (!gp_isa_address(runner, last, write)) {
			wave->fault = last / GP_ISA_PAGE_BYTES * GP_ISA_PAGE_BYTES;
			return lane;
		}
		*split |= 1ull << lane;
		to[lane] = NULL;
	}
	return GP_ISA_LANES;
}

static void together_load(const u8 *from, u32 bytes, gp_isa_lanes *out)
{
	const loose16 *shorts = (const loose16 *)from;
	const loose32 *words = (const loose32 *)from;
	u32 dwords = gp_isa_dwords(bytes);

	switch (bytes) {
	case 1:
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			out[0][lane] = from[lane];
		break;
	case 2:
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			out[0][lane] = shorts[lane];
		break;
	case 4:
		row_copy(out[0], from);
		break;
	case 8:
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			out[0][lane] = words[2 * lane];
			out[1][lane] = words[2 * lane + 1];
		}
		break;
	case 16:
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			out[0][lane] = words[4 * lane];
			out[1][lane] = words[4 * lane + 1];
			out[2][lane] = words[4 * lane + 2];
			out[3][lane] = words[4 * lane + 3];
		}
		break;
	default:
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			for (u32 i = 0; i < dwords; i++)
				out[i][lane] = words[dwords * lane + i];
	}
}

static inline void lane_load(const u8 *from, u32 bytes, gp_isa_lanes *out, u32 lane)
{
	const loose32 *words = (const loose32 *)from;
	u64 pair;

	switch (bytes) {
	case 1:
		out[0][lane] = *from;
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
	default:
		for (u32 i = 0; i < bytes / 4; i++)
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
	default:
		for (u32 i = 0; i + 1 < bytes / 4; i += 2)
			*(volatile loose64 *)(to + 4 * i) = in[i][lane] | (u64)in[i + 1][lane]
										  << 32;
		if (bytes == 12)
			*(volatile loose32 *)(to + 8) = in[2][lane];
	}
}

/* A lane that crosses a page; both are there. */
static void split_load(struct gp_isa_runner *runner, struct gp_isa_wave *wave, u64 va, u32 bytes,
		       gp_isa_lanes *out, u32 lane)
{
	u8 part[16];

	if (gp_isa_load(runner, wave, va, part, bytes))
		lane_load(part, bytes, out, lane);
}

static void split_store(struct gp_isa_runner *runner, struct gp_isa_wave *wave, u64 va, u32 bytes,
			const gp_isa_lanes *in, u32 lane)
{
	u8 part[16];

	lane_store(part, bytes, in, lane);
	gp_isa_store(runner, wave, va, part, bytes);
}

/* Lanes that are off read `nothing`, so that the loop has no branch but that of the size. */
static void apart_load(u8 *const from[GP_ISA_LANES], u32 bytes, gp_isa_lanes *out)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		lane_load(from[lane] ? from[lane] : nothing, bytes, out, lane);
}

u32 gp_isa_gather(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
		  const struct gp_isa_row64 *at, u64 lanes, u32 bytes, gp_isa_lanes *out)
{
	u8 *from[GP_ISA_LANES] = {0};
	const u8 *base;
	u64 split;
	u32 bad;

	if (!lanes)
		return GP_ISA_LANES;
	base = lanes_together(runner, at, lanes, bytes, false);
	if (base) {
		together_load(base, bytes, out);
		return GP_ISA_LANES;
	}
	bad = gp_isa_translate(runner, wave, at, lanes, bytes, false, from, &split);
	if (bad < GP_ISA_LANES)
		return bad;
	apart_load(from, bytes, out);
	for (; split; split &= split - 1) {
		u32 lane = (u32)__builtin_ctzll(split);

		split_load(runner, wave, at->lane[lane], bytes, out, lane);
	}
	return GP_ISA_LANES;
}

static void together_store(u8 *to, u64 lanes, u32 bytes, const gp_isa_lanes *in)
{
	loose64 *pairs = (loose64 *)to;

	if (lanes == GP_ISA_ALL && bytes == 4) {
		row_copy(to, in[0]);
		return;
	}
	if (lanes == GP_ISA_ALL && bytes == 8) {
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			pairs[lane] = in[0][lane] | (u64)in[1][lane] << 32;
		return;
	}
	if (lanes == GP_ISA_ALL && bytes == 16) {
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			pairs[2 * lane] = in[0][lane] | (u64)in[1][lane] << 32;
			pairs[2 * lane + 1] = in[2][lane] | (u64)in[3][lane] << 32;
		}
		return;
	}
	for (; lanes; lanes &= lanes - 1) {
		u32 lane = (u32)__builtin_ctzll(lanes);

		lane_store(to + lane * bytes, bytes, in, lane);
	}
}

u32 gp_isa_scatter(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
		   const struct gp_isa_row64 *at, u64 lanes, u32 bytes, const gp_isa_lanes *in)
{
	u8 *to[GP_ISA_LANES], *base;
	u64 split;
	u32 bad;

	if (!lanes)
		return GP_ISA_LANES;
	base = lanes_together(runner, at, lanes, bytes, true);
	if (base) {
		together_store(base, lanes, bytes, in);
		return GP_ISA_LANES;
	}
	bad = gp_isa_translate(runner, wave, at, lanes, bytes, true, to, &split);
	if (bad < GP_ISA_LANES)
		return bad;
	for (; lanes; lanes &= lanes - 1) {
		u32 lane = (u32)__builtin_ctzll(lanes);

		if (gp_isa_on(split, lane))
			split_store(runner, wave, at->lane[lane], bytes, in, lane);
		else
			lane_store(to[lane], bytes, in, lane);
	}
	return GP_ISA_LANES;
}
