// SPDX-License-Identifier: MIT
#include "gpu/gpu.h"

#include <errno.h>

const struct gp_gpu_ops *const gp_gpu_kinds[] = {
	&gp_kfd_ops,
	&gp_nvrm_ops,
	NULL,
};

const struct gp_gpu_ops *gp_gpu_kind(u32 gpu_id)
{
	return gp_gpu_is_nvidia(gpu_id) ? &gp_nvrm_ops : &gp_kfd_ops;
}

int gp_gpu_lists_queue(const struct gp_root *root, u32 pid, u32 gpu_id, u32 queue)
{
	const struct gp_gpu_ops *kind = gp_gpu_kind(gpu_id);
	struct gp_gpu_process_list list = {0};
	int listed = -EOPNOTSUPP;

	if (kind->lists_queue)
		return kind->lists_queue(root, pid, gpu_id, queue);
	if (kind->describe && kind->describe(root, NULL, pid, &list) == 0) {
		for (size_t i = 0; i < list.count; i++)
			for (size_t k = 0; k < list.items[i].usage_count; k++)
				if (list.items[i].usages[k].gpu_id == gpu_id)
					listed = 1;
	}
	gp_gpu_process_list_free(&list);
	return listed;
}
