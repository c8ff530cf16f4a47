// SPDX-License-Identifier: MIT
/* One reading of the daemon as tables and JSON: see top_view.h. */
#include "cli/watch/top_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "inspect/ps.h"
#include "show/reason.h"

#define HOLDER_MS 500

void gp_cli_top_free(struct gp_cli_top_data *top)
{
	free(top->jobs);
	free(top->holds.items);
	gp_inspect_driver_sched_free(&top->driver);
	*top = (struct gp_cli_top_data){0};
}

/* Suspensions of others are the holder's to tell; one that does not answer soon is left alone. */
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
	return 0;
}

/* ---- order ---- */

static int compare(u64 a, u64 b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct gp_proto_msg_job *left = a, *right = b;

	return -compare(left->pid, right->pid);
}

static int by_priority(const void *a, const void *b)
{
	const struct gp_proto_msg_job *left = a, *right = b;
	int order = compare(left->priority, right->priority);

	return order ? order : by_pid(a, b);
}

static int by_ran(const void *a, const void *b)
{
	const struct gp_proto_msg_job *left = a, *right = b;
	int order = compare(left->ran_ns, right->ran_ns);

	return order ? order : by_pid(a, b);
}

static int by_held(const void *a, const void *b)
{
	const struct gp_proto_msg_job *left = a, *right = b;
	int order = compare(left->held_ns, right->held_ns);

	return order ? order : by_pid(a, b);
}

static int by_preemptions(const void *a, const void *b)
{
	const struct gp_proto_msg_job *left = a, *right = b;
	int order = compare(left->suspends, right->suspends);

	return order ? order : by_pid(a, b);
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
	static int (*const orders[])(const void *, const void *) = {
		[GP_TOP_PRIORITY] = by_priority, [GP_TOP_RAN] = by_ran,
		[GP_TOP_HELD] = by_held,         [GP_TOP_PREEMPTIONS] = by_preemptions,
		[GP_TOP_PID] = by_pid,
	};
	size_t kept = 0;

	for (size_t i = 0; i < top->job_count; i++) {
		if (!filter || !*filter || matches(&top->jobs[i], filter))
			top->jobs[kept++] = top->jobs[i];
	}
	top->job_count = kept;
	if (kept)
		qsort(top->jobs, kept, sizeof(*top->jobs), orders[sort]);
}

const char *gp_cli_top_sort_name(enum gp_cli_top_sort sort)
{
	static const char *const names[] = {"priority", "ran", "held", "preemptions", "pid"};

	return sort < GP_TOP_SORTS ? names[sort] : NULL;
}

/* ---- tables ---- */

u32 gp_cli_top_stopped_by(const struct gp_cli_top_data *top, const struct gp_proto_msg_job *job)
{
	for (size_t i = 0; i < top->holds.count; i++) {
		const struct gp_proto_msg_hold *hold = &top->holds.items[i];

		if ((u32)hold->pid == job->pid && (u32)hold->owner_pid != top->status.pid)
			return (u32)hold->owner_pid;
	}
	return 0;
}

bool gp_cli_top_sees_work(u32 gpu_id)
{
	return !gp_gpu_is_nvidia(gpu_id);
}

/* Who only observes holds nobody: the core's state is what would be. */
const char *gp_cli_top_state(const struct gp_cli_top_data *top, const struct gp_proto_msg_job *job)
{
	bool observed = !top->status.mode;

	if (top->from_driver && gp_inspect_driver_job_is_off(gp_cli_top_driver_job(top, job)))
		return _("stopped");
	if ((observed || job->run == GP_DAEMON_RUNNING) && gp_cli_top_stopped_by(top, job))
		return _("stopped");
	if (observed && job->held_since != GP_DAEMON_NEVER)
		return _("would be held");
	switch (observed ? GP_DAEMON_RUNNING : job->run) {
	case GP_DAEMON_SUSPENDING:
		return _("stopping");
	case GP_DAEMON_SUSPENDED:
		return _("held");
	case GP_DAEMON_RESUMING:
		return _("starting");
	default:
		if (!gp_cli_top_sees_work(job->gpu_id))
			return _("shares");
		return job->busy_queues ? _("running") : _("idle");
	}
}

static void time_cell(struct gp_table *table, u64 ns)
{
	gp_table_cell(table, gp_duration_text(ns).text);
}

struct gp_table *gp_cli_top_jobs(const struct gp_cli_top_data *top)
{
	struct gp_table *table = gp_table_new();
	bool observed = !top->status.mode;
	char name[GP_PROTO_NAME];

