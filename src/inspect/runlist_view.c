// SPDX-License-Identifier: MIT
/* The runlist as rows of a grid, as a sentence per GPU, as raw rows and as JSON. */
#include "inspect/runlist.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "abi/pm4.h"
#include "base/i18n.h"

static const char *type_word(u32 type)
{
	switch (type) {
	case GP_PM4_QUEUE_NORMAL:
		return "normal";
	case GP_PM4_QUEUE_DEBUG:
		return "debug";
	case GP_PM4_QUEUE_STATIC:
		return "static";
	}
	return "other";
}

/* ---- grid ---- */

static void cellf(struct gp_inspect_grid *grid, bool known, const char *format, u64 value)
{
	char text[GP_GRID_TEXT] = "";

	if (known)
		snprintf(text, sizeof(text), format, value);
	gp_inspect_grid_cell(grid, GP_PLAIN, text);
}

static void add_row(struct gp_inspect_grid *grid, const struct gp_kfd_runlist_entry *process,
		    const struct gp_kfd_runlist_entry *queue)
{
	char text[GP_GRID_TEXT];
	bool few = process->mapped_count < process->queue_count;

	snprintf(text, sizeof(text), "%x/%x/%" PRIx64, process->gpu_id, process->pasid,
		 queue ? queue->mqd_address : 0);
	gp_inspect_grid_row(grid, text);
	cellf(grid, true, "%" PRIx64, process->gpu_id);
	cellf(grid, process->pid, "%" PRIu64, process->pid);
	cellf(grid, true, "0x%" PRIx64, process->pasid);
	cellf(grid, true, "%" PRIu64, process->quantum);
	snprintf(text, sizeof(text), "%u/%u", process->mapped_count, process->queue_count);
	gp_inspect_grid_cell(grid, few ? GP_YELLOW : GP_PLAIN, text);
	text[0] = '\0';
	if (queue)
		gp_inspect_runlist_engine(queue, text, sizeof(text));
	gp_inspect_grid_cell(grid, GP_PLAIN, text);
	cellf(grid, queue, "0x%" PRIx64, queue ? queue->doorbell : 0);
	cellf(grid, queue, "0x%" PRIx64, queue ? queue->mqd_address : 0);
	cellf(grid, queue, "0x%" PRIx64, queue ? queue->wptr_address : 0);
	cellf(grid, queue && queue->ring, "0x%" PRIx64, queue ? queue->ring : 0);
}

int gp_inspect_runlist_grid(const struct gp_inspect_runlists *runlists, struct gp_inspect_grid *out)
{
	const struct gp_kfd_runlist *list = &runlists->list;
	const struct gp_kfd_runlist_entry *process = NULL;

	gp_inspect_grid_column(out, _("GPU"), GP_LEFT);
	gp_inspect_grid_column(out, _("PID"), GP_RIGHT);
	gp_inspect_grid_column(out, _("PASID"), GP_RIGHT);
	gp_inspect_grid_column(out, _("QUANTUM"), GP_RIGHT);
	gp_inspect_grid_column(out, _("MAPPED"), GP_RIGHT);
	gp_inspect_grid_column(out, _("ENGINE"), GP_LEFT);
	gp_inspect_grid_column(out, _("DOORBELL"), GP_RIGHT);
	gp_inspect_grid_column(out, _("MQD"), GP_LEFT);
	gp_inspect_grid_column(out, _("WPTR ADDRESS"), GP_LEFT);
	gp_inspect_grid_column(out, _("RING"), GP_LEFT);
	for (size_t i = 0; i < list->count; i++) {
		const struct gp_kfd_runlist_entry *entry = &list->items[i];

		if (entry->kind == GP_RUNLIST_PROCESS) {
			process = entry;
			if (!entry->mapped_count)
				add_row(out, entry, NULL);
		} else if (entry->kind == GP_RUNLIST_QUEUE && process &&
			   process->gpu_id == entry->gpu_id) {
			add_row(out, process, entry);
		}
	}
	return out->error;
}

/* ---- figures per GPU; entries are in the order of the nodes ---- */

struct figures {
	size_t processes, queues, others, first, end;
	bool oversubscribed;
};

static struct figures count_node(const struct gp_kfd_runlist *list,
				 const struct gp_kfd_runlist_node *node, size_t from)
{
	struct figures figures = {.first = from, .end = from};

	for (; figures.end < list->count; figures.end++) {
		const struct gp_kfd_runlist_entry *entry = &list->items[figures.end];

		if (entry->node != node->node || entry->gpu_id != node->gpu_id)
			break;
		figures.processes += entry->kind == GP_RUNLIST_PROCESS;
		figures.queues += entry->kind == GP_RUNLIST_QUEUE;
		figures.others += entry->kind == GP_RUNLIST_OTHER;
		figures.oversubscribed |= entry->kind == GP_RUNLIST_CHAIN;
	}
	return figures;
}

