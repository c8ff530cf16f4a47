/* SPDX-License-Identifier: MIT */
/*
 * amd_signal_t: an HSA signal as the GPU completes it. A handle is its address. Layout of
 * amd_hsa_signal.h, ROCr 5.2.3 (unchanged up to ROCm 6).
 */
#ifndef GP_ABI_AMD_SIGNAL_H
#define GP_ABI_AMD_SIGNAL_H

#include <stddef.h>

#include <stdint.h>

struct gp_amd_signal {
	int64_t kind;
	int64_t value;
	uint64_t event_mailbox; /* 0: no thread sleeps on it */
	uint32_t event_id;
	uint32_t reserved1;
	uint64_t start_ts, end_ts; /* GPU clock */
	uint64_t queue;
	uint32_t reserved3[2];
};
_Static_assert(sizeof(struct gp_amd_signal) == 64, "amd_signal_t");
_Static_assert(offsetof(struct gp_amd_signal, value) == 8, "signal value");
_Static_assert(offsetof(struct gp_amd_signal, event_mailbox) == 16, "signal mailbox");
_Static_assert(offsetof(struct gp_amd_signal, event_id) == 24, "signal event");
_Static_assert(offsetof(struct gp_amd_signal, start_ts) == 32, "signal start");
_Static_assert(offsetof(struct gp_amd_signal, end_ts) == 40, "signal end");

#define GP_GPU_CLOCK_NS 10 /* the GPU's counter runs at 100 MHz */

#endif
