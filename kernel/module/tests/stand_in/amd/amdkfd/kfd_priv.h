/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Read by kernel/module/known, and by the stand-in: see amdgpu.c. */
int kfd_topology_enum_kfd_devices(uint8_t idx, struct kfd_node **kdev);
int kfd_process_evict_queues(struct kfd_process *p, bool force,
			     uint32_t trigger);
