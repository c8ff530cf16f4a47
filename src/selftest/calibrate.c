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
 * takes until four more are close to it (least.h), and a part that two measurements share cancels
 * out. Their distance is the doubt of a time, and costs add up the doubts of the times
 * that they follow from. Where a doubt is more than a tenth of a cost, all is measured again, and
 * the times of both passes count; if it stays so, the cost is not measured.
 *
 *   save      what unmap takes longer with waves on every compute unit, few and many of them, whose
 *             registers and LDS are known (crowd.c): a fixed part and a rate. Waves get a grace
 *             period before they are saved: the shortest one (1024 clocks) is asked for, and its
 *             time, as a longer one shows it, is left out
 *   restore   the same for map; the end that is waited for is that of the waves' own kernel
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/units.h"
#include "selftest/calibrate.h"
#include "selftest/frame.h"

enum { FEW = 1, MANY = 16, WAVE_QUEUES = 2, PASSES = 4 };

/* Grace periods: the shortest, and one that shows how long it takes. */
enum { GRACE = 1, LONG_GRACE = 33 };

/* Per packet: those that do not wait for the one before, and those that do. */
struct packets {
	struct gp_selftest_figure pipelined, serial;
};

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
						   .grace = out->grace ? out->grace : GRACE};
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
		gp_progress_step(check->progress, check->step);
		error = one(check, out);
		settled = gp_selftest_least_settled(&out->unmap) &&
			  gp_selftest_least_settled(&out->map);
	}
	return error;
}

