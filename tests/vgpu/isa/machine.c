// SPDX-License-Identifier: MIT
#include "machine.h"

#include "coverage.h"

#define PAGE GP_ISA_PAGE_BYTES

static const struct {
	u64 start;
	u32 bytes;
	bool writable;
	size_t member; /* in struct machine */
} regions[] = {
	{MACHINE_CODE, MACHINE_CODE_BYTES, true, offsetof(struct machine, code)},
	{MACHINE_DATA, MACHINE_DATA_BYTES, true, offsetof(struct machine, data)},
	{MACHINE_CONST, MACHINE_CONST_BYTES, false, offsetof(struct machine, constants)},
	{MACHINE_SCRATCH, MACHINE_SCRATCH_LANE_BYTES *GP_ISA_LANES, true,
	 offsetof(struct machine, scratch)},
};

static u8 **region_memory(struct machine *machine, size_t n)
{
	return (u8 **)((char *)machine + regions[n].member);
}

static void *page(void *data, u64 va, bool write)
{
	struct machine *machine = data;

	for (size_t n = 0; n < GP_ARRAY_SIZE(regions); n++)
		if (va >= regions[n].start && va - regions[n].start < regions[n].bytes)
			return write && !regions[n].writable
				       ? NULL
				       : *region_memory(machine, n) + (va - regions[n].start);
	return NULL;
}

static u64 clock_read(void *data, bool real)
{
	struct machine *machine = data;

	return real ? machine->clock_real++ : machine->clock++;
}

static void message_take(void *data, u32 message, u32 m0)
{
	struct machine *machine = data;

	machine->messages++;
	machine->message = message;
	machine->message_m0 = m0;
}

static void *zeroed(size_t bytes)
{
	void *memory = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);

	assert_non_null(memory);
	return memset(memory, 0, bytes);
}

struct gp_isa_wave *machine_wave(struct machine *machine)
{
	struct gp_isa_wave *wave = zeroed(sizeof(*wave));

	wave->pc = MACHINE_CODE;
	gp_isa_set_pair(wave, GP_ISA_EXEC, ~0ull);
	wave->mode = GP_ISA_MODE_DENORM_64 | GP_ISA_MODE_DX10_CLAMP | GP_ISA_MODE_IEEE;
	wave->scratch = MACHINE_SCRATCH;
	wave->scratch_lane_bytes = MACHINE_SCRATCH_LANE_BYTES;
	wave->group = &machine->group;
	machine->group.waves++;
	return wave;
}

static int machine_up(void **state, enum gp_isa_gfx gfx)
{
	struct machine *machine = zeroed(sizeof(*machine));

	if (!gp_isa_supported())
		skip();
	for (size_t n = 0; n < GP_ARRAY_SIZE(regions); n++)
		*region_memory(machine, n) = zeroed(regions[n].bytes);
	machine->lds = zeroed(MACHINE_LDS_BYTES);
	machine->group = (struct gp_isa_group){.lds = machine->lds, .lds_bytes = MACHINE_LDS_BYTES};
	machine->host = (struct gp_isa_host){
		.data = machine,
		.page = page,
		.clock = clock_read,
		.message = message_take,
		.shared_base = MACHINE_SHARED,
		.private_base = MACHINE_PRIVATE,
	};
	machine->runner = (struct gp_isa_runner){
		.host = &machine->host,
		.gfx = gfx,
		.cache = zeroed(gp_isa_cache_bytes()),
	};
	machine->wave = machine_wave(machine);
	*state = machine;
	return 0;
}

int machine_gfx90a(void **state)
{
	return machine_up(state, GP_ISA_GFX90A);
}

int machine_gfx942(void **state)
{
	return machine_up(state, GP_ISA_GFX942);
}

int machine_down(void **state)
{
	struct machine *machine = *state;

	coverage_note(&machine->runner, MACHINE_CODE, machine->loaded);
	for (size_t n = 0; n < GP_ARRAY_SIZE(regions); n++)
		free(*region_memory(machine, n));
	free(machine->lds);
	free(machine->runner.cache);
	free(machine->wave);
	free(machine);
	return 0;
}

void machine_load(struct machine *machine, const u32 *words, u32 count)
{
	const u32 end = MACHINE_ENDPGM;

	coverage_note(&machine->runner, MACHINE_CODE, machine->loaded);
	machine->loaded = count + 1;
	assert_true((count + 1) * sizeof(u32) <= MACHINE_CODE_BYTES);
	memcpy(machine->code, words, count * sizeof(u32));
	memcpy(machine->code + count * sizeof(u32), &end, sizeof(end));
	machine->wave->pc = MACHINE_CODE;
}

enum gp_isa_stop machine_run(struct machine *machine, const u32 *words, u32 count, u32 budget)
{
	machine_load(machine, words, count);
	return gp_isa_run(&machine->runner, machine->wave, budget);
}

void machine_run_to_end(struct machine *machine, const u32 *words, u32 count)
{
	enum gp_isa_stop stop = machine_run(machine, words, count, 100000);
	char name[GP_ISA_NAME];

	machine->group.ended = 0;
	if (stop == GP_ISA_ENDED)
		return;
	gp_isa_describe(&machine->runner, machine->wave, name);
	fail_msg("stop %d at word %llu: %s, fault %llx", stop,
		 (unsigned long long)((machine->wave->pc - MACHINE_CODE) / sizeof(u32)), name,
		 (unsigned long long)machine->wave->fault);
}

u32 machine_random(u64 *seed)
{
	u64 x = *seed += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (u32)(x >> 32 ^ x);
}
