// SPDX-License-Identifier: MIT
#include "fake_module.h"

#define LOAD(target, offset)    0xc0020000u | (target) << 6, (offset)
#define LOAD_X4(target, offset) 0xc00a0000u | (target) << 6, (offset)

static const u32 copy_aligned_code[] = {
	LOAD_X4(4, 0),     LOAD_X4(8, 0x10),  LOAD_X4(12, 0x20),
	LOAD_X4(16, 0x30), LOAD_X4(20, 0x40), LOAD(24, 0x50),
};
/* As assembled for gfx8, by ROCr 5, and for gfx9 since. */
static const u32 copy_misaligned_gfx9[] = {
	LOAD_X4(4, 0), LOAD_X4(8, 0x10), LOAD_X4(12, 0x20), LOAD(16, 0x30), 0xbf8cc07f,
};
static const u32 copy_misaligned_code[] = {
	LOAD_X4(4, 0), LOAD_X4(8, 0x10), LOAD_X4(12, 0x20), LOAD(16, 0x30), 0xbf8c007f,
};
static const u32 fill_code[] = {
	LOAD_X4(4, 0), LOAD_X4(8, 0x10), 0xbf8c007f, 0x8e028602, 0x32000002,
};

static void rocr_copies_move_data_once_at_completion(void **state)
{
	u64 kernel = fake_kernel(copy_aligned_code, GP_ARRAY_SIZE(copy_aligned_code));
	u8 *from = bytes_new(5000, 1), *to = bytes_new(5000, 0);
	struct gp_vgpu_work work;

	(void)state;
	arguments[0] = va(from);
	arguments[1] = va(to);
	arguments[8] = va(from + 4999);
	launch(kernel);
	work = *fake_work();
	fake_done(&work, GP_VGPU_LAUNCHED);
	assert_int_equal(to[0], 0);
	fake_done(&work, GP_VGPU_COMPLETED);
	assert_memory_equal(to, from, 4999);
	assert_int_equal(to[4999], 0);
	memset(to, 0, 5000);
	fake_done(&work, GP_VGPU_COMPLETED);
	assert_int_equal(to[0], 0);
	kernel = fake_kernel(copy_misaligned_code, GP_ARRAY_SIZE(copy_misaligned_code));
	arguments[1] = va(to + 1);
	arguments[4] = va(from + 100);
	run(kernel);
	assert_memory_equal(to + 1, from, 100);
	assert_int_equal(to[101], 0);
	arguments[4] = va(from + 120);
	run(fake_kernel(copy_misaligned_gfx9, GP_ARRAY_SIZE(copy_misaligned_gfx9)));
	assert_memory_equal(to + 1, from, 120);
}

static void rocr_fill_fills(void **state)
{
	u64 kernel = fake_kernel(fill_code, GP_ARRAY_SIZE(fill_code));
	u32 *to = fake_take(4096, 64);

	(void)state;
	memset(to, 0, 4096);
	arguments[0] = va(to);
	arguments[2] = va(to + 1000);
	arguments[3] = 0xabcd1234;
	run(kernel);
	assert_int_equal(to[0], 0xabcd1234);
	assert_int_equal(to[999], 0xabcd1234);
	assert_int_equal(to[1000], 0);
}

/* It would have copied something: the queue fails, and the line names the code. */
static void rocr_copy_of_an_unknown_version_is_an_error_with_its_code(void **state)
{
	static const u32 code[GP_CP_BLIT_CODE_WORDS] = {LOAD_X4(4, 0), LOAD_X4(12, 0x10),
							0xbf8c007f};
	u8 *from = bytes_new(64, 1), *to = bytes_new(64, 0);

	(void)state;
	_amdgpu_r_debug = (struct r_debug){.r_version = 7};
	arguments[0] = va(from);
	arguments[1] = va(to);
	launch(fake_kernel(code, GP_ARRAY_SIZE(code)));
	assert_null(fake_work());
	assert_int_equal(fake->said, 1);
	assert_memory_equal(fake->last_said, "c00a0100 00000000 c00a0300 00000010 bf8c007f", 44);
	assert_int_equal(to[0], 0);
}

