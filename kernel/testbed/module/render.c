// SPDX-License-Identifier: GPL-2.0
/*
 * The render node: opened for ACQUIRE_VM, and mapped to reach buffers. It has
 * no DRM ioctls. The driver takes a reference of the file, so the VM lives as
 * long as the process's.
 */
#include <linux/miscdevice.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <drm/drm_file.h>

#include "fakegpu.h"

#define FIRST_PASID	0x8000
#define PASIDS		0x7000

static atomic_t opened;

static int render_open(struct inode *inode, struct file *file)
{
	struct drm_file *drm = kzalloc(sizeof(*drm), GFP_KERNEL);
	struct amdgpu_fpriv *fpriv = kvzalloc(sizeof(*fpriv), GFP_KERNEL);
	struct amdgpu_bo *root = kzalloc(sizeof(*root), GFP_KERNEL);

	if (!drm || !fpriv || !root) {
		kfree(root);
		kvfree(fpriv);
		kfree(drm);
		return -ENOMEM;
	}
	fg_bo_init(root, PAGE_SIZE);
	fpriv->vm.root.bo = root;
	/* Looks like a page directory, and is never read. */
	fpriv->vm.pd_phys_addr = ((uintptr_t)fpriv & 0xfffffff000ull) |
				 AMDGPU_PTE_VALID;
	fpriv->vm.last_tlb_flush = dma_fence_get_stub();
	/* For drivers whose processes take it from there; others make one. */
	fpriv->vm.pasid = FIRST_PASID +
			  (u32)atomic_inc_return(&opened) % PASIDS;
	drm->driver_priv = fpriv;
	file->private_data = drm;
	return 0;
}

static int render_release(struct inode *inode, struct file *file)
{
	struct drm_file *drm = file->private_data;
	struct amdgpu_fpriv *fpriv = drm->driver_priv;

	dma_fence_put(fpriv->vm.last_tlb_flush);
	dma_resv_fini(&fpriv->vm.root.bo->tbo.base._resv);
	kfree(fpriv->vm.root.bo);
	kvfree(fpriv);
	kfree(drm);
	return 0;
}

static int render_mmap(struct file *file, struct vm_area_struct *vma)
{
	return fg_mmap_buffer(vma);
}

static long render_ioctl(struct file *file, unsigned int cmd,
			 unsigned long arg)
{
	return -ENOTTY;
}

static const struct file_operations render_fops = {
	.owner = THIS_MODULE,
	.open = render_open,
	.release = render_release,
	.mmap = render_mmap,
	.unlocked_ioctl = render_ioctl,
};

int fg_file_to_fpriv(struct file *file, struct amdgpu_fpriv **fpriv)
{
	struct drm_file *drm;

	if (!file || file->f_op != &render_fops)
		return -EINVAL;
	drm = file->private_data;
	*fpriv = drm->driver_priv;
	return 0;
}

int fg_render_init(struct fg_device *gpu)
{
	int error;

	snprintf(gpu->render_name, sizeof(gpu->render_name),
		 "fakegpu-render%u", gpu->index);
	snprintf(gpu->render_node, sizeof(gpu->render_node), "dri/renderD%d",
		 gpu->minor.index);
	gpu->render = (struct miscdevice){
		.minor = MISC_DYNAMIC_MINOR,
		.name = gpu->render_name,
		.nodename = gpu->render_node,
		.fops = &render_fops,
		.mode = 0666,
	};
	error = misc_register(&gpu->render);
	if (error)
		gpu->render.name = NULL;
	return error;
}

void fg_render_exit(struct fg_device *gpu)
{
	if (gpu->render.name)
		misc_deregister(&gpu->render);
	gpu->render.name = NULL;
}
