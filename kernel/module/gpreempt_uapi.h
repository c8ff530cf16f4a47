/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * /dev/gpreempt: takes all GPU queues of a process off the hardware and puts
 * them back, through an amdgpu that is not changed. For programs and for the
 * module itself.
 *
 * Who has the device open is a holder. An eviction is a lease: it ends when
 * the holder restores the process as often as it evicted it, when the lease
 * runs out unrenewed, and when the last descriptor of the holder is closed,
 * so also when it dies. A process runs again when its last holder lets go.
 *
 * Every structure has one layout on 32 and 64 bits. Fields named reserved,
 * and flags that this version does not know, must be 0: EINVAL.
 *
 * EBADF   the descriptor is no pidfd
 * ESRCH   the process is gone, or has never opened /dev/kfd
 * ENOENT  this holder does not hold the process (the lease may have run out)
 * EIO, ETIME  the GPU does not answer; nothing is held
 * EOPNOTSUPP  with a driver before Linux 6.5: the process has no VM on one of
 *         its GPUs, so it could not be restored
 * ENOSPC  GPREEMPT_MAX_HOLDS processes are held already
 * EOVERFLOW  GPREEMPT_MAX_DEPTH evictions of the process are
 */
#ifndef GPREEMPT_UAPI_H
#define GPREEMPT_UAPI_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#else
#include <assert.h>
#include <sys/ioctl.h>
#endif
#include <linux/types.h>

#define GPREEMPT_DEVICE		"/dev/gpreempt"
#define GPREEMPT_ABI		1	/* of struct gpreempt_info */
#define GPREEMPT_LEASE_MAX_MS	600000
#define GPREEMPT_MAX_HOLDS	1024	/* processes held at once by one holder */
#define GPREEMPT_MAX_DEPTH	65535

struct gpreempt_info {
	__u32 abi;		/* out: what follows is valid for this */
	__u32 lease_max_ms;	/* out */
	__u32 gpus;		/* out: that KFD has now */
	__u32 reserved;
};

struct gpreempt_evict {
	__s32 pidfd;
	__u32 flags;
	__u32 lease_ms;		/* 1 to lease_max_ms; never shortens one */
	__u32 depth;		/* out: restores that this holder owes */
	__u64 took_ns;		/* out: in the driver; 0 when it was off */
	__u64 reserved;
};

#define GPREEMPT_RESTORE_WHOLLY	1	/* whatever the depth is */

struct gpreempt_restore {
	__s32 pidfd;
	__u32 flags;
	__u32 depth;		/* out: what is left */
	__u32 holders;		/* out: that still hold it; 0: it runs */
	__u64 took_ns;		/* out: in the driver; 0 when it stays off */
	__u64 reserved;
};

struct gpreempt_renew {
	__s32 pidfd;		/* -1: everything this holder holds */
	__u32 flags;
	__u32 lease_ms;		/* from now; never shortens one */
	__u32 renewed;		/* out: processes it was renewed for */
};

struct gpreempt_state {
	__s32 pidfd;
	__u32 flags;
	__u32 evicted;		/* out: 1: through this device */
	__u32 holders;		/* out: of all of them */
	__u32 depth;		/* out: of the asking one */
	__u32 lease_ms;		/* out: what is left of its lease */
	__u64 evicted_ns;	/* out: since when it is off */
	__u64 reserved;
};

/* Since the module was loaded. */
struct gpreempt_statistics {
	__u64 evictions;	/* of processes that were running */
	__u64 restores;		/* to running ones, whatever the reason */
	__u64 expired;		/* leases that ran out */
	__u64 abandoned;	/* holds dropped when a holder closed or died */
	__u64 gone;		/* processes that ended while evicted */
	__u64 failed;		/* evictions the driver refused */
	__u64 unrestored;	/* restores the driver reported an error for */
	__u64 evict_ns, restore_ns;	/* in the driver, together */
	__u64 targets;		/* processes held now */
	__u64 reserved[6];
};

#define GPREEMPT_IOC		0xb7
#define GPREEMPT_IOC_INFO	_IOR(GPREEMPT_IOC, 0, struct gpreempt_info)
#define GPREEMPT_IOC_EVICT	_IOWR(GPREEMPT_IOC, 1, struct gpreempt_evict)
#define GPREEMPT_IOC_RESTORE	_IOWR(GPREEMPT_IOC, 2, struct gpreempt_restore)
#define GPREEMPT_IOC_RENEW	_IOWR(GPREEMPT_IOC, 3, struct gpreempt_renew)
#define GPREEMPT_IOC_STATE	_IOWR(GPREEMPT_IOC, 4, struct gpreempt_state)
#define GPREEMPT_IOC_STATISTICS	\
	_IOR(GPREEMPT_IOC, 5, struct gpreempt_statistics)

static_assert(sizeof(struct gpreempt_info) == 16, "ABI");
static_assert(sizeof(struct gpreempt_evict) == 32, "ABI");
static_assert(sizeof(struct gpreempt_restore) == 32, "ABI");
static_assert(sizeof(struct gpreempt_renew) == 16, "ABI");
static_assert(sizeof(struct gpreempt_state) == 40, "ABI");
static_assert(sizeof(struct gpreempt_statistics) == 128, "ABI");

#endif