	gp_table_column(table, _("PID"), GP_RIGHT);
	gp_table_column(table, _("CLASS"), GP_LEFT);
	gp_table_column(table, _("PRIO"), GP_RIGHT);
	gp_table_column(table, _("STATE"), GP_LEFT);
	gp_table_column(table, _("QUEUES"), GP_RIGHT);
	gp_table_column(table, _("BACKLOG"), GP_RIGHT);
	gp_table_column(table, _("WAITED"), GP_RIGHT);
	gp_table_column(table, _("RAN"), GP_RIGHT);
	gp_table_column(table, observed ? _("WOULD BE HELD") : _("HELD"), GP_RIGHT);
	gp_table_column(table, _("TIMES"), GP_RIGHT);
	gp_table_column(table, _("NAME"), GP_LEFT);
	for (size_t i = 0; i < top->job_count; i++) {
		const struct gp_proto_msg_job *job = &top->jobs[i];

		gp_table_cellf(table, "%u", job->pid);
		gp_table_cell(table, top->from_driver ? NULL : gp_cli_class_name(job->job_class));
		gp_table_cellf(table, "%u", job->priority);
		gp_table_cell(table, gp_cli_top_state(top, job));
		gp_table_paint(table, job->run == GP_DAEMON_RUNNING
					      ? (job->busy_queues ? GP_GREEN : GP_PLAIN)
					      : GP_YELLOW);
		if (gp_cli_top_sees_work(job->gpu_id))
			gp_table_cellf(table, "%u/%u", job->busy_queues, job->queues);
		else
			gp_table_cellf(table, "-/%u", job->queues);
		if (job->backlog == GP_DAEMON_UNKNOWN)
			gp_table_missing(table);
		else
			gp_table_cellf(table, "%llu", (unsigned long long)job->backlog);
		if (top->from_driver)
			gp_table_missing(table);
		else
			time_cell(table, job->waited_ns);
		if (gp_cli_top_sees_work(job->gpu_id))
			time_cell(table, job->ran_ns);
		else
			gp_table_missing(table);
		time_cell(table, job->held_ns);
		gp_table_cellf(table, "%llu", (unsigned long long)job->suspends);
		gp_wire_text(name, sizeof(name), job->name, sizeof(job->name));
		gp_table_cell(table, name);
	}
	return table;
}

const char *gp_cli_top_policy(const struct gp_cli_top_data *top,
			      const struct gp_proto_msg_device *device)
{
	if (top->from_driver)
		return top->driver.policy;
	return device->broken        ? _("switched off")
	       : device->can_suspend ? gp_sched_policy_name(device->policy)
				     : _("none");
}

struct gp_table *gp_cli_top_devices(const struct gp_cli_top_data *top)
{
	struct gp_table *table = gp_table_new();
	char name[GP_PROTO_NAME];

	gp_table_column(table, _("GPU"), GP_RIGHT);
	gp_table_column(table, _("POLICY"), GP_LEFT);
	gp_table_column(table, _("JOBS"), GP_RIGHT);
	gp_table_column(table, _("RUNNING"), GP_RIGHT);
	gp_table_column(table, top->status.mode ? _("HELD") : _("WOULD BE HELD"), GP_RIGHT);
	gp_table_column(table, _("BUSY"), GP_RIGHT);
	gp_table_column(table, _("STOP"), GP_RIGHT);
	gp_table_column(table, _("CONTINUE"), GP_RIGHT);
	gp_table_column(table, _("NAME"), GP_LEFT);
	for (size_t i = 0; i < top->device_count; i++) {
		const struct gp_proto_msg_device *device = &top->devices[i];

		gp_table_cellf(table, "%x", device->gpu_id);
		gp_table_cell(table, gp_cli_top_policy(top, device));
		gp_table_cellf(table, "%u", device->members);
		if (gp_cli_top_sees_work(device->gpu_id))
			gp_table_cellf(table, "%u", device->running);
		else
			gp_table_missing(table);
		gp_table_cellf(table, "%u", device->held);
		if (gp_cli_top_sees_work(device->gpu_id) && !top->from_driver)
			time_cell(table, device->busy_ns);
		else
			gp_table_missing(table);
		if (top->from_driver) {
			gp_table_missing(table);
			gp_table_missing(table);
		} else {
			time_cell(table, device->suspend_ns);
			time_cell(table, device->resume_ns);
		}
		gp_wire_text(name, sizeof(name), device->name, sizeof(device->name));
		gp_table_cell(table, name);
	}
	return table;
}

/* ---- JSON ---- */

/* What only gpreemptd knows of its jobs is null in those of the driver, and the other way round. */
static void driver_job_json(const struct gp_cli_top_data *top, const struct gp_proto_msg_job *job,
			    json_t *json)
{
	static const char *const unknown[] = {"id",       "class",     "weight",   "pin",
					      "attached", "waited_ns", "preempted"};
	const struct gp_inspect_driver_job *from = gp_cli_top_driver_job(top, job);

	if (!from) {
		json_object_set_new(json, "queue_list", json_null());
		return;
	}
	for (size_t i = 0; i < GP_ARRAY_SIZE(unknown); i++)
		json_object_set_new(json, unknown[i], json_null());
	if (!from->known) {
		json_object_set_new(json, "uid", json_null());
		json_object_set_new(json, "name", json_null());
	}
	json_object_set_new(json, "queue_list", gp_cli_top_queues_json(from));
}

