// SPDX-License-Identifier: MIT
/*
 * The columns of `gpreempt top`: a line of gp_cli_top_put_job(), put_device() or put_queue() is a
 * column of the table, a member in JSON and, of jobs, a column of the full screen.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/watch/top_view.h"
#include "inspect/ps.h"
#include "show/reason.h"

/* Place in the table and on the screen, and cells on the screen (0: the rest). */
#define AT(place, width)       (GP_CLI_AT(place) | GP_CLI_WIDTH(width))
#define RIGHT_AT(place, width) (AT(place, width) | GP_CLI_RIGHT)

bool gp_cli_top_sees_work(u32 gpu_id)
{
	return !gp_gpu_is_nvidia(gpu_id);
}

/* The process, not the daemon, that keeps the job's first process suspended; 0: none is known. */
static u32 stopped_by(const struct gp_cli_top_data *top, const struct gp_proto_msg_job *job)
{
	for (size_t i = 0; i < top->holds.count; i++) {
		const struct gp_proto_msg_hold *hold = &top->holds.items[i];

		if ((u32)hold->pid == job->pid && (u32)hold->owner_pid != top->status.pid)
			return (u32)hold->owner_pid;
	}
	return 0;
}

/* A daemon that only observes holds no job: its state is what would be. */
static const char *state_text(const struct gp_cli_top_data *top, const struct gp_proto_msg_job *job,
			      const struct gp_inspect_driver_job *driver)
{
	bool observed = !top->status.mode;

	if (driver && gp_inspect_driver_job_is_off(driver))
		return _("stopped");
	if (job->away == GP_AWAY_HAND ||
	    ((observed || job->run == GP_DAEMON_RUNNING) && stopped_by(top, job)))
		return C_("state", "by hand");
	if (job->away == GP_AWAY_SWAPPED)
		return _("swapped");
	if (job->away && job->kept == GP_KEPT_HELD)
		return _("held");
	if (job->away)
		return _("stopped");
	if (observed && job->held_since != GP_DAEMON_NEVER)
		return _("would be held");
	switch (observed ? GP_DAEMON_RUNNING : job->run) {
	case GP_DAEMON_SUSPENDING:
		return _("suspending");
	case GP_DAEMON_SUSPENDED:
		return _("held");
	case GP_DAEMON_RESUMING:
		return _("resuming");
	default:
		if (job->activity)
			return job->share_ppm ? _("running") : _("idle");
		if (!gp_cli_top_sees_work(job->gpu_id))
			return _("sharing");
		return job->busy_queues ? _("running") : _("idle");
	}
}

static struct gp_show_value state_value(struct gp_cli_row *row, const struct gp_cli_top_data *top,
					const struct gp_proto_msg_job *job,
					const struct gp_inspect_driver_job *driver)
{
	static const char *const states[] = {"running", "suspending", "suspended", "resuming"};
	struct gp_show_value value = gp_v_text(job->run < 4 ? states[job->run] : NULL);

	value = gp_v_as(value, job->away == GP_AWAY_OWNER && job->kept == GP_KEPT_HELD
				       ? gp_cli_text(row, C_("state", "by %s"), job->owner)
				       : state_text(top, job, driver));
	value.colour = job->run != GP_DAEMON_RUNNING ? GP_YELLOW
		       : job->busy_queues            ? GP_GREEN
						     : GP_PLAIN;
	return value;
}

/* ---- queues of the driver ---- */

static void put_queue(struct gp_cli_row *row, u32 pid, const struct gp_inspect_driver_queue *queue)
{
	bool known = queue->valid & GP_DRIVER_QUEUE_SUSPENDED;
	u64 ns;

	if (__builtin_mul_overflow(queue->suspended_ms, GP_NS_PER_MS, &ns))
		ns = UINT64_MAX;
	gp_cli_put(row, NULL, "PID", AT(1, 0), gp_v_count(pid));
	gp_cli_put(row, "id", "QUEUE", AT(2, 0), gp_v_count(queue->id));
	gp_cli_put(row, "gpu_id", "GPU", AT(3, 0),
		   gp_v_as(gp_v_count(queue->gpu_id), gp_cli_text(row, "%x", queue->gpu_id)));
	gp_cli_put(row, "logical_priority", "PRIO", AT(4, 0),
		   gp_v_if(queue->valid & GP_DRIVER_QUEUE_PRIORITY,
			   gp_v_count(queue->logical_priority)));
	/* In the driver's words. */
	gp_cli_put(row, "state", "STATE", AT(6, 0), gp_v_text_or_missing(queue->state));
	gp_cli_put(row, "suspended_ms", "SUSPENDED", AT(5, 0),
		   gp_v_if(known, gp_v_as(gp_v_count(queue->suspended_ms),
					  gp_cli_text(row, "%s", gp_duration_text(ns).text))));
}

