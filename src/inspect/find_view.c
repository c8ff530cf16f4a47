// SPDX-License-Identifier: MIT
/* The queues of a process as a table, as JSON and as the design documents' Python file. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "inspect/find.h"

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

static const char *const priority_names[] = {"low", "normal", "high"};

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

static bool known(const struct gp_inspect_find_queue *queue, enum gp_inspect_find_fact fact)
{
	return queue->from[fact] != GP_FROM_NOWHERE;
}

static const char *priority_name(u32 priority)
{
	return priority < GP_ARRAY_SIZE(priority_names) ? priority_names[priority] : NULL;
}

/* What the log's address is: settled by the live system, by the era, or not at all. */
static const char *address_kind_name(const struct gp_inspect_find_queue *queue)
{
	if (!queue->logged || queue->address_kind == GP_ADDRESS_UNKNOWN)
		return NULL;
	return queue->address_kind == GP_ADDRESS_RING ? "ring" : "object";
}

/* "0,1,2" of the ids a queue may have. */
static void candidate_text(const struct gp_inspect_find_queue *queue, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < queue->candidate_count && i < GP_FIND_CANDIDATES_MAX; i++) {
		int more =
			snprintf(out + len, size - len, "%s%u", i ? "," : "", queue->candidates[i]);

		if (more < 0 || (size_t)more >= size - len)
			return;
		len += (size_t)more;
	}
	if (queue->candidate_count > GP_FIND_CANDIDATES_MAX)
		snprintf(out + len, size - len, ",...");
}

/* Facts that are plain numbers. */
static bool fact_number(const struct gp_inspect_find_queue *queue, enum gp_inspect_find_fact fact,
			u64 *value)
{
	switch (fact) {
	case GP_FIND_KFD_ID:
		*value = queue->kfd_id;
		return true;
	case GP_FIND_HSA_ID:
		*value = queue->hsa_id;
		return true;
	case GP_FIND_SIZE:
		*value = queue->size;
		return true;
	case GP_FIND_KFD_PRIORITY:
		*value = queue->kfd_priority;
		return true;
	case GP_FIND_STREAMS:
		*value = queue->streams;
		return true;
	case GP_FIND_DISPATCHES:
		*value = queue->dispatches;
		return true;
	case GP_FIND_BARRIERS:
		*value = queue->barriers;
		return true;
	case GP_FIND_RPTR:
		*value = queue->rptr;
		return true;
	case GP_FIND_WPTR:
		*value = queue->wptr;
		return true;
	case GP_FIND_BACKLOG:
		*value = queue->backlog;
		return true;
	default:
		return false;
	}
}

/* One fact as text; false when it is unknown. Times of the log's clock are shown in seconds. */
static bool fact_text(const struct gp_inspect_find_queue *queue, enum gp_inspect_find_fact fact,
		      char *out, size_t size)
{
	const char *word = "";
	u64 number;

	if (!known(queue, fact))
		return false;
	if (fact_number(queue, fact, &number)) {
		snprintf(out, size, "%" PRIu64, number);
		return true;
	}
	if (fact == GP_FIND_RING)
		snprintf(out, size, "0x%" PRIx64, queue->ring);
	else if (fact == GP_FIND_OBJECT)
		snprintf(out, size, "0x%" PRIx64, queue->object);
	else if (fact == GP_FIND_GPU)
		snprintf(out, size, "%x", queue->gpu_id);
	else if (fact == GP_FIND_USE)
		snprintf(out, size, "%.6f..%.6f", (double)queue->first_ns / 1e9,
			 (double)queue->last_ns / 1e9);
	else if (fact == GP_FIND_TYPE)
		word = gp_kfd_queue_type_name(queue->type);
	else if (fact == GP_FIND_PRIORITY)
		word = priority_name(queue->priority);
	else if (fact == GP_FIND_ACTIVE)
		word = queue->active ? _("yes") : _("no");
	if (word && *word)
		snprintf(out, size, "%s", word);
	return word != NULL;
}

static json_t *names_of_sources(const struct gp_inspect_find_queue *queue)
{
	json_t *json = json_object();

	for (int fact = 0; fact < GP_FIND_FACTS; fact++) {
		if (queue->from[fact])
			json_object_set_new(json, fact_names[fact],
					    json_string(source_names[queue->from[fact]]));
	}
	return json;
}

static json_t *queue_streams(const struct gp_inspect_find_queue *queue)
{
	json_t *json = json_array();

	for (size_t i = 0; i < queue->stream_count; i++)
		json_array_append_new(json, gp_json_hex(queue->stream_handles[i]));
	return json;
}

static json_t *queue_candidates(const struct gp_inspect_find_queue *queue)
{
	json_t *json = json_array();

	for (size_t i = 0; i < queue->candidate_count && i < GP_FIND_CANDIDATES_MAX; i++)
		json_array_append_new(json, json_integer(queue->candidates[i]));
	return json;
}

