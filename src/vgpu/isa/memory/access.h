/* SPDX-License-Identifier: MIT */
/*
 * Loads, stores and atomics of 64 lanes: what DS, FLAT, GLOBAL, SCRATCH, MUBUF and MTBUF share.
 * Private to vgpu/isa.
 *
 * A format computes where each lane goes, as a row of addresses and a mask of lanes, and calls one
 * of the functions here: memory of the host, private memory of the wave, or the group's LDS. Data
 * are rows of 64 dwords, one row per dword of a lane, as in the registers.
 *
 * All lanes are translated before the first is accessed, so an instruction that faults has changed
 * neither registers nor memory. Two kinds of store may have been done in part: one to private
 * memory that is misaligned or wider than a dword, and a flat one whose lanes go to several
 * memories.
 */
#ifndef GP_VGPU_ISA_ACCESS_H
#define GP_VGPU_ISA_ACCESS_H

#include "vgpu/isa/vector/lanes.h"

#define GP_ISA_DWORDS_MAX 4
#define GP_ISA_ALL        (~0ull)

typedef u32 gp_isa_lanes[GP_ISA_LANES];

/* gp_isa_op.shape of loads and stores. */
enum gp_isa_shape {
	GP_ISA_BYTES = 0x1f,   /* of each lane: 1, 2, 4, 8, 12 or 16 */
	GP_ISA_SIGNED = 0x20,  /* a loaded byte or short is extended with its sign */
	GP_ISA_D16 = 0x40,     /* to 16 bits, into the low half */
	GP_ISA_D16_HI = 0x80,  /* loads: to 16 bits, into the high half; stores: from there */
	GP_ISA_TO_LDS = 0x100, /* into LDS instead of registers */
};

/* gp_isa_op.shape of atomics: one of these, and the flags below. */
enum gp_isa_atomic {
	GP_ISA_SWAP,
	GP_ISA_CMPSWAP, /* data if the value is `other` */
	GP_ISA_ADD,
	GP_ISA_SUB,
	GP_ISA_RSUB,
	GP_ISA_SMIN,
	GP_ISA_UMIN,
	GP_ISA_SMAX,
	GP_ISA_UMAX,
	GP_ISA_AND,
	GP_ISA_OR,
	GP_ISA_XOR,
	GP_ISA_MSKOR, /* data is the mask, `other` the bits */
	GP_ISA_INC,
	GP_ISA_DEC,
	GP_ISA_WRAP,
	GP_ISA_ADD_F, /* from here on floats */
	GP_ISA_MIN_F,
	GP_ISA_MAX_F,
	GP_ISA_CMPSWAP_F,
	GP_ISA_PK_ADD_F16,
	GP_ISA_PK_ADD_BF16,
	GP_ISA_ATOMICS,
};
#define GP_ISA_ATOMIC  0x1fu
#define GP_ISA_WIDE    0x20u /* of 64 bits */
#define GP_ISA_RETURNS 0x40u /* DS: always; in other formats the instruction says so (glc, sc0) */

/* What a float atomic does with denormals: it sees zeros, it writes zeros. */
enum gp_isa_flush { GP_ISA_FLUSH_IN = 1u << 0, GP_ISA_FLUSH_OUT = 1u << 1 };

/* ---- access.c: memory of the host. Result: the first lane that faults, its address in
 * wave->fault, or GP_ISA_LANES. ---- */

/* `out` has one row per dword; bytes and shorts are extended with zeros. Rows of lanes that are off
 * may hold anything. */
u32 gp_isa_gather(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
		  const struct gp_isa_row64 *at, u64 lanes, u32 bytes, gp_isa_lanes *out);
u32 gp_isa_scatter(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
		   const struct gp_isa_row64 *at, u64 lanes, u32 bytes, const gp_isa_lanes *in);

/* CPU addresses of the lanes that are on. Those that cross a page have a bit in *split; both pages
 * exist. */
u32 gp_isa_translate(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
		     const struct gp_isa_row64 *at, u64 lanes, u32 bytes, bool write,
		     u8 *to[GP_ISA_LANES], u64 *split);

/* ---- private.c: private memory, by the offset in each lane's own ---- */
u32 gp_isa_private_gather(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			  const struct gp_isa_row *at, u64 lanes, u32 bytes, gp_isa_lanes *out);
u32 gp_isa_private_scatter(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			   const struct gp_isa_row *at, u64 lanes, u32 bytes,
			   const gp_isa_lanes *in);
/* GPU addresses of dwords; result as above, for those out of bounds. */
u32 gp_isa_private_address(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			   const struct gp_isa_row *at, u64 lanes, u32 bytes,
			   struct gp_isa_row64 *to);

/* ---- lds.c: reads beyond the group's LDS give 0, writes there are dropped ---- */
void gp_isa_lds_gather(const struct gp_isa_group *group, const u32 *at, u64 lanes, u32 bytes,
		       gp_isa_lanes *out);
void gp_isa_lds_scatter(const struct gp_isa_group *group, const u32 *at, u64 lanes, u32 bytes,
			const gp_isa_lanes *in);
/* A group's waves are run by one thread at a time: these are plain operations. Result as in
 * access.c: an address that is not aligned faults. */
u32 gp_isa_lds_atomic(struct gp_isa_runner *runner, struct gp_isa_wave *wave, const u32 *at,
		      u64 lanes, u32 shape, const gp_isa_lanes *data, const gp_isa_lanes *other,
		      gp_isa_lanes *out);
/* The lanes' dwords into LDS, as loads with the LDS bit do it: at base + 4 * lane. */
void gp_isa_lds_fill(struct gp_isa_wave *wave, u32 base, u64 lanes, const gp_isa_lanes *rows);

/* ---- atomic.c ---- */

/* The value that memory gets. Floats need the default floating-point environment. */
u32 gp_isa_combine32(u32 atomic, u32 old, u32 data, u32 other, u32 flush);
u64 gp_isa_combine64(u32 atomic, u64 old, u64 data, u64 other, u32 flush);
/* Atomic for all threads of the host. Result as in access.c: an address that is not aligned faults.
 * `other` of cmpswap follows data in the registers. */
u32 gp_isa_memory_atomic(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			 const struct gp_isa_row64 *at, u64 lanes, u32 shape,
			 const gp_isa_lanes *data, gp_isa_lanes *out);

/* ---- rows.c ---- */

/* All ones in the lanes that are on, 0 in the others. */
void gp_isa_spread(u64 lanes, struct gp_isa_row *mask);

/* What a load of this shape makes of the rows, into the registers from `row` on. */
void gp_isa_put_loaded(struct gp_isa_wave *wave, u32 row, u32 shape, u64 lanes, gp_isa_lanes *rows);
/* Extends bytes and shorts of a row as the shape says. */
void gp_isa_extend(u32 shape, u32 *row);
/* Lanes of `rows` into the registers from `row` on. */
void gp_isa_put_rows(struct gp_isa_wave *wave, u32 row, u32 count, u64 lanes,
		     const gp_isa_lanes *rows);
/* Data of a store of this shape: the registers themselves, or *room. */
const gp_isa_lanes *gp_isa_stored(const struct gp_isa_wave *wave, u32 row, u32 shape,
				  gp_isa_lanes *room);

static inline u32 gp_isa_dwords(u32 bytes)
{
	return (bytes + 3) / 4;
}

static inline bool gp_isa_on(u64 lanes, u32 lane)
{
	return lanes >> lane & 1;
}

#endif
