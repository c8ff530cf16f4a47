// SPDX-License-Identifier: MIT
/* The documents of `gpreempt find`. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/core.h"
#include "base/i18n.h"
#include "cli/watch/documents.h"

/* Queues per JSON document: a log may have millions. */
#define GP_FIND_BATCH 512

static const char *const source_names[] = {
	[GP_FROM_NOWHERE] = NULL, [GP_FROM_LOG] = "log", [GP_FROM_SYSFS] = "sysfs",
	[GP_FROM_MQD] = "mqd",    [GP_FROM_HQD] = "hqd", [GP_FROM_MATCH] = "match",
};

static const char *const key_names[] = {
	[GP_KEY_NONE] = NULL,
	[GP_KEY_RING] = "ring",
	[GP_KEY_OBJECT] = "object",
	[GP_KEY_BOTH] = "ring+object",
};

static const char *const fact_names[GP_FIND_FACTS] = {
	[GP_FIND_RING] = "ring",
	[GP_FIND_OBJECT] = "object",
	[GP_FIND_KFD_ID] = "kfd_id",
	[GP_FIND_HSA_ID] = "hsa_id",
	[GP_FIND_GPU] = "gpu_id",
	[GP_FIND_TYPE] = "type",
	[GP_FIND_SIZE] = "size",
	[GP_FIND_PRIORITY] = "priority",
	[GP_FIND_KFD_PRIORITY] = "kfd_priority",
	[GP_FIND_STREAMS] = "streams",
	[GP_FIND_DISPATCHES] = "dispatches",
	[GP_FIND_BARRIERS] = "barriers",
	[GP_FIND_USE] = "use",
	[GP_FIND_ACTIVE] = "active",
	[GP_FIND_RPTR] = "rptr",
	[GP_FIND_WPTR] = "wptr",
	[GP_FIND_BACKLOG] = "backlog",
};

const char *gp_cli_find_key_name(enum gp_inspect_find_key key)
{
	return key_names[key];
}

/* ---- values ---- */

static struct gp_show_value seconds(struct gp_cli_row *row, u64 ns)
{
	return gp_v_as(gp_v_count(ns), gp_cli_text(row, "%.6f", (double)ns / 1e9));
}

static struct gp_show_value active_value(const struct gp_inspect_find_queue *q)
{
	struct gp_show_value value = gp_v_bool(q->active);

	value.colour = q->active ? GP_GREEN : GP_DIM;
	return value;
}

static struct gp_show_value fact_value(struct gp_cli_row *row,
				       const struct gp_inspect_find_queue *q,
				       enum gp_inspect_find_fact fact)
{
	static const char *const priorities[] = {"low", "normal", "high"};

	if (q->from[fact] == GP_FROM_NOWHERE)
		return gp_v_missing();
	switch (fact) {
	case GP_FIND_RING:
		return gp_v_hex(q->ring);
	case GP_FIND_OBJECT:
		return gp_v_hex(q->object);
	case GP_FIND_KFD_ID:
		return gp_v_count(q->kfd_id);
	case GP_FIND_HSA_ID:
		return gp_v_count(q->hsa_id);
	case GP_FIND_GPU:
		return gp_v_as(gp_v_count(q->gpu_id), gp_cli_text(row, "0x%x", q->gpu_id));
	case GP_FIND_TYPE:
		return gp_v_text(gp_kfd_queue_type_name(q->type));
	case GP_FIND_SIZE:
		return gp_v_bytes(q->size);
	case GP_FIND_PRIORITY:
		return gp_v_text(q->priority < GP_ARRAY_SIZE(priorities) ? priorities[q->priority]
									 : NULL);
	case GP_FIND_KFD_PRIORITY:
		return gp_v_count(q->kfd_priority);
	case GP_FIND_STREAMS:
		return gp_v_count(q->streams);
	case GP_FIND_DISPATCHES:
		return gp_v_count(q->dispatches);
	case GP_FIND_BARRIERS:
		return gp_v_count(q->barriers);
	case GP_FIND_USE:
		return gp_v_text(gp_cli_text(row, "%.6f..%.6f", (double)q->first_ns / 1e9,
					     (double)q->last_ns / 1e9));
	case GP_FIND_ACTIVE:
		return active_value(q);
	case GP_FIND_RPTR:
		return gp_v_count(q->rptr);
	case GP_FIND_WPTR:
		return gp_v_count(q->wptr);
	case GP_FIND_BACKLOG:
		return gp_v_count(q->backlog);
	default:
		return gp_v_missing();
	}
}

