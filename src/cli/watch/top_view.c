// SPDX-License-Identifier: MIT
/* One reading of the daemon, sorted and filtered: see top_view.h. */
#include "cli/watch/top_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLDER_MS 500

void gp_cli_top_free(struct gp_cli_top_data *top)
{
	free(top->jobs);
	free(top->holds.items);
	free(top->members);
	gp_inspect_driver_sched_free(&top->driver);
	gp_inspect_ps_free(&top->machine);
	*top = (struct gp_cli_top_data){.rates = top->rates};
}

/* The holder knows the suspensions of others; if it does not answer soon, they stay unknown. */
static void read_holds(struct gp_cli_top_data *top)
{
	struct gp_cli_holder *holder = calloc(1, sizeof(*holder));

	if (!holder)
		return;
	holder->socket = -1;
	if (!gp_cli_holder_connect(holder, HOLDER_MS))
		(void)!gp_cli_holder_holds(holder, &top->holds, HOLDER_MS);
	gp_cli_holder_close(holder);
	free(holder);
}

/* What gpreemptd knows of a GPU whose driver has no files for it. */
static void add_sensors(const struct gp_proto_msg_device *device, struct gp_inspect_sensors *out)
{
	if (device->memory_total) {
		out->valid |= GP_SENSOR_VRAM_TOTAL | GP_SENSOR_VRAM_USED;
		out->vram_total = device->memory_total;
		out->vram_used = device->memory_total - device->memory_free;
	}
	if (device->milliwatts) {
		out->valid |= GP_SENSOR_POWER;
		out->power_uw = 1000ull * device->milliwatts;
	}
	if (device->celsius) {
		out->valid |= GP_SENSOR_TEMPERATURE;
		out->temperature_mc = 1000ull * device->celsius;
	}
	if (device->mhz) {
		out->valid |= GP_SENSOR_CLOCK;
		out->clock_hz = 1000000ull * device->mhz;
	}
}

/* What the drivers list, for names, addresses, memory and sensors; without it these are missing. */
static void read_machine(struct gp_cli_top_data *top)
{
	struct gp_root root = {.dir = ""};

	for (size_t i = 0; i < top->device_count; i++)
		add_sensors(&top->devices[i], &top->sensors[i]);
	if (gp_inspect_ps_read(&root, NULL, &top->machine))
		return;
	for (size_t i = 0; i < top->device_count; i++) {
		const struct gp_gpu *gpu = gp_cli_top_gpu(top, top->devices[i].gpu_id);

		if (gpu && !top->sensors[i].valid)
			gp_inspect_sensors_read(&root, gpu, &top->sensors[i]);
	}
}

/* Of a job of one process it is known which that is. */
static bool needs_members(const struct gp_cli_top_data *top)
{
	for (size_t i = 0; i < top->job_count; i++)
		if (top->jobs[i].processes > 1)
			return true;
	return false;
}

int gp_cli_top_read(struct gp_cli_top_data *top, struct gp_cli_daemon_client *client,
		    struct gp_diag *diag)
{
	const struct gp_proto_msg_devices *devices;
	int count;

	gp_cli_top_free(top);
	count = gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_STATUS, NULL, 0, sizeof(top->status),
				  0);
	if (count < 0)
		return count;
	memcpy(&top->status, client->message.body, sizeof(top->status));
	count = gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_DEVICES, NULL, 0, sizeof(*devices),
				  sizeof(devices->devices[0]));
	if (count < 0)
		return count;
	devices = (const struct gp_proto_msg_devices *)client->message.body;
	while (top->device_count < devices->count && top->device_count < GP_DAEMON_DEVICES) {
		top->devices[top->device_count] = devices->devices[top->device_count];
		top->device_count++;
	}
	count = gp_cli_daemon_jobs(client, diag, 0, &top->jobs);
	if (count < 0)
		return count;
	top->job_count = (size_t)count;
	read_holds(top);
	read_machine(top);
	return needs_members(top) ? gp_cli_top_read_members(top, client) : 0;
}

/* ---- order ---- */

static u64 sort_key(const struct gp_cli_top_data *top, const struct gp_proto_msg_job *job,
		    enum gp_cli_top_sort sort)
{
	switch (sort) {
	case GP_TOP_PRIORITY:
		return job->priority;
	case GP_TOP_RAN:
		return job->ran_ns;
	case GP_TOP_HELD:
		return top->status.mode ? job->held_ns : job->would_held_ns;
	case GP_TOP_PREEMPTIONS:
		return top->status.mode ? job->suspends : job->would_suspends;
	case GP_TOP_P99:
		return job->latency_count ? job->latency_p99_ns : 0;
	default:
		return 0;
	}
}

struct order {
	const struct gp_cli_top_data *top;
	enum gp_cli_top_sort sort;
	bool by_gpu;
};

static int place_of(const struct order *order, const struct gp_proto_msg_job *job)
{
	int index = gp_cli_top_gpu_index(order->top, job->gpu_id);

	return index < 0 ? GP_DAEMON_DEVICES : index;
}

/* The largest first; jobs that are alike by pid. GPUs in their order, jobs without one last. */
static int by_key(const void *a, const void *b, void *data)
{
	const struct gp_proto_msg_job *left = a, *right = b;
	const struct order *order = data;
	u64 x = sort_key(order->top, left, order->sort),
	    y = sort_key(order->top, right, order->sort);

	if (order->by_gpu && place_of(order, left) != place_of(order, right))
		return place_of(order, left) - place_of(order, right);
	if (x != y)
		return x < y ? 1 : -1;
	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

static bool matches(const struct gp_proto_msg_job *job, const char *filter)
{
	char text[2 * GP_PROTO_NAME + 32];

	snprintf(text, sizeof(text), "%.*s %.*s %u", GP_PROTO_NAME, job->name, GP_PROTO_NAME,
		 job->group, job->pid);
	return strstr(text, filter) != NULL;
}

void gp_cli_top_arrange(struct gp_cli_top_data *top, enum gp_cli_top_sort sort, const char *filter)
{
	size_t kept = 0;

	for (size_t i = 0; i < top->job_count; i++) {
		if (!filter || !*filter || matches(&top->jobs[i], filter))
			top->jobs[kept++] = top->jobs[i];
	}
	top->job_count = kept;
	if (kept)
		qsort_r(top->jobs, kept, sizeof(*top->jobs), by_key,
			&(struct order){top, sort, sort == GP_TOP_GPU});
}

const char *gp_cli_top_sort_name(enum gp_cli_top_sort sort)
{
	static const char *const names[] = {"priority", "ran", "held", "preemptions",
					    "pid",      "p99", "gpu"};

	return sort < GP_TOP_SORTS ? names[sort] : NULL;
}
