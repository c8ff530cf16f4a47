/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A gfx90a GPU that is not there, under the distribution's own amdgpu.ko; or,
 * with xccs=4, a gfx942 of four XCCs (an MI308X). All XCCs work on one queue
 * together: the first reads the rings for all, each has an MQD and a save area
 * of its own. There may be several GPUs (gpus=2), which share nothing but the
 * processes on them.
 *
 * The driver's code runs unchanged. Below it are, instead of hardware:
 *  - memory.c   memory the driver asks amdgpu for, and doorbells in a RAM BAR
 *  - render.c   the render node, which gives a process its VM
 *  - registers.c the table through which amdkfd reaches registers
 *  - firmware.c the scheduler firmware: eats HIQ packets, keeps HQD slots
 *  - run.c      runs AQL packets of mapped queues in modelled time
 *  - status.c   what the machine says of itself, and the clock's handle
 *  - evict.c    memory pressure
 * symbols.c finds the driver's functions, hooks.c redirects those that would
 * touch hardware, layout.c refuses a driver that this was not built for.
 * compat-SERIES.[ch] is all that is different from kernel to kernel; the one
 * it is built for is compiled in.
 *
 * One lock of each GPU is over everything its firmware and runner own. It
 * is a leaf: nobody calls the driver with it held, but for interrupts, which
 * take spin locks only.
 */
#ifndef FAKEGPU_H
#define FAKEGPU_H

#include <linux/bitmap.h>
#include <linux/ftrace.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/types.h>

#include <drm/drm_file.h>

#include "amdgpu.h"
#include "amdgpu_amdkfd.h"
#include "kfd_priv.h"
#include "kfd_device_queue_manager.h"
#include "v9_structs.h"

#define FG_PIPES	4
#define FG_QUEUES	8	/* a pipe */
#define FG_SLOTS	(FG_PIPES * FG_QUEUES)
#define FG_AMDGPU_QUEUES 2	/* of each pipe, the first, are not KFD's */
#define FG_FIRST_VMID	8	/* KFD has 8..15 */
#define FG_PROCESSES	8	/* one a VMID */
#define FG_CUS		80
#define FG_GPUS		8	/* at most */
#define FG_XCCS		4	/* likewise */
#define FG_DOORBELL_PAGES 1024	/* of the BAR of a GPU */
#define FG_ENTRIES	1024	/* queues of one runlist */
#define FG_PACKETS	32	/* remembered for the status */

/* The driver's structures that amdgpu would have allocated in the GART. */
struct fg_gtt {
	struct list_head list;
	void *cpu;
	u64 gpu;
	size_t size;
};

/*
 * What is kept of a queue while it is on no slot: on hardware the save area,
 * the MQD and memory. Found by its MQD, freed with it.
 */
struct fg_queue {
	struct list_head list;
	struct fg_device *gpu;
	u64 mqd_gpu;
	struct v9_mqd *mqd;	/* NULL: an SDMA queue, which is not run */
	struct mm_struct *mm;	/* grabbed, not gotten */
	u32 pasid;
	u32 doorbell;		/* in words of the BAR */
	u64 wptr_va;
	int slot;		/* -1: not mapped */
	bool mapped, stopped;
	/* AQL: indices count packets from the queue's creation. */
	u64 written, read;
	u64 launched, completed;
	/* The packet that is being worked on. */
	bool busy, barrier;
	u64 total_ns, left_ns;	/* CU time */
	u32 workgroups;
	u64 signal, depends[5];
	bool wait_for_all;
	u64 cu_ns;		/* ever spent on it */
	u64 taken_off;		/* how often it was unmapped */
};

/* One MAP_QUEUES of the runlist. */
struct fg_entry {
	u32 pasid;
	u64 mqd;
	u64 wptr;
	u32 doorbell;
	bool sdma;
};

struct fg_packet {
	u32 opcode;
	u32 word;
};

struct fg_figures {
	u64 updates;		/* the driver's unmap and map of the device */
	u64 runlists, unmaps, rotations, saved_bytes, interrupts, resets;
	u64 packets_sent;
};

