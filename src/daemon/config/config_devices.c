// SPDX-License-Identifier: MIT
/* Sections of devices that the machine does not have: they change nothing, which would otherwise
 * stay unnoticed. Not a mistake, because one file may serve several machines. */
#include <string.h>

#include "base/parse.h"
#include "daemon/config/config.h"

static bool has(const struct gp_daemon_config_gpu *gpus, size_t count,
		const struct gp_daemon_config_device *device)
{
	for (size_t i = 0; i < count; i++)
		if (gp_daemon_config_is_device(device, gpus[i].gpu_id, gpus[i].node))
			return true;
	return false;
}

/* Ids are printed in hexadecimal: a number may have been copied without its "0x". */
static u32 meant(const struct gp_daemon_config_gpu *gpus, size_t count, const char *digits)
{
	const char *p = digits, *end = digits + strlen(digits);
	u64 number;

	if (!gp_parse_hex(&p, end, &number) || p != end)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (gpus[i].gpu_id == number)
			return gpus[i].gpu_id;
	return 0;
}

static void warn(const struct gp_daemon_config_device *device,
		 const struct gp_daemon_config_gpu *gpus, size_t count, struct gp_diag *diag)
{
	u32 other = meant(gpus, count, device->name);
	u64 number = 0;

	if (!gp_argument_u64(device->name, &number))
		gp_diag(diag, GP_WARNING,
			"[device %s] has no effect: no GPU of this machine has that node",
			device->name);
	else if (other)
		gp_diag(diag, GP_WARNING,
			"[device %s] has no effect: this machine has no GPU 0x%x; did you mean "
			"[device 0x%x]?",
			device->name, (u32)number, other);
	else
		gp_diag(diag, GP_WARNING,
			"[device 0x%x] has no effect: this machine has no such GPU; 'gpreempt "
			"doctor' lists its GPUs",
			(u32)number);
}

u32 gp_daemon_config_absent(const struct gp_daemon_config *config,
			    const struct gp_daemon_config_gpu *gpus, size_t count,
			    struct gp_diag *diag)
{
	u32 absent = 0;

	for (size_t i = 1; i < config->device_count; i++) {
		if (has(gpus, count, &config->devices[i]))
			continue;
		warn(&config->devices[i], gpus, count, diag);
		absent++;
	}
	return absent;
}
