// SPDX-License-Identifier: MIT
/* The summary of queue_finder and the Python file that it writes. */
#include <inttypes.h>

#include "base/i18n.h"
#include "cli/watch/documents.h"
#include "show/term.h"

#define GP_FRAME_WIDTH 64

static const char *yes_no(const struct gp_inspect_find_queue *q)
{
	if (q->from[GP_FIND_ACTIVE] == GP_FROM_NOWHERE)
		return "-";
	return q->active ? _("yes") : _("no");
}

static void add_frame(struct gp_doc *doc, const char *left, const char *right)
{
	struct gp_buf line = {0};

	for (int i = 0; i < GP_FRAME_WIDTH; i++)
		gp_buf_puts(&line, "═");
	gp_cli_line(doc, "%s%s%s", left, gp_buf_str(&line), right);
	gp_buf_free(&line);
}

struct gp_doc *gp_cli_queue_finder_doc(const struct gp_inspect_find_process *process)
{
	struct gp_doc *doc = gp_doc_new_answer();
	const char *title = _("Queue summary");
	int pad = GP_FRAME_WIDTH - 2 - (int)gp_term_width(title);

	add_frame(doc, "╔", "╗");
	gp_cli_line(doc, "║  %s%*s║", title, pad > 0 ? pad : 0, "");
	add_frame(doc, "╚", "╝");
	for (size_t i = 0; i < process->count; i++) {
		const struct gp_inspect_find_queue *q = &process->queues[i];

		gp_cli_line(doc, "%s", "");
		gp_doc_line(doc, "Queue #%zu:", i + 1);
		if (q->logged || q->from[GP_FIND_RING])
			gp_doc_line(doc, "  Address:  0x%016llx",
				    (unsigned long long)(q->logged ? q->address : q->ring));
		else
			gp_doc_line(doc, "  Address:  -");
		if (q->from[GP_FIND_HSA_ID])
			gp_doc_line(doc, "  Queue ID: %llu", (unsigned long long)q->hsa_id);
		else
			gp_doc_line(doc, "  Queue ID: -");
		if (q->from[GP_FIND_KFD_ID])
			gp_doc_line(doc, "  KFD ID:   %u", q->kfd_id);
		gp_doc_line(doc, "  PID:      %u", process->pid);
		gp_doc_line(doc, "  Active:   %s", yes_no(q));
	}
	gp_cli_line(doc, "%s", "");
	gp_cli_line(doc, ngettext("Total: %zu queue", "Total: %zu queues", process->count),
		    process->count);
	return doc;
}

static void python_number(struct gp_buf *out, const char *name, bool known, u64 value)
{
	if (known)
		gp_buf_printf(out, "        '%s': %" PRIu64 ",\n", name, value);
	else
		gp_buf_printf(out, "        '%s': None,\n", name);
}

/* Writes only numbers and words of ours, so that no log can make it anything but Python. */
int gp_cli_queue_finder_python(const struct gp_inspect_find_process *process, struct gp_buf *out)
{
	gp_buf_printf(out,
		      "# queue_config_pid_%u.py\n"
		      "# 'queue_id' is the id= of the log: HSA's, not the driver's. Only\n"
		      "# 'kfd_queue_id' may be given to the driver.\n"
		      "queues = [\n",
		      process->pid);
	for (size_t i = 0; i < process->count; i++) {
		const struct gp_inspect_find_queue *q = &process->queues[i];
		const char *key = gp_cli_find_key_name(q->key);

		gp_buf_puts(out, "    {\n");
		if (q->logged || q->from[GP_FIND_RING])
			gp_buf_printf(out, "        'addr': 0x%016" PRIx64 ",\n",
				      q->logged ? q->address : q->ring);
		else
			gp_buf_puts(out, "        'addr': None,\n");
		python_number(out, "queue_id", q->from[GP_FIND_HSA_ID], q->hsa_id);
		python_number(out, "pid", process->pid_known, process->pid);
		gp_buf_printf(out, "        'is_active': %s,\n",
			      !q->from[GP_FIND_ACTIVE] ? "None"
			      : q->active              ? "True"
						       : "False");
		python_number(out, "kfd_queue_id", q->from[GP_FIND_KFD_ID], q->kfd_id);
		python_number(out, "hsa_id", q->from[GP_FIND_HSA_ID], q->hsa_id);
		gp_buf_printf(out, "        'key': %s%s%s,\n    },\n", key ? "'" : "",
			      key ? key : "None", key ? "'" : "");
	}
	gp_buf_puts(out, "]\n");
	return out->error;
}