/* What the address in the log is: settled by the live system, by the era, or unknown. */
static const char *address_kind(const struct gp_inspect_find_queue *q)
{
	if (!q->logged || q->address_kind == GP_ADDRESS_UNKNOWN)
		return NULL;
	return q->address_kind == GP_ADDRESS_RING ? "ring" : "object";
}

/* "0,1,2" of the ids that a queue may have. */
static void candidates_text(const struct gp_inspect_find_queue *q, struct gp_buf *out)
{
	for (size_t i = 0; i < q->candidate_count && i < GP_FIND_CANDIDATES_MAX; i++)
		gp_buf_printf(out, "%s%u", i ? "," : "", q->candidates[i]);
	if (q->candidate_count > GP_FIND_CANDIDATES_MAX)
		gp_buf_puts(out, ",...");
}

static json_t *candidates_json(const struct gp_inspect_find_queue *q)
{
	json_t *json = json_array();

	for (size_t i = 0; i < q->candidate_count && i < GP_FIND_CANDIDATES_MAX; i++)
		json_array_append_new(json, json_integer(q->candidates[i]));
	return json;
}

static json_t *streams_json(const struct gp_inspect_find_queue *q)
{
	json_t *json = json_array();

	for (size_t i = 0; i < q->stream_count; i++)
		json_array_append_new(json, gp_json_hex(q->stream_handles[i]));
	return json;
}

static bool gave_something(const struct gp_inspect_find_queue *q,
			   enum gp_inspect_find_source source)
{
	for (int fact = 0; fact < GP_FIND_FACTS; fact++) {
		if (q->from[fact] == source)
			return true;
	}
	return false;
}

/* The source of each fact; in text "log+mqd", every source in a fixed order. */
static struct gp_show_value sources_value(struct gp_cli_row *row,
					  const struct gp_inspect_find_queue *q)
{
	json_t *json = json_object();
	char text[64] = "";

	for (int fact = 0; fact < GP_FIND_FACTS; fact++) {
		if (q->from[fact])
			json_object_set_new(json, fact_names[fact],
					    json_string(source_names[q->from[fact]]));
	}
	for (size_t source = GP_FROM_LOG; source < GP_FROM_MATCH; source++) {
		bool used = gave_something(q, source);

		/* An id that was matched, or may match, comes from sysfs. */
		if (source == GP_FROM_SYSFS)
			used |= q->candidate_count || gave_something(q, GP_FROM_MATCH);
		if (used)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				 *text ? "+" : "", source_names[source]);
	}
	return gp_v_as(gp_v_json(json), gp_cli_text(row, "%s", text));
}

/* ---- columns ---- */

static void put_fact(struct gp_cli_row *row, const struct gp_inspect_find_queue *q,
		     const char *title, int flags, enum gp_inspect_find_fact fact)
{
	gp_cli_put(row, fact_names[fact], title, flags, fact_value(row, q, fact));
}

static void put_identity(struct gp_cli_row *row, const struct gp_inspect_find_queue *q)
{
	struct gp_show_value id = fact_value(row, q, GP_FIND_KFD_ID);
	struct gp_buf candidates = {0};

	candidates_text(q, &candidates);
	if (q->candidate_count)
		id = gp_v_as(id, gp_cli_text(row, "? %s", gp_buf_str(&candidates)));
	put_fact(row, q, N_("RING"), 0, GP_FIND_RING);
	put_fact(row, q, N_("OBJECT"), 0, GP_FIND_OBJECT);
	/* An address of unknown kind is neither a ring nor an object, but must be shown. */
	gp_cli_put(row, "logged_address", "RING OR OBJECT", GP_CLI_OPTIONAL,
		   gp_v_if(q->logged,
			   gp_v_as(gp_v_hex(q->address),
				   address_kind(q) ? ""
						   : gp_cli_text(row, "0x%" PRIx64, q->address))));
	gp_cli_put(row, "logged_address_is", NULL, 0, gp_v_text(address_kind(q)));
	gp_cli_put(row, "key", "KEY", GP_CLI_OPTIONAL, gp_v_text(key_names[q->key]));
	gp_cli_put(row, "kfd_id", "KFD ID", GP_CLI_RIGHT, id);
	gp_cli_put(row, "kfd_id_candidates", NULL, 0, gp_v_json(candidates_json(q)));
	gp_cli_put(row, "kfd_id_candidate_count", NULL, 0, gp_v_count(q->candidate_count));
	put_fact(row, q, N_("HSA ID"), GP_CLI_RIGHT, GP_FIND_HSA_ID);
	put_fact(row, q, N_("GPU"), GP_CLI_OPTIONAL, GP_FIND_GPU);
	gp_buf_free(&candidates);
}