void gp_inspect_runlist_summary(const struct gp_inspect_runlists *runlists, struct gp_buf *out)
{
	const struct gp_kfd_runlist *list = &runlists->list;
	size_t at = 0;

	for (size_t i = 0; i < list->node_count; i++) {
		const struct gp_kfd_runlist_node *node = &list->nodes[i];
		struct figures figures = count_node(list, node, at);

		at = figures.end;
		if (!node->active) {
			gp_buf_printf(out, _("GPU %x: no active runlist\n"), node->gpu_id);
			continue;
		}
		gp_buf_printf(out, _("GPU %x: processes %zu, queues mapped %zu, %s\n"),
			      node->gpu_id, figures.processes, figures.queues,
			      figures.oversubscribed ? _("oversubscribed: they take turns")
						     : _("not oversubscribed: all mapped queues "
							 "are on the GPU at once"));
	}
}

void gp_inspect_runlist_raw(const struct gp_inspect_runlists *runlists, struct gp_buf *out)
{
	for (size_t i = 0; i < runlists->list.node_count; i++) {
		const struct gp_kfd_runlist_node *node = &runlists->list.nodes[i];

		gp_buf_printf(out, "Node %u, gpu_id %x:\n", node->node, node->gpu_id);
		if (!node->active)
			gp_buf_puts(out, "  No active runlist\n");
		for (size_t w = 0; w < node->word_count; w++) {
			if (w % 8 == 0)
				gp_buf_printf(out, "%s  %08zx:", w ? "\n" : "", w * 4);
			gp_buf_printf(out, " %08x", node->words[w]);
		}
		gp_buf_puts(out, node->word_count ? "\n" : "");
	}
}

/* ---- JSON ---- */

static json_t *queue_json(const struct gp_kfd_runlist_entry *entry)
{
	char engine[16];

	gp_inspect_runlist_engine(entry, engine, sizeof(engine));
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "engine", engine, "type",
			 type_word(entry->type), "doorbell", gp_json_hex(entry->doorbell), "mqd",
			 gp_json_hex(entry->mqd_address), "wptr_address",
			 gp_json_hex(entry->wptr_address), "ring",
			 gp_json_hex_if(entry->ring, entry->ring), "pid",
			 gp_json_u64_if(entry->pid, entry->pid));
}

static json_t *process_json(const struct gp_kfd_runlist_entry *entry)
{
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:o, s:[]}", "pid",
			 gp_json_u64_if(entry->pid, entry->pid), "pasid", (json_int_t)entry->pasid,
			 "quantum", (json_int_t)entry->quantum, "queue_count",
			 (json_int_t)entry->queue_count, "mapped_count",
			 (json_int_t)entry->mapped_count, "page_table",
			 gp_json_hex(entry->page_table), "queues");
}

static json_t *processes_json(const struct gp_kfd_runlist *list, const struct figures *figures)
{
	json_t *processes = json_array(), *process = NULL;

	for (size_t i = figures->first; i < figures->end; i++) {
		const struct gp_kfd_runlist_entry *entry = &list->items[i];

		if (entry->kind == GP_RUNLIST_PROCESS) {
			process = process_json(entry);
			json_array_append_new(processes, process);
		} else if (entry->kind == GP_RUNLIST_QUEUE && process) {
			json_array_append_new(json_object_get(process, "queues"),
					      queue_json(entry));
		}
	}
	return processes;
}

static json_t *words_json(const struct gp_kfd_runlist_node *node)
{
	json_t *words = json_array();

	for (size_t w = 0; w < node->word_count; w++)
		json_array_append_new(words, gp_json_hex(node->words[w]));
	return words;
}

json_t *gp_inspect_runlist_json(const struct gp_inspect_runlists *runlists, bool raw)
{
	const struct gp_kfd_runlist *list = &runlists->list;
	json_t *object = json_object(), *gpus = json_array();
	const char *from = runlists->pids_from[0] ? runlists->pids_from : NULL;
	size_t at = 0;

	json_object_set_new(object, "source", gp_json_str(runlists->source));
	json_object_set_new(object, "incomplete", json_boolean(runlists->incomplete));
	json_object_set_new(object, "pids_from", gp_json_str(from));
	for (size_t i = 0; i < list->node_count; i++) {
		const struct gp_kfd_runlist_node *node = &list->nodes[i];
		struct figures figures = count_node(list, node, at);
		json_t *gpu;

		at = figures.end;
		gpu = json_pack("{s:I, s:I, s:b, s:o, s:I, s:o}", "node", (json_int_t)node->node,
				"gpu_id", (json_int_t)node->gpu_id, "active", (int)node->active,
				"oversubscribed",
				node->active ? json_boolean(figures.oversubscribed) : json_null(),
				"other_packets", (json_int_t)figures.others, "processes",
				processes_json(list, &figures));
		if (raw)
			json_object_set_new(gpu, "words", words_json(node));
		json_array_append_new(gpus, gpu);
	}
	json_object_set_new(object, "gpus", gpus);
	return object;
}
