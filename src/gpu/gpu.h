/* SPDX-License-Identifier: MIT */
/*
 * One table of operations per kind of GPU: its devices, the processes that use them, and the state
 * of the hardware queues. inspect/, daemon/ and client/ use it and know no vendor. A reading that
 * is not available has its bit in `valid` clear; it is never 0.
 */
#ifndef GP_GPU_GPU_H
#define GP_GPU_GPU_H

#include "base/diag.h"
#include "base/file.h"
#include "base/types.h"

/* ---- devices ---- */

enum gp_gpu_field {
	GP_GPU_GFX = 1u << 0,
	GP_GPU_CU = 1u << 1,
	GP_GPU_XCC = 1u << 2,
	GP_GPU_VRAM = 1u << 3,
	GP_GPU_PCI = 1u << 4,
	GP_GPU_CP_QUEUES = 1u << 5,
	GP_GPU_SDMA = 1u << 6,
	GP_GPU_CAPABILITY = 1u << 7,
	GP_GPU_FIRMWARE = 1u << 8,
	GP_GPU_CWSR = 1u << 9,
	GP_GPU_PARTITION = 1u << 10,
};

/* The NVIDIA driver has no GPU id like the 16 bits of KFD; ours is the PCI vendor and the minor of
 * the device node. */
#define GP_GPU_NVIDIA 0x10de0000u

static inline bool gp_gpu_is_nvidia(u32 gpu_id)
{
	return (gpu_id & 0xffff0000u) == GP_GPU_NVIDIA;
}

struct gp_gpu {
	u32 node;         /* KFD topology node; NVIDIA minor */
	u32 gpu_id;       /* KFD gpu_id; GP_GPU_NVIDIA and the minor */
	char name[64];    /* "ip discovery", "NVIDIA H200" */
	char product[64]; /* as it is sold: "AMD Instinct MI300X"; "": not known */
	char uuid[48];    /* "GPU-..." as rocminfo and nvidia-smi print it; "": not known */
	u32 valid;        /* enum gp_gpu_field */
	u32 gfx_version;  /* 90402 = gfx942 */
	u32 cu_count;     /* compute units of this node, all XCCs */
	u32 xcc_count;
	u64 vram_bytes;
	u32 pci_domain, pci_bus, pci_device, pci_function;
	u32 cp_queues; /* hardware compute queue slots KFD may use, per XCC */
	u32 processes; /* that it runs at once, by the VMIDs of its generation; 0: not known */
	u32 sdma_engines, sdma_queues_per_engine;
	u32 capability;     /* KFD capability bits */
	u32 firmware;       /* MEC firmware version */
	u64 cwsr_bytes;     /* save area per queue and XCC */
	char partition[16]; /* "SPX", "CPX", ... */
};

struct gp_gpu_list {
	struct gp_gpu *items;
	size_t count, capacity;
};

/* ---- processes and their queues, as the driver lists them ---- */

enum gp_gpu_queue_type {
	GP_QUEUE_COMPUTE, /* AQL and PM4, which the driver does not distinguish */
	GP_QUEUE_SDMA,
	GP_QUEUE_SDMA_XGMI,
	GP_QUEUE_OTHER,
	GP_QUEUE_TYPES, /* how many */
};

struct gp_gpu_queue {
	u32 id; /* the driver's queue id, unique in its process only */
	u32 gpu_id;
	enum gp_gpu_queue_type type;
	u64 size; /* ring size in bytes */
};

enum gp_gpu_usage_field {
	GP_USAGE_VRAM = 1u << 0,
	GP_USAGE_SDMA = 1u << 1,
	GP_USAGE_OCCUPANCY = 1u << 2,
	GP_USAGE_EVICTED = 1u << 3,
};

/* Usage of one GPU by one process. */
struct gp_gpu_usage {
	u32 gpu_id;
	u32 valid; /* enum gp_gpu_usage_field */
	u64 vram_bytes;
	u64 sdma_us;
	u64 cu_occupancy; /* compute units with waves of this process */
	u64 evicted_ms;
};

