// SPDX-License-Identifier: MIT
/* A render node as libdrm_amdgpu needs it: name of the driver, facts about the device. */
#include "vgpu/preload/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "abi/drm.h"
#include "abi/kfd_ioctl.h"

#define GFX_942 90400 /* first gfx_target_version of the 9.4.x family */

/* As much of the text as there is room for; the length is the text's own. */
static int put_text(u64 *length, u64 pointer, const char *text)
{
	u64 room = *length;
	int error = 0;

	*length = strlen(text);
	if (pointer && room)
		error = gp_vgpu_copy_out(pointer, text, room < *length ? room : *length);
	return error;
}

static int version(struct gp_drm_version *version)
{
	int error;

	version->major = GP_DRM_AMDGPU_MAJOR;
	version->minor = GP_DRM_AMDGPU_MINOR;
	version->patchlevel = 0;
	error = put_text(&version->name_length, version->name, GP_DRM_AMDGPU_NAME);
	if (!error)
		error = put_text(&version->date_length, version->date, GP_DRM_AMDGPU_DATE);
	if (!error)
		error = put_text(&version->text_length, version->text, GP_DRM_AMDGPU_TEXT);
	return error;
}

static int get_cap(struct gp_drm_get_cap *cap)
{
	switch (cap->capability) {
	case GP_DRM_CAP_PRIME:
		cap->value = GP_DRM_PRIME_BOTH;
		return 0;
	case GP_DRM_CAP_TIMESTAMP_MONOTONIC:
	case GP_DRM_CAP_SYNCOBJ:
	case GP_DRM_CAP_SYNCOBJ_TIMELINE:
		cap->value = 1;
		return 0;
	default:
		cap->value = 0;
		return -EINVAL;
	}
}

static struct gp_amdgpu_info_device device_info(const struct gp_vgpu_gpu *gpu)
{
	return (struct gp_amdgpu_info_device){
		.device_id = gpu->device_id,
		.chip_rev = 1,
		.external_rev = 1 + (gpu->gfx_version >= GFX_942 ? GP_AMDGPU_EXTERNAL_REV_GFX942
								 : GP_AMDGPU_EXTERNAL_REV_GFX90A),
		.pci_rev = gpu->pci_revision,
		.family = GP_AMDGPU_FAMILY_AI,
		.num_shader_engines = 8,
		.num_shader_arrays_per_engine = 1,
		.gpu_counter_freq = GP_AMDGPU_GPU_COUNTER_KHZ,
		.cu_active_number = gpu->cu_count,
		.virtual_address_offset = GP_AMDGPU_VA_OFFSET,
		.virtual_address_max = GP_AMDGPU_VA_MAX,
		.virtual_address_alignment = GP_AMDGPU_VA_ALIGNMENT,
		.pte_fragment_size = GP_AMDGPU_PTE_FRAGMENT,
		.gart_page_size = GP_AMDGPU_GART_PAGE,
		.vram_type = GP_AMDGPU_VRAM_TYPE_HBM,
		.wave_front_size = gpu->wave_size,
		.num_cu_per_sh = gpu->cu_count / 8,
		.high_va_offset = GP_AMDGPU_HIGH_VA_OFFSET,
		.high_va_max = GP_AMDGPU_HIGH_VA_MAX,
	};
}

static u64 gtt_bytes(void)
{
	struct sysinfo info;

	return sysinfo(&info) ? 0 : (u64)info.totalram * info.mem_unit / 2;
}

static u64 vram_free(struct gp_vgpu_client *client, const struct gp_vgpu_gpu *gpu)
{
	struct gp_kfd_get_available_memory_args args = {.gpu_id = gpu->gpu_id};

	if (gp_vgpu_forward(client, _IOC_NR(GP_KFD_IOC_AVAILABLE_MEMORY), &args, sizeof(args)))
		return 0;
	return args.available < gpu->vram_bytes ? args.available : gpu->vram_bytes;
}

static struct gp_amdgpu_memory_info memory_info(struct gp_vgpu_client *client,
						const struct gp_vgpu_gpu *gpu)
{
	struct gp_amdgpu_heap_info vram = {
		.total_heap_size = gpu->vram_bytes,
		.usable_heap_size = gpu->vram_bytes,
		.heap_usage = gpu->vram_bytes - vram_free(client, gpu),
		.max_allocation = gpu->vram_bytes / 4 * 3,
	};
	struct gp_amdgpu_memory_info info = {.vram = vram, .cpu_accessible_vram = vram};

	info.gtt.total_heap_size = info.gtt.usable_heap_size = gtt_bytes();
	info.gtt.max_allocation = info.gtt.total_heap_size / 4 * 3;
	return info;
}

