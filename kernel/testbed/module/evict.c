// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs/fakegpu/evict: memory pressure. A process whose pid is written there
 * is evicted as amdgpu does when it needs its memory: the fence of the process
 * asks the driver to stop its queues, and the driver restores them later, with
 * a new fence. Only Linux 6.12 and the ROCm driver have it here.
 */
#include <linux/debugfs.h>
#include <linux/dma-fence.h>
#include <linux/hashtable.h>
#include <linux/srcu.h>

#include "fakegpu.h"

struct fence {
	struct dma_fence base;	/* first: freed as such */
	spinlock_t lock;
};

static atomic_t fences = ATOMIC_INIT(0);

static const char *fence_name(struct dma_fence *fence)
{
	return "fakegpu";
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_name,
	.get_timeline_name = fence_name,
};

struct dma_fence *fg_new_fence(void)
{
	struct fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	if (!fence)
		return NULL;
	spin_lock_init(&fence->lock);
	/* The driver evicts once for each number. */
	dma_fence_init(&fence->base, &fence_ops, &fence->lock,
		       dma_fence_context_alloc(1),
		       atomic_inc_return(&fences));
	return &fence->base;
}

/* The buffers are where they were. */
int fg_restore_memory(void *info, struct dma_fence __rcu **fence)
{
	struct dma_fence *old, *new = fg_new_fence();

	if (!new)
		return -ENOMEM;
	old = rcu_replace_pointer(*fence, new, true);
	dma_fence_put(old);
	return 0;
}

static int evict(pid_t pid)
{
	typeof(kfd_processes_table) *table = (void *)fg_sym.processes;
	int (*schedule)(struct mm_struct *mm, struct dma_fence *fence) =
		(void *)fg_sym.lookup("amdgpu:kgd2kfd_schedule_evict_and_restore_process");
	struct kfd_process *process;
	int idx, error = -ESRCH;
	u32 bucket;

	if (!schedule)
		return -EOPNOTSUPP;
	idx = srcu_read_lock(fg_sym.processes_srcu);
	hash_for_each_rcu((*table), bucket, process, kfd_processes) {
		struct dma_fence *fence;

		if (process->lead_thread->pid != pid)
			continue;
		rcu_read_lock();
		fence = dma_fence_get_rcu_safe(&process->ef);
		rcu_read_unlock();
		error = fence ? schedule(process->mm, fence) : -ENODEV;
		dma_fence_put(fence);
	}
	srcu_read_unlock(fg_sym.processes_srcu, idx);
	return error;
}

static ssize_t evict_write(struct file *file, const char __user *text,
			   size_t size, loff_t *offset)
{
	int pid, error = kstrtoint_from_user(text, size, 10, &pid);

	return error ?: evict(pid) ?: size;
}

static const struct file_operations evict_fops = {
	.owner = THIS_MODULE,
	.write = evict_write,
};

void fg_evict_init(struct dentry *directory)
{
	debugfs_create_file("evict", 0200, directory, NULL, &evict_fops);
}
