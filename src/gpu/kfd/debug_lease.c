// SPDX-License-Identifier: MIT
/*
 * Leases inside the driver (kernel/patches, DBG_TRAP operation 0x70). A session of kfd-debug ends
 * with the process that has it, but not when that process hangs: its suspensions would last as long
 * as it does. A driver that knows leases ends them by itself.
 */
#include <errno.h>
#include <string.h>

#include "abi/kfd_sched.h"
#include "gpu/kfd/debug.h"

static int set_lease(struct gp_kfd_debug_target *control,
		     struct gp_kfd_dbg_trap_suspend_lease_args *lease)
{
	struct gp_kfd_dbg_trap_args args = {0};
	int error;

	_Static_assert(sizeof(*lease) <= sizeof(args.enable), "fits the arguments of an operation");
	memcpy(&args.enable, lease, sizeof(*lease));
	error = gp_kfd_debug_trap(control, GP_KFD_DBG_SET_SUSPEND_LEASE, &args);
	memcpy(lease, &args.enable, sizeof(*lease));
	return error;
}

/* What the driver ended is running, whatever the list says. True: something of ours was ended. */
static bool note_expired(struct gp_kfd_debug_target *control, u64 expired)
{
	bool ended = false;

	if (expired == control->expired)
		return false;
	control->expired = expired;
	for (size_t i = 0; i < control->queues.count; i++) {
		ended |= control->queues.items[i].suspended;
		control->queues.items[i].suspended = control->queues.items[i].failed = false;
	}
	control->changed |= ended;
	return ended;
}

int gp_kfd_debug_lease(struct gp_gpu_control *base, u32 lease_ms)
{
	struct gp_kfd_debug_target *control = gp_kfd_debug_target(base);
	/* Longer ones than the driver's longest end with the session, as without a lease. */
	const u32 asked = lease_ms <= GP_KFD_SUSPEND_LEASE_MAX_MS ? lease_ms : 0;
	struct gp_kfd_dbg_trap_suspend_lease_args lease = {.lease_ms = asked};
	int error;

	if (control->no_lease)
		return 0;
	error = set_lease(control, &lease);
	if (error == -EPERM) {
		error = gp_kfd_debug_recover(control);
		lease = (struct gp_kfd_dbg_trap_suspend_lease_args){.lease_ms = asked};
		if (!error)
			error = set_lease(control, &lease);
	}
	/* The operation is unknown to a driver without the patch. */
	if (error == -EINVAL) {
		control->no_lease = true;
		return 0;
	}
	if (error < 0)
		return error;
	return note_expired(control, lease.expired) ? -ENOLCK : 0;
}
