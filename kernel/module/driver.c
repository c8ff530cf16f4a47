// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What neither amdgpu nor the kernel exports. A kprobe that is never armed
 * gives the address; the signature comes from the type information of the
 * loaded amdgpu (btf.c), or from its source (known.c): a function that is not
 * exactly what was expected is not called.
 *
 * The calls are static calls, patched to direct ones: the hardware's and the
 * compiler's checks of indirect branches (IBT, kCFI) refuse functions whose
 * address nobody was meant to take.
 */
#define pr_fmt(fmt) "gpreempt: " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/pid.h>
#include <linux/sched/task.h>
#include <linux/static_call.h>

#include "gpreempt.h"

#define TRIGGER_SUSPEND		3	/* KFD_QUEUE_EVICTION_TRIGGER_SUSPEND */
#define SCHED_POLICY_NO_HWS	2	/* KFD_SCHED_POLICY_NO_HWS */
#define MAX_NODES		256	/* the index is a u8 */

/* A test builds a module that expects something else here. */
#ifndef QUIESCE_SIGNATURE
#define QUIESCE_SIGNATURE "s32 (mm_struct *, u32)"
#endif

/* The ROCm driver, where the second argument is "force". */
#define FORCING_SIGNATURE "s32 (kfd_process *, u8, u32)"

/* Prototypes for the calls; there are no such functions. */
int gp_quiesce_mm(struct mm_struct *mm, u32 trigger);
int gp_resume_mm(struct mm_struct *mm);
int gp_enum_devices(u8 index, void **device);

DEFINE_STATIC_CALL_NULL(quiesce_mm, gp_quiesce_mm);
DEFINE_STATIC_CALL_NULL(resume_mm, gp_resume_mm);
DEFINE_STATIC_CALL_NULL(enum_devices, gp_enum_devices);
/* As the kernel's own headers have it. */
DEFINE_STATIC_CALL_NULL(pidfd_pid, pidfd_get_pid);

static struct module *driver;
/* The driver's restore needs a VM on each of the process's GPUs: vms.c. */
static bool needs_vms;
/* An eviction goes on over all GPUs when one fails: take_back(). */
static bool forces;

/* ---- addresses ---- */

/*
 * After the landing pad for indirect branches, if there is one: fit for
 * direct calls only. @name may be "module:function".
 */
void *gp_inspect_find(const char *name)
{
	struct kprobe probe = {
		.symbol_name = name,
		.flags = KPROBE_FLAG_DISABLED,
	};
	void *address;

	if (register_kprobe(&probe))
		return NULL;
	address = probe.addr;
	unregister_kprobe(&probe);
	return address;
}

/* ---- amdgpu ---- */

/* Takes over the caller's reference; one is enough. */
void gp_driver_found(struct module *owner)
{
	if (!driver)
		driver = owner;
	else
		module_put(owner);
}

/* An int among amdgpu's parameters, or -1. */
static int driver_parameter(const char *name)
{
	u32 i;

	for (i = 0; i < driver->num_kp; i++)
		if (!strcmp(driver->kp[i].name, name) &&
		    driver->kp[i].ops == &param_ops_int)
			return *(const int *)driver->kp[i].arg;
	return -1;
}

/*
 * A process need not have a VM on every GPU. Restoring one that has not was an
 * access through NULL until the debug trap came (6.5), and still is where the
 * driver puts queues on the hardware itself.
 */
static int check_age(void)
{
	needs_vms = !gp_inspect_find(GP_DRIVER ":kfd_dbg_trap_enable");
	return needs_vms ? gp_vms_init() : 0;
}

/* Devices had no nodes below them before 6.5 either. */
static int check_devices(void)
{
	return gp_inspect_check("kfd_topology_enum_kfd_devices",
			needs_vms ? "s32 (u8, kfd_dev **)" :
				    "s32 (u8, kfd_node **)", true);
}

