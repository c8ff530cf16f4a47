/* SPDX-License-Identifier: MIT */
/* What the amdgpu driver measures of a GPU: memory, power, temperature, clock. Missing is missing.
 */
#ifndef GP_INSPECT_SENSORS_H
#define GP_INSPECT_SENSORS_H

#include "base/file.h"
#include "gpu/gpu.h"

enum gp_inspect_sensor {
	GP_SENSOR_VRAM_USED = 1u << 0,
	GP_SENSOR_VRAM_TOTAL = 1u << 1,
	GP_SENSOR_POWER = 1u << 2,
	GP_SENSOR_TEMPERATURE = 1u << 3,
	GP_SENSOR_CLOCK = 1u << 4,
};

struct gp_inspect_sensors {
	u32 valid; /* enum gp_inspect_sensor */
	u64 vram_used, vram_total;
	u64 power_uw, temperature_mc, clock_hz;
};

void gp_inspect_sensors_read(const struct gp_root *root, const struct gp_gpu *gpu,
			     struct gp_inspect_sensors *out);
/* "0000:03:00.0"; "" if it is not known. */
void gp_inspect_pci_address(const struct gp_gpu *gpu, char *out, size_t size);

#endif