/* The interface queue and the scheduler behind it. */
struct fg_firmware {
	bool on;
	struct v9_mqd *mqd;	/* of the first XCC */
	struct v9_mqd *mqds[FG_XCCS];
	u32 *ring;
	u32 ring_words;
	u64 read;		/* words eaten */
	u32 *read_report;
	u32 doorbell;
	u32 wait_times;		/* CP_IQ_WAIT_TIME2 */

	struct fg_entry entries[FG_ENTRIES];
	u32 entry_count;
	u32 first;		/* entry the slots begin with */
	u32 on_slots;		/* entries that have one */
	bool active, chained;
	u64 mapped_at_ns;

	struct fg_queue *slots[FG_SLOTS];

	/* An UNMAP_QUEUES that is under way. */
	bool unmapping;
	u64 unmap_until_ns;	/* model time; U64_MAX: until the waves end */
	u64 fence_at_ns;	/* a late fence: not before that, real time */

	struct fg_packet packets[FG_PACKETS];
};

/* Model time: real time, but for a hold. */
struct fg_clock {
	ktime_t last;
	u64 now_ns, hold_ns;
	u64 owed_ns;		/* passed, and not yet run */
};

/* Functions and data of the driver and the kernel, by name. */
struct fg_symbols {
	unsigned long (*lookup)(const char *name);
	void (*device_probe)(struct amdgpu_device *adev);
	void (*device_init)(struct amdgpu_device *adev);
	void (*device_fini)(struct amdgpu_device *adev);
	/* Only the ROCm driver has the second argument, and allows NULL. */
	struct kfd_process *(*process_by_pasid)(u32 pasid, void *pdd);
	void (*process_unref)(struct kfd_process *p);
	void (*interrupt)(struct kfd_dev *kfd, const void *entry);
	void *pre_reset;	/* its type is the kernel's: fg_pre_reset() */
	int (*post_reset)(struct kfd_dev *kfd);
	void (*mmput_async)(struct mm_struct *mm);
	struct hlist_head *processes;
	struct srcu_struct *processes_srcu;
	int *preemption_timeout_ms;
	int *sched_policy;
};

struct fg_device {
	u32 index;
	struct pci_dev *pdev;
	void __iomem *bar;
	struct amdgpu_device *adev;
	struct drm_minor minor;
	struct miscdevice render;
	char render_name[24], render_node[24];
	struct task_struct *thread;
	bool started;		/* the driver has it */

	struct mutex lock;
	struct list_head queues;
	struct fg_firmware fw;
	struct fg_clock clock;
	struct fg_figures figures;
	DECLARE_BITMAP(doorbell_pages, FG_DOORBELL_PAGES);
};

extern struct fg_symbols fg_sym;
extern struct fg_device fg_gpus[FG_GPUS];
struct fg_device *fg_of(const struct amdgpu_device *adev);

#define fg_for_each(gpu) \
	for ((gpu) = fg_gpus; (gpu) < fg_gpus + fg_gpu_count; (gpu)++)

/* Knobs, module parameters: see main.c. */
extern int fg_gpu_count, fg_hang_gpu;
extern int fg_xccs, fg_workgroup_us, fg_quantum_ms, fg_save_us, fg_poll_us;
extern bool fg_hang, fg_fail_unmap, fg_fail_runlist;
extern int fg_late_fence_ms;

/* A function of amdgpu, and what is called instead; NULL: it is counted. */
struct fg_hook {
	const char *name;
	void *function;
	const bool *only_if;	/* NULL: always */
	struct ftrace_ops ops;
	bool registered;
};

#define FG_HOOK(name, function) { "amdgpu:" #name, function }
#define FG_HOOK_IF(name, function, knob) { "amdgpu:" #name, function, knob }

/* A member that is used, or (no name) the size of a structure. */
struct fg_member {
	const char *type, *name;
	u32 offset;
};

#define FG_MEMBER(type, name) { #type, #name, offsetof(struct type, name) }
#define FG_SIZE(type) { #type, NULL, sizeof(struct type) }

