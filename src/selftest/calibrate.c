// SPDX-License-Identifier: MIT
/*
 * --calibrate: the costs of the GPU and its driver, one at a time, with nothing else on the GPU.
 *
 *   unmap     time in the driver's call that suspends queues without work
 *   map       from issuing the driver's call that resumes them to the end of a packet that waits in
 *             the first queue, less dispatch and complete; the program polls for that end and takes
 *             the time itself, so neither the holder's answer nor the way to us is part of it
 *   dispatch  time per packet that does not wait for the one before it
 *   complete  what a packet that does wait takes beyond that
 *
 * unmap and map are measured with 1 and 16 queues; the difference is the cost per queue. The host,
 * its scheduler and the system call can only lengthen a time: the shortest counts, of as many as it
 * takes until two more are close to it (least.h), and a part that two measurements share cancels
 * out.
 *
 *   save      what unmap takes longer with waves on every compute unit, few and many of them, whose
 *             registers and LDS are known (crowd.c): a fixed part and a rate. The driver's own
 * grace period would be part of it, so the shortest one is asked for (1024 clocks) restore   the
 * same for map; the end that is waited for is that of the waves' own kernel
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/host/program.h"
#include "base/i18n.h"
#include "selftest/calibrate.h"
#include "selftest/frame.h"

enum { FEW = 1, MANY = 16, WAVE_QUEUES = 2, SHORTEST_GRACE = 1 };

/* The call is named in the reason, so that a time that is not known is never taken for 0. */
static int read_latency(struct gp_selftest_check *check, struct gpreempt_latency *latency)
{
	int error;

	*latency = (struct gpreempt_latency){.size = sizeof(*latency)};
	error = gpreempt_target_latency(check->target, latency);
	return error ? gp_selftest_fail_call(check, "gpreempt_target_latency", error) : 0;
}

static int cycle(struct gp_selftest_check *check, struct gp_selftest_shortest *out)
{
	struct gpreempt_suspend_options options = {.size = sizeof(options),
						   .lease_ms = GP_SELFTEST_LIMIT_MS,
						   .limit_ms = GP_SELFTEST_LIMIT_MS,
						   .grace = SHORTEST_GRACE};
	struct gpreempt_latency latency;
	int count = gpreempt_target_suspend(check->target, &options), error;
	u64 begin;
	long at;

	if (count < 0)
		return gp_selftest_fail_call(check, "gpreempt_target_suspend", count);
	error = read_latency(check, &latency);
	if (error)
		return error;
	gp_selftest_least_take(&out->unmap, latency.driver_ns);
	/* It answers, then polls for the end of the packet. */
	at = gp_selftest_ask(check, &check->program, GP_SELFTEST_SUBMIT);
	if (at < 0)
		return (int)at;
	begin = gp_monotonic_ns();
	count = gpreempt_target_resume(check->target);
	if (count < 0)
		return gp_selftest_fail_call(check, "gpreempt_target_resume", count);
	error = read_latency(check, &latency);
	if (error)
		return error;
	at = gp_selftest_ask(check, &check->program, GP_SELFTEST_DONE_AT);
	if (at < 0)
		return (int)at;
	begin += latency.issue_ns;
	if (latency.issue_ns && (u64)at > begin)
		gp_selftest_least_take(&out->map, (u64)at - begin);
	return gp_selftest_check_signal(check);
}

/* Until the shortest of both times are known. */
static int cycles(struct gp_selftest_check *check, struct gp_selftest_shortest *out,
		  int (*one)(struct gp_selftest_check *check, struct gp_selftest_shortest *out))
{
	u64 begin = gp_monotonic_ns();
	bool settled = false;
	int error = 0;

	for (int i = 0; !error && !gp_selftest_rounds_enough(i, gp_monotonic_ns() - begin, settled);
	     i++) {
		error = one(check, out);
		settled = gp_selftest_least_settled(&out->unmap) &&
			  gp_selftest_least_settled(&out->map);
	}
	return error;
}

static int open_all(struct gp_selftest_check *check, u32 queues)
{
	struct gpreempt_target_options options = {.size = sizeof(options),
						  .mechanism = GPREEMPT_KFD_DEBUG};
	int error = gpreempt_open(&check->context);

	check->figures->queues = queues;
	if (error)
		return gp_selftest_fail_call(check, "gpreempt_open", error);
	/* Under the agent, so that runtimes too old for it allow a debugger. */
	error = gp_selftest_program_start(&check->program, check->place, check->report, true,
					  queues);
	if (error)
		return gp_selftest_fail(check, error, "%s", check->program.error);
	error = gpreempt_target_open(check->context, check->program.pid, &options, &check->target);
	return error ? gp_selftest_fail_call(check, "gpreempt_target_open", error) : 0;
}

