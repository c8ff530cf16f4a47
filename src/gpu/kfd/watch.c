// SPDX-License-Identifier: MIT
#include "gpu/kfd/kfd.h"

#include <errno.h>

#include "gpu/kfd/debugfs.h"

typedef int (*gp_parse)(const struct gp_gpu_debugfs_source *source, struct gp_diag *diag,
			struct gp_kfd_slot_list *out);

static int read_list(const struct gp_root *root, struct gp_diag *diag, struct gp_kfd_gfx *gfx,
		     const char *path, gp_parse parse, struct gp_kfd_slot_list *out)
{
	struct gp_buf text = {0};
	struct gp_gpu_debugfs_source source = {.gfx_version = gp_kfd_gfx_version,
					       .ctx = gfx,
					       .live = true};
	char name[4096];
	int error = gp_root_path(root, name, sizeof(name), "%s", path);

	if (!error)
		error = gp_file_read(name, GP_DEBUGFS_LIMIT, &text);
	if (!error) {
		source.name = name;
		source.text = gp_buf_str(&text);
		source.len = text.len;
		error = parse(&source, diag, out);
	}
	gp_buf_free(&text);
	return error;
}

int gp_kfd_watch(const struct gp_root *root, struct gp_diag *diag, struct gp_gpu_state *out)
{
	struct gp_kfd_gfx gfx = {0};
	int error = gp_kfd_gfx_read(root, &gfx);

	if (!error) {
		/* A queue that goes away between the two readings leaves its slot without a pid:
		 * the join asks for more than the ring, so the descriptor of another process at
		 * the same address is not taken for it. */
		out->slots_error = read_list(root, diag, &gfx, GP_DEBUGFS_HQDS, gp_kfd_parse_hqds,
					     &out->slots);
		out->descriptors_error = read_list(root, diag, &gfx, GP_DEBUGFS_MQDS,
						   gp_kfd_parse_mqds, &out->descriptors);
		if (!out->slots_error)
			out->valid |= GP_WATCH_SLOTS;
		if (!out->descriptors_error)
			out->valid |= GP_WATCH_DESCRIPTORS;
		if (!out->slots_error && !out->descriptors_error)
			gp_kfd_slots_join(&out->slots, &out->descriptors);
		if (out->slots_error == -ENOMEM || out->descriptors_error == -ENOMEM)
			error = -ENOMEM;
	}
	gp_kfd_gfx_free(&gfx);
	return error;
}
