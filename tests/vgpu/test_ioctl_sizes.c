// SPDX-License-Identifier: MIT
/* The dispatcher: structures of any size, bad pointers, unknown numbers, other people's
 * descriptors, and the ioctls that are answered without a server. */
#include "standin.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/drm.h"
#include "abi/kfd_debug.h"
#include "vgpu/ioctls.h"

/* The same number with another size in it. */
static unsigned long sized(unsigned long request, u32 size)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), size);
}

static void shorter_and_longer_structures_work(void **state)
{
	u32 words[8] = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u};

	(void)state;
	/* Half a GET_VERSION: the second word is not touched. */
	assert_int_equal(kfd(sized(GP_KFD_IOC_GET_VERSION, 4), words), 0);
	assert_int_equal(words[0], GP_KFD_VERSION_MAJOR);
	assert_int_equal(words[1], ~0u);
	/* One from the future: what the driver does not know comes back as zero. */
	assert_int_equal(kfd(sized(GP_KFD_IOC_GET_VERSION, 16), words), 0);
	assert_int_equal(words[1], GP_KFD_VERSION_MINOR);
	assert_int_equal(words[2], 0);
	assert_int_equal(words[4], ~0u);
	/* Nothing at all. */
	assert_int_equal(kfd(sized(GP_KFD_IOC_GET_VERSION, 0), NULL), 0);
}

static void only_what_the_caller_sent_is_read(void **state)
{
	u8 *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	/* Four bytes before the end of the world: there is no such event, but no fault either. */
	mprotect(pages + 4096, 4096, PROT_NONE);
	assert_int_equal(kfd(sized(GP_KFD_IOC_SET_EVENT, 4), pages + 4092), -EINVAL);
	assert_int_equal(kfd(GP_KFD_IOC_SET_EVENT, pages + 4092), -EFAULT);
	munmap(pages, 8192);
}

static void the_number_alone_chooses(void **state)
{
	struct gp_kfd_get_version_args args = {0};
	unsigned long wrong = _IOC(_IOC_WRITE, 'x', _IOC_NR(GP_KFD_IOC_GET_VERSION), 8);

	(void)state;
	assert_int_equal(kfd(wrong, &args), 0);
	assert_int_equal(args.major_version, GP_KFD_VERSION_MAJOR);
}

static void arguments_come_back_from_a_failed_call(void **state)
{
	struct gp_kfd_wait_events_args args = {.events_ptr = 8, .num_events = 1};

	(void)state;
	assert_int_equal(kfd(GP_KFD_IOC_WAIT_EVENTS, &args), -EFAULT);
	assert_int_equal(args.wait_result, GP_KFD_WAIT_FAIL);
}

static void bad_pointers_are_efault(void **state)
{
	void *readonly = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	/* CREATE_PROCESS has none. */
	for (u32 nr = GP_KFD_NR_FIRST; nr < _IOC_NR(GP_KFD_IOC_CREATE_PROCESS); nr++) {
		/* Who may is asked before its arguments are looked at, and is not known here. */
		int expected = nr == _IOC_NR(GP_KFD_IOC_CRIU_OP) ? -EACCES : -EFAULT;

		standin.refuse = nr == _IOC_NR(GP_KFD_IOC_CRIU_OP) ? -EACCES : 0;
		assert_int_equal(kfd(_IOWR('K', nr, u64), none), expected);
		assert_int_equal(kfd(_IOWR('K', nr, u64), (void *)8), expected);
	}
	standin.refuse = 0;
	assert_int_equal(kfd(GP_KFD_IOC_GET_VERSION, readonly), -EFAULT);
	munmap(readonly, 4096);
	munmap(none, 4096);
}

