/* SPDX-License-Identifier: MIT */
/*
 * A client of a machine that is not there: the preload library's own sources with a server and a
 * command processor of a few lines behind them. One machine of two GPUs, 1 GiB of VRAM each.
 */
#ifndef GP_TEST_STANDIN_H
#define GP_TEST_STANDIN_H

#include "testlib.h"
#include "vgpu/cp/cp.h"
#include "vgpu/preload/parts.h"

#define GPU0       0x1111u
#define GPU1       0x2222u
#define GPU_VRAM   (1ull << 30)
#define CWSR_BYTES 8192u
#define CTL_BYTES  4096u

struct standin {
	struct gp_vgpu_client client;
	u64 vram_used[2];
	u32 next_queue;        /* id of the next CREATE_QUEUE */
	int refuse;            /* -errno for every request */
	u32 requests, last_nr; /* that reached the server */
	u32 last_flags, last_payload;
	int cp_error;  /* -errno of gp_vgpu_cp_add() */
	u32 cp_queues; /* queues the CP has */
	u32 remapped;  /* how often waves were told that addresses changed */
	struct gp_vgpu_cp_queue last_added;
	int kfd, render;
};

/* Fresh for every test; the client is what gp_vgpu_client() returns. */
extern struct standin standin;
int standin_setup(void **state);
int standin_teardown(void **state);

/* ioctl() on /dev/kfd without going through libc: the result, or -errno. */
int kfd(unsigned long request, void *args);
void acquire_both(void);

#endif
