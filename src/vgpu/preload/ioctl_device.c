// SPDX-License-Identifier: MIT
/* The ioctls that say what the machine is, and those the virtual GPU only has to accept. */
#include "base/clock.h"
#include "vgpu/preload/parts.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "abi/kfd_driver.h"

#define CPU_NODES 1

int gp_vgpu_ioctl_get_version(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_get_version_args *args = data;
	args->major_version = GP_KFD_VERSION_MAJOR;
	args->minor_version = client->machine.kfd_minor;
	return 0;
}

int gp_vgpu_ioctl_get_clock_counters(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_get_clock_counters_args *args = data;
	u64 raw = gp_clock_ns(CLOCK_MONOTONIC_RAW);

	/* A node without a GPU has no GPU clock; that is not an error. */
	args->gpu_clock_counter = gp_vgpu_gpu_index(client, args->gpu_id) < 0 ? 0 : raw / 10;
	args->cpu_clock_counter = raw;
	args->system_clock_counter = gp_clock_ns(CLOCK_BOOTTIME);
	args->system_clock_freq = GP_KFD_SYSTEM_CLOCK_HZ;
	return 0;
}

static struct gp_kfd_process_device_apertures apertures(const struct gp_vgpu_gpu *gpu)
{
	return (struct gp_kfd_process_device_apertures){
		.lds_base = GP_KFD_LDS_BASE,
		.lds_limit = GP_KFD_LDS_LIMIT,
		.scratch_base = GP_KFD_SCRATCH_BASE,
		.scratch_limit = GP_KFD_SCRATCH_LIMIT,
		.gpuvm_base = GP_KFD_GPUVM_BASE,
		.gpuvm_limit = GP_KFD_GPUVM_LIMIT,
		.gpu_id = gpu->gpu_id,
	};
}

int gp_vgpu_ioctl_get_apertures(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_get_process_apertures_args *args = data;
	const struct gp_vgpu_welcome *machine = &client->machine;
	u32 i;

	for (i = 0; i < machine->gpu_count && i < GP_KFD_APERTURES_OLD; i++)
		args->process_apertures[i] = apertures(&machine->gpus[i]);
	args->num_of_nodes = i;
	return 0;
}

int gp_vgpu_ioctl_get_apertures_new(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_get_process_apertures_new_args *args = data;
	const struct gp_vgpu_welcome *machine = &client->machine;
	struct gp_kfd_process_device_apertures all[GP_VGPU_MAX_GPUS];
	u32 count;

	if (!args->num_of_nodes) {
		args->num_of_nodes = machine->gpu_count;
		return 0;
	}
	/* Linux 6.1 takes any number. */
	if (args->num_of_nodes > machine->gpu_count + CPU_NODES &&
	    machine->kfd_minor >= GP_KFD_MINOR_DEBUG)
		return -EINVAL;
	count = args->num_of_nodes < machine->gpu_count ? args->num_of_nodes : machine->gpu_count;
	for (u32 i = 0; i < count; i++)
		all[i] = apertures(&machine->gpus[i]);
	args->num_of_nodes = count;
	return gp_vgpu_copy_out(args->kfd_process_device_apertures_ptr, all,
				count * sizeof(all[0]));
}

int gp_vgpu_ioctl_acquire_vm(struct gp_vgpu_client *client, void *data)
{
	const struct gp_kfd_acquire_vm_args *args = data;
	struct gp_vgpu_fd drm = gp_vgpu_fd_check((int)args->drm_fd);
	int gpu = gp_vgpu_gpu_index(client, args->gpu_id);

	if (gpu < 0 || drm.kind != GP_VGPU_FD_RENDER || drm.gpu_index != (u32)gpu)
		return -EINVAL;
	if (client->file)
		client->render[gpu] = drm.file;
	atomic_fetch_or(&client->acquired_vm, 1u << gpu);
	return 0;
}

int gp_vgpu_ioctl_set_memory_policy(struct gp_vgpu_client *client, void *data)
{
	const struct gp_kfd_set_memory_policy_args *args = data;
	u32 gpu;

	if (args->default_policy > GP_KFD_POLICY_NONCOHERENT ||
	    args->alternate_policy > GP_KFD_POLICY_NONCOHERENT)
		return -EINVAL;
	return gp_vgpu_bound_gpu(client, args->gpu_id, -ESRCH, &gpu);
}

int gp_vgpu_ioctl_get_tile_config(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_get_tile_config_args *args = data;
	/* gfx9 has no tile modes; the tables are there and empty. */
	static const u32 none[GP_KFD_TILE_MODES];

	if (gp_vgpu_gpu_index(client, args->gpu_id) < 0)
		return -EINVAL;
	args->gb_addr_config = GP_KFD_GB_ADDR_CONFIG_GFX9;
	args->num_banks = args->num_ranks = 0;
	if (args->num_tile_configs > GP_KFD_TILE_MODES)
		args->num_tile_configs = GP_KFD_TILE_MODES;
	if (args->num_macro_tile_configs > GP_KFD_MACRO_TILE_MODES)
		args->num_macro_tile_configs = GP_KFD_MACRO_TILE_MODES;
	if (gp_vgpu_copy_out(args->tile_config_ptr, none, args->num_tile_configs * sizeof(none[0])))
		return -EFAULT;
	return gp_vgpu_copy_out(args->macro_tile_config_ptr, none,
				args->num_macro_tile_configs * sizeof(none[0]));
}

int gp_vgpu_ioctl_set_xnack_mode(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_set_xnack_mode_args *args = data;
	if (args->xnack_enabled < 0) {
		args->xnack_enabled = 0;
		return 0;
	}
	if (gp_vgpu_queues_any(client))
		return -EBUSY;
	return args->xnack_enabled ? -EPERM : 0;
}

int gp_vgpu_ioctl_set_scratch(struct gp_vgpu_client *client, void *data)
{
	const struct gp_kfd_set_scratch_backing_va_args *args = data;
	u32 gpu;

	return gp_vgpu_bound_gpu(client, args->gpu_id, -ESRCH, &gpu);
}

int gp_vgpu_ioctl_set_trap_handler(struct gp_vgpu_client *client, void *data)
{
	const struct gp_kfd_set_trap_handler_args *args = data;
	u32 gpu;

	return gp_vgpu_bound_gpu(client, args->gpu_id, -ESRCH, &gpu);
}
