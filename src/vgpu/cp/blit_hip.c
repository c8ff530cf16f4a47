// SPDX-License-Identifier: MIT
/*
 * The kernels HIP's runtime compiles for its own copies and fills, performed when they complete.
 * Arguments follow the OpenCL signatures in libamdhip64 5.2.3 (BlitLinearSourceCode and the
 * stream operations), each at its natural alignment; the meaning of origins, pitches and remainders
 * is that of ROCclr's rocblit.cpp of the same version. A kernel of that name whose argument block
 * is too small for the signature comes from another version and is left alone: only time passes.
 *
 * Not performed: fillImage (HIP has no call that fills an image), gwsInit (no global wave sync
 * memory is modelled) and scheduler (OpenCL's device enqueue, which HIP does not have).
 */
#include <errno.h>
#include <string.h>

#include "vgpu/cp/cp_state.h"

#define PREFIX            "__amd_rocclr_"
#define PATTERN_MAX       4096
#define COPY_BUFFER_BYTES 8 /* `remain` that says the size is in bytes */

struct copy_arguments {
	u64 from, to;
	u64 from_origin, to_origin;
	u64 size;
	u32 last; /* copyBuffer: bytes of the last dword; copyBufferAligned: bytes of an element */
	u32 pad;
};

struct rect_arguments {
	u64 from, to;
	u64 pad[2]; /* ulong4 is aligned to 32 bytes */
	struct {
		u64 pitch, slice, start, unused;
	} from_rect, to_rect;
	u64 width, height, depth, element;
};

struct fill_arguments {
	u64 targets[4]; /* of 1, 2, 4, 8 bytes; the one that is set says the element */
	u64 pattern;
	u32 pattern_elements, pad;
	u64 offset; /* elements */
	u64 count;  /* patterns; 2D: width */
	u64 height, pitch;
};

struct stream_arguments {
	u64 target32, target64;
	u64 value;
	u64 flags; /* wait: comparison; write: bytes */
	u64 mask;
};

_Static_assert(offsetof(struct rect_arguments, from_rect) == 32, "copyBufferRect");
_Static_assert(sizeof(struct rect_arguments) == 128, "copyBufferRect");
_Static_assert(offsetof(struct fill_arguments, offset) == 48, "fillBufferAligned");

static const struct {
	const char *name;
	enum gp_vgpu_cp_blit blit;
	u32 bytes; /* of the arguments */
} kernels[] = {
	{"copyBuffer", GP_CP_HIP_COPY_BUFFER, 44},
	{"copyBufferAligned", GP_CP_HIP_COPY_BUFFER_ALIGNED, 44},
	{"copyBufferRect", GP_CP_HIP_COPY_RECT, sizeof(struct rect_arguments)},
	{"copyBufferRectAligned", GP_CP_HIP_COPY_RECT_ALIGNED, sizeof(struct rect_arguments)},
	{"fillBufferAligned", GP_CP_HIP_FILL, offsetof(struct fill_arguments, height)},
	{"fillBufferAligned2D", GP_CP_HIP_FILL_2D, sizeof(struct fill_arguments)},
	{"streamOpsWrite", GP_CP_HIP_STREAM_WRITE, offsetof(struct stream_arguments, mask)},
	{"streamOpsWait", GP_CP_HIP_STREAM_WAIT, sizeof(struct stream_arguments)},
	{"copyBufferToImage", GP_CP_HIP_BUFFER_TO_IMAGE, 160},
	{"copyImageToBuffer", GP_CP_HIP_IMAGE_TO_BUFFER, 160},
	{"copyImage", GP_CP_HIP_IMAGE_TO_IMAGE, 64},
	{"copyImage1DA", GP_CP_HIP_IMAGE_TO_IMAGE, 64},
};

enum gp_vgpu_cp_blit gp_vgpu_cp_blit_by_name(const char *name, u32 kernarg_bytes)
{
	if (strncmp(name, PREFIX, strlen(PREFIX)))
		return GP_CP_BLIT_NONE;
	for (u32 i = 0; i < GP_ARRAY_SIZE(kernels); i++) {
		if (!strcmp(name + strlen(PREFIX), kernels[i].name) &&
		    kernarg_bytes >= kernels[i].bytes)
			return kernels[i].blit;
	}
	return GP_CP_BLIT_NONE;
}

static u32 argument_bytes(enum gp_vgpu_cp_blit blit)
{
	for (u32 i = 0; i < GP_ARRAY_SIZE(kernels); i++) {
		if (kernels[i].blit == blit)
			return kernels[i].bytes;
	}
	return 0;
}

/* copyBuffer: one work item per dword and one more for the bytes that remain. */
static int copy_buffer(struct gp_vgpu_cp *cp, u32 gpu_id, const struct copy_arguments *a,
		       u64 *fault)
{
	u64 bytes = a->last == COPY_BUFFER_BYTES ? a->size
		    : a->size                    ? (a->size - 1) * sizeof(u32) + a->last
						 : 0;

	return gp_vgpu_cp_copy(cp, gpu_id, a->to + a->to_origin, a->from + a->from_origin, bytes,
			       fault);
}

static int copy_aligned(struct gp_vgpu_cp *cp, u32 gpu_id, const struct copy_arguments *a,
			u64 *fault)
{
	u64 element = a->last == 16 ? 16 : 4;

	return gp_vgpu_cp_copy(cp, gpu_id, a->to + a->to_origin * element,
			       a->from + a->from_origin * element, a->size * element, fault);
}

