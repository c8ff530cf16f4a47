// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * /dev/gpreempt: for CAP_SYS_ADMIN, and for the group the device was given
 * to. Each open file is a holder of its own.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "gpreempt.h"

/* ---- from a pidfd to the memory KFD knows a process by ---- */

/* Its first thread may have ended before the others. */
static struct mm_struct *mm_of(struct task_struct *leader)
{
	struct mm_struct *mm = NULL;
	struct task_struct *thread;

	rcu_read_lock();
	for_each_thread(leader, thread) {
		mm = get_task_mm(thread);
		if (mm)
			break;
	}
	rcu_read_unlock();
	return mm;
}

/* With a reference of its users. */
static struct mm_struct *mm_of_pidfd(int pidfd, pid_t *pid)
{
	struct task_struct *task = gp_task_of_pidfd(pidfd);
	struct mm_struct *mm;

	if (IS_ERR(task))
		return ERR_CAST(task);
	mm = mm_of(task);
	*pid = task->pid;
	put_task_struct(task);
	return mm ?: ERR_PTR(-ESRCH);
}

/* ---- requests ---- */

static int read_info(struct gp_holder *holder, void *data)
{
	struct gpreempt_info *info = data;

	*info = (struct gpreempt_info){
		.abi = GPREEMPT_ABI,
		.lease_max_ms = GPREEMPT_LEASE_MAX_MS,
		.gpus = gp_driver_gpus(),
	};
	return 0;
}

static bool is_lease(u32 ms)
{
	return ms && ms <= GPREEMPT_LEASE_MAX_MS;
}

static int do_evict(struct gp_holder *holder, void *data)
{
	struct gpreempt_evict *args = data;
	struct mm_struct *mm;
	pid_t pid;
	int error;

	if (args->flags || args->reserved || !is_lease(args->lease_ms))
		return -EINVAL;
	mm = mm_of_pidfd(args->pidfd, &pid);
	if (IS_ERR(mm))
		return PTR_ERR(mm);
	args->depth = 0;
	args->took_ns = 0;
	error = gp_evict(holder, mm, pid, args);
	mmput_async(mm);
	return error;
}

static int do_restore(struct gp_holder *holder, void *data)
{
	struct gpreempt_restore *args = data;
	struct mm_struct *mm;
	pid_t pid;
	int error;

	if (args->flags & ~GPREEMPT_RESTORE_WHOLLY || args->reserved)
		return -EINVAL;
	mm = mm_of_pidfd(args->pidfd, &pid);
	if (IS_ERR(mm))
		return PTR_ERR(mm);
	args->took_ns = 0;
	error = gp_restore(holder, mm, args);
	mmput_async(mm);
	return error;
}

static int do_renew(struct gp_holder *holder, void *data)
{
	struct gpreempt_renew *args = data;
	struct mm_struct *mm;
	pid_t pid;
	int error;

	if (args->flags || !is_lease(args->lease_ms))
		return -EINVAL;
	args->renewed = 0;
	if (args->pidfd == -1)
		return gp_renew(holder, NULL, args);
	mm = mm_of_pidfd(args->pidfd, &pid);
	if (IS_ERR(mm))
		return PTR_ERR(mm);
	error = gp_renew(holder, mm, args);
	mmput_async(mm);
	return error;
}

static int read_state(struct gp_holder *holder, void *data)
{
	struct gpreempt_state *args = data;
	struct mm_struct *mm;
	pid_t pid;
	int error;

	if (args->flags || args->reserved)
		return -EINVAL;
	mm = mm_of_pidfd(args->pidfd, &pid);
	if (IS_ERR(mm))
		return PTR_ERR(mm);
	*args = (struct gpreempt_state){ .pidfd = args->pidfd };
	error = gp_state(holder, mm, args);
	mmput_async(mm);
	return error;
}

static int read_statistics(struct gp_holder *holder, void *data)
{
	gp_statistics(data);
	return 0;
}

static const struct request {
	unsigned int number;
	int (*serve)(struct gp_holder *holder, void *data);
} requests[] = {
	{ GPREEMPT_IOC_INFO, read_info },
	{ GPREEMPT_IOC_EVICT, do_evict },
	{ GPREEMPT_IOC_RESTORE, do_restore },
	{ GPREEMPT_IOC_RENEW, do_renew },
	{ GPREEMPT_IOC_STATE, read_state },
	{ GPREEMPT_IOC_STATISTICS, read_statistics },
};

static long device_ioctl(struct file *file, unsigned int number,
			 unsigned long argument)
{
	u8 data[sizeof(struct gpreempt_statistics)] __aligned(8) = {};
	void __user *from = (void __user *)argument;
	size_t i, size = _IOC_SIZE(number);
	int error;

	for (i = 0; i < ARRAY_SIZE(requests); i++)
		if (requests[i].number == number)
			break;
	if (i == ARRAY_SIZE(requests))
		return -ENOTTY;
	if (_IOC_DIR(number) & _IOC_WRITE && copy_from_user(data, from, size))
		return -EFAULT;
	error = requests[i].serve(file->private_data, data);
	if (error)
		return error;
	/* Done all the same; who cannot be told asks for the state. */
	return copy_to_user(from, data, size) ? -EFAULT : 0;
}

/* ---- who may ---- */

/*
 * The file's mode was checked already. Being root in name is not enough, and
 * neither is a mode that lets everybody in.
 */
static bool is_allowed(const struct inode *inode)
{
	if (capable(CAP_SYS_ADMIN))
		return true;
	return !gid_eq(inode->i_gid, GLOBAL_ROOT_GID) &&
	       (inode->i_mode & 0060) == 0060 && in_group_p(inode->i_gid);
}

static int device_open(struct inode *inode, struct file *file)
{
	struct gp_holder *holder;

	if (!is_allowed(inode))
		return -EPERM;
	holder = kzalloc(sizeof(*holder), GFP_KERNEL_ACCOUNT);
	if (!holder)
		return -ENOMEM;
	gp_holder_init(holder);
	file->private_data = holder;
	return 0;
}

static int device_release(struct inode *inode, struct file *file)
{
	gp_holder_drop(file->private_data);
	kfree(file->private_data);
	return 0;
}

static const struct file_operations device_operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "gpreempt",
	.fops = &device_operations,
	.mode = 0600,
};

int gp_device_init(void)
{
	return misc_register(&device);
}

void gp_device_exit(void)
{
	misc_deregister(&device);
}
