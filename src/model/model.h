/* SPDX-License-Identifier: MIT */
/*
 * A GPU as numbers: compute units, hardware queue slots, the runlist and what preemption costs. A
 * pure state machine: time and requests in, actions out. No clock, no I/O, no floating point and no
 * allocation after gp_model_init(), so that vgpu/ (real time) and sim/ (virtual time) host the same
 * code and the same inputs give the same outputs, bit for bit.
 *
 * One instance is one device. Time is in nanoseconds of the modelled GPU and never goes back.
 *
 * It models:
 * - Work is executed by workgroup. A kernel's workgroups are started in batches: a batch holds
 *   whole CUs for the time one workgroup takes (occupancy says how many workgroups share a CU),
 *   then releases them. So a kernel with long workgroups keeps its CUs against any priority: only
 *   an unmap with save (CWSR) takes them away, as on hardware. One batch runs several workgroups
 *   in turn if they are much shorter than GP_MODEL_BATCH_NS, which bounds the number of events per
 *   unit of time.
 * - Among mapped queues free CUs go to the highest pipe priority, then queue priority, then round
 *   robin. A queue launches its packets in order: the command processor takes up a packet when the
 *   one before has started its last workgroup, or, with the barrier bit, when all earlier ones of
 *   its queue are complete. Launching a packet (its first workgroup starts) is when the read index
 *   moves.
 * - Every change of the runlist unmaps all queues of the device, saves what is resident, and maps
 *   again; with nothing mapped, or nothing to map, that half costs nothing, as in the driver. More
 *   processes than VMIDs or more queues than slots: the runlist rotates by quantum, in the order
 *   of the runlist; an update does not change whose turn it is, and a device on which no enabled
 *   queue has work does not rotate.
 * - A saved batch keeps its remaining time; total work is conserved to the nanosecond. It returns
 *   to the CUs it had if they are free, else to others, in parts if need be. A packet that was
 *   being dispatched or completed when its queue was unmapped goes on from there as well.
 * - An SDMA engine runs one packet at a time and cannot be stopped in it: an unmap waits for it,
 *   unless its queue was abandoned.
 * It does not model caches, memory traffic beyond one contention factor, changing clocks or the
 * results of kernels.
 */
#ifndef GP_MODEL_MODEL_H
#define GP_MODEL_MODEL_H

#include "base/core.h"

#define GP_MODEL_MAX_XCC     8
#define GP_MODEL_MAX_CU      512 /* all XCCs */
#define GP_MODEL_CU_WORDS    (GP_MODEL_MAX_CU / 64)
#define GP_MODEL_MAX_ENGINES 16
#define GP_MODEL_MAX_UPDATES 64           /* waiting at once */
#define GP_MODEL_BATCH_NS    1000         /* shorter workgroups are run several to a batch */
#define GP_MODEL_TIME_MAX    (1ull << 62) /* nothing happens after that: 146 years */
#define GP_MODEL_NONE        0xffffffffu
#define GP_MODEL_NEVER       UINT64_MAX

/* The chip and its costs. Sources of the figures are in the GPU files, not here. */
struct gp_model_chip {
	u32 xcc_count, cu_per_xcc;
	u32 simd_per_cu, waves_per_simd, wave_size;
	u32 vgpr_per_simd; /* 32-bit registers per lane that the waves of a SIMD share (512) */
	u32 lds_per_cu;    /* bytes */
	u32 slots;         /* compute queue slots per XCC (24) */
	u32 vmids;         /* processes that can be mapped at once (13) */
	u32 sdma_engines, sdma_queues_per_engine;
	u64 quantum_ns;     /* process quantum when oversubscribed */
	u64 dispatch_ns;    /* command processor, per packet */
	u64 complete_ns;    /* last wave to completion signal */
	u64 unmap_ns;       /* fixed part of unmapping everything */
	u64 unmap_queue_ns; /* per mapped queue */
	u64 map_ns, map_queue_ns;
	u64 save_ns, restore_ns; /* fixed part when any wave is saved / restored */
	u64 save_bytes_per_us, restore_bytes_per_us; /* per XCC */
	u32 wave_fixed_bytes; /* SGPRs, hardware registers, control stack of a wave */
	u64 clock_khz;        /* for the grace period: units of 1024 clocks */
	u64 sdma_bytes_per_us, sdma_packet_ns;
	u32 contention_permille; /* slowdown of a batch when all other CUs belong to others */
	u32 jitter_permille;     /* +- on each kernel's workgroup time, from the seed; 0 = none */
};

