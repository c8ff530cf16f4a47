// SPDX-License-Identifier: MIT
/* Buffers that something else has: a queue, or a dma-buf. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conformance.h"

#define BYTES 65536

/* A GTT buffer at an address of its own, mapped to the GPU. */
static struct gp_kfd_alloc_memory_of_gpu_args buffer(struct self *me, u32 flags, u64 user)
{
	void *at = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct gp_kfd_alloc_memory_of_gpu_args args = {
		.va_addr = user ? user : (uintptr_t)at,
		.size = BYTES,
		.mmap_offset = user,
		.gpu_id = me->gpu_id,
		.flags = flags | GP_KFD_ALLOC_WRITABLE,
	};
	struct gp_kfd_map_memory_to_gpu_args map = {.device_ids_array_ptr = (uintptr_t)&me->gpu_id,
						    .n_devices = 1};

	EXPECT(call(me->kfd, GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args), 0);
	map.handle = args.handle;
	EXPECT(call(me->kfd, GP_KFD_IOC_MAP_MEMORY_TO_GPU, &map), 0);
	return args;
}

static int unmap(struct self *me, u64 handle)
{
	struct gp_kfd_unmap_memory_from_gpu_args args = {
		.handle = handle,
		.device_ids_array_ptr = (uintptr_t)&me->gpu_id,
		.n_devices = 1,
	};

	return call(me->kfd, GP_KFD_IOC_UNMAP_MEMORY_FROM_GPU, &args);
}

static int release(struct self *me, u64 handle)
{
	struct gp_kfd_free_memory_of_gpu_args args = {.handle = handle};

	return call(me->kfd, GP_KFD_IOC_FREE_MEMORY_OF_GPU, &args);
}

static void a_ring_stays_mapped(struct self *me)
{
	struct gp_kfd_create_queue_args args;
	struct gp_kfd_alloc_memory_of_gpu_args ring;

	open_gpu(me);
	args = good_queue(me, COMPUTE);
	ring = buffer(me, GP_KFD_ALLOC_GTT, 0);
	args.ring_base_address = ring.va_addr;
	args.ring_size = BYTES;
	EXPECT(call(me->kfd, GP_KFD_IOC_CREATE_QUEUE, &args), 0);
	EXPECT(unmap(me, ring.handle), -EBUSY);
	EXPECT(destroy_queue(me, args.queue_id), 0);
	EXPECT(unmap(me, ring.handle), 0);
	EXPECT(release(me, ring.handle), 0);
}

static int export(struct self *me, u64 handle, int *fd)
{
	struct gp_kfd_export_dmabuf_args args = {.handle = handle, .flags = O_CLOEXEC | O_RDWR};
	int error = call(me->kfd, GP_KFD_IOC_EXPORT_DMABUF, &args);

	*fd = (int)args.dmabuf_fd;
	return error;
}

static void exports(struct self *me)
{
	struct gp_kfd_alloc_memory_of_gpu_args gtt, user;
	void *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int fd;

	open_gpu(me);
	gtt = buffer(me, GP_KFD_ALLOC_GTT, 0);
	user = buffer(me, GP_KFD_ALLOC_USERPTR, (uintptr_t)pages);
	EXPECT(export(me, user.handle, &fd), -EPERM);
	EXPECT(export(me, gtt.handle + 1000, &fd), -EINVAL);
	EXPECT(export(me, 0, &fd), -EINVAL);
	EXPECT(export(me, gtt.handle, &fd), 0);
	EXPECT(fcntl(fd, F_GETFD), FD_CLOEXEC);
	EXPECT(lseek(fd, 0, SEEK_END), BYTES);
	EXPECT(lseek(fd, 0, SEEK_SET), 0);
	EXPECT(lseek(fd, 4096, SEEK_SET), -1);
	close(fd);
}

static void imports(struct self *me)
{
	struct gp_kfd_alloc_memory_of_gpu_args gtt;
	struct gp_kfd_import_dmabuf_args import = {.dmabuf_fd = 9999};
	struct gp_kfd_get_dmabuf_info_args info = {.dmabuf_fd = 9999};
	int fd;

	open_gpu(me);
	EXPECT(call(me->kfd, GP_KFD_IOC_IMPORT_DMABUF, &import), -EINVAL); /* no such GPU */
	import.gpu_id = me->gpu_id;
	EXPECT(call(me->kfd, GP_KFD_IOC_IMPORT_DMABUF, &import), -EBADF);
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_DMABUF_INFO, &info), -EBADF);
	import.dmabuf_fd = info.dmabuf_fd = (u32)me->kfd;
	EXPECT(call(me->kfd, GP_KFD_IOC_IMPORT_DMABUF, &import), -EINVAL);
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_DMABUF_INFO, &info), -EINVAL);
	gtt = buffer(me, GP_KFD_ALLOC_GTT, 0);
	EXPECT(export(me, gtt.handle, &fd), 0);
	info.dmabuf_fd = import.dmabuf_fd = (u32)fd;
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_DMABUF_INFO, &info), 0);
	EXPECT(info.size, BYTES);
	EXPECT(info.metadata_size, 0);
	EXPECT(info.flags & GP_KFD_ALLOC_GTT, GP_KFD_ALLOC_GTT);
	import.va_addr = gtt.va_addr + (1ull << 32);
	EXPECT(call(me->kfd, GP_KFD_IOC_IMPORT_DMABUF, &import), 0);
	CHECK(import.handle != gtt.handle);
	close(fd);
	/* Each has its own handle, and the pages until both are freed. */
	EXPECT(unmap(me, gtt.handle), 0);
	EXPECT(release(me, gtt.handle), 0);
	EXPECT(export(me, import.handle, &fd), 0);
	close(fd);
	EXPECT(release(me, import.handle), 0);
	EXPECT(release(me, import.handle), -EINVAL);
}

const struct row rows_share[] = {
	{"kfd 3", "UNMAP of a buffer that a queue has is EBUSY until the queue is gone",
	 a_ring_stays_mapped, NATIVE, NULL},
	{"kfd 3", "EXPORT_DMABUF: user memory EPERM, bad handle EINVAL; lseek() gives the size",
	 exports, ERA_6_12, NULL},
	{"kfd 3",
	 "IMPORT and GET_DMABUF_INFO: closed EBADF, no dma-buf EINVAL; handles are separate",
	 imports, ERA_6_12, NULL},
	{0},
};