static int check_policy(void)
{
	int policy = driver_parameter("sched_policy");

	if (policy < 0 || policy == SCHED_POLICY_NO_HWS) {
		pr_err("%s.sched_policy=%d: restoring a process could crash it without the hardware scheduler\n",
		       GP_DRIVER, policy);
		return -ENOEXEC;
	}
	return 0;
}

static int find_in_driver(void)
{
	void *quiesce = gp_inspect_find(GP_DRIVER ":kgd2kfd_quiesce_mm");
	void *resume, *devices;
	int error;

	if (!quiesce) {
		pr_err("no kgd2kfd_quiesce_mm: %s is not loaded, or has no KFD\n",
		       GP_DRIVER);
		return -ENOENT;
	}
	error = check_age();
	if (!error)
		error = gp_inspect_check("kgd2kfd_quiesce_mm", QUIESCE_SIGNATURE, true);
	if (!error)
		error = gp_inspect_check("kgd2kfd_resume_mm", "s32 (mm_struct *)", true);
	if (!error)
		error = check_devices();
	if (error)
		return error;
	/* It cannot leave any more: what is found now is what will be called. */
	quiesce = GP_FIND(quiesce_mm, GP_DRIVER ":kgd2kfd_quiesce_mm");
	resume = GP_FIND(resume_mm, GP_DRIVER ":kgd2kfd_resume_mm");
	devices = GP_FIND(enum_devices, GP_DRIVER ":kfd_topology_enum_kfd_devices");
	if (!quiesce || !resume || !devices)
		return -ENOENT;
	forces = gp_inspect_is("kfd_process_evict_queues", FORCING_SIGNATURE);
	return check_policy();
}

int gp_driver_get(void)
{
	int error = GP_FIND(pidfd_pid, "pidfd_get_pid") ? 0 : -ENOENT;

	if (!error)
		error = gp_inspect_init();
	if (!error)
		error = find_in_driver();
	if (error) {
		pr_err("not loading\n");
		gp_driver_put();
	}
	return error;
}

void gp_driver_put(void)
{
	if (driver)
		module_put(driver);
	driver = NULL;
}

u32 gp_driver_gpus(void)
{
	void *device;
	u32 i, count = 0;

	for (i = 0; i < MAX_NODES; i++) {
		if (static_call(enum_devices)(i, &device))
			break;
		count += device != NULL;
	}
	return count;
}

/*
 * KFD counts evictions per process and GPU. Its own always come in pairs, and
 * so do ours; but when one fails, what was counted differs:
 *  - EIO (a reset is under way): counted on every GPU;
 *  - anything else: on the GPU that failed, and taken back on those before it.
 * A restore that takes back more than was counted would undo an eviction of
 * KFD itself, that is, let queues run on memory that has moved. So with
 * several GPUs the process is left off on the one that does not answer.
 *
 * The ROCm driver forces the eviction: whatever fails, it is counted on every
 * GPU, and nothing is taken back. There one restore undoes it all; without it
 * the process would stay off on every GPU for ever.
 */
static void take_back(struct mm_struct *mm, int error)
{
	if (error == -ESRCH)
		return;
	if (forces || error == -EIO || gp_driver_gpus() == 1)
		static_call(resume_mm)(mm);
	else
		pr_warn("eviction failed (%d): its process stays off on the GPU that does not answer\n",
			error);
}

int gp_driver_evict(struct mm_struct *mm)
{
	int error = needs_vms ? gp_vms_check(mm) : 0;

	if (error)
		return error;
	error = static_call(quiesce_mm)(mm, TRIGGER_SUSPEND);
	if (error)
		take_back(mm, error);
	return error;
}

int gp_driver_restore(struct mm_struct *mm)
{
	return static_call(resume_mm)(mm);
}

struct task_struct *gp_task_of_pidfd(int pidfd)
{
	struct task_struct *task;
	unsigned int flags;
	struct pid *pid = static_call(pidfd_pid)(pidfd, &flags);

	if (IS_ERR(pid))
		return ERR_CAST(pid);
	task = get_pid_task(pid, PIDTYPE_TGID);
	put_pid(pid);
	return task ?: ERR_PTR(-ESRCH);
}