static void requests_are_those_an_x86_64_process_sends(void **state)
{
	/* clang-format off */
	static const u32 requests[] = {
		0x80084b01, 0xc0604b02, 0xc0084b03, 0x40204b04, 0xc0284b05, 0x81904b06,
		0x40184b07, 0xc0204b08, 0x40084b09, 0x40084b0a, 0x40084b0b, 0xc0184b0c,
		0x40084b0d, 0x40084b0e, 0x40104b0f, 0x40104b10, 0xc0104b11, 0xc0284b12,
		0x40184b13, 0xc0104b14, 0x40084b15, 0xc0284b16, 0x40084b17, 0xc0184b18,
		0xc0184b19, 0x40104b1a, 0xc0184b1b, 0xc0204b1c, 0xc0184b1d, 0xc0104b1e,
		0xc0084b1f, 0xc0184b20, 0xc0044b21, 0xc0384b22, 0xc0104b23, 0xc0104b24,
		0xc0104b25, 0xc0204b26, 0x00004b27,
	};
	/* clang-format on */

	(void)state;
	assert_int_equal(GP_ARRAY_SIZE(requests), GP_KFD_NR_END - GP_KFD_NR_FIRST);
	for (u32 nr = GP_KFD_NR_FIRST; nr < GP_KFD_NR_END; nr++) {
		assert_int_equal(gp_vgpu_ioctls[nr].request, requests[nr - GP_KFD_NR_FIRST]);
		assert_int_equal(_IOC_NR(gp_vgpu_ioctls[nr].request), nr);
		assert_non_null(gp_vgpu_ioctls[nr].name);
	}
}

/* The library answers a row of its own, forwards one of the server, refuses one that is gone. */
static void every_row_is_answered_where_it_says(void **state)
{
	u8 bytes[512];

	(void)state;
	standin.client.machine.kfd_minor = GP_KFD_MINOR_CREATE_PROCESS;
	for (u32 nr = GP_KFD_NR_FIRST; nr < GP_KFD_NR_END; nr++) {
		const struct gp_vgpu_ioctl *row = &gp_vgpu_ioctls[nr];
		int result;

		memset(bytes, 0, sizeof(bytes));
		standin.requests = 0;
		result = kfd(row->request, bytes);
		assert_int_not_equal(result, -ENOTTY);
		if (row->side == GP_VGPU_REMOVED)
			assert_int_equal(result, -EPERM);
		if (row->side == GP_VGPU_IN_SERVER)
			assert_int_equal(standin.requests, 1);
		if (row->side == GP_VGPU_IN_PRELOAD)
			assert_int_equal(standin.requests, 0);
	}
}

static void unknown_numbers_are_enotty(void **state)
{
	u8 bytes[256] = {0};

	(void)state;
	assert_int_equal(kfd(_IOWR('K', 0, u64), bytes), -ENOTTY);
	for (u32 nr = GP_KFD_NR_END; nr < 256; nr++)
		assert_int_equal(kfd(_IOWR('K', nr, u64), bytes), -ENOTTY);
	/* An older driver knows less. */
	standin.client.machine.kfd_minor = 11;
	assert_int_equal(kfd(GP_KFD_IOC_DBG_TRAP, bytes), -ENOTTY);
	assert_int_equal(kfd(GP_KFD_IOC_EXPORT_DMABUF, bytes), -ENOTTY);
	assert_int_equal(kfd(GP_KFD_IOC_AVAILABLE_MEMORY, bytes), 0);
}

static void a_descriptor_belongs_to_who_opened_it(void **state)
{
	struct gp_vgpu_fd fd = gp_vgpu_fd_check(standin.kfd);
	struct gp_kfd_get_version_args args;

	(void)state;
	fd.owner++;
	assert_int_equal(gp_vgpu_kfd_ioctl(fd, GP_KFD_IOC_GET_VERSION, &args), -EBADF);
	/* The number is looked at first. */
	assert_int_equal(gp_vgpu_kfd_ioctl(fd, _IO('K', 0x80), NULL), -ENOTTY);
}

static void what_is_gone_or_refused_says_so(void **state)
{
	u8 bytes[64] = {0};
	struct gp_kfd_import_dmabuf_args import = {.dmabuf_fd = (u32)standin.kfd};

	(void)state;
	assert_int_equal(kfd(GP_KFD_IOC_DBG_REGISTER, bytes), -EPERM);
	assert_int_equal(kfd(GP_KFD_IOC_DBG_WAVE_CONTROL, bytes), -EPERM);
	assert_int_equal(kfd(GP_KFD_IOC_IMPORT_DMABUF, &import), -EINVAL);
	import.dmabuf_fd = ~0u;
	assert_int_equal(kfd(GP_KFD_IOC_IMPORT_DMABUF, &import), -EINVAL); /* no such GPU */
	acquire_both();
	import.gpu_id = GPU0;
	assert_int_equal(kfd(GP_KFD_IOC_IMPORT_DMABUF, &import), -EBADF);
}