static json_t *optional_bool(bool is_known, bool value)
{
	return is_known ? json_boolean(value) : json_null();
}

static json_t *queue_json(const struct gp_inspect_find_queue *q)
{
	json_t *json = json_object();

#define GP_PUT(name, value) json_object_set_new(json, name, value)
	GP_PUT("ring", gp_json_hex_if(known(q, GP_FIND_RING), q->ring));
	GP_PUT("object", gp_json_hex_if(known(q, GP_FIND_OBJECT), q->object));
	GP_PUT("logged_address", gp_json_hex_if(q->logged, q->address));
	GP_PUT("logged_address_is", gp_json_str(address_kind_name(q)));
	GP_PUT("key", gp_json_str(key_names[q->key]));
	GP_PUT("kfd_id", gp_json_u64_if(known(q, GP_FIND_KFD_ID), q->kfd_id));
	GP_PUT("kfd_id_candidates", queue_candidates(q));
	GP_PUT("kfd_id_candidate_count", json_integer((json_int_t)q->candidate_count));
	GP_PUT("hsa_id", gp_json_u64_if(known(q, GP_FIND_HSA_ID), q->hsa_id));
	GP_PUT("gpu_id", gp_json_u64_if(known(q, GP_FIND_GPU), q->gpu_id));
	GP_PUT("type",
	       gp_json_str(known(q, GP_FIND_TYPE) ? gp_kfd_queue_type_name(q->type) : NULL));
	GP_PUT("size", gp_json_u64_if(known(q, GP_FIND_SIZE), q->size));
	GP_PUT("priority",
	       gp_json_str(known(q, GP_FIND_PRIORITY) ? priority_name(q->priority) : NULL));
	GP_PUT("kfd_priority", gp_json_u64_if(known(q, GP_FIND_KFD_PRIORITY), q->kfd_priority));
	GP_PUT("streams", gp_json_u64_if(known(q, GP_FIND_STREAMS), q->streams));
	GP_PUT("streams_max", gp_json_u64_if(known(q, GP_FIND_STREAMS), q->streams_max));
	GP_PUT("stream_handles", queue_streams(q));
	GP_PUT("dispatches", gp_json_u64_if(known(q, GP_FIND_DISPATCHES), q->dispatches));
	GP_PUT("barriers", gp_json_u64_if(known(q, GP_FIND_BARRIERS), q->barriers));
	GP_PUT("first_ns", gp_json_u64_if(known(q, GP_FIND_USE), q->first_ns));
	GP_PUT("last_ns", gp_json_u64_if(known(q, GP_FIND_USE), q->last_ns));
	GP_PUT("active", optional_bool(known(q, GP_FIND_ACTIVE), q->active));
	GP_PUT("failed", optional_bool(q->failed_known, q->failed));
	GP_PUT("rptr", gp_json_u64_if(known(q, GP_FIND_RPTR), q->rptr));
	GP_PUT("wptr", gp_json_u64_if(known(q, GP_FIND_WPTR), q->wptr));
	GP_PUT("backlog", gp_json_u64_if(known(q, GP_FIND_BACKLOG), q->backlog));
	GP_PUT("sources", names_of_sources(q));
#undef GP_PUT
	return json;
}

static json_t *input_json(const struct gp_inspect_find_input *input)
{
	const struct gp_trace_amdlog_stats *stats = &input->stats;
	bool all = !input->fast;

	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "file", gp_json_str(input->name),
			 "bytes", gp_json_u64_if(true, stats->bytes), "lines",
			 gp_json_u64_if(true, stats->lines), "recognised",
			 gp_json_u64_if(all, stats->recognised), "unknown",
			 gp_json_u64_if(all, stats->unknown), "torn",
			 gp_json_u64_if(all, stats->torn), "overlong",
			 gp_json_u64_if(all, stats->overlong), "without_pid",
			 gp_json_u64_if(all, stats->without_pid), "pid_from_name",
			 json_boolean(input->pid_from_name));
}

/* Everything of a process but its queues. */
static json_t *process_json(const struct gp_inspect_find_process *process,
			    const struct gp_inspect_find_result *result)
{
	const struct gp_process *p = &process->process;
	json_t *json = json_object(), *inputs = json_array();

	for (size_t i = 0; result && i < result->input_count; i++)
		json_array_append_new(inputs, input_json(&result->inputs[i]));
	json_object_set_new(json, "pid", gp_json_u64_if(process->pid_known, process->pid));
	json_object_set_new(json, "alive", json_boolean(process->alive));
	json_object_set_new(json, "comm", gp_json_str(*p->comm ? p->comm : NULL));
	json_object_set_new(json, "command", gp_json_str(*p->command ? p->command : NULL));
	json_object_set_new(json, "container",
			    process->contained ? gp_container_json(&process->container, p)
					       : json_null());
	json_object_set_new(json, "inputs", inputs);
	return json;
}

