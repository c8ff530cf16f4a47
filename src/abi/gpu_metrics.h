/* SPDX-License-Identifier: MIT */
/*
 * The file gpu_metrics of an amdgpu device: two of its layouts. Fields as in kgd_pp_interface.h of
 * the ROCm driver 6.12.12; a value that the firmware does not report has all bits set. 1.3 is what
 * Aldebaran (gfx90a) has, 1.7 what Aqua Vanjaram (gfx942) has there. (Linux 6.12 itself has 1.5,
 * which does not say how many partitions there are: `amd-smi metric` of ROCm 7.2 fails on it.)
 */
#ifndef GP_ABI_GPU_METRICS_H
#define GP_ABI_GPU_METRICS_H

#include <stdint.h>

#define GP_METRICS_FORMAT   1 /* discrete GPUs */
#define GP_METRICS_STAMP_NS 10
#define GP_METRICS_GFX_CLKS 8
#define GP_METRICS_CLKS     4
#define GP_METRICS_LINKS    8
#define GP_METRICS_JPEG     32
#define GP_METRICS_VCN      4
#define GP_METRICS_HBM      4
#define GP_METRICS_XCPS     8

struct gp_metrics_header {
	uint16_t bytes;
	uint8_t format, content;
};

struct gp_metrics_1_3 {
	struct gp_metrics_header header;
	uint16_t temperature_edge, temperature_hotspot, temperature_mem;
	uint16_t temperature_vrgfx, temperature_vrsoc, temperature_vrmem;
	uint16_t gfx_percent, memory_percent, video_percent;
	uint16_t socket_power;
	uint64_t energy;
	uint64_t clock_ns;              /* the driver's */
	uint16_t average_clocks_mhz[7]; /* gfx, soc, memory, video */
	uint16_t gfx_mhz, soc_mhz, memory_mhz, video_mhz[4];
	uint32_t throttle_status;
	uint16_t fan_speed, pcie_width, pcie_speed, padding;
	uint32_t gfx_activity_sum, memory_activity_sum;
	uint16_t temperature_hbm[GP_METRICS_HBM];
	uint64_t stamp; /* GP_METRICS_STAMP_NS */
	uint16_t voltage_soc, voltage_gfx, voltage_mem, padding1;
	uint64_t throttle_status_common;
};

/* One partition of the GPU. */
struct gp_metrics_xcp_1_1 {
	uint32_t gfx_percent[GP_METRICS_GFX_CLKS];
	uint16_t jpeg_percent[GP_METRICS_JPEG], vcn_percent[GP_METRICS_VCN];
	uint64_t gfx_activity_sum[GP_METRICS_GFX_CLKS], gfx_below_limit[GP_METRICS_GFX_CLKS];
};

struct gp_metrics_1_7 {
	struct gp_metrics_header header;
	uint16_t temperature_hotspot, temperature_mem, temperature_vrsoc;
	uint16_t socket_power;
	uint16_t gfx_percent, memory_percent;
	uint64_t memory_bandwidth; /* GB/s at the highest clock */
	uint64_t energy;
	uint64_t clock_ns;
	uint32_t samples, throttled[5];
	uint32_t gfx_clock_locks;
	uint16_t pcie_width, pcie_speed, xgmi_width, xgmi_speed;
	uint32_t gfx_activity_sum, memory_activity_sum;
	uint64_t pcie_bandwidth_sum, pcie_bandwidth, pcie_recoveries, pcie_replays, pcie_rollovers;
	uint32_t pcie_naks_sent, pcie_naks_received;
	uint64_t xgmi_read_kb[GP_METRICS_LINKS], xgmi_written_kb[GP_METRICS_LINKS];
	uint16_t xgmi_status[GP_METRICS_LINKS], padding;
	uint64_t stamp;
	uint16_t gfx_mhz[GP_METRICS_GFX_CLKS], soc_mhz[GP_METRICS_CLKS];
	uint16_t vclk_mhz[GP_METRICS_CLKS], dclk_mhz[GP_METRICS_CLKS], memory_mhz;
	uint16_t partitions;
	struct gp_metrics_xcp_1_1 xcps[GP_METRICS_XCPS];
	uint32_t pcie_other_recoveries;
};

_Static_assert(sizeof(struct gp_metrics_1_3) == 120, "gpu_metrics_v1_3");
_Static_assert(sizeof(struct gp_metrics_xcp_1_1) == 232, "amdgpu_xcp_metrics_v1_1");
_Static_assert(sizeof(struct gp_metrics_1_7) == 2208, "gpu_metrics_v1_7");

#endif
