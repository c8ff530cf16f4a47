// SPDX-License-Identifier: MIT
/* Writes a recording as a scenario of the simulator. See recording.h and
 * docs/reference/simulator.md. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"
#include "trace/analyse/recording.h"

/* What the reader of scenarios takes (src/sim/scenario.h). */
enum {
	SIM_JOBS = 256,
	SIM_QUEUES = 64,
	SIM_GPUS = 8,
	SIM_KERNELS = 4096,
	SIM_WORK = 4 << 20,
	SIM_VGPRS = 512,
	NAME_BYTES = 24,          /* of a file's name in a job's: the whole has less than 48 */
	LAUNCH_NS = GP_NS_PER_MS, /* what is left to do at the end of the recording */
};

/* A name that cannot be read as a comment, section or key: that of the file, without path and
 * extension. */
static void plain_name(const char *path, char *out, size_t size)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	size_t len = dot && dot > name ? (size_t)(dot - name) : strlen(name);

	len = GP_MIN(len, size - 1);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		out[i] = c <= ' ' || c == 127 || strchr("#[]=", c) ? '_' : (char)c;
	}
	out[len] = '\0';
}

/* The number of GPUs seen, and of this one among them. */
static u32 gpu_index(const struct gp_trace_recording *r, u64 gpu, u32 *count)
{
	u64 seen[SIM_GPUS];
	u32 known = 0, found = 0;

	for (size_t i = 0; i < r->program_count; i++) {
		u32 at = 0;

		while (at < known && seen[at] != r->programs[i].gpu)
			at++;
		if (at == known && known < SIM_GPUS)
			seen[known++] = r->programs[i].gpu;
		if (r->programs[i].gpu == gpu)
			found = GP_MIN(at, (u32)SIM_GPUS - 1);
	}
	*count = known;
	return found;
}

static void job_name(const struct gp_trace_recording *r, u32 index, char *out, size_t size)
{
	const struct gp_trace_recorded_program *program = &r->programs[index];
	u32 of_input = 0, gpus;
	char base[NAME_BYTES + 1];

	for (size_t i = 0; i < r->program_count; i++)
		of_input += r->programs[i].input == program->input;
	plain_name(r->inputs[program->input].name, base, sizeof(base));
	/* Two files may have one name. */
	for (size_t i = 0; i < r->input_count; i++) {
		char other[sizeof(base)];

		plain_name(r->inputs[i].name, other, sizeof(other));
		if (i != program->input && strcmp(other, base) == 0)
			of_input = 2;
	}
	if (of_input < 2)
		snprintf(out, size, "%s", base);
	else
		snprintf(out, size, "%s-%u-%u-gpu%u", base, program->input, program->pid,
			 gpu_index(r, program->gpu, &gpus));
}

/* Batch work waits for its own results only: each kernel is a request, as long after the one before
 * as it was. Others get what they got when they got it, a burst being one request. */
static bool is_batch(const struct gp_trace_recording *r,
		     const struct gp_trace_recorded_program *program)
{
	const char *job_class = r->inputs[program->input].job_class;

	return job_class && strcmp(job_class, "offline") == 0;
}

static void put_job(const struct gp_trace_recording *r, u32 index, FILE *out)
{
	const struct gp_trace_recorded_program *program = &r->programs[index];
	const char *job_class = r->inputs[program->input].job_class;
	char name[64];
	u32 gpus;

	job_name(r, index, name, sizeof(name));
	fprintf(out, "\n[job %s]\n", name);
	if (job_class)
		fprintf(out, "class = %s\n", job_class);
	if (program->priority != UINT32_MAX)
		fprintf(out, "priority = %u\n", program->priority);
	fprintf(out, "arrival = %s\n", is_batch(r, program) ? "recorded closed" : "recorded");
	fprintf(out, "queues = %u\n", GP_MIN(program->queues, (u32)SIM_QUEUES));
	if (gpu_index(r, program->gpu, &gpus))
		fprintf(out, "gpu = %u\n", gpu_index(r, program->gpu, &gpus));
	if (program->vgprs)
		fprintf(out, "vgprs = %u\n", GP_MIN(program->vgprs, (u32)SIM_VGPRS));
	fprintf(out, "[work %s]\n", name);
}

