/*
 * The short names for fixed-width integers and the few helpers every room uses.
 * No declarations that need libc beyond the freestanding headers.
 */
#ifndef GP_BASE_TYPES_H
#define GP_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define GP_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Bits from..to (inclusive, to >= from) of a register value. */
static inline u32 gp_bits(u32 value, unsigned int from, unsigned int to)
{
	return (value >> from) & (u32)((1ull << (to - from + 1)) - 1);
}

static inline u64 gp_join64(u32 lo, u32 hi)
{
	return (u64)hi << 32 | lo;
}

#endif
