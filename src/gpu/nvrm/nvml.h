/* SPDX-License-Identifier: MIT */
/*
 * As much of NVML as is used: memory and sensors of GPUs, the memory of processes on them. It is
 * loaded where it is needed, which is never in a program that goes on afterwards: gp-swap and the
 * helper of gpreemptd.
 */
#ifndef GP_GPU_NVRM_NVML_H
#define GP_GPU_NVRM_NVML_H

#include "base/types.h"

enum { GP_NVRM_NVML_PROCESSES = 1024 };

/* nvml.h: nvmlProcessInfo_t and nvmlMemory_t */
struct gp_nvrm_nvml_process {
	u32 pid, pad;
	u64 bytes; /* UINT64_MAX: not known */
	u32 gpu_instance, compute_instance;
};
struct gp_nvrm_nvml_memory {
	u64 total, free, used;
};

struct gp_nvrm_nvml {
	int (*init)(void);
	int (*count)(u32 *count);
	int (*device)(u32 index, void **device);
	int (*processes)(void *device, u32 *count, struct gp_nvrm_nvml_process *processes);
	int (*memory)(void *device, struct gp_nvrm_nvml_memory *memory);
	int (*minor)(void *device, u32 *minor);
	/* The rest may be missing, or fail on some GPUs. */
	int (*power)(void *device, u32 *milliwatts);
	int (*temperature)(void *device, u32 sensor, u32 *celsius);
	int (*clock)(void *device, u32 which, u32 *mhz);
};

/* Loads and initialises it. False: it is not there. */
bool gp_nvrm_nvml_load(struct gp_nvrm_nvml *nvml);

/* Prints what it knows of all GPUs and processes on standard output, once per second, until
 * standard input ends: "gpu ID TOTAL FREE MILLIWATTS CELSIUS MHZ" (bytes; of the others 0 is not
 * known), "process PID BYTES", "end". Returns the exit status. */
int gp_nvrm_nvml_report(void);

#endif
