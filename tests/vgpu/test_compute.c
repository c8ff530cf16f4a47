// SPDX-License-Identifier: MIT
/*
 * The threads that run work-groups, with kernels of a few instructions: every work-item is executed
 * once, a held queue stands still, a dropped one is gone, faults and refused instructions are
 * reported, and memory can be unmapped behind a running kernel.
 */
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "abi/kfd_ioctl.h"
#include "base/clock.h"
#include "testlib.h"
#include "trap_handler.h"
#include "vgpu/compute/compute.h"
#include "vgpu/program/program.h"

#define BYTES     0x10000u
#define ENTRY     0x1000u /* the code, in the same memory as the data */
#define OTHER     0x1800u /* further code */
#define OTHERS    20      /* dispatches, at least, that run while one is stopped */
#define OTHERS_NS 300000000
#define PATIENT   2000    /* turns of 5 ms */
#define AREA      0x4000u /* where waves are saved, if a test wants that */
#define STACK     4096u
#define WAVE_BYTES                                                                     \
	(8u * 256 + 112 * 4 + 128 + 64) /* saved of a wave with eight vector registers \
					 */

enum { AN_HOUR_S = 3600 };
static _Atomic s64 wall_ahead_s; /* how far the clock that can be set is ahead */
int clock_gettime(clockid_t clock, struct timespec *out);

/* In the place of the function of the C library. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
	int error = (int)syscall(SYS_clock_gettime, clock, out);

	if (!error && clock == CLOCK_REALTIME)
		out->tv_sec += wall_ahead_s;
	return error;
}

/* What vgpu/preload gives: the memory of this test is the GPU's, at its own addresses. */
static u8 *memory;
static _Atomic bool unmapped;

void *gp_vgpu_gpu_page(struct gp_vgpu_client *client, u32 gpu_id, u64 va, bool write)
{
	u64 start = (u64)(uintptr_t)memory;

	(void)client, (void)gpu_id, (void)write;
	return unmapped || va < start || va >= start + BYTES ? NULL : (void *)(uintptr_t)va;
}

int gp_vgpu_copy_in(void *to, u64 from, size_t size)
{
	memcpy(to, (void *)(uintptr_t)from, size);
	return 0;
}

int gp_vgpu_copy_out(u64 to, const void *from, size_t size)
{
	memcpy((void *)(uintptr_t)to, from, size);
	return 0;
}

bool gp_vgpu_can_ask(void)
{
	return true;
}

void gp_vgpu_event_set(struct gp_vgpu_client *client, u32 event_id)
{
	(void)client, (void)event_id;
}

/* Of blocks of so many bytes; 0: none of this happens. */
static size_t watched_bytes;
/* 1: for the waves as they are saved; then the handler's: 2, for what the area holds, is full of
 * 0x55, and 3, for zeros, fails. */
static u32 watched;

void *__real_gp_vgpu_alloc(size_t bytes);
void *__wrap_gp_vgpu_alloc(size_t bytes);
void *__wrap_gp_vgpu_alloc(size_t bytes)
{
	void *block;

	if (!watched_bytes || bytes != watched_bytes)
		return __real_gp_vgpu_alloc(bytes);
	if (++watched == 3)
		return NULL;
	block = __real_gp_vgpu_alloc(bytes);
	if (block && watched == 2)
		memset(block, 0x55, bytes);
	return block;
}

static char said[256];
static u32 gave_up; /* lines about a trap handler that could not go on */
static u32 counted; /* lines with what it did */

void gp_vgpu_say(const char *text, const char *detail)
{
	snprintf(said, sizeof(said), "%s%s", text, detail);
	gave_up += strstr(said, "could not go on: ") != NULL;
	counted += strstr(said, "waves saved") != NULL;
	print_message("%s\n", said);
}

struct machine {
	struct gp_vgpu_client client;
	struct gp_vgpu_compute *compute;
	int wake_fd;
};

