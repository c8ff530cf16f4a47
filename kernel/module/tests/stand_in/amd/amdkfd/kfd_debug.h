/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Read by kernel/module/known, and by the stand-in: see amdgpu.c. */
int kfd_dbg_trap_enable(struct kfd_process *target);
