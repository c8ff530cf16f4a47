// SPDX-License-Identifier: MIT
/* Any bytes as debugfs rls: no crash, no leak, no hang. */
#include "gpu/kfd/debugfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp_gpu_debugfs_source source = {.name = "fuzz",
					       .text = (const char *)data,
					       .len = size,
					       .partial = true};
	struct gp_kfd_runlist list = {0};
	struct gp_kfd_slot_list owners = {0};

	/* Read as descriptors too: the join has to stand whatever both hold. */
	gp_kfd_parse_mqds(&source, NULL, &owners);
	if (gp_kfd_parse_rls(&source, NULL, &list) == 0)
		gp_kfd_runlist_join(&list, &owners);
	gp_kfd_runlist_free(&list);
	gp_kfd_slot_list_free(&owners);
	return 0;
}
