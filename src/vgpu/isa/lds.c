// SPDX-License-Identifier: MIT
/*
 * The LDS of a work-group for 64 lanes. Its waves are run by one thread at a time, so atomics are
 * plain operations here.
 */
#include <immintrin.h>

#include "vgpu/isa/access.h"

#define DEFAULT_CSR 0x1f80 /* nearest even, no flushing, no exceptions */

static const u8 nothing[16];

/* How many addresses hold that many bytes. */
static u32 addresses(const struct gp_isa_group *group, u32 bytes)
{
	return group && group->lds_bytes >= bytes ? group->lds_bytes - bytes + 1 : 0;
}

/* Whether all lanes are on and follow each other, within LDS. */
static bool lanes_together(const u32 *at, u64 lanes, u32 bytes, u32 limit)
{
	u32 apart = 0;

	if (lanes != GP_ISA_ALL || at[0] >= limit || limit - at[0] <= (GP_ISA_LANES - 1) * bytes)
		return false;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		apart |= at[lane] ^ (at[0] + lane * bytes);
	return !apart;
}

void gp_isa_lds_gather(const struct gp_isa_group *group, const u32 *at, u64 lanes, u32 bytes,
		       gp_isa_lanes *out)
{
	u32 limit = addresses(group, bytes), dwords = gp_isa_dwords(bytes);

	if (bytes == 4 && lanes_together(at, lanes, bytes, limit)) {
		memcpy(out[0], group->lds + at[0], sizeof(*out));
		return;
	}
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		const u8 *from = at[lane] < limit ? group->lds + at[lane] : nothing;
		u16 half;

		if (bytes == 1) {
			out[0][lane] = *from;
		} else if (bytes == 2) {
			memcpy(&half, from, sizeof(half));
			out[0][lane] = half;
		} else {
			for (u32 i = 0; i < dwords; i++)
				memcpy(&out[i][lane], from + 4 * i, sizeof(u32));
		}
	}
}

void gp_isa_lds_scatter(const struct gp_isa_group *group, const u32 *at, u64 lanes, u32 bytes,
			const gp_isa_lanes *in)
{
	u32 limit = addresses(group, bytes), dwords = gp_isa_dwords(bytes);

	if (bytes == 4 && lanes_together(at, lanes, bytes, limit)) {
		memcpy(group->lds + at[0], in[0], sizeof(*in));
		return;
	}
	for (; lanes; lanes &= lanes - 1) {
		u32 lane = (u32)__builtin_ctzll(lanes);
		u8 *to;

		if (at[lane] >= limit)
			continue;
		to = group->lds + at[lane];
		if (bytes < 4)
			memcpy(to, &in[0][lane], bytes == 1 ? 1 : 2);
		else
			for (u32 i = 0; i < dwords; i++)
				memcpy(to + 4 * i, &in[i][lane], sizeof(u32));
	}
}

/* Which denormals the LDS flushes, by the mode register. */
static u32 flush_of(const struct gp_isa_wave *wave, u32 shape)
{
	u32 atomic = shape & GP_ISA_ATOMIC;
	bool single = !(shape & GP_ISA_WIDE) && atomic <= GP_ISA_CMPSWAP_F;
	u32 kept = single ? wave->mode >> 4 & 3 : wave->mode >> 6 & 3;
	bool sums = atomic == GP_ISA_ADD_F || atomic >= GP_ISA_PK_ADD_F16;

	if (atomic < GP_ISA_ADD_F || (sums && shape & GP_ISA_WIDE))
		return 0;
	return (kept & 1 ? 0 : GP_ISA_FLUSH_IN) | (sums && !(kept & 2) ? GP_ISA_FLUSH_OUT : 0);
}

static u32 lane_misaligned(struct gp_isa_runner *runner, struct gp_isa_wave *wave, const u32 *at,
			   u64 lanes, u32 bytes)
{
	for (; lanes; lanes &= lanes - 1) {
		u32 lane = (u32)__builtin_ctzll(lanes);

		if (at[lane] % bytes) {
			wave->fault = runner->host->shared_base + at[lane];
			return lane;
		}
	}
	return GP_ISA_LANES;
}

static void lane_atomic(u8 *cell, u32 shape, const gp_isa_lanes *data, const gp_isa_lanes *other,
			gp_isa_lanes *out, u32 lane, u32 flush)
{
	u32 atomic = shape & GP_ISA_ATOMIC;

	if (shape & GP_ISA_WIDE) {
		u64 first = data[0][lane] | (u64)data[1][lane] << 32;
		u64 second = other[0][lane] | (u64)other[1][lane] << 32, old, value;

		memcpy(&old, cell, sizeof(old));
		value = gp_isa_combine64(atomic, old, first, second, flush);
		memcpy(cell, &value, sizeof(value));
		out[0][lane] = (u32)old;
		out[1][lane] = (u32)(old >> 32);
	} else {
		u32 old, value;

		memcpy(&old, cell, sizeof(old));
		value = atomic == GP_ISA_ADD ? old + data[0][lane]
					     : gp_isa_combine32(atomic, old, data[0][lane],
								other[0][lane], flush);
		memcpy(cell, &value, sizeof(value));
		out[0][lane] = old;
	}
}

u32 gp_isa_lds_atomic(struct gp_isa_runner *runner, struct gp_isa_wave *wave, const u32 *at,
		      u64 lanes, u32 shape, const gp_isa_lanes *data, const gp_isa_lanes *other,
		      gp_isa_lanes *out)
{
	u32 bytes = shape & GP_ISA_WIDE ? 8 : 4, limit = addresses(wave->group, bytes);
	u32 bad = lane_misaligned(runner, wave, at, lanes, bytes), flush = flush_of(wave, shape);
	u32 environment = _mm_getcsr();

	if (bad < GP_ISA_LANES)
		return bad;
	memset(out, 0, gp_isa_dwords(bytes) * sizeof(*out));
	_mm_setcsr(DEFAULT_CSR);
	for (; lanes; lanes &= lanes - 1) {
		u32 lane = (u32)__builtin_ctzll(lanes);

		if (at[lane] < limit)
			lane_atomic(wave->group->lds + at[lane], shape, data, other, out, lane,
				    flush);
	}
	_mm_setcsr(environment);
	return GP_ISA_LANES;
}

void gp_isa_lds_fill(struct gp_isa_wave *wave, u32 base, u64 lanes, const gp_isa_lanes *rows)
{
	gp_isa_lanes at;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		at[lane] = base + 4 * lane;
	gp_isa_lds_scatter(wave->group, at, lanes, 4, rows);
}
