// SPDX-License-Identifier: MIT
/* gpreempt runlist: the list that the firmware scheduler works through. */
#include <errno.h>
#include <inttypes.h>

#include "cli/watch/documents.h"
#include "cli/watch/kfd_command.h"

/* ---- columns ---- */

/* queue NULL: a process without a mapped queue. `owned`: with its process, as in JSON. */
static void put_queue(struct gp_cli_row *row, const struct gp_kfd_runlist_entry *queue, bool owned)
{
	static const struct gp_kfd_runlist_entry none;
	const struct gp_kfd_runlist_entry *q = queue ? queue : &none;
	char engine[16] = "";

	if (queue)
		gp_inspect_runlist_engine(queue, engine, sizeof(engine));
	gp_cli_put(row, "engine", "ENGINE", 0,
		   gp_v_text_or_missing(gp_cli_text(row, "%s", engine)));
	gp_cli_put(row, "type", NULL, 0, gp_v_text(gp_inspect_runlist_type(q)));
	gp_cli_put(row, "doorbell", "DOORBELL", 0, gp_v_if(queue, gp_v_hex(q->doorbell)));
	gp_cli_put(row, "mqd", "MQD", 0, gp_v_if(queue, gp_v_hex(q->mqd_address)));
	gp_cli_put(row, "wptr_address", "WPTR ADDRESS", 0,
		   gp_v_if(queue, gp_v_hex(q->wptr_address)));
	gp_cli_put(row, "ring", "RING", 0, gp_v_if(q->ring, gp_v_hex(q->ring)));
	if (owned)
		gp_cli_put(row, "pid", NULL, 0, gp_v_if(q->pid, gp_v_count(q->pid)));
}

static void put_row(struct gp_cli_row *row, const struct gp_kfd_runlist_entry *process,
		    const struct gp_kfd_runlist_entry *queue)
{
	struct gp_show_value mapped =
		gp_v_text(gp_cli_text(row, "%u/%u", process->mapped_count, process->queue_count));

	if (process->mapped_count < process->queue_count)
		mapped.colour = GP_YELLOW;
	gp_cli_put(row, "gpu_id", "GPU", 0,
		   gp_v_as(gp_v_count(process->gpu_id), gp_cli_text(row, "0x%x", process->gpu_id)));
	gp_cli_put(row, "pid", "PID", GP_CLI_RIGHT,
		   gp_v_if(process->pid, gp_v_count(process->pid)));
	gp_cli_put(row, "pasid", "PASID", GP_CLI_RIGHT,
		   gp_v_as(gp_v_count(process->pasid), gp_cli_text(row, "0x%x", process->pasid)));
	gp_cli_put(row, "quantum", "QUANTUM", GP_CLI_RIGHT, gp_v_count(process->quantum));
	gp_cli_put(row, NULL, "MAPPED", GP_CLI_RIGHT, mapped);
	gp_cli_put(row, "mapped_count", NULL, 0, gp_v_count(process->mapped_count));
	gp_cli_put(row, "queue_count", NULL, 0, gp_v_count(process->queue_count));
	put_queue(row, queue, false);
}

/* ---- text ---- */

static void add_row(struct gp_doc *doc, const struct gp_cli_slot_options *options,
		    const struct gp_kfd_runlist_entry *process,
		    const struct gp_kfd_runlist_entry *queue)
{
	struct gp_cli_row row = {.part = options->csv ? GP_CLI_JSON : GP_CLI_TEXT};
	char name[GP_CLI_MARK_TEXT];

	put_row(&row, process, queue);
	snprintf(name, sizeof(name), "%x/%x/%" PRIx64, process->gpu_id, process->pasid,
		 queue ? queue->mqd_address : 0);
	if (options->marks && !options->csv)
		gp_cli_marks_row(options->marks, name, &row);
	gp_cli_row_cells(&row, doc);
}

