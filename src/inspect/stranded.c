// SPDX-License-Identifier: MIT
#include "inspect/stranded.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu/nvrm/nvrm.h"
#include "base/host/process.h"

static bool is_ours(const struct gp_root *root, u32 pid)
{
	struct gp_process process;

	return gp_process_read(root, pid, &process) == 0 && (process.valid & GP_PROCESS_UID) &&
	       process.uid == getuid();
}

/* 1: its channels run; 0: it has none, or is gone. */
static int release_one(u32 pid, struct gp_diag *diag)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	int error = fd < 0 ? -errno : gp_nvrm_release(fd, pid, diag);

	if (fd >= 0)
		close(fd);
	if (error == -ESRCH)
		return 0;
	return error ? error : 1;
}

int gp_inspect_stranded_release(const struct gp_root *root, u32 pid, struct gp_diag *diag)
{
	struct gp_gpu_process_list list = {0};
	int count = 0, first = gp_nvrm_ops.describe(root, diag, pid, &list);

	for (size_t i = 0; i < list.count; i++) {
		int result;

		if (!pid && !is_ours(root, list.items[i].pid))
			continue;
		/* One that cannot be controlled cannot have been stopped either. */
		result = release_one(list.items[i].pid, pid ? diag : NULL);
		if (result > 0)
			count += result;
		else if (result < 0 && pid && !first)
			first = result;
	}
	gp_gpu_process_list_free(&list);
	return first ? first : count;
}
