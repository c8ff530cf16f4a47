/* SPDX-License-Identifier: MIT */
/* Taking register and packet words apart; used by the layouts in this room and their readers. */
#ifndef GP_ABI_BITS_H
#define GP_ABI_BITS_H

#include <stdint.h>

/* Bits from..to (inclusive, to >= from) of a word. */
static inline uint32_t gp_bits(uint32_t value, unsigned int from, unsigned int to)
{
	return (value >> from) & (uint32_t)((1ull << (to - from + 1)) - 1);
}

static inline uint64_t gp_join64(uint32_t lo, uint32_t hi)
{
	return (uint64_t)hi << 32 | lo;
}

#endif
