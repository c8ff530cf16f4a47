// SPDX-License-Identifier: MIT
/*
 * Waves in memory. The judge of the layout is the trap handler of the driver (../trap_handler.h),
 * whose programs save and restore waves here, instruction by instruction. Without it these tests
 * are skipped.
 */
#include "vgpu/isa/save.h"

#include <stdlib.h>

#include "../trap_handler.h"
#include "machine.h"
#include "vgpu/isa/handler.h"

#define WAVES_MAX      4
#define ROUNDS         100
#define AREA_BYTES     0x10000u /* of each wave, so that four of them fit */
#define RETURN_TO      (MACHINE_CONST + 0x100)
#define RSRC1(vectors) (((vectors) / 8 - 1) & 0x3f)
#define RSRC3(plain)   (((plain) / 4 - 1) & 0x3f)

/* A wave with these registers, all of them random. */
static struct gp_isa_wave *random_wave(struct machine *m, u32 vectors, u32 plain, u32 lds,
				       u64 *seed)
{
	struct gp_isa_launch launch = {.rsrc1 = RSRC1(vectors),
				       .rsrc3 = RSRC3(plain),
				       .lds_bytes = lds};
	struct gp_isa_wave *wave = machine_wave(m);

	wave->gpr_alloc = gp_isa_gpr_alloc(&launch);
	wave->lds_alloc = gp_isa_lds_alloc(&launch);
	for (u32 i = 0; i < GP_ISA_SCALARS; i++)
		wave->s[i] = machine_random(seed);
	for (u32 row = 0; row < 2 * GP_ISA_VECTORS; row++)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			wave->v[row][lane] = machine_random(seed);
	wave->scc = machine_random(seed) & 1;
	wave->status = GP_ISA_STATUS_VALID | (machine_random(seed) & GP_ISA_STATUS_USER_PRIORITY);
	wave->mode = machine_random(seed) & 0x3ff;
	wave->trapsts = 0;
	wave->pc = RETURN_TO;
	return wave;
}

static void same_words(const char *what, const u32 *a, const u32 *b, u32 count)
{
	for (u32 i = 0; i < count; i++)
		if (a[i] != b[i]) {
			print_message("%s word %u: 0x%x, 0x%x\n", what, i, a[i], b[i]);
			fail();
		}
}

/* What a program can see of the two waves is the same. */
static void same(const struct gp_isa_wave *a, const struct gp_isa_wave *b, u32 vectors, u32 plain)
{
	assert_int_equal(a->pc, b->pc);
	same_words("s", a->s, b->s, GP_ISA_TTMP);
	assert_int_equal(a->s[GP_ISA_M0], b->s[GP_ISA_M0]);
	same_words("exec", a->s + GP_ISA_EXEC, b->s + GP_ISA_EXEC, 2);
	same_words("v", a->v[0], b->v[0], plain * GP_ISA_LANES);
	same_words("a", a->v[GP_ISA_VECTORS], b->v[GP_ISA_VECTORS],
		   (vectors - plain) * GP_ISA_LANES);
	assert_int_equal(a->scc, b->scc);
	assert_int_equal(a->mode, b->mode);
	assert_int_equal(a->status & ~0x601u, b->status & ~0x601u); /* but for what is made */
	assert_int_equal(a->trapsts, b->trapsts);
}

static void spoil(struct gp_isa_wave *wave)
{
	u32 gpr_alloc = wave->gpr_alloc, lds_alloc = wave->lds_alloc;
	struct gp_isa_group *group = wave->group;

	memset(wave, 0xa5, sizeof(*wave));
	wave->gpr_alloc = gpr_alloc;
	wave->lds_alloc = lds_alloc;
	wave->group = group;
	wave->status = 0;
	wave->trapsts = 0;
	wave->at_barrier = false;
	wave->mode = 0;
}