static void unknown_kernel_changes_nothing(void **state)
{
	u8 *from = bytes_new(64, 1), *to = bytes_new(64, 0);

	(void)state;
	arguments[0] = va(from);
	arguments[1] = va(to);
	arguments[8] = va(from + 64);
	arguments[4] = 17;
	run(fake_kernel(NULL, 0));
	run(named_kernel("vectorAdd", "p8 p8 p8 v4"));
	run(named_kernel("__amd_rocclr_fillImage", "i8 v16 v16 v16 v16 v16 v4"));
	run(named_kernel("__amd_rocclr_initHeap", "v8 v8 v4 v4"));
	assert_int_equal(to[0], 0);
	assert_int_equal(fake->fault_count, 0);
}

static void hip_copy_buffer_copies_dwords_and_the_rest(void **state)
{
	u64 kernel = named_kernel("__amd_rocclr_copyBuffer", "p8 p8 v8 v8 v8 v4 h8 h8");
	u8 *from = bytes_new(256, 1), *to = bytes_new(256, 0);

	(void)state;
	for (u32 size = 1; size < 20; size++) {
		memset(to, 0, 256);
		arguments[0] = va(from);
		arguments[1] = va(to);
		arguments[2] = 3;
		arguments[3] = 5;
		arguments[4] = size / 4 + 1;
		arguments[5] = size % 4;
		run(kernel);
		assert_int_equal(to[4], 0);
		assert_memory_equal(to + 5, from + 3, size);
		assert_int_equal(to[5 + size], 0);
	}
	arguments[4] = 40;
	arguments[5] = 8;
	run(kernel);
	assert_memory_equal(to + 5, from + 3, 40);
	assert_int_equal(to[45], 0);
}

static void hip_copy_buffer_aligned_counts_elements(void **state)
{
	u64 kernel = named_kernel("__amd_rocclr_copyBufferAligned", "p8 p8 v8 v8 v8 v4");
	u8 *from = bytes_new(512, 1), *to = bytes_new(512, 0);

	(void)state;
	arguments[0] = va(from);
	arguments[1] = va(to);
	arguments[2] = 1;
	arguments[3] = 2;
	arguments[4] = 3;
	arguments[5] = 16;
	run(kernel);
	assert_memory_equal(to + 32, from + 16, 48);
	assert_int_equal(to[80], 0);
	arguments[5] = 4;
	memset(to, 0, 512);
	run(kernel);
	assert_memory_equal(to + 8, from + 4, 12);
	assert_int_equal(to[20], 0);
}

static void hip_rect_follows_pitches(void **state)
{
	static const struct {
		const char *name;
		u32 element;
	} rows[] = {
		{"__amd_rocclr_copyBufferRect", 1},
		{"__amd_rocclr_copyBufferRectAligned", 4},
		{"__amd_rocclr_copyBufferRectAligned", 16},
	};
	u8 *from = bytes_new(8192, 3), *to = bytes_new(8192, 0);

	(void)state;
	for (u32 i = 0; i < GP_ARRAY_SIZE(rows); i++) {
		u32 e = rows[i].element;
		u64 *a = arguments;

		memset(to, 0, 8192);
		a[0] = va(from);
		a[1] = va(to);
		a[4] = 16, a[5] = 64, a[6] = 2;
		a[8] = 20, a[9] = 100, a[10] = 1;
		a[12] = 7, a[13] = 3, a[14] = 2, a[15] = e;
		run(named_kernel(rows[i].name, "p8 p8 v32 v32 v32"));
		for (u32 z = 0; z < 2; z++) {
			for (u32 y = 0; y < 3; y++) {
				u32 target = (1 + y * 20 + z * 100) * e;

				assert_memory_equal(to + target, from + (2 + y * 16 + z * 64) * e,
						    7 * e);
				assert_int_equal(to[target + 7 * e], 0);
			}
		}
	}
}

