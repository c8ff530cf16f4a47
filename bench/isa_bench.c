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
	{"v_log_f32", {0x7e024302}, 1, false},
	/* Addresses: s[0:1] + v8 (side by side), v9 (anywhere in a page), v10 (in DATA_BYTES). */
	{"global_load_dword", {0xdc508000, 0x01000008}, 1, true},
	{"global_load_dword, a page", {0xdc508000, 0x01000009}, 1, true},
	{"global_load_dword, 64 pages", {0xdc508000, 0x0100000a}, 1, true},
	{"global_store_dword", {0xdc708000, 0x00000108}, 1, true},
	{"global_store_dword, a page", {0xdc708000, 0x00000109}, 1, true},
	{"global_store_dword, 64 pages", {0xdc708000, 0x0000010a}, 1, true},
	{"ds_read_b32", {0xd86c0000, 0x01000008}, 1, true},
	{"ds_read_b32, anywhere", {0xd86c0000, 0x01000009}, 1, true},
	{"ds_write_b32, anywhere", {0xd81a0000, 0x00000109}, 1, true},
};

#define DATA       0x40000ull
#define DATA_BYTES (64 * GP_ISA_PAGE_BYTES)
static _Alignas(GP_ISA_PAGE_BYTES) u8 code[GP_ISA_PAGE_BYTES], data[DATA_BYTES];
static u8 lds[GP_ISA_PAGE_BYTES];

static void *page(void *unused, u64 va, bool write)
{
	(void)unused;
	(void)write;
	if (va >= DATA && va < DATA + DATA_BYTES)
		return data + (va - DATA);
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

static void registers_fill(struct gp_isa_wave *wave)
{
	u32 random = 1;

	for (u32 row = 0; row < 8; row++)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			wave->v[row][lane] = 0x3f800000 + (lane << 12) + (row << 4);
	wave->s[0] = (u32)DATA;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		random = random * 1664525 + 1013904223;
		wave->v[8][lane] = 4 * lane;
		wave->v[9][lane] = (random >> 8) % GP_ISA_PAGE_BYTES & ~3u;
		wave->v[10][lane] = (random >> 8) % DATA_BYTES & ~3u;
	}
}

int main(int argc, char **argv)
{
	struct gp_isa_host host = {.page = page};
	struct gp_isa_group group = {.lds = lds, .lds_bytes = sizeof(lds), .waves = 1};
	struct gp_isa_runner runner = {.host = &host, .gfx = GP_ISA_GFX90A};
	struct gp_isa_wave *wave = aligned_alloc(32, (sizeof(*wave) + 31) / 32 * 32);
	u32 budget = argc > 1 ? (u32)atoi(argv[1]) : 2000000;

	runner.cache = calloc(1, gp_isa_cache_bytes());
	if (!wave || !runner.cache || !gp_isa_supported())
		return 1;
	memset(wave, 0, sizeof(*wave));
	wave->group = &group;
	wave->s[GP_ISA_EXEC] = wave->s[GP_ISA_EXEC + 1] = ~0u;
	wave->mode = GP_ISA_MODE_DENORM_32 | GP_ISA_MODE_DENORM_64 | GP_ISA_MODE_DX10_CLAMP |
		     GP_ISA_MODE_IEEE;
	for (u32 n = 0; n < sizeof(programs) / sizeof(*programs); n++) {
		double ns;

		registers_fill(wave);
		code_fill(&programs[n]);
		gp_isa_forget_pages(&runner);
		ns = measure(&runner, wave, budget);
		printf("%-28s %6.2f G/s %7.1f ns\n", programs[n].name, GP_ISA_LANES / ns, ns);
	}
	free(runner.cache);
	free(wave);
	return 0;
}