struct gp_model_config {
	struct gp_model_chip chip;
	u32 max_processes, max_queues, max_work; /* work: packets submitted and not complete, all */
	u64 seed;
};

enum gp_model_queue_type { GP_MODEL_COMPUTE, GP_MODEL_SDMA };

/* The state of a queue that the driver wants; takes effect at the next map. */
struct gp_model_queue_config {
	enum gp_model_queue_type type;
	u32 engine;   /* SDMA */
	u32 priority; /* 0..15; pipe priority follows: 0-6 low, 7-10 medium, 11-15 high */
	bool enabled; /* active, not suspended, not evicted */
	/*
	 * Compute; all zero = every CU. Bit i is CU i / xcc_count of XCC i % xcc_count: the driver
	 * deals the bits of a mask out over the XCCs in turn.
	 */
	u64 cu_mask[GP_MODEL_CU_WORDS];
};

struct gp_model_work {
	u64 tag;        /* the host's, returned in actions */
	bool barrier;   /* wait for everything earlier in the queue */
	bool kernel;    /* compute: occupies CUs; otherwise only dispatch_ns and complete_ns */
	u64 workgroups; /* >= 1 for a kernel */
	u32 waves_per_workgroup;
	u32 vgprs;        /* per lane */
	u32 lds_bytes;    /* per workgroup */
	u64 workgroup_ns; /* >= 1: time one workgroup takes alone on its CU share */
	u64 bytes;        /* SDMA */
};

enum gp_model_action_kind {
	GP_MODEL_LAUNCHED,  /* the packet left the ring: advance the read index */
	GP_MODEL_COMPLETED, /* fire its signal; start_ns..end_ns is its execution */
	GP_MODEL_UNMAPPED,  /* the fence of an update: everything is off the hardware */
	GP_MODEL_MAPPED,    /* the new runlist is on the hardware; the update is over */
};

struct gp_model_action {
	enum gp_model_action_kind kind;
	u64 at_ns;
	u32 queue;            /* LAUNCHED, COMPLETED */
	u64 tag;              /* the work's, or the update's (0 for a rotation) */
	u64 start_ns, end_ns; /* COMPLETED */
	u64 saved_bytes;      /* UNMAPPED */
	u32 saved_waves, unmapped_queues;
};

struct gp_model;

/*
 * Bytes of memory an instance needs; 0 when the config is not usable. It is sized for the worst
 * case (every queue's batches saved one CU at a time), and what is not used is never touched.
 */
size_t gp_model_memory(const struct gp_model_config *config);
/* -EINVAL for a config that is not usable, -ENOMEM when size is too small. */
int gp_model_init(struct gp_model **out, void *memory, size_t size,
		  const struct gp_model_config *config);

/* Processes are mapped in the order they were added. -ENOSPC when full. */
int gp_model_process_add(struct gp_model *model, u32 *process);
/* -EBUSY while it has queues. */
int gp_model_process_remove(struct gp_model *model, u32 process);

/* -EINVAL for a bad config, -ENOSPC when there is no room or its SDMA engine has no queue left. */
int gp_model_queue_add(struct gp_model *model, u32 process,
		       const struct gp_model_queue_config *config, u32 *queue);
/* Type and engine stay as they were: -EINVAL otherwise. */
int gp_model_queue_set(struct gp_model *model, u32 queue,
		       const struct gp_model_queue_config *config);
/*
 * -EBUSY while it is mapped: disable it and update the runlist first. Its work is dropped without
 * actions; the number of packets dropped is returned in *dropped.
 */
