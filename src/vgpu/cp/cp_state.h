/* SPDX-License-Identifier: MIT */
/*
 * The private state of the command processor: rings, packets under way and the doorbell watch.
 * cp->lock guards all of it. The thread releases it only while it sleeps in ppoll(), so another
 * thread that holds it finds the command processor between two steps.
 *
 * Addresses in packets are the GPU's: gp_vgpu_cp_read() and friends translate them and answer
 * -EFAULT for what is not mapped. The ring and its two pointers were translated when the queue was
 * added.
 */
#ifndef GP_VGPU_CP_CP_STATE_H
#define GP_VGPU_CP_CP_STATE_H

#include <poll.h>

#include "abi/amd_queue.h"
#include "abi/amd_signal.h"
#include "abi/aql.h"
#include "abi/pm4.h"
#include "vgpu/cp/cp.h"

#define GP_CP_RECORDS          GP_VGPU_WORK_SLOTS
#define GP_CP_NONE             0xffffffffu
#define GP_CP_SDMA_WORDS       64  /* dwords of a command; the longest ROCr writes is 45 */
#define GP_CP_QUEUE_SHARE      512 /* most packets of one queue under way */
#define GP_CP_MAPPINGS         16  /* of doorbell slices, all GPUs */
#define GP_CP_SCRATCHPAD_BYTES (64u << 10)
#define GP_CP_PAGE_BYTES       4096
#define GP_CP_PAGES            64 /* remembered as readable; power of two */

struct gp_vgpu_cp_kernels; /* kernel.c */
struct gp_vgpu_compute;    /* vgpu/compute */
struct gp_isa_launch;      /* vgpu/isa */

/* The effect of a kernel on memory when it completes; GP_CP_BLIT_NONE: only time passes. */
enum gp_vgpu_cp_blit {
	GP_CP_BLIT_NONE,
	GP_CP_ROCR_COPY_ALIGNED,
	GP_CP_ROCR_COPY_MISALIGNED,
	GP_CP_ROCR_FILL,
	GP_CP_HIP_COPY_BUFFER,
	GP_CP_HIP_COPY_CHUNKS, /* copyBuffer since ROCm 6 */
	GP_CP_HIP_COPY_BUFFER_ALIGNED,
	GP_CP_HIP_COPY_RECT,
	GP_CP_HIP_COPY_RECT_ALIGNED,
	GP_CP_HIP_FILL,
	GP_CP_HIP_FILL_CHUNKS, /* fillBufferAligned since ROCm 6 */
	GP_CP_HIP_FILL_2D,
	GP_CP_HIP_STREAM_WRITE,
	GP_CP_HIP_STREAM_WAIT, /* held back until its condition holds */
	GP_CP_HIP_BATCH,       /* writes, and waits it is held back for */
	GP_CP_HIP_BUFFER_TO_IMAGE,
	GP_CP_HIP_IMAGE_TO_BUFFER,
	GP_CP_HIP_IMAGE_TO_IMAGE,
	GP_CP_BLIT_UNKNOWN, /* of HIP or ROCr, but of another version: an error */
};

/* Facts about a kernel object. */
struct gp_vgpu_cp_kernel {
	u64 object;
	u64 workgroup_ns;
	u32 vgprs;
	u32 kernarg_bytes;
	enum gp_vgpu_cp_blit blit;
};

/* Why a ring's next packet is not handed over. */
enum gp_vgpu_cp_hold {
	GP_CP_READY,
	GP_CP_WAITING, /* for memory to change: dependencies, a poll, an answer of the runtime */
	GP_CP_HALTED,  /* a queue error or a fault; only destroying it helps */
};