static u32 word(const u8 *at)
{
	u32 value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* 16 vector registers, 8 of them a0 to a7, 512 bytes of LDS: every place named in plain numbers. */
static void places_of_registers(void **state)
{
	struct machine *m = *state;
	u64 seed = 1;
	struct gp_isa_wave *wave = random_wave(m, 16, 8, 512, &seed);
	const u32 scalars = 16 * 256, hardware = scalars + 112 * 4, lds = hardware + 128;
	u8 *out = malloc(gp_isa_saved_bytes(wave, true));

	assert_non_null(out);
	m->lds[5] = 77;
	gp_isa_save(m->runner.gfx, wave, true, out);
	assert_int_equal(word(out), wave->v[0][0]);
	assert_int_equal(word(out + 7 * 256 + 63 * 4), wave->v[7][63]);
	assert_int_equal(word(out + 8 * 256 + 4), wave->v[256][1]);
	assert_int_equal(word(out + scalars + 101 * 4), wave->s[101]);
	assert_int_equal(word(out + scalars + 106 * 4), wave->s[GP_ISA_VCC]);
	assert_int_equal(word(out + hardware), wave->s[GP_ISA_M0]);
	assert_int_equal(word(out + hardware + 4), RETURN_TO);
	assert_int_equal(word(out + hardware + 12), wave->s[GP_ISA_EXEC]);
	assert_int_equal(word(out + hardware + 36), wave->mode);
	assert_int_equal(word(out + hardware + 0x50), wave->s[GP_ISA_TTMP + 4]);
	assert_int_equal(out[lds + 5], 77);
	assert_int_equal(gp_isa_saved_bytes(wave, true), lds + 512 + 64);
	assert_int_equal(gp_isa_saved_bytes(wave, false), lds + 64);
	free(out);
	free(wave);
}

static void restored_wave_is_the_same(void **state)
{
	struct machine *m = *state;
	u64 seed = 2;

	for (u32 vectors = 8; vectors <= 512; vectors += 8) {
		u32 plain = GP_MIN(GP_MAX(vectors / 2 & ~3u, 4u), 256u);
		struct gp_isa_wave *wave = random_wave(m, vectors, plain, 1024, &seed);
		struct gp_isa_wave *copy = machine_wave(m);
		u8 *out = malloc(gp_isa_saved_bytes(wave, true)), lds[1024];

		assert_non_null(out);
		for (u32 i = 0; i < sizeof(lds); i++)
			m->lds[i] = lds[i] = (u8)machine_random(&seed);
		memcpy(copy, wave, sizeof(*wave));
		gp_isa_save(m->runner.gfx, wave, true, out);
		spoil(wave);
		memset(m->lds, 0, sizeof(lds));
		gp_isa_restore(wave, true, out);
		same(wave, copy, vectors, plain);
		assert_memory_equal(m->lds, lds, sizeof(lds));
		free(out);
		free(copy);
		free(wave);
	}
}

/* It arrives at its barrier once more; the other wave is waited for. */
static void wave_at_a_barrier_arrives_again(void **state)
{
	struct machine *m = *state;
	const u32 code[] = {0xbf8a0000 /* s_barrier */, 0xbe8000c1 /* s_mov_b32 s0, -1 */};
	struct gp_isa_wave *other = machine_wave(m), *wave = m->wave;
	u8 *out;

	machine_load(m, code, GP_ARRAY_SIZE(code));
	wave->gpr_alloc = other->gpr_alloc = gp_isa_gpr_alloc(&(struct gp_isa_launch){0});
	out = malloc(gp_isa_saved_bytes(wave, false));
	assert_non_null(out);
	wave->s[0] = 5;
	assert_int_equal(gp_isa_run(&m->runner, wave, 10), GP_ISA_AT_BARRIER);
	gp_isa_save(m->runner.gfx, wave, false, out);
	spoil(wave);
	gp_isa_restore(wave, false, out);
	gp_isa_restore_group(wave->group);
	assert_int_equal(gp_isa_run(&m->runner, wave, 10), GP_ISA_AT_BARRIER);
	assert_int_equal(wave->s[0], 5);
	assert_int_equal(gp_isa_run(&m->runner, other, 10), GP_ISA_ENDED);
	assert_int_equal(gp_isa_run(&m->runner, wave, 10), GP_ISA_ENDED);
	assert_int_equal(wave->s[0], UINT32_MAX);
	free(out);
	free(other);
}

/* One that the other wave has released, but that has not run since, is behind its barrier. */
static void released_wave_does_not_arrive_again(void **state)
{
	struct machine *m = *state;
	const u32 code[] = {0xbf8a0000 /* s_barrier */, 0xbf8a0000,
			    0xbe8000c1 /* s_mov_b32 s0, -1 */};
	struct gp_isa_wave *other = machine_wave(m), *wave = m->wave;
	u8 *out;

	machine_load(m, code, GP_ARRAY_SIZE(code));
	wave->gpr_alloc = other->gpr_alloc = gp_isa_gpr_alloc(&(struct gp_isa_launch){0});
	out = malloc(gp_isa_saved_bytes(wave, false));
	assert_non_null(out);
	assert_int_equal(gp_isa_run(&m->runner, wave, 10), GP_ISA_AT_BARRIER);
	assert_int_equal(gp_isa_run(&m->runner, other, 10), GP_ISA_AT_BARRIER); /* the second */
	gp_isa_save(m->runner.gfx, wave, false, out);
	gp_isa_restore(wave, false, out);
	gp_isa_save(m->runner.gfx, other, false, out);
	gp_isa_restore(other, false, out);
	gp_isa_restore_group(wave->group);
	assert_int_equal(gp_isa_run(&m->runner, wave, 1), GP_ISA_AT_BARRIER);
	assert_int_equal(wave->pc, MACHINE_CODE + 8);
	assert_int_equal(gp_isa_run(&m->runner, other, 10), GP_ISA_ENDED);
	assert_int_equal(gp_isa_run(&m->runner, wave, 10), GP_ISA_ENDED);
	free(out);
	free(other);
}

/* ---- the handler of the driver ---- */

/* Words of the array with this name in a header of the driver; 0 if it is not there. */
static u32 handler_words(const char *path, const char *name, u32 *words, u32 max)
{
	FILE *file = fopen(path, "re");
	char line[512];
	bool inside = false;
	u32 count = 0;

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (strstr(line, name))
			inside = true;
		else if (inside && strchr(line, '}'))
			break;
		for (char *at = inside ? strstr(line, "0x") : NULL; at && count < max;
		     at = strstr(at + 2, "0x"))
			words[count++] = (u32)strtoul(at, NULL, 16);
	}
	fclose(file);
	return count;
}

