// SPDX-License-Identifier: MIT
/*
 * Says so when the ROCr of this program cannot name a GPU of the machine: it then lists none, or
 * fails without a reason. ROCr is library version 1.12 in ROCm 6.0, which is the first to know
 * gfx942; the version is in the name of the file that its link leads to.
 */
#include "vgpu/preload/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROCR          "libhsa-runtime64.so.1."
#define ROCR_OF_ROCM6 12
#define GFX942        90402

static int version_of(struct dl_phdr_info *info, size_t size, void *data)
{
	char target[GP_VGPU_PATH_MAX];
	const char *path = info->dlpi_name, *name;
	long *version = data, length;

	(void)size;
	if (!path || !strstr(path, "/libhsa-runtime64.so"))
		return 0;
	length = syscall(SYS_readlinkat, AT_FDCWD, path, target, sizeof(target) - 1);
	if (length > 0) {
		target[length] = '\0';
		path = target;
	}
	name = strrchr(path, '/');
	name = name ? name + 1 : path;
	if (!strncmp(name, ROCR, strlen(ROCR)))
		*version = strtol(name + strlen(ROCR), NULL, 10);
	return 1;
}

void gp_vgpu_warn_old_rocr(const struct gp_vgpu_client *client)
{
	long version = ROCR_OF_ROCM6;
	int saved = errno;

	if (client->machine.gpu_count && client->machine.gpus[0].gfx_version >= GFX942) {
		dl_iterate_phdr(version_of, &version);
		if (version < ROCR_OF_ROCM6)
			gp_vgpu_say("ROCm versions before 6 do not support this GPU; use "
				    "'gpreempt vgpu --personality compat' with them",
				    NULL);
	}
	errno = saved;
}
