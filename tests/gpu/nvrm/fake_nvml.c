// SPDX-License-Identifier: MIT
/* As much of NVML as gpreempt asks: every process has the same memory on
 * the first GPU. */
#include <stdlib.h>

#include "fake.h"

#define FUNCTION(symbol, arguments) \
	int symbol arguments;       \
	int symbol arguments

static struct fake fake;

FUNCTION(nvmlInit_v2, (void))
{
	return fake_join(&fake, getenv("GPREEMPT_FAKE_NVIDIA"));
}

FUNCTION(nvmlDeviceGetCount_v2, (u32 * count))
{
	*count = atomic_load(&fake.rm->gpus) ? atomic_load(&fake.rm->gpus) : 1;
	return 0;
}

FUNCTION(nvmlDeviceGetHandleByIndex_v2, (u32 index, void **device))
{
	/* Processes are on the first one. */
	*device = index ? NULL : &fake;
	return 0;
}

FUNCTION(nvmlDeviceGetComputeRunningProcesses_v3, (void *device, u32 *count, void *processes))
{
	struct process {
		u32 pid, pad;
		u64 bytes;
		u32 instance[2];
	} *out = processes;
	u32 room = *count;

	*count = 0;
	for (u32 i = 0; device && i < FAKE_SWAPPED && *count < room; i++) {
		u32 pid = atomic_load(&fake.rm->swapped[i].pid);

		if (pid && atomic_load(&fake.rm->swapped[i].state) != 2)
			out[(*count)++] =
				(struct process){pid, 0, atomic_load(&fake.rm->vram_used), {0}};
	}
	return 0;
}

FUNCTION(nvmlDeviceGetMinorNumber, (void *device, u32 *minor))
{
	*minor = !device;
	return 0;
}

FUNCTION(nvmlDeviceGetPowerUsage, (void *device, u32 *milliwatts))
{
	(void)device;
	*milliwatts = 523400;
	return 0;
}

/* Not on this GPU. */
FUNCTION(nvmlDeviceGetTemperature, (void *device, u32 sensor, u32 *celsius))
{
	(void)device, (void)sensor, (void)celsius;
	return 3;
}

FUNCTION(nvmlDeviceGetClockInfo, (void *device, u32 which, u32 *mhz))
{
	(void)device;
	*mhz = which == 1 ? 1785 : 0;
	return 0;
}

FUNCTION(nvmlDeviceGetMemoryInfo, (void *device, u64 *memory))
{
	(void)device;
	memory[0] = 100ull << 30;
	memory[1] = atomic_load(&fake.rm->vram_free);
	memory[2] = memory[0] - memory[1];
	return 0;
}
