/* SPDX-License-Identifier: MIT */
/*
 * /dev/nvidiactl: the event buffer in which the NVIDIA driver reports context switches (FECS
 * events), after the headers of open-gpu-kernel-modules 580.142 (cl90cd.h, cl90cdfecs.h,
 * ctrl2080gr.h, ctrl2080tmr.h, ctrl90cd.h, nvos.h, nv-ioctl.h); it ran on 580.159.04. All objects
 * belong to a client of the reader's own.
 */
#ifndef GP_ABI_NVRM_EVENTS_H
#define GP_ABI_NVRM_EVENTS_H

#include "abi/nvrm_ioctl.h"

#define GP_NV_CLASS_DEVICELESS   0x90ceu /* NV01_MEMORY_DEVICELESS */
#define GP_NV_CLASS_EVENT_BUFFER 0x90cdu

#define GP_NV_CMD_GPU_ID_INFO    0x00000205u /* on the client */
#define GP_NV_CMD_GPU_TIME       0x20800403u /* on a subdevice: ns of the clock of the records */
#define GP_NV_CMD_EVENT_BIND     0x20801238u /* on a subdevice */
#define GP_NV_CMD_EVENT_ENABLE   0x90cd0101u /* on the buffer */
#define GP_NV_CMD_EVENT_GET      0x90cd0102u
#define GP_NV_CMD_EVENT_FLUSH    0x90cd0104u /* without parameters */

/* NV0080_ALLOC_PARAMETERS: device_id is an instance of the driver, not a minor */
struct gp_nv_device_params {
	uint32_t device_id, other[13];
};
GP_NV_SIZE(gp_nv_device_params, 56);

/* NV_MEMORY_ALLOCATION_PARAMS */
struct gp_nv_memory_params {
	uint32_t owner, type, flags, width, height, pitch, attr, attr2, format[8];
	uint64_t bytes;
	uint32_t other[14];
};
GP_NV_SIZE(gp_nv_memory_params, 128);
GP_NV_AT(gp_nv_memory_params, attr, 24);
GP_NV_AT(gp_nv_memory_params, bytes, 64);
#define GP_NV_ATTR_WRITE_BACK (5u << 29)
#define GP_NV_ATTR2_READ_ONLY (1u << 22) /* for user space */

/* NV_EVENT_BUFFER_ALLOC_PARAMETERS */
struct gp_nv_event_buffer_params {
	uint64_t header, records;
	uint32_t record_bytes, record_count;
	uint64_t vardata;
	uint32_t vardata_bytes, free_threshold;
	uint64_t notify;
	uint32_t vardata_threshold, subdevice, flags;
	uint32_t header_memory, record_memory, vardata_memory;
};
GP_NV_SIZE(gp_nv_event_buffer_params, 72);
GP_NV_AT(gp_nv_event_buffer_params, subdevice, 52);

/* NV2080_CTRL_GR_FECS_BIND_EVTBUF_FOR_UID_V2_PARAMS. Programs get level "simple" whatever they ask
 * for: the start and the end of each active region. */
struct gp_nv_event_bind {
	uint32_t buffer, record_bytes, level, filter;
	uint8_t all_users, pad[3];
	uint32_t reason;
};
GP_NV_SIZE(gp_nv_event_bind, 24);
#define GP_NV_EVENT_SIMPLE 1u

/* NV_EVENT_BUFFER_CTRL_CMD_ENABLE_EVENTS_PARAMETERS */
struct gp_nv_event_enable {
	uint8_t enable, pad[3];
	uint32_t keep; /* 1: the oldest records when it is full */
};
GP_NV_SIZE(gp_nv_event_enable, 8);

/* NV_EVENT_BUFFER_CTRL_CMD_UPDATE_GET_PARAMETERS */
struct gp_nv_event_get {
	uint32_t record, vardata;
};
GP_NV_SIZE(gp_nv_event_get, 8);

/* NV2080_CTRL_TIMER_GET_TIME_PARAMS */
struct gp_nv_gpu_time {
	uint64_t ns;
};
GP_NV_SIZE(gp_nv_gpu_time, 8);

/* NV0000_CTRL_GPU_GET_ID_INFO_V2_PARAMS. The id is domain << 16 | bus << 8 | device. */
struct gp_nv_gpu_id_info {
	uint32_t gpu_id, flags, device_instance, subdevice_instance, sli, board, gpu_instance;
	int32_t numa;
};
GP_NV_SIZE(gp_nv_gpu_id_info, 32);

/* NV_EVENT_BUFFER_HEADER: empty when get == put */
struct gp_nv_event_header {
	uint32_t get, put;
	uint64_t count, dropped, vardata_dropped;
};
GP_NV_SIZE(gp_nv_event_header, 32);

/* NV_EVENT_BUFFER_RECORD with NV_EVENT_BUFFER_FECS_RECORD_V2 */
enum { GP_NV_ACTIVE_START = 6, GP_NV_ACTIVE_END = 7 };
#define GP_NV_PID_HIDDEN 0u          /* another user's, and the reader is not root */
#define GP_NV_PID_KERNEL 0xffffffffu /* the driver's own */
struct gp_nv_event_record {
	uint16_t type, subtype;
	uint32_t vardata;
	uint8_t tag, vmid;
	uint16_t sequence;
	uint32_t context, pid;
	uint16_t reserved;
	uint8_t gpu_instance, compute_instance;
	uint64_t ns;
};
GP_NV_SIZE(gp_nv_event_record, 32);
GP_NV_AT(gp_nv_event_record, ns, 24);

/* nv_ioctl_nvos33_parameters_with_fd: maps a memory object on a separate descriptor */
struct gp_nv_map {
	uint32_t client, device, memory, pad;
	uint64_t offset, length, address;
	uint32_t status, flags;
	int32_t fd, pad2;
};
GP_NV_SIZE(gp_nv_map, 56);
#define GP_NV_MAP_READ_ONLY 1u

#define GP_NV_IOC_MAP       _IOWR('F', 0x4e, struct gp_nv_map)
#define GP_NV_IOC_REGISTER  _IOWR('F', 201, int32_t) /* on /dev/nvidiaN: the control descriptor */

#endif