static void add_queues(struct gp_doc *doc, struct gp_cli_row *row,
		       const struct gp_inspect_driver_job *job)
{
	for (size_t i = 0; job && i < job->item_count; i++) {
		put_queue(row, job->pid, &job->items[i]);
		gp_cli_row_cells(row, doc);
	}
}

static void add_queue_columns(struct gp_doc *doc, struct gp_cli_row *row)
{
	put_queue(row, 0, &(struct gp_inspect_driver_queue){0});
	gp_cli_row_columns(row, doc);
}

static struct gp_show_value queue_list(const struct gp_inspect_driver_job *job)
{
	struct gp_doc *doc = gp_doc_new_list();
	struct gp_cli_row row = {.part = GP_CLI_JSON};
	json_t *json;

	gp_doc_table(doc, NULL, NULL);
	add_queue_columns(doc, &row);
	add_queues(doc, &row, job);
	json = gp_doc_json(doc);
	gp_doc_free(doc);
	return gp_v_json(json);
}

/* ---- jobs ---- */

static const char *field(struct gp_cli_row *row, const char *text, size_t size)
{
	return gp_cli_text(row, "%.*s", (int)size, text);
}

/* The driver does not know what gpreemptd knows of its jobs, and the other way round. */
static bool any_slices(const struct gp_cli_top_data *top)
{
	for (size_t i = 0; i < top->job_count; i++) {
		if (top->jobs[i].slice_state)
			return true;
	}
	return false;
}

static bool any_activity(const struct gp_cli_top_data *top)
{
	for (size_t i = 0; i < top->job_count; i++) {
		if (top->jobs[i].activity)
			return true;
	}
	return false;
}

u64 gp_cli_top_ran_ns(const struct gp_proto_msg_job *job)
{
	return job->activity ? job->active_ns : job->ran_ns;
}

/* What the driver reports of its use of the GPU. */
static void put_activity(struct gp_cli_row *row, const struct gp_cli_top_data *top,
			 const struct gp_proto_msg_job *job)
{
	bool known = job->activity;

	gp_cli_put(row, "gpu_share_ppm", any_activity(top) ? "GPU" : NULL,
		   RIGHT_AT(9, 6) | GP_CLI_WIDE,
		   gp_v_if(known, gp_v_as(gp_v_count(job->share_ppm),
					  gp_cli_text(row, "%u.%u%%", job->share_ppm / 10000,
						      job->share_ppm / 1000 % 10))));
	gp_cli_put(row, "switches", NULL, 0, gp_v_if(known, gp_v_count(job->switches)));
	gp_cli_put(row, "switched_out", NULL, 0, gp_v_if(known, gp_v_count(job->switched_out)));
	gp_cli_put(row, "lost_ns", NULL, 0, gp_v_if(known, gp_v_ns(job->lost_ns)));
}

/* What the driver has, not what was asked of it. */
static struct gp_show_value slice_value(struct gp_cli_row *row, const struct gp_proto_msg_job *job)
{
	switch (job->slice_state) {
	case GP_SLICE_CONFIRMED:
		return gp_v_as(gp_v_text("confirmed"),
			       gp_cli_text(row, "%s",
					   gp_duration_text(job->slice_us * 1000ull).text));
	case GP_SLICE_REQUESTED:
		return gp_v_as(gp_v_text("requested"), _("requested"));
	case GP_SLICE_FAILED:
		return gp_v_as(gp_v_text("failed"), _("failed"));
	default:
		return gp_v_missing();
	}
}

