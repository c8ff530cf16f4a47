// SPDX-License-Identifier: MIT
/*
 * Private memory of a wave: the dwords of its lanes lie side by side, so that byte b of lane l is
 * at scratch + b / 4 * 256 + l * 4 + b % 4. Lanes with the same offset, which is what spills and
 * the stack are, are one row in memory.
 */
#include "vgpu/isa/memory/access.h"

#define ROW_BYTES (GP_ISA_LANES * sizeof(u32))

/* The first lane whose bytes are not all in its memory. */
static u32 lane_beyond(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
		       const struct gp_isa_row *at, u64 lanes, u32 bytes)
{
	u64 limit = wave->scratch_lane_bytes;

	for (; lanes; lanes &= lanes - 1) {
		u32 lane = (u32)__builtin_ctzll(lanes);

		if (at->lane[lane] + (u64)bytes > limit) {
			wave->fault = runner->host->private_base + at->lane[lane];
			return lane;
		}
	}
	return GP_ISA_LANES;
}

u32 gp_isa_private_address(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			   const struct gp_isa_row *at, u64 lanes, u32 bytes,
			   struct gp_isa_row64 *to)
{
	u32 highest = 0;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u64 offset = at->lane[lane];

		highest = GP_MAX(highest, at->lane[lane]);
		to->lane[lane] = wave->scratch + offset / 4 * ROW_BYTES + lane * 4 + offset % 4;
	}
	if (highest + (u64)bytes <= wave->scratch_lane_bytes)
		return GP_ISA_LANES;
	return lane_beyond(runner, wave, at, lanes, bytes);
}

/* Whether each lane's bytes are in one dword, or are whole dwords. */
static bool lanes_fit(const struct gp_isa_row *at, u64 lanes, u32 bytes)
{
	u32 most = bytes < 4 ? 4 - bytes : 0, highest = 0;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		highest = GP_MAX(highest, at->lane[lane] % 4);
	if (highest <= most)
		return true;
	for (u64 rest = lanes; rest; rest &= rest - 1)
		if (at->lane[__builtin_ctzll(rest)] % 4 > most)
			return false;
	return true;
}

static void row_add(struct gp_isa_row64 *at, u64 bytes)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		at->lane[lane] += bytes;
}

static void offsets_add(struct gp_isa_row *to, const struct gp_isa_row *at, u32 bytes)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		to->lane[lane] = at->lane[lane] + bytes;
}

static u32 bytes_gather(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			const struct gp_isa_row *at, u64 lanes, u32 bytes, gp_isa_lanes *out)
{
	struct gp_isa_row64 address;
	struct gp_isa_row offsets;
	gp_isa_lanes part;

	memset(out, 0, gp_isa_dwords(bytes) * sizeof(*out));
	for (u32 i = 0; i < bytes; i++) {
		u32 bad;

		offsets_add(&offsets, at, i);
		bad = gp_isa_private_address(runner, wave, &offsets, lanes, 1, &address);
		if (bad == GP_ISA_LANES)
			bad = gp_isa_gather(runner, wave, &address, lanes, 1, &part);
		if (bad < GP_ISA_LANES)
			return bad;
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			out[i / 4][lane] |= (part[lane] & 0xff) << i % 4 * 8;
	}
	return GP_ISA_LANES;
}

static u32 bytes_scatter(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			 const struct gp_isa_row *at, u64 lanes, u32 bytes, const gp_isa_lanes *in)
{
	struct gp_isa_row64 address;
	struct gp_isa_row offsets;
	gp_isa_lanes part;

	for (u32 i = 0; i < bytes; i++) {
		u32 bad;

		offsets_add(&offsets, at, i);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			part[lane] = in[i / 4][lane] >> i % 4 * 8;
		bad = gp_isa_private_address(runner, wave, &offsets, lanes, 1, &address);
		if (bad == GP_ISA_LANES)
			bad = gp_isa_scatter(runner, wave, &address, lanes, 1,
					     (const gp_isa_lanes *)&part);
		if (bad < GP_ISA_LANES)
			return bad;
	}
	return GP_ISA_LANES;
}

u32 gp_isa_private_gather(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			  const struct gp_isa_row *at, u64 lanes, u32 bytes, gp_isa_lanes *out)
{
	u32 each = bytes < 4 ? bytes : 4, bad;
	struct gp_isa_row64 address;

	bad = gp_isa_private_address(runner, wave, at, lanes, bytes, &address);
	if (bad < GP_ISA_LANES)
		return bad;
	if (!lanes_fit(at, lanes, bytes))
		return bytes_gather(runner, wave, at, lanes, bytes, out);
	for (u32 i = 0; i < gp_isa_dwords(bytes); i++, row_add(&address, ROW_BYTES)) {
		bad = gp_isa_gather(runner, wave, &address, lanes, each, &out[i]);
		if (bad < GP_ISA_LANES)
			return bad;
	}
	return GP_ISA_LANES;
}

u32 gp_isa_private_scatter(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			   const struct gp_isa_row *at, u64 lanes, u32 bytes,
			   const gp_isa_lanes *in)
{
	u32 each = bytes < 4 ? bytes : 4, bad;
	struct gp_isa_row64 address;

	bad = gp_isa_private_address(runner, wave, at, lanes, bytes, &address);
	if (bad < GP_ISA_LANES)
		return bad;
	if (!lanes_fit(at, lanes, bytes))
		return bytes_scatter(runner, wave, at, lanes, bytes, in);
	for (u32 i = 0; i < gp_isa_dwords(bytes); i++, row_add(&address, ROW_BYTES)) {
		bad = gp_isa_scatter(runner, wave, &address, lanes, each, &in[i]);
		if (bad < GP_ISA_LANES)
			return bad;
	}
	return GP_ISA_LANES;
}
