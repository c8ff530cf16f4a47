// SPDX-License-Identifier: MIT
/* The document of `gpreempt top`: its GPUs, its jobs (top_columns.c), and what is missing. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/core.h"
#include "cli/watch/top_view.h"
#include "show/reason.h"

/* Place in the table. */
#define AT(place)       GP_CLI_AT(place)
#define RIGHT_AT(place) (GP_CLI_AT(place) | GP_CLI_RIGHT)

/* ---- GPUs ---- */

const char *gp_cli_top_policy(const struct gp_cli_top_data *top,
			      const struct gp_proto_msg_device *device)
{
	if (top->from_driver)
		return top->driver.policy;
	return device->broken                             ? _("disabled")
	       : device->stands_down                      ? _("paused")
	       : device->can_suspend || device->can_share ? gp_sched_policy_name(device->policy)
							  : _("none");
}

const char *gp_cli_top_common_policy(const struct gp_cli_top_data *top)
{
	const char *policy = top->device_count && !top->from_driver
				     ? gp_cli_top_policy(top, &top->devices[0])
				     : NULL;

	for (size_t i = 0; i < top->device_count; i++)
		if (top->devices[i].broken || top->devices[i].stands_down || !policy ||
		    strcmp(policy, gp_cli_top_policy(top, &top->devices[i])) != 0)
			return NULL;
	return policy;
}

bool gp_cli_top_knows_latency(const struct gp_cli_top_data *top)
{
	for (size_t i = 0; i < top->job_count; i++)
		if (top->jobs[i].latency_count)
			return true;
	return top->from_driver || !top->job_count;
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
			    "GPU 0x%x: %llu records of its use are missing; times are too small.",
			    device->gpu_id, (unsigned long long)device->switches_lost);
	if (device->reading != GP_READING_FAILED)
		return;
	switch (-device->reading_error) {
	case EPERM:
		gp_doc_line(doc,
			    "GPU 0x%x: RAN, BUSY and GPU are missing: the driver reports which "
			    "process uses a GPU only to root (start gpreemptd as root).",
			    device->gpu_id);
		break;
	case EREMOTE:
		gp_doc_line(
			doc,
			"GPU 0x%x: RAN, BUSY and GPU are missing: gpreemptd runs in a container "
			"with its own process ids (start it on the host, or with the pid "
			"namespace of the host).",
			device->gpu_id);
		break;
	default:
		gp_doc_line(
			doc,
			"GPU 0x%x: RAN, BUSY and GPU are missing: gpreemptd cannot determine which "
			"process uses the GPU (%s).",
			device->gpu_id, strerror(-device->reading_error));
	}
}

/* What the driver measures. */
static void put_sensors(struct gp_cli_row *row, const struct gp_cli_top_data *top, int index)
{
	static const struct gp_inspect_sensors none;
	const struct gp_inspect_sensors *sensors = index >= 0 ? &top->sensors[index] : &none;

	gp_cli_put(row, "vram_used_bytes", "VRAM USED", RIGHT_AT(11) | GP_CLI_OPTIONAL,
		   gp_v_if(sensors->valid & GP_SENSOR_VRAM_USED, gp_v_bytes(sensors->vram_used)));
	gp_cli_put(row, "vram_bytes", "VRAM", RIGHT_AT(12) | GP_CLI_OPTIONAL,
		   gp_v_if(sensors->valid & GP_SENSOR_VRAM_TOTAL, gp_v_bytes(sensors->vram_total)));
	gp_cli_put(row, "power_uw", "POWER", RIGHT_AT(13) | GP_CLI_OPTIONAL,
		   gp_v_if(sensors->valid & GP_SENSOR_POWER,
			   gp_v_as(gp_v_count(sensors->power_uw),
				   gp_cli_text(row, "%llu W",
					       (unsigned long long)sensors->power_uw / 1000000))));
	gp_cli_put(row, "temperature_mc", "TEMP", RIGHT_AT(14) | GP_CLI_OPTIONAL,
		   gp_v_if(sensors->valid & GP_SENSOR_TEMPERATURE,
			   gp_v_as(gp_v_count(sensors->temperature_mc),
				   gp_cli_text(row, "%llu C",
					       (unsigned long long)sensors->temperature_mc /
						       1000))));
	gp_cli_put(row, "clock_hz", "CLOCK", RIGHT_AT(15) | GP_CLI_OPTIONAL,
		   gp_v_if(sensors->valid & GP_SENSOR_CLOCK,
			   gp_v_as(gp_v_count(sensors->clock_hz),
				   gp_cli_text(row, "%llu MHz",
					       (unsigned long long)sensors->clock_hz / 1000000))));
}

