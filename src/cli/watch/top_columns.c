// SPDX-License-Identifier: MIT
/*
 * The columns of `gpreempt top`: a line of gp_cli_top_put_job(), put_device() or put_queue() is a
 * column of the table, a member in JSON and, of jobs, a column of the full screen.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/watch/top_canvas.h"
#include "cli/watch/top_view.h"
#include "inspect/ps.h"
#include "show/reason.h"

#define TREND_WIDTH 16
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
	value.colour = job->away || stopped_by(top, job)                       ? GP_RED
		       : job->run != GP_DAEMON_RUNNING                         ? GP_YELLOW
		       : job->busy_queues || (job->activity && job->share_ppm) ? GP_GREEN
									       : GP_DIM;
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
		   gp_v_as(gp_v_count(queue->gpu_id), gp_cli_text(row, "0x%x", queue->gpu_id)));
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

/* The arguments of the job's first process: a list of "python3" tells nobody which is which. Its
 * program is the name, and the folder of the first argument is left out. NULL: not known. */
static const char *arguments_of(struct gp_cli_row *row, const struct gp_cli_top_data *top,
				const struct gp_proto_msg_job *job, const char *name)
{
	for (size_t i = 0; i < top->machine.count; i++) {
		const struct gp_inspect_ps_row *item = &top->machine.rows[i];
		const char *command = item->process.command, *end, *slash;
		int length;

		if (item->gpu->pid != job->pid || !item->process_known)
			continue;
		end = strchr(command, ' ');
		if (!end || !end[1])
			return NULL;
		slash = memrchr(command, '/', (size_t)(end - command));
		command = slash ? slash + 1 : command;
		if (strncmp(command, name, strlen(name)) != 0)
			return NULL; /* it renamed itself */
		command = end + 1;
		length = (int)strcspn(command, " ");
		slash = *command == '-' ? NULL : memrchr(command, '/', (size_t)length);
		return gp_cli_text(row, "%s", slash ? slash + 1 : command);
	}
	return NULL;
}

