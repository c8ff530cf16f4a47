/* SPDX-License-Identifier: MIT */
/*
 * The userfaultfd with which doorbells are write-protected: the preload library uses one, the
 * launcher only asks whether it could, to say so where it cannot. User-mode faults are enough, so
 * no privilege is needed, but containers often forbid the call.
 */
#ifndef GP_VGPU_FAULTFD_H
#define GP_VGPU_FAULTFD_H

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY /* linux/userfaultfd.h, 5.11 */
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM /* 5.19 */
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

/* Named ioctl() would be the preload library's own, which asks ld.so and so the application's
 * allocator. A descriptor that can write-protect shared memory, or -errno. */
static inline int gp_vgpu_faultfd_open(void)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
	};
	int fd, error;

	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (fd < 0)
		return -errno;
	if (syscall(SYS_ioctl, fd, UFFDIO_API, &api)) {
		error = errno;
		syscall(SYS_close, fd);
		return -error;
	}
	return fd;
}

#endif
