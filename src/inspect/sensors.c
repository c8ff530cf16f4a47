// SPDX-License-Identifier: MIT
#include "inspect/sensors.h"

#include <stdio.h>
#include <string.h>

void gp_inspect_pci_address(const struct gp_gpu *gpu, char *out, size_t size)
{
	*out = '\0';
	if (gpu->valid & GP_GPU_PCI)
		snprintf(out, size, "%04x:%02x:%02x.%x", gpu->pci_domain, gpu->pci_bus,
			 gpu->pci_device, gpu->pci_function);
}

/* The first hwmon directory of the device that has the file. */
static bool read_hwmon(const struct gp_root *root, const char *device, const char *file, u64 *value)
{
	struct gp_names names = {0};
	bool found = false;

	if (gp_root_list(root, &names, "/sys/bus/pci/devices/%s/hwmon", device))
		return false;
	for (size_t i = 0; i < names.count && !found; i++)
		found = gp_root_read_u64(root, value, "/sys/bus/pci/devices/%s/hwmon/%s/%s", device,
					 names.items[i], file) == 0;
	gp_names_free(&names);
	return found;
}

/* pp_dpm_sclk: "1: 1420Mhz *", where the star marks the current level. */
static bool read_level(const struct gp_root *root, const char *device, u64 *hz)
{
	struct gp_buf text = {0};
	char *line, *rest = NULL;
	bool found = false;
	unsigned int mhz;

	if (gp_root_read(root, 4096, &text, "/sys/bus/pci/devices/%s/pp_dpm_sclk", device))
		return false;
	for (line = text.data ? strtok_r(text.data, "\n", &rest) : NULL; line && !found;
	     line = strtok_r(NULL, "\n", &rest))
		found = strchr(line, '*') && sscanf(line, "%*u: %9uMhz", &mhz) == 1;
	if (found)
		*hz = mhz * 1000000ull;
	gp_buf_free(&text);
	return found;
}

static void note(struct gp_inspect_sensors *out, enum gp_inspect_sensor sensor, bool known)
{
	if (known)
		out->valid |= sensor;
}

void gp_inspect_sensors_read(const struct gp_root *root, const struct gp_gpu *gpu,
			     struct gp_inspect_sensors *out)
{
	char device[32];

	*out = (struct gp_inspect_sensors){0};
	gp_inspect_pci_address(gpu, device, sizeof(device));
	if (!*device)
		return;
	note(out, GP_SENSOR_VRAM_USED,
	     gp_root_read_u64(root, &out->vram_used, "/sys/bus/pci/devices/%s/mem_info_vram_used",
			      device) == 0);
	note(out, GP_SENSOR_VRAM_TOTAL,
	     gp_root_read_u64(root, &out->vram_total, "/sys/bus/pci/devices/%s/mem_info_vram_total",
			      device) == 0);
	note(out, GP_SENSOR_POWER,
	     read_hwmon(root, device, "power1_average", &out->power_uw) ||
		     read_hwmon(root, device, "power1_input", &out->power_uw));
	note(out, GP_SENSOR_TEMPERATURE,
	     read_hwmon(root, device, "temp1_input", &out->temperature_mc));
	note(out, GP_SENSOR_CLOCK,
	     read_hwmon(root, device, "freq1_input", &out->clock_hz) ||
		     read_level(root, device, &out->clock_hz));
}