static int setup(void **state)
{
	struct machine *machine = calloc(1, sizeof(*machine));

	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unmapped = false;
	machine->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	machine->client.machine.gpu_count = 1;
	machine->client.machine.gpus[0] = (struct gp_vgpu_gpu){.gpu_id = 1, .cu_count = 4};
	machine->compute = gp_vgpu_compute_new(&machine->client, machine->wake_fd);
	assert_non_null(machine->compute);
	*state = machine;
	return 0;
}

/* Waves are saved by the trap handler in this header. */
static void take_handler(struct machine *machine, const char *header)
{
	gp_vgpu_compute_free(machine->compute);
	assert_non_null(place_make(machine->client.directory, sizeof(machine->client.directory)));
	assert_int_equal(gp_vgpu_handler_write(header, machine->client.directory, NULL), 0);
	machine->compute = gp_vgpu_compute_new(&machine->client, machine->wake_fd);
	assert_non_null(machine->compute);
	said[0] = '\0';
	gave_up = counted = 0;
}

/* By that of a driver, if there is one. */
static int setup_handler(void **state)
{
	const char *header = trap_handler();

	setup(state);
	if (header)
		take_handler(*state, header);
	return 0;
}

/* By this program: it saves from its first word on and restores from its second word on. */
static void take_words(struct machine *machine, const u32 *words, size_t count)
{
	static const char *const names[] = {"cwsr_trap_aldebaran_hex", "cwsr_trap_gfx9_4_3_hex"};
	char place[PATH_MAX], header[PATH_MAX + 16];
	FILE *file;

	assert_non_null(place_make(place, sizeof(place)));
	snprintf(header, sizeof(header), "%s/handler.h", place);
	file = fopen(header, "we");
	assert_non_null(file);
	for (u32 i = 0; i < GP_ARRAY_SIZE(names); i++) {
		fprintf(file, "static const uint32_t %s[] = {\n", names[i]);
		for (size_t k = 0; k < count; k++)
			fprintf(file, "\t0x%08x,\n", words[k]);
		fprintf(file, "};\n");
	}
	assert_int_equal(fclose(file), 0);
	take_handler(machine, header);
	place_remove(place);
}

static int teardown(void **state)
{
	struct machine *machine = *state;

	gp_vgpu_compute_free(machine->compute);
	close(machine->wake_fd);
	munmap(memory, BYTES);
	if (machine->client.directory[0])
		place_remove(machine->client.directory);
	free(machine);
	return 0;
}

static int teardown_handler(void **state)
{
	struct machine *machine = *state;
	bool used = machine->client.directory[0];

	teardown(state);
	return used && !strstr(said, "2 waves saved, 0 of them differ; 2 restored");
}

/* s[0:1] is the address of the memory, s2 the number of the group. */
static void start(struct machine *machine, const u32 *words, size_t bytes, u32 items, u32 size,
		  u32 queue)
{
	u64 address = (u64)(uintptr_t)memory;
	struct gp_isa_launch launch = {
		.gfx = GP_ISA_GFX90A,
		.entry = address + ENTRY,
		.rsrc2 = 2u << 1 | 1u << 7,
		.user = {(u32)address, (u32)(address >> 32)},
		.grid = {items, 1, 1},
		.group = {size, 1, 1},
	};

	memcpy(memory + ENTRY, words, bytes);
	assert_int_equal(gp_vgpu_compute_start(machine->compute, &launch, 0, queue, 77), 0);
}

/* What is at `entry` already. */
static void start_at(struct machine *machine, u32 entry, u32 queue)
{
	u64 address = (u64)(uintptr_t)memory;
	struct gp_isa_launch launch = {
		.gfx = GP_ISA_GFX90A,
		.entry = address + entry,
		.rsrc2 = 2u << 1 | 1u << 7,
		.user = {(u32)address, (u32)(address >> 32)},
		.grid = {64, 1, 1},
		.group = {64, 1, 1},
	};

	assert_int_equal(gp_vgpu_compute_start(machine->compute, &launch, 0, queue, 78), 0);
}

static struct gp_vgpu_computed wait_over(struct machine *machine)
{
	struct gp_vgpu_computed over = {0};