struct gp_vgpu_cp_ring {
	struct gp_vgpu_cp_queue queue;
	u32 gpu_id;
	bool used, sdma, pm4_packets;
	enum gp_vgpu_cp_hold hold;
	bool faulted;       /* and what was under way never completes */
	bool rung;          /* its doorbell was written since it was created */
	bool serial;        /* the packet before was a barrier: the next waits for it */
	bool scratch_asked; /* queue_inactive_signal was raised for scratch */
	bool scratch_once;  /* a dispatch with single-use scratch is under way */
	bool reclaim_asked; /* and is over: the runtime must take it back */
	u8 *base;           /* ring */
	u64 *read_pointer;
	const u64 *write_pointer;
	u64 amd_queue; /* CPU address of gp_amd_queue, 0 = not made by ROCr */
	volatile u64 *doorbell;
	u64 fetched, launched; /* packets (AQL), bytes (SDMA) or dwords (PM4) */
	struct {
		u64 buffer, at, end; /* the indirect buffer it is in, 0 = none; dwords */
		/* Registers that a dispatch needs. */
		u32 threads[3]; /* COMPUTE_NUM_THREAD_X to _Z */
		u32 rsrc1, rsrc2, rsrc3, tmpring;
		u32 program[2], scratch[2]; /* addresses / 256 */
		u32 user[GP_PM4_USER_DATAS];
		u32 chained; /* indirect buffers since the ring */
	} pm4;
	u32 in_flight; /* records */
	/* Where the machine computes (execute.h): packets that were launched and wait for those
	 * before them, as record + 1, and dispatches whose waves have not ended. */
	u32 line_first, line_last, computing;
};

/* A packet (AQL) or a command of several (SDMA) that the server has. */
struct gp_vgpu_cp_record {
	u32 ring;       /* index, GP_CP_NONE = free */
	u32 generation; /* counts uses, so that a late answer about an old one is not taken */
	u32 next_free;
	bool launched;
	bool ordered; /* everything before it in its ring is over when it begins */
	/* Where the machine computes: its waves have ended; the model has completed it, with
	 * `done`. */
	bool ended, completed;
	u32 next_in_line;
	struct gp_vgpu_done done;
	struct gp_isa_launch *launch; /* PM4: a dispatch */
	enum gp_vgpu_cp_blit blit;
	u64 end; /* read index once launched (AQL) or complete */
	u32 words;
	struct {
		u64 buffer, at; /* where its packets are: an indirect buffer, or 0 and the ring */
	} pm4;
	union {
		struct gp_aql_dispatch dispatch;
		struct gp_aql_barrier barrier;
		struct gp_aql_barrier_value barrier_value;
		u8 packet[GP_AQL_PACKET_BYTES];
		u32 sdma[GP_CP_SDMA_WORDS + 2]; /* a short last packet is read as a longer one */
	};
};

/* The slice of a GPU: ours, always writable, and where the application has it. */
struct gp_vgpu_cp_slice {
	int fd; /* -1 = not made yet */
	u64 *slots;
};

struct gp_vgpu_cp_mapping {
	u64 address; /* 0 = free */
	bool protected;
};

struct gp_vgpu_cp_doorbells {
	struct gp_vgpu_cp_slice slices[GP_VGPU_MAX_GPUS];
	struct gp_vgpu_cp_mapping mappings[GP_CP_MAPPINGS];
	int fault_fd; /* userfaultfd, -1 = polling */
	bool tried;   /* to make fault_fd */
};

/* A page that could be read in this step, so that reading it again needs no system call. */
struct gp_vgpu_cp_page {
	u64 step; /* 0 = none */
	u64 page;
	u32 gpu_id;
	u8 *memory;
	bool writable; /* known to be */
};