static void hip_fill_repeats_its_pattern(void **state)
{
	u64 kernel = named_kernel("__amd_rocclr_fillBufferAligned", "p8 p8 p8 p8 p8 v4 v8 v8");
	u8 *to = bytes_new(256, 0);
	u32 *pattern = fake_take(16, 16);

	(void)state;
	pattern[0] = 0x11223344;
	pattern[1] = 0x55667788;
	arguments[2] = va(to); /* of dwords */
	arguments[4] = va(pattern);
	arguments[5] = 2;
	arguments[6] = 1;
	arguments[7] = 3;
	run(kernel);
	assert_int_equal(((u32 *)to)[0], 0);
	for (u32 i = 0; i < 6; i++)
		assert_int_equal(((u32 *)to)[1 + i], pattern[i % 2]);
	assert_int_equal(((u32 *)to)[7], 0);
	memset(to, 0, 256);
	kernel = named_kernel("__amd_rocclr_fillBufferAligned2D", "p8 p8 p8 p8 p8 v4 v8 v8 v8 v8");
	arguments[2] = 0;
	arguments[0] = va(to); /* of bytes */
	arguments[5] = 1;
	arguments[6] = 2;
	arguments[7] = 5;
	arguments[8] = 3;
	arguments[9] = 16;
	run(kernel);
	for (u32 y = 0; y < 3; y++) {
		assert_int_equal(to[y * 16 + 1], 0);
		for (u32 x = 0; x < 5; x++)
			assert_int_equal(to[y * 16 + 2 + x], 0x44);
		assert_int_equal(to[y * 16 + 7], 0);
	}
}

static void stream_write_stores_and_stream_wait_holds_the_queue(void **state)
{
	u64 kernel = named_kernel("__amd_rocclr_streamOpsWrite", "p8 p8 v8 v8");
	u64 *place = fake_take(8, 8);
	static const struct {
		u64 flags, wrong, right;
	} rows[] = {{0, 4, 6}, {1, 4, 5}, {2, 2, 4}, {3, ~0ull, 2}};

	(void)state;
	*place = 0xaaaaaaaaaaaaaaaa;
	arguments[0] = va(place);
	arguments[2] = 7;
	run(kernel);
	assert_true(*place == 0xaaaaaaaa00000007);
	arguments[0] = 0;
	arguments[1] = va(place);
	run(kernel);
	assert_true(*place == 7);
	arguments[2] = 8;
	run(named_kernel("__amd_rocclr_streamOpsWrite", "p8 p8 v8")); /* since ROCm 6 */
	assert_true(*place == 8);
	kernel = named_kernel("__amd_rocclr_streamOpsWait", "p8 p8 v8 v8 v8");
	for (u32 i = 0; i < GP_ARRAY_SIZE(rows); i++) {
		arguments[i % 2] = va(place);
		arguments[1 - i % 2] = 0;
		arguments[2] = 5;
		arguments[3] = rows[i].flags;
		arguments[4] = 0xff;
		*place = rows[i].wrong;
		launch(kernel);
		assert_null(fake_work());
		*place = rows[i].right;
		assert_true(fake_step());
		fake_run(fake_work());
	}
}

/* 16 elements wide, 8 high, of 4 bytes; tiled, so its rows are as wide as it is. */
static u32 *image_new(u8 *memory)
{
	u32 *words = fake_take(32, 32);
	u64 base = va(memory) >> 8;

	assert_int_equal(va(memory) % 256, 0);
	memset(words, 0, 32);
	words[0] = (u32)base;
	words[1] = (u32)(base >> 32) | 4u << 20;
	words[2] = 15 | 7u << 14;
	words[3] = 9u << 20;
	return words;
}

