// SPDX-License-Identifier: GPL-2.0
/* The end of the last process, where the driver does not count them. */
#include <linux/delay.h>
#include <linux/hashtable.h>
#include <linux/mmu_notifier.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>

#include "fakegpu.h"

static bool have_processes(void)
{
	typeof(kfd_processes_table) *table = (void *)fg_sym.processes;

	return !hash_empty((*table));
}

/*
 * One that has left the table is taken down by the driver's workqueue, once
 * nobody looks at its memory.
 */
void fg_wait_for_processes(void)
{
	struct workqueue_struct **queue =
		(void *)fg_sym.lookup("amdgpu:kfd_process_wq");

	while (have_processes())
		msleep(20);
	mmu_notifier_synchronize();
	if (!WARN_ON(!queue))
		flush_workqueue(*queue);
}
