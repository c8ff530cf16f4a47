// SPDX-License-Identifier: MIT
#include "gpu/kfd/kfd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "abi/kfd_ioctl.h"
#include "gpu/control.h"
#include "gpu/rings.h"

const struct gp_gpu_ops gp_kfd_ops = {
	.kind = "kfd",
	.capabilities = GP_GPU_SEES_WORK | GP_GPU_QUEUE_PRIORITY,
	.outside_mechanism = GP_MECHANISM_KFD_DEBUG,
	.discover = gp_kfd_discover,
	.describe = gp_kfd_describe,
	.lists_queue = gp_kfd_lists_queue,
	.watch = gp_kfd_watch,
	.read_rings = gp_kfd_read_rings,
};

int gp_kfd_probe_version(u32 *major, u32 *minor)
{
	struct gp_kfd_get_version_args args = {0};
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, GP_KFD_IOC_GET_VERSION, &args) < 0)
		error = -errno;
	close(fd);
	if (error)
		return error;
	*major = args.major_version;
	*minor = args.minor_version;
	return 0;
}