int gp_model_queue_remove(struct gp_model *model, u32 queue, u32 *dropped);
/*
 * For an SDMA queue whose owner is dead: all its packets are forgotten, without actions, the one
 * that its engine is at as well, so that no unmap waits for it. The queue's counts are as if they
 * had never been submitted. A compute queue is left alone (0): it never makes an unmap wait.
 */
int gp_model_queue_abandon(struct gp_model *model, u32 queue);

/*
 * The calls that take `now` first let everything up to then happen; an earlier `now` than they have
 * seen counts as that one. They answer -EAGAIN, and nothing else has changed, while actions must be
 * taken before time can go on.
 */

/*
 * Appends a packet to a queue. -EAGAIN when max_work packets are under way, -EINVAL for work that
 * is bad or too large to be counted: more than 2^62 ns of workgroup time.
 */
int gp_model_submit(struct gp_model *model, u64 now, u32 queue, const struct gp_model_work *work);

/*
 * One unmap and map of the whole device, after those already under way. grace: units of 1024 clocks
 * that waves may run on before they are saved; 0 = none. `tag` must not be 0. -EAGAIN when too many
 * are waiting.
 */
int gp_model_runlist_update(struct gp_model *model, u64 now, u32 grace, u64 tag);

/* An update that lets waves run on does so no longer: they are saved now. */
void gp_model_end_grace(struct gp_model *model);

/* Lets everything up to and including `now` happen. */
void gp_model_advance(struct gp_model *model, u64 now);
/*
 * The same, for a host that has other things to do: stops after *events of them, and leaves in
 * *events how many it had not used. True when everything up to `now` has happened; otherwise
 * gp_model_now() says how far it came, and gp_model_next() is in the past.
 */
bool gp_model_advance_some(struct gp_model *model, u64 now, u32 *events);
/* The time that the model has reached. */
u64 gp_model_now(const struct gp_model *model);
/* When something will happen by itself; GP_MODEL_NEVER if nothing will. */
u64 gp_model_next(const struct gp_model *model);
/*
 * The next action, in order of time. The host takes all of them after every call that can make
 * some. Actions are never lost: when their room is used up gp_model_advance() stops early and
 * gp_model_next() stays in the past until some are taken.
 */
bool gp_model_take(struct gp_model *model, struct gp_model_action *out);

struct gp_model_queue_state {
	bool mapped;
	u32 slot;       /* index of its hardware slot, GP_MODEL_NONE if not mapped */
	u32 vmid_index; /* 0.. among mapped processes */
	u64 submitted, launched, completed; /* packets, ever */
	u32 resident_waves;                 /* on CUs now */
	u32 saved_waves;                    /* in its save area */
	u64 saved_bytes;
	u64 cu_ns; /* CU time used so far */
};
int gp_model_queue_state(const struct gp_model *model, u32 queue, struct gp_model_queue_state *out);

struct gp_model_stats {
	u64 now_ns;
	u64 updates, rotations, batches;
	u64 saved_bytes, restored_bytes;
	u64 busy_cu_ns; /* sum over queues of cu_ns */
	u64 switch_ns;  /* time in which no wave ran because of unmap, save, restore, map */
	/*
	 * Workgroup time. Once everything is complete ran = work + contention + dropped, exactly.
	 * These wrap at 2^64.
	 */
	u64 ran_wg_ns;        /* spent on CUs */
	u64 work_wg_ns;       /* complete kernels: workgroups * workgroup_ns, with jitter */
	u64 contention_wg_ns; /* complete kernels: added by contention */
	u64 dropped_wg_ns;    /* spent on kernels that were dropped with their queue */
	bool oversubscribed;
	u32 mapped_queues, mapped_processes;
};
void gp_model_stats(const struct gp_model *model, struct gp_model_stats *out);

/* Workgroups of this shape that fit on one CU at once; 0 when one does not fit. */
u32 gp_model_occupancy(const struct gp_model_chip *chip, u32 waves_per_workgroup, u32 vgprs,
		       u32 lds_bytes);
/* Bytes that saving one workgroup takes. */
u64 gp_model_workgroup_bytes(const struct gp_model_chip *chip, u32 waves_per_workgroup, u32 vgprs,
			     u32 lds_bytes);

#endif
