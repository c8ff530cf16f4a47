// SPDX-License-Identifier: MIT
#include "fake_module.h"

/* ROCm 6 and 7; the block of ROCm 6 is as large as that of ROCm 5. */
static const char *const chunk_copies[] = {"p8 p8 v8 v4 v4 v8 v4", "p8 p8 v8 v4 v4 v8 v4 v4"};

static void hip_copy_buffer_of_rocm_6_and_7_copies_elements_and_the_rest(void **state)
{
	u8 *from = bytes_new(256, 1), *to = bytes_new(256, 0);
	u32 *words = (u32 *)arguments;

	(void)state;
	for (u32 i = 0; i < GP_ARRAY_SIZE(chunk_copies); i++) {
		u64 kernel = named_kernel("__amd_rocclr_copyBuffer", chunk_copies[i]);

		for (u32 size = 1; size < 70; size++) {
			u32 element = size % 2 ? 16 : 4;

			memset(to, 0, 256);
			arguments[0] = va(from + 3);
			arguments[1] = va(to + 5);
			arguments[2] = size;
			words[6] = size % element;
			words[7] = element;
			arguments[4] = va(to + 5) + size - size % element;
			words[10] = words[11] = 512;
			run(kernel);
			assert_int_equal(to[4], 0);
			assert_memory_equal(to + 5, from + 3, size);
			assert_int_equal(to[5 + size], 0);
		}
	}
}

static void hip_fill_of_rocm_6_and_7_repeats_its_pattern(void **state)
{
	static const char *const layouts[] = {"p8 p8 v4 v4 v8 v4", "p8 p8 v4 v4 v8 v4 v4"};
	u8 *to = bytes_new(256, 0), *pattern = bytes_new(64, 9);
	u32 *words = (u32 *)arguments;

	(void)state;
	for (u32 i = 0; i < 5; i++) {
		u32 element = 1u << i;

		memset(to, 0, 256);
		arguments[0] = va(to + 16);
		arguments[1] = va(pattern);
		words[4] = 2;
		words[5] = element;
		arguments[3] = va(to + 16) + 6ull * element;
		words[8] = words[9] = 512;
		run(named_kernel("__amd_rocclr_fillBufferAligned", layouts[i % 2]));
		assert_int_equal(to[15], 0);
		for (u32 part = 0; part < 3; part++)
			assert_memory_equal(to + 16 + part * 2 * element, pattern, 2 * element);
		assert_int_equal(to[16 + 6 * element], 0);
	}
}

/* The queue fails, the program is told which kernel and which arguments, and nothing is written. */
static void hip_kernel_of_an_unknown_version_is_an_error_with_its_name(void **state)
{
	static const struct {
		const char *name, *layout, *said;
	} rows[] = {
		{"__amd_rocclr_copyBuffer", "p8 p8 v8 v4", "__amd_rocclr_copyBuffer(p8 p8 v8 v4)"},
		{"__amd_rocclr_copyBuffer", "p8 p8 v8 v8 v4 v8",
		 "__amd_rocclr_copyBuffer(p8 p8 v8 v8 v4 v8)"},
		{"__amd_rocclr_copyBuffer", NULL, "__amd_rocclr_copyBuffer(no metadata)"},
		{"__amd_rocclr_later", "", "__amd_rocclr_later()"},
	};
	u8 *from = bytes_new(64, 1), *to = bytes_new(64, 0);

	(void)state;
	for (u32 i = 0; i < GP_ARRAY_SIZE(rows); i++) {
		u64 kernel = named_kernel(rows[i].name, rows[i].layout);

		queue = fake_queue(2 + i, 64);
		arguments[0] = va(from);
		arguments[1] = va(to);
		arguments[4] = 17;
		launch(kernel);
		assert_null(fake_work());
		assert_string_equal(fake->last_said, rows[i].said);
		assert_int_equal(to[0], 0);
		assert_int_equal(fake->fault_count, 0);
	}
	assert_int_equal(fake->said, GP_ARRAY_SIZE(rows));
}

