// SPDX-License-Identifier: MIT
/* gpreempt ps: the processes that use a GPU. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/daemon/daemon_client.h"
#include "cli/view.h"
#include "cli/watch/documents.h"
#include "cli/watch/row.h"
#include "proto/swapped.h"

/* The sum of one reading over the GPUs of a process. */
struct sum {
	u64 value;
	size_t known;
};

static void add(struct sum *sum, const struct gp_gpu_usage *usage, u32 bit, u64 value)
{
	if (!(usage->valid & bit))
		return;
	if (__builtin_add_overflow(sum->value, value, &sum->value))
		sum->value = UINT64_MAX;
	sum->known++;
}

/* ">=" before a sum that lacks a GPU: a missing reading is not 0. */
static struct gp_show_value sum_value(struct gp_cli_row *row, const struct sum *sum, size_t gpus,
				      enum gp_show_unit unit, u64 factor)
{
	struct gp_show_value value;
	struct gp_buf text = {0};
	u64 scaled;

	if (!sum->known)
		return gp_v_missing();
	if (__builtin_mul_overflow(sum->value, factor, &scaled))
		scaled = UINT64_MAX;
	value = gp_v_number(unit, scaled);
	if (sum->known == gpus)
		return value;
	gp_show_value_text(&value, &text);
	value = gp_v_as(gp_v_missing(), gp_cli_text(row, ">=%s", gp_buf_str(&text)));
	gp_buf_free(&text);
	return value;
}

static const struct gp_gpu *gpu_by_id(const struct gp_inspect_ps *ps, u32 gpu_id)
{
	for (size_t i = 0; i < ps->gpus.count; i++) {
		if (ps->gpus.items[i].gpu_id == gpu_id)
			return &ps->gpus.items[i];
	}
	return NULL;
}

static bool uses(const struct gp_gpu_process *process, u32 gpu_id)
{
	for (size_t i = 0; i < process->usage_count; i++) {
		if (process->usages[i].gpu_id == gpu_id)
			return true;
	}
	return false;
}

/* Topology nodes, "1,2", or "nvidia0"; a GPU that is not listed goes by its id, "#5f6c". */
static void gpus_text(const struct gp_inspect_ps *ps, const struct gp_gpu_process *process,
		      struct gp_buf *text)
{
	for (size_t i = 0; i < ps->gpus.count; i++) {
		if (uses(process, ps->gpus.items[i].gpu_id))
			gp_buf_printf(text, "%s%s%u", text->len ? "," : "",
				      gp_gpu_is_nvidia(ps->gpus.items[i].gpu_id) ? "nvidia" : "",
				      ps->gpus.items[i].node);
	}
	for (size_t i = 0; i < process->usage_count; i++) {
		if (!gpu_by_id(ps, process->usages[i].gpu_id))
			gp_buf_printf(text, "%s#%x", text->len ? "," : "",
				      process->usages[i].gpu_id);
	}
}

/* By type; in text "4 compute, 2 sdma", and 0 without queues, which is known and not missing. */
static json_t *count_queues(const struct gp_gpu_process *process, struct gp_buf *text)
{
	size_t counts[GP_QUEUE_TYPES] = {0};
	json_t *json = json_object();

	for (size_t i = 0; i < process->queue_count; i++)
		counts[process->queues[i].type]++;
	for (size_t i = 0; i < GP_QUEUE_TYPES; i++) {
		json_object_set_new(json, gp_kfd_queue_type_name(i),
				    json_integer((json_int_t)counts[i]));
		if (counts[i])
			gp_buf_printf(text, "%s%zu %s", text->len ? ", " : "", counts[i],
				      gp_kfd_queue_type_name(i));
	}
	if (!text->len)
		gp_buf_puts(text, "0");
	return json;
}

static json_t *queue_list(const struct gp_gpu_process *process)
{
	json_t *json = json_array();

	for (size_t i = 0; i < process->queue_count; i++) {
		const struct gp_gpu_queue *queue = &process->queues[i];

		json_array_append_new(json,
				      json_pack("{s:I,s:I,s:s,s:o}", "kfd_id",
						(json_int_t)queue->id, "gpu_id",
						(json_int_t)queue->gpu_id, "type",
						gp_kfd_queue_type_name(queue->type), "ring_bytes",
						gp_json_u64_if(queue->size, queue->size)));
	}
	return json;
}

