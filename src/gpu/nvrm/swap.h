/* SPDX-License-Identifier: MIT */
/*
 * Moving the GPU memory of a CUDA process to host memory and back, with the checkpoint functions of
 * libcuda (driver 570 or later). Each call forks a helper that loads libcuda and acts on the other
 * process, so that the caller never contains it. inspect/ passes it on to the commands.
 *
 * A process is RUNNING, LOCKED (its CUDA calls wait) or CHECKPOINTED (its GPU memory is free). The
 * state belongs to the process: whatever dies, the next gp_nvrm_swap_back() brings it back.
 */
#ifndef GP_GPU_NVRM_SWAP_H
#define GP_GPU_NVRM_SWAP_H

#include "base/file.h"
#include "base/types.h"

enum gp_nvrm_swap_state { GP_SWAP_RUNNING, GP_SWAP_LOCKED, GP_SWAP_CHECKPOINTED, GP_SWAP_FAILED };

/* What a call was at when it ended. */
enum gp_nvrm_swap_step {
	GP_SWAP_LOAD, /* libcuda */
	GP_SWAP_LOOK, /* state and memory */
	GP_SWAP_LOCK,
	GP_SWAP_CHECKPOINT,
	GP_SWAP_RESTORE,
	GP_SWAP_UNLOCK,
};

enum gp_nvrm_swap_field {
	GP_SWAP_STATE = 1u << 0,
	GP_SWAP_BYTES = 1u << 1,
	GP_SWAP_FREE = 1u << 2,
};

struct gp_nvrm_swap {
	u32 valid; /* enum gp_nvrm_swap_field */
	u32 state; /* enum gp_nvrm_swap_state, at the end */
	u32 step;  /* enum gp_nvrm_swap_step */
	u32 cuda;  /* error of CUDA at that step; 0: none */
	u64 bytes; /* of GPU memory that the process has */
	u64 free;  /* on all GPUs together, of a process that is swapped out */
	u64 took_ns;
};

/* Why a process cannot be swapped out, as far as it shows from outside. */
enum gp_nvrm_swap_refusal {
	GP_SWAP_POSSIBLE,
	GP_SWAP_MANAGED,    /* it has mapped managed memory (UVM) */
	GP_SWAP_COLLECTIVE, /* it takes part in collectives of NCCL */
};

enum gp_nvrm_swap_refusal gp_nvrm_swap_refusal(const struct gp_root *root, u32 pid);

/* All return 0 or -errno: -ENOSYS: libcuda is missing or lacks the functions, -ETIME: the helper
 * did not end and was killed, -ECHILD: it died. *out is as far as it is known then. */
int gp_nvrm_swap_look(u32 pid, struct gp_nvrm_swap *out);
/* Locks (-ETIMEDOUT: its work does not end within lock_ms) and checkpoints. A failure unlocks. The
 * channels must run: the lock waits for work that was submitted. */
int gp_nvrm_swap_out(u32 pid, u32 lock_ms, struct gp_nvrm_swap *out);
/* Restores and unlocks, from whatever state. */
int gp_nvrm_swap_back(u32 pid, struct gp_nvrm_swap *out);

#endif