static struct gp_show_value name_value(struct gp_cli_row *row, const struct gp_cli_top_data *top,
				       const struct gp_proto_msg_job *job)
{
	const char *name = field(row, job->name, sizeof(job->name));
	const char *arguments = arguments_of(row, top, job, name);

	return arguments ? gp_v_as(gp_v_text(name), gp_cli_text(row, "%s %s", name, arguments))
			 : gp_v_text(name);
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

/* Whether the use of the GPU is known of any job. */
static bool any_use(const struct gp_cli_top_data *top)
{
	for (size_t i = 0; i < top->job_count; i++)
		if (top->jobs[i].activity || gp_cli_top_sees_work(top->jobs[i].gpu_id))
			return true;
	return !top->job_count;
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
static void put_activity(struct gp_cli_row *row, const struct gp_proto_msg_job *job)
{
	bool known = job->activity;

	gp_cli_put(row, "gpu_share_ppm", NULL, 0, gp_v_if(known, gp_v_count(job->share_ppm)));
	gp_cli_put(row, "switches", NULL, 0, gp_v_if(known, gp_v_count(job->switches)));
	gp_cli_put(row, "switched_out", NULL, 0, gp_v_if(known, gp_v_count(job->switched_out)));
	gp_cli_put(row, "lost_ns", NULL, 0, gp_v_if(known, gp_v_ns(job->lost_ns)));
}

static struct gp_show_value percent_value(struct gp_cli_row *row, u8 percent)
{
	return gp_v_if(percent != GP_TOP_UNKNOWN,
		       gp_v_as(gp_v_percent(percent), gp_cli_text(row, "%u%%", percent)));
}

static struct gp_show_value trend_value(struct gp_cli_row *row, const struct gp_cli_top_data *top,
					const struct gp_cli_top_rate *rate)
{
	struct gp_buf text = {0};
	const char *kept;

	if (rate)
		gp_cli_sparkline(&text, rate->history, GP_TOP_HISTORY, TREND_WIDTH,
				 top->rates->ascii);
	kept = gp_cli_text(row, "%s", gp_buf_str(&text));
	gp_buf_free(&text);
	return gp_v_text(kept);
}

/* Of the last interval: the share of the GPU, of the time held, and the recent past. */
static void put_rates(struct gp_cli_row *row, const struct gp_cli_top_data *top,
		      const struct gp_proto_msg_job *job)
{
	const struct gp_cli_top_rate *rate = gp_cli_top_rate_of(top->rates, job->id);
	bool shown = top->rates && !top->rates->totals;
	bool sees = gp_cli_top_sees_work(job->gpu_id) || job->activity;
	struct gp_show_value share = gp_v_missing();

	if (job->activity)
		share = gp_v_as(gp_v_percent(job->share_ppm / 1e4),
				gp_cli_text(row, "%u.%u%%", job->share_ppm / 10000,
					    job->share_ppm / 1000 % 10));
	else if (rate && sees)
		share = percent_value(row, rate->busy);
	/* Jobs whose work is seen may have it at the same time: more than 100 % together. What the
	 * driver reports is a share. */
	gp_cli_put(row, NULL,
		   any_activity(top)       ? N_("GPU%")
		   : shown && any_use(top) ? N_("BUSY%")
					   : NULL,
		   RIGHT_AT(12, 6) | GP_CLI_RANK(1), share);
	gp_cli_put(row, NULL, shown ? N_("HELD%") : NULL, RIGHT_AT(13, 5) | GP_CLI_RANK(4),
		   rate ? percent_value(row, rate->held) : gp_v_missing());
	gp_cli_put(row, NULL, shown && any_use(top) ? N_("TREND") : NULL,
		   AT(17, TREND_WIDTH) | GP_CLI_RANK(8), trend_value(row, top, rate));
}

/* What the driver lists of its first process. */
static void put_usage(struct gp_cli_row *row, const struct gp_cli_top_data *top,
		      const struct gp_proto_msg_job *job)
{
	struct gp_gpu_usage usage;
	bool known = gp_cli_top_usage(top, job, &usage);

	gp_cli_put(row, "vram_bytes", top->machine.processes.count ? "VRAM" : NULL,
		   RIGHT_AT(15, 9) | GP_CLI_RANK(7) | GP_CLI_OPTIONAL,
		   gp_v_if(known && usage.valid & GP_USAGE_VRAM, gp_v_bytes(usage.vram_bytes)));
	gp_cli_put(row, "cu_occupancy", top->machine.processes.count ? "CUS" : NULL,
		   RIGHT_AT(16, 4) | GP_CLI_RANK(9) | GP_CLI_OPTIONAL,
		   gp_v_if(known && usage.valid & GP_USAGE_OCCUPANCY,
			   gp_v_count(usage.cu_occupancy)));
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

/* Green or red where the class online has a target. */
static struct gp_show_value latency_value(const struct gp_cli_top_data *top,
					  const struct gp_proto_msg_job *job, u64 ns)
{
	u64 target = top->status.latency_target_us * 1000ull;
	struct gp_show_value value = gp_v_if(job->latency_count, gp_v_ns(ns));

	if (target && job->job_class == GP_CLASS_ONLINE && job->latency_count)
		value.colour = job->latency_p99_ns > target ? GP_RED : GP_GREEN;
	return value;
}

static void put_latency(struct gp_cli_row *row, const struct gp_cli_top_data *top,
			const struct gp_proto_msg_job *job, bool daemon)
{
	gp_cli_put(row, "latency_of", NULL, 0,
		   gp_v_if(daemon && job->latency_count,
			   gp_v_text(job->latency_of ? "requests" : "bursts")));
	gp_cli_put(row, "latency_count", NULL, 0, gp_v_if(daemon, gp_v_count(job->latency_count)));
	gp_cli_put(row, "latency_p50_ns", daemon ? "P50" : NULL,
		   RIGHT_AT(8, 8) | GP_CLI_RANK(6) | GP_CLI_OPTIONAL,
		   gp_v_if(daemon && job->latency_count, gp_v_ns(job->latency_p50_ns)));
	gp_cli_put(row, "latency_p99_ns", daemon ? "P99" : NULL, RIGHT_AT(9, 8) | GP_CLI_OPTIONAL,
		   latency_value(top, job, job->latency_p99_ns));
}

/* Totals, unless the screen shows rates instead; and the rates. */
static void put_times(struct gp_cli_row *row, const struct gp_cli_top_data *top,
		      const struct gp_proto_msg_job *job)
{
	bool totals = !top->rates || top->rates->totals, daemon = !top->from_driver;
	bool sees = gp_cli_top_sees_work(job->gpu_id), observed = !top->status.mode;

	gp_cli_put(row, "held_ns", totals && !observed ? N_("HELD") : NULL,
		   RIGHT_AT(13, 8) | GP_CLI_RANK(1), gp_v_ns(job->held_ns));
	gp_cli_put(row, "would_held_ns", totals && observed ? N_("WOULD BE HELD") : NULL,
		   RIGHT_AT(13, 8) | GP_CLI_RANK(1), gp_v_if(daemon, gp_v_ns(job->would_held_ns)));
	gp_cli_put(row, "ran_ns", totals ? "RAN" : NULL,
		   RIGHT_AT(11, 8) | GP_CLI_RANK(1) | GP_CLI_OPTIONAL,
		   gp_v_if(sees || job->activity, gp_v_ns(gp_cli_top_ran_ns(job))));
	put_activity(row, job);
	put_rates(row, top, job);
	put_usage(row, top, job);
	gp_cli_put(row, "waited_ns", totals ? "WAITED" : NULL,
		   RIGHT_AT(10, 8) | GP_CLI_RANK(4) | GP_CLI_OPTIONAL,
		   gp_v_if(daemon, gp_v_ns(job->waited_ns)));
	gp_cli_put(row, "suspends", observed ? NULL : "SUSPENDS", RIGHT_AT(14, 8) | GP_CLI_RANK(7),
		   gp_v_count(job->suspends));
	gp_cli_put(row, "would_suspends", observed ? N_("WOULD SUSPEND") : NULL,
		   RIGHT_AT(14, 8) | GP_CLI_RANK(7),
		   gp_v_if(daemon, gp_v_count(job->would_suspends)));
}

static struct gp_show_value class_value(const struct gp_proto_msg_job *job, bool daemon)
{
	struct gp_show_value value = gp_v_text(gp_cli_class_name(job->job_class));

	value.colour = job->job_class == GP_CLASS_ONLINE    ? GP_BOLD
		       : job->job_class == GP_CLASS_OFFLINE ? GP_DIM
							    : GP_PLAIN;
	return gp_v_if(daemon, value);
}

/* Why it does not run, if it does not. */
static void put_held(struct gp_cli_row *row, const struct gp_cli_top_data *top,
		     const struct gp_proto_msg_job *job)
{
	u32 by = job->away_by ? job->away_by : stopped_by(top, job);

	gp_cli_put(row, "held", NULL, 0, gp_v_bool(job->held_since != GP_DAEMON_NEVER));
	gp_cli_put(row, "held_for", NULL, 0,
		   gp_v_if(job->held_for != GP_DAEMON_NONE, gp_v_count(job->held_for)));
	gp_cli_put(row, "stopped_by", NULL, 0, gp_v_if(by, gp_v_count(by)));
	gp_cli_put(row, "away", NULL, 0, gp_v_text(gp_cli_away_name(job->away)));
	gp_cli_put(row, "owner", NULL, 0,
		   gp_v_text_or_missing(field(row, job->owner, sizeof(job->owner))));
	gp_cli_put(row, "kept", NULL, 0, gp_v_text(gp_cli_kept_name(job->kept)));
}

void gp_cli_top_put_job(struct gp_cli_row *row, const struct gp_cli_top_data *top,
			const struct gp_proto_msg_job *job)
{
	static const char *const pins[] = {"none", "run", "hold"};
	int index = gp_cli_top_gpu_index(top, job->gpu_id);
	const struct gp_inspect_driver_job *driver =
		top->from_driver ? gp_cli_top_driver_job(top, job) : NULL;
	bool daemon = !top->from_driver, known = daemon || (driver && driver->known);
	bool sees = gp_cli_top_sees_work(job->gpu_id), observed = !top->status.mode;

	gp_cli_put(row, "id", NULL, 0, gp_v_if(daemon, gp_v_count(job->id)));
	gp_cli_put(row, "pid", "PID", RIGHT_AT(1, 7), gp_v_count(job->pid));
	gp_cli_put(row, "uid", NULL, 0, gp_v_if(known, gp_v_count(job->uid)));
	gp_cli_put(row, "processes", NULL, 0, gp_v_count(job->processes));
	gp_cli_put(row, "queues", "QUEUES", RIGHT_AT(6, 6) | GP_CLI_RANK(5),
		   gp_v_as(gp_v_count(job->queues),
			   sees ? gp_cli_text(row, "%u/%u", job->busy_queues, job->queues)
				: gp_cli_text(row, "%u", job->queues)));
	gp_cli_put(row, "busy_queues", NULL, 0, gp_v_if(sees, gp_v_count(job->busy_queues)));
	gp_cli_put(row, "priority", "PRIO", RIGHT_AT(4, 5) | GP_CLI_RANK(3),
		   gp_v_count(job->priority));
	gp_cli_put(row, "weight", NULL, 0, gp_v_if(daemon, gp_v_count(job->weight)));
	gp_cli_put(row, "name", "NAME", AT(20, 0), gp_v_if(known, name_value(row, top, job)));
	gp_cli_put(row, "group", NULL, 0,
		   gp_v_text_or_missing(field(row, job->group, sizeof(job->group))));
	gp_cli_put(row, "rule", NULL, 0,
		   gp_v_text_or_missing(field(row, job->rule, sizeof(job->rule))));
	gp_cli_put(row, "class", "CLASS", AT(3, 7) | GP_CLI_RANK(2), class_value(job, daemon));
	gp_cli_put(row, "state", "STATE", AT(5, observed ? 13 : 10),
		   state_value(row, top, job, driver));
	gp_cli_put(row, "pin", NULL, 0,
		   gp_v_if(daemon, gp_v_text(job->pin < 3 ? pins[job->pin] : NULL)));
	gp_cli_put(row, "attached", NULL, 0, gp_v_if(daemon, gp_v_bool(job->attached)));
	gp_cli_put(row, "gpu_id", NULL, 0, gp_v_if(job->gpu_id, gp_v_count(job->gpu_id)));
	gp_cli_put(row, "gpu", daemon ? "GPU" : NULL, RIGHT_AT(2, 3),
		   gp_v_if(index >= 0,
			   gp_v_as(gp_v_count((u64)index),
				   gp_cli_text(row, job->devices > 1 ? "%d+" : "%d", index))));
	put_held(row, top, job);
	gp_cli_put(row, "memory_bytes", NULL, 0, gp_v_if(job->memory, gp_v_count(job->memory)));
	gp_cli_put(row, "swapped_bytes", NULL, 0, gp_v_if(daemon, gp_v_count(job->swapped)));
	put_times(row, top, job);
	put_latency(row, top, job, daemon);
	gp_cli_put(row, "preempted", NULL, 0, gp_v_if(daemon, gp_v_count(job->preempted)));
	gp_cli_put(row, "declined", NULL, 0, gp_v_count(job->declined));
	gp_cli_put(row, "failures", NULL, 0, gp_v_count(job->failures));
	gp_cli_put(row, "backlog", "BACKLOG", RIGHT_AT(7, 8) | GP_CLI_RANK(10) | GP_CLI_OPTIONAL,
		   gp_v_if(job->backlog != GP_DAEMON_UNKNOWN, gp_v_count(job->backlog)));
	gp_cli_put(row, "slice", any_slices(top) ? "SLICE" : NULL,
		   RIGHT_AT(18, 10) | GP_CLI_RANK(11), slice_value(row, job));
	gp_cli_put(row, "slice_us", NULL, 0,
		   gp_v_if(job->slice_state == GP_SLICE_CONFIRMED, gp_v_count(job->slice_us)));
	gp_cli_put(row, "queue_list", NULL, 0,
		   driver && row->part == GP_CLI_JSON ? queue_list(driver) : gp_v_missing());
}

/* One of all jobs, which JSON has in each job. */
void gp_cli_top_put_queues(struct gp_doc *doc, const struct gp_cli_top_data *top)
{
	struct gp_cli_row row = {.part = GP_CLI_TEXT};

	gp_doc_table(doc, NULL, NULL);
	add_queue_columns(doc, &row);
	for (size_t i = 0; i < top->job_count; i++)
		add_queues(doc, &row, gp_cli_top_driver_job(top, &top->jobs[i]));
}