static int copy_rect(struct gp_vgpu_cp *cp, u32 gpu_id, const struct rect_arguments *a, u64 element,
		     u64 *fault)
{
	struct gp_vgpu_cp_box box = {
		.to = a->to + a->to_rect.start * element,
		.from = a->from + a->from_rect.start * element,
		.width = a->width * element,
		.height = a->height,
		.depth = a->depth,
		.to_pitch = a->to_rect.pitch * element,
		.to_slice = a->to_rect.slice * element,
		.from_pitch = a->from_rect.pitch * element,
		.from_slice = a->from_rect.slice * element,
	};

	return gp_vgpu_cp_copy_box(cp, gpu_id, &box, fault);
}

static int fill(struct gp_vgpu_cp *cp, u32 gpu_id, const struct fill_arguments *a, bool rows,
		u64 *fault)
{
	u8 pattern[PATTERN_MAX];
	u64 element, bytes;
	u32 which;

	for (which = 0; which < GP_ARRAY_SIZE(a->targets) && !a->targets[which]; which++)
		;
	if (which == GP_ARRAY_SIZE(a->targets))
		return 0;
	element = 1ull << which;
	bytes = a->pattern_elements * element;
	*fault = a->pattern;
	if (!bytes || bytes > sizeof(pattern))
		return bytes ? -EFAULT : 0;
	if (gp_vgpu_cp_read(cp, gpu_id, a->pattern, pattern, bytes))
		return -EFAULT;
	if (!rows)
		return gp_vgpu_cp_fill(cp, gpu_id, a->targets[which] + a->offset * element, pattern,
				       (u32)bytes, a->count, fault);
	for (u64 y = 0; y < a->height; y++) {
		u64 row = a->targets[which] + (a->offset + y * a->pitch) * element;
		int result = gp_vgpu_cp_fill(cp, gpu_id, row, pattern, (u32)bytes, a->count, fault);

		if (result)
			return result;
	}
	return 0;
}

static int stream_write(struct gp_vgpu_cp *cp, u32 gpu_id, const struct stream_arguments *a,
			u64 *fault)
{
	u64 address = a->target32 ? a->target32 : a->target64;
	size_t size = a->target32 ? sizeof(u32) : sizeof(u64);
	void *target = gp_vgpu_cp_place(cp, gpu_id, address, size);

	*fault = address;
	if (!target || address % size)
		return -EFAULT;
	if (a->target32)
		__atomic_store_n((u32 *)target, (u32)a->value, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n((u64 *)target, a->value, __ATOMIC_SEQ_CST);
	return 0;
}

/* hipStreamWaitValue's flags: GEQ, EQ, AND, NOR. */
static bool wait_met(u64 seen, u64 value, u64 flags, u64 mask)
{
	switch (flags) {
	case 0:
		return (s64)(seen & mask) >= (s64)value;
	case 1:
		return (seen & mask) == value;
	case 2:
		return (seen & mask) & value;
	case 3:
		return ((seen | value) & mask) != mask;
	default:
		return true;
	}
}

int gp_vgpu_cp_stream_wait_over(struct gp_vgpu_cp *cp, u32 gpu_id, u64 kernarg, u64 *fault)
{
	struct stream_arguments a;
	u32 seen32;
	u64 seen64;

	*fault = kernarg;
	if (gp_vgpu_cp_read(cp, gpu_id, kernarg, &a, sizeof(a)))
		return -EFAULT;
	*fault = a.target32 ? a.target32 : a.target64;
	if (a.target32) {
		/* Only the low halves of value, flags and mask were set. */
		if (gp_vgpu_cp_read(cp, gpu_id, a.target32, &seen32, sizeof(seen32)))
			return -EFAULT;
		return wait_met(seen32, (u32)a.value, (u32)a.flags, (u32)a.mask);
	}
	if (gp_vgpu_cp_read(cp, gpu_id, a.target64, &seen64, sizeof(seen64)))
		return -EFAULT;
	return wait_met(seen64, a.value, a.flags, a.mask);
}

int gp_vgpu_cp_blit_hip(struct gp_vgpu_cp *cp, u32 gpu_id, enum gp_vgpu_cp_blit blit, u64 kernarg,
			u64 *fault)
{
	union {
		struct copy_arguments copy;
		struct rect_arguments rect;
		struct fill_arguments fill;
		struct stream_arguments stream;
	} a = {0};

	if (blit >= GP_CP_HIP_BUFFER_TO_IMAGE)
		return gp_vgpu_cp_blit_image(cp, gpu_id, blit, kernarg, fault);
	*fault = kernarg;
	if (gp_vgpu_cp_read(cp, gpu_id, kernarg, &a, argument_bytes(blit)))
		return -EFAULT;
	switch (blit) {
	case GP_CP_HIP_COPY_BUFFER:
		return copy_buffer(cp, gpu_id, &a.copy, fault);
	case GP_CP_HIP_COPY_BUFFER_ALIGNED:
		return copy_aligned(cp, gpu_id, &a.copy, fault);
	case GP_CP_HIP_COPY_RECT:
		return copy_rect(cp, gpu_id, &a.rect, 1, fault);
	case GP_CP_HIP_COPY_RECT_ALIGNED:
		return copy_rect(cp, gpu_id, &a.rect, a.rect.element == 16 ? 16 : 4, fault);
	case GP_CP_HIP_FILL:
		return fill(cp, gpu_id, &a.fill, false, fault);
	case GP_CP_HIP_FILL_2D:
		return fill(cp, gpu_id, &a.fill, true, fault);
	case GP_CP_HIP_STREAM_WRITE:
		return stream_write(cp, gpu_id, &a.stream, fault);
	default:
		return 0;
	}
}
