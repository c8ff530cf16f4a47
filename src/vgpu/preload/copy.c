// SPDX-License-Identifier: MIT
/*
 * Copies from and to addresses the application gave. The kernel does the copy and answers EFAULT,
 * as it does for the real driver; a plain memcpy() would take the process down.
 */
#include "vgpu/preload/parts.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

/* Sandboxes may forbid these calls even on oneself; then the copy is a plain one. */
static bool forbidden(ssize_t got)
{
	return got < 0 && (errno == EPERM || errno == ENOSYS);
}

int gp_vgpu_copy_in(void *to, u64 from, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};
	int saved = errno;
	ssize_t got = size ? process_vm_readv(getpid(), &local, 1, &remote, 1, 0) : 0;

	if (forbidden(got)) {
		memcpy(to, (const void *)(uintptr_t)from, size);
		got = (ssize_t)size;
	}
	errno = saved;
	return got == (ssize_t)size ? 0 : -EFAULT;
}

int gp_vgpu_copy_out(u64 to, const void *from, size_t size)
{
	struct iovec local = {(void *)(uintptr_t)from, size},
		     remote = {(void *)(uintptr_t)to, size};
	int saved = errno;
	ssize_t put = size ? process_vm_writev(getpid(), &local, 1, &remote, 1, 0) : 0;

	if (forbidden(put)) {
		memcpy((void *)(uintptr_t)to, from, size);
		put = (ssize_t)size;
	}
	errno = saved;
	return put == (ssize_t)size ? 0 : -EFAULT;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

bool gp_vgpu_can_write(const void *at, size_t size)
{
	uintptr_t first = (uintptr_t)at & ~(uintptr_t)(PAGE_BYTES - 1);
	uintptr_t end = (uintptr_t)at + size;
	int saved = errno;
	bool can = madvise((void *)first, end - first, MADV_POPULATE_WRITE) == 0;

	errno = saved;
	return can;
}

bool gp_vgpu_can_ask(void)
{
	_Alignas(PAGE_BYTES) char page[PAGE_BYTES] = {0};

	return gp_vgpu_can_write(page, 1);
}

void *gp_vgpu_gpu_page(struct gp_vgpu_client *client, u32 gpu_id, u64 va, bool write)
{
	u8 *memory = gp_vgpu_gpu_pointer(client, gpu_id, va, PAGE_BYTES), byte;

	if (!memory || gp_vgpu_copy_in(&byte, (u64)(uintptr_t)memory, 1))
		return NULL;
	return !write || gp_vgpu_can_write(memory, PAGE_BYTES) ? memory : NULL;
}