static void add_table(struct gp_doc *doc, const struct gp_kfd_runlist *list,
		      const struct gp_cli_slot_options *options)
{
	static const struct gp_kfd_runlist_entry none;
	const struct gp_kfd_runlist_entry *process = NULL;
	struct gp_cli_row row = {.part = options->csv ? GP_CLI_JSON : GP_CLI_TEXT};

	gp_doc_table(doc, NULL, NULL);
	gp_doc_if_empty(doc, NULL);
	put_row(&row, &none, NULL);
	gp_cli_row_columns(&row, doc);
	for (size_t i = 0; i < list->count; i++) {
		const struct gp_kfd_runlist_entry *entry = &list->items[i];

		if (entry->kind == GP_RUNLIST_PROCESS) {
			process = entry;
			if (!entry->mapped_count)
				add_row(doc, options, entry, NULL);
		} else if (entry->kind == GP_RUNLIST_QUEUE && process &&
			   process->gpu_id == entry->gpu_id) {
			add_row(doc, options, process, entry);
		}
	}
}

static void add_summary(struct gp_doc *doc, const struct gp_kfd_runlist_node *node,
			const struct gp_inspect_runlist_figures *figures)
{
	if (!node->active)
		gp_doc_line(doc, "GPU 0x%x: no active runlist", node->gpu_id);
	else if (figures->oversubscribed)
		gp_doc_line(
			doc,
			"GPU 0x%x: oversubscribed: processes take turns (processes: %zu, mapped "
			"queues: %zu)",
			node->gpu_id, figures->processes, figures->queues);
	else
		gp_doc_line(
			doc,
			"GPU 0x%x: not oversubscribed: all mapped queues are on the GPU at once "
			"(processes: %zu, mapped queues: %zu)",
			node->gpu_id, figures->processes, figures->queues);
}

static void add_words(struct gp_doc *doc, const struct gp_kfd_runlist_node *node)
{
	gp_cli_line(doc, "Node %u, gpu_id %x:", node->node, node->gpu_id);
	if (!node->active)
		gp_cli_line(doc, "  No active runlist");
	for (size_t first = 0; first < node->word_count; first += 8) {
		struct gp_buf text = {0};

		for (size_t w = first; w < node->word_count && w < first + 8; w++)
			gp_buf_printf(&text, " %08x", node->words[w]);
		gp_cli_line(doc, "  %08zx:%s", first * 4, gp_buf_str(&text));
		gp_buf_free(&text);
	}
}

/* ---- JSON ---- */

static void open_process(struct gp_doc *doc, const struct gp_kfd_runlist_entry *process)
{
	struct gp_cli_row row = {.part = GP_CLI_JSON};

	gp_doc_open(doc, NULL, NULL);
	gp_doc_fact(doc, "pid", NULL, gp_v_if(process->pid, gp_v_count(process->pid)));
	gp_doc_fact(doc, "pasid", NULL, gp_v_count(process->pasid));
	gp_doc_fact(doc, "quantum", NULL, gp_v_count(process->quantum));
	gp_doc_fact(doc, "queue_count", NULL, gp_v_count(process->queue_count));
	gp_doc_fact(doc, "mapped_count", NULL, gp_v_count(process->mapped_count));
	gp_doc_fact(doc, "page_table", NULL, gp_v_hex(process->page_table));
	gp_doc_table(doc, "queues", NULL);
	put_queue(&row, NULL, true);
	gp_cli_row_columns(&row, doc);
}

static void add_processes(struct gp_doc *doc, const struct gp_kfd_runlist *list,
			  const struct gp_inspect_runlist_figures *figures)
{
	struct gp_cli_row row = {.part = GP_CLI_JSON};
	bool open = false;

	gp_doc_open_list(doc, "processes", NULL);
	for (size_t i = figures->first; i < figures->end; i++) {
		const struct gp_kfd_runlist_entry *entry = &list->items[i];

		if (entry->kind == GP_RUNLIST_PROCESS) {
			if (open)
				gp_doc_close(doc);
			open_process(doc, entry);
			open = true;
		} else if (entry->kind == GP_RUNLIST_QUEUE && open) {
			put_queue(&row, entry, true);
			gp_cli_row_cells(&row, doc);
		}
	}
	if (open)
		gp_doc_close(doc);
	gp_doc_close(doc);
}