static void put_device(struct gp_cli_row *row, const struct gp_cli_top_data *top,
		       const struct gp_proto_msg_device *device)
{
	bool sees = gp_cli_top_sees_work(device->gpu_id), daemon = !top->from_driver;
	const char *held = top->status.mode ? C_("jobs", "HELD") : C_("jobs", "WOULD BE HELD");
	const char *policy = daemon ? gp_sched_policy_name(device->policy) : top->driver.policy;
	const struct gp_gpu *gpu = gp_cli_top_gpu(top, device->gpu_id);
	int index = gp_cli_top_gpu_index(top, device->gpu_id);
	char address[32] = "", name[GP_PROTO_NAME + 64];

	if (gpu)
		gp_inspect_pci_address(gpu, address, sizeof(address));
	gp_cli_top_gpu_name(top, device, name, sizeof(name));

	gp_cli_put(row, "index", daemon ? "GPU" : NULL, AT(1),
		   gp_v_if(index >= 0, gp_v_count((u64)GP_MAX(index, 0))));
	gp_cli_put(row, "gpu_id", daemon ? "ID" : "GPU", AT(2),
		   gp_v_as(gp_v_count(device->gpu_id), gp_cli_text(row, "0x%x", device->gpu_id)));
	gp_cli_put(row, "pci", "PCI", AT(3) | GP_CLI_OPTIONAL,
		   gp_v_text_or_missing(gp_cli_text(row, "%s", address)));
	gp_cli_put(row, "jobs", "JOBS", AT(5), gp_v_count(device->members));
	gp_cli_put(row, "running", "RUNNING", AT(6) | GP_CLI_OPTIONAL,
		   gp_v_if(sees, gp_v_count(device->running)));
	gp_cli_put(row, "held", held, AT(7), gp_v_count(device->held));
	gp_cli_put(row, "busy_ns", "BUSY", RIGHT_AT(8) | GP_CLI_OPTIONAL,
		   gp_v_if(daemon && (sees || device->reading == GP_READING_ON),
			   gp_v_ns(sees ? device->busy_ns : device->active_ns)));
	gp_cli_put(row, "activity", NULL, 0, activity_value(device));
	gp_cli_put(row, "switches_lost", NULL, 0,
		   gp_v_if(device->reading == GP_READING_ON, gp_v_count(device->switches_lost)));
	gp_cli_put(row, "policy", "POLICY", AT(4),
		   gp_v_as(gp_v_text(policy), gp_cli_top_policy(top, device)));
	gp_cli_put(row, "can_suspend", NULL, 0, gp_v_if(daemon, gp_v_bool(device->can_suspend)));
	gp_cli_put(row, "broken", NULL, 0, gp_v_if(daemon, gp_v_bool(device->broken)));
	gp_cli_put(row, "stands_down", NULL, 0,
		   gp_v_if(daemon, gp_v_bool(device->stands_down != GP_STAND_NOT)));
	gp_cli_put(row, "stood_down", NULL, 0, gp_v_if(daemon, gp_v_count(device->stood_down)));
	gp_cli_put(row, NULL, "SUSPEND TIME", RIGHT_AT(9) | GP_CLI_OPTIONAL,
		   gp_v_if(daemon, gp_v_ns(device->suspend_ns)));
	gp_cli_put(row, NULL, "RESUME TIME", RIGHT_AT(10) | GP_CLI_OPTIONAL,
		   gp_v_if(daemon, gp_v_ns(device->resume_ns)));
	put_sensors(row, top, index);
	gp_cli_put(row, NULL, "NAME", AT(16) | GP_CLI_OPTIONAL,
		   gp_v_text_or_missing(gp_cli_text(row, "%s", name)));
}

/* ---- the document ---- */

static void add_jobs(struct gp_doc *doc, const struct gp_cli_top_data *top, enum gp_cli_part part)
{
	struct gp_cli_row row = {.part = part};

	gp_doc_table(doc, part == GP_CLI_JSON ? "jobs" : NULL, NULL);
	if (part == GP_CLI_JSON)
		gp_doc_main(doc);
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
	if (!gp_cli_top_knows_latency(top))
		gp_doc_line(doc, "No latency (P50, P99) yet: no job announced a request, and no "
				 "burst of work was seen.");
	add_devices(doc, top, GP_CLI_JSON);
	add_devices(doc, top, GP_CLI_TEXT);
	add_jobs(doc, top, GP_CLI_JSON);
	add_jobs(doc, top, GP_CLI_TEXT);
	if (top->from_driver)
		gp_cli_top_put_queues(doc, top);
	return doc;
}
