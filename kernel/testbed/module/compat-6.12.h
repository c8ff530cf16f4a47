/* SPDX-License-Identifier: GPL-2.0 */
/* Members and arguments as Linux 6.12 has them: see compat-6.12.c. */
#ifndef FAKEGPU_COMPAT_H
#define FAKEGPU_COMPAT_H

#define FG_INST			, u32 inst	/* last argument of kfd2kgd calls */
#define FG_XCC			inst	/* which that is */
#define FG_QUEUE_BITMAP(gfx, xcc) ((gfx)->mec_bitmap[xcc].queue_bitmap)
#define FG_CU_BITMAP(gfx, xcc)	((gfx)->cu_info.bitmap[xcc])
#define FG_MQD_STRIDE(mqd)	((mqd)->cp_mqd_stride_size)
#ifdef FG_DKMS	/* of a process on a device */
#define FG_PASID(process)	((process)->n_pdds ? (process)->pdds[0]->pasid : 0)
#define FG_PASID_MEMBER		FG_MEMBER(kfd_process_device, pasid)
#else
#define FG_PASID(process)	((process)->pasid)
#define FG_PASID_MEMBER		FG_MEMBER(kfd_process, pasid)
#endif
#define FG_IN_USE(va)		((va)->queue_refcount)
#define FG_EVICT			/* evict.c */
#define FG_SUSPENDED(p)		((p)->is_suspended)

#endif