/* compat-SERIES.c; tables end with an entry of NULL */
extern struct fg_hook fg_own_hooks[];
extern const struct fg_member fg_own_members[];
/* In the status's words. */
extern const char fg_era[], fg_personality[], fg_driver[];
void fg_own_description(struct amdgpu_device *adev);
void fg_own_started(struct fg_device *gpu);
/* The most XCCs that a GPU has there. */
extern const int fg_own_xccs;
void fg_own_registers(struct kfd2kgd_calls *calls);
struct device_queue_manager *fg_manager(const struct fg_device *gpu);
u32 fg_gpu_id(const struct fg_device *gpu);
/* Until the driver has taken down the last process. */
void fg_wait_for_processes(void);
int fg_pre_reset(const struct fg_device *gpu);
/* Calls of the process that wait for a debugger. */
u32 fg_blocked_calls(struct kfd_process *process);
bool fg_traps_on(struct kfd_process *process);

/* symbols.c, layout.c, hooks.c */
int fg_find_symbols(struct fg_symbols *sym);
int fg_check_layout(const struct fg_symbols *sym, bool lie);
/* layout-btf.c or layout-known.c: offset, or size of the type; -1: there is none. */
int fg_layout_init(const struct fg_symbols *sym);
s64 fg_layout_offset(const struct fg_member *want);
int fg_hook(const struct fg_symbols *sym);
void fg_unhook(void);

/* memory.c */
void *fg_gtt_cpu(u64 gpu);
u32 fg_memory_left(void);
void fg_memory_count(int more);
void fg_bo_init(struct amdgpu_bo *bo, u64 size);
int fg_mmap_buffer(struct vm_area_struct *vma);

int fg_alloc_gtt(struct amdgpu_device *adev, size_t size, void **mem_obj,
		 u64 *gpu_addr, void **cpu_ptr, bool mqd);
void fg_free_gtt(struct amdgpu_device *adev, void **mem_obj);
int fg_alloc_memory(struct amdgpu_device *adev, u64 va, u64 size, void *priv,
		    struct kgd_mem **mem, u64 *offset, u32 flags, bool criu);
int fg_free_memory(struct amdgpu_device *adev, struct kgd_mem *mem,
		   void *priv, u64 *size);
int fg_map_memory(struct amdgpu_device *adev, struct kgd_mem *mem, void *priv);
int fg_unmap_memory(struct amdgpu_device *adev, struct kgd_mem *mem,
		    void *priv);
int fg_memory_to_kernel(struct kgd_mem *mem, void **ptr, u64 *size);
struct amdgpu_bo_va_mapping *fg_lookup_mapping(struct amdgpu_vm *vm, u64 page);

/* render.c */
int fg_file_to_fpriv(struct file *file, struct amdgpu_fpriv **fpriv);
int fg_render_init(struct fg_device *gpu);
void fg_render_exit(struct fg_device *gpu);

/* registers.c */
void fg_replace_registers(struct kfd_dev *kfd);

/* firmware.c */
int fg_firmware_thread(void *gpu);
int fg_hiq_load(struct amdgpu_device *adev, void *mqd, u32 pipe, u32 queue,
		u32 doorbell FG_INST);
void fg_hiq_unload(struct fg_device *gpu, void *mqd);
bool fg_hiq_empty(const struct fg_device *gpu);
void fg_forget_mqds(u64 gpu, size_t size);
u32 fg_queues_left(void);
/* A reset: all queues off, packets forgotten. */
void fg_firmware_reset(struct fg_device *gpu);

/* One MQD for each XCC, one after the other. */
static inline struct v9_mqd *fg_xcc_mqd(struct v9_mqd *mqd, u32 xcc)
{
	return (void *)mqd + (size_t)xcc * FG_MQD_STRIDE(mqd);
}

/* run.c; all with the GPU's lock held, those that reach memory in the thread */
void fg_clock_advance(struct fg_device *gpu);
u64 fg_clock_tick(struct fg_device *gpu);
bool fg_clock_held(const struct fg_device *gpu);
void fg_queue_map(struct fg_queue *queue);
void fg_queue_save(struct fg_queue *queue);
void fg_run(struct fg_device *gpu, u64 ns);
bool fg_waves_in_flight(const struct fg_device *gpu);
bool fg_waves_of(const struct fg_device *gpu, u32 pasid);	/* of one process */

/* evict.c; not on 6.1 */
struct dma_fence *fg_new_fence(void);
int fg_restore_memory(void *info, struct dma_fence __rcu **fence);
void fg_evict_init(struct dentry *directory);

/* status.c */
int fg_status_init(void);
void fg_status_exit(void);

#endif
