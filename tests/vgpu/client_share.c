// SPDX-License-Identifier: MIT
/*
 * Buffers shared as dma-bufs, on a live machine: with KFD, with the render node, and with another
 * process, which goes on using one that its owner has freed.
 */
#include "client_program.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "abi/drm.h"

#define BYTES           (2u << 20)
#define VA              0x7e0000000000ull
#define FIRST           0x5a5a5a5a5a5a5a5aull
#define SECOND          0x1234567887654321ull

#define DRM(nr, type)   _IOWR('d', nr, type)
#define PRIME_TO_HANDLE DRM(GP_DRM_NR_PRIME_TO_HANDLE, struct gp_drm_prime_handle)
#define PRIME_TO_FD     DRM(GP_DRM_NR_PRIME_TO_FD, struct gp_drm_prime_handle)
#define GEM_CLOSE       _IOW('d', GP_DRM_NR_GEM_CLOSE, struct gp_drm_gem_close)
#define GEM_CREATE      DRM(GP_DRM_NR_GEM_CREATE, union gp_amdgpu_gem_create)
#define GEM_MMAP        DRM(GP_DRM_NR_GEM_MMAP, union gp_amdgpu_gem_mmap)
#define GEM_METADATA    DRM(GP_DRM_NR_GEM_METADATA, struct gp_amdgpu_gem_metadata)
#define GEM_WAIT_IDLE   DRM(GP_DRM_NR_GEM_WAIT_IDLE, union gp_amdgpu_gem_wait_idle)
#define GEM_VA          _IOW('d', GP_DRM_NR_GEM_VA, struct gp_amdgpu_gem_va)
#define GEM_OP          DRM(GP_DRM_NR_GEM_OP, struct gp_amdgpu_gem_op)

static struct gp_kfd_alloc_memory_of_gpu_args alloc(u32 flags, u64 user)
{
	struct gp_kfd_alloc_memory_of_gpu_args args = {
		.va_addr = VA,
		.size = user ? 4096 : BYTES,
		.mmap_offset = user,
		.gpu_id = gpu_id,
		.flags = flags | GP_KFD_ALLOC_WRITABLE,
	};

	CHECK(call(kfd, GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args) == 0);
	return args;
}

static void release(u64 handle)
{
	struct gp_kfd_free_memory_of_gpu_args args = {.handle = handle};

	CHECK(call(kfd, GP_KFD_IOC_FREE_MEMORY_OF_GPU, &args) == 0);
}

static int export_to(u64 handle, int *fd)
{
	struct gp_kfd_export_dmabuf_args args = {.handle = handle, .flags = O_CLOEXEC | O_RDWR};
	int error = call(kfd, GP_KFD_IOC_EXPORT_DMABUF, &args);

	*fd = (int)args.dmabuf_fd;
	return error;
}

static u64 available(void)
{
	struct gp_kfd_get_available_memory_args args = {.gpu_id = gpu_id};

	CHECK(call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &args) == 0);
	return args.available;
}

static volatile u64 *map_fd(int fd, u64 offset)
{
	void *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	CHECK(at != MAP_FAILED);
	return at;
}

static u32 import_gem(int fd)
{
	struct gp_drm_prime_handle args = {.fd = fd};

	CHECK(call(render, PRIME_TO_HANDLE, &args) == 0);
	CHECK(args.handle);
	return args.handle;
}

static u64 gem_offset(u32 handle)
{
	union gp_amdgpu_gem_mmap args = {.in = {.handle = handle}};

	CHECK(call(render, GEM_MMAP, &args) == 0);
	return args.out.offset;
}

