// SPDX-License-Identifier: MIT
#include "inspect/runlist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/pm4.h"

void gp_inspect_runlists_free(struct gp_inspect_runlists *runlists)
{
	gp_kfd_runlist_free(&runlists->list);
	*runlists = (struct gp_inspect_runlists){0};
}

static void filter(const struct gp_inspect_kfd_query *query, struct gp_kfd_runlist *list)
{
	size_t kept = 0;
	u32 process = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct gp_kfd_runlist_entry *entry = &list->items[i];

		if (entry->kind == GP_RUNLIST_PROCESS)
			process = entry->pid;
		if (query->has_gpu && entry->gpu_id != query->gpu_id)
			continue;
		/* A loop of the list concerns every process in it. */
		if (query->pid && process != query->pid && entry->kind != GP_RUNLIST_CHAIN)
			continue;
		list->items[kept++] = *entry;
	}
	list->count = kept;
	for (size_t i = kept = 0; i < list->node_count; i++) {
		if (query->has_gpu && list->nodes[i].gpu_id != query->gpu_id)
			free(list->nodes[i].words);
		else
			list->nodes[kept++] = list->nodes[i];
	}
	list->node_count = kept;
}

int gp_inspect_runlist_read(const struct gp_inspect_kfd_query *query, struct gp_diag *diag,
			    struct gp_inspect_runlists *out)
{
	struct gp_kfd_gfx gfx = {0};
	struct gp_inspect_kfd_input input = {0};
	struct gp_kfd_slot_list owners = {0};
	struct gp_gpu_debugfs_source source;
	int error = gp_inspect_kfd_query_gfx(query, &gfx);

	if (!error)
		error = gp_inspect_kfd_input_read(query, query->file, GP_DEBUGFS_RLS, diag, &input);
	if (!error) {
		source = gp_inspect_kfd_input_source(query, &input, &gfx);
		error = gp_inspect_kfd_input_judge(gp_kfd_parse_rls(&source, diag, &out->list),
						   diag);
	}
	if (!error)
		error = gp_inspect_kfd_query_owners(query, &gfx, diag, &owners, out->pids_from,
						    sizeof(out->pids_from));
	if (!error) {
		out->incomplete = out->list.incomplete || owners.incomplete;
		gp_kfd_runlist_join(&out->list, &owners);
		filter(query, &out->list);
	}
	memcpy(out->source, input.name, sizeof(out->source));
	gp_kfd_slot_list_free(&owners);
	gp_inspect_kfd_input_free(&input);
	gp_kfd_gfx_free(&gfx);
	return error;
}

void gp_inspect_runlist_engine(const struct gp_kfd_runlist_entry *entry, char *out, size_t size)
{
	if (entry->extended_engine == 1)
		snprintf(out, size, "sdma%u", entry->engine);
	else if (entry->extended_engine == 2)
		snprintf(out, size, "sdma%u", entry->engine + 8);
	else if (entry->engine == GP_PM4_ENGINE_COMPUTE)
		snprintf(out, size, "compute");
	else if (entry->engine == GP_PM4_ENGINE_SDMA0 || entry->engine == GP_PM4_ENGINE_SDMA1)
		snprintf(out, size, "sdma%u", entry->engine - GP_PM4_ENGINE_SDMA0);
	else
		snprintf(out, size, "engine%u", entry->engine);
}

const char *gp_inspect_runlist_type(const struct gp_kfd_runlist_entry *entry)
{
	switch (entry->type) {
	case GP_PM4_QUEUE_NORMAL:
		return "normal";
	case GP_PM4_QUEUE_DEBUG:
		return "debug";
	case GP_PM4_QUEUE_STATIC:
		return "static";
	}
	return "other";
}

struct gp_inspect_runlist_figures gp_inspect_runlist_count(const struct gp_kfd_runlist *list,
							   const struct gp_kfd_runlist_node *node,
							   size_t from)
{
	struct gp_inspect_runlist_figures figures = {.first = from, .end = from};

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