struct burst {
	u64 at, end; /* of the request that is open on a queue */
	size_t first;
	u32 kernels; /* 0: none is */
};

/* Requests must come in the order of their times, kernels of one behind each other: so the kernels
 * of each are linked, and written when the turn of the first has come. */
static void link_requests(const struct gp_trace_recording *r,
			  const struct gp_trace_recorded_program *program, size_t *next)
{
	struct burst queues[SIM_QUEUES] = {0};
	size_t last[SIM_QUEUES] = {0};

	for (size_t i = program->first; i < program->first + program->count; i++) {
		const struct gp_trace_recorded_kernel *kernel = &r->kernels[i];
		struct burst *burst = &queues[kernel->queue % SIM_QUEUES];
		size_t *before = &last[kernel->queue % SIM_QUEUES];
		bool same = burst->kernels && burst->kernels < SIM_KERNELS &&
			    !is_batch(r, program) && kernel->at_ns <= burst->end + r->burst_ns;

		next[i] = SIZE_MAX;
		if (same) {
			next[*before] = i;
			burst->kernels++;
			burst->end = GP_MAX(burst->end, kernel->end_ns);
		} else {
			*burst = (struct burst){kernel->at_ns, kernel->end_ns, i, 1};
		}
		*before = i;
	}
}

static void put_kernel(const struct gp_trace_recorded_kernel *kernel, bool more, FILE *out)
{
	if (more)
		fputs("+ ", out);
	else
		fprintf(out, "%lluns ", (unsigned long long)kernel->at_ns);
	fprintf(out, "%u %lluns", kernel->queue % SIM_QUEUES,
		(unsigned long long)kernel->duration_ns);
	if (kernel->workgroups)
		fprintf(out, " %llu", (unsigned long long)kernel->workgroups);
	fputc('\n', out);
}

static int put_work(const struct gp_trace_recording *r,
		    const struct gp_trace_recorded_program *program, FILE *out)
{
	size_t *next = calloc(r->kernel_count, sizeof(*next));
	bool *done = calloc(r->kernel_count, sizeof(*done));

	if (!next || !done) {
		free(next);
		free(done);
		return -ENOMEM;
	}
	link_requests(r, program, next);
	for (size_t i = program->first; i < program->first + program->count; i++) {
		for (size_t k = done[i] ? SIZE_MAX : i; k != SIZE_MAX; k = next[k]) {
			put_kernel(&r->kernels[k], k != i, out);
			done[k] = true;
		}
	}
	free(next);
	free(done);
	return 0;
}

int gp_trace_recording_write(const struct gp_trace_recording *r, FILE *out)
{
	u64 last = 0;
	u32 gpus;
	int error = 0;

	if (r->program_count > SIM_JOBS || r->kernel_count > SIM_WORK)
		return -E2BIG;
	for (size_t i = 0; i < r->kernel_count; i++)
		last = GP_MAX(last, r->kernels[i].end_ns);
	gpu_index(r, 0, &gpus);
	fputs("# Written by `gpreempt sim --from`. Adapt the classes, the arrivals (recorded "
	      "closed)\n"
	      "# and the policy as needed: docs/reference/simulator.md.\n",
	      out);
	fprintf(out, "[run]\ntitle = Recorded work\ntime = %lluns\n",
		(unsigned long long)last + LAUNCH_NS);
	if (gpus > 1)
		fprintf(out, "[gpu]\ncount = %u\n", gpus);
	for (size_t i = 0; !error && i < r->program_count; i++) {
		put_job(r, (u32)i, out);
		error = put_work(r, &r->programs[i], out);
	}
	return error ? error : ferror(out) ? -EIO : 0;
}