static void put_latency(struct gp_cli_row *row, const struct gp_proto_msg_job *job, bool daemon)
{
	gp_cli_put(row, "latency_of", NULL, 0,
		   gp_v_if(daemon && job->latency_count,
			   gp_v_text(job->latency_of ? "requests" : "bursts")));
	gp_cli_put(row, "latency_count", NULL, 0, gp_v_if(daemon, gp_v_count(job->latency_count)));
	gp_cli_put(row, "latency_p50_ns", NULL, 0,
		   gp_v_if(daemon && job->latency_count, gp_v_ns(job->latency_p50_ns)));
	gp_cli_put(row, "latency_p99_ns", NULL, 0,
		   gp_v_if(daemon && job->latency_count, gp_v_ns(job->latency_p99_ns)));
}

void gp_cli_top_put_job(struct gp_cli_row *row, const struct gp_cli_top_data *top,
			const struct gp_proto_msg_job *job)
{
	static const char *const pins[] = {"none", "run", "hold"};
	const struct gp_inspect_driver_job *driver =
		top->from_driver ? gp_cli_top_driver_job(top, job) : NULL;
	bool daemon = !top->from_driver, known = daemon || (driver && driver->known);
	bool sees = gp_cli_top_sees_work(job->gpu_id), observed = !top->status.mode;
	u32 by = job->away_by ? job->away_by : stopped_by(top, job);

	gp_cli_put(row, "id", NULL, 0, gp_v_if(daemon, gp_v_count(job->id)));
	gp_cli_put(row, "pid", "PID", RIGHT_AT(1, 7), gp_v_count(job->pid));
	gp_cli_put(row, "uid", NULL, 0, gp_v_if(known, gp_v_count(job->uid)));
	gp_cli_put(row, "processes", NULL, 0, gp_v_count(job->processes));
	gp_cli_put(row, "queues", "QUEUES", RIGHT_AT(5, 6),
		   gp_v_as(gp_v_count(job->queues),
			   sees ? gp_cli_text(row, "%u/%u", job->busy_queues, job->queues)
				: gp_cli_text(row, "-/%u", job->queues)));
	gp_cli_put(row, "busy_queues", NULL, 0, gp_v_if(sees, gp_v_count(job->busy_queues)));
	gp_cli_put(row, "priority", "PRIO", RIGHT_AT(3, 5), gp_v_count(job->priority));
	gp_cli_put(row, "weight", NULL, 0, gp_v_if(daemon, gp_v_count(job->weight)));
	gp_cli_put(row, "name", "NAME", AT(13, 0),
		   gp_v_if(known, gp_v_text(field(row, job->name, sizeof(job->name)))));
	gp_cli_put(row, "group", NULL, 0,
		   gp_v_text_or_missing(field(row, job->group, sizeof(job->group))));
	gp_cli_put(row, "rule", NULL, 0,
		   gp_v_text_or_missing(field(row, job->rule, sizeof(job->rule))));
	gp_cli_put(row, "class", "CLASS", AT(2, 7),
		   gp_v_if(daemon, gp_v_text(gp_cli_class_name(job->job_class))));
	gp_cli_put(row, "state", "STATE", AT(4, observed ? 13 : 8),
		   state_value(row, top, job, driver));
	gp_cli_put(row, "pin", NULL, 0,
		   gp_v_if(daemon, gp_v_text(job->pin < 3 ? pins[job->pin] : NULL)));
	gp_cli_put(row, "attached", NULL, 0, gp_v_if(daemon, gp_v_bool(job->attached)));
	gp_cli_put(row, "gpu_id", NULL, 0, gp_v_if(job->gpu_id, gp_v_count(job->gpu_id)));
	gp_cli_put(row, "held", NULL, 0, gp_v_bool(job->held_since != GP_DAEMON_NEVER));
	gp_cli_put(row, "held_for", NULL, 0,
		   gp_v_if(job->held_for != GP_DAEMON_NONE, gp_v_count(job->held_for)));
	gp_cli_put(row, "stopped_by", NULL, 0, gp_v_if(by, gp_v_count(by)));
	gp_cli_put(row, "away", NULL, 0, gp_v_text(gp_cli_away_name(job->away)));
	gp_cli_put(row, "owner", NULL, 0,
		   gp_v_text_or_missing(field(row, job->owner, sizeof(job->owner))));
	gp_cli_put(row, "kept", NULL, 0, gp_v_text(gp_cli_kept_name(job->kept)));
	gp_cli_put(row, "memory_bytes", NULL, 0, gp_v_if(job->memory, gp_v_count(job->memory)));
	gp_cli_put(row, "swapped_bytes", NULL, 0, gp_v_if(daemon, gp_v_count(job->swapped)));
	gp_cli_put(row, "held_ns", observed ? N_("WOULD BE HELD") : N_("HELD"), RIGHT_AT(10, 8),
		   gp_v_ns(job->held_ns));
	gp_cli_put(row, "ran_ns", "RAN", RIGHT_AT(8, 8),
		   gp_v_if(sees || job->activity, gp_v_ns(gp_cli_top_ran_ns(job))));
	put_activity(row, top, job);
	gp_cli_put(row, "waited_ns", "WAITED", RIGHT_AT(7, 8),
		   gp_v_if(daemon, gp_v_ns(job->waited_ns)));
	gp_cli_put(row, "suspends", "SUSPENDS", RIGHT_AT(11, 6), gp_v_count(job->suspends));
	put_latency(row, job, daemon);
	gp_cli_put(row, "preempted", NULL, 0, gp_v_if(daemon, gp_v_count(job->preempted)));
	gp_cli_put(row, "declined", NULL, 0, gp_v_count(job->declined));
	gp_cli_put(row, "failures", NULL, 0, gp_v_count(job->failures));
	gp_cli_put(row, "backlog", "BACKLOG", RIGHT_AT(6, 8) | GP_CLI_WIDE,
		   gp_v_if(job->backlog != GP_DAEMON_UNKNOWN, gp_v_count(job->backlog)));
	gp_cli_put(row, "slice", any_slices(top) ? "SLICE" : NULL, RIGHT_AT(12, 10) | GP_CLI_WIDE,
		   slice_value(row, job));
	gp_cli_put(row, "slice_us", NULL, 0,
		   gp_v_if(job->slice_state == GP_SLICE_CONFIRMED, gp_v_count(job->slice_us)));
	gp_cli_put(row, "queue_list", NULL, 0,
		   driver && row->part == GP_CLI_JSON ? queue_list(driver) : gp_v_missing());
}

