/* SPDX-License-Identifier: MIT */
/*
 * Analysis: five questions, answered from any mix of files: how a queue is created and how long
 * each step takes, what happens to its MQD, which queues a workload uses, whether doorbells can be
 * seen, and whether work can be preempted. Every answer names the line it is based on, or says that
 * the data does not contain it.
 */
#ifndef GP_TRACE_ANALYSE_INQUIRY_H
#define GP_TRACE_ANALYSE_INQUIRY_H

#include "base/diag.h"
#include "trace/read/clocks.h"
#include "show/doc.h"
#include "trace/analyse/kfdpath.h"
#include "trace/analyse/kfdqueues.h"
#include "trace/read/source.h"
#include "trace/analyse/submission.h"
#include "trace/analyse/workload.h"

/* Creations of a log that are kept as anchors between clocks. */
#define GP_INQUIRY_ANCHORS 1024

struct gp_trace_inquiry_input {
	char *name;
	enum gp_trace_source_kind kind;
	enum gp_trace_clock clock;
	u32 clocks; /* of its events that have a time; one bit each */
	u64 events;
	u64 lost, gaps; /* what the source itself says is missing */
	u64 damaged;
	u64 jumps;                          /* times that go back */
	struct gp_trace_workload *workload; /* AMD logs */
	u64 created_line, packet_line;      /* first queue created, first packet */
	u64 copy_line;                      /* first copy by a copy engine */
	u64 priority_line, version_line;    /* first queue that is not of normal priority */
	u64 creations, creation_ns; /* with the line of the same thread before; sum of both */
	u64 anchors[GP_INQUIRY_ANCHORS];
	size_t anchor_count;
	u32 pid;
	/* private: when each thread wrote last, from which the time of a creation follows */
	struct gp_map thread_time;
	u64 *times;
	size_t time_count, time_capacity;
};

/* A row of a tool's list of processes. */
struct gp_trace_inquiry_process {
	u32 pid, input;
	u64 line, gpu, gpus, vram;
	u32 valid; /* GP_EV_GPU, GP_EV_COUNT (gpus), GP_EV_BYTES (vram) */
	char name[64], occupancy[16];
};

/* From the record of gpreempt. */
struct gp_trace_inquiry_decisions {
	u64 count, suspends, resumes, failed, observed;
	u64 held, held_ns, held_max_ns; /* resumes with a duration */
	u64 line;
	u32 input;
};

struct gp_trace_inquiry {
	struct gp_trace_inquiry_input **inputs;
	size_t count, capacity;
	enum gp_trace_clock trace_clock; /* of ftrace files */
	struct gp_trace_kfdpath path;
	struct gp_trace_kfd_queues *queues;
	struct gp_trace_submission submission;
	struct gp_trace_alignment alignment; /* AMD log = ftrace + offset */
	struct gp_trace_clocks clocks;
	struct gp_trace_inquiry_process *processes;
	size_t process_count, process_capacity;
	struct gp_trace_inquiry_decisions decisions;
	u64 hsakmt_lines, hsakmt_calls, hsakmt_line;
	u32 hsakmt_input;
	/* Functions of kernel compute queues were traced: if none was seen, none ran. */
	bool kcq_traced;
	/* Called for every event as it is read; may be NULL. */
	gp_event_fn tap;
	void *tap_ctx;
};

int gp_trace_inquiry_init(struct gp_trace_inquiry *inquiry, enum gp_trace_clock trace_clock);
void gp_trace_inquiry_free(struct gp_trace_inquiry *inquiry);
/* Finds out what a seekable file is and reads it. 0, or -errno after an error message; -EINVAL if
 * the format is unknown. */
int gp_trace_inquiry_add(struct gp_trace_inquiry *inquiry, int fd, const char *name,
			 struct gp_diag *diag);
int gp_trace_inquiry_finish(struct gp_trace_inquiry *inquiry);
struct gp_doc *gp_trace_inquiry_doc(const struct gp_trace_inquiry *inquiry);

/* Inside: counts an event and hands it on; reads the current input, of one of the smaller kinds. */
int gp_trace_inquiry_tell(struct gp_trace_inquiry *inquiry, const struct gp_event *event);
int gp_trace_inquiry_read_hsakmt(struct gp_trace_inquiry *inquiry, int fd, struct gp_diag *diag);
int gp_trace_inquiry_read_smi(struct gp_trace_inquiry *inquiry, int fd, struct gp_diag *diag);
int gp_trace_inquiry_read_decisions(struct gp_trace_inquiry *inquiry, int fd, struct gp_diag *diag);
int gp_trace_inquiry_read_clocks(struct gp_trace_inquiry *inquiry, int fd, struct gp_diag *diag);

/* A file's name without its directory: what answers call it. */
const char *gp_trace_inquiry_file(const char *path);

/* The parts of the report. */
void gp_trace_inquiry_lists(const struct gp_trace_inquiry *inquiry, struct gp_doc *doc);
void gp_trace_inquiry_questions(const struct gp_trace_inquiry *inquiry, struct gp_doc *doc);
void gp_trace_inquiry_indicators(const struct gp_trace_inquiry *inquiry, struct gp_doc *doc);

#endif
