/* SPDX-License-Identifier: MIT */
/*
 * A small host for tests of vgpu/isa: some memory, one wave in a work-group of its own, and
 * functions that run words on it.
 *
 *	static void sum_of_two(void **state)
 *	{
 *		struct machine *m = *state;
 *
 *		m->wave->s[2] = 3;
 *		RUN(m, 0x80010202); // s_add_u32 s1, s2, s2
 *		assert_int_equal(m->wave->s[1], 6);
 *	}
 *	... cmocka_unit_test_setup_teardown(sum_of_two, machine_gfx90a, machine_down)
 *
 * RUN() puts s_endpgm behind the words and requires that the wave gets there; machine_run() returns
 * why it stopped. Registers keep their values from one RUN() to the next; all lanes are on.
 */
#ifndef GP_TESTS_VGPU_ISA_MACHINE_H
#define GP_TESTS_VGPU_ISA_MACHINE_H

#include "testlib.h"
#include "vgpu/isa/vector/lanes.h"

/* GPU addresses of what is mapped; all the rest faults. */
#define MACHINE_CODE               0x100000ull
#define MACHINE_CODE_BYTES         0x10000u
#define MACHINE_DATA               0x7f0000000000ull /* machine->data */
#define MACHINE_DATA_BYTES         0x40000u
#define MACHINE_CONST              0x300000ull /* machine->constants: reads only */
#define MACHINE_CONST_BYTES        0x2000u
#define MACHINE_SCRATCH            0x400000ull /* machine->scratch: 256 bytes for each lane */
#define MACHINE_SCRATCH_LANE_BYTES 256u
#define MACHINE_LDS_BYTES          0x10000u
#define MACHINE_SHARED             0x1000000000000ull /* bases of the apertures */
#define MACHINE_PRIVATE            0x2000000000000ull

#define MACHINE_ENDPGM             0xbf810000u

struct machine {
	struct gp_isa_host host;
	struct gp_isa_runner runner;
	struct gp_isa_group group;
	struct gp_isa_wave *wave;
	u8 *code, *data, *constants, *scratch, *lds;
	u32 loaded;            /* words of code */
	u64 clock, clock_real; /* what s_memtime and s_memrealtime read; each read adds 1 */
	u32 messages, message, message_m0; /* how many, and the last */
};

/* Setup and teardown of cmocka: *state is the machine. */
int machine_gfx90a(void **state);
int machine_gfx942(void **state);
int machine_down(void **state);

/* A further wave, like the first; of the same group. free() it. */
struct gp_isa_wave *machine_wave(struct machine *machine);

/* Puts the words at MACHINE_CODE, s_endpgm behind them, and pc at the first. */
void machine_load(struct machine *machine, const u32 *words, u32 count);
/* Loads and runs, at most `budget` instructions. */
enum gp_isa_stop machine_run(struct machine *machine, const u32 *words, u32 count, u32 budget);
/* Loads, runs and fails the test unless the wave ends; the words and the reason are printed. */
void machine_run_to_end(struct machine *machine, const u32 *words, u32 count);

#define RUN(machine, ...)                                       \
	machine_run_to_end(machine, (const u32[]){__VA_ARGS__}, \
			   sizeof((const u32[]){__VA_ARGS__}) / sizeof(u32))
/* The stop of words that do not end. */
#define STOP(machine, ...)                               \
	machine_run(machine, (const u32[]){__VA_ARGS__}, \
		    sizeof((const u32[]){__VA_ARGS__}) / sizeof(u32), 1000)

/* Numbers for random operands: the same for the same seed. */
u32 machine_random(u64 *seed);

#endif