/* ---- GPUs ---- */

const char *gp_cli_top_policy(const struct gp_cli_top_data *top,
			      const struct gp_proto_msg_device *device)
{
	if (top->from_driver)
		return top->driver.policy;
	return device->broken                             ? _("disabled")
	       : device->stands_down                      ? _("stands down")
	       : device->can_suspend || device->can_share ? gp_sched_policy_name(device->policy)
							  : _("none");
}

static struct gp_show_value activity_value(const struct gp_proto_msg_device *device)
{
	static const char *const names[] = {NULL, "unused", "read", "failed"};

	return gp_v_text_or_missing(device->reading < GP_ARRAY_SIZE(names) ? names[device->reading]
									   : NULL);
}

/* What is missing, and what to do about it. */
static void explain_activity(struct gp_doc *doc, const struct gp_proto_msg_device *device)
{
	if (device->reading == GP_READING_ON && device->switches_lost)
		gp_doc_line(doc,
			    "GPU %x: %llu records of its use are missing; times are too small.",
			    device->gpu_id, (unsigned long long)device->switches_lost);
	if (device->reading != GP_READING_FAILED)
		return;
	switch (-device->reading_error) {
	case EPERM:
		gp_doc_line(doc,
			    "GPU %x: RAN, BUSY and GPU are missing: the driver reports which "
			    "process uses a GPU only to root (start gpreemptd as root).",
			    device->gpu_id);
		break;
	case EREMOTE:
		gp_doc_line(doc,
			    "GPU %x: RAN, BUSY and GPU are missing: gpreemptd runs in a container "
			    "with its own process ids (start it on the host, or with the pid "
			    "namespace of the host).",
			    device->gpu_id);
		break;
	default:
		gp_doc_line(
			doc,
			"GPU %x: RAN, BUSY and GPU are missing: gpreemptd cannot determine which "
			"process uses the GPU (%s).",
			device->gpu_id, strerror(-device->reading_error));
	}
}

