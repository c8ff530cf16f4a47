/* SPDX-License-Identifier: MIT */
/*
 * Additions of kernel/patches to the interface of KFD: a logical priority of queues, a query that
 * reports whether it is supported and in effect, and suspensions that expire. Structures are those
 * of the patched kfd_ioctl.h. The stock driver ignores the additional fields, answers the query
 * with ENOTTY (the DKMS driver: EINVAL) and the operation with EINVAL.
 */
#ifndef GP_ABI_KFD_SCHED_H
#define GP_ABI_KFD_SCHED_H

#include "abi/kfd_debug.h"
#include "abi/kfd_ioctl.h"

/* Above amdgpu.max_logical_priority (1999, below class online) it needs CAP_SYS_NICE: EACCES
 * without. */
#define GP_KFD_LOGICAL_PRIORITY_MAX     65535u
#define GP_KFD_LOGICAL_PRIORITY_DEFAULT 1000u
#define GP_KFD_QUEUE_SCHED_SET_PRIORITY (1u << 0) /* sched_flags: logical_priority is given */

struct gp_kfd_create_queue_sched_args {
	struct gp_kfd_create_queue_args queue;
	uint32_t logical_priority;
	uint32_t sched_flags;
};
GP_KFD_SIZE(gp_kfd_create_queue_sched_args, 104);
GP_KFD_AT(gp_kfd_create_queue_sched_args, logical_priority, 96);

struct gp_kfd_update_queue_sched_args {
	struct gp_kfd_update_queue_args queue;
	uint32_t logical_priority;
	uint32_t sched_flags;
};
GP_KFD_SIZE(gp_kfd_update_queue_sched_args, 32);
GP_KFD_AT(gp_kfd_update_queue_sched_args, logical_priority, 24);

/* features */
#define GP_KFD_QUEUE_SCHED_PRIORITY  (1u << 0) /* queues have a logical priority */
#define GP_KFD_QUEUE_SCHED_IN_EFFECT (1u << 1) /* and the driver schedules by it now */
#define GP_KFD_QUEUE_SCHED_LEASE     (1u << 2) /* GP_KFD_DBG_SET_SUSPEND_LEASE */

/* state; in sysfs (queues/ID/state) in words, in this order */
#define GP_KFD_QUEUE_STATE_ACTIVE    (1u << 0)
#define GP_KFD_QUEUE_STATE_DISABLED  (1u << 1)
#define GP_KFD_QUEUE_STATE_SUSPENDED (1u << 2)
#define GP_KFD_QUEUE_STATE_EVICTED   (1u << 3)
#define GP_KFD_QUEUE_STATE_PREEMPTED (1u << 4)

#define GP_KFD_QUEUE_SCHED_NO_QUEUE  0xffffffffu /* queue_id: only the features are asked */

struct gp_kfd_get_queue_sched_args {
	uint32_t queue_id;
	uint32_t features;
	uint32_t logical_priority;
	uint32_t state;
	uint64_t suspended_ns; /* suspended or preempted, so far */
};
GP_KFD_SIZE(gp_kfd_get_queue_sched_args, 24);
GP_KFD_AT(gp_kfd_get_queue_sched_args, suspended_ns, 16);

#define GP_KFD_IOC_GET_QUEUE_SCHED GP_KFD_IOWR(0x7f, gp_kfd_get_queue_sched_args)
_Static_assert(GP_KFD_IOC_GET_QUEUE_SCHED == 0xc0184b7f, "number of GET_QUEUE_SCHED");

/* An operation of DBG_TRAP. lease_ms 0: suspensions do not expire; at most 60000. */
#define GP_KFD_DBG_SET_SUSPEND_LEASE 0x70
#define GP_KFD_SUSPEND_LEASE_MAX_MS  60000u

struct gp_kfd_dbg_trap_suspend_lease_args {
	uint32_t lease_ms;
	uint32_t pad;
	uint64_t expired; /* out: leases of this session that have run out */
};
GP_KFD_SIZE(gp_kfd_dbg_trap_suspend_lease_args, 16);

#endif