	for (u32 i = 0; i < PATIENT; i++) {
		if (gp_vgpu_compute_take(machine->compute, &over))
			return over;
		usleep(5000);
	}
	fail_msg("the dispatch is not over");
	return over;
}

/* v0 is the work-item; every one adds 1 to the counter of its lane. */
static const u32 count_once[] = {
	0x24020082,             /* v_lshlrev_b32_e32 v1, 2, v0 */
	0x7e040281,             /* v_mov_b32_e32 v2, 1 */
	0xdd088000, 0x00000201, /* global_atomic_add v1, v2, s[0:1] */
	0xbf8c0f70,             /* s_waitcnt vmcnt(0) */
	0xbf810000,             /* s_endpgm */
};

/* The same without an end, until the word at 2048 is not 0. */
static const u32 count_on[] = {
	0x24020082,             /* v_lshlrev_b32_e32 v1, 2, v0 */
	0x7e040281,             /* v_mov_b32_e32 v2, 1 */
	0xdd088000, 0x00000201, /* global_atomic_add v1, v2, s[0:1] */
	0xc0020100, 0x00000800, /* s_load_dword s4, s[0:1], 0x800 */
	0xbf8cc07f,             /* s_waitcnt lgkmcnt(0) */
	0xbf068004,             /* s_cmp_eq_u32 s4, 0 */
	0xbf85fff9,             /* s_cbranch_scc1 to the addition */
	0xbf810000,             /* s_endpgm */
};

static u32 counter(u32 index)
{
	return __atomic_load_n((u32 *)(void *)memory + index, __ATOMIC_SEQ_CST);
}

static void let_end(void)
{
	__atomic_store_n((u32 *)(void *)(memory + 2048), 1, __ATOMIC_SEQ_CST);
}

static void moves(u32 index)
{
	u32 before = counter(index);

	for (u32 i = 0; i < PATIENT && counter(index) == before; i++)
		usleep(5000);
	assert_int_not_equal(counter(index), before);
}

static void every_work_item_is_executed_once(void **state)
{
	struct machine *machine = *state;
	struct gp_vgpu_computed over;

	start(machine, count_once, sizeof(count_once), 64 * 1000 + 10, 64, 0);
	over = wait_over(machine);
	assert_int_equal(over.stop, GP_ISA_ENDED);
	assert_int_equal(over.tag, 77);
	for (u32 i = 0; i < 64; i++)
		assert_int_equal(counter(i), i < 10 ? 1001 : 1000);
}

static struct gp_vgpu_save_area hold(struct machine *machine, u32 queue, u32 bytes)
{
	struct gp_vgpu_save_area area = {
		.address = (u64)(uintptr_t)memory + AREA,
		.bytes = bytes,
		.stack_bytes = STACK,
		.xccs = 1,
	};

	gp_vgpu_compute_hold(machine->compute, queue, &area);
	return area;
}

static void held_queue_stands_still(void **state)
{
	struct machine *machine = *state;
	u32 stood;

	start(machine, count_on, sizeof(count_on), 64, 64, 3);
	moves(0);
	hold(machine, 3, 0);
	stood = counter(0);
	usleep(50000);
	assert_int_equal(counter(0), stood);
	gp_vgpu_compute_release(machine->compute, 3);
	moves(0);
	let_end();
	assert_int_equal(wait_over(machine).stop, GP_ISA_ENDED);
}

static void hold_before_the_start_counts(void **state)
{
	struct machine *machine = *state;

	hold(machine, 3, 0);
	start(machine, count_once, sizeof(count_once), 64, 64, 3);
	usleep(50000);
	assert_int_equal(counter(0), 0);
	gp_vgpu_compute_release(machine->compute, 3);
	assert_int_equal(wait_over(machine).stop, GP_ISA_ENDED);
}

