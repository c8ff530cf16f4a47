// SPDX-License-Identifier: MIT
/* Any bytes as debugfs hqds: no crash, no leak, no hang. */
#include "gpu/kfd/debugfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The first byte chooses the GPU that is believed, and whether parts are wanted. */
	static const u32 versions[] = {0, 90402, 100300, 110000};
	struct gp_kfd_gfx gfx = {0};
	struct gp_gpu_debugfs_source source = {.name = "fuzz",
					       .gfx_version = gp_kfd_gfx_version,
					       .ctx = &gfx};
	struct gp_kfd_slot_list list = {0};

	if (!size)
		return 0;
	gfx.forced = versions[data[0] % GP_ARRAY_SIZE(versions)];
	source.partial = data[0] & 0x80;
	source.text = (const char *)data + 1;
	source.len = size - 1;
	if (gp_kfd_parse_hqds(&source, NULL, &list) == 0)
		gp_kfd_slots_join(&list, &list);
	gp_kfd_slot_list_free(&list);
	return 0;
}
