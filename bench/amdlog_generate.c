// SPDX-License-Identifier: MIT
/*
 * amdlog_generate BYTES DISPATCH_PERCENT [SEED]: writes an AMD_LOG_LEVEL=4 log of ROCm 6.2 shape to
 * standard output, of at least BYTES bytes, with that share of Dispatch lines. The same arguments
 * give the same bytes on every machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/types.h"

#define THREADS 4
#define QUEUES  4
#define PID     40961u
#define NAMES   8

struct generator {
	u64 state; /* of the random numbers */
	u64 us;
	u64 written;
	u32 thread;
	u64 wptr[QUEUES];
};

static const char *const kernels[NAMES] = {
	"Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SN_1LDSB0_APM1_AF0EM8_AF1EM1_AMAS3",
	"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_"
	"11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_",
	"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_"
	"13AUnaryFunctor",
	"_Z20sum_reduction_kernelPKfPfiii",
	"__amd_rocclr_copyBuffer",
	"_ZN7rocprim6detail19block_reduce_kernelILb0ELj256EEvPKfPf",
	"__amd_rocclr_fillBufferAligned",
	"_ZN12_GLOBAL__N_120softmax_warp_forwardIffLi9ELb0EEEvPT0_PKT_iii",
};

/* splitmix64 */
static u64 next(struct generator *g)
{
	u64 z = g->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void prefix(struct generator *g, int level, const char *file, int line)
{
	g->us += next(g) % 7;
	g->written += (u64)printf(":%d:%-25s:%-4d: %010llu us: [pid:%-5u tid: 0x%llx] ", level,
				  file, line, (unsigned long long)g->us, PID,
				  0x7e10440a26c0ull + g->thread * 0x801000ull);
}

static u64 swq(u32 queue)
{
	return 0x7e2013370000ull + queue * 0x20000ull;
}

static u64 hwq(u32 queue)
{
	return 0x7e0c90800000ull + queue * 0x400000ull;
}

static void dispatch(struct generator *g, u32 queue)
{
	u64 wptr = g->wptr[queue]++;

	prefix(g, 4, "rocvirtual.cpp", 1076);
	g->written += (u64)printf(
		"SWq=0x%llx, HWq=0x%llx, id=%u, Dispatch Header = 0x1502 (type=2, barrier=1, "
		"acquire=2, release=2), setup=3, grid=[%llu, %llu, 1], workgroup=[256, 1, 1], "
		"private_seg_size=0, group_seg_size=%llu, kernel_obj=0x7e0bd0e11ac0, "
		"kernarg_address=0x7e0c314%05llx, completion_signal=0x0, correlation_id=%llu, "
		"rptr=%llu, wptr=%llu\n",
		(unsigned long long)swq(queue), (unsigned long long)hwq(queue), queue + 1,
		(unsigned long long)(next(g) % 65536), (unsigned long long)(next(g) % 64 + 1),
		(unsigned long long)(next(g) % 65536), (unsigned long long)(next(g) % 0x100000),
		(unsigned long long)wptr, (unsigned long long)(wptr > 3 ? wptr - 3 : 0),
		(unsigned long long)wptr);
}

static void barrier(struct generator *g, u32 queue)
{
	u64 wptr = g->wptr[queue]++;

	prefix(g, 4, "rocvirtual.cpp", 1260);
	g->written += (u64)printf(
		"SWq=0x%llx, HWq=0x%llx, id=%u, BarrierAND Header = 0x1503 (type=3, barrier=1, "
		"acquire=2, release=2), dep_signal=[0x0, 0x0, 0x0, 0x0, 0x0], "
		"completion_signal=0x7e2041cc5580, rptr=%llu, wptr=%llu\n",
		(unsigned long long)swq(queue), (unsigned long long)hwq(queue), queue + 1,
		(unsigned long long)wptr, (unsigned long long)wptr);
}

static void create_queues(struct generator *g)
{
	for (u32 i = 0; i < QUEUES; i++) {
		g->thread = i;
		prefix(g, 3, "hip_stream.cpp", 282);
		g->written += (u64)printf("\033[32m hipStreamCreate ( 0x7ffc1b70e2d8 ) \033[0m\n");
		prefix(g, 3, "rocdevice.cpp", 3104);
		g->written += (u64)printf("Created SWq=0x%llx to map on HWq=0x%llx with size 16384 "
					  "with priority 1, cooperative: 0\n",
					  (unsigned long long)swq(i), (unsigned long long)hwq(i));
		prefix(g, 3, "rocdevice.cpp", 3197);
		g->written += (u64)printf("acquireQueue refCount: 0x%llx (1)\n",
					  (unsigned long long)hwq(i));
		prefix(g, 3, "hip_stream.cpp", 288);
		g->written += (u64)printf("hipStreamCreate: Returned hipSuccess : stream:0x%llx\n",
					  (unsigned long long)(0x7e0866d10000ull + i * 0x1000));
	}
}

/* Everything that is neither a dispatch nor a barrier, in the proportions of a training run. */
static void ordinary(struct generator *g)
{
	u64 number = next(g);

	switch (number % 10) {
	case 0:
		prefix(g, 3, "hip_module.cpp", 686);
		g->written += (u64)printf("\033[32m hipLaunchKernel ( 0x7e31700c3e50, {%u,1,1}, "
					  "{256,1,1}, 0x7e30f2bb0e10, 0, stream:0x7e0866d10000 ) "
					  "\033[0m\n",
					  (u32)(number >> 40));
		break;
	case 1:
		prefix(g, 3, "hip_module.cpp", 687);
		g->written += (u64)printf("hipLaunchKernel: Returned hipSuccess : : duration: "
					  "%u us\n",
					  (u32)(number >> 58));
		break;
	case 2:
		prefix(g, 3, "rocvirtual.cpp", 3542);
		g->written += (u64)printf("ShaderName : %s\n", kernels[number >> 61]);
		break;
	case 3:
	case 4:
	case 5:
		prefix(g, 3, "rocvirtual.cpp", 899);
		g->written += (u64)
			printf("Arg%u:   = ptr:0x7e477%07x obj:[0x7e4770900000-0x7e4770a00000]\n",
			       (u32)(number >> 61), (u32)(number >> 36));
		break;
	case 6:
		prefix(g, 4, "command.cpp", 357);
		g->written += (u64)printf("Command (KernelExecution) enqueued: 0x7e086a%06x to "
					  "queue: 0x7e0866d15a30\n",
					  (u32)(number >> 40));
		break;
	case 7:
		prefix(g, 3, "hip_device_runtime.cpp", 686);
		g->written += (u64)printf("\033[32m hipGetDevice ( 0x7ffc1b70ef1c ) \033[0m\n");
		break;
	case 8:
		prefix(g, 3, "hip_device_runtime.cpp", 698);
		g->written += (u64)printf("hipGetDevice: Returned hipSuccess : 0\n");
		break;
	default:
		prefix(g, 3, "rocvirtual.cpp", 551);
		g->written += (u64)printf("Set Handler: handle(0x7e2041%06x), "
					  "timestamp(0x7e086ab3c470)\n",
					  (u32)(number >> 40));
		break;
	}
}

int main(int argc, char **argv)
{
	struct generator g = {.us = 51203377008u};
	u64 bytes, percent, draw;

	if (argc < 3 || argc > 4 || !gp_argument_u64(argv[1], &bytes) ||
	    !gp_argument_u64(argv[2], &percent) || percent > 100 ||
	    (argc == 4 && !gp_argument_u64(argv[3], &g.state))) {
		fprintf(stderr, "usage: amdlog_generate BYTES DISPATCH_PERCENT [SEED]\n");
		return 2;
	}
	create_queues(&g);
	while (g.written < bytes) {
		draw = next(&g);
		g.thread = (u32)(draw >> 20) % THREADS;
		if (draw % 100 < percent)
			dispatch(&g, (u32)(draw >> 32) % QUEUES);
		else if (draw % 100 == 99)
			barrier(&g, (u32)(draw >> 32) % QUEUES);
		else
			ordinary(&g);
	}
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
