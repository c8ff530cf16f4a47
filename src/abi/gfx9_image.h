/* SPDX-License-Identifier: MIT */
/*
 * The image resource descriptor of gfx9 (T#): 8 dwords that say where an image is and what it looks
 * like. Fields as in ROCr 5.2.3's image/resource_gfx9.h (SQ_IMG_RSRC_WORD0..4) and the CDNA 2 ISA
 * guide's table of image resources. Holds no code but field extraction.
 */
#ifndef GP_ABI_GFX9_IMAGE_H
#define GP_ABI_GFX9_IMAGE_H

#include <stdint.h>

#include "abi/bits.h"

#define GP_GFX9_IMAGE_WORDS      8
#define GP_GFX9_IMAGE_BASE_SHIFT 8 /* the base counts 256 bytes */
#define GP_GFX9_SW_MODE_LINEAR   0

struct gp_gfx9_image {
	uint64_t base;
	uint32_t data_format;
	uint32_t width, height;
	uint32_t sw_mode; /* how it is tiled */
	uint32_t pitch;   /* elements of a row of a linear image */
};

static inline struct gp_gfx9_image gp_gfx9_image(const uint32_t *words)
{
	return (struct gp_gfx9_image){
		.base = gp_join64(words[0], gp_bits(words[1], 0, 7)) << GP_GFX9_IMAGE_BASE_SHIFT,
		.data_format = gp_bits(words[1], 20, 25),
		.width = gp_bits(words[2], 0, 13) + 1,
		.height = gp_bits(words[2], 14, 27) + 1,
		.sw_mode = gp_bits(words[3], 20, 24),
		.pitch = gp_bits(words[4], 13, 28) + 1,
	};
}

/* Bytes of an element by IMG_DATA_FORMAT, 0 = not one that is copied. */
static inline uint32_t gp_gfx9_image_element(uint32_t data_format)
{
	static const uint8_t bytes[] = {
		[1] = 1,   /* 8 */
		[2] = 2,   /* 16 */
		[3] = 2,   /* 8_8 */
		[4] = 4,   /* 32 */
		[5] = 4,   /* 16_16 */
		[6] = 4,   /* 10_11_11 */
		[7] = 4,   /* 11_11_10 */
		[8] = 4,   /* 10_10_10_2 */
		[9] = 4,   /* 2_10_10_10 */
		[10] = 4,  /* 8_8_8_8 */
		[11] = 8,  /* 32_32 */
		[12] = 8,  /* 16_16_16_16 */
		[13] = 12, /* 32_32_32 */
		[14] = 16, /* 32_32_32_32 */
		[16] = 2,  /* 5_6_5 */
		[17] = 2,  /* 1_5_5_5 */
		[18] = 2,  /* 5_5_5_1 */
		[19] = 2,  /* 4_4_4_4 */
	};

	return data_format < sizeof(bytes) ? bytes[data_format] : 0;
}

#endif