/* A queue that was deleted has no stream any more: the most that it had says more. */
static struct gp_show_value streams_value(struct gp_cli_row *row,
					  const struct gp_inspect_find_queue *q)
{
	struct gp_show_value value = fact_value(row, q, GP_FIND_STREAMS);

	if (value.unit != GP_UNIT_COUNT || q->streams || !q->streams_max)
		return value;
	return gp_v_as(value, gp_cli_text(row, _("had %u"), q->streams_max));
}

static void put_queue(struct gp_cli_row *row, const struct gp_inspect_find_queue *q)
{
	bool streams = q->from[GP_FIND_STREAMS], use = q->from[GP_FIND_USE];

	put_identity(row, q);
	put_fact(row, q, N_("TYPE"), GP_CLI_OPTIONAL, GP_FIND_TYPE);
	put_fact(row, q, N_("SIZE"), GP_CLI_OPTIONAL, GP_FIND_SIZE);
	put_fact(row, q, N_("PRIORITY"), GP_CLI_OPTIONAL, GP_FIND_PRIORITY);
	put_fact(row, q, NULL, 0, GP_FIND_KFD_PRIORITY);
	gp_cli_put(row, fact_names[GP_FIND_STREAMS], N_("STREAMS"), GP_CLI_OPTIONAL | GP_CLI_RIGHT,
		   streams_value(row, q));
	gp_cli_put(row, "streams_max", NULL, 0, gp_v_if(streams, gp_v_count(q->streams_max)));
	gp_cli_put(row, "stream_handles", NULL, 0, gp_v_json(streams_json(q)));
	put_fact(row, q, N_("DISPATCHES"), GP_CLI_OPTIONAL, GP_FIND_DISPATCHES);
	put_fact(row, q, N_("BARRIERS"), GP_CLI_OPTIONAL, GP_FIND_BARRIERS);
	gp_cli_put(row, "first_ns", "FIRST (s)", GP_CLI_OPTIONAL,
		   gp_v_if(use, seconds(row, q->first_ns)));
	gp_cli_put(row, "last_ns", "LAST (s)", GP_CLI_OPTIONAL,
		   gp_v_if(use, seconds(row, q->last_ns)));
	put_fact(row, q, N_("ACTIVE"), 0, GP_FIND_ACTIVE);
	gp_cli_put(row, "failed", NULL, 0, gp_v_if(q->failed_known, gp_v_bool(q->failed)));
	gp_cli_put(row, "error", "ABORTED", GP_CLI_OPTIONAL,
		   gp_v_if(q->failed, gp_v_text(q->failure.error[0] ? q->failure.error : "yes")));
	gp_cli_put(row, "error_line", "LINE", GP_CLI_OPTIONAL,
		   gp_v_if(q->failed, gp_v_count(q->failure.line)));
	put_fact(row, q, N_("RPTR"), GP_CLI_OPTIONAL, GP_FIND_RPTR);
	put_fact(row, q, N_("WPTR"), GP_CLI_OPTIONAL, GP_FIND_WPTR);
	put_fact(row, q, N_("BACKLOG"), GP_CLI_OPTIONAL, GP_FIND_BACKLOG);
	gp_cli_put(row, "sources", "SOURCES", 0, sources_value(row, q));
}

static void add_queues(struct gp_doc *doc, enum gp_cli_part part,
		       const struct gp_inspect_find_queue *queues, size_t count)
{
	static const struct gp_inspect_find_queue none;
	struct gp_cli_row row = {.part = part};

	put_queue(&row, &none);
	gp_cli_row_columns(&row, doc);
	for (size_t i = 0; i < count; i++) {
		put_queue(&row, &queues[i]);
		gp_cli_row_cells(&row, doc);
	}
}

/* ---- text ---- */

