/* SPDX-License-Identifier: MIT */
/*
 * Packets of the gfx9 system DMA engine that a user-mode queue carries. Numbers and fields of
 * sdma_registers.h, ROCr 5.2.3, and of the driver's vega10_sdma_pkt_open.h (WRITE, NOP, the wider
 * count of later engines). Ring pointers are bytes and never wrap (they are reduced modulo the
 * ring); dwords are little endian. Holds no code but field extraction.
 */
#ifndef GP_ABI_SDMA_H
#define GP_ABI_SDMA_H

#include <stdint.h>

#include "abi/bits.h"

/* header 7:0 */
enum gp_sdma_op {
	GP_SDMA_NOP = 0,
	GP_SDMA_COPY = 1,
	GP_SDMA_WRITE = 2,
	GP_SDMA_FENCE = 5,
	GP_SDMA_TRAP = 6,
	GP_SDMA_POLL_REGMEM = 8,
	GP_SDMA_ATOMIC = 10,
	GP_SDMA_CONST_FILL = 11,
	GP_SDMA_TIMESTAMP = 13,
	GP_SDMA_GCR = 17,
};

/* header 15:8 */
#define GP_SDMA_COPY_LINEAR          0
#define GP_SDMA_COPY_RECT            4
#define GP_SDMA_WRITE_LINEAR         0
#define GP_SDMA_TIMESTAMP_GET        1
#define GP_SDMA_TIMESTAMP_GET_GLOBAL 2

/* Packet lengths in dwords. NOP and WRITE say theirs. */
#define GP_SDMA_COPY_LINEAR_DWORDS 7
#define GP_SDMA_COPY_BROADCAST     (1u << 27) /* in the header: a second target follows */
#define GP_SDMA_COPY_TARGET_DWORDS 2
#define GP_SDMA_COPY_RECT_DWORDS   13
#define GP_SDMA_WRITE_FIXED_DWORDS 4 /* then the data */
#define GP_SDMA_FENCE_DWORDS       4
#define GP_SDMA_TRAP_DWORDS        2
#define GP_SDMA_POLL_DWORDS        6
#define GP_SDMA_ATOMIC_DWORDS      8
#define GP_SDMA_FILL_DWORDS        5
#define GP_SDMA_TIMESTAMP_DWORDS   3
#define GP_SDMA_GCR_DWORDS         5

/* ATOMIC: header 31:25 is the texture cache's operation. */
#define GP_SDMA_ATOMIC_ADD32 15
#define GP_SDMA_ATOMIC_ADD64 47

/* POLL_REGMEM: header 30:28, when header 31 says memory. */
enum gp_sdma_compare {
	GP_SDMA_ALWAYS = 0,
	GP_SDMA_LT = 1,
	GP_SDMA_LE = 2,
	GP_SDMA_EQ = 3,
	GP_SDMA_NE = 4,
	GP_SDMA_GE = 5,
	GP_SDMA_GT = 6,
};

#define GP_SDMA_TRAP_CONTEXT_MASK 0x0fffffffu /* ROCr puts the event id there */

static inline uint32_t gp_sdma_op(uint32_t header)
{
	return gp_bits(header, 0, 7);
}

static inline uint32_t gp_sdma_sub_op(uint32_t header)
{
	return gp_bits(header, 8, 15);
}

/* Bytes of a COPY_LINEAR: 22 bits on the first gfx9 engines, 30 since 4.4; the rest is zero. */
static inline uint64_t gp_sdma_copy_bytes(uint32_t count)
{
	return (uint64_t)gp_bits(count, 0, 29) + 1;
}

/* Elements of a CONST_FILL, each 1 << (header 31:30) bytes: the count is bytes of all but one. */
static inline uint64_t gp_sdma_fill_elements(uint32_t header, uint32_t count)
{
	return (gp_bits(count, 0, 29) >> gp_bits(header, 30, 31)) + 1ull;
}

/* One side of a COPY_RECT in elements of 1 << (header 31:29) bytes: offsets and pitches. */
struct gp_sdma_rect_side {
	uint64_t address;
	uint32_t x, y, z;
	uint64_t pitch, slice;
};

static inline struct gp_sdma_rect_side gp_sdma_rect_side(const uint32_t *words)
{
	return (struct gp_sdma_rect_side){
		.address = gp_join64(words[0], words[1]),
		.x = gp_bits(words[2], 0, 13),
		.y = gp_bits(words[2], 16, 29),
		.z = gp_bits(words[3], 0, 10),
		.pitch = gp_bits(words[3], 13, 31) + 1ull,
		.slice = gp_bits(words[4], 0, 27) + 1ull,
	};
}

#endif
