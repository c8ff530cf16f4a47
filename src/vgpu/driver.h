/* SPDX-License-Identifier: MIT */
/*
 * Rules of the driver that depend on its parameters or on the GPU. Sources: Linux 6.12 amdgpu_drv.c
 * (sched_policy) and amdkfd kfd_debug.h (GWS beside a debugger).
 */
#ifndef GP_VGPU_DRIVER_H
#define GP_VGPU_DRIVER_H

#include "base/types.h"

/* amdgpu.sched_policy. */
enum gp_vgpu_sched_policy {
	GP_POLICY_HWS,              /* the hardware scheduler */
	GP_POLICY_NO_OVERSUBSCRIBE, /* the same, never with more than fits */
	GP_POLICY_NO_HWS,           /* the driver loads queues itself; no debugging */
};

/* Whether a process may hold global wave sync and have a debugger. */
static inline bool gp_driver_debugs_gws(u32 gfx, u32 mec_firmware)
{
	if (gfx == 90000)
		return mec_firmware >= 0x81b6;
	if (gfx < 90008)
		return mec_firmware >= 0x1b6;
	if (gfx == 90008)
		return mec_firmware >= 0x30;
	return true;
}

#endif