/* A debugger changes what a kernel adds while it is held: its registers are read from there. */
static void registers_pass_through_the_save_area(void **state)
{
	struct machine *machine = *state;
	struct gp_kfd_context_save_area_header *header = (void *)(memory + AREA);
	const u32 wave_bytes = WAVE_BYTES;
	struct gp_vgpu_save_area area;
	u32 stood, *v2, *stack;

	start(machine, count_on, sizeof(count_on), 64 * 2, 128, 3);
	moves(0);
	area = hold(machine, 3, BYTES - AREA);
	stood = counter(0);
	assert_int_equal(area.waves_used, 2 * wave_bytes);
	assert_int_equal(header->wave_state.wave_state_offset, STACK + 2 * wave_bytes);
	assert_int_equal(header->wave_state.wave_state_size, 2 * wave_bytes);
	assert_int_equal(header->wave_state.control_stack_size, area.stack_used);
	stack = (u32 *)(void *)(memory + AREA + STACK);
	assert_int_equal(stack[-1] >> 16, 2);     /* the first wave of its group */
	assert_int_equal(stack[-2] >> 31, 1);     /* its registers */
	assert_int_equal(stack[-3] >> 16 & 3, 1); /* the last */
	v2 = stack + 2 * GP_ISA_LANES;
	assert_int_equal(v2[0], 1);
	v2[0] = 1000;
	gp_vgpu_compute_release(machine->compute, 3);
	for (u32 i = 0; i < PATIENT && counter(0) < stood + 1000; i++)
		usleep(5000);
	assert_true(counter(0) >= stood + 1000);
	let_end();
	assert_int_equal(wait_over(machine).stop, GP_ISA_ENDED);
	assert_int_equal((counter(0) - stood) % 1000 <= 1, 1);
}

static void handler_of_the_driver_does_the_same(void **state)
{
	struct machine *machine = *state;

	if (!machine->client.directory[0]) {
		print_message("no cwsr_trap_handler.h of a driver (GP_TRAP_HANDLER names one)\n");
		skip();
	}
	registers_pass_through_the_save_area(state);
}

/* A program that leaves its own memory and the save area is stopped; the waves come back without
 * it. */
static void handler_that_runs_wild_is_stopped(void **state)
{
	static const u32 far[] = {
		0xbf820000, /* s_branch to the next: saving and restoring are the same */
		0xbe8000ff, 0x56789000, /* s_mov_b32 s0, 0x56789000 */
		0xbe8100ff, 0x00001234, /* s_mov_b32 s1, 0x1234 */
		0xc0020100, 0x00000000, /* s_load_dword s4, s[0:1], 0x0 */
		0xbf8cc07f,             /* s_waitcnt lgkmcnt(0) */
		0xbf810000,             /* s_endpgm */
	};

	take_words(*state, far, GP_ARRAY_SIZE(far));
	registers_pass_through_the_save_area(state);
	assert_int_equal(gave_up, 2);
	assert_non_null(strstr(said, "address 0x123456789000"));
}

/* Its waves end instead of coming back; those of the program must not count as ended. */
static void handler_that_ends_its_waves_loses_none(void **state)
{
	static const u32 end[] = {0xbf810000 /* s_endpgm */, 0xbf810000};

	take_words(*state, end, GP_ARRAY_SIZE(end));
	registers_pass_through_the_save_area(state);
	assert_int_equal(gave_up, 2);
}

/* Without memory for it, the area keeps what was written before. */
static void handler_without_memory_changes_nothing(void **state)
{
	static const u32 end[] = {0xbf810000 /* s_endpgm */, 0xbf810000};

	take_words(*state, end, GP_ARRAY_SIZE(end));
	watched_bytes = WAVE_BYTES;
	registers_pass_through_the_save_area(state);
	watched_bytes = 0;
	assert_true(watched >= 3);
	assert_int_equal(gave_up, 1); /* restoring needs none */
}

static void handler_that_cannot_go_on_says_so_a_few_times(void **state)
{
	static const u32 end[] = {0xbf810000 /* s_endpgm */, 0xbf810000};
	struct machine *machine = *state;

	take_words(machine, end, GP_ARRAY_SIZE(end));
	start(machine, count_on, sizeof(count_on), 64, 64, 3);
	moves(0);
	for (u32 i = 0; i < 20; i++) {
		hold(machine, 3, BYTES - AREA);
		gp_vgpu_compute_release(machine->compute, 3);
	}
	assert_true(gave_up > 1 && gave_up < 10);
	gp_vgpu_compute_free(machine->compute);
	assert_non_null(strstr(said, "could not go on 40 times"));
	machine->compute = gp_vgpu_compute_new(&machine->client, machine->wake_fd);
	assert_non_null(machine->compute);
}