struct gp_gpu_process {
	u32 pid; /* in the init pid namespace */
	/* The driver lists neither processes nor queues: the process was found by its open files,
	 * in our pid namespace, and its queues are unknown. */
	bool by_descriptors;
	bool pasid_known;
	u64 pasid;
	struct gp_gpu_usage *usages;
	size_t usage_count, usage_capacity;
	struct gp_gpu_queue *queues; /* by id */
	size_t queue_count, queue_capacity;
};

struct gp_gpu_process_list {
	struct gp_gpu_process *items; /* by pid */
	size_t count, capacity;
};

/* ---- hardware state ---- */

enum gp_kfd_slot_kind { GP_SLOT_COMPUTE, GP_SLOT_HIQ, GP_SLOT_SDMA, GP_SLOT_DIQ };

enum gp_kfd_slot_field {
	GP_SLOT_XCC = 1u << 0,       /* the kernel printed an XCC instance */
	GP_SLOT_REGISTERS = 1u << 1, /* the fields below were decoded (gfx9, gfx942, gfx10) */
	GP_SLOT_VMID = 1u << 2,
	GP_SLOT_POINTERS = 1u << 3, /* rptr and wptr */
	GP_SLOT_EOP = 1u << 4,
	GP_SLOT_CWSR = 1u << 5,
	GP_SLOT_PRIORITY = 1u << 6, /* pipe and queue priority, quantum */
	GP_SLOT_OBJECT = 1u << 7,
	GP_SLOT_DOORBELL = 1u << 8,
	GP_SLOT_MQD = 1u << 9,
	GP_SLOT_BACKLOG = 1u << 10, /* full and empty could be distinguished */
};

/* The node of a descriptor, which mqds does not print. */
#define GP_SLOT_NO_NODE 0xffffffffu

/*
 * One hardware queue slot (from hqds) or one queue descriptor (from mqds, one per XCC): the same
 * register block, decoded once. Inactive slots keep stale values; nothing below `active` describes
 * a queue unless `active` is set or the block came from a descriptor.
 */
/* Registers of an SDMA queue: their order changed twice. */
enum gp_kfd_sdma_family { GP_SDMA_GFX9 /* and gfx10 */, GP_SDMA_GFX11, GP_SDMA_GFX12 };

struct gp_kfd_slot {
	enum gp_kfd_slot_kind kind;
	u32 node; /* KFD node number; descriptors: ~0 */
	u32 gpu_id;
	u32 xcc;
	u32 mec, pipe, queue; /* SDMA: engine in pipe, RLC queue in queue */
	u32 pid;              /* descriptors: owner; slots: 0 until joined */
	u64 pasid;            /* descriptors only */
	u32 line;             /* line of its header in the text, for messages */

	u32 valid; /* enum gp_kfd_slot_field */
	bool active;
	bool aql; /* pointers count AQL packets; otherwise dwords */
	u32 vmid;
	u32 pipe_priority, queue_priority;
	u32 quantum; /* raw register: bit 0 enable, bit 4 scale, 13:8 duration */
	u64 mqd_address;
	u64 ring; /* ring base address, bytes */
	u64 ring_bytes;
	u64 object;     /* queue object: read-pointer report address - 0x80 */
	u64 rptr, wptr; /* both since the start, not in the ring; packets for AQL compute, dwords
			 * for SDMA and HIQ. rptr is known where backlog is */
	u64 backlog;    /* wptr - rptr, at most the ring */
	u32 doorbell;   /* dword index on the doorbell BAR */
	bool doorbell_enabled;
	u64 cwsr_address, cwsr_bytes;
	u32 cwsr_stack_used; /* bytes of control stack in use; non-zero = waves saved */
	u64 eop_address, eop_bytes;
	enum gp_kfd_sdma_family sdma_family; /* SDMA with registers */

	u32 *words; /* the raw block; addresses[i] is the byte address printed for words[i] */
	u32 *addresses;
	size_t word_count;
};

struct gp_kfd_slot_list {
	struct gp_kfd_slot *items;
	size_t count, capacity;
	bool incomplete; /* the source was damaged; these are its complete parts */
};