static int dump(FILE *out, json_t *json, size_t flags)
{
	int error = !json ? -ENOMEM : json_dumpf(json, out, JSON_COMPACT | flags) ? -EIO : 0;

	json_decref(json);
	return error;
}

int gp_inspect_find_print_json(FILE *out, const struct gp_inspect_find_process *process,
			       const struct gp_inspect_find_result *result, const char *indent)
{
	int error;

	fprintf(out, "%s{", indent);
	error = dump(out, process_json(process, result), JSON_EMBED);
	fputs(",\"queues\":[", out);
	for (size_t i = 0; i < process->count && !error; i++) {
		fprintf(out, "%s\n%s  ", i ? "," : "", indent);
		error = dump(out, queue_json(&process->queues[i]), 0);
	}
	fputs("]}", out);
	return error ? error : ferror(out) ? -EIO : 0;
}

static bool gave_something(const struct gp_inspect_find_queue *queue,
			   enum gp_inspect_find_source source)
{
	for (int fact = 0; fact < GP_FIND_FACTS; fact++) {
		if (queue->from[fact] == source)
			return true;
	}
	return false;
}

/* "log+mqd": every source that gave this row something, in a fixed order. */
static void sources_text(const struct gp_inspect_find_queue *queue, char *out, size_t size)
{
	out[0] = '\0';
	for (size_t source = GP_FROM_LOG; source < GP_FROM_MATCH; source++) {
		bool used = gave_something(queue, source);

		/* An id that was matched, or may be matched, is sysfs's. */
		if (source == GP_FROM_SYSFS)
			used |= queue->candidate_count || gave_something(queue, GP_FROM_MATCH);
		if (!used)
			continue;
		if (*out)
			strncat(out, "+", size - strlen(out) - 1);
		strncat(out, source_names[source], size - strlen(out) - 1);
	}
}

static void add_fact(struct gp_table *table, const struct gp_inspect_find_queue *queue,
		     enum gp_inspect_find_fact fact)
{
	char text[64];

	gp_table_cell(table, fact_text(queue, fact, text, sizeof(text)) ? text : NULL);
}

static void add_row(struct gp_table *table, const struct gp_inspect_find_queue *queue)
{
	char text[128];

	add_fact(table, queue, GP_FIND_RING);
	add_fact(table, queue, GP_FIND_OBJECT);
	/* An address of unknown kind is neither a ring nor an object, but it must be seen. */
	if (queue->logged && !address_kind_name(queue))
		gp_table_cellf(table, "0x%" PRIx64, queue->address);
	else
		gp_table_missing(table);
	if (queue->candidate_count) {
		candidate_text(queue, text, sizeof(text));
		gp_table_cellf(table, "? %s", text);
	} else {
		add_fact(table, queue, GP_FIND_KFD_ID);
	}
	add_fact(table, queue, GP_FIND_HSA_ID);
	add_fact(table, queue, GP_FIND_GPU);
	add_fact(table, queue, GP_FIND_TYPE);
	add_fact(table, queue, GP_FIND_SIZE);
	add_fact(table, queue, GP_FIND_PRIORITY);
	add_fact(table, queue, GP_FIND_STREAMS);
	add_fact(table, queue, GP_FIND_DISPATCHES);
	add_fact(table, queue, GP_FIND_BARRIERS);
	if (known(queue, GP_FIND_USE)) {
		gp_table_cellf(table, "%.6f", (double)queue->first_ns / 1e9);
		gp_table_cellf(table, "%.6f", (double)queue->last_ns / 1e9);
	} else {
		gp_table_missing(table);
		gp_table_missing(table);
	}
	add_fact(table, queue, GP_FIND_ACTIVE);
	gp_table_paint(table, !known(queue, GP_FIND_ACTIVE) ? GP_PLAIN
			      : queue->active               ? GP_GREEN
							    : GP_DIM);
	add_fact(table, queue, GP_FIND_RPTR);
	add_fact(table, queue, GP_FIND_WPTR);
	add_fact(table, queue, GP_FIND_BACKLOG);
	gp_table_cell(table, key_names[queue->key]);
	sources_text(queue, text, sizeof(text));
	gp_table_cell(table, text);
}

