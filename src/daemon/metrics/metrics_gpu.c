// SPDX-License-Identifier: MIT
/*
 * The figures of each GPU for Prometheus. PCI address and UUID are labels of every series, written
 * as the exporters of AMD and NVIDIA write them, so that series can be joined.
 */
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/metrics/metrics_write.h"
#include "gpu/gpu.h"

static void open_series(struct gp_buf *out, const char *name, const struct gp_daemon_device *device)
{
	gp_daemon_metrics_series(out, name);
	gp_daemon_metrics_label_number(out, "gpu", device->gpu_id);
	gp_daemon_metrics_label(out, "name", device->product[0] ? device->product : device->name);
	gp_daemon_metrics_label(out, "pci", device->pci);
	gp_daemon_metrics_label(out, "uuid", device->uuid);
}

enum figure { BREAKER, STANDING, STOOD, JOBS, HELD, BUSY, ACTIVITY, LOST };

static const struct {
	const char *name, *type, *help;
} figures[] = {
	[BREAKER] = {"gpu_breaker_open", "gauge",
		     "1 while preemption is disabled on this GPU because the driver failed."},
	[STANDING] = {"gpu_standing_down", "gauge",
		      "1 while gpreemptd does not preempt jobs on this GPU because preemption "
		      "failed or cost more than it saved."},
	[STOOD] = {"gpu_stood_down_total", "counter",
		   "Number of times gpreemptd stopped preempting jobs on this GPU for a while."},
	[JOBS] = {"gpu_jobs", "gauge", "Jobs with a queue on this GPU."},
	[HELD] = {"gpu_held_jobs", "gauge",
		  "Jobs with a queue on this GPU that gpreemptd holds for other jobs."},
	[BUSY] = {"gpu_busy_seconds_total", "counter",
		  "Time that at least one job had work on this GPU and was not suspended; absent "
		  "for GPUs that do not show work."},
	[ACTIVITY] = {"gpu_activity", "gauge",
		      "1 while it is read which process uses this GPU; absent for GPUs whose "
		      "driver does not report it."},
	[LOST] = {"gpu_activity_lost_total", "counter",
		  "Records of the use of this GPU that are missing."},
};

static bool has(enum figure figure, const struct gp_proto_msg_device *device)
{
	if (figure == BUSY)
		return gp_gpu_has(device->gpu_id, GP_GPU_SEES_WORK);
	return figure < ACTIVITY || device->reading != GP_READING_NONE;
}

static u64 value_of(enum figure figure, const struct gp_proto_msg_device *device)
{
	switch (figure) {
	case BREAKER:
		return device->broken;
	case STANDING:
		return device->stands_down != GP_STAND_NOT;
	case STOOD:
		return device->stood_down;
	case JOBS:
		return device->members;
	case HELD:
		return device->held;
	case BUSY:
		return device->busy_ns;
	case ACTIVITY:
		return device->reading == GP_READING_ON;
	default: /* LOST */
		return device->switches_lost;
	}
}

static void info(struct gp_daemon *daemon, struct gp_buf *out)
{
	gp_daemon_metrics_describe(out, "gpu_info", "gauge",
				   "Names and addresses of this GPU, as its driver reports them; "
				   "always 1.");
	for (u32 i = 0; i < daemon->device_count; i++) {
		const struct gp_daemon_device *device = &daemon->devices[i];

		open_series(out, "gpu_info", device);
		gp_daemon_metrics_label(out, "driver_name", device->name);
		if (device->node != GP_DAEMON_NONE)
			gp_daemon_metrics_label_number(out, "node", device->node);
		gp_daemon_metrics_value(out, 1);
	}
}

/* By class, of current and ended processes of current jobs... and of jobs that ended. */
static void activity(struct gp_daemon *daemon, struct gp_buf *out)
{
	struct gp_daemon_metrics_activity sum[GP_DAEMON_CLASSES];
	const char *const *classes = gp_daemon_metrics_classes;

	memcpy(sum, daemon->metrics.ended, sizeof(sum));
	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		struct gp_proto_msg_job view = {0};

		gp_daemon_activity_view(daemon, job, &view);
		gp_daemon_metrics_add(&sum[job->spec.class], &view);
	}
	gp_daemon_metrics_describe(
		out, "gpu_time_seconds_total", "counter",
		"Time that jobs had a GPU, by class, where the driver reports it.");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++) {
		gp_daemon_metrics_series(out, "gpu_time_seconds_total");
		gp_daemon_metrics_label(out, "class", classes[i]);
		gp_daemon_metrics_seconds(
			out, gp_daemon_metrics_never_less(&daemon->metrics.active_ns[i],
							  sum[i].active_ns));
	}
	gp_daemon_metrics_describe(
		out, "gpu_switches_total", "counter",
		"Times that jobs got a GPU, by class, where the driver reports it.");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++)
		gp_daemon_metrics_labelled(out, "gpu_switches_total", "class", classes[i],
					   sum[i].switches);
	gp_daemon_metrics_describe(
		out, "gpu_preemptions_total", "counter",
		"Times that the hardware preempted jobs that had work, by class.");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++)
		gp_daemon_metrics_labelled(out, "gpu_preemptions_total", "class", classes[i],
					   sum[i].switched_out);
	gp_daemon_metrics_describe(
		out, "gpu_preempted_seconds_total", "counter",
		"Time that preempted jobs waited to get the GPU back, by class.");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++) {
		gp_daemon_metrics_series(out, "gpu_preempted_seconds_total");
		gp_daemon_metrics_label(out, "class", classes[i]);
		gp_daemon_metrics_seconds(out, sum[i].lost_ns);
	}
}

void gp_daemon_metrics_gpus(struct gp_daemon *daemon, struct gp_buf *out)
{
	info(daemon, out);
	for (enum figure figure = 0; figure < GP_ARRAY_SIZE(figures); figure++) {
		gp_daemon_metrics_describe(out, figures[figure].name, figures[figure].type,
					   figures[figure].help);
		for (u32 i = 0; i < daemon->device_count; i++) {
			struct gp_proto_msg_device device;
			u64 value;

			gp_daemon_report_device_view(daemon, i, &device);
			if (daemon->config.mode != GP_MODE_ACT)
				device.held = 0;
			if (!has(figure, &device))
				continue;
			value = value_of(figure, &device);
			open_series(out, figures[figure].name, &daemon->devices[i]);
			if (figure == BUSY)
				gp_daemon_metrics_seconds(out, gp_daemon_metrics_never_less(
								       &daemon->metrics.busy_ns[i],
								       value));
			else
				gp_daemon_metrics_value(out, value);
		}
	}
	activity(daemon, out);
}