static void handler_load(struct machine *m)
{
	static u32 words[MACHINE_CODE_BYTES / sizeof(u32) - 1];
	const char *path = trap_handler();
	bool newer = m->runner.gfx == GP_ISA_GFX942;
	u32 count;

	if (!path) {
		print_message("no cwsr_trap_handler.h of a driver (GP_TRAP_HANDLER names one)\n");
		skip();
	}
	count = handler_words(path, newer ? "cwsr_trap_gfx9_4_3_hex" : "cwsr_trap_aldebaran_hex",
			      words, GP_ARRAY_SIZE(words));
	assert_true(count > 100);
	machine_load(m, words, count);
}

/* Runs it on the waves of the group, which must come to its end. */
static void handler_run(struct machine *m, struct gp_isa_wave *const *waves, u32 count, bool saves)
{
	u64 areas[WAVES_MAX];
	struct gp_isa_saving saving = {
		.group = &m->group,
		.waves = waves,
		.areas = areas,
		.count = count,
		.handler = MACHINE_CODE,
	};
	char text[GP_ISA_NAME];
	enum gp_isa_stop stop;
	u32 failed = 0;

	for (u32 i = 0; i < count; i++)
		areas[i] = MACHINE_DATA + i * AREA_BYTES;
	stop = saves ? gp_isa_handler_save(&m->runner, &saving, &failed)
		     : gp_isa_handler_restore(&m->runner, &saving, &failed);
	if (stop == (saves ? GP_ISA_SAVED : GP_ISA_RUNNING))
		return;
	gp_isa_describe(&m->runner, waves[failed], text);
	print_message("wave %u at 0x%llx: %s\n", failed, (unsigned long long)waves[failed]->pc,
		      text);
	fail();
}

