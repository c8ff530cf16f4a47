// SPDX-License-Identifier: MIT
/* The CREATE_QUEUE analysis as a report. */
#include <stdlib.h>

#include "base/i18n.h"
#include "trace/analyse/kfdqueues.h"

/* Pairs of processes shown; the rest is neither shown nor counted. */
#define PAIRS_SHOWN 64
_Static_assert(PAIRS_SHOWN == 64, "the label of their number says so");
/* With more processes, pairs are not compared. */
#define PROCESSES_PAIRED 2000

static struct gp_show_value pid_of(bool known, u32 pid)
{
	return gp_v_if(known, gp_v_count(pid));
}

static struct gp_show_value hash_word(enum gp_trace_pid_hash hash)
{
	switch (hash) {
	case GP_HASH_MATCH:
		return gp_v_word("match", _("yes"));
	case GP_HASH_STOCK:
		return gp_v_word("stock", _("no: counted from 0, as in the stock driver"));
	case GP_HASH_OTHER:
		return gp_v_word("other", _("no"));
	case GP_HASH_UNKNOWN:
		break;
	}
	return gp_v_missing();
}

static struct gp_show_value reading_word(enum gp_trace_offset_reading reading)
{
	switch (reading) {
	case GP_OFFSET_BYTES:
		return gp_v_word("bytes-in-slice",
				 _("bytes within the doorbell slice of the process"));
	case GP_OFFSET_SLICE:
		return gp_v_word("absolute-dwords", _("dwords from the start of the BAR"));
	case GP_OFFSET_UNKNOWN:
		return gp_v_word("unknown", _("unknown (matches neither driver layout)"));
	case GP_OFFSET_NONE:
		break;
	}
	return gp_v_missing();
}

static void put_processes(struct gp_doc *doc, const struct gp_trace_kfd_process *processes,
			  size_t count)
{
	gp_doc_section(doc, "processes", "Processes");
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "pid", "PID");
	gp_doc_column(doc, "queues", "QUEUES");
	gp_doc_column(doc, "id_low", "LOWEST ID");
	gp_doc_column(doc, "id_high", "HIGHEST ID");
	gp_doc_column(doc, "pid_mod_256", "PID % 256");
	gp_doc_column(doc, "hash_base", "(PID % 256) x 4");
	gp_doc_column(doc, "pid_hash", "IDS FROM PID");
	gp_doc_column(doc, "offset_low", "LOWEST DOORBELL OFFSET");
	gp_doc_column(doc, "offset_high", "HIGHEST DOORBELL OFFSET");
	gp_doc_column(doc, "offset_meaning", "OFFSET UNIT");
	gp_doc_column(doc, "slice", "DOORBELL SLICE");
	for (size_t i = 0; i < count; i++) {
		const struct gp_trace_kfd_process *p = &processes[i];
		u64 index = p->pid % GP_PID_HASH_PROCESSES;

		gp_doc_cell(doc, pid_of(p->has_pid, p->pid));
		gp_doc_cell(doc, gp_v_count(p->count));
		gp_doc_cell(doc, gp_v_count(p->id_low));
		gp_doc_cell(doc, gp_v_count(p->id_high));
		gp_doc_cell(doc, gp_v_if(p->has_pid, gp_v_count(index)));
		gp_doc_cell(doc, gp_v_if(p->has_pid, gp_v_count(index * GP_PID_HASH_QUEUES)));
		gp_doc_cell(doc, hash_word(p->hash));
		gp_doc_cell(doc, gp_v_if(p->has_offsets, gp_v_hex(p->offset_low)));
		gp_doc_cell(doc, gp_v_if(p->has_offsets, gp_v_hex(p->offset_high)));
		gp_doc_cell(doc, reading_word(p->reading));
		gp_doc_cell(doc, gp_v_if(p->has_slice, gp_v_count(p->slice)));
	}
}

