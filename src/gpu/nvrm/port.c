// SPDX-License-Identifier: MIT
#include "gpu/nvrm/port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "abi/nvrm_ioctl.h"

static int system_open(const struct gp_nvrm_port *port)
{
	int fd = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);

	(void)port;
	return fd < 0 ? -errno : fd;
}

static int system_open_gpu(const struct gp_nvrm_port *port, u32 minor)
{
	char path[32];
	int fd;

	(void)port;
	snprintf(path, sizeof(path), "/dev/nvidia%u", minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int system_ioctl(const struct gp_nvrm_port *port, int fd, unsigned long request, void *arg)
{
	int result;

	(void)port;
	/* An interrupted call has done nothing yet: the driver waits for its locks first. */
	do
		result = ioctl(fd, request, arg);
	while (result < 0 && errno == EINTR);
	return result < 0 ? -errno : 0;
}

static bool system_is_control(const struct gp_nvrm_port *port, int fd)
{
	struct stat status;

	(void)port;
	return fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
	       major(status.st_rdev) == GP_NV_MAJOR && minor(status.st_rdev) == GP_NV_MINOR_CONTROL;
}

const struct gp_nvrm_port gp_nvrm_port_system = {
	.root = {.dir = ""},
	.open_control = system_open,
	.open_gpu = system_open_gpu,
	.ioctl = system_ioctl,
	.is_control = system_is_control,
};
