// SPDX-License-Identifier: MIT
/* Recorded work of a scenario: one kernel after the other, as a trace had them. See scenario.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/parse.h"
#include "sim/scenario.h"

#define TIME_TEXT 32

void gp_sim_scenario_free(struct gp_sim_scenario *s)
{
	free(s->jobs);
	free(s->work);
	s->jobs = NULL;
	s->work = NULL;
	s->job_count = 0;
	s->job_room = s->work_count = s->work_room = 0;
}

int gp_sim_scenario_add_kernel(struct gp_sim_scenario *s, const struct gp_sim_kernel *kernel)
{
	struct gp_sim_job *job = &s->jobs[kernel->job];
	struct gp_sim_kernel added = *kernel;

	if (s->work_count == GP_SIM_WORK)
		return -E2BIG;
	if (!job->work_count)
		job->work_first = (u32)s->work_count;
	if (job->work_first + job->work_count != s->work_count || (added.more && !job->work_count))
		return -EINVAL;
	if (job->work_count) {
		const struct gp_sim_kernel *last = &s->work[s->work_count - 1];

		if (added.more) {
			added.at_ns = last->at_ns;
			added.queue = last->queue; /* a request is one queue's */
		} else if (added.at_ns < last->at_ns) {
			return -EINVAL;
		}
	}
	if (gp_array_grow((void **)&s->work, s->work_count, &s->work_room, sizeof(*s->work)))
		return -ENOMEM;
	s->work[s->work_count++] = added;
	job->work_count++;
	return 0;
}

/* The next word of a line, cut to what a time or a number can be. */
static bool take_word(const char **p, char *out)
{
	size_t length;

	*p += strspn(*p, " \t");
	length = strcspn(*p, " \t");
	if (!length || length >= TIME_TEXT)
		return false;
	memcpy(out, *p, length);
	out[length] = '\0';
	*p += length;
	return true;
}

int gp_sim_parse_kernel(const char *line, struct gp_sim_kernel *out)
{
	char word[TIME_TEXT];
	u64 queue, workgroups = 0;

	*out = (struct gp_sim_kernel){0};
	if (!take_word(&line, word))
		return -EINVAL;
	out->more = strcmp(word, "+") == 0;
	if (!out->more && !gp_sim_parse_time(word, &out->at_ns))
		return -EINVAL;
	if (!take_word(&line, word) || !gp_argument_u64(word, &queue) || queue >= GP_SIM_QUEUES)
		return -EINVAL;
	if (!take_word(&line, word) || !gp_sim_parse_time(word, &out->kernel_ns) || !out->kernel_ns)
		return -EINVAL;
	if (take_word(&line, word) && (!gp_argument_u64(word, &workgroups) || !workgroups))
		return -EINVAL;
	if (line[strspn(line, " \t")])
		return -EINVAL;
	out->queue = (u32)queue;
	out->workgroups = (u32)GP_MIN(workgroups, (u64)UINT32_MAX);
	return 0;
}