struct gp_vgpu_cp {
	struct gp_vgpu_client *client;
	pthread_mutex_t lock;
	_Atomic bool running;
	int command_fd;
	struct gp_vgpu_cp_doorbells doorbells;
	struct gp_vgpu_cp_ring *rings; /* GP_VGPU_MAX_QUEUES */
	u32 ring_end;                  /* one past the highest ring used */
	struct gp_vgpu_cp_record *records;
	u32 free_record, records_used;
	u32 records_touched; /* the rest was never used */
	struct gp_vgpu_cp_page pages[GP_CP_PAGES];
	bool can_ask; /* whether memory may be written */
	u64 step;
	bool submitted; /* since the server was last woken */
	struct gp_vgpu_cp_kernels *kernels;
	struct gp_vgpu_compute *compute; /* execute.c; NULL until a kernel is executed */
	bool cannot_compute;
	u8 *scratchpad; /* GP_CP_SCRATCHPAD_BYTES, for fills */
	u64 active_ns;  /* when something last happened */
	u64 idle_ns;    /* polling interval without userfaultfd */
	u64 wait_ns;    /* polling interval while a ring waits for memory */
	u32 waits;      /* at that interval */
};

/* ---- cp.c ---- */

u64 gp_vgpu_cp_now(void); /* CLOCK_MONOTONIC_RAW */
int gp_vgpu_cp_start(struct gp_vgpu_cp *cp);
void gp_vgpu_cp_wake(struct gp_vgpu_cp *cp);
struct gp_vgpu_cp *gp_vgpu_cp_get(struct gp_vgpu_client *client);
/* A free record for this ring, or NULL when it has its share. */
struct gp_vgpu_cp_record *gp_vgpu_cp_record_take(struct gp_vgpu_cp *cp,
						 struct gp_vgpu_cp_ring *ring);
void gp_vgpu_cp_record_free(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_record *record);
/* Puts the record's work into the ring to the server; fills queue_id and tag. */
void gp_vgpu_cp_submit(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_record *record,
		       struct gp_vgpu_work *work);
/* The packet is over: its effects, its signal, and the record is free. */
void gp_vgpu_cp_complete(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_record *record,
			 const struct gp_vgpu_done *done);
/* One pass over everything: answers of the server, then rings. True if anything moved. */
bool gp_vgpu_cp_step(struct gp_vgpu_cp *cp);

/* ---- doorbell.c ---- */

void gp_vgpu_cp_doorbells_init(struct gp_vgpu_cp_doorbells *doorbells);
void gp_vgpu_cp_doorbells_forget(struct gp_vgpu_cp_doorbells *doorbells);
/* Takes the faults that came; the pages they were about are writable afterwards. */
bool gp_vgpu_cp_doorbells_faults(struct gp_vgpu_cp *cp);
/* Write-protects every mapping. False without userfaultfd. */
bool gp_vgpu_cp_doorbells_protect(struct gp_vgpu_cp *cp);
void gp_vgpu_cp_doorbells_release(struct gp_vgpu_cp *cp);

/* ---- access.c: memory as the GPU sees it ---- */

/*
 * CPU address of a few bytes that can be read now, or NULL. Valid for this step only: memory is
 * unmapped between two steps.
 */
void *gp_vgpu_cp_pointer(struct gp_vgpu_cp *cp, u32 gpu_id, u64 va, size_t size);
/* The same for memory that is about to be written; NULL where that is not allowed. */
void *gp_vgpu_cp_place(struct gp_vgpu_cp *cp, u32 gpu_id, u64 va, size_t size);
int gp_vgpu_cp_read(struct gp_vgpu_cp *cp, u32 gpu_id, u64 va, void *to, size_t size);
int gp_vgpu_cp_write(struct gp_vgpu_cp *cp, u32 gpu_id, u64 va, const void *from, size_t size);
/* On -EFAULT *fault is the address that was not mapped. */
int gp_vgpu_cp_copy(struct gp_vgpu_cp *cp, u32 gpu_id, u64 to, u64 from, u64 size, u64 *fault);
/* `count` times the pattern of 1..4096 bytes. */
int gp_vgpu_cp_fill(struct gp_vgpu_cp *cp, u32 gpu_id, u64 to, const void *pattern,
		    u32 pattern_bytes, u64 count, u64 *fault);
