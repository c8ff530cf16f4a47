/* SPDX-License-Identifier: MIT */
/*
 * A chip as the virtual GPU presents it in one personality: the model's numbers (gpufile/chip.h)
 * and the numbers that only a program on it sees. `gpreempt vgpu status` prints every figure with
 * its source.
 */
#ifndef GP_VGPU_GPUFILE_H
#define GP_VGPU_GPUFILE_H

#include <jansson.h>

#include "base/diag.h"
#include "gpufile/chip.h"
#include "vgpu/wire.h"

enum gp_vgpu_personality {
	GP_COMPAT, /* one-XCC gfx90a with this chip's CUs and costs, for ROCr 5.2.3 */
	GP_NATIVE, /* the chip as it is, and the driver's strict checks */
};

struct gp_vgpu_gpufile {
	char name[GP_CHIP_NAME];   /* "mi308x" */
	char title[GP_CHIP_TITLE]; /* "AMD Instinct MI308X" */
	enum gp_vgpu_personality personality;
	struct gp_model_chip chip; /* as modelled: the real XCCs whatever is presented */
	struct gp_vgpu_gpu gpu;    /* as presented */
	u32 array_count, arrays_per_engine, cu_per_array; /* as presented; arrays of all XCCs */
	u32 fcompute_mhz, memory_width, memory_mhz;
	u32 capability, debug_prop;
	u32 mec_firmware, sdma_firmware;
	u32 cp_queues;
	u32 sdma_engines, sdma_xgmi_engines; /* as presented; numbered in this order */
	u32 subsystem_vendor, subsystem_device;
	u32 l1_kb, instruction_kb, l2_kb, l3_kb; /* caches; 0 = it has no L3 */
	u32 pcie_mb_per_s, xgmi_mb_per_s;        /* of one link */
	u32 location_id;                         /* bus << 8 | devfn */
	u64 unique_id, hive_id;                  /* hive 0: the only GPU */
	json_t *figures; /* "section.name" -> {value, source, kind}, for status; owned */
};

/* Whether this is the name of a GPU in the data directory, or a path. */
bool gp_vgpu_gpufile_known(const char *name);
/* By name (data directory, upper or lower case) or path. -errno, with file and key on diag. */
int gp_vgpu_gpufile_load(const char *name, enum gp_vgpu_personality personality,
			 struct gp_diag *diag, struct gp_vgpu_gpufile *out);
/*
 * A copy as GPU `index` of `count` in a machine, with its own gpu_id (the driver's hash), PCI
 * address and render node, and a common hive if there are several. The caller frees it.
 */
void gp_vgpu_gpufile_place(struct gp_vgpu_gpufile *out, const struct gp_vgpu_gpufile *file,
			   u32 index, u32 count);
void gp_vgpu_gpufile_free(struct gp_vgpu_gpufile *file);
const char *gp_vgpu_personality_name(enum gp_vgpu_personality personality);

/* Save-area sizes of one XCC as the driver computes them (Linux 6.12 kfd_queue.c);
 * array_count is that of one XCC. */
void gp_vgpu_cwsr_sizes(u32 gfx_version, u32 cu_per_xcc, u32 array_count, u32 arrays_per_engine,
			u64 *cwsr_bytes, u32 *ctl_stack_bytes, u32 *debug_bytes);

#endif