static void put_queues(struct gp_doc *doc, const struct gp_trace_kfd_queue *queues, size_t count)
{
	gp_doc_section(doc, "queues", "Queues");
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "pid", "PID");
	gp_doc_column(doc, "kfd_id", "KFD ID");
	gp_doc_column(doc, "type", "TYPE");
	gp_doc_column(doc, "gpu_id", "GPU ID");
	gp_doc_column(doc, "doorbell_offset_in_process", "DOORBELL OFFSET IN PROCESS");
	gp_doc_column(doc, "doorbell_offset", "DOORBELL OFFSET IN BAR");
	gp_doc_column(doc, "doorbell_id", "DOORBELL ID");
	gp_doc_column(doc, "pasid", "PASID");
	gp_doc_column(doc, "ring", "RING");
	gp_doc_column(doc, "created_ns", "CREATED");
	gp_doc_column(doc, "destroyed", "DESTROYED");
	gp_doc_column(doc, "line", "LINE");
	for (size_t i = 0; i < count; i++) {
		const struct gp_trace_kfd_queue *q = &queues[i];
		bool on_bar = q->valid & GP_KQ_ABSOLUTE;
		u64 doorbell = on_bar ? q->absolute % GP_DOORBELL_SLICE_DWORDS / GP_DOORBELL_DWORDS
				      : q->doorbell_id;

		gp_doc_cell(doc, pid_of(q->valid & GP_KQ_PID, q->pid));
		gp_doc_cell(doc, gp_v_count(q->id));
		gp_doc_cell(doc, gp_v_if(q->valid & GP_KQ_TYPE, gp_v_count(q->type)));
		gp_doc_cell(doc, gp_v_if(q->valid & GP_KQ_GPU, gp_v_hex(q->gpu)));
		gp_doc_cell(doc, gp_v_if(q->valid & GP_KQ_IN_PROCESS, gp_v_hex(q->in_process)));
		gp_doc_cell(doc, gp_v_if(on_bar, gp_v_hex(q->absolute)));
		gp_doc_cell(doc, gp_v_if(on_bar || q->valid & GP_KQ_DOORBELL_ID,
					 gp_v_count(q->valid & GP_KQ_DOORBELL_ID ? q->doorbell_id
										 : doorbell)));
		gp_doc_cell(doc, gp_v_if(q->valid & GP_KQ_PASID, gp_v_count(q->pasid)));
		gp_doc_cell(doc, gp_v_if(q->valid & GP_KQ_RING, gp_v_hex(q->ring)));
		gp_doc_cell(doc, gp_v_if(q->valid & GP_KQ_CREATED, gp_v_ns(q->created_ns)));
		gp_doc_cell(doc, gp_v_bool(!!(q->valid & GP_KQ_DESTROYED)));
		gp_doc_cell(doc, gp_v_count(q->line));
	}
}

struct pair {
	bool ids, offsets, slice;
};

static struct pair compare(const struct gp_trace_kfd_process *a,
			   const struct gp_trace_kfd_process *b)
{
	return (struct pair){
		.ids = a->id_low <= b->id_high && b->id_low <= a->id_high,
		.offsets = a->has_offsets && b->has_offsets && a->reading == b->reading &&
			   a->offset_low <= b->offset_high && b->offset_low <= a->offset_high,
		.slice = a->has_slice && b->has_slice && a->slice == b->slice,
	};
}

static struct gp_show_value pair_word(const struct gp_trace_kfd_process *a,
				      const struct gp_trace_kfd_process *b, const struct pair *pair)
{
	if (pair->slice && (!a->alive || !b->alive))
		return gp_v_word("slice-reused", _("same doorbell slice, reused after the first "
						   "process destroyed its queues"));
	if (pair->slice)
		return gp_v_word("same-slice", _("same doorbell slice: the first process must have "
						 "ended before the second started"));
	if (pair->offsets)
		return gp_v_word("separate",
				 _("no conflict: each process has its own doorbell slice"));
	return gp_v_word("separate", _("no conflict: queue ids are per process"));
}