static void hip_images_keep_what_is_copied_into_them(void **state)
{
	u8 *first = fake_take(8192, 256), *second = fake_take(8192, 256);
	u8 *from = bytes_new(4096, 5), *to = bytes_new(4096, 0);
	s32 *small = (s32 *)arguments;
	u64 *a = arguments;

	(void)state;
	a[0] = va(from);
	a[1] = va(image_new(first));
	a[4] = 3;                                    /* origin: dwords */
	small[16] = 2, small[17] = 1, small[18] = 1; /* at */
	small[20] = 5, small[21] = 3, small[22] = 2; /* size */
	small[24] = 4, small[25] = 1, small[26] = 1; /* four bytes */
	a[16] = 10, a[17] = 40;
	run(named_kernel("__amd_rocclr_copyBufferToImage", "p8 i8 v32 v16 v16 v16 v32"));
	assert_memory_equal(first + ((1 * 8 + 1) * 16 + 2) * 4, from + 12, 20);
	memset(a, 0, 256);
	a[0] = va(image_new(first));
	a[1] = va(image_new(second));
	small[4] = 2, small[5] = 1, small[6] = 1;
	small[12] = 5, small[13] = 3, small[14] = 2;
	run(named_kernel("__amd_rocclr_copyImage", "i8 i8 v16 v16 v16"));
	assert_memory_equal(second, from + 12, 20);
	memset(a, 0, 256);
	a[0] = va(image_new(second));
	a[1] = a[2] = a[3] = va(to);
	a[8] = 7;
	small[24] = 5, small[25] = 3, small[26] = 2;
	small[28] = 1, small[29] = 4, small[30] = 1;
	a[16] = 6, a[17] = 30;
	run(named_kernel("__amd_rocclr_copyImageToBuffer", "i8 p8 p8 p8 v16 v32 v16 v16 v32"));
	for (u32 z = 0; z < 2; z++) {
		for (u32 y = 0; y < 3; y++)
			assert_memory_equal(to + (7 + z * 30 + y * 6) * 4,
					    from + (3 + z * 40 + y * 10) * 4, 20);
	}
	assert_int_equal(to[(7 + 5) * 4], 0);
	a[0] = 0x6000;
	run(named_kernel("__amd_rocclr_copyImageToBuffer", "i8 p8 p8 p8 v16 v32 v16 v16 v32"));
	assert_int_equal(fake->faults[0], 0x6000);
}

static void blit_with_wild_pointers_is_a_fault(void **state)
{
	struct gp_amd_signal *signal = fake_signal(1);
	u64 kernel = named_kernel("__amd_rocclr_copyBuffer", "p8 p8 v8 v8 v8 v4 h8 h8");
	struct gp_aql_dispatch packet = fake_dispatch(kernel);
	u8 *to = bytes_new(64, 0);

	(void)state;
	arguments[0] = 0x5000;
	arguments[1] = va(to);
	arguments[4] = 5;
	packet.kernarg_address = va(arguments);
	packet.completion_signal = va(signal);
	fake_put(&queue, &packet);
	fake_step();
	fake_run(fake_work());
	assert_int_equal(fake->fault_count, 1);
	assert_int_equal(fake->faults[0], 0x5000);
	assert_int_equal(signal->value, 1);
}

/* HIP 5.2.3 counts below zero when it fills a byte or two at an odd address. */
static void a_fault_is_at_the_first_byte_that_is_not_there(void **state)
{
	u64 end = (u64)(uintptr_t)fake->memory + FAKE_MEMORY;
	u8 *pattern = bytes_new(8, 1);

	(void)state;
	arguments[3] = end - 3 * 4096; /* elements of 8 bytes */
	arguments[4] = va(pattern);
	arguments[5] = 1;
	arguments[7] = UINT64_MAX / 8;
	run(named_kernel("__amd_rocclr_fillBufferAligned", "p8 p8 p8 p8 p8 v4 v8 v8"));
	assert_int_equal(fake->fault_count, 1);
	assert_int_equal(fake->faults[0], end);
}

