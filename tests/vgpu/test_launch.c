// SPDX-License-Identifier: MIT
/* What waves are started from: the registers and the memory that a dispatch packet asks for. */
#include "testlib.h"
#include "vgpu/cp/launch.h"

#define PLACE      0x7f0000001000ull
#define WAVE_KIB   4u
#define WAVE_BYTES (WAVE_KIB * 1024)

static struct gp_isa_launch launch(const struct gp_amd_queue *queue, u32 xccs, u32 private_bytes)
{
	static const struct gp_kernel_descriptor descriptor;
	struct gp_aql_dispatch packet = {.workgroup_x = 256,
					 .workgroup_y = 1,
					 .workgroup_z = 1,
					 .grid_x = 256,
					 .grid_y = 1,
					 .grid_z = 1,
					 .private_segment_bytes = private_bytes};
	struct gp_vgpu_cp_packet from = {.packet = &packet,
					 .descriptor = &descriptor,
					 .queue = queue,
					 .xccs = xccs};
	struct gp_isa_launch out;

	gp_vgpu_cp_launch(GP_ISA_GFX942, &from, &out);
	return out;
}

/* ROCr 7.2 says nowhere else how large it is. */
static void scratch_is_as_large_as_the_register_of_each_xcc_says(void **state)
{
	const struct gp_amd_queue queue = {.compute_tmpring_size = 32 | WAVE_KIB << 12,
					   .scratch_backing_memory_location = PLACE};
	struct gp_isa_launch out = launch(&queue, 4, 16);

	(void)state;
	assert_int_equal(out.scratch, PLACE);
	assert_int_equal(out.scratch_bytes, WAVE_BYTES);
	assert_int_equal(out.scratch_waves, 4 * 32);
	assert_int_equal(launch(&queue, 1, 16).scratch_waves, 32);
}

static void scratch_is_as_large_as_the_runtime_says(void **state)
{
	const struct gp_amd_queue queue = {.compute_tmpring_size = 1 | WAVE_KIB << 12,
					   .scratch_backing_memory_location = PLACE,
					   .scratch_backing_memory_byte_size =
						   (u64)WAVE_BYTES * 200};

	(void)state;
	assert_int_equal(launch(&queue, 1, 16).scratch_waves, 200);
}

static void kernel_without_private_memory_has_no_scratch(void **state)
{
	const struct gp_amd_queue queue = {.compute_tmpring_size = 32 | WAVE_KIB << 12,
					   .scratch_backing_memory_location = PLACE};

	(void)state;
	assert_int_equal(launch(&queue, 1, 0).scratch, 0);
	assert_int_equal(launch(NULL, 1, 16).scratch, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scratch_is_as_large_as_the_register_of_each_xcc_says),
		cmocka_unit_test(scratch_is_as_large_as_the_runtime_says),
		cmocka_unit_test(kernel_without_private_memory_has_no_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
