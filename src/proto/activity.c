// SPDX-License-Identifier: MIT
/* The memory of an agent in the process that watches it. The agent may mean harm. */
#include "proto/activity.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

int gp_proto_activity_map(int fd, const struct gp_proto_activity **out)
{
	const size_t size = sizeof(**out);
	const struct gp_proto_activity *memory;
	struct statfs system;
	struct stat st;

	if (fd < 0)
		return -EBADF;
	if (fstat(fd, &st) < 0 || fstatfs(fd, &system) < 0)
		return -errno;
	/* Huge pages are mapped whole and cannot be unmapped by the size that is meant: each agent
	 * would cost one for ever. */
	if (system.f_type != TMPFS_MAGIC || st.st_size < (off_t)size)
		return -EINVAL;
	/* Memory that its owner can take away under us ends this process: SIGBUS. */
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return -EPERM;
	memory = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	if (memory->magic != GP_ACTIVITY_MAGIC || memory->slots != GP_ACTIVITY_SLOTS) {
		gp_proto_activity_unmap(memory);
		return -EPROTO;
	}
	*out = memory;
	return 0;
}

void gp_proto_activity_unmap(const struct gp_proto_activity *memory)
{
	if (memory)
		munmap((void *)memory, sizeof(*memory));
}