static void name_is_forgotten_when_its_module_is_unloaded(void **state)
{
	u64 kernel = named_kernel("__amd_rocclr_copyBuffer", "p8 p8 v8 v8 v8 v4 h8 h8");
	u8 *from = bytes_new(64, 1), *to = bytes_new(64, 0);
	const char *other = "somethingElse";
	u64 until;

	(void)state;
	arguments[0] = va(from);
	arguments[1] = va(to);
	arguments[4] = 16;
	arguments[5] = 0;
	run(kernel);
	assert_memory_equal(to, from, 60);
	memset(to, 0, 64);
	/* Another module where that one was, with a descriptor that looks the same. */
	memset(&module.map, 0, sizeof(module.map));
	{
		static struct module second;

		module_load(&second, &other, 1, kernel, "memory://");
	}
	for (until = gp_vgpu_cp_now() + 200000; gp_vgpu_cp_now() < until;)
		;
	run(kernel);
	assert_int_equal(to[0], 0);
}

static void names_are_found_in_files_and_bad_lists_do_no_harm(void **state)
{
	static const char *const names[] = {"first", "second"};
	char place[64], path[96];
	u64 kernel = fake_kernel(NULL, 0);
	struct gp_vgpu_cp_name name;
	int fd;

	(void)state;
	assert_non_null(place_make(place, sizeof(place)));
	snprintf(path, sizeof(path), "%s/gp test %%XXXXXX", place);
	fd = mkstemp(path);
	module_load(&module, names, 2, kernel, "memory://");
	gp_vgpu_cp_name_find(fake->client.cp, FAKE_GPU_ID, va(&_amdgpu_r_debug), kernel + 512,
			     &name);
	assert_string_equal(name.name, "second");
	assert_true(gp_vgpu_cp_name_holds(&name));
	assert_int_equal(write(fd, "headroom", 8), 8);
	assert_int_equal(write(fd, &module.elf, sizeof(module.elf)), sizeof(module.elf));
	snprintf(module.uri, sizeof(module.uri), "file://%s/gp%%20test%%20%%25%s#offset=8&size=%zu",
		 place, path + strlen(path) - 6, sizeof(module.elf));
	gp_vgpu_cp_name_find(fake->client.cp, FAKE_GPU_ID, va(&_amdgpu_r_debug), kernel, &name);
	assert_string_equal(name.name, "first");
	place_remove(place);
	close(fd);
	gp_vgpu_cp_name_find(fake->client.cp, FAKE_GPU_ID, va(&_amdgpu_r_debug), kernel, &name);
	assert_string_equal(name.name, "");
	/* Sizes that lie, loops, wild pointers. */
	module_load(&module, names, 2, kernel, "memory://");
	module.elf.sections[1].sh_size = UINT64_MAX;
	module.elf.symbols[1].st_name = 0xffffffff;
	gp_vgpu_cp_name_find(fake->client.cp, FAKE_GPU_ID, va(&_amdgpu_r_debug), kernel, &name);
	assert_string_equal(name.name, "");
	module.elf.header.e_shnum = 0xffff;
	module.map.l_next = &module.map;
	gp_vgpu_cp_name_find(fake->client.cp, FAKE_GPU_ID, va(&_amdgpu_r_debug), kernel, &name);
	assert_string_equal(name.name, "");
	module.map.l_name = (char *)8;
	module.map.l_next = (struct link_map *)16;
	gp_vgpu_cp_name_find(fake->client.cp, FAKE_GPU_ID, va(&_amdgpu_r_debug), kernel, &name);
	assert_string_equal(name.name, "");
	gp_vgpu_cp_name_find(fake->client.cp, FAKE_GPU_ID, 24, kernel, &name);
	assert_string_equal(name.name, "");
}