/* It never saves, and what it restores is a wave in an endless loop. */
static void handler_that_only_restores_says_so_a_few_times(void **state)
{
	static const u32 loop[] = {0xbf82ffff /* s_branch to itself */};
	u64 at = (u64)(uintptr_t)memory + OTHER;
	const u32 restore[] = {
		0xbf810000,                  /* s_endpgm instead of saving */
		0xbe8000ff, (u32)at,         /* s_mov_b32 s0 */
		0xbe8100ff, (u32)(at >> 32), /* s_mov_b32 s1 */
		0xbe801f00,                  /* s_rfe_b64 s[0:1] */
	};
	struct machine *machine = *state;

	memcpy(memory + OTHER, loop, sizeof(loop));
	take_words(machine, restore, GP_ARRAY_SIZE(restore));
	start(machine, count_on, sizeof(count_on), 64, 64, 3);
	moves(0);
	for (u32 i = 0; i < 20; i++) {
		hold(machine, 3, BYTES - AREA);
		gp_vgpu_compute_release(machine->compute, 3);
	}
	assert_true(gave_up > 1 && gave_up < 10);
	assert_true(counted < 10);
	gp_vgpu_compute_free(machine->compute);
	assert_non_null(strstr(said, "20 restored; could not go on 20 times"));
	machine->compute = gp_vgpu_compute_new(&machine->client, machine->wake_fd);
	assert_non_null(machine->compute);
}

/* Too small an area: the waves are kept, and nothing is written behind its end. */
static void waves_that_do_not_fit_are_kept(void **state)
{
	struct machine *machine = *state;

	start(machine, count_on, sizeof(count_on), 64 * 40, 64, 3);
	for (u32 i = 0; i < 64; i++)
		moves(i);
	memset(memory + AREA, 0xee, BYTES - AREA);
	hold(machine, 3, STACK + 4096);
	for (u32 i = STACK + 4096; i < BYTES - AREA; i++)
		assert_int_equal(memory[AREA + i], 0xee);
	gp_vgpu_compute_release(machine->compute, 3);
	let_end();
	assert_int_equal(wait_over(machine).stop, GP_ISA_ENDED);
}

static void dropped_queue_is_gone_and_others_run(void **state)
{
	struct machine *machine = *state;
	u32 stood;

	start(machine, count_on, sizeof(count_on), 64 * 100, 64, 5);
	moves(0);
	gp_vgpu_compute_drop(machine->compute, 5);
	stood = counter(0);
	usleep(50000);
	assert_int_equal(counter(0), stood);
	memset(memory, 0, ENTRY);
	start(machine, count_once, sizeof(count_once), 64, 64, 6);
	assert_int_equal(wait_over(machine).queue_id, 6);
	assert_int_equal(counter(0), 1);
}

/* Groups that wait for each other: more of them than threads. */
static void groups_are_under_way_together(void **state)
{
	static const u32 meet[] = {
		0x7e020280,             /* v_mov_b32_e32 v1, 0 */
		0x7e040281,             /* v_mov_b32_e32 v2, 1 */
		0xbefe0181,             /* s_mov_b64 exec, 1 */
		0xdd088000, 0x00000201, /* global_atomic_add v1, v2, s[0:1] */
		0xc0020100, 0x00000000, /* s_load_dword s4, s[0:1], 0x0 */
		0xbf8cc07f,             /* s_waitcnt lgkmcnt(0) */
		0xbf089804,             /* s_cmp_gt_u32 s4, 24 */
		0xbf84fffb,             /* s_cbranch_scc0 to the load */
		0xbf810000,             /* s_endpgm */
	};
	struct machine *machine = *state;

	start(machine, meet, sizeof(meet), 64 * 25, 64, 0);
	assert_int_equal(wait_over(machine).stop, GP_ISA_ENDED);
	assert_int_equal(counter(0), 25);
}

