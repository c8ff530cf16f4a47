// SPDX-License-Identifier: MIT
/* The answers, each with its evidence. */
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "trace/analyse/inquiry.h"

#define STEPS_SHOWN 15

const char *gp_trace_inquiry_file(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "ftrace.txt:13"; nothing for line 0. */
static struct gp_show_value place(const char *file, u64 line, char *out, size_t size)
{
	if (!line)
		return gp_v_missing();
	snprintf(out, size, "%s:%llu", gp_trace_inquiry_file(file), (unsigned long long)line);
	return gp_v_text(out);
}

static struct gp_show_value absent(void)
{
	return gp_v_word("absent", _("not in this data"));
}

static void answer(struct gp_doc *doc, const char *code, const char *what,
		   struct gp_show_value value, struct gp_show_value evidence)
{
	gp_doc_cell(doc, gp_v_word(code, what));
	gp_doc_cell(doc, value.unit == GP_UNIT_MISSING ? absent() : value);
	gp_doc_cell(doc, evidence);
}

static void open_question(struct gp_doc *doc, const char *key, const char *title)
{
	gp_doc_section(doc, key, title);
	gp_doc_table(doc, "answers", NULL);
	gp_doc_column(doc, "item", "ITEM");
	gp_doc_column(doc, "answer", "ANSWER");
	gp_doc_column(doc, "evidence", "EVIDENCE");
}

/* How often a function ran, and where first. */
static void count_answer(const struct gp_trace_inquiry *q, struct gp_doc *doc, const char *code,
			 const char *what, enum gp_trace_match match, const char *name)
{
	const struct gp_trace_function_use *first = NULL;
	u64 count = gp_trace_kfdpath_count(&q->path, match, name, &first);
	char text[256];

	/* A function that was not traced is not seen either: that is no 0. */
	answer(doc, code, what,
	       !q->path.function_count ? gp_v_missing()
	       : count                 ? gp_v_count(count)
				       : gp_v_word("not-seen", _("not seen")),
	       first ? place(q->inputs[first->input]->name, first->line, text, sizeof(text))
		     : gp_v_missing());
}

static void time_answer(const struct gp_trace_inquiry *q, struct gp_doc *doc, const char *code,
			const char *what, const char *function)
{
	const struct gp_trace_function_use *use = gp_trace_kfdpath_find(&q->path, function);
	bool known = use && use->timed;
	char text[256];

	answer(doc, code, what, gp_v_if(known, gp_v_ns(known ? use->total_ns / use->timed : 0)),
	       known ? place(q->inputs[use->input]->name, use->line, text, sizeof(text))
		     : gp_v_missing());
}

/* What the logs of the runtime say together. A place of 0 lines: nothing was there. */
struct logs {
	const char *created, *packet, *priority; /* the first file with each */
	u64 created_line, packet_line, priority_line;
	u64 queues, creations, creation_ns, packets;
	bool has_packets;
};

static void note_place(const char **name, u64 *line, const struct gp_trace_inquiry_input *input,
		       u64 there)
{
	if (*line || !there)
		return;
	*name = input->name;
	*line = there;
}

static struct logs all_logs(const struct gp_trace_inquiry *q)
{
	struct logs logs = {0};

	for (size_t i = 0; i < q->count; i++) {
		const struct gp_trace_inquiry_input *input = q->inputs[i];

		if (input->kind != GP_SOURCE_AMDLOG)
			continue;
		note_place(&logs.created, &logs.created_line, input, input->created_line);
		note_place(&logs.packet, &logs.packet_line, input, input->packet_line);
		note_place(&logs.priority, &logs.priority_line, input, input->priority_line);
		logs.queues += input->anchor_count;
		logs.creations += input->creations;
		logs.creation_ns += input->creation_ns;
		logs.packets += input->workload->dispatches + input->workload->barriers;
		logs.has_packets |= gp_trace_workload_has_packets(input->workload);
	}
	return logs;
}

static void put_steps(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	u32 chosen[STEPS_SHOWN];

	gp_doc_table(doc, "steps", "Time in Linux kernel functions during queue creation");
	gp_doc_column(doc, "function", "FUNCTION");
	gp_doc_column(doc, "entered", "CALLS");
	gp_doc_column(doc, "own_ns", "SELF TIME");
	gp_doc_bars(doc);
	for (size_t n = 0; n < STEPS_SHOWN; n++) {
		const struct gp_trace_function_use *best = NULL;

		for (size_t i = 0; i < q->path.function_count; i++) {
			const struct gp_trace_function_use *use = &q->path.functions[i];
			bool taken = false;

			for (size_t k = 0; k < n; k++)
				taken |= chosen[k] == use->name;
			if (!taken && use->inside && (!best || use->inside_ns > best->inside_ns))
				best = use;
		}
		if (!best)
			break;
		chosen[n] = best->name;
		gp_doc_cell(doc, gp_v_text(q->path.names.items[best->name].text));
		gp_doc_cell(doc, gp_v_count(best->inside));
		gp_doc_cell(doc, gp_v_ns(best->inside_ns));
	}
}

static void put_creation(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	struct logs logs = all_logs(q);
	const struct gp_trace_kfdpath *path = &q->path;
	const struct gp_trace_creation *longest = path->creation_count ? &path->longest : NULL;
	u64 whole = path->creation_ended, sum = path->creation_ns;
	char text[256];
	size_t kfd;

	gp_trace_kfd_queues_items(q->queues, &kfd);
	open_question(doc, "creation", _("1. How is a queue created, and how long does it take?"));
	answer(doc, "runtime", _("queues created by the runtime"),
	       gp_v_if(logs.queues, gp_v_count(logs.queues)),
	       place(logs.created, logs.created_line, text, sizeof(text)));
	answer(doc, "runtime_ns",
	       _("time per creation in the runtime, mean (since the previous log line of the "
		 "thread)"),
	       gp_v_if(logs.creations, gp_v_ns(logs.creation_ns / GP_MAX(logs.creations, 1u))),
	       logs.creations ? place(logs.created, logs.created_line, text, sizeof(text))
			      : gp_v_missing());
	answer(doc, "driver", _("queue creations in the driver"),
	       gp_v_if(path->creation_count || kfd,
		       gp_v_count(path->creation_count ? path->creation_count : kfd)),
	       path->creation_count ? place(q->inputs[path->creations[0].input]->name,
					    path->creations[0].line, text, sizeof(text))
				    : gp_v_missing());
	answer(doc, "driver_ns", _("time per creation in the driver, mean"),
	       gp_v_if(path->creation_count,
		       gp_v_ns(path->creation_count ? sum / path->creation_count : 0)),
	       path->creation_count ? place(q->inputs[path->creations[0].input]->name,
					    path->creations[0].line, text, sizeof(text))
				    : gp_v_missing());
	answer(doc, "driver_longest_ns", _("time per creation in the driver, longest"),
	       gp_v_if(longest, gp_v_ns(longest ? longest->length_ns : 0)),
	       longest ? place(q->inputs[longest->input]->name, longest->line, text, sizeof(text))
		       : gp_v_missing());
	count_answer(q, doc, "slot", _("searches for a free queue id (find_available_queue_slot)"),
		     GP_MATCH_NAME, "find_available_queue_slot");
	count_answer(q, doc, "runlist", _("runlists sent"), GP_MATCH_NAME, "pm_send_runlist");
	if (path->creation_count)
		put_steps(q, doc);
	if (path->creation_count > whole)
		gp_doc_note(doc,
			    ngettext("The end of %llu queue creation is missing from the trace; "
				     "the times above include only the recorded part.",
				     "The ends of %llu queue creations are missing from the trace; "
				     "the times above include only the recorded part.",
				     (unsigned long)(path->creation_count - whole)),
			    (unsigned long long)(path->creation_count - whole));
}

static void put_mqd(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	open_question(doc, "mqd", _("2. What happens to the MQD?"));
	count_answer(q, doc, "allocated", _("allocated (allocate_mqd)"), GP_MATCH_START,
		     "allocate_mqd");
	count_answer(q, doc, "initialised", _("initialised (init_mqd)"), GP_MATCH_START,
		     "init_mqd");
	count_answer(q, doc, "updated", _("updated (update_mqd)"), GP_MATCH_START, "update_mqd");
	count_answer(q, doc, "loaded", _("loaded into a slot by the driver (load_mqd)"),
		     GP_MATCH_START, "load_mqd");
	count_answer(q, doc, "mapped", _("runlist passed to the scheduler (map_queues_cpsch)"),
		     GP_MATCH_NAME, "map_queues_cpsch");
	count_answer(q, doc, "any", _("calls to functions named *mqd*"), GP_MATCH_PART, "mqd");
	answer(doc, "contents", _("contents of the MQD"), gp_v_missing(), gp_v_missing());
	gp_doc_note(doc, "With the hardware scheduler, the driver does not load the MQDs of user "
			 "queues: the runlist points to them, and the firmware loads them. "
			 "'gpreempt mqd' decodes MQDs.");
}

/* Queues that the runtime aborted, each with the line that says so. */
static void put_aborted(struct gp_doc *doc, const struct gp_trace_inquiry_input *input,
			const struct gp_trace_log_queue *rows, size_t count)
{
	char label[256], text[256];

	for (size_t i = 0; i < count; i++) {
		const struct gp_trace_failure *failure = &rows[i].failure;

		if (!rows[i].failed)
			continue;
		snprintf(label, sizeof(label), _("%s: queue 0x%llx aborted"),
			 gp_trace_inquiry_file(input->name), (unsigned long long)rows[i].address);
		answer(doc, "aborted", label,
		       failure->error[0] ? gp_v_text(failure->error) : gp_v_bool(true),
		       place(input->name, failure->line, text, sizeof(text)));
	}
}

static void put_use(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	char text[256];
	size_t logs = 0;
	bool silent = false;

	open_question(doc, "use", _("3. Which queues does each workload use?"));
	for (size_t i = 0; i < q->count; i++) {
		const struct gp_trace_inquiry_input *input = q->inputs[i];
		const struct gp_trace_log_queue *rows;
		char label[256];
		size_t count, multiple = 0;

		if (input->kind != GP_SOURCE_AMDLOG)
			continue;
		logs++;
		silent |= !gp_trace_workload_has_packets(input->workload);
		rows = gp_trace_log_queues_items(input->workload->queues, &count);
		for (size_t k = 0; k < count; k++)
			multiple += rows[k].valid & GP_LQ_STREAMS && rows[k].streams_max > 1;
		snprintf(label, sizeof(label), _("%s: compute queues"),
			 gp_trace_inquiry_file(input->name));
		answer(doc, "queues", label, gp_v_count(count),
		       place(input->name, input->created_line, text, sizeof(text)));
		snprintf(label, sizeof(label), _("%s: compute queues shared by several streams"),
			 gp_trace_inquiry_file(input->name));
		answer(doc, "shared", label, gp_v_count(multiple),
		       place(input->name, input->created_line, text, sizeof(text)));
		put_aborted(doc, input, rows, count);
		snprintf(label, sizeof(label), _("%s: copies by the copy engines"),
			 gp_trace_inquiry_file(input->name));
		answer(doc, "copies", label,
		       gp_v_if(gp_trace_workload_has_copies(input->workload),
			       gp_v_count(input->workload->copies)),
		       place(input->name, input->copy_line, text, sizeof(text)));
		snprintf(label, sizeof(label), _("%s: kernels submitted"),
			 gp_trace_inquiry_file(input->name));
		answer(doc, "kernels", label,
		       gp_v_if(gp_trace_workload_has_packets(input->workload),
			       gp_v_count(input->workload->dispatches)),
		       place(input->name, input->packet_line, text, sizeof(text)));
	}
	if (silent)
		gp_doc_note(doc, "Packets are logged only at AMD_LOG_LEVEL=4 or higher (5 with "
				 "ROCm 7.1 or later).");
	if (!logs)
		answer(doc, "queues", _("compute queues"), gp_v_missing(), gp_v_missing());
	gp_doc_note(doc, "'gpreempt compare A B' compares two workloads.");
}

static void put_doorbell(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	struct logs logs = all_logs(q);
	char text[256];

	open_question(doc, "doorbell", _("4. Are doorbells used, and can they be seen?"));
	answer(doc, "packets", _("packets submitted by the runtime"),
	       gp_v_if(logs.has_packets, gp_v_count(logs.packets)),
	       place(logs.packet, logs.packet_line, text, sizeof(text)));
	count_answer(q, doc, "allocated",
		     _("doorbells allocated by the driver (allocate_doorbell)"), GP_MATCH_START,
		     "allocate_doorbell");
	count_answer(q, doc, "kernel", _("doorbell writes by the driver (write_kernel_doorbell)"),
		     GP_MATCH_START, "write_kernel_doorbell");
	count_answer(q, doc, "ioctls", _("KFD ioctls"), GP_MATCH_NAME, "kfd_ioctl");
	gp_doc_note(doc, "A program rings a doorbell with a memory write, which ftrace cannot see. "
			 "The driver itself rings only the doorbell of the HIQ, the queue for its "
			 "commands to the scheduler.");
}

/* A call with no active runlist returns at once: it is not an unmap. */
static void put_unmaps(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	const struct gp_trace_unmaps *unmaps = &q->path.unmaps;
	char text[256];
	struct gp_show_value evidence = unmaps->count ? place(q->inputs[unmaps->input]->name,
							      unmaps->line, text, sizeof(text))
						      : gp_v_missing();

	count_answer(q, doc, "unmap_calls", _("calls to unmap_queues_cpsch"), GP_MATCH_NAME,
		     "unmap_queues_cpsch");
	time_answer(q, doc, "unmap_call_ns", _("time per call, mean"), "unmap_queues_cpsch");
	answer(doc, "unmaps", _("calls that unmapped queues"),
	       gp_v_if(unmaps->known, gp_v_count(unmaps->count)), evidence);
	answer(doc, "unmap_ns", _("time per unmap, mean"),
	       gp_v_if(unmaps->timed,
		       gp_v_ns(unmaps->timed ? unmaps->total_ns / unmaps->timed : 0)),
	       evidence);
}

static void put_preemption(const struct gp_trace_inquiry *q, struct gp_doc *doc)
{
	struct logs logs = all_logs(q);
	char text[256];

	open_question(doc, "preemption", _("5. Can work be preempted?"));
	answer(doc, "priorities", _("high or low queue priority used"),
	       gp_v_if(logs.created_line, gp_v_bool(logs.priority_line)),
	       place(logs.priority, logs.priority_line, text, sizeof(text)));
	put_unmaps(q, doc);
	time_answer(q, doc, "fence_ns",
		    _("time per wait for the GPU, mean (amdkfd_fence_wait_timeout)"),
		    "amdkfd_fence_wait_timeout");
	count_answer(q, doc, "suspends",
		     _("suspensions through the debug interface (suspend_queues)"), GP_MATCH_NAME,
		     "suspend_queues");
	time_answer(q, doc, "suspend_ns", _("time to suspend, mean (suspend_queues)"),
		    "suspend_queues");
	count_answer(q, doc, "evictions",
		     _("process evictions by the driver (evict_process_queues)"), GP_MATCH_START,
		     "evict_process_queues");
	gp_doc_note(doc,
		    "Stream priorities order waiting work and do not stop running work. Suspending "
		    "a process through KFD stops its running work: the driver unmaps all queues of "
		    "the device and maps those of the other processes again.");
}

void gp_trace_inquiry_questions(const struct gp_trace_inquiry *inquiry, struct gp_doc *doc)
{
	put_creation(inquiry, doc);
	put_mqd(inquiry, doc);
	put_use(inquiry, doc);
	put_doorbell(inquiry, doc);
	put_preemption(inquiry, doc);
}