static void add_long_row(struct gp_doc *doc, const char *name, struct gp_show_value value,
			 const char *source)
{
	gp_doc_cell(doc, gp_v_text(name));
	gp_doc_cell(doc, value);
	gp_doc_cell(doc, gp_v_text(source));
}

/* One fact per line with its source. */
static void add_long(struct gp_doc *doc, const struct gp_inspect_find_queue *q)
{
	struct gp_cli_row row = {.part = GP_CLI_TEXT};
	struct gp_buf candidates = {0};

	gp_doc_table(doc, NULL, NULL);
	gp_doc_column(doc, NULL, "FACT");
	gp_doc_column(doc, NULL, "VALUE");
	gp_doc_column(doc, NULL, "SOURCE");
	candidates_text(q, &candidates);
	for (int fact = 0; fact < GP_FIND_FACTS; fact++) {
		bool open = fact == GP_FIND_KFD_ID && q->candidate_count;

		add_long_row(doc, fact_names[fact],
			     open ? gp_v_text(gp_cli_text(&row, _("one of %s"),
							  gp_buf_str(&candidates)))
				  : fact_value(&row, q, fact),
			     source_names[open ? GP_FROM_SYSFS : q->from[fact]]);
	}
	if (q->logged)
		add_long_row(doc, "logged_address", gp_v_hex(q->address),
			     source_names[GP_FROM_LOG]);
	add_long_row(doc, "key", gp_v_text(key_names[q->key]), NULL);
	gp_buf_free(&candidates);
}

static void heading(const struct gp_inspect_find_process *process, struct gp_buf *out)
{
	char label[320];

	if (process->pid_known)
		gp_buf_printf(out, _("Process %u"), process->pid);
	else
		gp_buf_puts(out, _("Unknown process (the log has no pid)"));
	if (*process->process.comm)
		gp_buf_printf(out, " (%s)", process->process.comm);
	if (process->contained) {
		gp_container_label(&process->container, label, sizeof(label));
		gp_buf_printf(out, _(", container %s"), label);
	}
	gp_buf_printf(out, ngettext(": %zu queue", ": %zu queues", process->count), process->count);
}

struct gp_doc *gp_cli_find_doc(const struct gp_inspect_find_result *result, bool long_form)
{
	struct gp_doc *doc = gp_doc_new_answer();

	for (size_t i = 0; i < result->count; i++) {
		const struct gp_inspect_find_process *process = &result->processes[i];
		struct gp_buf title = {0};

		heading(process, &title);
		if (long_form || !process->count) {
			gp_cli_line(doc, "%s", gp_buf_str(&title));
		} else {
			gp_doc_table(doc, NULL, gp_buf_str(&title));
			add_queues(doc, GP_CLI_TEXT, process->queues, process->count);
		}
		for (size_t q = 0; long_form && q < process->count; q++)
			add_long(doc, &process->queues[q]);
		gp_buf_free(&title);
	}
	return doc;
}

struct gp_doc *gp_cli_find_list_doc(const struct gp_inspect_find_result *result)
{
	static const struct gp_inspect_find_queue none;
	struct gp_cli_row row = {.part = GP_CLI_JSON};
	struct gp_doc *doc = gp_doc_new_answer();

	gp_doc_table(doc, "queues", NULL);
	gp_cli_put(&row, "pid", NULL, 0, gp_v_missing());
	gp_cli_put(&row, "comm", NULL, 0, gp_v_missing());
	put_queue(&row, &none);
	gp_cli_row_columns(&row, doc);
	for (size_t i = 0; i < result->count; i++) {
		const struct gp_inspect_find_process *process = &result->processes[i];

		for (size_t q = 0; q < process->count; q++) {
			gp_cli_put(&row, "pid", NULL, 0,
				   gp_v_if(process->pid_known, gp_v_count(process->pid)));
			gp_cli_put(&row, "comm", NULL, 0,
				   gp_v_text_or_missing(process->process.comm));
			put_queue(&row, &process->queues[q]);
			gp_cli_row_cells(&row, doc);
		}
	}
	return doc;
}

/* ---- JSON ---- */