/* Each group adds 1, meets all others, and finds their sum; three times. */
static void meet_at_a_barrier(struct machine *machine)
{
	static const u32 prepare[] = {
		0x7e040298,             /* v_mov_b32_e32 v2, 24 */
		0xd9330003, 0x00000002, /* ds_gws_init v2 offset:3 gds */
		0xbf810000,             /* s_endpgm */
	};
	static const u32 meet[] = {
		0xbe850080,             /* s_mov_b32 s5, 0 */
		0xbefe0181,             /* s_mov_b64 exec, 1 */
		0x7e020280,             /* v_mov_b32_e32 v1, 0 */
		0x7e040281,             /* v_mov_b32_e32 v2, 1 */
		0x7e080298,             /* v_mov_b32_e32 v4, 24 */
		0xdd088000, 0x00000201, /* again: global_atomic_add v1, v2, s[0:1] */
		0xd93b0003, 0x00000004, /* ds_gws_barrier v4 offset:3 gds */
		0xc0020100, 0x00000000, /* s_load_dword s4, s[0:1], 0x0 */
		0xd93b0003, 0x00000004, /* ds_gws_barrier v4 offset:3 gds */
		0x81059905,             /* s_add_i32 s5, s5, 25 */
		0xbf070504,             /* s_cmp_lg_u32 s4, s5 */
		0xbf850004,             /* s_cbranch_scc1 to the trap */
		0xbf0aff05, 0x0000004b, /* s_cmp_lt_u32 s5, 75 */
		0xbf85fff2,             /* s_cbranch_scc1 again */
		0xbf810000,             /* s_endpgm */
		0xbf920002,             /* s_trap 2 */
	};

	start(machine, prepare, sizeof(prepare), 64, 64, 0);
	assert_int_equal(wait_over(machine).stop, GP_ISA_ENDED);
	start(machine, meet, sizeof(meet), 64 * 25, 64, 0);
	assert_int_equal(wait_over(machine).stop, GP_ISA_ENDED);
	assert_int_equal(counter(0), 75);
}

static void groups_meet_at_a_barrier_of_the_grid(void **state)
{
	meet_at_a_barrier(*state);
}

/* A thread looked at the clock of the machine, which then is set back by an hour. */
static void groups_meet_whatever_the_wall_clock_says(void **state)
{
	wall_ahead_s = AN_HOUR_S;
	meet_at_a_barrier(*state);
	wall_ahead_s = 0;
}

static void fault_and_refusal_are_reported(void **state)
{
	static const u32 far[] = {
		0x7e020280,             /* v_mov_b32_e32 v1, 0 */
		0xbe8100ff, 0x00001234, /* s_mov_b32 s1, 0x1234 */
		0xdc508000, 0x02000001, /* global_load_dword v2, v1, s[0:1] */
		0xbf810000,             /* s_endpgm */
	};
	static const u32 refused[] = {0xd8000000 | 0x98 << 17 | 1 << 16, 0};
	struct machine *machine = *state;
	struct gp_vgpu_computed over;

	start(machine, far, sizeof(far), 64, 64, 0);
	over = wait_over(machine);
	assert_int_equal(over.stop, GP_ISA_FAULT);
	assert_int_equal(over.address >> 32, 0x1234);
	start(machine, refused, sizeof(refused), 64, 64, 1);
	over = wait_over(machine);
	assert_int_equal(over.stop, GP_ISA_REFUSED);
	assert_string_equal(over.text, "ds_gws_sema_release_all");
}