static json_t *usage_list(const struct gp_inspect_ps *ps, const struct gp_gpu_process *process)
{
	json_t *json = json_array();

	for (size_t i = 0; i < process->usage_count; i++) {
		const struct gp_gpu_usage *u = &process->usages[i];
		const struct gp_gpu *gpu = gpu_by_id(ps, u->gpu_id);

		json_array_append_new(
			json,
			json_pack("{s:I,s:o,s:o,s:o,s:o,s:o}", "gpu_id", (json_int_t)u->gpu_id,
				  "node", gp_json_u64_if(gpu, gpu ? gpu->node : 0), "vram_bytes",
				  gp_json_u64_if(u->valid & GP_USAGE_VRAM, u->vram_bytes),
				  "sdma_us", gp_json_u64_if(u->valid & GP_USAGE_SDMA, u->sdma_us),
				  "cu_occupancy",
				  gp_json_u64_if(u->valid & GP_USAGE_OCCUPANCY, u->cu_occupancy),
				  "evicted_ms",
				  gp_json_u64_if(u->valid & GP_USAGE_EVICTED, u->evicted_ms)));
	}
	return json;
}

/* The figures of all GPUs together. */
static void put_sums(struct gp_cli_row *row, const struct gp_gpu_process *gpu, u64 memory)
{
	struct sum vram = {0}, sdma = {0}, occupancy = {0}, evicted = {0};
	size_t gpus = gpu->usage_count;

	for (size_t i = 0; i < gpus; i++) {
		const struct gp_gpu_usage *usage = &gpu->usages[i];

		add(&vram, usage, GP_USAGE_VRAM, usage->vram_bytes);
		add(&sdma, usage, GP_USAGE_SDMA, usage->sdma_us);
		add(&occupancy, usage, GP_USAGE_OCCUPANCY, usage->cu_occupancy);
		add(&evicted, usage, GP_USAGE_EVICTED, usage->evicted_ms);
	}
	gp_cli_put(row, "vram_bytes", "VRAM", GP_CLI_RIGHT,
		   memory ? gp_v_bytes(memory) : sum_value(row, &vram, gpus, GP_UNIT_BYTES, 1));
	gp_cli_put(row, "sdma_ns", "SDMA", GP_CLI_RIGHT,
		   sum_value(row, &sdma, gpus, GP_UNIT_NS, 1000));
	gp_cli_put(row, "cu_occupancy", "CUS", GP_CLI_RIGHT,
		   sum_value(row, &occupancy, gpus, GP_UNIT_COUNT, 1));
	gp_cli_put(row, "evicted_ns", "EVICTED", GP_CLI_RIGHT,
		   sum_value(row, &evicted, gpus, GP_UNIT_NS, 1000000));
}

