// SPDX-License-Identifier: MIT
/*
 * The kernels HIP's runtime compiles for its own copies and fills, performed when they complete,
 * where kernels are not executed (vgpu/compute): all that is known of them is in this file.
 * Arguments follow the OpenCL signatures in libamdhip64 5.2.3 to 7.2.4 (BlitLinearSourceCode and
 * the stream operations), each at its natural alignment; the meaning of origins, pitches and
 * remainders is that of ROCclr's rocblit.cpp. Versions differ in their arguments, not in the names:
 * the list in the code object's metadata says which one it is, and a list that is not in the table
 * is an error.
 *
 * Only time passes for fillImage (HIP has no call that fills an image), gwsInit (nothing
 * waits there), scheduler (OpenCL's device enqueue, which HIP does not have) and
 * initHeap (malloc() of kernels, which compute nothing).
 */
#include <errno.h>
#include <string.h>

#include "vgpu/cp/cp_state.h"

#define PREFIX            "__amd_rocclr_"
#define PATTERN_MAX       4096
#define COPY_BUFFER_BYTES 8 /* `remain` that says the size is in bytes */
#define BATCH_MAX         4096

struct copy_arguments {
	u64 from, to;
	u64 from_origin, to_origin;
	u64 size;
	u32 last; /* copyBuffer: bytes of the last dword; copyBufferAligned: bytes of an element */
	u32 pad;
};

struct copy_chunks_arguments {
	u64 from, to;
	u64 size;
	u32 remainder; /* bytes at the end that fill no element */
	u32 element;   /* 16, else 4 */
	u64 end;       /* where elements end */
	u32 next_chunk, workgroup_size;
};

struct fill_chunks_arguments {
	u64 to, pattern;
	u32 pattern_elements, element;
	u64 end;
	u32 next_chunk, workgroup_size;
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
	u64 flags, mask; /* wait only */
};

struct batch_arguments {
	u64 operations;
	u32 count, pad;
};

/* hipStreamBatchMemOpParams */
struct batch_operation {
	u32 type, pad;
	u64 address, value;
	u32 flags, pad2;
	u64 unused[2];
};

enum { BATCH_WAIT32 = 1, BATCH_WRITE32 = 2, BATCH_WAIT64 = 4, BATCH_WRITE64 = 5 };

_Static_assert(offsetof(struct rect_arguments, from_rect) == 32, "copyBufferRect");
_Static_assert(sizeof(struct batch_operation) == 48, "hipStreamBatchMemOpParams");
_Static_assert(sizeof(struct copy_chunks_arguments) == 48, "copyBuffer");
_Static_assert(sizeof(struct fill_chunks_arguments) == 40, "fillBufferAligned");
_Static_assert(sizeof(struct rect_arguments) == 128, "copyBufferRect");
_Static_assert(offsetof(struct fill_arguments, offset) == 48, "fillBufferAligned");

/* clang-format off */
static const struct {
	const char *name, *layout;
	enum gp_vgpu_cp_blit blit;
	u32 bytes; /* of the arguments that are read */
} kernels[] = {
	/* ROCm 5 */
	{"copyBuffer", "p8 p8 v8 v8 v8 v4", GP_CP_HIP_COPY_BUFFER, 44},
	{"fillBufferAligned", "p8 p8 p8 p8 p8 v4 v8 v8", GP_CP_HIP_FILL,
	 offsetof(struct fill_arguments, height)},
	{"streamOpsWrite", "p8 p8 v8 v8", GP_CP_HIP_STREAM_WRITE, 24},
	/* ROCm 6, and 7 with the size of a workgroup */
	{"copyBuffer", "p8 p8 v8 v4 v4 v8 v4", GP_CP_HIP_COPY_CHUNKS, 44},
	{"copyBuffer", "p8 p8 v8 v4 v4 v8 v4 v4", GP_CP_HIP_COPY_CHUNKS, 48},
	{"fillBufferAligned", "p8 p8 v4 v4 v8 v4", GP_CP_HIP_FILL_CHUNKS, 36},
	{"fillBufferAligned", "p8 p8 v4 v4 v8 v4 v4", GP_CP_HIP_FILL_CHUNKS, 40},
	{"streamOpsWrite", "p8 p8 v8", GP_CP_HIP_STREAM_WRITE, 24},
	{"batchMemOp", "p8 v4", GP_CP_HIP_BATCH, 12},
	{"initHeap", "v8 v8 v4 v4", GP_CP_BLIT_NONE, 0},
	/* all */
	{"copyBufferAligned", "p8 p8 v8 v8 v8 v4", GP_CP_HIP_COPY_BUFFER_ALIGNED, 44},
	{"copyBufferRect", "p8 p8 v32 v32 v32", GP_CP_HIP_COPY_RECT, sizeof(struct rect_arguments)},
	{"copyBufferRectAligned", "p8 p8 v32 v32 v32", GP_CP_HIP_COPY_RECT_ALIGNED,
	 sizeof(struct rect_arguments)},
	{"fillBufferAligned2D", "p8 p8 p8 p8 p8 v4 v8 v8 v8 v8", GP_CP_HIP_FILL_2D,
	 sizeof(struct fill_arguments)},
	{"streamOpsWait", "p8 p8 v8 v8 v8", GP_CP_HIP_STREAM_WAIT, sizeof(struct stream_arguments)},
	{"copyBufferToImage", "p8 i8 v32 v16 v16 v16 v32", GP_CP_HIP_BUFFER_TO_IMAGE, 160},
	{"copyImageToBuffer", "i8 p8 p8 p8 v16 v32 v16 v16 v32", GP_CP_HIP_IMAGE_TO_BUFFER, 160},
	{"copyImage", "i8 i8 v16 v16 v16", GP_CP_HIP_IMAGE_TO_IMAGE, 64},
	{"copyImage1DA", "i8 i8 v16 v16 v16", GP_CP_HIP_IMAGE_TO_IMAGE, 64},
	{"fillImage", "i8 v16 v16 v16 v16 v16 v4", GP_CP_BLIT_NONE, 0},
	{"gwsInit", "v4", GP_CP_BLIT_NONE, 0},
	{"scheduler", "p8", GP_CP_BLIT_NONE, 0},
};
/* clang-format on */

