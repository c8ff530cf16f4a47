#include "inspect/ps.h"

#include <stdlib.h>
#include <string.h>

#include "base/i18n.h"

#define GP_KFD_SYSFS "/sys/class/kfd/kfd"

void gp_ps_free(struct gp_ps *ps)
{
	gp_gpu_list_free(&ps->gpus);
	gp_gpu_process_list_free(&ps->processes);
	free(ps->rows);
	*ps = (struct gp_ps){0};
}

static int fill_rows(const struct gp_root *root, struct gp_container_names *names, bool host_view,
		     struct gp_ps *ps)
{
	for (size_t i = 0; i < ps->processes.count; i++) {
		const struct gp_gpu_process *gpu = &ps->processes.items[i];
		struct gp_ps_row *row;
		int error = gp_array_grow((void **)&ps->rows, ps->count, &ps->capacity,
					  sizeof(*ps->rows));

		if (error)
			return error;
		row = &ps->rows[ps->count++];
		*row = (struct gp_ps_row){.gpu = gpu};
		/* In another pid namespace this /proc would show a stranger under the same pid. */
		if (!host_view || gp_process_read(root, gpu->pid, &row->process))
			continue;
		row->process_known = true;
		row->contained = gp_container_look_up(root, names, gpu->pid, &row->container) == 0;
		/* The container must be that of the process whose command is shown. */
		if ((row->process.valid & GP_PROCESS_START) &&
		    !gp_process_same(root, &row->process))
			ps->count--;
	}
	return 0;
}

int gp_ps_read(const struct gp_root *root, struct gp_diag *diag, struct gp_ps *out)
{
	struct gp_container_names names = {0};
	bool host_view = gp_process_host_view(root);
	int error;

	*out = (struct gp_ps){.driver_present = gp_root_exists(root, GP_KFD_SYSFS)};
	if (!out->driver_present) {
		gp_diag(diag, GP_NOTE,
			_("no KFD on this machine (%s is absent: amdgpu is not loaded or found no "
			  "device)"),
			GP_KFD_SYSFS);
		return 0;
	}
	/* A GPU that cannot be described still has processes: its errors are said, not final. */
	gp_kfd_ops.discover(root, diag, &out->gpus);
	error = gp_kfd_ops.describe(root, diag, 0, &out->processes);
	if (!error)
		error = fill_rows(root, &names, host_view, out);
	gp_container_names_free(&names);
	if (error) {
		gp_ps_free(out);
		return error;
	}
	if (!host_view && out->count)
		gp_diag(diag, GP_NOTE,
			_("this is a container: KFD lists host pids, whose commands and users are "
			  "not visible from here; run on the host to see them"));
	return 0;
}