static void apertures_are_those_of_the_gpus(void **state)
{
	struct gp_kfd_process_device_apertures all[3] = {0};
	struct gp_kfd_get_process_apertures_new_args args = {.num_of_nodes = 0};
	struct gp_kfd_get_process_apertures_args old = {0};

	(void)state;
	assert_int_equal(kfd(GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, &args), 0);
	assert_int_equal(args.num_of_nodes, 2);
	args.kfd_process_device_apertures_ptr = (uintptr_t)all;
	args.num_of_nodes = 3;
	assert_int_equal(kfd(GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, &args), 0);
	assert_int_equal(args.num_of_nodes, 2);
	assert_int_equal(all[1].gpu_id, GPU1);
	assert_int_equal(all[0].gpuvm_limit, GP_KFD_GPUVM_LIMIT);
	/* One CPU and two GPUs: 6.12 takes no larger number. */
	args.num_of_nodes = 4;
	assert_int_equal(kfd(GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, &args), -EINVAL);
	args.num_of_nodes = 1;
	args.kfd_process_device_apertures_ptr = 8;
	assert_int_equal(kfd(GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, &args), -EFAULT);
	assert_int_equal(kfd(GP_KFD_IOC_GET_PROCESS_APERTURES, &old), 0);
	assert_int_equal(old.num_of_nodes, 2);
	assert_int_equal(old.process_apertures[1].gpu_id, GPU1);
}

static void a_vm_comes_from_the_gpus_own_render_node(void **state)
{
	struct gp_kfd_acquire_vm_args args = {.drm_fd = (u32)standin.render, .gpu_id = GPU1};
	struct gp_kfd_set_memory_policy_args policy = {.gpu_id = GPU0};
	struct gp_kfd_set_trap_handler_args trap = {.gpu_id = GPU0};
	struct gp_kfd_set_scratch_backing_va_args scratch = {.gpu_id = GPU0};

	(void)state;
	assert_int_equal(kfd(GP_KFD_IOC_ACQUIRE_VM, &args), -EINVAL);
	args = (struct gp_kfd_acquire_vm_args){.drm_fd = (u32)standin.kfd, .gpu_id = GPU0};
	assert_int_equal(kfd(GP_KFD_IOC_ACQUIRE_VM, &args), -EINVAL);
	assert_int_equal(kfd(GP_KFD_IOC_SET_MEMORY_POLICY, &policy), -ESRCH);
	acquire_both();
	assert_int_equal(kfd(GP_KFD_IOC_SET_MEMORY_POLICY, &policy), 0);
	assert_int_equal(kfd(GP_KFD_IOC_SET_TRAP_HANDLER, &trap), 0);
	assert_int_equal(kfd(GP_KFD_IOC_SET_SCRATCH_BACKING_VA, &scratch), 0);
	policy.default_policy = 2;
	assert_int_equal(kfd(GP_KFD_IOC_SET_MEMORY_POLICY, &policy), -EINVAL);
}

static void clocks_run_at_their_rates(void **state)
{
	struct gp_kfd_get_clock_counters_args args = {.gpu_id = GPU0};

	(void)state;
	assert_int_equal(kfd(GP_KFD_IOC_GET_CLOCK_COUNTERS, &args), 0);
	assert_int_equal(args.gpu_clock_counter, args.cpu_clock_counter / 10);
	assert_int_equal(args.system_clock_freq, GP_KFD_SYSTEM_CLOCK_HZ);
	args.gpu_id = 0;
	assert_int_equal(kfd(GP_KFD_IOC_GET_CLOCK_COUNTERS, &args), 0);
	assert_int_equal(args.gpu_clock_counter, 0);
}