static void the_descriptor_is_a_dmabuf(int fd)
{
	struct gp_kfd_get_dmabuf_info_args info = {.dmabuf_fd = (u32)fd};
	volatile u64 *words;

	CHECK(lseek(fd, 0, SEEK_END) == BYTES);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK(lseek(fd, 8, SEEK_SET) < 0 && errno == EINVAL);
	CHECK(mmap(NULL, 2 * BYTES, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL);
	words = map_fd(fd, 0);
	CHECK(words[7] == FIRST);
	CHECK(munmap((void *)words, BYTES) == 0);
	CHECK(call(kfd, GP_KFD_IOC_GET_DMABUF_INFO, &info) == 0);
	CHECK(info.size == BYTES && info.gpu_id == gpu_id && !info.metadata_size);
	CHECK(info.flags == (GP_KFD_ALLOC_VRAM | GP_KFD_ALLOC_PUBLIC));
}

static void what_is_no_dmabuf_is_refused(void)
{
	static char page[8192] __attribute__((aligned(4096)));
	struct gp_kfd_import_dmabuf_args import = {.gpu_id = gpu_id, .dmabuf_fd = (u32)kfd};
	struct gp_kfd_get_dmabuf_info_args info = {.dmabuf_fd = (u32)render};
	struct gp_drm_prime_handle prime = {.fd = -1, .handle = 77};
	u64 handle = alloc(GP_KFD_ALLOC_USERPTR, (uintptr_t)page).handle;
	int fd;

	CHECK(export_to(handle, &fd) == -EPERM);
	release(handle);
	CHECK(export_to(handle, &fd) == -EINVAL);
	CHECK(call(kfd, GP_KFD_IOC_IMPORT_DMABUF, &import) == -EINVAL);
	import.dmabuf_fd = 9999;
	CHECK(call(kfd, GP_KFD_IOC_IMPORT_DMABUF, &import) == -EBADF);
	import.gpu_id = 1;
	CHECK(call(kfd, GP_KFD_IOC_IMPORT_DMABUF, &import) == -EINVAL);
	CHECK(call(kfd, GP_KFD_IOC_GET_DMABUF_INFO, &info) == -EINVAL);
	CHECK(call(render, PRIME_TO_HANDLE, &prime) == -EBADF);
	CHECK(call(render, PRIME_TO_FD, &prime) == -ENOENT);
	prime.flags = 1u << 30;
	CHECK(call(render, PRIME_TO_FD, &prime) == -EINVAL);
}

static int va_op(u32 handle, u32 operation, u64 va, u64 offset, u64 size)
{
	struct gp_amdgpu_gem_va args = {
		.handle = handle,
		.operation = operation,
		.flags = GP_AMDGPU_VM_READ | GP_AMDGPU_VM_WRITE,
		.va = va,
		.offset = offset,
		.size = size,
	};

	return call(render, GEM_VA, &args);
}

static void addresses_of_a_handle_come_and_go(u32 handle)
{
	const u64 base = VA + (1ull << 32);

	CHECK(va_op(handle, GP_AMDGPU_VA_MAP, base, 0, BYTES) == 0);
	CHECK(va_op(handle, GP_AMDGPU_VA_MAP, base + 4096, 0, 4096) == -EINVAL); /* taken */
	CHECK(va_op(handle, GP_AMDGPU_VA_MAP, base + BYTES, 4096, BYTES) == -EINVAL);
	CHECK(va_op(handle, GP_AMDGPU_VA_MAP, base + BYTES, 1, 4096) == -EINVAL);
	CHECK(va_op(handle, GP_AMDGPU_VA_MAP, 4096, 0, 4096) == -EINVAL); /* reserved */
	CHECK(va_op(handle, 9, base + BYTES, 0, 4096) == -EINVAL);
	CHECK(va_op(9999, GP_AMDGPU_VA_MAP, base + BYTES, 0, 4096) == -ENOENT);
	CHECK(va_op(handle, GP_AMDGPU_VA_UNMAP, base + 4096, 0, 4096) == -ENOENT);
	/* The middle is cut out, and replaced. */
	CHECK(va_op(handle, GP_AMDGPU_VA_CLEAR, base + 8192, 0, 4096) == 0);
	CHECK(va_op(handle, GP_AMDGPU_VA_MAP, base + 8192, 0, 4096) == 0);
	CHECK(va_op(handle, GP_AMDGPU_VA_REPLACE, base + 4096, 0, 16384) == 0);
	CHECK(va_op(handle, GP_AMDGPU_VA_UNMAP, base, 0, 0) == 0);
	CHECK(va_op(handle, GP_AMDGPU_VA_UNMAP, base + 4096, 0, 0) == 0);
	CHECK(va_op(handle, GP_AMDGPU_VA_UNMAP, base + 20480, 0, 0) == 0);
	CHECK(va_op(handle, GP_AMDGPU_VA_UNMAP, base + 20480, 0, 0) == -ENOENT);
}

static void graphics_buffers_carry_metadata(void)
{
	union gp_amdgpu_gem_create create = {
		.in = {.bo_size = 5000, .domains = GP_AMDGPU_DOMAIN_VRAM}};
	struct gp_amdgpu_gem_create_in about = {0};
	struct gp_amdgpu_gem_metadata metadata = {.op = GP_AMDGPU_METADATA_SET, .bytes = 8};
	union gp_amdgpu_gem_wait_idle wait;
	struct gp_amdgpu_gem_op op = {.value = (uintptr_t)&about};
	struct gp_drm_prime_handle prime = {0};
	struct gp_kfd_get_dmabuf_info_args info = {.metadata_size = 256};
	struct gp_drm_gem_close close_args;
	u32 words[64] = {0};
	u64 before = available();

	CHECK(call(render, GEM_CREATE, &create) == 0);
	CHECK(available() < before);
	metadata.handle = prime.handle = op.handle = create.out.handle;
	metadata.words[1] = 77;
	CHECK(call(render, GEM_METADATA, &metadata) == 0);
	CHECK(call(render, GEM_OP, &op) == 0);
	CHECK(about.bo_size == 8192 && about.domains == GP_AMDGPU_DOMAIN_VRAM);
	wait.in.handle = create.out.handle;
	CHECK(call(render, GEM_WAIT_IDLE, &wait) == 0);
	CHECK(!wait.out.status && wait.out.domain == GP_AMDGPU_DOMAIN_VRAM);
	CHECK(call(render, PRIME_TO_FD, &prime) == 0);
	info.dmabuf_fd = (u32)prime.fd;
	info.metadata_ptr = (uintptr_t)words;
	CHECK(call(kfd, GP_KFD_IOC_GET_DMABUF_INFO, &info) == 0);
	CHECK(info.metadata_size == 8 && words[1] == 77 && info.size == 8192);
	info.metadata_size = 4;
	CHECK(call(kfd, GP_KFD_IOC_GET_DMABUF_INFO, &info) == -EINVAL);
	close_args = (struct gp_drm_gem_close){.handle = prime.handle};
	CHECK(call(render, GEM_CLOSE, &close_args) == 0);
	CHECK(call(render, GEM_CLOSE, &close_args) == -EINVAL);
	close(prime.fd);
	CHECK(available() == before);
}

/* Commands of NOPs are complete at once, others are refused. */
static void commands_that_do_nothing_can_be_submitted(u32 gem, volatile u64 *words)
{
	union gp_amdgpu_ctx context = {.in = {.operation = GP_AMDGPU_CTX_ALLOC}};
	union gp_amdgpu_bo_list list = {.in = {.operation = GP_AMDGPU_BO_LIST_CREATE}};
	struct gp_amdgpu_cs_ib commands = {.va = VA + (2ull << 32), .bytes = 64};
	struct gp_amdgpu_cs_chunk chunk = {GP_AMDGPU_CHUNK_IB, sizeof(commands) / 4,
					   (uintptr_t)&commands};
	u64 chunks = (uintptr_t)&chunk;
	union gp_amdgpu_cs submit;
	union gp_amdgpu_wait_cs wait;
	u32 id;

	CHECK(call(render, DRM(GP_DRM_NR_CTX, union gp_amdgpu_ctx), &context) == 0);
	id = context.out.id;
	CHECK(call(render, DRM(GP_DRM_NR_BO_LIST, union gp_amdgpu_bo_list), &list) == 0);
	CHECK(id && list.out.handle);
	CHECK(va_op(gem, GP_AMDGPU_VA_MAP, commands.va, 4096, 4096) == 0);
	memset((void *)words, 0, 64);
	for (u64 round = 1; round < 4; round++) {
		submit.in.context = id;
		submit.in.list = list.out.handle;
		submit.in.chunk_count = 1;
		submit.in.chunks = (uintptr_t)&chunks;
		CHECK(call(render, DRM(GP_DRM_NR_CS, union gp_amdgpu_cs), &submit) == 0);
		CHECK(submit.out.handle == round);
		wait.in.context = id;
		wait.in.handle = round;
		CHECK(call(render, DRM(GP_DRM_NR_WAIT_CS, union gp_amdgpu_wait_cs), &wait) == 0);
		CHECK(wait.out.status == 0);
	}
	words[1] = 1;
	submit.in.context = id;
	submit.in.chunk_count = 1;
	submit.in.chunks = (uintptr_t)&chunks;
	CHECK(call(render, DRM(GP_DRM_NR_CS, union gp_amdgpu_cs), &submit) == -EOPNOTSUPP);
	commands.va += 1ull << 20;
	CHECK(call(render, DRM(GP_DRM_NR_CS, union gp_amdgpu_cs), &submit) == -EINVAL);
	context.in.operation = GP_AMDGPU_CTX_FREE;
	context.in.id = id;
	CHECK(call(render, DRM(GP_DRM_NR_CTX, union gp_amdgpu_ctx), &context) == 0);
	wait.in.context = id;
	CHECK(call(render, DRM(GP_DRM_NR_WAIT_CS, union gp_amdgpu_wait_cs), &wait) == -EINVAL);
}

/* Freed, imported again, and only then gone. */
static void a_descriptor_keeps_the_content(void)
{
	struct gp_kfd_alloc_memory_of_gpu_args args = alloc(GP_KFD_ALLOC_GTT, 0);
	volatile u64 *words = map_fd(render, args.mmap_offset);
	struct gp_kfd_import_dmabuf_args import = {.va_addr = VA, .gpu_id = gpu_id};
	int fd;

	words[5] = FIRST;
	CHECK(munmap((void *)words, BYTES) == 0);
	CHECK(export_to(args.handle, &fd) == 0);
	release(args.handle);
	import.dmabuf_fd = (u32)fd;
	CHECK(call(kfd, GP_KFD_IOC_IMPORT_DMABUF, &import) == 0);
	words = map_fd(render, gem_offset(import_gem(fd)));
	close(fd);
	CHECK(words[5] == FIRST);
	release(import.handle);
	CHECK(words[5] == FIRST); /* the GEM handle has it */
}

/* ---- another process ---- */

static void send_fd(int socket, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = {0}, byte = 0;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = room,
				 .msg_controllen = sizeof(room)};
	struct cmsghdr *control = CMSG_FIRSTHDR(&message);

	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(control), &fd, sizeof(int));
	CHECK(sendmsg(socket, &message, 0) == 1);
}

