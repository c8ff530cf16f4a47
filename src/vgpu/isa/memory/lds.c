// SPDX-License-Identifier: MIT
/*
 * The LDS of a work-group for 64 lanes. Its waves are run by one thread at a time, so atomics are
 * plain operations here.
 */
#include <immintrin.h>

#include "vgpu/isa/memory/access.h"

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

/* The loops are inlined with constant sizes. */
static inline __attribute__((always_inline)) void
lanes_load(const struct gp_isa_group *group, const u32 *at, u32 bytes, u32 limit, gp_isa_lanes *out)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		const u8 *from = at[lane] < limit ? group->lds + at[lane] : nothing;
		u32 words[GP_ISA_DWORDS_MAX] = {0};

		memcpy(words, from, bytes);
		for (u32 i = 0; i < gp_isa_dwords(bytes); i++)
			out[i][lane] = words[i];
	}
}

static inline __attribute__((always_inline)) void lanes_store(const struct gp_isa_group *group,
							      const u32 *at, u64 lanes, u32 bytes,
							      u32 limit, const gp_isa_lanes *in)
{
	for (; lanes; lanes &= lanes - 1) {
		u32 lane = (u32)__builtin_ctzll(lanes), words[GP_ISA_DWORDS_MAX];

		for (u32 i = 0; i < gp_isa_dwords(bytes); i++)
			words[i] = in[i][lane];
		if (at[lane] < limit)
			memcpy(group->lds + at[lane], words, bytes);
	}
}

void gp_isa_lds_gather(const struct gp_isa_group *group, const u32 *at, u64 lanes, u32 bytes,
		       gp_isa_lanes *out)
{
	u32 limit = addresses(group, bytes);

	switch (bytes) {
	case 1:
		lanes_load(group, at, 1, limit, out);
		break;
	case 2:
		lanes_load(group, at, 2, limit, out);
		break;
	case 4:
		if (lanes_together(at, lanes, bytes, limit))
			memcpy(out[0], group->lds + at[0], sizeof(*out));
		else
			lanes_load(group, at, 4, limit, out);
		break;
	case 8:
		lanes_load(group, at, 8, limit, out);
		break;
	case 12:
		lanes_load(group, at, 12, limit, out);
		break;
	default:
		lanes_load(group, at, 16, limit, out);
	}
}

void gp_isa_lds_scatter(const struct gp_isa_group *group, const u32 *at, u64 lanes, u32 bytes,
			const gp_isa_lanes *in)
{
	u32 limit = addresses(group, bytes);

	switch (bytes) {
	case 1:
		lanes_store(group, at, lanes, 1, limit, in);
		break;
	case 2:
		lanes_store(group, at, lanes, 2, limit, in);
		break;
	case 4:
		if (lanes_together(at, lanes, bytes, limit))
			memcpy(group->lds + at[0], in[0], sizeof(*in));
		else
			lanes_store(group, at, lanes, 4, limit, in);
		break;
	case 8:
		lanes_store(group, at, lanes, 8, limit, in);
		break;
	case 12:
		lanes_store(group, at, lanes, 12, limit, in);
		break;
	default:
		lanes_store(group, at, lanes, 16, limit, in);
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
