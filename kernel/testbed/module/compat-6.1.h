/* SPDX-License-Identifier: GPL-2.0 */
/* Members and arguments as Linux 6.1 has them: see compat-6.1.c. */
#ifndef FAKEGPU_COMPAT_H
#define FAKEGPU_COMPAT_H

#define FG_INST			/* kfd2kgd calls know no XCCs */
#define FG_XCC			0
#define FG_QUEUE_BITMAP(gfx, xcc) ((gfx)->mec.queue_bitmap)
#define FG_CU_BITMAP(gfx, xcc)	((gfx)->cu_info.bitmap)
#define FG_MQD_STRIDE(mqd)	0
#define FG_PASID(process)	((process)->pasid)
#define FG_PASID_MEMBER		FG_MEMBER(kfd_process, pasid)
#define FG_IN_USE(va)		false	/* nobody counts a buffer's queues */
#define FG_SUSPENDED(p)		false	/* that came with the debug trap */

/* The debug trap's name for it (6.12 kfd_ioctl.h); here just a cause. */
#define EC_QUEUE_PACKET_UNSUPPORTED 20

#endif
