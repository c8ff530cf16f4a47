// SPDX-License-Identifier: MIT
/* Collects kernels of any source and puts them in order. See recording.h. */
#include "trace/analyse/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/core.h"
#include "base/i18n.h"
#include "base/parse.h"
#include "trace/read/amdlog.h"
#include "trace/read/rocprof.h"
#include "trace/read/source.h"

void gp_trace_recording_free(struct gp_trace_recording *r)
{
	for (size_t i = 0; i < r->input_count; i++)
		free(r->inputs[i].name);
	free(r->inputs);
	free(r->programs);
	free(r->kernels);
	gp_map_free(&r->by_program);
	gp_map_free(&r->by_queue);
	memset(r, 0, sizeof(*r));
}

int gp_trace_recording_next_input(struct gp_trace_recording *r, const char *name,
				  const char *job_class)
{
	char *copy = strdup(name);

	if (!copy || gp_array_grow((void **)&r->inputs, r->input_count, &r->input_room,
				   sizeof(*r->inputs))) {
		free(copy);
		return -ENOMEM;
	}
	r->inputs[r->input_count++] = (struct gp_trace_recorded_input){.name = copy,
								       .job_class = job_class,
								       .first_ns = UINT64_MAX};
	return 0;
}

static int find_program(struct gp_trace_recording *r, const struct gp_event *event, u32 *out)
{
	u32 input = (u32)(r->input_count - 1);
	u32 pid = event->valid & GP_EV_PID ? event->pid : 0;
	u64 gpu = event->valid & GP_EV_GPU ? event->gpu : 0, key = (u64)input << 32 | pid;

	*out = gp_map_get(&r->by_program, key, gpu);
	if (*out != GP_MAP_NONE)
		return 0;
	*out = (u32)r->program_count;
	if (gp_array_grow((void **)&r->programs, r->program_count, &r->program_room,
			  sizeof(*r->programs)) ||
	    gp_map_put(&r->by_program, key, gpu, *out))
		return -ENOMEM;
	r->programs[r->program_count++] = (struct gp_trace_recorded_program){
		.input = input, .pid = pid, .gpu = gpu, .priority = UINT32_MAX};
	return 0;
}

static int find_queue(struct gp_trace_recording *r, u32 program, u64 queue, u32 *out)
{
	*out = gp_map_get(&r->by_queue, program, queue);
	if (*out != GP_MAP_NONE)
		return 0;
	*out = r->programs[program].queues++;
	return gp_map_put(&r->by_queue, program, queue, *out);
}

/* "grid=[8192, 1, 1], workgroup=[256, 1, 1]" of a log's packet: how many workgroups. */
static u64 logged_size(const struct gp_event *event, const char *word)
{
	const char *end = event->text + event->text_len, *p;
	u64 product = 1, number;

	p = event->text_len ? memmem(event->text, event->text_len, word, strlen(word)) : NULL;
	if (!p)
		return 0;
	p += strlen(word);
	for (int i = 0; i < 3; i++) {
		gp_skip_blanks(&p, end);
		if (!gp_parse_u64(&p, end, &number) || !number ||
		    __builtin_mul_overflow(product, number, &product))
			return 0;
		if (p < end && *p == ',')
			p++;
	}
	return product;
}

static u64 workgroups_of(const struct gp_event *event)
{
	u64 grid = event->grid, group = event->workgroup;

	if (event->kind == GP_EVENT_DISPATCH) {
		grid = logged_size(event, "grid=[");
		group = logged_size(event, "workgroup=[");
	} else if (!(event->valid & GP_EV_GRID)) {
		return 0;
	}
	return grid && group ? (grid - 1) / group + 1 : 0;
}

int gp_trace_recording_event(void *ctx, const struct gp_event *event)
{
	struct gp_trace_recording *r = ctx;
	struct gp_trace_recorded_input *input = &r->inputs[r->input_count - 1];
	struct gp_trace_recorded_kernel kernel = {.at_ns = event->time_ns};
	struct gp_trace_recorded_program *program;

	if (event->kind != GP_EVENT_KERNEL && event->kind != GP_EVENT_DISPATCH)
		return 0;
	if (!(event->valid & GP_EV_TIME)) {
		input->without_time++;
		return 0;
	}
	kernel.duration_ns = event->valid & GP_EV_DURATION ? event->duration_ns : r->kernel_ns;
	if (!(event->valid & GP_EV_DURATION))
		r->guessed++;
	kernel.duration_ns = GP_MAX(kernel.duration_ns, 1u);
	kernel.end_ns = event->time_ns + kernel.duration_ns;
	if (kernel.end_ns < event->time_ns)
		return 0;
	if (event->valid & GP_EV_STAGES && event->dispatch_ns < event->time_ns)
		kernel.at_ns = event->dispatch_ns;
	kernel.workgroups = workgroups_of(event);
	if (find_program(r, event, &kernel.program) ||
	    find_queue(r, kernel.program, event->valid & GP_EV_QUEUE ? event->queue : 0,
		       &kernel.queue) ||
	    gp_array_grow((void **)&r->kernels, r->kernel_count, &r->kernel_room,
			  sizeof(*r->kernels)))
		return -ENOMEM;
	program = &r->programs[kernel.program];
	if (event->valid & GP_EV_REGISTERS)
		program->vgprs = GP_MAX(program->vgprs, event->vgpr);
	if (event->kind == GP_EVENT_KERNEL && event->valid & GP_EV_PRIORITY)
		program->priority = event->priority;
	input->clock = event->clock;
	input->first_ns = GP_MIN(input->first_ns, kernel.at_ns);
	input->last_ns = GP_MAX(input->last_ns, kernel.end_ns);
	input->kernels++;
	r->kernels[r->kernel_count++] = kernel;
	return 0;
}