static void tile_modes_and_xnack_answer(void **state)
{
	u32 modes[64];
	struct gp_kfd_get_tile_config_args tiles = {
		.tile_config_ptr = (uintptr_t)modes,
		.macro_tile_config_ptr = (uintptr_t)modes,
		.num_tile_configs = 64,
		.num_macro_tile_configs = 64,
		.gpu_id = GPU0,
	};
	struct gp_kfd_set_xnack_mode_args xnack = {.xnack_enabled = -1};

	(void)state;
	assert_int_equal(kfd(GP_KFD_IOC_GET_TILE_CONFIG, &tiles), 0);
	assert_int_equal(tiles.num_tile_configs, GP_KFD_TILE_MODES);
	assert_int_equal(tiles.num_macro_tile_configs, GP_KFD_MACRO_TILE_MODES);
	assert_int_equal(kfd(GP_KFD_IOC_SET_XNACK_MODE, &xnack), 0);
	assert_int_equal(xnack.xnack_enabled, 0);
	assert_int_equal(kfd(GP_KFD_IOC_SET_XNACK_MODE, &xnack), 0);
	xnack.xnack_enabled = 1;
	assert_int_equal(kfd(GP_KFD_IOC_SET_XNACK_MODE, &xnack), -EPERM);
}

static int drm(unsigned long request, void *args)
{
	return gp_vgpu_drm_ioctl(&standin.client, 0, request, args);
}

static void the_render_node_says_who_it_is(void **state)
{
	char name[16] = "";
	struct gp_drm_version version = {.name_length = sizeof(name), .name = (uintptr_t)name};
	struct gp_amdgpu_info_device device = {0};
	struct gp_drm_amdgpu_info info = {
		.return_pointer = (uintptr_t)&device,
		.return_size = sizeof(device),
		.query = GP_AMDGPU_INFO_DEV_INFO,
	};
	struct gp_drm_get_cap cap = {.capability = 999};

	(void)state;
	assert_int_equal(drm(_IOWR('d', GP_DRM_NR_VERSION, struct gp_drm_version), &version), 0);
	assert_string_equal(name, "amdgpu");
	assert_int_equal(version.name_length, 6);
	assert_int_equal(drm(_IOW('d', GP_DRM_NR_INFO, struct gp_drm_amdgpu_info), &info), 0);
	assert_int_equal(device.device_id, 0x740f);
	assert_int_equal(device.cu_active_number, 104);
	info.return_pointer = 8;
	assert_int_equal(drm(_IOW('d', GP_DRM_NR_INFO, struct gp_drm_amdgpu_info), &info), -EFAULT);
	assert_int_equal(drm(_IOWR('d', GP_DRM_NR_GET_CAP, struct gp_drm_get_cap), &cap), -EINVAL);
	assert_int_equal(drm(_IOWR('d', 0x60, u64), &cap), -EACCES);
	assert_int_equal(drm(_IOWR('K', 0x01, u64), &cap), -ENOTTY);
}

static int query(u32 what, void *answer, u32 size)
{
	struct gp_drm_amdgpu_info info = {.return_pointer = (uintptr_t)answer,
					  .return_size = size,
					  .query = what};

	return drm(_IOW('d', GP_DRM_NR_INFO, struct gp_drm_amdgpu_info), &info);
}