static int measure(struct gp_selftest_check *check, u32 queues, struct gp_selftest_shortest *out,
		   struct gp_selftest_costs *costs)
{
	long serial = 0, pipelined = 0, create = 0;
	int error = open_all(check, queues);

	*out = (struct gp_selftest_shortest){.queues = queues};
	if (!error && queues == FEW) {
		pipelined = gp_selftest_ask(check, &check->program, GP_SELFTEST_PACKET);
		serial = pipelined < 0 ? pipelined
				       : gp_selftest_ask(check, &check->program,
							 GP_SELFTEST_PACKET_SERIAL);
		create = serial < 0 ? serial
				    : gp_selftest_ask(check, &check->program, GP_SELFTEST_CREATE);
		error = create < 0 ? (int)create : 0;
		costs->dispatch_ns = (u64)pipelined;
		costs->complete_ns = (u64)(serial > pipelined ? serial - pipelined : 0);
		costs->create_ns = (u64)create;
	}
	if (!error) {
		int count = gpreempt_target_queues(check->target, NULL, 0);

		error = count < 0 ? gp_selftest_fail_call(check, "gpreempt_target_queues", count)
				  : 0;
		out->queues = GP_MAX((u64)queues, (u64)count);
	}
	if (!error)
		error = cycles(check, out, cycle);
	gpreempt_target_close(check->target);
	check->target = NULL;
	gp_selftest_program_end(&check->program);
	gpreempt_close(check->context);
	check->context = NULL;
	return error;
}

/* ---- waves ---- */

/* A crowd that ended before it was suspended has saved nothing: -ENODATA. */
static int crowded_cycle(struct gp_selftest_check *check, struct gp_selftest_shortest *out)
{
	long groups = gp_selftest_ask(check, &check->program, out->crowd), bytes, runs;

	if (groups <= 0)
		return -ENODATA;
	bytes = gp_selftest_ask(check, &check->program, GP_SELFTEST_GROUP_BYTES);
	runs = gp_selftest_ask(check, &check->program, GP_SELFTEST_CROWD_RUNS);
	if (bytes <= 0 || runs != 1)
		return -ENODATA;
	out->bytes = (u64)groups * (u64)bytes;
	return cycle(check, out) ? -EIO : 0;
}

static int measure_crowd(struct gp_selftest_check *check, enum gp_selftest_command crowd,
			 struct gp_selftest_shortest *idle, struct gp_selftest_shortest *out)
{
	int error = open_all(check, WAVE_QUEUES);

	*out = (struct gp_selftest_shortest){.crowd = crowd};
	error = error ? error : cycles(check, idle, cycle);
	error = error ? error : cycles(check, out, crowded_cycle);
	gpreempt_target_close(check->target);
	check->target = NULL;
	gp_selftest_program_end(&check->program);
	gpreempt_close(check->context);
	check->context = NULL;
	return error;
}

/* Without a kernel for this GPU the costs of waves stay unknown, which is not an error. */
static void measure_waves(struct gp_selftest_check *check, u32 xccs,
			  struct gp_selftest_costs *costs)
{
	struct gp_selftest_shortest idle = {0}, few, many;

	if (measure_crowd(check, GP_SELFTEST_CROWD_FEW, &idle, &few) ||
	    measure_crowd(check, GP_SELFTEST_CROWD_MANY, &idle, &many))
		return;
	/* The kernel's own end needs no dispatch. */
	if (check->report->executes)
		idle.map.ns -= GP_MIN(costs->dispatch_ns, idle.map.ns);
	few.bytes /= xccs;
	many.bytes /= xccs;
	gp_selftest_costs_take_waves(costs, &idle, &few, &many);
}

int gp_selftest_calibrate(struct gp_selftest_place *place, struct gp_selftest_report *report,
			  u32 xccs, struct gp_selftest_costs *costs, char *reason, size_t size)
{
	struct gp_selftest_result result = {.name = "kfd-debug", .mechanism = GPREEMPT_KFD_DEBUG};
	struct gp_selftest_figures figures = {0};
	struct gp_selftest_check check = {.place = place,
					  .report = report,
					  .result = &result,
					  .figures = &figures,
					  .program = {.to = -1, .from = -1}};
	struct gp_selftest_shortest few, many;
	int error;

	*costs = (struct gp_selftest_costs){0};
	error = measure(&check, FEW, &few, costs);
	error = error ? error : measure(&check, MANY, &many, costs);
	if (error) {
		snprintf(reason, size, "%s", result.reason);
		return error;
	}
	gp_selftest_costs_take(costs, &few, &many);
	measure_waves(&check, xccs, costs);
	return 0;
}

