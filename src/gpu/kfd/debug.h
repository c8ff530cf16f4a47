/* SPDX-License-Identifier: MIT */
/*
 * kfd-debug: suspends another process with DBG_TRAP. One struct per target, used by one thread,
 * which traces the lead thread of the target (PTRACE_SEIZE, which does not stop it) during the
 * session. Meanwhile no other process can trace the target and take the session, and the driver
 * resumes everything when this process dies. The price: the target stops at each signal until
 * gp_gpu_control_ops.pump() passes it on.
 *
 *   debug.c         the session: probe, attach, detach, taking it back
 *   debug_trace.c   ptrace: seizing, signals, exec, exit; is it still the same program
 *   debug_queues.c  the list of queues, suspend, resume
 *   debug_lease.c   suspensions that the driver ends by itself, where it can
 */
#ifndef GP_GPU_KFD_DEBUG_H
#define GP_GPU_KFD_DEBUG_H

#include "abi/kfd_debug.h"
#include "base/core.h"
#include "gpu/control.h"

struct gp_kfd_debug_target {
	struct gp_gpu_control base;
	int kfd;      /* /dev/kfd */
	int memory;   /* /proc/PID/mem of the program we attached to: reads 0 bytes after its end */
	u64 probe_at; /* an address that program can read */
	int events[2]; /* KFD writes a byte for each new, deleted or runtime exception */
	bool enabled, gone;
	u32 runtime_state; /* enum gp_kfd_runtime_state */
	bool stale;        /* the list of queues is not what the driver has */
	bool changed;      /* it changed since pump() said so last */
	bool no_lease;     /* the driver does not let suspensions expire */
	u64 expired;       /* leases of this session that have run out, as the driver says */
	struct gp_gpu_control_queues queues;
	u64 *pointers; /* per queue: addresses of its read and write index */
	size_t pointer_room;
	/* Calls' own memory: none is allocated while a target is being stopped. */
	u32 ids[GP_KFD_MAX_QUEUES];
	struct gp_kfd_queue_snapshot_entry entries[GP_KFD_MAX_QUEUES];
};

static inline struct gp_kfd_debug_target *gp_kfd_debug_target(struct gp_gpu_control *base)
{
	return gp_container(base, struct gp_kfd_debug_target, base);
}

/* False for calls that no driver can answer and some do not survive: amdgpu-dkms 6.12.12
 * dereferences the array of SUSPEND_QUEUES and RESUME_QUEUES without a check (an oops), and takes
 * any number of ids. */
bool gp_kfd_debug_harmless(const struct gp_kfd_dbg_trap_args *args);
/* 0 or more, or -errno. -ESRCH also sets `gone`. A call that is not harmless is not sent: -EINVAL.
 */
int gp_kfd_debug_trap(struct gp_kfd_debug_target *control, u32 op,
		      struct gp_kfd_dbg_trap_args *args);

/* After -EPERM on a target of ours: 0 it is ours again and the call may be repeated, -EOPNOTSUPP
 * its runtime is off, -ESRCH it is another program now or gone, -EPERM it could not be had. */
int gp_kfd_debug_recover(struct gp_kfd_debug_target *control);

/* ---- ptrace ---- */

/* TracerPid of a process, 0 for none; its effective user. */
int gp_kfd_debug_status(u32 pid, u32 *tracer, u32 *uid);
int gp_kfd_debug_seize(struct gp_kfd_debug_target *control);
/* Opens `memory`; the program it belongs to is the one this control is for. */
int gp_kfd_debug_remember_program(struct gp_kfd_debug_target *control);
bool gp_kfd_debug_same_program(struct gp_kfd_debug_target *control);
/* Passes signals on. -ESRCH: it ended or became another program. */
int gp_kfd_debug_signals(struct gp_kfd_debug_target *control);

/* A process without a control that this thread may still trace: its next stop ends the tracing. */
void gp_kfd_debug_stray(u32 pid);

/* ---- queues ---- */

/* The queues in sysfs, without a session. */
int gp_kfd_debug_look(int pidfd, u32 pid, struct gp_gpu_control_queues *out);

/* Updates the list with a snapshot if the driver reported a change. Answers a target that waits in
 * RUNTIME_ENABLE. */
int gp_kfd_debug_make_current(struct gp_kfd_debug_target *control);
/* Wakes a target that waits, or is about to wait, for its debugger in RUNTIME_ENABLE: nothing else
 * would once the session is over. */
void gp_kfd_debug_answer_runtime(struct gp_kfd_debug_target *control);
int gp_kfd_debug_list(struct gp_gpu_control *base, struct gp_gpu_control_queues *out);
int gp_kfd_debug_suspend(struct gp_gpu_control *base, const u32 *ids, size_t count, u32 grace,
			 struct gp_gpu_control_done *done);
int gp_kfd_debug_resume(struct gp_gpu_control *base, const u32 *ids, size_t count,
			struct gp_gpu_control_done *done);

/* ---- leases ---- */

/* gp_gpu_control_ops.lease. -ENOLCK: the lease ended before this, and the queues run. */
int gp_kfd_debug_lease(struct gp_gpu_control *base, u32 lease_ms);

#endif
