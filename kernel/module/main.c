// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Loading. Whatever is missing or not what this module knows is a reason to
 * stay out, and the kernel's log says which.
 */
#define pr_fmt(fmt) "gpreempt: " fmt

#include <linux/module.h>
#include <linux/security.h>

#include "gpreempt.h"

static int __init gpreempt_init(void)
{
	int error = security_locked_down(LOCKDOWN_KPROBES);

	if (error) {
		pr_err("the kernel is locked down, not looking for the driver's functions\n");
		return error;
	}
	error = gp_driver_get();
	if (error)
		return error;
	error = gp_targets_init();
	if (error)
		goto no_targets;
	error = gp_device_init();
	if (error)
		goto no_device;
	pr_info("%s, ABI %d\n", GPREEMPT_DEVICE, GPREEMPT_ABI);
	return 0;

no_device:
	gp_targets_exit();
no_targets:
	gp_driver_put();
	return error;
}

/* Every holder is a file that has the module: nothing is held here. */
static void __exit gpreempt_exit(void)
{
	gp_device_exit();
	gp_targets_exit();
	gp_driver_put();
}

module_init(gpreempt_init);
module_exit(gpreempt_exit);
MODULE_DESCRIPTION("Evicts and restores GPU queues of processes on a stock amdgpu");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION("1");
MODULE_SOFTDEP("pre: amdgpu");