/* The image is gone, as after hipModuleLoadData(); the symbols are in what was loaded. */
static void names_are_found_in_what_was_loaded(void **state)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment;
		Elf64_Dyn dynamic[4];
		u32 hash[2];
		Elf64_Sym symbols[3];
		char strings[32];
		u8 pad[256];
	} *loaded = fake_take(4096, 4096);
	u64 base = va(loaded), kernel = base + 2048;
	struct link_map map = {.l_addr = base, .l_name = (char *)"memory://1#offset=0x10&size=64"};
	struct gp_vgpu_cp_name name;

	(void)state;
	memset(loaded, 0, 4096);
	memcpy(loaded->header.e_ident, ELFMAG, SELFMAG);
	loaded->header.e_phoff = va(&loaded->segment) - base;
	loaded->header.e_phentsize = sizeof(Elf64_Phdr);
	loaded->header.e_phnum = 1;
	loaded->segment = (Elf64_Phdr){.p_type = PT_DYNAMIC,
				       .p_vaddr = va(loaded->dynamic) - base,
				       .p_memsz = sizeof(loaded->dynamic)};
	loaded->dynamic[0] = (Elf64_Dyn){DT_SYMTAB, {va(loaded->symbols) - base}};
	loaded->dynamic[1] = (Elf64_Dyn){DT_STRTAB, {va(loaded->strings) - base}};
	loaded->dynamic[2] = (Elf64_Dyn){DT_HASH, {va(loaded->hash) - base}};
	loaded->hash[1] = 3;
	loaded->symbols[2] = (Elf64_Sym){.st_name = 1, .st_value = 2048, .st_size = 64};
	strcpy(loaded->strings + 1, "loaded.kd");
	_amdgpu_r_debug.r_map = &map;
	fake->client.cp->step++;
	gp_vgpu_cp_name_find(fake->client.cp, FAKE_GPU_ID, va(&_amdgpu_r_debug), kernel, &name);
	assert_string_equal(name.name, "loaded");
	loaded->hash[1] = 0xffffffff;
	loaded->symbols[2].st_name = 0x7fffffff;
	gp_vgpu_cp_name_find(fake->client.cp, FAKE_GPU_ID, va(&_amdgpu_r_debug), kernel, &name);
	assert_string_equal(name.name, "");
	loaded->dynamic[0].d_un.d_ptr = UINT64_MAX - 8;
	gp_vgpu_cp_name_find(fake->client.cp, FAKE_GPU_ID, va(&_amdgpu_r_debug), kernel, &name);
	assert_string_equal(name.name, "");
}

static void costs_follow_names(void **state)
{
	struct gp_gpufile_kernel costs[] = {{"vectorAddLong", 3000},
					    {"vectorAdd", 2000},
					    {"", 1000}};
	char directory[64], path[96];
	FILE *file;

	(void)state;
	assert_non_null(place_make(directory, sizeof(directory)));
	snprintf(path, sizeof(path), "%s/" GP_VGPU_KERNELS, directory);
	file = fopen(path, "w");
	fwrite(costs, sizeof(costs), 1, file);
	fclose(file);
	snprintf(fake->client.directory, sizeof(fake->client.directory), "%s", directory);
	gp_vgpu_free(fake->client.cp->kernels);
	fake->client.cp->kernels = gp_vgpu_cp_kernels_new(&fake->client);
	gp_vgpu_cp_kernels_attach(fake->client.cp->kernels);
	place_remove(directory);
	launch(named_kernel("vectorAddLonger", ""));
	assert_int_equal(fake_work()->workgroup_ns, 3000);
	launch(named_kernel("vectorAdd2", ""));
	assert_int_equal(fake_work()->workgroup_ns, 2000);
	launch(named_kernel("other", ""));
	assert_int_equal(fake_work()->workgroup_ns, 1000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, blit_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rocr_copies_move_data_once_at_completion),
		TEST(rocr_fill_fills),
		TEST(rocr_copy_of_an_unknown_version_is_an_error_with_its_code),
		TEST(unknown_kernel_changes_nothing),
		TEST(hip_copy_buffer_copies_dwords_and_the_rest),
		TEST(hip_copy_buffer_aligned_counts_elements),
		TEST(hip_rect_follows_pitches),
		TEST(hip_fill_repeats_its_pattern),
		TEST(stream_write_stores_and_stream_wait_holds_the_queue),
		TEST(hip_images_keep_what_is_copied_into_them),
		TEST(blit_with_wild_pointers_is_a_fault),
		TEST(a_fault_is_at_the_first_byte_that_is_not_there),
		TEST(name_is_forgotten_when_its_module_is_unloaded),
		TEST(names_are_found_in_files_and_bad_lists_do_no_harm),
		TEST(names_are_found_in_what_was_loaded),
		TEST(costs_follow_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
