/* SPDX-License-Identifier: MIT */
/*
 * gpreempt selftest: do suspend and resume work on this GPU, with this driver? It starts its own
 * GPU program (work.c), suspends and resumes it through libgpreempt by each mechanism, and counts
 * its packets. Everything happens in a private directory of sockets, so that a holder or a daemon
 * that is at work here is neither used nor disturbed.
 */
#ifndef GP_SELFTEST_SELFTEST_H
#define GP_SELFTEST_SELFTEST_H

#include <sys/types.h>

#include "base/json.h"
#include "base/types.h"
#include "gpreempt.h"
#include "inspect/ps.h"
#include "show/doc.h"

enum {
	GP_SELFTEST_MECHANISMS = 3,
	GP_SELFTEST_SIZES = 3,
	GP_SELFTEST_CYCLES = 100, /* suspend and resume, for the figures */
	GP_SELFTEST_LIMIT_MS = 600000,
};

/* ---- results ---- */

struct gp_selftest_times {
	u64 p50_ns, p99_ns;
};

struct gp_selftest_figures {
	bool valid;
	u32 queues;
	u64 packets; /* completed once each and in order */
	struct gp_selftest_times suspend, resume;
	u64 recovery_ns; /* the holder's death to the end of the work it had stopped */
};

struct gp_selftest_result {
	const char *name; /* NULL: there are fewer mechanisms; the rest of it says nothing */
	enum gpreempt_mechanism mechanism;
	bool shares; /* kfd-cumask: narrows and widens instead of suspending and resuming */
	bool works;
	char reason[512]; /* why it does not; translated */
	struct gp_selftest_figures figures[GP_SELFTEST_SIZES];
};

/* What the queues were given. */
enum gp_selftest_work {
	GP_SELFTEST_NO_WORK, /* the program never got that far */
	GP_SELFTEST_BARRIERS,
	GP_SELFTEST_KERNEL, /* of this build */
	GP_SELFTEST_HIPRTC,
};

struct gp_selftest_report {
	const struct gp_gpu *gpu;
	bool virtual_gpu;
	bool executes; /* kernels compute: a real GPU, or a virtual one with --compute on */
	u32 cycles;
	enum gp_selftest_work work;
	char work_reason[160]; /* why not a kernel of this build; "" it is one */
	struct gp_selftest_result results[GP_SELFTEST_MECHANISMS];
};

/* The numbers of queues; on NVIDIA of contexts, each of which has its own memory. */
u32 gp_selftest_size(const struct gp_selftest_report *report, size_t index);

/* The results as a document. */
struct gp_doc *gp_selftest_doc(const struct gp_selftest_report *report);

/* ---- place.c: files and processes of a run, and their removal ---- */

struct gp_selftest_place {
	char directory[64];
	int signals; /* a signalfd: SIGINT, SIGTERM, SIGHUP, SIGQUIT are blocked */
	int signal;  /* the one that came; 0: none */
};

/* Makes the directory and names it in GPREEMPT_DIR. */
int gp_selftest_place_make(struct gp_selftest_place *place);
/* Ends the holder, if there is one, and removes the directory. */
void gp_selftest_place_remove(struct gp_selftest_place *place);
/* Kills the holder of the directory and waits for its end. -ESRCH: there is none. */
int gp_selftest_kill_holder(const struct gp_selftest_place *place);
/* True when a signal asked to end. */
bool gp_selftest_interrupted(struct gp_selftest_place *place);

/* ---- program.c: the GPU program, seen from here ---- */

struct gp_selftest_program {
	struct gp_selftest_place *place;
	pid_t pid; /* 0: none */
	int to, from;
	enum gp_selftest_work work;
	char work_reason[160];
	char error[256];
};

enum gp_selftest_command {
	GP_SELFTEST_PUT = 'p',
	GP_SELFTEST_RUN = 'r',  /* the kernels run, until */
	GP_SELFTEST_GATE = 'g', /* everything may complete */
	GP_SELFTEST_LOOK = 'l',
	GP_SELFTEST_FINISH = 'f',
	GP_SELFTEST_PROGRESS = 'c', /* of the CUDA program */
	/* For --calibrate; times in ns. */
	GP_SELFTEST_PACKET = 'd',
	GP_SELFTEST_PACKET_SERIAL = 's',
	GP_SELFTEST_DOUBT = 'u',  /* of the last of these two */
	GP_SELFTEST_SUBMIT = 'w', /* answers, then waits for the packet's end */
	GP_SELFTEST_DONE_AT = 'a',
	GP_SELFTEST_CREATE = 'q',
	GP_SELFTEST_CROWD_FEW = 'b', /* waves on every compute unit; answers the work groups */
	GP_SELFTEST_CROWD_MANY = 'B',
	GP_SELFTEST_CROWD_RUNS = 'k',
	GP_SELFTEST_GROUP_BYTES = 'v', /* that are saved of a work group */
};

/* Under `gpreempt run` or not. 0 when its queues are there; otherwise the sentence is in `error`.
 */
int gp_selftest_program_start(struct gp_selftest_program *program, struct gp_selftest_place *place,
			      const struct gp_selftest_report *report, bool agent, u32 queues);
/* The number it answers, or -errno and the sentence. -EINTR: a signal asked to end. */
long gp_selftest_program_ask(struct gp_selftest_program *program, enum gp_selftest_command command);
/* Ends it, whatever it does, and waits for that. */
void gp_selftest_program_end(struct gp_selftest_program *program);

/* ---- check.c ---- */

/* One mechanism of the report (its number) with every number of queues. -EINTR. */
int gp_selftest_check(struct gp_selftest_place *place, struct gp_selftest_report *report,
		      size_t mechanism);

/* ---- slice.c ---- */

/* The same of nv-timeslice. */
int gp_selftest_check_slices(struct gp_selftest_place *place, struct gp_selftest_report *report,
			     size_t mechanism);

#endif