struct gp_table *gp_inspect_find_table(const struct gp_inspect_find_process *process)
{
	static const struct {
		const char *title;
		enum gp_align align;
		bool optional; /* left out when nothing in it is known */
	} columns[] = {
		{N_("RING"), GP_LEFT, false},
		{N_("OBJECT"), GP_LEFT, false},
		{N_("RING OR OBJECT"), GP_LEFT, true},
		{N_("KFD ID"), GP_RIGHT, false},
		{N_("HSA ID"), GP_RIGHT, false},
		{N_("GPU"), GP_LEFT, true},
		{N_("TYPE"), GP_LEFT, true},
		{N_("SIZE"), GP_RIGHT, true},
		{N_("PRIORITY"), GP_LEFT, true},
		{N_("STREAMS"), GP_RIGHT, true},
		{N_("DISPATCHES"), GP_RIGHT, true},
		{N_("BARRIERS"), GP_RIGHT, true},
		{N_("FIRST (s)"), GP_RIGHT, true},
		{N_("LAST (s)"), GP_RIGHT, true},
		{N_("ACTIVE"), GP_LEFT, false},
		{N_("RPTR"), GP_RIGHT, true},
		{N_("WPTR"), GP_RIGHT, true},
		{N_("BACKLOG"), GP_RIGHT, true},
		{N_("KEY"), GP_LEFT, true},
		{N_("SOURCES"), GP_LEFT, false},
	};
	struct gp_table *table = gp_table_new();

	for (size_t i = 0; i < GP_ARRAY_SIZE(columns); i++) {
		gp_table_column(table, gettext(columns[i].title), columns[i].align);
		if (columns[i].optional)
			gp_table_optional(table);
	}
	for (size_t i = 0; i < process->count; i++)
		add_row(table, &process->queues[i]);
	return table;
}

struct gp_table *gp_inspect_find_long_table(const struct gp_inspect_find_queue *queue)
{
	struct gp_table *table = gp_table_new();
	char text[128];

	gp_table_column(table, _("FACT"), GP_LEFT);
	gp_table_column(table, _("VALUE"), GP_LEFT);
	gp_table_column(table, _("SOURCE"), GP_LEFT);
	for (int fact = 0; fact < GP_FIND_FACTS; fact++) {
		gp_table_cell(table, fact_names[fact]);
		if (fact == GP_FIND_KFD_ID && queue->candidate_count) {
			candidate_text(queue, text, sizeof(text));
			gp_table_cellf(table, _("one of %s"), text);
			gp_table_cell(table, source_names[GP_FROM_SYSFS]);
			continue;
		}
		gp_table_cell(table, fact_text(queue, fact, text, sizeof(text)) ? text : NULL);
		gp_table_cell(table, source_names[queue->from[fact]]);
	}
	if (queue->logged) {
		gp_table_cell(table, "logged_address");
		gp_table_cellf(table, "0x%" PRIx64, queue->address);
		gp_table_cell(table, source_names[GP_FROM_LOG]);
	}
	gp_table_cell(table, "key");
	gp_table_cell(table, key_names[queue->key]);
	gp_table_missing(table);
	return table;
}

static void python_number(struct gp_buf *out, const char *name, bool is_known, u64 value)
{
	if (is_known)
		gp_buf_printf(out, "        '%s': %" PRIu64 ",\n", name, value);
	else
		gp_buf_printf(out, "        '%s': None,\n", name);
}

/* Only numbers and words of ours are written, so no log can make it anything but Python. */
int gp_inspect_find_python(const struct gp_inspect_find_process *process, struct gp_buf *out)
{
	gp_buf_printf(out,
		      "# queue_config_pid_%u.py\n"
		      "# 'queue_id' is the id= of the log: HSA's, not the driver's. Only\n"
		      "# 'kfd_queue_id' may be given to the driver.\n"
		      "queues = [\n",
		      process->pid);
	for (size_t i = 0; i < process->count; i++) {
		const struct gp_inspect_find_queue *q = &process->queues[i];
		bool ring = known(q, GP_FIND_RING);

		gp_buf_puts(out, "    {\n");
		if (q->logged || ring)
			gp_buf_printf(out, "        'addr': 0x%016" PRIx64 ",\n",
				      q->logged ? q->address : q->ring);
		else
			gp_buf_puts(out, "        'addr': None,\n");
		python_number(out, "queue_id", known(q, GP_FIND_HSA_ID), q->hsa_id);
		python_number(out, "pid", process->pid_known, process->pid);
		gp_buf_printf(out, "        'is_active': %s,\n",
			      !known(q, GP_FIND_ACTIVE) ? "None"
			      : q->active               ? "True"
							: "False");
		python_number(out, "kfd_queue_id", known(q, GP_FIND_KFD_ID), q->kfd_id);
		python_number(out, "hsa_id", known(q, GP_FIND_HSA_ID), q->hsa_id);
		if (key_names[q->key])
			gp_buf_printf(out, "        'key': '%s',\n", key_names[q->key]);
		else
			gp_buf_puts(out, "        'key': None,\n");
		gp_buf_puts(out, "    },\n");
	}
	gp_buf_puts(out, "]\n");
	return out->error;
}