static void put_process(struct gp_cli_row *row, const struct gp_inspect_ps *ps,
			const struct gp_inspect_ps_row *item)
{
	const struct gp_process *p = &item->process;
	const struct gp_gpu_process *gpu = item->gpu;
	bool listed = !gpu->by_descriptors || gpu->queue_count;
	struct gp_buf gpus = {0}, counts = {0};
	json_t *by_type = count_queues(gpu, &counts);
	char label[300] = "";

	if (item->contained)
		gp_container_label(&item->container, label, sizeof(label));
	gpus_text(ps, gpu, &gpus);
	gp_cli_put(row, "pid", "PID", GP_CLI_RIGHT, gp_v_count(gpu->pid));
	gp_cli_put(row, "start_time", NULL, 0,
		   gp_v_if(p->valid & GP_PROCESS_START, gp_v_count(p->start_time)));
	gp_cli_put(row, "user", "USER", 0, gp_v_text_or_missing(p->user));
	gp_cli_put(row, "uid", NULL, 0, gp_v_if(p->valid & GP_PROCESS_UID, gp_v_count(p->uid)));
	gp_cli_put(row, "comm", NULL, 0, gp_v_text_or_missing(p->comm));
	gp_cli_put(row, "command", NULL, 0, gp_v_text_or_missing(p->command));
	gp_cli_put(row, "container", "CONTAINER", 0,
		   item->contained ? gp_v_as(gp_v_json(gp_container_json(&item->container, p)),
					     gp_cli_text(row, "%s", label))
				   : gp_v_missing());
	gp_cli_put(row, "pasid", NULL, 0, gp_v_if(gpu->pasid_known, gp_v_count(gpu->pasid)));
	gp_cli_put(row, NULL, "GPUS", 0, gp_v_text(gp_cli_text(row, "%s", gp_buf_str(&gpus))));
	gp_cli_put(row, "queue_counts", "QUEUES", 0,
		   listed ? gp_v_as(gp_v_json(json_incref(by_type)),
				    gp_cli_text(row, "%s", gp_buf_str(&counts)))
			  : gp_v_missing());
	gp_cli_put(row, "queues", NULL, 0, listed ? gp_v_json(queue_list(gpu)) : gp_v_missing());
	gp_cli_put(row, "gpus", NULL, 0, gp_v_json(usage_list(ps, gpu)));
	gp_cli_put(row, "held_by", ps->held_known ? "OWNER" : NULL, 0,
		   gp_v_text_or_missing(item->held_by));
	gp_cli_put(row, "busy_ns", ps->busy_known ? "BUSY" : NULL, GP_CLI_RIGHT,
		   gp_v_if(item->busy_known, gp_v_ns(item->busy_ns)));
	put_sums(row, gpu, item->memory);
	gp_cli_put(row, NULL, "COMMAND", 0, gp_v_text_or_missing(p->command));
	gp_buf_free(&gpus);
	gp_buf_free(&counts);
	json_decref(by_type);
}

struct gp_doc *gp_cli_ps_doc(const struct gp_inspect_ps *ps)
{
	static const struct gp_gpu_process no_process;
	struct gp_doc *doc = gp_doc_new_answer();
	struct gp_cli_row row = {.part = GP_CLI_BOTH};

	gp_doc_fact(doc, "kfd", NULL, gp_v_bool(ps->driver_present));
	gp_doc_fact(doc, "nvidia", NULL, gp_v_bool(ps->nvidia_present));
	gp_doc_table(doc, "processes", NULL);
	put_process(&row, ps, &(struct gp_inspect_ps_row){.gpu = &no_process});
	gp_cli_row_columns(&row, doc);
	for (size_t i = 0; i < ps->count; i++) {
		put_process(&row, ps, &ps->rows[i]);
		gp_cli_row_cells(&row, doc);
	}
	return doc;
}

/* A process whose GPU memory this user moved to host memory has no GPU open. */
static void add_swapped(struct gp_doc *doc)
{
	struct gp_proto_swapped_list list = {0};

	if (gp_proto_swapped_read(&list) || !list.count)
		return;
	gp_doc_table(doc, "swapped", NULL);
	gp_doc_column(doc, "pid", "PID");
	gp_doc_column(doc, "bytes", N_("SWAPPED OUT"));
	gp_doc_right(doc);
	for (size_t i = 0; i < list.count; i++) {
		gp_doc_cell(doc, gp_v_count(list.items[i].pid));
		gp_doc_cell(doc, gp_v_number(GP_UNIT_BYTES, list.items[i].bytes));
	}
	gp_proto_swapped_free(&list);
}

/* Of a job that is held by name, all processes are. */
static void add_held(struct gp_inspect_ps *ps, const struct gp_proto_msg_job *job)
{
	for (size_t k = 0; k < ps->count; k++) {
		struct gp_inspect_ps_row *row = &ps->rows[k];

		if (row->gpu->pid == job->pid ||
		    (job->processes > 1 &&
		     gp_cli_daemon_holds_for(row->gpu->pid, row->held_by) > 0)) {
			gp_wire_text(row->held_by, sizeof(row->held_by), job->owner,
				     sizeof(job->owner));
			ps->held_known = true;
		}
	}
}

/* gpreemptd, if it runs, knows for whom it holds a process, and for how long a process had a GPU
 * whose driver reports that. It does so by job, which is one process unless several were started as
 * one. */
