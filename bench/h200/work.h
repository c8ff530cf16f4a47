/* SPDX-License-Identifier: MIT */
/* The parts of nvwork. */
#ifndef GP_BENCH_WORK_H
#define GP_BENCH_WORK_H

#include <stddef.h>

#include "cu.h"
#include "page.h"

struct work {
	struct cu cu;
	int sms;
	CUfunction tick, endless;
	CUstream stream;
	CUdeviceptr ran, page_device; /* ran: launches counted by the GPU, and scratch behind it */
	struct page *page, *mapped;
	uint64_t launched, progress; /* asked for so far */
	CUcontext context;
};

void check(struct work *w, CUresult result, const char *what);
#define CHECK(w, call) check(w, call, #call)

void launch_tick(struct work *w, uint64_t chunks, unsigned blocks);
double chunks_per_us(struct work *w);
uint64_t launches_ran(struct work *w);
/* Kernels back to back until the page says stop. */
void run_kernels(struct work *w, double us);

/* work_copy.c */
int run_copy(struct work *w, double us);

/* work_serve.c */
int serve(struct work *w);

#endif
