// SPDX-License-Identifier: MIT
/*
 * How fast the virtual GPU executes vector instructions: lane operations per second of one core,
 * all 64 lanes on. Each line runs a loop of one kind of instruction with vector registers as
 * operands, some of them in mixtures as kernels have them. Prints name, G lane operations per
 * second and ns per instruction.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vgpu/isa/isa.h"

#define CODE   0x10000ull
#define LENGTH 192 /* instructions in the loop */
#define RUNS   8   /* the fastest counts: others use the machine as well */

struct program {
	const char *name;
	u32 words[4], count; /* repeated; two words each where `wide` */
	bool wide;
};

static const struct program programs[] = {
	{"v_add_f32", {0x02020702}, 1, false}, /* v1, v2, v3 */
	{"v_add_u32", {0x68020702}, 1, false},
	{"v_fma_f32 (a chain)", {0xd1cb0001, 0x040e0501}, 1, true}, /* v1, v1, v2, v3 */
	{"v_fmac_f32", {0x76020702}, 1, false},
	/* v_mul_f32, v_add_f32, v_lshlrev_b32, v_add_u32 */
	{"mixture", {0x0a020702, 0x02020701, 0x24080482, 0x680a0702}, 4, false},
	{"v_cmp_lt_f32, v_cndmask_b32", {0x7c820702, 0x00020702}, 2, false},
	{"v_fma_f64", {0xd1cc0002, 0x041a0902}, 1, true}, /* v[2:3], v[2:3], v[4:5], v[6:7] */
	{"v_mad_u64_u32", {0xd1e80204, 0x041a0702}, 1, true},
	{"v_add_f16", {0x3e020702}, 1, false},
	{"v_max_f32", {0x16020702}, 1, false},
	{"v_exp_f32", {0x7e024102}, 1, false},
};

static _Alignas(GP_ISA_PAGE_BYTES) u8 code[GP_ISA_PAGE_BYTES];

static void *page(void *data, u64 va, bool write)
{
	(void)data;
	(void)write;
	return va == CODE ? code : NULL;
}

static u64 own_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

/* The program LENGTH times, and a branch to its start. */
static void code_fill(const struct program *program)
{
	u32 *words = (u32 *)code, at = 0;

	for (u32 n = 0; n < LENGTH; n++) {
		u32 first = n % program->count * (program->wide ? 2 : 1);

		words[at++] = program->words[first];
		if (program->wide)
			words[at++] = program->words[first + 1];
	}
	words[at] = 0xbf820000 | ((0u - at - 1) & 0xffff); /* s_branch */
}

static double measure(struct gp_isa_runner *runner, struct gp_isa_wave *wave, u32 budget)
{
	double best = 1e9;

	for (u32 n = 0; n < RUNS; n++) {
		u64 start = own_ns();

		wave->pc = CODE;
		if (gp_isa_run(runner, wave, budget) != GP_ISA_RUNNING) {
			fprintf(stderr, "isa_bench: stopped with %d\n", wave->stop);
			exit(1);
		}
		best = (double)(own_ns() - start) / budget < best
			       ? (double)(own_ns() - start) / budget
			       : best;
	}
	return best;
}

int main(int argc, char **argv)
{
	struct gp_isa_host host = {.page = page};
	struct gp_isa_runner runner = {.host = &host, .gfx = GP_ISA_GFX90A};
	struct gp_isa_wave *wave = aligned_alloc(32, (sizeof(*wave) + 31) / 32 * 32);
	u32 budget = argc > 1 ? (u32)atoi(argv[1]) : 2000000;

	runner.cache = calloc(1, gp_isa_cache_bytes());
	if (!wave || !runner.cache || !gp_isa_supported())
		return 1;
	memset(wave, 0, sizeof(*wave));
	wave->s[GP_ISA_EXEC] = wave->s[GP_ISA_EXEC + 1] = ~0u;
	wave->mode = GP_ISA_MODE_DENORM_32 | GP_ISA_MODE_DENORM_64 | GP_ISA_MODE_DX10_CLAMP |
		     GP_ISA_MODE_IEEE;
	for (u32 n = 0; n < sizeof(programs) / sizeof(*programs); n++) {
		double ns;

		for (u32 row = 0; row < 8; row++)
			for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
				wave->v[row][lane] = 0x3f800000 + (lane << 12) + (row << 4);
		code_fill(&programs[n]);
		gp_isa_forget_pages(&runner);
		ns = measure(&runner, wave, budget);
		printf("%-28s %6.2f G/s %7.1f ns\n", programs[n].name, GP_ISA_LANES / ns, ns);
	}
	free(runner.cache);
	free(wave);
	return 0;
}