static void add_gpu(struct gp_doc *doc, const struct gp_kfd_runlist *list,
		    const struct gp_kfd_runlist_node *node,
		    const struct gp_inspect_runlist_figures *figures, bool raw)
{
	gp_doc_open(doc, NULL, NULL);
	gp_doc_fact(doc, "node", NULL, gp_v_count(node->node));
	gp_doc_fact(doc, "gpu_id", NULL, gp_v_count(node->gpu_id));
	gp_doc_fact(doc, "active", NULL, gp_v_bool(node->active));
	gp_doc_fact(doc, "oversubscribed", NULL,
		    gp_v_if(node->active, gp_v_bool(figures->oversubscribed)));
	gp_doc_fact(doc, "other_packets", NULL, gp_v_count(figures->others));
	add_processes(doc, list, figures);
	if (raw) {
		gp_doc_open_list(doc, "words", NULL);
		for (size_t w = 0; w < node->word_count; w++)
			gp_doc_fact(doc, "word", NULL, gp_v_hex(node->words[w]));
		gp_doc_close(doc);
	}
	gp_doc_close(doc);
}

struct gp_doc *gp_cli_runlist_doc(const struct gp_inspect_runlists *runlists,
				  const struct gp_cli_slot_options *options)
{
	const struct gp_kfd_runlist *list = &runlists->list;
	struct gp_doc *doc = gp_doc_new_answer();
	size_t at = 0;

	if (options->json) {
		gp_doc_fact(doc, "source", NULL, gp_v_text(runlists->source));
		gp_doc_fact(doc, "incomplete", NULL, gp_v_bool(runlists->incomplete));
		gp_doc_fact(doc, "pids_from", NULL, gp_v_text_or_missing(runlists->pids_from));
		gp_doc_open_list(doc, "gpus", NULL);
	} else if (options->csv || !options->raw) {
		add_table(doc, list, options);
	}
	for (size_t i = 0; i < list->node_count; i++) {
		struct gp_inspect_runlist_figures figures =
			gp_inspect_runlist_count(list, &list->nodes[i], at);

		at = figures.end;
		if (options->json)
			add_gpu(doc, list, &list->nodes[i], &figures, options->raw);
		else if (options->raw && !options->csv)
			add_words(doc, &list->nodes[i]);
		else
			add_summary(doc, &list->nodes[i], &figures);
	}
	if (options->json)
		gp_doc_close(doc);
	return doc;
}

/* ---- the command ---- */

static int sample(struct gp_cli_kfd_cli *cli, struct gp_cli_kfd_output *out)
{
	struct gp_inspect_runlists runlists = {0};
	int error = gp_inspect_runlist_read(&cli->query, &cli->sink.diag, &runlists);

	if (!error)
		error = gp_cli_kfd_check_owners(cli, runlists.pids_from);
	if (!error) {
		out->empty = (cli->query.has_gpu && !runlists.list.node_count) ||
			     (cli->query.pid && !runlists.list.count);
		out->doc = gp_cli_runlist_doc(&runlists, &cli->show);
	}
	gp_inspect_runlists_free(&runlists);
	return error;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	return gp_cli_kfd_command_run(command, argc, argv, sample);
}

static const struct gp_option options[] = {
	GP_KFD_OPTION_FILE(N_("read a saved copy of rls; - is standard input")),
	GP_KFD_OPTION_MQDS,
	GP_KFD_OPTION_RAW,
	GP_KFD_COMMON_OPTIONS,
};

const struct gp_command gp_cli_runlist = {
	.name = "runlist",
	.arguments = "[FILE]",
	.completion = GP_COMPLETE_FILE,
	.summary = N_("Show the runlist of the GPU's firmware scheduler"),
	.description = N_(
		"Decodes /sys/kernel/debug/kfd/rls (needs root), or a saved copy of it: the\n"
		"processes in the order of their turns and the queues mapped for each. MAPPED is\n"
		"mapped queues / all queues of the process; the rest are suspended, evicted or\n"
		"disabled. If the list is oversubscribed, its processes do not fit on the GPU at\n"
		"once and take turns."),
	.options = options,
	.examples = "  sudo gpreempt runlist\n"
		    "  gpreempt runlist --file rls.txt --mqds mqds.txt --json\n",
	.run = run,
};