static void a_dispatch_that_fails_stops_its_queue(void **state)
{
	static const u32 refused[] = {0xd8000000 | 0x98 << 17 | 1 << 16, 0};
	struct machine *machine = *state;
	u32 before;
	u64 end;

	start(machine, count_on, sizeof(count_on), 64, 64, 3);
	moves(0);
	memcpy(memory + OTHER, refused, sizeof(refused));
	start_at(machine, OTHER, 3);
	assert_int_equal(wait_over(machine).stop, GP_ISA_REFUSED);
	gp_vgpu_compute_flush(machine->compute);
	before = counter(0);
	memcpy(memory + OTHER, count_once, sizeof(count_once));
	/* For a while: on a busy machine the other thread needs time to go on. */
	end = gp_monotonic_ns() + OTHERS_NS;
	for (u32 i = 1; i <= OTHERS || gp_monotonic_ns() < end; i++) {
		start_at(machine, OTHER, 4);
		assert_int_equal(wait_over(machine).stop, GP_ISA_ENDED);
		assert_int_equal(counter(0), before + i);
	}
	/* A new queue with its number is not stopped. */
	gp_vgpu_compute_drop(machine->compute, 3);
	start_at(machine, OTHER, 3);
	assert_int_equal(wait_over(machine).stop, GP_ISA_ENDED);
}

/* Never executed in part, or with memory of others. */
static void what_cannot_be_executed_is_refused(void **state)
{
	struct machine *machine = *state;
	struct gp_isa_launch launch = {
		.gfx = GP_ISA_GFX90A,
		.grid = {128, 1, 1},
		.group = {128, 1, 1},
		.scratch = (u64)(uintptr_t)memory,
		.scratch_bytes = 1024,
		.scratch_waves = 1,
	};

	assert_int_equal(gp_vgpu_compute_start(machine->compute, &launch, 0, 3, 77), -ENOSPC);
	launch.scratch = 0;
	launch.grid[1] = 0;
	assert_int_equal(gp_vgpu_compute_start(machine->compute, &launch, 0, 3, 77), -E2BIG);
	launch.grid[1] = 1;
	launch.group[1] = 9;
	assert_int_equal(gp_vgpu_compute_start(machine->compute, &launch, 0, 3, 77), -EDOM);
	launch.group[1] = 1;
	launch.lds_bytes = 65536 + 512;
	assert_int_equal(gp_vgpu_compute_start(machine->compute, &launch, 0, 3, 77), -EDOM);
}

static void pages_are_not_used_after_a_flush(void **state)
{
	struct machine *machine = *state;

	start(machine, count_on, sizeof(count_on), 64, 64, 0);
	moves(0);
	unmapped = true;
	gp_vgpu_compute_flush(machine->compute);
	assert_int_equal(wait_over(machine).stop, GP_ISA_FAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_work_item_is_executed_once, setup, teardown),
		cmocka_unit_test_setup_teardown(held_queue_stands_still, setup, teardown),
		cmocka_unit_test_setup_teardown(registers_pass_through_the_save_area, setup,
						teardown),
		cmocka_unit_test_setup_teardown(handler_of_the_driver_does_the_same, setup_handler,
						teardown_handler),
		cmocka_unit_test_setup_teardown(handler_that_runs_wild_is_stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(handler_that_ends_its_waves_loses_none, setup,
						teardown),
		cmocka_unit_test_setup_teardown(handler_without_memory_changes_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(handler_that_cannot_go_on_says_so_a_few_times,
						setup, teardown),
		cmocka_unit_test_setup_teardown(handler_that_only_restores_says_so_a_few_times,
						setup, teardown),
		cmocka_unit_test_setup_teardown(waves_that_do_not_fit_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(hold_before_the_start_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(dropped_queue_is_gone_and_others_run, setup,
						teardown),
		cmocka_unit_test_setup_teardown(groups_are_under_way_together, setup, teardown),
		cmocka_unit_test_setup_teardown(groups_meet_whatever_the_wall_clock_says, setup,
						teardown),
		cmocka_unit_test_setup_teardown(groups_meet_at_a_barrier_of_the_grid, setup,
						teardown),
		cmocka_unit_test_setup_teardown(fault_and_refusal_are_reported, setup, teardown),
		cmocka_unit_test_setup_teardown(a_dispatch_that_fails_stops_its_queue, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_executed_is_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(pages_are_not_used_after_a_flush, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