/* Which of the vector registers are accumulation registers. */
struct shape {
	u32 waves, vectors, plain, lds;
};

static void saved_the_same(struct machine *m, struct gp_isa_wave **waves, u32 count)
{
	u8 *own = malloc(AREA_BYTES);

	assert_non_null(own);
	for (u32 i = 0; i < count; i++) {
		u32 bytes = gp_isa_saved_bytes(waves[i], !i);

		assert_true(bytes <= AREA_BYTES);
		gp_isa_save(m->runner.gfx, waves[i], !i, own);
		same_words("area", (u32 *)(void *)(m->data + i * AREA_BYTES), (u32 *)(void *)own,
			   bytes / 4);
	}
	free(own);
}

/*
 * One group, saved by the handler and by us, then restored by the handler. `shift`: rows by which
 * the accumulation registers of the wave that comes back are off.
 */
static void handler_round(struct machine *m, struct shape shape, u64 *seed, u32 shift)
{
	struct gp_isa_wave *waves[WAVES_MAX], *before[WAVES_MAX];
	u8 *kept = malloc(MACHINE_LDS_BYTES);

	assert_non_null(kept);
	m->group = (struct gp_isa_group){.lds = m->lds, .lds_bytes = shape.lds};
	for (u32 i = 0; i < shape.lds; i++)
		kept[i] = m->lds[i] = (u8)machine_random(seed);
	memset(m->data, 0, MACHINE_DATA_BYTES);
	for (u32 i = 0; i < shape.waves; i++) {
		waves[i] = random_wave(m, shape.vectors, shape.plain, shape.lds, seed);
		before[i] = machine_wave(m);
		m->group.waves--;
		memcpy(before[i], waves[i], sizeof(*waves[i]));
	}
	handler_run(m, waves, shape.waves, true);
	saved_the_same(m, before, shape.waves);
	memset(m->lds, 0x5a, MACHINE_LDS_BYTES);
	for (u32 i = 0; i < shape.waves; i++)
		spoil(waves[i]);
	handler_run(m, waves, shape.waves, false);
	for (u32 i = 0; i < shape.waves; i++) {
		u32(*accum)[GP_ISA_LANES] = before[i]->v + GP_ISA_VECTORS;

		memmove(accum, accum + shift, (GP_ISA_VECTORS - shift) * sizeof(*accum));
		same(waves[i], before[i], shape.vectors - shift, shape.plain);
		free(waves[i]);
		free(before[i]);
	}
	assert_memory_equal(m->lds, kept, shape.lds);
	free(kept);
}

static void handler_of_the_driver_agrees(void **state)
{
	struct machine *m = *state;
	u64 seed = 3;

	handler_load(m);
	for (u32 round = 0; round < ROUNDS; round++) {
		u32 vectors = 8 + machine_random(&seed) % 20 * 8; /* what fits */
		struct shape shape = {
			.waves = 1 + machine_random(&seed) % WAVES_MAX,
			.vectors = vectors,
			.plain = 8 + machine_random(&seed) % (vectors / 4 - 1) * 4,
			.lds = machine_random(&seed) % 16 * 512,
		};

		handler_round(m, shape, &seed, 0);
	}
}

/*
 * A fault of the handler in Linux 6.12 and in amdgpu-dkms 6.12.12: with four vector registers it
 * reads the first four accumulation registers as v4 to v7 and the others into the wrong ones.
 */
static void handler_of_the_driver_loses_accumulators(void **state)
{
	struct machine *m = *state;
	u64 seed = 4;

	handler_load(m);
	handler_round(m, (struct shape){.waves = 1, .vectors = 24, .plain = 4}, &seed, 4);
}

#define BOTH(name)                                                           \
	cmocka_unit_test_setup_teardown(name, machine_gfx90a, machine_down), \
		cmocka_unit_test_setup_teardown(name, machine_gfx942, machine_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(places_of_registers),
		BOTH(restored_wave_is_the_same),
		BOTH(wave_at_a_barrier_arrives_again),
		BOTH(released_wave_does_not_arrive_again),
		BOTH(handler_of_the_driver_agrees),
		BOTH(handler_of_the_driver_loses_accumulators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