bool gp_vgpu_cp_is_hip(const char *name)
{
	return !strncmp(name, PREFIX, strlen(PREFIX));
}

enum gp_vgpu_cp_blit gp_vgpu_cp_blit_by_name(const char *name, const char *layout)
{
	for (u32 i = 0; i < GP_ARRAY_SIZE(kernels); i++) {
		if (!strcmp(name + strlen(PREFIX), kernels[i].name) &&
		    !strcmp(layout, kernels[i].layout))
			return kernels[i].blit;
	}
	return GP_CP_BLIT_UNKNOWN;
}

/* The fewest that any version has. */
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

static int copy_chunks(struct gp_vgpu_cp *cp, u32 gpu_id, const struct copy_chunks_arguments *a,
		       u64 *fault)
{
	u64 element = a->element == 16 ? 16 : 4;
	u64 bytes = a->end > a->to ? (a->end - a->to + element - 1) / element * element : 0;
	int result = gp_vgpu_cp_copy(cp, gpu_id, a->to, a->from, bytes, fault);

	if (result || a->remainder > a->size)
		return result;
	return gp_vgpu_cp_copy(cp, gpu_id, a->to + a->size - a->remainder,
			       a->from + a->size - a->remainder, a->remainder, fault);
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

static int fill_chunks(struct gp_vgpu_cp *cp, u32 gpu_id, const struct fill_chunks_arguments *a,
		       u64 *fault)
{
	u64 bytes = (u64)a->pattern_elements * (a->element ? a->element : 1);
	u8 pattern[PATTERN_MAX];

	*fault = a->pattern;
	if (!bytes || bytes > sizeof(pattern))
		return bytes ? -EFAULT : 0;
	if (gp_vgpu_cp_read(cp, gpu_id, a->pattern, pattern, bytes))
		return -EFAULT;
	if (a->end <= a->to)
		return 0;
	return gp_vgpu_cp_fill(cp, gpu_id, a->to, pattern, (u32)bytes,
			       (a->end - a->to + bytes - 1) / bytes, fault);
}

static int value_write(struct gp_vgpu_cp *cp, u32 gpu_id, u64 address, u64 value, size_t size,
		       u64 *fault)
{
	void *target = gp_vgpu_cp_place(cp, gpu_id, address, size);

	*fault = address;
	if (!target || address % size)
		return -EFAULT;
	if (size == sizeof(u32))
		__atomic_store_n((u32 *)target, (u32)value, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n((u64 *)target, value, __ATOMIC_SEQ_CST);
	return 0;
}

static int value_read(struct gp_vgpu_cp *cp, u32 gpu_id, u64 address, size_t size, u64 *value,
		      u64 *fault)
{
	*value = 0;
	*fault = address;
	return gp_vgpu_cp_read(cp, gpu_id, address, value, size);
}

static int stream_write(struct gp_vgpu_cp *cp, u32 gpu_id, const struct stream_arguments *a,
			u64 *fault)
{
	return a->target32 ? value_write(cp, gpu_id, a->target32, a->value, sizeof(u32), fault)
			   : value_write(cp, gpu_id, a->target64, a->value, sizeof(u64), fault);
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

static int stream_wait_over(struct gp_vgpu_cp *cp, u32 gpu_id, u64 kernarg, u64 *fault)
{
	struct stream_arguments a;
	bool narrow;
	u64 seen;

	if (gp_vgpu_cp_read(cp, gpu_id, kernarg, &a, sizeof(a)))
		return -EFAULT;
	narrow = a.target32;
	if (value_read(cp, gpu_id, narrow ? a.target32 : a.target64,
		       narrow ? sizeof(u32) : sizeof(u64), &seen, fault))
		return -EFAULT;
	if (narrow) /* only the low halves of value, flags and mask were set */
		return wait_met(seen, (u32)a.value, (u32)a.flags, (u32)a.mask);
	return wait_met(seen, a.value, a.flags, a.mask);
}

/* ---- hipStreamBatchMemOp ---- */

static int operation_read(struct gp_vgpu_cp *cp, u32 gpu_id, const struct batch_arguments *batch,
			  u32 index, struct batch_operation *out, u64 *fault)
{
	*fault = batch->operations + index * sizeof(*out);
	return gp_vgpu_cp_read(cp, gpu_id, *fault, out, sizeof(*out));
}

/* What a wait of the batch will see: what an operation before it writes, else memory. */
static int batch_seen(struct gp_vgpu_cp *cp, u32 gpu_id, const struct batch_arguments *batch,
		      u32 index, const struct batch_operation *wait, u64 *seen, u64 *fault)
{
	size_t size = wait->type == BATCH_WAIT32 ? sizeof(u32) : sizeof(u64);
	struct batch_operation before;

	while (index--) {
		if (operation_read(cp, gpu_id, batch, index, &before, fault))
			return -EFAULT;
		if ((before.type == BATCH_WRITE32 || before.type == BATCH_WRITE64) &&
		    before.address == wait->address) {
			*seen = size == sizeof(u32) ? (u32)before.value : before.value;
			return 0;
		}
	}
	return value_read(cp, gpu_id, wait->address, size, seen, fault);
}

static int batch_ready(struct gp_vgpu_cp *cp, u32 gpu_id, u64 kernarg, u64 *fault)
{
	struct batch_arguments batch = {0};
	struct batch_operation wait;

	if (gp_vgpu_cp_read(cp, gpu_id, kernarg, &batch, argument_bytes(GP_CP_HIP_BATCH)) ||
	    batch.count > BATCH_MAX)
		return -EFAULT;
	for (u32 i = 0; i < batch.count; i++) {
		u64 seen, value;

		if (operation_read(cp, gpu_id, &batch, i, &wait, fault))
			return -EFAULT;
		if (wait.type != BATCH_WAIT32 && wait.type != BATCH_WAIT64)
			continue;
		if (batch_seen(cp, gpu_id, &batch, i, &wait, &seen, fault))
			return -EFAULT;
		value = wait.type == BATCH_WAIT32 ? (u32)wait.value : wait.value;
		if (!wait_met(seen, value, wait.flags, UINT64_MAX))
			return 0;
	}
	return 1;
}

static int batch_write(struct gp_vgpu_cp *cp, u32 gpu_id, const struct batch_arguments *batch,
		       u64 *fault)
{
	struct batch_operation write;
	int result = 0;

	for (u32 i = 0; !result && i < batch->count; i++) {
		result = operation_read(cp, gpu_id, batch, i, &write, fault);
		if (result || (write.type != BATCH_WRITE32 && write.type != BATCH_WRITE64))
			continue;
		result =
			value_write(cp, gpu_id, write.address, write.value,
				    write.type == BATCH_WRITE32 ? sizeof(u32) : sizeof(u64), fault);
	}
	return result;
}

int gp_vgpu_cp_blit_ready(struct gp_vgpu_cp *cp, u32 gpu_id, enum gp_vgpu_cp_blit blit, u64 kernarg,
			  u64 *fault)
{
	*fault = kernarg;
	switch (blit) {
	case GP_CP_HIP_STREAM_WAIT:
		return stream_wait_over(cp, gpu_id, kernarg, fault);
	case GP_CP_HIP_BATCH:
		return batch_ready(cp, gpu_id, kernarg, fault);
	default:
		return 1;
	}
}

int gp_vgpu_cp_blit_hip(struct gp_vgpu_cp *cp, u32 gpu_id, enum gp_vgpu_cp_blit blit, u64 kernarg,
			u64 *fault)
{
	union {
		struct copy_arguments copy;
		struct copy_chunks_arguments copy_chunks;
		struct fill_chunks_arguments fill_chunks;
		struct batch_arguments batch;
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
	case GP_CP_HIP_COPY_CHUNKS:
		return copy_chunks(cp, gpu_id, &a.copy_chunks, fault);
	case GP_CP_HIP_COPY_BUFFER_ALIGNED:
		return copy_aligned(cp, gpu_id, &a.copy, fault);
	case GP_CP_HIP_COPY_RECT:
		return copy_rect(cp, gpu_id, &a.rect, 1, fault);
	case GP_CP_HIP_COPY_RECT_ALIGNED:
		return copy_rect(cp, gpu_id, &a.rect, a.rect.element == 16 ? 16 : 4, fault);
	case GP_CP_HIP_FILL:
		return fill(cp, gpu_id, &a.fill, false, fault);
	case GP_CP_HIP_FILL_CHUNKS:
		return fill_chunks(cp, gpu_id, &a.fill_chunks, fault);
	case GP_CP_HIP_BATCH:
		return batch_write(cp, gpu_id, &a.batch, fault);
	case GP_CP_HIP_FILL_2D:
		return fill(cp, gpu_id, &a.fill, true, fault);
	case GP_CP_HIP_STREAM_WRITE:
		return stream_write(cp, gpu_id, &a.stream, fault);
	default:
		return 0;
	}
}
