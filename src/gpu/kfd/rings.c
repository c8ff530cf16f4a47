// SPDX-License-Identifier: MIT
/* Write and read index of AQL queues, out of their queue objects: see gpu/rings.h. */
#include "gpu/rings.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "abi/amd_queue.h"

#define FIRST offsetof(struct gp_amd_queue, write_dispatch_id)
#define LAST  offsetof(struct gp_amd_queue, read_dispatch_id)

struct window {
	u64 word[(LAST - FIRST) / sizeof(u64) + 1];
};

int gp_kfd_read_rings(u32 pid, struct gp_gpu_ring *rings, size_t count)
{
	struct window windows[GP_RINGS_MAX];
	struct iovec here = {.iov_base = windows}, there[GP_RINGS_MAX];

	if (!count)
		return 0;
	if (count > GP_RINGS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < count; i++) {
		rings[i].known = false;
		there[i] = (struct iovec){.iov_base = (void *)(uintptr_t)(rings[i].object + FIRST),
					  .iov_len = sizeof(windows[i])};
	}
	here.iov_len = count * sizeof(windows[0]);
	ssize_t got = process_vm_readv((pid_t)pid, &here, 1, there, count, 0);
	if (got < 0)
		return -errno;
	/* It stops at the first address that is not there. */
	size_t whole = (size_t)got / sizeof(windows[0]);
	for (size_t i = 0; i < whole; i++) {
		rings[i].known = true;
		rings[i].write_index = windows[i].word[0];
		rings[i].read_index = windows[i].word[GP_ARRAY_SIZE(windows[i].word) - 1];
	}
	return (int)whole;
}