static int info(struct gp_vgpu_client *client, u32 gpu_index,
		const struct gp_drm_amdgpu_info *query)
{
	const struct gp_vgpu_gpu *gpu = &client->machine.gpus[gpu_index];
	union {
		u8 zeros[512];
		u32 word;
		u64 wide;
		struct gp_amdgpu_info_device device;
		struct gp_amdgpu_memory_info memory;
		struct gp_amdgpu_vram_gtt sizes;
	} answer = {0};
	u32 bytes = query->return_size < sizeof(answer) ? query->return_size : sizeof(answer);

	if (!query->return_size || !query->return_pointer)
		return -EINVAL;
	switch (query->query) {
	case GP_AMDGPU_INFO_ACCEL_WORKING:
		answer.word = 1;
		break;
	case GP_AMDGPU_INFO_DEV_INFO:
		answer.device = device_info(gpu);
		break;
	case GP_AMDGPU_INFO_MEMORY:
		answer.memory = memory_info(client, gpu);
		break;
	case GP_AMDGPU_INFO_VRAM_GTT:
		answer.sizes =
			(struct gp_amdgpu_vram_gtt){gpu->vram_bytes, gpu->vram_bytes, gtt_bytes()};
		break;
	case GP_AMDGPU_INFO_VRAM_USAGE:
	case GP_AMDGPU_INFO_VIS_VRAM_USAGE:
		answer.wide = gpu->vram_bytes - vram_free(client, gpu);
		break;
	case GP_AMDGPU_INFO_READ_MMR_REG:
	case GP_AMDGPU_INFO_FW_VERSION:
	case GP_AMDGPU_INFO_HW_IP_INFO:
	case GP_AMDGPU_INFO_HW_IP_COUNT:
	case GP_AMDGPU_INFO_GTT_USAGE:
		break; /* nothing there */
	default:
		return -EINVAL;
	}
	return gp_vgpu_copy_out(query->return_pointer, &answer, bytes);
}

static int get_client(struct gp_drm_client *drm)
{
	if (drm->idx)
		return -EINVAL;
	drm->auth = 1;
	drm->pid = (u64)getpid();
	drm->uid = (u64)getuid();
	return 0;
}

union drm_args {
	u8 bytes[512];
	struct gp_drm_version version;
	struct gp_drm_gem_close close;
	struct gp_drm_prime_handle prime;
	union gp_amdgpu_gem_create create;
	union gp_amdgpu_gem_mmap mmap;
	union gp_amdgpu_gem_wait_idle wait;
	struct gp_amdgpu_gem_metadata metadata;
	struct gp_amdgpu_gem_va va;
	struct gp_amdgpu_gem_op op;
	union gp_amdgpu_ctx context;
	union gp_amdgpu_bo_list list;
	union gp_amdgpu_cs commands;
	union gp_amdgpu_wait_cs wait_commands;
	struct gp_drm_get_cap cap;
	struct gp_drm_client client;
	struct gp_drm_amdgpu_info info;
};

/* Calls that write nothing back. */
static bool is_silent(u32 number)
{
	return number == GP_DRM_NR_INFO || number == GP_DRM_NR_GEM_CLOSE ||
	       number == GP_DRM_NR_GEM_VA || number == GP_DRM_NR_GEM_OP;
}

static int call_buffer(struct gp_vgpu_client *client, u32 gpu_index, u32 number,
		       union drm_args *args)
{
	switch (number) {
	case GP_DRM_NR_GEM_CLOSE:
		return gp_vgpu_gem_close(client, gpu_index, &args->close);
	case GP_DRM_NR_PRIME_TO_FD:
		return gp_vgpu_gem_export(client, gpu_index, &args->prime);
	case GP_DRM_NR_PRIME_TO_HANDLE:
		return gp_vgpu_gem_import(client, gpu_index, &args->prime);
	case GP_DRM_NR_GEM_CREATE:
		return gp_vgpu_gem_create(client, gpu_index, &args->create);
	case GP_DRM_NR_GEM_MMAP:
		return gp_vgpu_gem_mmap(client, gpu_index, &args->mmap);
	case GP_DRM_NR_GEM_WAIT_IDLE:
		return gp_vgpu_gem_wait_idle(client, gpu_index, &args->wait);
	case GP_DRM_NR_GEM_METADATA:
		return gp_vgpu_gem_metadata(client, gpu_index, &args->metadata);
	case GP_DRM_NR_GEM_VA:
		return gp_vgpu_gem_va(client, gpu_index, &args->va);
	case GP_DRM_NR_GEM_OP:
		return gp_vgpu_gem_op(client, gpu_index, &args->op);
	default:
		return -ENOSYS;
	}
}

static int call(struct gp_vgpu_client *client, u32 gpu_index, u32 number, union drm_args *args)
{
	switch (number) {
	case GP_DRM_NR_VERSION:
		return version(&args->version);
	case GP_DRM_NR_GET_CAP:
		return get_cap(&args->cap);
	case GP_DRM_NR_GET_CLIENT:
		return get_client(&args->client);
	case GP_DRM_NR_INFO:
		return info(client, gpu_index, &args->info);
	case GP_DRM_NR_CTX:
		return gp_vgpu_submit_context(client, gpu_index, &args->context);
	case GP_DRM_NR_BO_LIST:
		return gp_vgpu_submit_list(client, &args->list);
	case GP_DRM_NR_CS:
		return gp_vgpu_submit_commands(client, gpu_index, &args->commands);
	case GP_DRM_NR_WAIT_CS:
		return gp_vgpu_submit_wait(client, gpu_index, &args->wait_commands);
	default:
		return call_buffer(client, gpu_index, number, args);
	}
}

int gp_vgpu_drm_ioctl(struct gp_vgpu_client *client, u32 gpu_index, unsigned long request,
		      void *user)
{
	union drm_args args = {0};
	u32 size = _IOC_SIZE(request) < sizeof(args) ? _IOC_SIZE(request) : sizeof(args);
	u32 number = _IOC_NR(request);
	u64 address = (u64)(uintptr_t)user;
	int result;

	if (_IOC_TYPE(request) != 'd')
		return -ENOTTY;
	if (gp_vgpu_copy_in(&args, address, size))
		return -EFAULT;
	result = call(client, gpu_index, number, &args);
	if (result == -ENOSYS) /* what a render node without a master refuses */
		return -EACCES;
	if (!is_silent(number) && gp_vgpu_copy_out(address, &args, size))
		return -EFAULT;
	return result;
}