struct gp_vgpu_cp_box { /* a copy in up to three dimensions; bytes */
	u64 to, from;
	u64 width, height, depth;
	u64 to_pitch, to_slice, from_pitch, from_slice;
};
int gp_vgpu_cp_copy_box(struct gp_vgpu_cp *cp, u32 gpu_id, const struct gp_vgpu_cp_box *box,
			u64 *fault);

/* ---- signal.c ---- */

/* Completion: times, decrement, mailbox, event. start 0 = no times. Handle 0: nothing. */
int gp_vgpu_cp_signal_complete(struct gp_vgpu_cp *cp, u32 gpu_id, u64 handle, u64 start_raw_ns,
			       u64 end_raw_ns);
int gp_vgpu_cp_signal_store(struct gp_vgpu_cp *cp, u32 gpu_id, u64 handle, s64 value);
int gp_vgpu_cp_signal_load(struct gp_vgpu_cp *cp, u32 gpu_id, u64 handle, s64 *value);
/*
 * Reports an exception (enum gp_kfd_exception) of this ring's queue to the debugger or the runtime.
 * False: neither has asked for it.
 */
bool gp_vgpu_cp_exception(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, u32 exception);
/* Exceptions into the error payload of the queue's runtime, and its event. */
void gp_vgpu_cp_tell_runtime(struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_ring *ring, u64 mask);
/* The memory fault event, and the ring stops. */
void gp_vgpu_cp_fault(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, u64 va);

/* ---- aql.c, dispatch.c, sdma.c ---- */

/* Hands over the next packet; false if there is none or it has to wait. */
bool gp_vgpu_cp_aql_fetch(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring);
void gp_vgpu_cp_aql_launched(struct gp_vgpu_cp_ring *ring, const struct gp_vgpu_cp_record *record);
void gp_vgpu_cp_aql_completed(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
			      struct gp_vgpu_cp_record *record, const struct gp_vgpu_done *done);
/* queue_inactive_signal and the ring stops. */
void gp_vgpu_cp_queue_error(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, u32 code);
bool gp_vgpu_cp_amd_queue(const struct gp_vgpu_cp_ring *ring, struct gp_amd_queue *out);

enum gp_vgpu_cp_verdict {
	GP_CP_SUBMIT,    /* work is filled in */
	GP_CP_LATER,     /* the ring waits */
	GP_CP_ERROR_OUT, /* *error is the code to raise once the packet is at the head */
};
enum gp_vgpu_cp_verdict gp_vgpu_cp_dispatch(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
					    const struct gp_aql_dispatch *packet,
					    struct gp_vgpu_work *work, enum gp_vgpu_cp_blit *blit,
					    u32 *error);

bool gp_vgpu_cp_sdma_fetch(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring);
void gp_vgpu_cp_sdma_completed(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
			       struct gp_vgpu_cp_record *record, const struct gp_vgpu_done *done);

/* ---- pm4.c, pm4_dispatch.c, pm4_execute.c ---- */

bool gp_vgpu_cp_pm4_fetch(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring);
void gp_vgpu_cp_pm4_completed(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
			      struct gp_vgpu_cp_record *record, const struct gp_vgpu_done *done);
/* The dword at this place of an indirect buffer, or of the ring (0). */
u32 gp_vgpu_cp_pm4_word(struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_ring *ring, u64 buffer,
			u64 at);
u32 gp_vgpu_cp_pm4_words(u32 header); /* of the whole packet; 0 = no packet */
/* A register of compute was written. */
void gp_vgpu_cp_pm4_register(struct gp_vgpu_cp_ring *ring, u32 number, u32 value);
/* The dispatch whose sizes and initiator are `words`: its cost, and in *launch (NULL: nothing is
 * executed) what to execute. */
void gp_vgpu_cp_pm4_dispatch(struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_ring *ring,
			     const u32 words[4], struct gp_vgpu_work *work,
			     struct gp_isa_launch **launch);