static void add_daemon(struct gp_inspect_ps *ps, struct gp_diag *diag)
{
	struct gp_cli_daemon_client client = {.socket = -1};
	struct gp_proto_msg_job *jobs = NULL;
	int count = gp_cli_daemon_open(&client, NULL);

	if (count == -ETIME)
		gp_diag(diag, GP_NOTE,
			"gpreemptd (pid %u) does not answer, so the owners and times that it "
			"keeps are missing; 'gpreempt top --once' says why",
			client.pid);
	if (count)
		return;
	count = gp_cli_daemon_jobs(&client, NULL, 0, &jobs);
	for (int i = 0; i < count; i++) {
		if (jobs[i].away == GP_AWAY_OWNER && jobs[i].kept == GP_KEPT_HELD)
			add_held(ps, &jobs[i]);
		for (size_t k = 0; k < ps->count; k++) {
			if (jobs[i].processes != 1 || ps->rows[k].gpu->pid != jobs[i].pid)
				continue;
			ps->rows[k].memory = jobs[i].memory;
			if (!jobs[i].activity)
				continue;
			ps->rows[k].busy_known = ps->busy_known = true;
			ps->rows[k].busy_ns = jobs[i].active_ns;
		}
	}
	free(jobs);
	gp_cli_daemon_close(&client);
}

enum { OPTION_ROOT = 256 };

struct settings {
	const struct gp_command *command;
	struct gp_command_diag sink;
	struct gp_root root;
	struct gp_cli_view view;
};

static int set(void *ctx, int id, const char *value)
{
	struct settings *settings = ctx;

	if (gp_cli_view_has(id))
		return gp_cli_view_set(&settings->view, settings->command, id, value);
	settings->root.dir = value;
	return 0;
}

static int make(void *ctx, struct gp_doc **doc)
{
	struct settings *settings = ctx;
	bool live = gp_root_is_live(&settings->root);
	struct gp_inspect_ps ps;
	int error = gp_inspect_ps_read(&settings->root, &settings->sink.diag, &ps);

	if (error)
		return error;
	if (live)
		add_daemon(&ps, &settings->sink.diag);
	*doc = gp_cli_ps_doc(&ps);
	if (live)
		add_swapped(*doc);
	gp_inspect_ps_free(&ps);
	return 0;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct settings settings = {.command = command, .root = {.dir = ""}};
	int first, status = gp_command_parse(command, argc, argv, set, &settings, &first);

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first < argc)
		return gp_usage_error(command, "unexpected argument '%s'", argv[first]);
	gp_command_diag_init(&settings.sink, command);
	if (gp_cli_view_check(&settings.view, command) ||
	    gp_command_check_root(command, &settings.root))
		return GP_EXIT_USAGE;
	return gp_cli_view_run(&settings.view, &settings.sink, make, &settings) ? GP_EXIT_FAILED
										: GP_EXIT_OK;
}

static const struct gp_option options[] = {
	GP_VIEW_OPTIONS(N_("print JSON, with the figures of each GPU")),
	{OPTION_ROOT, "root", GP_REQUIRED_ARGUMENT, "DIR", GP_COMPLETE_DIRECTORY,
	 N_("read DIR/sys and DIR/proc instead of the live system")},
	{0},
};

const struct gp_command gp_cli_ps = {
	.name = "ps",
	.arguments = "",
	.completion = GP_COMPLETE_NONE,
	.summary = N_("List the processes that use a GPU, with their queues and containers"),
	.description = N_("Prints one line per process that uses a GPU:\n"
			  "  GPUS     KFD topology nodes, or nvidiaN for NVIDIA GPUs\n"
			  "  QUEUES   number of queues by type\n"
			  "  OWNER    program for which gpreemptd holds it, such as slurm\n"
			  "  BUSY     time that it had the GPU (NVIDIA; needs gpreemptd)\n"
			  "  SDMA     time spent in copy engines\n"
			  "  CUS      compute units that hold waves of the process now\n"
			  "  EVICTED  time the driver kept the process off the GPU\n"
			  "Figures are sums over all GPUs; '-' means unknown."),
	.options = options,
	.examples = "  gpreempt ps\n"
		    "  # pids of all processes with compute queues\n"
		    "  gpreempt ps --json | jq '.processes[] | select(.queue_counts.compute > 0) "
		    "| .pid'\n"
		    "  # a reading every 10 s for a spreadsheet\n"
		    "  gpreempt ps --watch 10s --format csv > ps.csv\n",
	.run = run,
};
