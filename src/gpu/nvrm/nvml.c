// SPDX-License-Identifier: MIT
#include "gpu/nvrm/nvml.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "gpu/gpu.h"

enum { INTERVAL_MS = 1000, SENSOR_GPU = 0, CLOCK_SM = 1 }; /* the latter two: nvml.h */

static bool take(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

bool gp_nvrm_nvml_load(struct gp_nvrm_nvml *nvml)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	take(library, "nvmlDeviceGetPowerUsage", &nvml->power);
	take(library, "nvmlDeviceGetTemperature", &nvml->temperature);
	take(library, "nvmlDeviceGetClockInfo", &nvml->clock);
	return take(library, "nvmlInit_v2", &nvml->init) &&
	       take(library, "nvmlDeviceGetCount_v2", &nvml->count) &&
	       take(library, "nvmlDeviceGetHandleByIndex_v2", &nvml->device) &&
	       take(library, "nvmlDeviceGetComputeRunningProcesses_v3", &nvml->processes) &&
	       take(library, "nvmlDeviceGetMemoryInfo", &nvml->memory) &&
	       take(library, "nvmlDeviceGetMinorNumber", &nvml->minor) && nvml->init() == 0;
}

static void report_device(const struct gp_nvrm_nvml *nvml, void *device,
			  struct gp_nvrm_nvml_process *processes)
{
	struct gp_nvrm_nvml_memory memory;
	u32 minor, count = GP_NVRM_NVML_PROCESSES, milliwatts, celsius, mhz;

	if (nvml->minor(device, &minor) || nvml->memory(device, &memory))
		return;
	if (!nvml->power || nvml->power(device, &milliwatts))
		milliwatts = 0;
	if (!nvml->temperature || nvml->temperature(device, SENSOR_GPU, &celsius))
		celsius = 0;
	if (!nvml->clock || nvml->clock(device, CLOCK_SM, &mhz))
		mhz = 0;
	printf("gpu %u %llu %llu %u %u %u\n", GP_GPU_NVIDIA + minor,
	       (unsigned long long)memory.total, (unsigned long long)memory.free, milliwatts,
	       celsius, mhz);
	if (nvml->processes(device, &count, processes))
		return;
	for (u32 i = 0; i < count && i < GP_NVRM_NVML_PROCESSES; i++) {
		if (processes[i].bytes != UINT64_MAX)
			printf("process %u %llu\n", processes[i].pid,
			       (unsigned long long)processes[i].bytes);
	}
}

int gp_nvrm_nvml_report(void)
{
	static struct gp_nvrm_nvml_process processes[GP_NVRM_NVML_PROCESSES];
	struct pollfd input = {.fd = 0, .events = POLLIN};
	struct gp_nvrm_nvml nvml;
	void *device;
	u32 count;

	prctl(PR_SET_NAME, "gpreemptd");
	if (!gp_nvrm_nvml_load(&nvml)) {
		printf("none\n");
		return 1;
	}
	do {
		count = 0;
		if (nvml.count(&count))
			return 1;
		for (u32 i = 0; i < count; i++) {
			if (nvml.device(i, &device) == 0)
				report_device(&nvml, device, processes);
		}
		printf("end\n");
		if (fflush(stdout))
			return 1;
	} while (poll(&input, 1, INTERVAL_MS) == 0);
	return 0;
}