/* Says why and where, and the queue stands still; the program learns of a hardware exception. */
void gp_vgpu_cp_pm4_stop(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, const char *why,
			 u64 where);

/* ---- kernel.c, kernel_name.c, kernel_arguments.c ---- */

struct gp_vgpu_cp_kernels *gp_vgpu_cp_kernels_new(struct gp_vgpu_client *client);
/* Finds ROCr with ld.so. For the thread that adds a queue, not for the CP thread. */
void gp_vgpu_cp_kernels_attach(struct gp_vgpu_cp_kernels *kernels);
/* -EFAULT for an object that is not mapped. */
int gp_vgpu_cp_kernel(struct gp_vgpu_cp *cp, u32 gpu_index, u64 object,
		      struct gp_vgpu_cp_kernel *out);

/* Where a name was found, to see whether it still holds. */
struct gp_vgpu_cp_name {
	char name[GP_GPUFILE_KERNEL_NAME]; /* without ".kd"; empty = not known */
	u64 node, load_address, uri;       /* of the link map in ROCr */
};
/* Address of _amdgpu_r_debug in ROCr, 0 = not loaded. Takes the lock of ld.so: not for the CP
 * thread. */
u64 gp_vgpu_cp_loader_find(void);
void gp_vgpu_cp_name_find(struct gp_vgpu_cp *cp, u32 gpu_id, u64 r_debug, u64 kernel_object,
			  struct gp_vgpu_cp_name *out);
bool gp_vgpu_cp_name_holds(const struct gp_vgpu_cp_name *name);
/*
 * Its arguments by the metadata of its code object: for each a letter (p pointer, v value, i image,
 * ? other) and its bytes, such as "p8 p8 v8 v4". False when there is no such metadata.
 */
#define GP_CP_LAYOUT 128
bool gp_vgpu_cp_arguments_find(struct gp_vgpu_cp *cp, u32 gpu_id,
			       const struct gp_vgpu_cp_name *name, char layout[GP_CP_LAYOUT]);

/* ---- blit.c, blit_hip.c, blit_image.c ---- */

/* Kernels of ROCr are recognised by their code, kernels of HIP by name and arguments. */
enum gp_vgpu_cp_blit gp_vgpu_cp_blit_by_code(const u32 *code, u32 words);
/* Whether code that is in no code object begins like those, whatever it goes on to do. */
bool gp_vgpu_cp_is_rocr(const u32 *code, u32 words);
bool gp_vgpu_cp_is_hip(const char *name);
/* GP_CP_BLIT_UNKNOWN for arguments that are not in the table. */
enum gp_vgpu_cp_blit gp_vgpu_cp_blit_by_name(const char *name, const char *layout);
#define GP_CP_BLIT_CODE_WORDS 12
/* Does what the kernel does. -EFAULT with *fault. */
int gp_vgpu_cp_blit(struct gp_vgpu_cp *cp, u32 gpu_id, enum gp_vgpu_cp_blit blit, u64 kernarg,
		    u64 *fault);
int gp_vgpu_cp_blit_hip(struct gp_vgpu_cp *cp, u32 gpu_id, enum gp_vgpu_cp_blit blit, u64 kernarg,
			u64 *fault);
int gp_vgpu_cp_blit_image(struct gp_vgpu_cp *cp, u32 gpu_id, enum gp_vgpu_cp_blit blit, u64 kernarg,
			  u64 *fault);
u32 gp_vgpu_cp_image_arguments(enum gp_vgpu_cp_blit blit); /* bytes */
/* Whether nothing that the kernel waits for is missing; -EFAULT with *fault. */
int gp_vgpu_cp_blit_ready(struct gp_vgpu_cp *cp, u32 gpu_id, enum gp_vgpu_cp_blit blit, u64 kernarg,
			  u64 *fault);

#endif
