/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Inside gpreempt.ko:
 *   main.c     loading, and the reasons not to
 *   driver.c   the functions of amdgpu and the kernel that are not exported:
 *              found by name, checked by signature, called directly
 *   btf.c      signatures from the type information of the loaded amdgpu
 *   known.c    or, for one without, from its source: known.h, which the script
 *              `known` makes of it
 *   vms.c      what an old amdgpu must not be asked
 *   targets.c  processes that are held, by whom and for how long
 *   device.c   /dev/gpreempt
 */
#ifndef GPREEMPT_H
#define GPREEMPT_H

#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "gpreempt_uapi.h"

struct mm_struct;
struct module;
struct task_struct;

/* ---- driver.c ---- */

/*
 * 0 when everything is there and is what this module was written for; then
 * amdgpu cannot be unloaded until gp_driver_put(). Says why not.
 */
int gp_driver_get(void);
void gp_driver_put(void);
/*
 * All queues of the process off the hardware, on all its GPUs. 0: they are,
 * and one gp_driver_restore() is owed. Otherwise none is.
 */
int gp_driver_evict(struct mm_struct *mm);
int gp_driver_restore(struct mm_struct *mm);
u32 gp_driver_gpus(void);
/* A new reference, or ERR_PTR. */
struct task_struct *gp_task_of_pidfd(int pidfd);

/* By name; fit for direct calls only. */
void *gp_inspect_find(const char *name);
/* The owner of a function that was checked; takes over a reference. */
void gp_driver_found(struct module *owner);

#define GP_DRIVER		"amdgpu"
#define GP_SIGNATURE_SIZE	96

/* Before Linux 5.11 the type of the function must be the call's. */
#define GP_CALL(call, address)						\
	static_call_update(call, (typeof(&STATIC_CALL_TRAMP(call)))(address))

/* Makes a static call the function of that name; its address, or NULL. */
#define GP_FIND(call, name)						\
	({								\
		void *address_ = gp_inspect_find(name);			\
									\
		if (address_)						\
			GP_CALL(call, address_);			\
		else							\
			pr_err("this kernel has no %s\n", name);	\
		address_;						\
	})

/* ---- btf.c or known.c ---- */

/* 0 when it can be asked. */
int gp_inspect_init(void);
/*
 * Whether the function has that signature, as "s32 (mm_struct *, u32)", and
 * where it is: in amdgpu, of which a reference is taken once, or (@in_driver
 * false) in the kernel. Says why not.
 */
int gp_inspect_check(const char *name, const char *expected, bool in_driver);
/* Only asks. */
bool gp_inspect_is(const char *name, const char *signature);
int gp_holder_member(const char *structure, const char *name, const char *expected);

/* ---- vms.c ---- */

int gp_vms_init(void);
/* 0, or EOPNOTSUPP: the process must not be evicted, for it cannot be restored. */
int gp_vms_check(struct mm_struct *mm);

/* ---- targets.c ---- */

/* Who has the device open. */
struct gp_holder {
	spinlock_t lock;	/* inside a target's */
	struct list_head holds;
	u32 count;		/* of them */
};

int gp_targets_init(void);
/* Nothing is held: the device has no opener. */
void gp_targets_exit(void);
void gp_holder_init(struct gp_holder *holder);
/* Lets go of everything. */
void gp_holder_drop(struct gp_holder *holder);
/* With a reference of the mm's users; @pid is for messages. */
int gp_evict(struct gp_holder *holder, struct mm_struct *mm, pid_t pid,
	     struct gpreempt_evict *args);
int gp_restore(struct gp_holder *holder, struct mm_struct *mm,
	       struct gpreempt_restore *args);
/* @mm: NULL for everything it holds. */
int gp_renew(struct gp_holder *holder, struct mm_struct *mm,
	     struct gpreempt_renew *args);
int gp_state(struct gp_holder *holder, struct mm_struct *mm,
	     struct gpreempt_state *args);
void gp_statistics(struct gpreempt_statistics *out);

/* ---- device.c ---- */

int gp_device_init(void);
void gp_device_exit(void);

#endif