static void put_device(struct gp_cli_row *row, const struct gp_cli_top_data *top,
		       const struct gp_proto_msg_device *device)
{
	bool sees = gp_cli_top_sees_work(device->gpu_id), daemon = !top->from_driver;
	const char *held = top->status.mode ? C_("jobs", "HELD") : C_("jobs", "WOULD BE HELD");
	const char *policy = daemon ? gp_sched_policy_name(device->policy) : top->driver.policy;

	gp_cli_put(row, "gpu_id", "GPU", AT(1, 0),
		   gp_v_as(gp_v_count(device->gpu_id), gp_cli_text(row, "%x", device->gpu_id)));
	gp_cli_put(row, "jobs", "JOBS", AT(3, 0), gp_v_count(device->members));
	gp_cli_put(row, "running", "RUNNING", AT(4, 0), gp_v_if(sees, gp_v_count(device->running)));
	gp_cli_put(row, "held", held, AT(5, 0), gp_v_count(device->held));
	gp_cli_put(row, "busy_ns", "BUSY", RIGHT_AT(6, 0),
		   gp_v_if(daemon && (sees || device->reading == GP_READING_ON),
			   gp_v_ns(sees ? device->busy_ns : device->active_ns)));
	gp_cli_put(row, "activity", NULL, 0, activity_value(device));
	gp_cli_put(row, "switches_lost", NULL, 0,
		   gp_v_if(device->reading == GP_READING_ON, gp_v_count(device->switches_lost)));
	gp_cli_put(row, "policy", "POLICY", AT(2, 0),
		   gp_v_as(gp_v_text(policy), gp_cli_top_policy(top, device)));
	gp_cli_put(row, "can_suspend", NULL, 0, gp_v_if(daemon, gp_v_bool(device->can_suspend)));
	gp_cli_put(row, "broken", NULL, 0, gp_v_if(daemon, gp_v_bool(device->broken)));
	gp_cli_put(row, "stands_down", NULL, 0,
		   gp_v_if(daemon, gp_v_bool(device->stands_down != GP_STAND_NOT)));
	gp_cli_put(row, "stood_down", NULL, 0, gp_v_if(daemon, gp_v_count(device->stood_down)));
	gp_cli_put(row, NULL, "SUSPEND TIME", RIGHT_AT(7, 0),
		   gp_v_if(daemon, gp_v_ns(device->suspend_ns)));
	gp_cli_put(row, NULL, "RESUME TIME", RIGHT_AT(8, 0),
		   gp_v_if(daemon, gp_v_ns(device->resume_ns)));
	gp_cli_put(row, NULL, "NAME", AT(9, 0),
		   gp_v_text_or_missing(field(row, device->name, sizeof(device->name))));
}

/* ---- the document ---- */

static void add_jobs(struct gp_doc *doc, const struct gp_cli_top_data *top, enum gp_cli_part part)
{
	struct gp_cli_row row = {.part = part};

	gp_doc_table(doc, part == GP_CLI_JSON ? "jobs" : NULL, NULL);
	gp_cli_top_put_job(&row, top, &(struct gp_proto_msg_job){0});
	gp_cli_row_columns(&row, doc);
	for (size_t i = 0; i < top->job_count; i++) {
		gp_cli_top_put_job(&row, top, &top->jobs[i]);
		gp_cli_row_cells(&row, doc);
	}
}

static void add_devices(struct gp_doc *doc, const struct gp_cli_top_data *top,
			enum gp_cli_part part)
{
	struct gp_cli_row row = {.part = part};

	gp_doc_table(doc, part == GP_CLI_JSON ? "devices" : NULL, NULL);
	put_device(&row, top, &(struct gp_proto_msg_device){0});
	gp_cli_row_columns(&row, doc);
	for (size_t i = 0; i < top->device_count; i++) {
		put_device(&row, top, &top->devices[i]);
		gp_cli_row_cells(&row, doc);
	}
}

/* One of all jobs, which JSON has in each job. */
static void add_queue_table(struct gp_doc *doc, const struct gp_cli_top_data *top)
{
	struct gp_cli_row row = {.part = GP_CLI_TEXT};

	gp_doc_table(doc, NULL, NULL);
	add_queue_columns(doc, &row);
	for (size_t i = 0; i < top->job_count; i++)
		add_queues(doc, &row, gp_cli_top_driver_job(top, &top->jobs[i]));
}

