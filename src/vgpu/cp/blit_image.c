// SPDX-License-Identifier: MIT
/*
 * HIP's kernels that copy between images and buffers. An image's tiles are seen by nothing but
 * these kernels (others are not executed), so a tiled image is kept row by row in its memory, which
 * is never larger than its tiles; a linear one is where its pitch says. Arguments follow the OpenCL
 * signatures of BlitImageSourceCode in libamdhip64 5.2.3: an image is a pointer to its descriptor,
 * pitches count elements, an origin in a buffer counts units of the element's size but of 4 at
 * most.
 */
#include <errno.h>
#include <string.h>

#include "abi/gfx9_image.h"
#include "vgpu/cp/cp_state.h"

struct buffer_to_image {
	u64 from, image;
	u64 pad[2];
	u64 from_origin[4];
	s32 origin[4], size[4];
	u32 format[4]; /* components, bytes of one, dwords of an element */
	u64 pad2[2];
	u64 pitch[4]; /* row, slice */
};

struct image_to_buffer {
	u64 image;
	u64 to[3]; /* the same place as dwords, halves and bytes */
	s32 origin[4];
	u64 pad[2];
	u64 to_origin[4];
	s32 size[4];
	u32 format[4];
	u64 pitch[4];
};

struct image_to_image {
	u64 from, to;
	s32 from_origin[4], to_origin[4], size[4];
};

_Static_assert(offsetof(struct buffer_to_image, from_origin) == 32, "copyBufferToImage");
_Static_assert(offsetof(struct buffer_to_image, pitch) == 128, "copyBufferToImage");
_Static_assert(offsetof(struct image_to_buffer, to_origin) == 64, "copyImageToBuffer");
_Static_assert(offsetof(struct image_to_buffer, pitch) == 128, "copyImageToBuffer");
_Static_assert(sizeof(struct image_to_image) == 64, "copyImage");

u32 gp_vgpu_cp_image_arguments(enum gp_vgpu_cp_blit blit)
{
	switch (blit) {
	case GP_CP_HIP_BUFFER_TO_IMAGE:
		return sizeof(struct buffer_to_image);
	case GP_CP_HIP_IMAGE_TO_BUFFER:
		return sizeof(struct image_to_buffer);
	default:
		return sizeof(struct image_to_image);
	}
}

static int image_read(struct gp_vgpu_cp *cp, u32 gpu_id, u64 address, struct gp_gfx9_image *image,
		      u64 *fault)
{
	u32 words[GP_GFX9_IMAGE_WORDS];

	*fault = address;
	if (gp_vgpu_cp_read(cp, gpu_id, address, words, sizeof(words)))
		return -EFAULT;
	*image = gp_gfx9_image(words);
	return 0;
}

/* Where an image's element (x, y, z) is, and the distances to the next row and slice. */
struct place {
	u64 address, row, slice;
};

static struct place place_of(const struct gp_gfx9_image *image, const s32 *at, u64 element)
{
	u64 pitch = image->sw_mode == GP_GFX9_SW_MODE_LINEAR && image->pitch >= image->width
			    ? image->pitch
			    : image->width;
	struct place place = {.row = pitch * element};

	place.slice = place.row * image->height;
	place.address = image->base + (u64)(u32)at[0] * element + (u64)(u32)at[1] * place.row +
			(u64)(u32)at[2] * place.slice;
	return place;
}

static u64 units(u64 element)
{
	return element >= 4 ? 4 : element == 2 ? 2 : 1;
}

static int copy(struct gp_vgpu_cp *cp, u32 gpu_id, const s32 *size, u64 element, struct place to,
		struct place from, u64 *fault)
{
	struct gp_vgpu_cp_box box = {
		.to = to.address,
		.from = from.address,
		.width = (u64)(u32)size[0] * element,
		.height = (u32)size[1],
		.depth = (u32)size[2],
		.to_pitch = to.row,
		.to_slice = to.slice,
		.from_pitch = from.row,
		.from_slice = from.slice,
	};

	return gp_vgpu_cp_copy_box(cp, gpu_id, &box, fault);
}

static int from_buffer(struct gp_vgpu_cp *cp, u32 gpu_id, const struct buffer_to_image *a,
		       u64 *fault)
{
	u64 element = (u64)a->format[0] * a->format[1];
	struct place buffer = {
		.address = a->from + a->from_origin[0] * units(element),
		.row = a->pitch[0] * element,
		.slice = a->pitch[1] * element,
	};
	struct gp_gfx9_image image;

	if (image_read(cp, gpu_id, a->image, &image, fault))
		return -EFAULT;
	return copy(cp, gpu_id, a->size, element, place_of(&image, a->origin, element), buffer,
		    fault);
}

static int to_buffer(struct gp_vgpu_cp *cp, u32 gpu_id, const struct image_to_buffer *a, u64 *fault)
{
	u64 element = (u64)a->format[0] * a->format[1];
	struct place buffer = {
		.address = a->to[0] + a->to_origin[0] * units(element),
		.row = a->pitch[0] * element,
		.slice = a->pitch[1] * element,
	};
	struct gp_gfx9_image image;

	if (image_read(cp, gpu_id, a->image, &image, fault))
		return -EFAULT;
	return copy(cp, gpu_id, a->size, element, buffer, place_of(&image, a->origin, element),
		    fault);
}

static int between(struct gp_vgpu_cp *cp, u32 gpu_id, const struct image_to_image *a, u64 *fault)
{
	struct gp_gfx9_image from, to;
	u64 element;

	if (image_read(cp, gpu_id, a->from, &from, fault) ||
	    image_read(cp, gpu_id, a->to, &to, fault))
		return -EFAULT;
	element = gp_gfx9_image_element(from.data_format);
	return copy(cp, gpu_id, a->size, element, place_of(&to, a->to_origin, element),
		    place_of(&from, a->from_origin, element), fault);
}

int gp_vgpu_cp_blit_image(struct gp_vgpu_cp *cp, u32 gpu_id, enum gp_vgpu_cp_blit blit, u64 kernarg,
			  u64 *fault)
{
	union {
		struct buffer_to_image from_buffer;
		struct image_to_buffer to_buffer;
		struct image_to_image between;
	} a;

	*fault = kernarg;
	if (gp_vgpu_cp_read(cp, gpu_id, kernarg, &a, gp_vgpu_cp_image_arguments(blit)))
		return -EFAULT;
	switch (blit) {
	case GP_CP_HIP_BUFFER_TO_IMAGE:
		return from_buffer(cp, gpu_id, &a.from_buffer, fault);
	case GP_CP_HIP_IMAGE_TO_BUFFER:
		return to_buffer(cp, gpu_id, &a.to_buffer, fault);
	default:
		return between(cp, gpu_id, &a.between, fault);
	}
}
