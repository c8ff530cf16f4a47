// SPDX-License-Identifier: GPL-2.0
/*
 * Memory, in place of amdgpu's buffer objects and page tables. The driver's
 * own structures are vmalloc'ed and get made-up GPU addresses. Buffers of
 * processes carry a buffer object that is real enough for the driver to
 * reserve, to count references of, and to find a queue's buffers in. The GPU
 * reads and writes a process's memory through the process's own page tables
 * (run.c), so a buffer has no pages of its own unless it is VRAM or GTT that
 * the process maps from the render node.
 */
#include <linux/dma-resv.h>
#include <linux/idr.h>
#include <linux/vmalloc.h>
#include <drm/drm_gem.h>

#include "fakegpu.h"

#define FIRST_GTT	0x100000000000ull
#define LARGEST_BACKED	(64ull << 20)	/* larger buffers have no pages */

static LIST_HEAD(gtts);
static DEFINE_SPINLOCK(gtt_lock);
static u64 gtt_next = FIRST_GTT;
static atomic_t objects;	/* of any kind, to find what is left behind */

u32 fg_memory_left(void)
{
	return atomic_read(&objects);
}

void fg_memory_count(int more)
{
	atomic_add(more, &objects);
}

/* ---- the driver's own ---- */

void *fg_gtt_cpu(u64 gpu)
{
	struct fg_gtt *gtt;
	void *cpu = NULL;

	spin_lock(&gtt_lock);
	list_for_each_entry(gtt, &gtts, list)
		if (gpu >= gtt->gpu && gpu < gtt->gpu + gtt->size) {
			cpu = gtt->cpu + (gpu - gtt->gpu);
			break;
		}
	spin_unlock(&gtt_lock);
	return cpu;
}

int fg_alloc_gtt(struct amdgpu_device *adev, size_t size, void **mem_obj,
		 u64 *gpu_addr, void **cpu_ptr, bool mqd)
{
	struct fg_gtt *gtt = kzalloc(sizeof(*gtt), GFP_KERNEL);

	if (!gtt)
		return -ENOMEM;
	gtt->size = PAGE_ALIGN(size);
	gtt->cpu = vzalloc(gtt->size);
	if (!gtt->cpu) {
		kfree(gtt);
		return -ENOMEM;
	}
	spin_lock(&gtt_lock);
	gtt->gpu = gtt_next;
	gtt_next += gtt->size + PAGE_SIZE;	/* nothing is adjacent */
	list_add(&gtt->list, &gtts);
	spin_unlock(&gtt_lock);
	atomic_inc(&objects);
	*mem_obj = gtt;
	*gpu_addr = gtt->gpu;
	*cpu_ptr = gtt->cpu;
	return 0;
}

void fg_free_gtt(struct amdgpu_device *adev, void **mem_obj)
{
	struct fg_gtt *gtt = *mem_obj;

	if (!gtt)
		return;
	fg_forget_mqds(gtt->gpu, gtt->size);
	spin_lock(&gtt_lock);
	list_del(&gtt->list);
	spin_unlock(&gtt_lock);
	vfree(gtt->cpu);
	kfree(gtt);
	atomic_dec(&objects);
	*mem_obj = NULL;
}

/* ---- buffers of processes ---- */

struct fg_buffer {
	struct kgd_mem mem;
	struct amdgpu_bo bo;	/* its last reference frees all of this */
	struct amdgpu_bo_va va;
	struct amdgpu_bo_va_mapping mapping;
	struct amdgpu_vm *vm;
	struct list_head list;	/* in mapped_buffers, or empty */
	void *pages;
	u64 size;
	int id;
};

static DEFINE_MUTEX(buffer_lock);
static DEFINE_IDR(buffers);
static LIST_HEAD(mapped_buffers);

static void free_object(struct drm_gem_object *object)
{
	struct amdgpu_bo *bo = container_of(object, struct amdgpu_bo, tbo.base);
	struct fg_buffer *buffer = container_of(bo, struct fg_buffer, bo);

	dma_resv_fini(&bo->tbo.base._resv);
	vfree(buffer->pages);
	kfree(buffer);
	atomic_dec(&objects);
}

static const struct drm_gem_object_funcs buffer_funcs = {
	.free = free_object,
};

void fg_bo_init(struct amdgpu_bo *bo, u64 size)
{
	kref_init(&bo->tbo.kref);
	kref_init(&bo->tbo.base.refcount);
	dma_resv_init(&bo->tbo.base._resv);
	bo->tbo.base.resv = &bo->tbo.base._resv;
	bo->tbo.base.size = size;
	bo->tbo.bdev = &fg_gpus[0].adev->mman.bdev;
}

static bool has_pages(u64 size, u32 flags)
{
	const u32 elsewhere = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR |
			      KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL |
			      KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP;

	return size <= LARGEST_BACKED && !(flags & elsewhere);
}

