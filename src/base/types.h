/* SPDX-License-Identifier: MIT */
/*
 * The short names for fixed-width integers and the few helpers every room uses.
 * No declarations that need libc beyond the freestanding headers.
 */
#ifndef GP_BASE_TYPES_H
#define GP_BASE_TYPES_H

#ifdef __KERNEL__ /* has the same names */
#include <linux/limits.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define UINT32_MAX U32_MAX
#define UINT64_MAX U64_MAX
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#endif

#define GP_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
