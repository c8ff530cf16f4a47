/* SPDX-License-Identifier: MIT */
/*
 * Analysis and writer: the work that programs gave the GPU, kernel by kernel, as a scenario that
 * `gpreempt sim` replays (docs/reference/simulator.md, "Recorded work"). Sources are profiles,
 * which know when a kernel ran and for how long; AMD logs, which know only when it was submitted;
 * and the record of gpreemptd, which knows when a job made others wait and how long. trace/ knows
 * the text of a scenario, not its readers.
 */
#ifndef GP_TRACE_ANALYSE_RECORDING_H
#define GP_TRACE_ANALYSE_RECORDING_H

#include <stdio.h>

#include "base/diag.h"
#include "trace/read/event.h"
#include "base/map.h"

struct gp_trace_recorded_kernel {
	u32 program, queue; /* queue: counted within its program */
	u64 at_ns;          /* given to the queue, or begun where that is not known */
	u64 end_ns;
	u64 duration_ns;
	u64 workgroups; /* 0: not known */
};

/* A process on one GPU. */
struct gp_trace_recorded_program {
	u32 input;
	u32 pid; /* 0: not known */
	u64 gpu;
	u32 queues, vgprs; /* vgprs 0: not known */
	u32 priority;      /* logical; UINT32_MAX: not known */
	size_t first, count;
};

struct gp_trace_recorded_input {
	char *name;
	const char *job_class; /* NULL: normal */
	enum gp_trace_clock clock;
	u64 first_ns, last_ns;
	u64 kernels, without_time;
};

struct gp_trace_recording {
	/* For values that a source lacks. */
	u64 kernel_ns; /* of kernels without a duration; 0: they are an error */
	u64 burst_ns;  /* kernels this close on one queue are one request */
	struct gp_trace_recorded_input *inputs;
	size_t input_count, input_room;
	struct gp_trace_recorded_program *programs;
	size_t program_count, program_room;
	struct gp_trace_recorded_kernel *kernels;
	size_t kernel_count, kernel_room;
	struct gp_map by_program, by_queue;
	u64 guessed; /* kernels that were given kernel_ns */
	bool together;
};

void gp_trace_recording_free(struct gp_trace_recording *recording);
/* Events that follow come from this file. `job_class` stays the caller's. -ENOMEM. */
int gp_trace_recording_next_input(struct gp_trace_recording *recording, const char *name,
				  const char *job_class);
/* A gp_event_fn. */
int gp_trace_recording_event(void *recording, const struct gp_event *event);
/* Reads a file of any of these kinds. 0 or -errno after an error message. */
int gp_trace_recording_read(struct gp_trace_recording *recording, int fd, const char *name,
			    const char *job_class, struct gp_diag *diag);
/* Puts everything in order. Recordings that ran at the same time stay as they were beside each
 * other; others begin together, which is how programs recorded alone are tried together. -ENODATA
 * after an error message if there is nothing to replay. */
int gp_trace_recording_finish(struct gp_trace_recording *recording, struct gp_diag *diag);
/* Writes the scenario. -EIO. */
int gp_trace_recording_write(const struct gp_trace_recording *recording, FILE *out);

/* The output of `gpreempt log --json`: a job that made others wait is a kernel from the decision to
 * its end; a job that was made to wait ran between its waits. `lines`: decisions found. */
int gp_trace_decisions_read(int fd, const char *name, gp_event_fn fn, void *ctx, u64 *lines);

#endif
