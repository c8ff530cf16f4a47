/* SPDX-License-Identifier: MIT */
/*
 * Processes whose GPU memory is in host memory: a small file for each in the directory of the
 * sockets, written before the process is touched and removed when it runs again. The commands and
 * the daemon read them; nothing depends on them being right, because the state of a process is
 * asked of its driver.
 */
#ifndef GP_PROTO_SWAPPED_H
#define GP_PROTO_SWAPPED_H

#include "base/types.h"

struct gp_proto_swapped {
	u32 pid, keeper; /* keeper: the process that will bring it back */
	u64 start;       /* start time of the process, in ticks: another one may get its pid */
	u64 bytes;       /* of GPU memory, when it was moved */
	u64 since_ns;    /* CLOCK_MONOTONIC */
	bool out;        /* it is; false: it is being moved */
};

struct gp_proto_swapped_list {
	struct gp_proto_swapped *items;
	size_t count, capacity;
};

/* Start time of a process, or 0. */
u64 gp_proto_swapped_start(u32 pid);
int gp_proto_swapped_write(const struct gp_proto_swapped *swapped);
void gp_proto_swapped_remove(u32 pid);
/* Those whose process lives; files of others are removed. 0 or -errno. */
int gp_proto_swapped_read(struct gp_proto_swapped_list *list);
/* 0, or -ENOENT. */
int gp_proto_swapped_find(u32 pid, struct gp_proto_swapped *out);
void gp_proto_swapped_free(struct gp_proto_swapped_list *list);

#endif
