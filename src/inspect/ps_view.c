// SPDX-License-Identifier: MIT
/* A snapshot of ps as a table for people and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core.h"
#include "base/i18n.h"
#include "base/units.h"
#include "inspect/ps.h"

/* The sum of one reading over a process's GPUs. */
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

/* ">=" before a sum that lacks a GPU: what is missing is not 0. */
static const char *mark(const struct sum *sum, size_t gpus)
{
	return sum->known < gpus ? ">=" : "";
}

static void bytes_cell(struct gp_table *table, const struct sum *sum, size_t gpus)
{
	if (sum->known)
		gp_table_cellf(table, "%s%s", mark(sum, gpus), gp_size_text(sum->value).text);
	else
		gp_table_missing(table);
}

static void time_cell(struct gp_table *table, const struct sum *sum, size_t gpus, u64 unit_ns)
{
	u64 ns;

	if (!sum->known || __builtin_mul_overflow(sum->value, unit_ns, &ns))
		gp_table_missing(table);
	else
		gp_table_cellf(table, "%s%s", mark(sum, gpus), gp_duration_text(ns).text);
}

static void count_cell(struct gp_table *table, const struct sum *sum, size_t gpus)
{
	if (!sum->known)
		gp_table_missing(table);
	else
		gp_table_cellf(table, "%s%" PRIu64, mark(sum, gpus), sum->value);
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

/* Nodes of the topology, "1,2", NVIDIA's "nvidia0"; a GPU that is not listed there goes by its id,
 * "#5f6c". */
static void gpus_cell(struct gp_table *table, const struct gp_inspect_ps *ps,
		      const struct gp_gpu_process *process)
{
	struct gp_buf text = {0};

	for (size_t i = 0; i < ps->gpus.count; i++) {
		if (uses(process, ps->gpus.items[i].gpu_id))
			gp_buf_printf(&text, "%s%s%u", text.len ? "," : "",
				      gp_gpu_is_nvidia(ps->gpus.items[i].gpu_id) ? "nvidia" : "",
				      ps->gpus.items[i].node);
	}
	for (size_t i = 0; i < process->usage_count; i++) {
		if (!gpu_by_id(ps, process->usages[i].gpu_id))
			gp_buf_printf(&text, "%s#%x", text.len ? "," : "",
				      process->usages[i].gpu_id);
	}
	gp_table_cell(table, gp_buf_str(&text));
	gp_buf_free(&text);
}

static void count_types(const struct gp_gpu_process *process, size_t *counts)
{
	for (size_t i = 0; i < process->queue_count; i++)
		counts[process->queues[i].type]++;
}

/* "4 compute, 2 sdma"; a process without queues has 0, which is a fact and not missing. */
static void queues_cell(struct gp_table *table, const struct gp_gpu_process *process)
{
	size_t counts[GP_QUEUE_TYPES] = {0};
	struct gp_buf text = {0};

	if (process->by_descriptors && !process->queue_count) {
		gp_table_missing(table);
		return;
	}
	count_types(process, counts);
	for (size_t i = 0; i < GP_QUEUE_TYPES; i++) {
		if (counts[i])
			gp_buf_printf(&text, "%s%zu %s", text.len ? ", " : "", counts[i],
				      gp_kfd_queue_type_name(i));
	}
	gp_table_cell(table, text.len ? gp_buf_str(&text) : "0");
	gp_buf_free(&text);
}

static void add_row(struct gp_table *table, const struct gp_inspect_ps *ps,
		    const struct gp_inspect_ps_row *row)
{
	struct sum vram = {0}, sdma = {0}, occupancy = {0}, evicted = {0};
	const struct gp_gpu_process *gpu = row->gpu;
	char label[300] = "";

	for (size_t i = 0; i < gpu->usage_count; i++) {
		const struct gp_gpu_usage *usage = &gpu->usages[i];

		add(&vram, usage, GP_USAGE_VRAM, usage->vram_bytes);
		add(&sdma, usage, GP_USAGE_SDMA, usage->sdma_us);
		add(&occupancy, usage, GP_USAGE_OCCUPANCY, usage->cu_occupancy);
		add(&evicted, usage, GP_USAGE_EVICTED, usage->evicted_ms);
	}
	if (row->contained)
		gp_container_label(&row->container, label, sizeof(label));
	gp_table_cellf(table, "%u", gpu->pid);
	gp_table_cell(table, row->process.user);
	gp_table_cell(table, label);
	gpus_cell(table, ps, gpu);
	queues_cell(table, gpu);
	bytes_cell(table, &vram, gpu->usage_count);
	time_cell(table, &sdma, gpu->usage_count, GP_NS_PER_US);
	count_cell(table, &occupancy, gpu->usage_count);
	time_cell(table, &evicted, gpu->usage_count, GP_NS_PER_MS);
	gp_table_cell(table, row->process.command);
}

struct gp_table *gp_inspect_ps_table(const struct gp_inspect_ps *ps)
{
	struct gp_table *table = gp_table_new();

	gp_table_column(table, _("PID"), GP_RIGHT);
	gp_table_column(table, _("USER"), GP_LEFT);
	gp_table_column(table, _("CONTAINER"), GP_LEFT);
	gp_table_column(table, _("GPUS"), GP_LEFT);
	gp_table_column(table, _("QUEUES"), GP_LEFT);
	gp_table_column(table, _("VRAM"), GP_RIGHT);
	gp_table_column(table, _("SDMA"), GP_RIGHT);
	gp_table_column(table, _("CUS"), GP_RIGHT);
	gp_table_column(table, _("EVICTED"), GP_RIGHT);
	gp_table_column(table, _("COMMAND"), GP_LEFT);
	for (size_t i = 0; i < ps->count; i++)
		add_row(table, ps, &ps->rows[i]);
	return table;
}

static json_t *queue_counts(const struct gp_gpu_process *process)
{
	size_t counts[GP_QUEUE_TYPES] = {0};
	json_t *json;

	if (process->by_descriptors && !process->queue_count)
		return json_null();
	json = json_object();
	count_types(process, counts);
	for (size_t i = 0; i < GP_QUEUE_TYPES; i++)
		json_object_set_new(json, gp_kfd_queue_type_name(i),
				    json_integer((json_int_t)counts[i]));
	return json;
}

static json_t *queue_list(const struct gp_gpu_process *process)
{
	json_t *json;

	if (process->by_descriptors && !process->queue_count)
		return json_null();
	json = json_array();
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

static json_t *row_json(const struct gp_inspect_ps *ps, const struct gp_inspect_ps_row *row)
{
	const struct gp_process *p = &row->process;
	const struct gp_gpu_process *gpu = row->gpu;

	return json_pack("{s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "pid",
			 (json_int_t)gpu->pid, "start_time",
			 gp_json_u64_if(p->valid & GP_PROCESS_START, p->start_time), "user",
			 gp_json_str_or_null(p->user), "uid",
			 gp_json_u64_if(p->valid & GP_PROCESS_UID, p->uid), "comm",
			 gp_json_str_or_null(p->comm), "command", gp_json_str_or_null(p->command),
			 "container",
			 row->contained ? gp_container_json(&row->container, &row->process)
					: json_null(),
			 "pasid", gp_json_u64_if(gpu->pasid_known, gpu->pasid), "queue_counts",
			 queue_counts(gpu), "queues", queue_list(gpu), "gpus", usage_list(ps, gpu));
}

json_t *gp_inspect_ps_json(const struct gp_inspect_ps *ps)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ps->count; i++)
		json_array_append_new(list, row_json(ps, &ps->rows[i]));
	return json_pack("{s:b,s:b,s:o}", "kfd", ps->driver_present, "nvidia", ps->nvidia_present,
			 "processes", list);
}