/* `step` is what the user sees meanwhile. */
static int open_all(struct gp_selftest_check *check, u32 queues, const char *step)
{
	struct gpreempt_target_options options = {.size = sizeof(options),
						  .mechanism = GPREEMPT_KFD_DEBUG};
	int error = gpreempt_open(&check->context);

	check->step = step;
	gp_progress_step(check->progress, step);
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

/* Keeps the figure of the pass with the smaller doubt. */
static int measure_packet(struct gp_selftest_check *check, enum gp_selftest_command command,
			  struct gp_selftest_figure *out)
{
	long ns = gp_selftest_ask(check, &check->program, command);
	long doubt = ns < 0 ? ns : gp_selftest_ask(check, &check->program, GP_SELFTEST_DOUBT);

	if (doubt < 0)
		return (int)doubt;
	if (ns > 0 && (!out->ns || (u64)doubt < out->doubt))
		*out = (struct gp_selftest_figure){.ns = (u64)ns, .doubt = (u64)doubt};
	return 0;
}

static int measure_packets(struct gp_selftest_check *check, struct packets *packets)
{
	int error = measure_packet(check, GP_SELFTEST_PACKET, &packets->pipelined);

	return error ? error : measure_packet(check, GP_SELFTEST_PACKET_SERIAL, &packets->serial);
}

/* Once is enough: it has no doubt. Last, because the new queues stay until the program ends. */
static int measure_creation(struct gp_selftest_check *check, struct gp_selftest_costs *costs)
{
	long ns = gp_selftest_ask(check, &check->program, GP_SELFTEST_CREATE);

	costs->create_ns = ns > 0 ? (u64)ns : 0;
	return ns < 0 ? (int)ns : 0;
}

static int measure(struct gp_selftest_check *check, u32 queues, struct gp_selftest_shortest *out,
		   struct packets *packets, struct gp_selftest_costs *costs)
{
	int error = open_all(check, queues,
			     queues == FEW ? _("calibrating: packets, and a single queue")
					   : _("calibrating: 16 queues"));

	if (!error && queues == FEW)
		error = measure_packets(check, packets);
	if (!error) {
		int count = gpreempt_target_queues(check->target, NULL, 0);

		error = count < 0 ? gp_selftest_fail_call(check, "gpreempt_target_queues", count)
				  : 0;
		out->queues = GP_MAX((u64)queues, (u64)count);
	}
	if (!error)
		error = cycles(check, out, cycle);
	if (!error && queues == FEW && !costs->create_ns)
		error = measure_creation(check, costs);
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
			 struct gp_selftest_shortest *idle, struct gp_selftest_shortest *out,
			 struct gp_selftest_shortest *graceful)
{
	int error = open_all(check, WAVE_QUEUES,
			     crowd == GP_SELFTEST_CROWD_FEW
				     ? _("calibrating: few waves on every compute unit")
				     : _("calibrating: many waves on every compute unit"));

	out->crowd = crowd;
	error = error ? error : cycles(check, idle, cycle);
	error = error ? error : cycles(check, out, crowded_cycle);
	if (!error && graceful) {
		graceful->crowd = crowd;
		graceful->grace = LONG_GRACE;
		error = cycles(check, graceful, crowded_cycle);
	}
	gpreempt_target_close(check->target);
	check->target = NULL;
	gp_selftest_program_end(&check->program);
	gpreempt_close(check->context);
	check->context = NULL;
	return error;
}

/* The time without a part of it, whose doubt is added. */
static void leave_out(struct gp_selftest_least *least, const struct gp_selftest_figure *part)
{
	u64 doubt = gp_selftest_least_doubt(least) + part->doubt;

	least->ns -= GP_MIN(part->ns, least->ns);
	least->next[GP_SELFTEST_NEXT - 1] = least->ns + doubt;
}

/* The times of waves alone: of one XCC, and without the grace period. */
static struct gp_selftest_shortest waves_alone(const struct gp_selftest_shortest *crowd, u32 xccs,
					       const struct gp_selftest_figure *grace)
{
	struct gp_selftest_shortest waves = *crowd;

	waves.bytes /= xccs;
	leave_out(&waves.unmap, grace);
	return waves;
}

/* Without a kernel for this GPU the costs of waves stay unknown, which is not an error. */
static void measure_waves(struct gp_selftest_check *check, u32 xccs, const struct packets *packets,
			  struct gp_selftest_costs *costs)
{
	struct gp_selftest_shortest idle = {0}, few = {0}, many = {0}, graceful = {0};
	bool known = false;

	for (int pass = 0; pass < PASSES && !known; pass++) {
		struct gp_selftest_shortest none, some, full;
		struct gp_selftest_figure grace;

		if (measure_crowd(check, GP_SELFTEST_CROWD_FEW, &idle, &few, &graceful) ||
		    measure_crowd(check, GP_SELFTEST_CROWD_MANY, &idle, &many, NULL))
			return;
		grace = gp_selftest_costs_grace(&few, &graceful, LONG_GRACE - GRACE);
		none = idle;
		/* The kernel's own end needs no dispatch. One that was not seen cannot be left out.
		 */
		if (check->report->executes && packets->pipelined.ns)
			leave_out(&none.map, &packets->pipelined);
		else if (check->report->executes)
			none.map.ns = 0;
		some = waves_alone(&few, xccs, &grace);
		full = waves_alone(&many, xccs, &grace);
		known = gp_selftest_costs_take_waves(costs, &none, &some, &full);
	}
}

int gp_selftest_calibrate(struct gp_selftest_place *place, struct gp_selftest_report *report,
			  u32 xccs, struct gp_progress *progress, struct gp_selftest_costs *costs,
			  char *reason, size_t size)
{
	struct gp_selftest_result result = {.name = "kfd-debug", .mechanism = GPREEMPT_KFD_DEBUG};
	struct gp_selftest_figures figures = {0};
	struct gp_selftest_check check = {.place = place,
					  .report = report,
					  .result = &result,
					  .figures = &figures,
					  .progress = progress,
					  .program = {.to = -1, .from = -1}};
	struct gp_selftest_shortest few = {0}, many = {0};
	struct packets packets = {0};
	bool known = false;
	int error = 0;

	*costs = (struct gp_selftest_costs){0};
	for (int pass = 0; pass < PASSES && !error && !known; pass++) {
		error = measure(&check, FEW, &few, &packets, costs);
		error = error ? error : measure(&check, MANY, &many, &packets, costs);
		known = gp_selftest_costs_take_packets(costs, &packets.pipelined, &packets.serial);
		known = gp_selftest_costs_take(costs, &packets.serial, &few, &many) && known;
	}
	if (error) {
		snprintf(reason, size, "%s", result.reason);
		return error;
	}
	measure_waves(&check, xccs, &packets, costs);
	return 0;
}

/* ---- what is said ---- */

/* Per XCC; 0: not measured. */
static u64 mib_ns(u64 bytes_per_us)
{
	return bytes_per_us ? (1000ull << 20) / bytes_per_us : 0;
}

void gp_selftest_costs_print(const struct gp_selftest_costs *costs, FILE *out)
{
	const struct {
		const char *name;
		u64 ns;
	} rows[] = {{N_("unmap everything"), costs->unmap_ns},
		    {N_("unmap, per queue"), costs->unmap_queue_ns},
		    {N_("map everything"), costs->map_ns},
		    {N_("map, per queue"), costs->map_queue_ns},
		    {N_("dispatch a packet"), costs->dispatch_ns},
		    {N_("complete a packet"), costs->complete_ns},
		    {N_("create a queue"), costs->create_ns},
		    {N_("save waves"), costs->save_ns},
		    {N_("save 1 MiB of them"), mib_ns(costs->save_bytes_per_us)},
		    {N_("restore waves"), costs->restore_ns},
		    {N_("restore 1 MiB"), mib_ns(costs->restore_bytes_per_us)}};

	for (size_t i = 0; i < GP_ARRAY_SIZE(rows); i++)
		fprintf(out, "%-20s %s\n", gettext(rows[i].name),
			rows[i].ns ? gp_duration_text(rows[i].ns).text : _("not measured"));
}

/* ---- the file ---- */

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
				  const struct gp_selftest_costs *costs, json_t *file,
				  const char *path, bool named, struct gp_diag *diag)
{
	char *text;
	int error;

	set_costs(json_object_get(file, "cost"), report, costs);
	text = json_dumps(file, JSON_INDENT(2));
	error = !text   ? -ENOMEM
		: named ? gp_file_write_atomic(path, text, strlen(text))
			: gp_file_replace(path, text, strlen(text));
	free(text);
	return error ? gp_fail(diag, error, "cannot write %s: %s", path, strerror(-error)) : 0;
}
