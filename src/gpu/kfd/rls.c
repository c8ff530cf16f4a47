// SPDX-License-Identifier: MIT
/* Reader of debugfs rls: per GPU a dump of the runlist, which is a sequence of PM4 packets. */
#include <errno.h>
#include <stdlib.h>

#include "abi/bits.h"
#include "abi/pm4.h"
#include "base/buf.h"
#include "base/i18n.h"
#include "base/parse.h"
#include "gpu/kfd/text.h"

struct rls {
	const struct gp_gpu_debugfs_source *source;
	struct gp_diag *diag;
	struct gp_kfd_runlist *out;
	struct gp_kfd_lines lines;
	struct gp_kfd_doubts doubts;
	bool broken; /* rows of the current node are missing or garbled */
	bool empty;  /* nothing after the node line yet */
};

void gp_kfd_runlist_free(struct gp_kfd_runlist *list)
{
	for (size_t i = 0; i < list->node_count; i++)
		free(list->nodes[i].words);
	free(list->nodes);
	free(list->items);
	*list = (struct gp_kfd_runlist){0};
}

static struct gp_kfd_runlist_node *current(struct rls *rls)
{
	return rls->out->node_count ? &rls->out->nodes[rls->out->node_count - 1] : NULL;
}

static void decode_process(struct gp_kfd_runlist_entry *entry, const u32 *w)
{
	entry->kind = GP_RUNLIST_PROCESS;
	entry->pasid = gp_bits(w[GP_PM4_MAP_PROCESS_ID], 0, GP_PM4_MAP_PROCESS_PASID_TO);
	entry->quantum = gp_bits(w[GP_PM4_MAP_PROCESS_ID], GP_PM4_MAP_PROCESS_QUANTUM, 31);
	entry->page_table =
		gp_join64(w[GP_PM4_MAP_PROCESS_PAGE_TABLE], w[GP_PM4_MAP_PROCESS_PAGE_TABLE + 1]);
	entry->queue_count =
		gp_bits(w[GP_PM4_MAP_PROCESS_QUEUES], GP_PM4_MAP_PROCESS_QUEUES_BIT, 31);
}

static void decode_queue(struct gp_kfd_runlist_entry *entry, const u32 *w)
{
	u32 flags = w[GP_PM4_MAP_QUEUES_FLAGS];

	entry->kind = GP_RUNLIST_QUEUE;
	entry->extended_engine =
		gp_bits(flags, GP_PM4_MAP_QUEUES_EXTENDED, GP_PM4_MAP_QUEUES_EXTENDED + 1);
	entry->type = gp_bits(flags, GP_PM4_MAP_QUEUES_TYPE, GP_PM4_MAP_QUEUES_TYPE + 2);
	entry->engine = gp_bits(flags, GP_PM4_MAP_QUEUES_ENGINE, GP_PM4_MAP_QUEUES_ENGINE + 2);
	entry->doorbell = gp_bits(w[GP_PM4_MAP_QUEUES_DOORBELL], 2, 27);
	entry->mqd_address = gp_join64(w[GP_PM4_MAP_QUEUES_MQD], w[GP_PM4_MAP_QUEUES_MQD + 1]);
	entry->wptr_address = gp_join64(w[GP_PM4_MAP_QUEUES_WPTR], w[GP_PM4_MAP_QUEUES_WPTR + 1]);
}

static void decode_packet(struct gp_kfd_runlist_entry *entry, const u32 *w, size_t len)
{
	entry->kind = GP_RUNLIST_OTHER;
	if (entry->opcode == GP_PM4_MAP_PROCESS && len >= GP_PM4_MAP_PROCESS_WORDS)
		decode_process(entry, w);
	else if (entry->opcode == GP_PM4_MAP_QUEUES && len >= GP_PM4_MAP_QUEUES_WORDS)
		decode_queue(entry, w);
	else if (entry->opcode == GP_PM4_RUN_LIST && len >= GP_PM4_RUN_LIST_WORDS)
		entry->kind = GP_RUNLIST_CHAIN;
}

/* Decodes the words of a node; returns how many belong to whole packets, or -ENOMEM. */
static long decode_node(struct gp_kfd_runlist *out, const struct gp_kfd_runlist_node *node)
{
	size_t at = 0, process = SIZE_MAX;

	while (at < node->word_count) {
		const u32 *w = node->words + at;
		size_t len = gp_bits(w[0], GP_PM4_COUNT_FROM, GP_PM4_COUNT_TO) + GP_PM4_COUNT_EXTRA;
		struct gp_kfd_runlist_entry entry = {.node = node->node,
						     .gpu_id = node->gpu_id,
						     .offset = (u32)(at * 4)};

		if (gp_bits(w[0], GP_PM4_TYPE_FROM, GP_PM4_TYPE_TO) != GP_PM4_TYPE3 ||
		    len > node->word_count - at)
			break;
		entry.opcode = gp_bits(w[0], GP_PM4_OPCODE_FROM, GP_PM4_OPCODE_TO);
		decode_packet(&entry, w, len);
		if (gp_array_grow((void **)&out->items, out->count, &out->capacity,
				  sizeof(*out->items)))
			return -ENOMEM;
		if (entry.kind == GP_RUNLIST_PROCESS)
			process = out->count;
		else if (entry.kind == GP_RUNLIST_QUEUE && process != SIZE_MAX)
			out->items[process].mapped_count++;
		out->items[out->count++] = entry;
		at += len;
	}
	return (long)at;
}

