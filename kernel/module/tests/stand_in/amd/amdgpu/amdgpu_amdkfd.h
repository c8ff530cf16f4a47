/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Read by kernel/module/known, and by the stand-in: see amdgpu.c. */
int kgd2kfd_quiesce_mm(struct mm_struct *mm, uint32_t trigger);
int kgd2kfd_resume_mm(struct mm_struct *mm);
