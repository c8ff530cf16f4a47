/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for NVIDIA's resource manager with the real ABI: clients, objects and channels in a
 * shared file, without locks, because the real one's state does not break when a caller is stopped
 * or killed either. An open control device is a file of its own under DIR/open; its inode is what
 * the real manager's `struct file` is: a client is known on it and its copies only, and gone when
 * the last copy is closed (a lock on the open file tells).
 *
 * Processes meet in DIR; DIR/proc/driver/nvidia says what the driver would. Not modelled: memory,
 * the GPU's work (fake_cuda.c does that), time. A call never blocks.
 */
#ifndef GP_FAKE_RM_H
#define GP_FAKE_RM_H

#include <stdatomic.h>

#include "gpu/nvrm/port.h"

#define FAKE_OBJECTS 16384u
#define FAKE_FILES   8192u
#define FAKE_SWAPPED 64u

struct fake_object {
	_Atomic u32 live; /* 0: never used, 1: there, 2: freed */
	u32 client, handle, parent, class_id;
	_Atomic u32 disabled; /* channels; a futex */
	_Atomic u64 timeslice;
};

struct fake_rm {
	_Atomic u32 clients, object_count, file_count; /* made so far */
	_Atomic u64 inodes[FAKE_FILES];                /* of open control devices */
	u32 client_file[FAKE_OBJECTS];                 /* by client number: its file */
	_Atomic u64 calls, switches, slices;           /* ioctls; DISABLE_CHANNELS; SET_TIMESLICE */
	_Atomic u32 bad;           /* calls that the project promised not to make */
	_Atomic u32 disable_size;  /* of DISABLE_CHANNELS; another is INVALID_PARAM_STRUCT */
	_Atomic u32 fail_disables; /* so many calls that stop time out after they stopped half */
	_Atomic u32 fail_slices;   /* so many calls that set a timeslice are refused */
	_Atomic u32 lose_slices;   /* so many are answered with OK and change nothing */
	/* The next call that stops raises SIGSTOP in its caller first (1), or also after (2). */
	_Atomic u32 stop_in_call;
	/* The event buffer, see fake_events.h. */
	_Atomic u32 deny_events; /* enum fake_deny */
	_Atomic u32 event_get, event_sequence, event_binds, event_flushes;
	/* Processes whose memory is moved, see fake_checkpoint.c. */
	_Atomic u32 swap_fault;  /* step * 10 + enum fake_swap_fault */
	_Atomic u32 swap_helper; /* the helper that stands still there */
	_Atomic u32 endless;     /* work does not end */
	_Atomic u64 vram_used, vram_free;
	_Atomic u32 gpus;  /* that NVML counts; 0: one */
	_Atomic u32 blind; /* so many times the state after an odd number of changes is not read */
	struct fake_swapped {
		_Atomic u32 pid, state, changes;
	} swapped[FAKE_SWAPPED];
	struct fake_object objects[FAKE_OBJECTS];
};

enum fake_swap_step {
	FAKE_STEP_LOCK = 1,
	FAKE_STEP_CHECKPOINT,
	FAKE_STEP_RESTORE,
	FAKE_STEP_UNLOCK
};
/* FAILS_LATE: it is done, and its call says that it failed. */
enum fake_swap_fault {
	FAKE_SWAP_FAILS = 1,
	FAKE_SWAP_BEFORE,
	FAKE_SWAP_AFTER,
	FAKE_SWAP_FAILS_LATE
};

enum fake_deny {
	FAKE_DENY_NOTHING,
	FAKE_DENY_USERS, /* switches of all users */
	FAKE_DENY_ALL,
	FAKE_DENY_OLD,   /* this GPU has no such thing */
	FAKE_DENY_TIME,  /* the GPU's time */
	FAKE_DENY_FLUSH, /* from now on */
};

struct fake {
	struct gp_nvrm_port port; /* first: a port is a fake */
	struct fake_rm *rm;
	char dir[96];
};

/* A new manager in a new directory under /tmp; `branch` as in "580.159.04". */
int fake_create(struct fake *fake, const char *branch);
/* The one in `dir`, from another process. */
int fake_join(struct fake *fake, const char *dir);
/* From now on it is asked through libc, as libcuda does, where preloaded libraries see it. */
void fake_through_libc(struct fake *fake);
void fake_leave(struct fake *fake);
/* Leaves it and removes the directory. */
void fake_destroy(struct fake *fake);

/* What a CUDA program does to get a context, in its own process. Counted objects: 1 device, 1
 * subdevice (2 MIG references), 1 group of 8 compute channels, 3 groups of 4 copy channels. */
struct fake_program {
	int fd;
	u32 client, next; /* the next handle libcuda would use */
	u32 device, group, first;
};
int fake_program_start(struct fake *fake, struct fake_program *program);
int fake_program_context(struct fake *fake, struct fake_program *program, bool mig);
/* The same in two steps: libcuda sets the timeslice of a group with kernels some time after the
 * group has its channels. */
int fake_program_make(struct fake *fake, struct fake_program *program, bool mig);
int fake_program_slice(struct fake *fake, struct fake_program *program);
/* One more compute channel in the program's latest group. */
int fake_program_channel(struct fake *fake, struct fake_program *program);
/* One more group of 4 copy channels on the program's latest device. */
int fake_program_copier(struct fake *fake, struct fake_program *program);
/* Allocates and frees objects, so that handles are skipped. */
int fake_program_churn(struct fake *fake, struct fake_program *program, u32 count);
/* Frees the latest context's objects. */
int fake_program_free(struct fake *fake, struct fake_program *program);

/* How many live channels there are of compute groups (or of the others), and how many stopped. */
struct fake_count {
	u32 compute, compute_stopped, copy, copy_stopped;
};
struct fake_count fake_channels(const struct fake *fake);
/* Sleeps until nothing is stopped; false after a minute. */
bool fake_await_running(const struct fake *fake);
/* Sleeps until something is; false after a minute. */
bool fake_await_stopped(const struct fake *fake);
/* The `index`-th live compute group's timeslice; 0: there is none. */
u64 fake_timeslice(const struct fake *fake, u32 index);
/* How many control devices are open, copies not counted. */
u32 fake_open_files(const struct fake *fake);

#endif