enum gp_gpu_watch_field {
	GP_WATCH_SLOTS = 1u << 0,       /* hqds was read */
	GP_WATCH_DESCRIPTORS = 1u << 1, /* mqds was read */
};

struct gp_gpu_state {
	u32 valid;                          /* enum gp_gpu_watch_field */
	int slots_error, descriptors_error; /* -errno why it is not valid */
	struct gp_kfd_slot_list slots;
	struct gp_kfd_slot_list descriptors;
};

/* ---- the table ---- */

/* Properties of a kind that its users ask for instead of the vendor. */
enum gp_gpu_capability {
	GP_GPU_SEES_WORK = 1u << 0,      /* whether a queue has work is visible from outside */
	GP_GPU_QUEUE_PRIORITY = 1u << 1, /* each queue has a logical priority */
	GP_GPU_SLICES = 1u << 2,         /* the hardware shares the GPU by time slices */
	GP_GPU_SWAPS = 1u << 3,          /* the memory of a process can be moved and restored */
};

struct gp_gpu_ring;
struct gp_gpu_activity_ops;

struct gp_gpu_ops {
	const char *kind;      /* "kfd", "nvrm" */
	u32 capabilities;      /* enum gp_gpu_capability */
	u32 outside_mechanism; /* enum gp_gpu_mechanism: controls a process without an agent */
	/* Devices present. An absent driver is an empty list and 0. */
	int (*discover)(const struct gp_root *root, struct gp_diag *diag, struct gp_gpu_list *out);
	/* Processes with state on these devices; pid 0 = all. A pid the driver does not know is an
	 * empty list and 0; one that vanishes while it is read is left out. NULL: not supported. */
	int (*describe)(const struct gp_root *root, struct gp_diag *diag, u32 pid,
			struct gp_gpu_process_list *out);
	/* Whether the driver lists this queue of the process: 1, or 0. -EOPNOTSUPP: it cannot be
	 * asked. NULL: it lists no queues, and a process that has the GPU open may have one. */
	int (*lists_queue)(const struct gp_root *root, u32 pid, u32 gpu_id, u32 queue);
	/* One reading of the hardware queues. 0 even when nothing was readable: see `valid`.
	 * NULL: this kind cannot show them. */
	int (*watch)(const struct gp_root *root, struct gp_diag *diag, struct gp_gpu_state *out);
	/* Positions of a process's rings, see gpu/rings.h. NULL: this kind cannot read them. */
	int (*read_rings)(u32 pid, struct gp_gpu_ring *rings, size_t count);
	/* Which process had the GPU, see gpu/activity.h. NULL: this kind does not report it. */
	const struct gp_gpu_activity_ops *activity;
};

extern const struct gp_gpu_ops gp_kfd_ops;
extern const struct gp_gpu_ops gp_nvrm_ops;

/* Every kind this program was built with, NULL-terminated. */
extern const struct gp_gpu_ops *const gp_gpu_kinds[];

/* The kind of a GPU, by its id. */
const struct gp_gpu_ops *gp_gpu_kind(u32 gpu_id);

static inline bool gp_gpu_has(u32 gpu_id, u32 capability)
{
	return gp_gpu_kind(gpu_id)->capabilities & capability;
}

/* gp_gpu_ops.lists_queue() of the GPU's kind. Without one: 1 when the process has the GPU open,
 * otherwise -EOPNOTSUPP. */
int gp_gpu_lists_queue(const struct gp_root *root, u32 pid, u32 gpu_id, u32 queue);

void gp_gpu_list_free(struct gp_gpu_list *list);
void gp_gpu_process_list_free(struct gp_gpu_process_list *list);
void gp_kfd_slot_list_free(struct gp_kfd_slot_list *list);
void gp_gpu_state_free(struct gp_gpu_state *state);

/* "compute", "sdma", "xgmi" or "other". */
const char *gp_kfd_queue_type_name(enum gp_gpu_queue_type type);

/* "gfx942" from 90402; buffer of at least 16 bytes. */
void gp_kfd_gfx_name(u32 gfx_version, char *out, size_t size);

#endif
