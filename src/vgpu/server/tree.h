/* SPDX-License-Identifier: MIT */
/* Between the files that make the tree: fixed parts, processes, debugfs. */
#ifndef GP_VGPU_SERVER_TREE_H
#define GP_VGPU_SERVER_TREE_H

#include "vgpu/server/files.h"
#include "vgpu/server/server.h"

#define GP_TREE_KFD        "/sys/devices/virtual/kfd/kfd"
#define GP_TREE_CLASS      "/sys/class/kfd/kfd" /* a link to the one above */
#define GP_TREE_PROC       GP_TREE_KFD "/proc"
#define GP_TREE_DEBUGFS    "/sys/kernel/debug/kfd"

#define GP_TREE_PCI        "/sys/devices/pci0000:%02x/0000:%02x:00.0" /* twice the bus */
#define GP_TREE_VENDOR     0x1002
#define GP_TREE_GFX94X     90400
#define GP_TREE_PCIE_LANES 16

/* tree_device.c: a GPU on the bus with its DRM nodes, and the module. */
void gp_vgpu_tree_device(struct gp_vgpu_files *files, const struct gp_vgpu_gpufile *gpu, u32 index);
void gp_vgpu_tree_module(struct gp_vgpu_server *server, struct gp_vgpu_files *files);

/* Of a lane of its link. */
u32 gp_vgpu_tree_pcie_gt(const struct gp_vgpu_gpufile *gpu);

/* tree_metrics.c: activity and clocks of every GPU as they are now. */
void gp_vgpu_tree_metrics(struct gp_vgpu_server *server, struct gp_vgpu_files *files);

/* Writes hqds, mqds and rls as they are now. */
void gp_vgpu_tree_debugfs(struct gp_vgpu_server *server, struct gp_vgpu_files *files);

#endif