/* ---- the file ---- */

static json_t *base_file(const struct gp_gpu *gpu, const char *named, struct gp_diag *diag)
{
	const char *name =
		(gpu->valid & GP_GPU_GFX) && gpu->gfx_version == 90010 ? "mi210" : "mi308x";
	char installed[64], built[64], path[PATH_MAX];
	json_error_t why = {0};
	json_t *file = NULL;

	snprintf(installed, sizeof(installed), "share/gpreempt/gpus/%s.json", name);
	snprintf(built, sizeof(built), "data/gpus/%s.json", name);
	if (named)
		snprintf(path, sizeof(path), "%s", named);
	else if (gp_program_beside(installed, built, path, sizeof(path)))
		snprintf(path, sizeof(path), "%s", installed);
	file = json_load_file(path, 0, &why);
	if (!json_is_object(json_object_get(file, "cost"))) {
		gp_fail(diag, -ENOENT, "cannot read the GPU file %s: %s", path,
			file ? "cost" : why.text);
		json_decref(file);
		return NULL;
	}
	return file;
}

int gp_selftest_calibration_xccs(const struct gp_selftest_report *report, const char *base,
				 struct gp_diag *diag)
{
	json_t *file = base_file(report->gpu, base, diag);
	const json_t *count = json_object_get(json_object_get(file, "chip"), "xcc_count");
	json_int_t xccs = json_integer_value(json_object_get(count, "value"));

	if (!file)
		return -ENOENT;
	json_decref(file);
	return xccs > 0 && xccs <= 64 ? (int)xccs : 1;
}

static void set_costs(json_t *cost, const struct gp_selftest_report *report,
		      const struct gp_selftest_costs *costs)
{
	static const char call[] = "includes the host's part of the driver call";
	static const char end[] = "from issuing the driver call to the end of a packet as the "
				  "program's polling sees it, less dispatch_ns and complete_ns; "
				  "includes the driver call";
	static const char waves[] = "difference between many, few and no waves on every compute "
				    "unit; bytes are those of their registers and LDS";
	static const char packets[] = "a batch of packets, timed by the program";
	const struct {
		const char *key;
		u64 value;
		const char *what;
	} found[] = {
		{"unmap_ns", costs->unmap_ns, call},
		{"unmap_queue_ns", costs->unmap_queue_ns, "difference between 16 queues and 1"},
		{"map_ns", costs->map_ns, end},
		{"map_queue_ns", costs->map_queue_ns, "difference between 16 queues and 1"},
		{"dispatch_ns", costs->dispatch_ns, packets},
		{"complete_ns", costs->complete_ns, packets},
		{"save_ns", costs->save_ns, waves},
		{"save_bytes_per_us", costs->save_bytes_per_us, waves},
		{"restore_ns", costs->restore_ns, waves},
		{"restore_bytes_per_us", costs->restore_bytes_per_us, waves},
	};

	for (size_t i = 0; i < GP_ARRAY_SIZE(found); i++) {
		char source[384];

		snprintf(source, sizeof(source),
			 "gpreempt selftest --calibrate (%s), %s; the shortest of %d measurements "
			 "or "
			 "more; %s",
			 GP_VERSION, report->virtual_gpu ? "on a virtual GPU" : report->gpu->name,
			 GP_SELFTEST_ROUNDS, found[i].what);
		if (found[i].value)
			json_object_set_new(cost, found[i].key,
					    json_pack("{s:I, s:s, s:s}", "value",
						      (json_int_t)found[i].value, "kind",
						      "measured", "source", source));
	}
}

int gp_selftest_calibration_write(const struct gp_selftest_report *report,
				  const struct gp_selftest_costs *costs, const char *base,
				  const char *path, bool named, struct gp_diag *diag)
{
	json_t *file = base_file(report->gpu, base, diag);
	char *text;
	int error;

	if (!file)
		return -ENOENT;
	set_costs(json_object_get(file, "cost"), report, costs);
	text = json_dumps(file, JSON_INDENT(2));
	error = !text   ? -ENOMEM
		: named ? gp_file_write_atomic(path, text, strlen(text))
			: gp_file_replace(path, text, strlen(text));
	free(text);
	json_decref(file);
	return error ? gp_fail(diag, error, "cannot write %s: %s", path, strerror(-error)) : 0;
}
