// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>

#include "vgpu/cp/cp_state.h"

static u8 *probe(struct gp_vgpu_cp *cp, u32 gpu_id, u64 va, size_t size)
{
	u8 *memory = gp_vgpu_gpu_pointer(cp->client, gpu_id, va, size), byte;

	if (!memory || gp_vgpu_copy_in(&byte, (u64)(uintptr_t)memory, 1) ||
	    (size > 1 && gp_vgpu_copy_in(&byte, (u64)(uintptr_t)memory + size - 1, 1)))
		return NULL;
	return memory;
}

void *gp_vgpu_cp_place(struct gp_vgpu_cp *cp, u32 gpu_id, u64 va, size_t size)
{
	struct gp_vgpu_cp_page *entry = &cp->pages[va / GP_CP_PAGE_BYTES % GP_CP_PAGES];
	u8 *memory = gp_vgpu_cp_pointer(cp, gpu_id, va, size);
	bool cached = memory && entry->step == cp->step && entry->page == va / GP_CP_PAGE_BYTES &&
		      entry->gpu_id == gpu_id && memory == entry->memory + va % GP_CP_PAGE_BYTES;

	if (!memory || !cp->can_ask || (cached && entry->writable))
		return memory;
	if (!gp_vgpu_can_write(memory, size))
		return NULL;
	if (cached)
		entry->writable = true;
	return memory;
}

void *gp_vgpu_cp_pointer(struct gp_vgpu_cp *cp, u32 gpu_id, u64 va, size_t size)
{
	u64 page = va / GP_CP_PAGE_BYTES, offset = va % GP_CP_PAGE_BYTES;
	struct gp_vgpu_cp_page *entry = &cp->pages[page % GP_CP_PAGES];

	if (size > GP_CP_PAGE_BYTES - offset)
		return probe(cp, gpu_id, va, size);
	if (entry->step != cp->step || entry->page != page || entry->gpu_id != gpu_id) {
		u8 *memory = probe(cp, gpu_id, page * GP_CP_PAGE_BYTES, GP_CP_PAGE_BYTES);

		/* What the GPU has may be less than the page. */
		if (!memory)
			return probe(cp, gpu_id, va, size);
		*entry = (struct gp_vgpu_cp_page){cp->step, page, gpu_id, memory, false};
	}
	return entry->memory + offset;
}

int gp_vgpu_cp_read(struct gp_vgpu_cp *cp, u32 gpu_id, u64 va, void *to, size_t size)
{
	const void *from = gp_vgpu_cp_pointer(cp, gpu_id, va, size);

	if (!from)
		return -EFAULT;
	memcpy(to, from, size);
	return 0;
}

int gp_vgpu_cp_write(struct gp_vgpu_cp *cp, u32 gpu_id, u64 va, const void *from, size_t size)
{
	void *to = gp_vgpu_gpu_pointer(cp->client, gpu_id, va, size);

	return to ? gp_vgpu_copy_out((u64)(uintptr_t)to, from, size) : -EFAULT;
}

/* CPU address of what the GPU has there; NULL and in *fault the first byte that it has not. */
static void *locate(struct gp_vgpu_cp *cp, u32 gpu_id, u64 va, u64 size, u64 *fault)
{
	void *memory = gp_vgpu_gpu_pointer(cp->client, gpu_id, va, size);
	u64 has = 0, has_not = size;

	*fault = va;
	while (!memory && has_not - has > 1) {
		u64 middle = has + (has_not - has) / 2;

		if (gp_vgpu_gpu_pointer(cp->client, gpu_id, va, middle))
			has = middle;
		else
			has_not = middle;
		*fault = va + has;
	}
	return memory;
}

int gp_vgpu_cp_copy(struct gp_vgpu_cp *cp, u32 gpu_id, u64 to, u64 from, u64 size, u64 *fault)
{
	const void *source;
	void *target;

	if (!size)
		return 0;
	source = locate(cp, gpu_id, from, size, fault);
	if (!source)
		return -EFAULT;
	target = locate(cp, gpu_id, to, size, fault);
	if (!target)
		return -EFAULT;
	return gp_vgpu_copy_out((u64)(uintptr_t)target, source, size);
}

int gp_vgpu_cp_fill(struct gp_vgpu_cp *cp, u32 gpu_id, u64 to, const void *pattern,
		    u32 pattern_bytes, u64 count, u64 *fault)
{
	u64 size, chunk = GP_CP_SCRATCHPAD_BYTES - GP_CP_SCRATCHPAD_BYTES % pattern_bytes;
	u8 *target;

	if (__builtin_mul_overflow(count, (u64)pattern_bytes, &size))
		size = UINT64_MAX; /* more than there is, wherever it begins */
	if (!size)
		return 0;
	target = locate(cp, gpu_id, to, size, fault);
	if (!target)
		return -EFAULT;
	if (chunk > size)
		chunk = size;
	for (u64 i = 0; i < chunk; i += pattern_bytes)
		memcpy(cp->scratchpad + i, pattern, pattern_bytes);
	for (u64 done = 0; done < size; done += chunk) {
		u64 part = size - done < chunk ? size - done : chunk;
		int result =
			gp_vgpu_copy_out((u64)(uintptr_t)(target + done), cp->scratchpad, part);

		if (result) {
			*fault = to + done;
			return result;
		}
	}
	return 0;
}

int gp_vgpu_cp_copy_box(struct gp_vgpu_cp *cp, u32 gpu_id, const struct gp_vgpu_cp_box *box,
			u64 *fault)
{
	for (u64 z = 0; z < box->depth; z++) {
		for (u64 y = 0; y < box->height; y++) {
			u64 to = box->to + z * box->to_slice + y * box->to_pitch;
			u64 from = box->from + z * box->from_slice + y * box->from_pitch;
			int result = gp_vgpu_cp_copy(cp, gpu_id, to, from, box->width, fault);

			if (result)
				return result;
		}
	}
	return 0;
}
