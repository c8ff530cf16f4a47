/* SPDX-License-Identifier: MIT */
/*
 * /dev/nvidiactl: the few calls of the NVIDIA resource manager that gpreempt makes, after the
 * headers of open-gpu-kernel-modules. The layouts below are the same, byte for byte, in 550.120,
 * 560.35.03, 565.57.01, 570.86.15 to 570.211.01, 575.51.02 to 575.64.05, 580.65.06 to 580.142,
 * 590.44.01 to 590.48.01 and 595.45.04; they ran on 580.159.04. Only GPFIFO_SCHEDULE changed
 * between those (2 bytes to 570, 3 from 575); it is not used, because it answers OK and stops
 * nothing.
 *
 * The ioctl returns 0 even when the resource manager refuses; its answer is `status`.
 */
#ifndef GP_ABI_NVRM_IOCTL_H
#define GP_ABI_NVRM_IOCTL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define GP_NV_SIZE(name, bytes) _Static_assert(sizeof(struct name) == (bytes), #name)
#define GP_NV_AT(name, field, at) \
	_Static_assert(offsetof(struct name, field) == (at), #name "." #field)

/* kernel-open/common/inc/nv-chardev-numbers.h */
#define GP_NV_MAJOR         195
#define GP_NV_MINOR_CONTROL 255

/* ---- escapes: _IOWR('F', nr, struct) ---- */

/* NVOS54_PARAMETERS */
struct gp_nv_control {
	uint32_t client, object, cmd, flags;
	uint64_t params;
	uint32_t params_size, status;
};
GP_NV_SIZE(gp_nv_control, 32);
GP_NV_AT(gp_nv_control, params, 16);
GP_NV_AT(gp_nv_control, status, 28);

/* NVOS21_PARAMETERS; NVOS64 (48 bytes) differs in the size of the ioctl */
struct gp_nv_alloc {
	uint32_t root, parent, object, class_id; /* object: in, or chosen by the manager */
	uint64_t params;
	uint32_t params_size, status;
};
GP_NV_SIZE(gp_nv_alloc, 32);
GP_NV_AT(gp_nv_alloc, params, 16);

/* NVOS64_PARAMETERS */
struct gp_nv_alloc64 {
	uint32_t root, parent, object, class_id;
	uint64_t params, rights;
	uint32_t params_size, flags, status, pad;
};
GP_NV_SIZE(gp_nv_alloc64, 48);
GP_NV_AT(gp_nv_alloc64, status, 40);

/* NVOS00_PARAMETERS */
struct gp_nv_free {
	uint32_t root, parent, object, status;
};
GP_NV_SIZE(gp_nv_free, 16);

#define GP_NV_IOC_FREE    _IOWR('F', 0x29, struct gp_nv_free)
#define GP_NV_IOC_CONTROL _IOWR('F', 0x2a, struct gp_nv_control)
#define GP_NV_IOC_ALLOC   _IOWR('F', 0x2b, struct gp_nv_alloc)
#define GP_NV_IOC_ALLOC64 _IOWR('F', 0x2b, struct gp_nv_alloc64)
_Static_assert(GP_NV_IOC_CONTROL == 0xc020462a && GP_NV_IOC_ALLOC == 0xc020462b &&
		       GP_NV_IOC_ALLOC64 == 0xc030462b && GP_NV_IOC_FREE == 0xc0104629,
	       "escape numbers");

/* ---- handles ---- */

/* Clients of all processes are numbered from here and start over after 2^20 (resserv.h,
 * rs_server.c), so the newest client's number bounds all others. */
#define GP_NV_CLIENT_BASE  0xc1d00000u
#define GP_NV_CLIENT_COUNT 0x100000u
/* libcuda numbers its objects on from here in each client (seen); handles that the manager chooses
 * start at the second (client.c). */
#define GP_NV_OBJECT_BASE 0x5c000000u
#define GP_NV_UNIQUE_BASE 0xcaf00000u

/* ---- classes ---- */

#define GP_NV_CLASS_ROOT      0x0000u /* NV01_ROOT */
#define GP_NV_CLASS_CLIENT    0x0041u /* NV01_ROOT_CLIENT */
#define GP_NV_CLASS_DEVICE    0x0080u
#define GP_NV_CLASS_SUBDEVICE 0x2080u
#define GP_NV_CLASS_GROUP     0xa06cu /* a channel group (TSG) */
#define GP_NV_CLASS_PARTITION 0xc637u /* MIG: AMPERE_SMC_PARTITION_REF */
#define GP_NV_CLASS_CHANNEL_H 0xc86fu /* HOPPER_CHANNEL_GPFIFO_A */
#define GP_NV_CLASS_COMPUTE_H 0xcbc0u /* HOPPER_COMPUTE_A */
#define GP_NV_CLASS_COPY_H    0xc8b5u /* HOPPER_DMA_COPY_A */
#define GP_NV_CLASS_MEMORY    0x0040u /* NV01_MEMORY_LOCAL_USER */

/* GF100_CHANNEL_GPFIFO 906f, then a06f ... c96f: one per architecture, all ending in 6f. */
static inline int gp_nv_class_is_channel(uint32_t class_id)
{
	return (class_id & 0xff) == 0x6f && class_id >= 0x906f && class_id <= 0xffff;
}

/* FERMI_COMPUTE_A 90c0 ... HOPPER_COMPUTE_A cbc0, BLACKWELL_COMPUTE_B cec0. */
static inline int gp_nv_class_is_compute(uint32_t class_id)
{
	return (class_id & 0xff) == 0xc0 && class_id >= 0x90c0 && class_id <= 0xffff;
}

/* ---- status (nvstatuscodes.h) ---- */

enum gp_nv_status {
	GP_NV_OK = 0x00,
	GP_NV_INSUFFICIENT_PERMISSIONS = 0x1b,
	GP_NV_INVALID_ARGUMENT = 0x1f,
	GP_NV_INVALID_CLIENT = 0x23,
	GP_NV_INVALID_OBJECT = 0x31,
	GP_NV_INVALID_OBJECT_HANDLE = 0x33,
	GP_NV_INVALID_PARAM_STRUCT = 0x3a,
	GP_NV_INVALID_STATE = 0x40,
	GP_NV_NOT_SUPPORTED = 0x56,
	GP_NV_OBJECT_NOT_FOUND = 0x57,
	GP_NV_TIMEOUT = 0x65,
};

/* ---- controls ---- */

#define GP_NV_CMD_HANDLE_INFO      0x00000d02u /* on the client */
#define GP_NV_CMD_SET_TIMESLICE    0xa06c0103u /* on the group */
#define GP_NV_CMD_GET_TIMESLICE    0xa06c0104u
#define GP_NV_CMD_GROUP_INFO       0xa06c0106u
#define GP_NV_CMD_DISABLE_CHANNELS 0x2080110bu /* on a subdevice of the channels' own client */
#define GP_NV_CMD_CTXSW_STATS      0x20801215u
#define GP_NV_CMD_CTXSW_MODES      0x20801235u

/* NV0000_CTRL_CLIENT_GET_HANDLE_INFO_PARAMS */
enum { GP_NV_HANDLE_PARENT = 1, GP_NV_HANDLE_CLASS = 2 };
struct gp_nv_handle_info {
	uint32_t object, index;
	uint64_t result;
};
GP_NV_SIZE(gp_nv_handle_info, 16);
GP_NV_AT(gp_nv_handle_info, result, 8);

/* NVA06C_CTRL_TIMESLICE_PARAMS */
struct gp_nv_timeslice {
	uint64_t us;
};
GP_NV_SIZE(gp_nv_timeslice, 8);

/* NVA06C_CTRL_GET_INFO_PARAMS */
struct gp_nv_group_info {
	uint32_t hardware_id;
};
GP_NV_SIZE(gp_nv_group_info, 4);

/* NV2080_CTRL_FIFO_DISABLE_CHANNELS_PARAMS */
#define GP_NV_DISABLE_MAX 64
struct gp_nv_disable_channels {
	uint8_t disable, pad0[3];
	uint32_t count;
	uint8_t only_scheduling; /* would leave what runs running */
	uint8_t rewind;          /* would drop queued work: never set */
	uint8_t pad1[6];
	uint64_t event; /* kernel callers only */
	uint32_t clients[GP_NV_DISABLE_MAX], channels[GP_NV_DISABLE_MAX];
};
GP_NV_SIZE(gp_nv_disable_channels, 536);
GP_NV_AT(gp_nv_disable_channels, count, 4);
GP_NV_AT(gp_nv_disable_channels, only_scheduling, 8);
GP_NV_AT(gp_nv_disable_channels, rewind, 9);
GP_NV_AT(gp_nv_disable_channels, event, 16);
GP_NV_AT(gp_nv_disable_channels, clients, 24);
GP_NV_AT(gp_nv_disable_channels, channels, 280);

/* NV2080_CTRL_GR_GET_CTXSW_STATS_PARAMS: how often the context was saved, and how */
struct gp_nv_ctxsw_stats {
	uint32_t channel, flags, save, restore, wfi, cta, cilp, gfxp;
};
GP_NV_SIZE(gp_nv_ctxsw_stats, 32);

/* NV2080_CTRL_GR_GET_CTXSW_MODES_PARAMS */
enum { GP_NV_PREEMPT_WFI = 0, GP_NV_PREEMPT_CTA = 1, GP_NV_PREEMPT_CILP = 2 };
struct gp_nv_ctxsw_modes {
	uint32_t channel, zcull, pm, smpc, compute, graphics;
};
GP_NV_SIZE(gp_nv_ctxsw_modes, 24);

#endif
