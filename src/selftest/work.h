/* SPDX-License-Identifier: MIT */
/*
 * The GPU program of the self-test: see work.c. kernel.c finds a kernel for the GPU and gives it
 * memory; hiprtc.c makes one where none was built. Nothing here is used by gpreempt-selftest
 * itself, which only talks to this program.
 */
#ifndef GP_SELFTEST_WORK_H
#define GP_SELFTEST_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "selftest/hsa.h"
#include "selftest/least.h"

enum {
	GP_WORK_QUEUES = 64,
	GP_WORK_PACKETS = 16, /* of one batch in each queue; the first is the gate */
	GP_WORK_GROUP = 256,  /* work items: GROUP in kernel.cl */
	GP_WORK_GROUPS = 8,
	GP_WORK_ITEMS = GP_WORK_GROUP * GP_WORK_GROUPS, /* of a dispatch */
	GP_WORK_GFX = 32,
};

#define GP_WORK_FENCES (2u << 9 | 2u << 11) /* of a packet: both for the whole system */

/* Where the kernel comes from; the words are those of the JSON. */
enum gp_selftest_work_source { GP_WORK_BARRIERS, GP_WORK_BUILT, GP_WORK_HIPRTC };

/* What all work items of a queue's kernels write, in memory of the host. */
struct gp_selftest_work_words {
	uint32_t done[GP_WORK_ITEMS], bad[GP_WORK_ITEMS];
};

/* gpreempt_selftest() in kernel.cl. */
struct gp_selftest_work_arguments {
	uint64_t stop, done, bad;
	uint32_t seed, steps, most;
};

#define GP_WORK_ARGUMENT_BYTES \
	(offsetof(struct gp_selftest_work_arguments, most) + sizeof(uint32_t))

struct gp_selftest_work_kernel {
	enum gp_selftest_work_source source;
	char gfx[GP_WORK_GFX];
	char why[160]; /* no kernel, or not the one of this build */
	uint64_t object;
	uint32_t kernarg_bytes, group_bytes, private_bytes;
	uint32_t rsrc1; /* 0: not known */
	volatile uint32_t *stop;
	struct gp_selftest_work_words *words; /* of each queue */
	char *arguments;                      /* kernarg_bytes of each queue */
};

struct gp_selftest_kernel_work {
	struct gp_selftest_hsa hsa;
	uint32_t node, queue_count;
	bool is_virtual; /* kernels compute nothing: their words are not looked at */
	uint64_t gpu, gate, host_pool;
	struct gp_selftest_work_kernel kernel;
	struct gp_selftest_hsa_queue *queues[GP_WORK_QUEUES];
	uint64_t done[GP_WORK_QUEUES][GP_WORK_PACKETS];
	uint64_t submitted;               /* batches */
	long doubt;                       /* of the last time of a packet, in ns */
	long done_at;                     /* CLOCK_MONOTONIC, in ns; -1: it did not end */
	uint64_t watched;                 /* the signal whose end that is */
	struct gp_selftest_least soonest; /* that it came after the begin of the wait */
	long crowd;                       /* work groups of it; 0: none yet */
	char error[256];
};

/* Keep the sentence; return -1. */
/* Puts a packet into a queue and rings its doorbell. */
void gp_selftest_work_push(struct gp_selftest_kernel_work *work, uint32_t index,
			   const void *packet);

/* work_time.c: times in ns, or -1. Packets that wait for the one before, or not. */
long gp_selftest_work_packet_ns(struct gp_selftest_kernel_work *work, bool serial);
/* A packet for the first queue; then polls for its end and sets `done_at`. */
long gp_selftest_work_submit(struct gp_selftest_kernel_work *work);
void gp_selftest_work_watch(struct gp_selftest_kernel_work *work);
long gp_selftest_work_create_ns(struct gp_selftest_kernel_work *work);

/* crowd.c: starts a small or a large crowd unless one runs; its work groups, or -1. */
long gp_selftest_work_crowd(struct gp_selftest_kernel_work *work, bool many);
bool gp_selftest_work_crowd_runs(struct gp_selftest_kernel_work *work);
/* What a preemption saves of one work group. */
long gp_selftest_work_group_bytes(struct gp_selftest_kernel_work *work);
uint32_t gp_selftest_work_rsrc1(const void *code, size_t size, const char *name);

/* dlopen() of a library of ROCm, also where AMD's packages put it (/opt/rocm, /opt/rocm-X.Y.Z).
 * `why` is the error of the linker if it is not found. */
void *gp_selftest_rocm_open(const char *name, char *why, size_t size);

long gp_selftest_work_fail(struct gp_selftest_kernel_work *work, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
long gp_selftest_work_fail_hsa(struct gp_selftest_kernel_work *work, const char *call, int status);

/* Finds or makes a kernel for the GPU and loads it. Without one kernel.source is GP_WORK_BARRIERS
 * and kernel.why says why; only what is broken is an error. */
long gp_selftest_work_kernel(struct gp_selftest_kernel_work *work);
/* -1: a work item found a wrong value, or did not run as often as it was asked to. */
long gp_selftest_work_check(struct gp_selftest_kernel_work *work);

/* Writes a code object to stdout, or a sentence and returns 1. The program's `--compile GFX`. */
int gp_selftest_work_compile(const char *gfx);
/* What that wrote, in new memory; NULL and the sentence in `why`. */
void *gp_selftest_work_compiled(const char *gfx, size_t *size, char *why, size_t room);

#endif