static void put_input(struct gp_cli_row *row, const struct gp_inspect_find_input *input)
{
	const struct gp_trace_amdlog_stats *stats = &input->stats;
	bool all = !input->fast;

	gp_cli_put(row, "file", NULL, 0, gp_v_text(input->name));
	gp_cli_put(row, "bytes", NULL, 0, gp_v_count(stats->bytes));
	gp_cli_put(row, "lines", NULL, 0, gp_v_count(stats->lines));
	gp_cli_put(row, "recognised", NULL, 0, gp_v_if(all, gp_v_count(stats->recognised)));
	gp_cli_put(row, "unknown", NULL, 0, gp_v_if(all, gp_v_count(stats->unknown)));
	gp_cli_put(row, "torn", NULL, 0, gp_v_if(all, gp_v_count(stats->torn)));
	gp_cli_put(row, "overlong", NULL, 0, gp_v_if(all, gp_v_count(stats->overlong)));
	gp_cli_put(row, "without_pid", NULL, 0, gp_v_if(all, gp_v_count(stats->without_pid)));
	gp_cli_put(row, "pid_from_name", NULL, 0, gp_v_bool(input->pid_from_name));
}

static void add_inputs(struct gp_doc *doc, const struct gp_inspect_find_result *result)
{
	struct gp_cli_row row = {.part = GP_CLI_JSON};

	gp_doc_table(doc, "inputs", NULL);
	put_input(&row, &(struct gp_inspect_find_input){0});
	gp_cli_row_columns(&row, doc);
	for (size_t i = 0; result && i < result->input_count; i++) {
		put_input(&row, &result->inputs[i]);
		gp_cli_row_cells(&row, doc);
	}
}

/* Everything of a process but its queues. */
static struct gp_doc *process_doc(const struct gp_inspect_find_process *process,
				  const struct gp_inspect_find_result *result)
{
	const struct gp_process *p = &process->process;
	struct gp_doc *doc = gp_doc_new_answer();

	gp_doc_fact(doc, "pid", NULL, gp_v_if(process->pid_known, gp_v_count(process->pid)));
	gp_doc_fact(doc, "alive", NULL, gp_v_bool(process->alive));
	gp_doc_fact(doc, "comm", NULL, gp_v_text_or_missing(p->comm));
	gp_doc_fact(doc, "command", NULL, gp_v_text_or_missing(p->command));
	gp_doc_fact(doc, "container", NULL,
		    process->contained ? gp_v_json(gp_container_json(&process->container, p))
				       : gp_v_missing());
	add_inputs(doc, result);
	return doc;
}

static int dump(FILE *out, const json_t *json, size_t flags)
{
	return !json ? -ENOMEM : json_dumpf(json, out, JSON_COMPACT | flags) ? -EIO : 0;
}

static int print_queues(FILE *out, const struct gp_inspect_find_process *process,
			const char *indent)
{
	int error = 0;

	for (size_t first = 0; first < process->count && !error; first += GP_FIND_BATCH) {
		struct gp_doc *doc = gp_doc_new_list();
		json_t *rows, *row;
		size_t i;

		gp_doc_table(doc, NULL, NULL);
		add_queues(doc, GP_CLI_JSON, process->queues + first,
			   GP_MIN(process->count - first, (size_t)GP_FIND_BATCH));
		rows = gp_doc_json(doc);
		error = rows ? 0 : -ENOMEM;
		json_array_foreach(rows, i, row)
		{
			fprintf(out, "%s\n%s  ", first + i ? "," : "", indent);
			error = error ? error : dump(out, row, 0);
		}
		json_decref(rows);
		gp_doc_free(doc);
	}
	return error;
}

static int print_process(FILE *out, const struct gp_inspect_find_process *process,
			 const struct gp_inspect_find_result *result, const char *indent)
{
	struct gp_doc *doc = process_doc(process, result);
	json_t *json = gp_doc_json(doc);
	int error;

	fprintf(out, "%s{", indent);
	error = dump(out, json, JSON_EMBED);
	fputs(",\"queues\":[", out);
	if (!error)
		error = print_queues(out, process, indent);
	fputs("]}", out);
	json_decref(json);
	gp_doc_free(doc);
	return error ? error : ferror(out) ? -EIO : 0;
}

int gp_cli_find_print_json(FILE *out, const struct gp_inspect_find_result *result, bool list)
{
	int error = 0;

	if (list)
		putc('[', out);
	for (size_t i = 0; i < result->count && !error; i++) {
		if (list)
			fputs(i ? ",\n" : "\n", out);
		error = print_process(out, &result->processes[i], i ? NULL : result,
				      list ? "  " : "");
	}
	if (list)
		fputs(result->count ? "\n]" : "]", out);
	putc('\n', out);
	return error;
}
