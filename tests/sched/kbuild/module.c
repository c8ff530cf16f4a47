// SPDX-License-Identifier: MIT
/*
 * A module that is never loaded: it shows that the scheduler core links into a kernel and that
 * everything a host needs of it can be called there.
 */
#include <linux/mm.h>
#include <linux/module.h>

#include "sched/sched.h"

static struct gp_sched *sched;
static void *memory;

static int __init start(void)
{
	struct gp_sched_device_config device;
	struct gp_sched_config config;
	struct gp_sched_action action;
	size_t size;
	int error;

	gp_sched_defaults(&config);
	config.devices = 1;
	config.max_jobs = config.max_processes = 256;
	config.max_queues = 1024;
	size = gp_sched_memory(&config);
	memory = kvmalloc(size, GFP_KERNEL);
	if (!memory)
		return -ENOMEM;
	error = gp_sched_init(&sched, memory, size, &config);
	gp_sched_device_defaults(&device);
	if (!error)
		error = gp_sched_device_set(sched, 0, 0, &device);
	if (error) {
		kvfree(memory);
		return error;
	}
	while (gp_sched_take(sched, &action))
		;
	return 0;
}

static void __exit stop(void)
{
	kvfree(memory);
}

module_init(start);
module_exit(stop);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("gpreempt scheduler core, build test");