static int finish_node(struct rls *rls, bool at_end)
{
	struct gp_kfd_runlist_node *node = current(rls);
	size_t before = rls->out->count;
	long used;

	if (!node)
		return 0;
	if (rls->empty) {
		/* The node line alone: neither a runlist nor the word that there is none. */
		rls->doubts.cut_line = node->line;
		rls->out->node_count--;
		return 0;
	}
	if (!node->active)
		return 0;
	used = decode_node(rls->out, node);
	if (used < 0)
		return (int)used;
	if ((size_t)used == node->word_count && !rls->broken)
		return 0;
	if (at_end) {
		rls->doubts.cut_line = rls->lines.number;
		/* A node of which no packet is whole says nothing. */
		if (rls->out->count == before) {
			free(node->words);
			rls->out->node_count--;
		}
	} else if (!rls->doubts.broken++) {
		rls->doubts.broken_line = node->line;
	}
	return 0;
}

static int add_row(struct rls *rls, const struct gp_kfd_row *row)
{
	struct gp_kfd_runlist_node *node = current(rls);

	for (size_t i = 0; i < row->count; i++) {
		if (gp_array_grow((void **)&node->words, node->word_count, &node->word_capacity,
				  sizeof(*node->words)))
			return -ENOMEM;
		node->words[node->word_count++] = row->words[i];
	}
	return 0;
}

static int take_row(struct rls *rls, enum gp_kfd_row_result result, const struct gp_kfd_row *row)
{
	struct gp_kfd_runlist_node *node = current(rls);

	if (!node) {
		gp_kfd_doubt_line(&rls->doubts, rls->lines.number);
		return 0;
	}
	rls->empty = false;
	node->active = true;
	/* After a gap nothing is where it seems to be. */
	if (rls->broken || row->address != node->word_count * 4) {
		rls->broken = true;
		return 0;
	}
	/*
	 * Of a row that is garbled or cut, what stands before that is good. A list has no length of
	 * its own, so a row without its newline is a cut one even where a packet ends there.
	 */
	rls->broken = result == GP_ROW_BROKEN || rls->lines.torn;
	return add_row(rls, row);
}

static int open_node(struct rls *rls, u32 number, u32 gpu_id)
{
	struct gp_kfd_runlist *out = rls->out;

	if (gp_array_grow((void **)&out->nodes, out->node_count, &out->node_capacity,
			  sizeof(*out->nodes)))
		return -ENOMEM;
	out->nodes[out->node_count++] = (struct gp_kfd_runlist_node){.node = number,
								     .gpu_id = gpu_id,
								     .line = rls->lines.number};
	rls->broken = false;
	rls->empty = true;
	return 0;
}

static int take_line(struct rls *rls)
{
	struct gp_kfd_row row;
	enum gp_kfd_row_result result = gp_kfd_row_parse(&rls->lines, &row);
	enum gp_gpu_debugfs_file file;
	u32 number, gpu_id;
	int error;

	if (result != GP_ROW_NONE)
		return take_row(rls, result, &row);
	if (gp_kfd_lines_blank(&rls->lines))
		return 0;
	if (gp_kfd_node_parse(&rls->lines, &number, &gpu_id)) {
		error = finish_node(rls, false);
		return error ? error : open_node(rls, number, gpu_id);
	}
	file = gp_kfd_line_file(&rls->lines);
	if (file == GP_FILE_RLS && current(rls)) {
		rls->empty = false;
		return 0;
	}
	if ((file == GP_FILE_HQDS || file == GP_FILE_MQDS) && !rls->out->count)
		return gp_kfd_wrong_file(rls->source, rls->diag, rls->lines.number, file);
	if (rls->lines.torn && current(rls))
		rls->doubts.cut_line = rls->lines.number;
	else
		gp_kfd_doubt_line(&rls->doubts, rls->lines.number);
	return 0;
}

int gp_kfd_parse_rls(const struct gp_gpu_debugfs_source *source, struct gp_diag *diag,
		     struct gp_kfd_runlist *out)
{
	struct rls rls = {.source = source, .diag = diag, .out = out};
	bool found;
	int error = gp_kfd_text_check(source, diag);

	if (error)
		return error;
	gp_kfd_lines_init(&rls.lines, source);
	while (!error && gp_kfd_lines_next(&rls.lines))
		error = take_line(&rls);
	found = out->node_count > 0 || rls.doubts.cut_line;
	if (!error)
		error = finish_node(&rls, true);
	if (!error)
		error = gp_kfd_doubts_say(&rls.doubts, source, diag, "rls", found,
					  out->node_count > 0, &out->incomplete);
	if (error)
		gp_kfd_runlist_free(out);
	return error;
}
