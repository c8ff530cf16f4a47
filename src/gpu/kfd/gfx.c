// SPDX-License-Identifier: MIT
/* The gfx version of a gpu_id, from the KFD topology in sysfs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "gpu/kfd/debugfs.h"
#include "gpu/kfd/kfd.h"

static int read_node(const struct gp_root *root, const char *name, struct gp_kfd_gfx *out)
{
	struct gp_buf text = {0};
	struct gp_kfd_property version = {.key = "gfx_target_version"};
	u64 gpu_id;
	int error;

	/* CPU nodes have gpu_id 0; nodes denied by the device cgroup cannot be read. */
	if (gp_root_read_u64(root, &gpu_id, GP_KFD_NODES "/%s/gpu_id", name) || !gpu_id ||
	    gpu_id > UINT32_MAX)
		return 0;
	error = gp_root_read(root, GP_KFD_PROPERTIES_LIMIT, &text, GP_KFD_NODES "/%s/properties",
			     name);
	if (!error)
		gp_kfd_parse_properties(gp_buf_str(&text), text.len, &version, 1);
	gp_buf_free(&text);
	if (error || !version.value || version.value > UINT32_MAX)
		return error == -ENOMEM ? error : 0;
	if (gp_array_grow((void **)&out->items, out->count, &out->capacity, sizeof(*out->items)))
		return -ENOMEM;
	out->items[out->count++] =
		(struct gp_kfd_gfx_item){.gpu_id = (u32)gpu_id, .version = (u32)version.value};
	return 0;
}

int gp_kfd_gfx_read(const struct gp_root *root, struct gp_kfd_gfx *out)
{
	struct gp_names nodes = {0};
	int error = gp_root_list(root, &nodes, GP_KFD_NODES);

	/* A missing topology is not an error. */
	if (error)
		return error == -ENOMEM ? error : 0;
	for (size_t i = 0; i < nodes.count && !error; i++)
		error = read_node(root, nodes.items[i], out);
	gp_names_free(&nodes);
	return error;
}

void gp_kfd_gfx_free(struct gp_kfd_gfx *gfx)
{
	free(gfx->items);
	*gfx = (struct gp_kfd_gfx){0};
}

u32 gp_kfd_gfx_version(void *ctx, u32 gpu_id)
{
	const struct gp_kfd_gfx *gfx = ctx;

	if (gfx->forced)
		return gfx->forced;
	for (size_t i = 0; i < gfx->count; i++) {
		if (gfx->items[i].gpu_id == gpu_id)
			return gfx->items[i].version;
	}
	return 0;
}

/* The last two characters are minor and stepping, in hex; what is left is the major version. */
u32 gp_kfd_gfx_parse(const char *name)
{
	size_t len;
	u32 major = 0;
	int minor, stepping;

	if (strncmp(name, "gfx", 3) != 0)
		return 0;
	name += 3;
	len = strlen(name);
	if (len < 3 || len > 4)
		return 0;
	minor = gp_hex_value(name[len - 2]);
	stepping = gp_hex_value(name[len - 1]);
	for (size_t i = 0; i + 2 < len; i++) {
		if (!gp_is_digit(name[i]))
			return 0;
		major = major * 10 + (u32)(name[i] - '0');
	}
	if (!major || minor < 0 || stepping < 0)
		return 0;
	return major * 10000 + (u32)minor * 100 + (u32)stepping;
}
