/* SPDX-License-Identifier: GPL-2.0 */
/* Members and arguments as Linux 6.12 has them: see compat-6.12.c. */
#ifndef FAKEGPU_COMPAT_H
#define FAKEGPU_COMPAT_H

#define FG_INST			, u32 inst	/* last argument of kfd2kgd calls */
#define FG_QUEUE_BITMAP(gfx)	((gfx)->mec_bitmap[0].queue_bitmap)
#define FG_CU_BITMAP(gfx)	((gfx)->cu_info.bitmap[0])
#define FG_IN_USE(va)		((va)->queue_refcount)
#define FG_SUSPENDED(p)		((p)->is_suspended)

#endif
