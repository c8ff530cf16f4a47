/* SPDX-License-Identifier: MIT */
/*
 * The protocol between the preload library in each client process and the server of a virtual
 * machine. Control goes over a Unix socket (SOCK_SEQPACKET), one request or reply per message;
 * packets of GPU work go over two rings in memory that the server shares with that client alone.
 *
 * The server trusts nothing in it: every field is checked, every index is reduced, and a client
 * that violates the protocol loses its connection and its queues; other clients are not affected.
 */
#ifndef GP_VGPU_WIRE_H
#define GP_VGPU_WIRE_H

#include "gpufile/kernels.h"

#define GP_VGPU_VERSION       3
#define GP_VGPU_ENV           "GPREEMPT_VGPU" /* directory of the virtual GPU */
#define GP_VGPU_SOCKET        "socket"        /* in that directory */
#define GP_VGPU_ROOT          "root"          /* its sys/, proc/, dev/ tree, in that directory */
#define GP_VGPU_KERNELS       "kernels.bin" /* sorted struct gp_gpufile_kernel[], in that directory */
#define GP_VGPU_HANDLER       "handler.bin" /* there if waves are saved by the driver's trap handler: */
#define GP_VGPU_HANDLER_BYTES 16384u        /* that of gfx90a, and behind it that of gfx942 */
#define GP_VGPU_COMPUTES      "compute"     /* in that directory if kernels are executed */
#define GP_VGPU_COMPUTE_ENV   "GPREEMPT_VGPU_COMPUTE" /* set in programs, then */
#define GP_VGPU_MAX_GPUS      8
#define GP_VGPU_ARGS_MAX      128         /* the largest KFD argument struct is 120 bytes */
#define GP_VGPU_PAYLOAD_MAX   (96u << 10) /* 1024 queue snapshots of 64 bytes, and room */
#define GP_VGPU_MAX_QUEUES    1024        /* per process: KFD_MAX_NUM_OF_QUEUES_PER_PROCESS */

enum gp_vgpu_kind {
	/*
	 * First message of a connection. payload: struct gp_vgpu_hello. token 0: a new process;
	 * reply payload: struct gp_vgpu_welcome, with three descriptors: shared memory, one to
	 * write to when work is in the ring, one to read from when dones are (the same end of a
	 * socket pair, so that neither side can make the other block). A token of this same
	 * process: one more connection, for another thread.
	 */
	GP_VGPU_HELLO = 1,
	/* One KFD ioctl. ioctl_nr and args; payload holds the arrays the struct points to, as
	 * each ioctl says below. result: the return value of ioctl() or -errno. args always come
	 * back. */
	GP_VGPU_IOCTL,
	/* The request with this sequence on this connection was interrupted by a signal. Its reply
	 * still comes: its result if it finished, -EINTR if it was given up. */
	GP_VGPU_CANCEL,
	/* payload: an absolute path (sysfs or debugfs). The server brings that file, or directory,
	 * up to date in the tree before it answers. */
	GP_VGPU_REFRESH,
	/* Sent by `gpreempt vgpu`, not by clients. STATUS: reply payload is JSON text. */
	GP_VGPU_STATUS,
	GP_VGPU_STOP,
	/* payload: struct gp_vgpu_exception: the command processor met an error. result: enum
	 * gp_vgpu_told. */
	GP_VGPU_EXCEPTION,
	/* Sent by tests. payload: struct gp_vgpu_clock. Goes on by itself when the connection that
	 * held the clock closes. */
	GP_VGPU_CLOCK,
	/* payload: struct gp_vgpu_migration, for clients that read SMI events. */
	GP_VGPU_MIGRATED,
};

/* An SVM range moved; locations are 0 (system memory) or GPUs. */
struct gp_vgpu_migration {
	u64 page, pages;
	u32 from, to;
	u32 prefetch, preferred;
};

struct gp_vgpu_exception {
	u32 queue_id, gpu_id;
	u32 code; /* enum gp_kfd_exception: of the queue, or DEVICE_MEMORY_VIOLATION */
	u32 pad;
};