static void the_render_node_knows_its_memory(void **state)
{
	struct gp_amdgpu_memory_info memory;
	struct gp_amdgpu_vram_gtt sizes;
	struct gp_drm_get_cap cap = {.capability = GP_DRM_CAP_PRIME};
	struct gp_drm_client client = {0};
	u64 usage;
	u32 works;

	(void)state;
	assert_int_equal(query(GP_AMDGPU_INFO_ACCEL_WORKING, &works, sizeof(works)), 0);
	assert_int_equal(works, 1);
	assert_int_equal(query(GP_AMDGPU_INFO_MEMORY, &memory, sizeof(memory)), 0);
	assert_int_equal(memory.vram.total_heap_size, GPU_VRAM);
	assert_int_equal(memory.cpu_accessible_vram.total_heap_size, GPU_VRAM);
	assert_int_equal(query(GP_AMDGPU_INFO_VRAM_GTT, &sizes, sizeof(sizes)), 0);
	assert_int_equal(sizes.vram_size, GPU_VRAM);
	/* The stand-in answers that nothing is free. */
	assert_int_equal(query(GP_AMDGPU_INFO_VRAM_USAGE, &usage, sizeof(usage)), 0);
	assert_int_equal(usage, GPU_VRAM);
	assert_int_equal(query(GP_AMDGPU_INFO_READ_MMR_REG, &works, sizeof(works)), 0);
	assert_int_equal(works, 0);
	assert_int_equal(query(0x999, &usage, sizeof(usage)), -EINVAL);
	assert_int_equal(query(GP_AMDGPU_INFO_MEMORY, &memory, 0), -EINVAL);
	assert_int_equal(drm(_IOWR('d', GP_DRM_NR_GET_CAP, struct gp_drm_get_cap), &cap), 0);
	assert_int_equal(cap.value, GP_DRM_PRIME_BOTH);
	assert_int_equal(drm(_IOWR('d', GP_DRM_NR_GET_CLIENT, struct gp_drm_client), &client), 0);
	assert_int_equal(client.pid, getpid());
	assert_int_equal(drm(_IOWR('d', GP_DRM_NR_GET_CAP, struct gp_drm_get_cap), (void *)8),
			 -EFAULT);
}

static void descriptors_follow_copies_and_forget_what_was_closed(void **state)
{
	const int far = 70000;
	int copy = dup(standin.kfd);

	(void)state;
	assert_int_equal(gp_vgpu_fd_check(copy).kind, GP_VGPU_FD_NONE);
	gp_vgpu_fd_duplicate(standin.kfd, copy);
	assert_int_equal(gp_vgpu_fd_check(copy).kind, GP_VGPU_FD_KFD);
	assert_int_equal(gp_vgpu_fd_get(far).kind, GP_VGPU_FD_NONE);
	gp_vgpu_fd_duplicate(standin.kfd, far);
	assert_int_equal(gp_vgpu_fd_get(far).kind, GP_VGPU_FD_KFD);
	assert_int_equal(gp_vgpu_fd_check(far).kind, GP_VGPU_FD_NONE);
	/* Closed without us and the number used again. */
	close(copy);
	assert_int_equal(open("/dev/null", O_RDONLY), copy);
	assert_int_equal(gp_vgpu_fd_get(copy).kind, GP_VGPU_FD_KFD);
	assert_int_equal(gp_vgpu_fd_check(copy).kind, GP_VGPU_FD_NONE);
	assert_false(gp_vgpu_fd_forget(copy));
	assert_int_equal(gp_vgpu_fd_get(copy).kind, GP_VGPU_FD_NONE);
	close(copy);
}

static void our_own_descriptors_cannot_be_closed(void **state)
{
	int own = gp_vgpu_own_fd(open("/dev/null", O_RDONLY));

	(void)state;
	assert_true(own > 100);
	assert_true(fcntl(own, F_GETFD) & FD_CLOEXEC);
	assert_true(gp_vgpu_fd_forget(own));
	gp_vgpu_close_own(own);
	assert_int_equal(fcntl(own, F_GETFD), -1);
	assert_false(gp_vgpu_fd_forget(own));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, standin_setup, standin_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(shorter_and_longer_structures_work),
		TEST(only_what_the_caller_sent_is_read),
		TEST(the_number_alone_chooses),
		TEST(arguments_come_back_from_a_failed_call),
		TEST(bad_pointers_are_efault),
		TEST(requests_are_those_an_x86_64_process_sends),
		TEST(every_row_is_answered_where_it_says),
		TEST(unknown_numbers_are_enotty),
		TEST(a_descriptor_belongs_to_who_opened_it),
		TEST(what_is_gone_or_refused_says_so),
		TEST(apertures_are_those_of_the_gpus),
		TEST(a_vm_comes_from_the_gpus_own_render_node),
		TEST(clocks_run_at_their_rates),
		TEST(tile_modes_and_xnack_answer),
		TEST(the_render_node_says_who_it_is),
		TEST(the_render_node_knows_its_memory),
		TEST(descriptors_follow_copies_and_forget_what_was_closed),
		TEST(our_own_descriptors_cannot_be_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