static int read_any(struct gp_trace_recording *r, int fd, const char *name, struct gp_diag *diag)
{
	struct gp_trace_amdlog_options log = {.name = name};
	struct gp_trace_rocprof_stats profile;
	struct gp_trace_amdlog_stats stats;
	enum gp_trace_source_kind kind;
	u64 lines = 0;
	int error = gp_trace_decisions_read(fd, name, gp_trace_recording_event, r, &lines);

	if (lines)
		return error;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return gp_fail(diag, -errno, "cannot rewind %s: %s (give a file, not a pipe)", name,
			       strerror(errno));
	error = gp_trace_source_identify(fd, name, &kind);
	if (error)
		return gp_fail(diag, error, "cannot read %s: %s", name, strerror(-error));
	if (kind == GP_SOURCE_ROCPROF)
		return gp_trace_rocprof_read(fd, name, diag, gp_trace_recording_event, r, &profile);
	if (kind != GP_SOURCE_AMDLOG)
		return gp_fail(diag, -EINVAL,
			       "%s: unknown format (expected a rocprof file, an AMD log or the "
			       "output of 'gpreempt log --json')",
			       name);
	if (!r->kernel_ns)
		return gp_fail(diag, -EINVAL,
			       "%s: an AMD log has no kernel durations; give a duration with "
			       "--kernel TIME",
			       name);
	return gp_trace_amdlog_read(fd, &log, diag, gp_trace_recording_event, r, &stats);
}

int gp_trace_recording_read(struct gp_trace_recording *r, int fd, const char *name,
			    const char *job_class, struct gp_diag *diag)
{
	int error = gp_trace_recording_next_input(r, name, job_class);

	if (!error)
		error = read_any(r, fd, name, diag);
	if (error == -ENOMEM)
		return gp_fail(diag, error, "out of memory");
	if (!error && !r->inputs[r->input_count - 1].kernels)
		return gp_fail(diag, -ENODATA,
			       "%s contains no kernels with timestamps; record it with kernel "
			       "tracing ('rocprofv3 --kernel-trace')",
			       name);
	return error;
}

static int by_program_and_time(const void *a, const void *b)
{
	const struct gp_trace_recorded_kernel *x = a, *y = b;

	if (x->program != y->program)
		return x->program < y->program ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Whether there is a moment at which all of them were under way, by one clock. */
static bool ran_together(const struct gp_trace_recording *r)
{
	u64 last_start = 0, first_end = UINT64_MAX;

	for (size_t i = 0; i < r->input_count; i++) {
		if (r->inputs[i].clock != r->inputs[0].clock)
			return false;
		last_start = GP_MAX(last_start, r->inputs[i].first_ns);
		first_end = GP_MIN(first_end, r->inputs[i].last_ns);
	}
	return last_start < first_end;
}

int gp_trace_recording_finish(struct gp_trace_recording *r, struct gp_diag *diag)
{
	u64 start = UINT64_MAX;

	if (!r->kernel_count)
		return gp_fail(diag, -ENODATA, "nothing to replay: the files contain no kernels");
	r->together = ran_together(r);
	for (size_t i = 0; i < r->input_count; i++)
		start = GP_MIN(start, r->inputs[i].first_ns);
	for (size_t i = 0; i < r->kernel_count; i++) {
		struct gp_trace_recorded_kernel *kernel = &r->kernels[i];
		u64 zero = r->together ? start
				       : r->inputs[r->programs[kernel->program].input].first_ns;

		kernel->at_ns -= zero;
		kernel->end_ns -= zero;
	}
	qsort(r->kernels, r->kernel_count, sizeof(*r->kernels), by_program_and_time);
	for (size_t i = 0; i < r->kernel_count; i++) {
		struct gp_trace_recorded_program *program = &r->programs[r->kernels[i].program];

		if (!program->count++)
			program->first = i;
	}
	return 0;
}