enum gp_vgpu_told {
	GP_VGPU_TELL_OLD,     /* events, as without a debugger */
	GP_VGPU_TELL_RUNTIME, /* the error payload of the runtime */
	GP_VGPU_TOLD,         /* nowhere: the server informed the debugger */
};

/* The machine's time: nothing on its GPUs happens after `until_ns` from now, whatever the clock
 * of the host says. ~0 = no such limit. */
struct gp_vgpu_clock {
	u64 until_ns; /* model time */
};

/*
 * Payloads of GP_VGPU_IOCTL (in -> out), where pointers in args are ignored by the server:
 *   SET_CU_MASK               u32 mask words -> none
 *   DBG_TRAP SUSPEND/RESUME   u32 queue ids -> the same array with its result bits
 *   DBG_TRAP ENABLE           none (dbg_fd travels as a descriptor) -> struct kfd_runtime_info
 *   DBG_TRAP *_SNAPSHOT       none -> entries, entry_size each, at most num_* of them
 *   DBG_TRAP QUERY_EXCEPTION_INFO  none -> info
 *   SMI_EVENTS                none -> none (the event descriptor travels in the reply)
 *   GET_QUEUE_WAVE_STATE      none -> none
 *   FREE_MEMORY_OF_GPU        struct gp_vgpu_free when the object was VRAM -> none
 *   CRIU_OP                   s32: the process that opened the descriptor -> none
 *   GET_CLOCK_COUNTERS        none; the client asks to wait for its turn, and answers it itself
 *   others                    none
 */
struct gp_vgpu_header {
	u32 version;
	u32 kind;     /* enum gp_vgpu_kind */
	u32 sequence; /* chosen by the client, unique on its connection while under way */
	s32 tid;      /* of the calling thread; checked against the process */
	u32 ioctl_nr;
	u32 args_size;
	u32 payload_size;
	u32 flags; /* enum gp_vgpu_flag */
	u8 args[GP_VGPU_ARGS_MAX];
	/* payload follows */
};

enum gp_vgpu_flag {
	GP_VGPU_NULL_ARRAY = 1u << 0, /* the array pointer in args was NULL */
	GP_VGPU_BAD_ARRAY = 1u << 1,  /* it pointed nowhere: -EFAULT, where the driver copies it */
};

struct gp_vgpu_reply {
	u32 sequence;
	s32 result;
	u32 args_size;
	u32 payload_size;
	u8 args[GP_VGPU_ARGS_MAX];
	/* payload follows */
};

struct gp_vgpu_hello {
	u64 token;
	u32 secondary; /* with token 0: one more KFD process of the same pid (CREATE_PROCESS) */
	u32 pad;
};

/* Only the client knows the object behind a handle. */
struct gp_vgpu_free {
	u64 bytes;
	u32 gpu_id, pad;
};

/* The facts about one GPU that a client needs; it reads the rest from the tree. */
struct gp_vgpu_gpu {
	u32 gpu_id;
	u32 render_minor;
	u32 device_id;
	u32 pci_revision;
	u32 gfx_version;
	u32 cu_count, xcc_count; /* as presented */
	u32 wave_size;
	u64 vram_bytes;
	u64 cwsr_bytes; /* per XCC, what CREATE_QUEUE must cover */
	u32 ctl_stack_bytes;
	u32 debug_bytes; /* per XCC, after the save areas */
	char name[64];
};

struct gp_vgpu_welcome {
	u64 token;
	u32 gpu_count;
	u32 kfd_minor;      /* reported by GET_VERSION */
	u32 strict;         /* CREATE_QUEUE checks buffers as 6.12 does (personality native) */
	u32 runtime_enable; /* the client calls RUNTIME_ENABLE itself when it opens /dev/kfd */
	u32 compute;        /* kernels are executed; otherwise only time passes */
	u32 pad;
	u64 shared_bytes;
	u64 raw_epoch_ns;   /* CLOCK_MONOTONIC_RAW at model time 0 */
	u64 speed_permille; /* model nanoseconds per 1000 real ones */
	struct gp_vgpu_gpu gpus[GP_VGPU_MAX_GPUS];
};