int fg_alloc_memory(struct amdgpu_device *adev, u64 va, u64 size, void *priv,
		    struct kgd_mem **mem, u64 *offset, u32 flags, bool criu)
{
	struct fg_buffer *buffer = kzalloc(sizeof(*buffer), GFP_KERNEL);

	if (!buffer)
		return -ENOMEM;
	buffer->size = PAGE_ALIGN(size);
	if (has_pages(size, flags)) {
		buffer->pages = vmalloc_user(buffer->size);
		if (!buffer->pages)
			goto no_memory;
	}
	mutex_lock(&buffer_lock);
	buffer->id = idr_alloc(&buffers, buffer, 1, 0, GFP_KERNEL);
	mutex_unlock(&buffer_lock);
	if (buffer->id < 0)
		goto no_memory;
	buffer->mem.va = va;
	buffer->mem.alloc_flags = flags;
	buffer->mem.bo = &buffer->bo;
	mutex_init(&buffer->mem.lock);
	INIT_LIST_HEAD(&buffer->list);
	fg_bo_init(&buffer->bo, buffer->size);
	buffer->bo.tbo.base.funcs = &buffer_funcs;
	atomic_inc(&objects);
	*mem = &buffer->mem;
	if (offset && buffer->pages)
		*offset = (u64)buffer->id << 32;
	return 0;

no_memory:
	vfree(buffer->pages);
	kfree(buffer);
	return -ENOMEM;
}

int fg_free_memory(struct amdgpu_device *adev, struct kgd_mem *mem,
		   void *priv, u64 *size)
{
	struct fg_buffer *buffer = container_of(mem, struct fg_buffer, mem);

	if (mem->mapped_to_gpu_memory)
		return -EBUSY;
	if (size)
		*size = mem->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM ?
			buffer->size : 0;
	mutex_lock(&buffer_lock);
	idr_remove(&buffers, buffer->id);
	mutex_unlock(&buffer_lock);
	drm_gem_object_put(&buffer->bo.tbo.base);
	return 0;
}

int fg_map_memory(struct amdgpu_device *adev, struct kgd_mem *mem, void *priv)
{
	struct fg_buffer *buffer = container_of(mem, struct fg_buffer, mem);

	mutex_lock(&buffer_lock);
	if (!mem->mapped_to_gpu_memory) {
		mem->mapped_to_gpu_memory = 1;
		buffer->vm = drm_priv_to_vm(priv);
		buffer->va.base.vm = buffer->vm;
		buffer->va.base.bo = &buffer->bo;
		buffer->bo.vm_bo = &buffer->va.base;
		buffer->mapping.bo_va = &buffer->va;
		buffer->mapping.start = mem->va >> AMDGPU_GPU_PAGE_SHIFT;
		buffer->mapping.last = (mem->va + buffer->size - 1) >>
				       AMDGPU_GPU_PAGE_SHIFT;
		list_add(&buffer->list, &mapped_buffers);
	}
	mutex_unlock(&buffer_lock);
	return 0;
}

int fg_unmap_memory(struct amdgpu_device *adev, struct kgd_mem *mem,
		    void *priv)
{
	struct fg_buffer *buffer = container_of(mem, struct fg_buffer, mem);

	/* amdgpu's rule: not while a queue uses it. */
	if (FG_IN_USE(&buffer->va))
		return -EBUSY;
	mutex_lock(&buffer_lock);
	mem->mapped_to_gpu_memory = 0;
	list_del_init(&buffer->list);
	mutex_unlock(&buffer_lock);
	return 0;
}

int fg_memory_to_kernel(struct kgd_mem *mem, void **ptr, u64 *size)
{
	struct fg_buffer *buffer = container_of(mem, struct fg_buffer, mem);

	if (!buffer->pages)
		return -ENOMEM;
	*ptr = buffer->pages;
	if (size)
		*size = buffer->size;
	return 0;
}

struct amdgpu_bo_va_mapping *fg_lookup_mapping(struct amdgpu_vm *vm, u64 page)
{
	struct amdgpu_bo_va_mapping *found = NULL;
	struct fg_buffer *buffer;

	mutex_lock(&buffer_lock);
	list_for_each_entry(buffer, &mapped_buffers, list)
		if (buffer->vm == vm && page >= buffer->mapping.start &&
		    page <= buffer->mapping.last) {
			found = &buffer->mapping;
			break;
		}
	mutex_unlock(&buffer_lock);
	return found;
}

/* The offset that an allocation returned names its buffer. */
int fg_mmap_buffer(struct vm_area_struct *vma)
{
	const unsigned int id_shift = 32 - PAGE_SHIFT;
	unsigned long page = vma->vm_pgoff & ((1ul << id_shift) - 1);
	struct fg_buffer *buffer;
	int error = -EINVAL;

	mutex_lock(&buffer_lock);
	buffer = idr_find(&buffers, vma->vm_pgoff >> id_shift);
	if (buffer && buffer->pages) {
		vma->vm_pgoff = page;
		error = remap_vmalloc_range(vma, buffer->pages, page);
	}
	mutex_unlock(&buffer_lock);
	return error;
}
