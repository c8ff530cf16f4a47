/* SPDX-License-Identifier: MIT */
/*
 * Which of the driver's rules hold for a GPU, by its gfx version and firmware. Sources: Linux 6.12
 * amdkfd kfd_priv.h (KFD_IS_SOC15), kfd_debug.h (GWS and CWSR beside a debugger),
 * amdgpu_discovery.c (which parts have MES).
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

/* Older parts cannot be debugged. */
static inline bool gp_driver_is_soc15(u32 gfx)
{
	return gfx >= 90000;
}

/* The firmware takes queues off one by one, not the whole runlist. */
static inline bool gp_driver_has_mes(u32 gfx)
{
	return gfx >= 110000;
}

/* Whether a process may hold global wave sync and have a debugger. */
static inline bool gp_driver_debugs_gws(u32 gfx, u32 mec_firmware)
{
	if (gfx == 90000)
		return mec_firmware >= 0x81b6;
	if (gfx < 90008)
		return mec_firmware >= 0x1b6;
	if (gfx == 90008)
		return mec_firmware >= 0x30;
	return gfx < 100100 || gfx >= 120000;
}

#endif
