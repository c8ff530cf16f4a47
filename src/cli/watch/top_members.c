// SPDX-License-Identifier: MIT
/* Which of the processes that use a GPU belong to which job of `gpreempt top`. */
#include <errno.h>
#include <stdlib.h>

#include "base/core.h"
#include "cli/watch/top_view.h"

static int add(struct gp_cli_top_data *top, u32 pid, u64 job)
{
	if (gp_array_grow((void **)&top->members, top->member_count, &top->member_capacity,
			  sizeof(*top->members)))
		return -ENOMEM;
	top->members[top->member_count++] = (struct gp_cli_top_member){pid, job};
	return 0;
}

/* gpreemptd says which job a process is in; the driver, which processes there are. */
int gp_cli_top_read_members(struct gp_cli_top_data *top, struct gp_cli_daemon_client *client)
{
	int error = 0;

	top->member_count = 0;
	for (size_t i = 0; i < top->machine.count && !error; i++) {
		u32 pid = top->machine.rows[i].gpu->pid;
		struct gp_proto_msg_job *jobs = NULL;
		int count = gp_cli_daemon_jobs(client, NULL, pid, &jobs);

		if (count < 0)
			error = count;
		else if (count > 0)
			error = add(top, pid, jobs[0].id);
		free(jobs);
	}
	return error;
}

size_t gp_cli_top_member_count(const struct gp_cli_top_data *top, u64 job)
{
	size_t count = 0;

	for (size_t i = 0; i < top->member_count; i++)
		count += top->members[i].job == job;
	return count;
}

const struct gp_inspect_ps_row *gp_cli_top_process(const struct gp_cli_top_data *top, u32 pid)
{
	for (size_t i = 0; i < top->machine.count; i++)
		if (top->machine.rows[i].gpu->pid == pid)
			return &top->machine.rows[i];
	return NULL;
}

void gp_cli_top_process_usage(const struct gp_gpu_process *process, struct gp_gpu_usage *out)
{
	for (size_t i = 0; i < process->usage_count; i++) {
		const struct gp_gpu_usage *usage = &process->usages[i];

		out->valid |= usage->valid;
		if (usage->valid & GP_USAGE_VRAM)
			out->vram_bytes += usage->vram_bytes;
		if (usage->valid & GP_USAGE_OCCUPANCY)
			out->cu_occupancy += usage->cu_occupancy;
	}
}