static json_t *job_json(const struct gp_cli_top_data *top, const struct gp_proto_msg_job *job)
{
	static const char *const states[] = {"running", "suspending", "suspended", "resuming"};
	static const char *const pins[] = {"none", "run", "hold"};
	bool held = job->held_since != GP_DAEMON_NEVER;
	json_t *json = json_pack("{sI sI sI sI sI sI sI sI}", "id", (json_int_t)job->id, "pid",
				 (json_int_t)job->pid, "uid", (json_int_t)job->uid, "processes",
				 (json_int_t)job->processes, "queues", (json_int_t)job->queues,
				 "busy_queues", (json_int_t)job->busy_queues, "priority",
				 (json_int_t)job->priority, "weight", (json_int_t)job->weight);

	json_object_set_new(json, "name",
			    gp_json_text(job->name, strnlen(job->name, sizeof(job->name))));
	json_object_set_new(json, "group", gp_json_str_or_null(job->group));
	json_object_set_new(json, "rule", gp_json_str_or_null(job->rule));
	json_object_set_new(json, "class", gp_json_str(gp_cli_class_name(job->job_class)));
	json_object_set_new(json, "state", gp_json_str(job->run < 4 ? states[job->run] : NULL));
	json_object_set_new(json, "pin", gp_json_str(job->pin < 3 ? pins[job->pin] : NULL));
	json_object_set_new(json, "attached", json_boolean(job->attached));
	json_object_set_new(json, "gpu_id", gp_json_u64_if(job->gpu_id != 0, job->gpu_id));
	json_object_set_new(json, "held", json_boolean(held));
	json_object_set_new(json, "held_for",
			    gp_json_u64_if(job->held_for != GP_DAEMON_NONE, job->held_for));
	json_object_set_new(json, "stopped_by",
			    gp_json_u64_if(gp_cli_top_stopped_by(top, job) != 0,
					   gp_cli_top_stopped_by(top, job)));
	json_object_set_new(json, "held_ns", json_integer((json_int_t)job->held_ns));
	if (!gp_cli_top_sees_work(job->gpu_id))
		json_object_set_new(json, "busy_queues", json_null());
	json_object_set_new(json, "ran_ns",
			    gp_json_u64_if(gp_cli_top_sees_work(job->gpu_id), job->ran_ns));
	json_object_set_new(json, "waited_ns", json_integer((json_int_t)job->waited_ns));
	json_object_set_new(json, "suspends", json_integer((json_int_t)job->suspends));
	json_object_set_new(json, "preempted", json_integer((json_int_t)job->preempted));
	json_object_set_new(json, "declined", json_integer((json_int_t)job->declined));
	json_object_set_new(json, "failures", json_integer((json_int_t)job->failures));
	json_object_set_new(json, "backlog",
			    gp_json_u64_if(job->backlog != GP_DAEMON_UNKNOWN, job->backlog));
	driver_job_json(top, job, json);
	return json;
}

json_t *gp_cli_top_json(const struct gp_cli_top_data *top)
{
	json_t *json = json_object(), *jobs = json_array(), *devices = json_array();

	for (size_t i = 0; i < top->job_count; i++)
		json_array_append_new(jobs, job_json(top, &top->jobs[i]));
	for (size_t i = 0; i < top->device_count; i++) {
		const struct gp_proto_msg_device *device = &top->devices[i];
		bool sees = gp_cli_top_sees_work(device->gpu_id);
		json_t *item =
			json_pack("{sI sI so sI so}", "gpu_id", (json_int_t)device->gpu_id, "jobs",
				  (json_int_t)device->members, "running",
				  gp_json_u64_if(sees, device->running), "held",
				  (json_int_t)device->held, "busy_ns",
				  gp_json_u64_if(sees && !top->from_driver, device->busy_ns));

		json_object_set_new(item, "policy",
				    gp_json_str(top->from_driver
							? top->driver.policy
							: gp_sched_policy_name(device->policy)));
		json_object_set_new(item, "can_suspend",
				    top->from_driver ? json_null()
						     : json_boolean(device->can_suspend));
		json_object_set_new(item, "broken",
				    top->from_driver ? json_null() : json_boolean(device->broken));
		json_array_append_new(devices, item);
	}
	json_object_set_new(json, "source", json_string(top->from_driver ? "driver" : "gpreemptd"));
	json_object_set_new(json, "mode", json_string(top->status.mode ? "act" : "observe"));
	json_object_set_new(json, "pid", gp_json_u64_if(!top->from_driver, top->status.pid));
	json_object_set_new(json, "driver",
			    top->from_driver ? gp_cli_top_driver_json(top) : json_null());
	json_object_set_new(json, "problem", gp_json_str_or_null(top->status.problem));
	json_object_set_new(json, "devices", devices);
	json_object_set_new(json, "jobs", jobs);
	return json;
}