/* However it is cut or damaged: an error, never a crash. */
static void damaged_metadata_is_no_metadata(void **state)
{
	u64 kernel = named_kernel("__amd_rocclr_copyBuffer", chunk_copies[0]);
	u32 length = module.elf.note.header.n_descsz;
	struct gp_vgpu_cp_name name = {.name = "__amd_rocclr_copyBuffer"};
	char layout[GP_CP_LAYOUT];
	struct gp_vgpu_cp *cp = gp_vgpu_cp_get(&fake->client);

	(void)state;
	(void)kernel;
	name.uri = va(module.uri);
	assert_true(gp_vgpu_cp_arguments_find(cp, FAKE_GPU_ID, &name, layout));
	assert_string_equal(layout, chunk_copies[0]);
	for (u32 cut = 0; cut < length - 20; cut++) {
		module.elf.note.header.n_descsz = cut;
		gp_vgpu_cp_arguments_find(cp, FAKE_GPU_ID, &name, layout);
		assert_string_not_equal(layout, "p8 p8 v8 v8 v8 v4");
	}
	module.elf.note.header.n_descsz = length;
	for (u32 at = 0; at < length; at++) {
		for (u32 value = 0x80; value < 0x100; value++) {
			u8 right = module.elf.note.text[at];

			module.elf.note.text[at] = (u8)value;
			gp_vgpu_cp_arguments_find(cp, FAKE_GPU_ID, &name, layout);
			module.elf.note.text[at] = right;
		}
	}
	memset(module.elf.note.text, 0x91, sizeof(module.elf.note.text)); /* arrays in arrays */
	module.elf.note.header.n_descsz = sizeof(module.elf.note.text);
	assert_false(gp_vgpu_cp_arguments_find(cp, FAKE_GPU_ID, &name, layout));
	module.elf.note.header.n_type = 1;
	assert_false(gp_vgpu_cp_arguments_find(cp, FAKE_GPU_ID, &name, layout));
}

static void batch_waits_for_memory_and_writes(void **state)
{
	u64 kernel = named_kernel("__amd_rocclr_batchMemOp", "p8 v4");
	u64 *place = fake_take(64, 64);
	struct {
		u32 type, pad;
		u64 address, value;
		u32 flags, pad2;
		u64 unused[2];
	} *batch = fake_take(4 * 48, 64);

	(void)state;
	memset(place, 0xaa, 64);
	memset(batch, 0, 4 * 48);
	batch[0].type = 1, batch[0].address = va(place), batch[0].value = 7, batch[0].flags = 1;
	batch[1].type = 2, batch[1].address = va(place + 1), batch[1].value = 5;
	batch[2].type = 1, batch[2].address = va(place + 1), batch[2].value = 5, batch[2].flags = 1;
	batch[3].type = 5, batch[3].address = va(place + 2), batch[3].value = 6;
	arguments[0] = va(batch);
	arguments[1] = 4;
	launch(kernel);
	assert_null(fake_work());
	*place = 7;
	assert_true(fake_step());
	assert_int_equal((u32)place[1], 0xaaaaaaaa);
	fake_run(fake_work());
	assert_true(place[1] == 0xaaaaaaaa00000005);
	assert_true(place[2] == 6);
	arguments[0] = 0x7000;
	launch(kernel);
	assert_int_equal(fake->fault_count, 1);
	assert_int_equal(fake->faults[0], 0x7000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, blit_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hip_copy_buffer_of_rocm_6_and_7_copies_elements_and_the_rest),
		TEST(hip_fill_of_rocm_6_and_7_repeats_its_pattern),
		TEST(hip_kernel_of_an_unknown_version_is_an_error_with_its_name),
		TEST(damaged_metadata_is_no_metadata),
		TEST(batch_waits_for_memory_and_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