/* Pairs that have anything in common; returns how many there are. */
static size_t put_pairs(struct gp_doc *doc, const struct gp_trace_kfd_process *processes,
			size_t count)
{
	size_t shown = 0;

	if (count > PROCESSES_PAIRED)
		count = PROCESSES_PAIRED;
	gp_doc_section(doc, "overlaps", "Overlaps");
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "pid_a", "PROCESS");
	gp_doc_column(doc, "pid_b", "OTHER PROCESS");
	gp_doc_column(doc, "ids", "IDS OVERLAP");
	gp_doc_column(doc, "offsets", "OFFSETS OVERLAP");
	gp_doc_column(doc, "slice", "SAME DOORBELL SLICE");
	gp_doc_column(doc, "meaning", "MEANING");
	for (size_t i = 0; i < count; i++) {
		for (size_t k = i + 1; k < count && shown < PAIRS_SHOWN; k++) {
			const struct gp_trace_kfd_process *a = &processes[i], *b = &processes[k];
			struct pair pair = compare(a, b);

			if (!a->has_pid || !(pair.ids || pair.offsets || pair.slice))
				continue;
			shown++;
			gp_doc_cell(doc, pid_of(a->has_pid, a->pid));
			gp_doc_cell(doc, pid_of(b->has_pid, b->pid));
			gp_doc_cell(doc, gp_v_bool(pair.ids));
			gp_doc_cell(doc, gp_v_bool(pair.offsets));
			gp_doc_cell(doc,
				    gp_v_if(a->has_slice && b->has_slice, gp_v_bool(pair.slice)));
			gp_doc_cell(doc, pair_word(a, b, &pair));
		}
	}
	return shown;
}

static void put_meaning(struct gp_doc *doc, const struct gp_trace_kfd_process *processes,
			size_t count, size_t pairs)
{
	size_t matches = 0, hashed = 0;

	for (size_t i = 0; i < count; i++) {
		hashed += processes[i].has_pid;
		matches += processes[i].hash == GP_HASH_MATCH && processes[i].id_low;
	}
	gp_doc_section(doc, "meaning", "Meaning");
	gp_doc_fact(doc, "pid_hash_matches", "Processes whose queue ids start at (pid % 256) x 4",
		    gp_v_count(matches));
	gp_doc_fact(doc, "processes_with_pid", "Processes with a known pid", gp_v_count(hashed));
	gp_doc_fact(doc, "overlapping_pairs",
		    "Process pairs with overlaps (the first 64 are listed)", gp_v_count(pairs));
	for (size_t i = 0; i < count; i++) {
		const struct gp_trace_kfd_process *p = &processes[i];

		if (p->reading == GP_OFFSET_SLICE && p->step_low == GP_DOORBELL_BYTES)
			gp_doc_note(
				doc,
				_("Process %u: the first offset is the start of a doorbell slice "
				  "in dwords, but the offsets increase by 8, which is the size of "
				  "a doorbell in bytes: the trace mixes dwords and bytes."),
				p->pid);
	}
	gp_doc_note(doc,
		    "Queue ids are assigned per process: queue 0 of one process and queue 0 of "
		    "another are different queues, so ids need not be derived from the pid.");
	gp_doc_note(doc, "The offset of a doorbell is 0x800 + doorbell slice x 0x800 + doorbell id "
			 "x 2 dwords, with one doorbell slice per process and device: doorbells of "
			 "two live processes cannot overlap.");
	gp_doc_note(doc, "With the hardware scheduler, the pipe and queue in these messages do not "
			 "identify the slot: the firmware chooses it.");
}

struct gp_doc *gp_trace_kfd_queues_doc(const struct gp_trace_kfd_queues *queues)
{
	struct gp_doc *doc = gp_doc_new("queues-trace", "Queues in the driver trace");
	size_t queue_count, process_count, pairs;
	const struct gp_trace_kfd_queue *items = gp_trace_kfd_queues_items(queues, &queue_count);
	const struct gp_trace_kfd_process *processes =
		gp_trace_kfd_queues_processes(queues, &process_count);

	if (!doc)
		return NULL;
	put_processes(doc, processes, process_count);
	put_queues(doc, items, queue_count);
	pairs = put_pairs(doc, processes, process_count);
	put_meaning(doc, processes, process_count, pairs);
	return doc;
}