static int receive_fd(int socket)
{
	char room[CMSG_SPACE(sizeof(int))] = {0}, byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = room,
				 .msg_controllen = sizeof(room)};
	int fd;

	CHECK(recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return fd;
}

static int stranger(int socket)
{
	struct gp_kfd_import_dmabuf_args import = {.va_addr = VA};
	volatile u64 *words;
	char byte = 0;
	u32 gem;
	int fd;

	open_devices();
	fd = receive_fd(socket);
	import.gpu_id = gpu_id;
	import.dmabuf_fd = (u32)fd;
	CHECK(call(kfd, GP_KFD_IOC_IMPORT_DMABUF, &import) == 0);
	gem = import_gem(fd);
	CHECK(import_gem(fd) == gem);
	CHECK(lseek(fd, 0, SEEK_END) == BYTES);
	close(fd);
	words = map_fd(render, gem_offset(gem));
	CHECK(words[7] == FIRST);
	words[8] = SECOND;
	CHECK(write(socket, &byte, 1) == 1);
	/* Now its owner has freed it. */
	CHECK(read(socket, &byte, 1) == 1);
	CHECK(words[7] == FIRST && words[8] == SECOND);
	release(import.handle);
	CHECK(words[8] == SECOND);
	return 0;
}

int main(void)
{
	struct gp_kfd_alloc_memory_of_gpu_args args;
	int sockets[2], fd, status;
	volatile u64 *words;
	struct gp_drm_gem_close close_args;
	char byte = 0;
	u64 before;
	pid_t child;
	u32 gem;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		return stranger(sockets[1]);
	close(sockets[1]);
	open_devices();
	before = available();
	what_is_no_dmabuf_is_refused();
	graphics_buffers_carry_metadata();
	args = alloc(GP_KFD_ALLOC_VRAM | GP_KFD_ALLOC_PUBLIC, 0);
	words = map_fd(render, args.mmap_offset);
	words[7] = FIRST;
	CHECK(export_to(args.handle, &fd) == 0);
	the_descriptor_is_a_dmabuf(fd);
	gem = import_gem(fd);
	CHECK(gem_offset(gem) == args.mmap_offset); /* the same buffer */
	addresses_of_a_handle_come_and_go(gem);
	commands_that_do_nothing_can_be_submitted(gem, words + 512);
	send_fd(sockets[0], fd);
	close(fd);
	CHECK(read(sockets[0], &byte, 1) == 1);
	CHECK(words[8] == SECOND);
	release(args.handle);
	CHECK(available() < before); /* the handle has it still */
	close_args = (struct gp_drm_gem_close){.handle = gem};
	CHECK(call(render, GEM_CLOSE, &close_args) == 0);
	CHECK(available() == before);
	CHECK(write(sockets[0], &byte, 1) == 1);
	a_descriptor_keeps_the_content();
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	return 0;
}
