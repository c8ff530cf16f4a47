// SPDX-License-Identifier: MIT
/* What `gpreempt top` knows beside one reading of the daemon: the change since the last one, and
 * what the drivers list of GPUs and processes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/core.h"
#include "cli/watch/top_view.h"

/* ---- rates ---- */

static u8 percent_of(u64 now, u64 before, u64 elapsed)
{
	u64 spent = now - GP_MIN(before, now);

	return elapsed ? (u8)(GP_MIN(spent, elapsed) * 100 / elapsed) : GP_TOP_UNKNOWN;
}

static void begin_rate(struct gp_cli_top_rate *rate, u64 id)
{
	*rate = (struct gp_cli_top_rate){.id = id, .busy = GP_TOP_UNKNOWN, .held = GP_TOP_UNKNOWN};
	memset(rate->history, GP_TOP_UNKNOWN, sizeof(rate->history));
}

static void note(struct gp_cli_top_rate *rate, u64 busy_ns, u64 held_ns, u64 elapsed, bool fresh)
{
	rate->busy = fresh ? GP_TOP_UNKNOWN : percent_of(busy_ns, rate->busy_ns, elapsed);
	rate->held = fresh ? GP_TOP_UNKNOWN : percent_of(held_ns, rate->held_ns, elapsed);
	rate->busy_ns = busy_ns;
	rate->held_ns = held_ns;
	rate->seen = true;
	memmove(rate->history, rate->history + 1, GP_TOP_HISTORY - 1);
	rate->history[GP_TOP_HISTORY - 1] = rate->busy;
}

static struct gp_cli_top_rate *find_rate(const struct gp_cli_top_rates *rates, u64 job)
{
	for (size_t i = 0; i < rates->job_count; i++)
		if (rates->jobs[i].id == job)
			return &rates->jobs[i];
	return NULL;
}

const struct gp_cli_top_rate *gp_cli_top_rate_of(const struct gp_cli_top_rates *rates, u64 job)
{
	return rates ? find_rate(rates, job) : NULL;
}

static int note_job(struct gp_cli_top_rates *rates, const struct gp_proto_msg_job *job,
		    bool observed, u64 elapsed)
{
	struct gp_cli_top_rate *rate = find_rate(rates, job->id);
	bool fresh = !rate;

	if (fresh) {
		if (gp_array_grow((void **)&rates->jobs, rates->job_count, &rates->job_capacity,
				  sizeof(*rates->jobs)))
			return -ENOMEM;
		rate = &rates->jobs[rates->job_count++];
		begin_rate(rate, job->id);
	}
	note(rate, gp_cli_top_ran_ns(job), observed ? job->would_held_ns : job->held_ns, elapsed,
	     fresh);
	return 0;
}

int gp_cli_top_rates_note(struct gp_cli_top_rates *rates, const struct gp_cli_top_data *top)
{
	u64 now = top->from_driver ? gp_monotonic_ns() : top->status.now_ns;
	u64 elapsed = rates->read_ns ? now - rates->read_ns : 0;
	size_t kept = 0;
	int error = 0;

	for (size_t i = 0; i < rates->job_count; i++)
		rates->jobs[i].seen = false;
	for (size_t i = 0; i < top->job_count && !error; i++)
		error = note_job(rates, &top->jobs[i], !top->status.mode, elapsed);
	for (size_t i = 0; i < rates->job_count; i++)
		if (rates->jobs[i].seen)
			rates->jobs[kept++] = rates->jobs[i];
	rates->job_count = kept;
	for (size_t i = 0; i < top->device_count; i++) {
		const struct gp_proto_msg_device *device = &top->devices[i];
		struct gp_cli_top_rate *rate = &rates->gpus[i];
		bool fresh = i >= rates->gpu_count || rate->id != device->gpu_id;

		if (fresh)
			begin_rate(rate, device->gpu_id);
		note(rate,
		     gp_cli_top_sees_work(device->gpu_id) ? device->busy_ns : device->active_ns, 0,
		     elapsed, fresh);
	}
	rates->gpu_count = top->device_count;
	rates->read_ns = now;
	return error;
}

void gp_cli_top_rates_free(struct gp_cli_top_rates *rates)
{
	free(rates->jobs);
	*rates = (struct gp_cli_top_rates){0};
}

/* ---- GPUs and processes ---- */

int gp_cli_top_gpu_index(const struct gp_cli_top_data *top, u32 gpu_id)
{
	for (size_t i = 0; i < top->device_count; i++)
		if (gpu_id && top->devices[i].gpu_id == gpu_id)
			return (int)i;
	return -1;
}

const struct gp_gpu *gp_cli_top_gpu(const struct gp_cli_top_data *top, u32 gpu_id)
{
	for (size_t i = 0; i < top->machine.gpus.count; i++)
		if (top->machine.gpus.items[i].gpu_id == gpu_id)
			return &top->machine.gpus.items[i];
	return NULL;
}

void gp_cli_top_gpu_name(const struct gp_cli_top_data *top,
			 const struct gp_proto_msg_device *device, char *out, size_t size)
{
	const struct gp_gpu *gpu = gp_cli_top_gpu(top, device->gpu_id);
	char name[GP_PROTO_NAME + 1];

	gp_wire_text(name, sizeof(name), device->name, sizeof(device->name));
	snprintf(out, size, "%s", gpu && *gpu->product ? gpu->product : gpu ? gpu->name : name);
}

static bool is_member(const struct gp_cli_top_data *top, u32 pid, u64 job)
{
	for (size_t i = 0; i < top->member_count; i++)
		if (top->members[i].pid == pid)
			return top->members[i].job == job;
	return false;
}

bool gp_cli_top_usage(const struct gp_cli_top_data *top, const struct gp_proto_msg_job *job,
		      struct gp_gpu_usage *out)
{
	*out = (struct gp_gpu_usage){.gpu_id = job->gpu_id};
	for (size_t i = 0; i < top->machine.processes.count; i++) {
		const struct gp_gpu_process *process = &top->machine.processes.items[i];

		if (process->pid == job->pid || is_member(top, process->pid, job->id))
			gp_cli_top_process_usage(process, out);
	}
	/* Of CUDA programs the driver lists none. */
	if (!(out->valid & GP_USAGE_VRAM) && job->memory) {
		out->valid |= GP_USAGE_VRAM;
		out->vram_bytes = job->memory;
	}
	return out->valid != 0;
}