static void add_driver(struct gp_doc *doc, const struct gp_inspect_driver_sched *driver)
{
	gp_doc_open(doc, "driver", NULL);
	gp_doc_fact(doc, "poll_us", NULL, gp_v_count(driver->poll_us));
	gp_doc_fact(doc, "polls", NULL, gp_v_count(driver->polls));
	gp_doc_fact(doc, "events", NULL, gp_v_count(driver->events));
	gp_doc_fact(doc, "suspends", NULL, gp_v_count(driver->suspends));
	gp_doc_fact(doc, "resumes", NULL, gp_v_count(driver->resumes));
	gp_doc_fact(doc, "errors", NULL, gp_v_count(driver->errors));
	gp_doc_fact(doc, "lines_not_understood", NULL, gp_v_count(driver->unread));
	gp_doc_fact(doc, "policy", NULL, gp_v_text(driver->policy));
	gp_doc_close(doc);
	if (strcmp(driver->policy, "off") == 0)
		gp_doc_line(doc, "The scheduler is off: to enable it, write a policy such as "
				 "'priority' to /sys/module/amdgpu/parameters/kfd_sched.");
	gp_doc_line(doc, "Suspensions: %llu, resumes: %llu, failed attempts: %llu.",
		    (unsigned long long)driver->suspends, (unsigned long long)driver->resumes,
		    (unsigned long long)driver->errors);
	if (driver->unread)
		gp_doc_line(doc, "Lines of %s in an unknown format: %zu", GP_DRIVER_SCHED,
			    driver->unread);
}

void gp_cli_top_status_text(const struct gp_cli_top_data *top, char *out, size_t size)
{
	const struct gp_proto_msg_daemon_status *status = &top->status;

	if (top->from_driver)
		snprintf(out, size,
			 ngettext("driver scheduler, policy %s: %u job, %u held",
				  "driver scheduler, policy %s: %u jobs, %u held", status->jobs),
			 top->driver.policy, status->jobs, status->held);
	else if (status->mode)
		snprintf(out, size,
			 ngettext("gpreemptd (pid %u), mode act: %u job, %u held",
				  "gpreemptd (pid %u), mode act: %u jobs, %u held", status->jobs),
			 status->pid, status->jobs, status->held);
	else
		snprintf(out, size,
			 ngettext("gpreemptd (pid %u), mode observe: %u job, %u would be held",
				  "gpreemptd (pid %u), mode observe: %u jobs, %u would be held",
				  status->jobs),
			 status->pid, status->jobs, status->held);
}

struct gp_doc *gp_cli_top_doc(const struct gp_cli_top_data *top, const char *driver_policy)
{
	struct gp_doc *doc = gp_doc_new_answer();
	char text[256], problem[sizeof(top->status.problem) + 1];

	gp_wire_text(problem, sizeof(problem), top->status.problem, sizeof(top->status.problem));
	gp_cli_top_status_text(top, text, sizeof(text));
	gp_cli_line(doc, "%s", text);
	gp_doc_fact(doc, "source", NULL, gp_v_text(top->from_driver ? "driver" : "gpreemptd"));
	gp_doc_fact(doc, "mode", NULL, gp_v_text(top->status.mode ? "act" : "observe"));
	gp_doc_fact(doc, "pid", NULL, gp_v_if(!top->from_driver, gp_v_count(top->status.pid)));
	if (top->from_driver)
		add_driver(doc, &top->driver);
	else
		gp_doc_fact(doc, "driver", NULL, gp_v_missing());
	gp_doc_fact(doc, "problem", NULL, gp_v_text_or_missing(problem));
	if (*problem)
		gp_doc_line(doc, "gpreemptd cannot act: %s", problem);
	if (*driver_policy && strcmp(driver_policy, "off") != 0)
		gp_doc_line(doc,
			    "The driver's built-in scheduler is also active (policy %s); see "
			    "'gpreempt top --driver'.",
			    driver_policy);
	for (size_t i = 0; i < top->device_count && !top->from_driver; i++)
		explain_activity(doc, &top->devices[i]);
	add_devices(doc, top, GP_CLI_JSON);
	add_devices(doc, top, GP_CLI_TEXT);
	add_jobs(doc, top, GP_CLI_JSON);
	add_jobs(doc, top, GP_CLI_TEXT);
	if (top->from_driver)
		add_queue_table(doc, top);
	return doc;
}