/* ---- shared memory ---- */

#define GP_VGPU_WORK_SLOTS 4096 /* also the most packets a process may have under way */
#define GP_VGPU_DONE_SLOTS 8192 /* a launch and a completion for each of those */

enum gp_vgpu_work_flag {
	GP_VGPU_BARRIER = 1u << 0,
	GP_VGPU_KERNEL = 1u << 1, /* occupies CUs */
};

/* One packet, client to server. `tag` is the client's; it comes back in both of its dones. */
struct gp_vgpu_work {
	u32 queue_id; /* the KFD id */
	u32 flags;
	u64 tag;
	u64 workgroups;
	u64 workgroup_ns; /* model time */
	u64 bytes;        /* SDMA */
	u32 waves_per_workgroup;
	u32 vgprs;
	u32 lds_bytes;
	u32 reserved;
};

enum gp_vgpu_done_kind {
	GP_VGPU_LAUNCHED = 1,
	GP_VGPU_COMPLETED = 2,
	GP_VGPU_RESET = 3,  /* the GPU whose index `tag` is was reset; its queues are lost */
	GP_VGPU_PASSED = 4, /* a debugger passes exceptions on: `tag` is their mask, of queue_id */
	GP_VGPU_FAULT = 5,  /* and a memory violation of the GPU whose index `tag` is */
};

struct gp_vgpu_done {
	u32 queue_id;
	u32 kind;
	u64 tag;
	u64 start_raw_ns, end_raw_ns; /* CLOCK_MONOTONIC_RAW; COMPLETED only */
};

/*
 * Single producer, single consumer. Indices run freely and are reduced modulo the slots; a
 * consumer that finds more than the slots between them has met a liar.
 */
struct gp_vgpu_ring {
	_Alignas(64) u32 produced; /* written by the producer, released after the slots */
	_Alignas(64) u32 consumed;
};

/* The client's command processor publishes what debugfs shows and only it can see. */
struct gp_vgpu_mirror {
	u64 write_index; /* packets (AQL) or bytes (SDMA) the application has announced */
	u64 read_index;  /* and those that were launched */
	/* Where clients execute kernels. `off` is written by the server, and odd while the queue is
	 * off the hardware; the client repeats it when no wave of the queue executes any more. */
	u32 off, off_seen;
	u32 saved_stack, saved_waves; /* bytes of both in the save area of the first XCC; before
				       * off_seen */
};

/*
 * Locks of the process that a request under way holds in the driver. Calls that the client answers
 * itself and that take one of them wait for their turn in the server.
 */
enum gp_vgpu_lock {
	GP_VGPU_LOCK_PROCESS = 1u << 0, /* kfd_process.mutex */
	GP_VGPU_LOCK_EVENTS = 1u << 1,  /* kfd_process.event_mutex: a SUSPEND holds it */
};

struct gp_vgpu_shared {
	struct gp_vgpu_ring work_ring, done_ring;
	struct gp_vgpu_work work[GP_VGPU_WORK_SLOTS];
	struct gp_vgpu_done done[GP_VGPU_DONE_SLOTS];
	struct gp_vgpu_mirror mirrors[GP_VGPU_MAX_QUEUES];
	u32 locks;           /* enum gp_vgpu_lock; written by the server */
	u32 buffers, events; /* objects the process has; written by the client */
};

_Static_assert(sizeof(struct gp_vgpu_header) == 32 + GP_VGPU_ARGS_MAX, "request layout");
_Static_assert(sizeof(struct gp_vgpu_reply) == 16 + GP_VGPU_ARGS_MAX, "reply layout");
_Static_assert(sizeof(struct gp_vgpu_work) == 56, "work layout");
_Static_assert(sizeof(struct gp_vgpu_done) == 32, "done layout");

#endif
