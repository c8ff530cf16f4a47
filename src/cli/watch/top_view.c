// SPDX-License-Identifier: MIT
/* One reading of the daemon, sorted and filtered: see top_view.h. */
#include "cli/watch/top_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLDER_MS 500

void gp_cli_top_free(struct gp_cli_top_data *top)
{
	free(top->jobs);
	free(top->holds.items);
	gp_inspect_driver_sched_free(&top->driver);
	*top = (struct gp_cli_top_data){0};
}

/* The holder knows the suspensions of others; if it does not answer soon, they stay unknown. */
static void read_holds(struct gp_cli_top_data *top)
{
	struct gp_cli_holder *holder = calloc(1, sizeof(*holder));

	if (!holder)
		return;
	holder->socket = -1;
	if (!gp_cli_holder_connect(holder, HOLDER_MS))
		(void)!gp_cli_holder_holds(holder, &top->holds, HOLDER_MS);
	gp_cli_holder_close(holder);
	free(holder);
}

int gp_cli_top_read(struct gp_cli_top_data *top, struct gp_cli_daemon_client *client,
		    struct gp_diag *diag)
{
	const struct gp_proto_msg_devices *devices;
	int count;

	gp_cli_top_free(top);
	count = gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_STATUS, NULL, 0, sizeof(top->status),
				  0);
	if (count < 0)
		return count;
	memcpy(&top->status, client->message.body, sizeof(top->status));
	count = gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_DEVICES, NULL, 0, sizeof(*devices),
				  sizeof(devices->devices[0]));
	if (count < 0)
		return count;
	devices = (const struct gp_proto_msg_devices *)client->message.body;
	while (top->device_count < devices->count && top->device_count < GP_DAEMON_DEVICES) {
		top->devices[top->device_count] = devices->devices[top->device_count];
		top->device_count++;
	}
	count = gp_cli_daemon_jobs(client, diag, 0, &top->jobs);
	if (count < 0)
		return count;
	top->job_count = (size_t)count;
	read_holds(top);
	return 0;
}

/* ---- order ---- */

static u64 sort_key(const struct gp_proto_msg_job *job, enum gp_cli_top_sort sort)
{
	switch (sort) {
	case GP_TOP_PRIORITY:
		return job->priority;
	case GP_TOP_RAN:
		return job->ran_ns;
	case GP_TOP_HELD:
		return job->held_ns;
	case GP_TOP_PREEMPTIONS:
		return job->suspends;
	default:
		return 0;
	}
}

/* The largest first; jobs that are alike by pid. */
static int by_key(const void *a, const void *b, void *sort)
{
	const struct gp_proto_msg_job *left = a, *right = b;
	u64 x = sort_key(left, *(enum gp_cli_top_sort *)sort);
	u64 y = sort_key(right, *(enum gp_cli_top_sort *)sort);

	if (x != y)
		return x < y ? 1 : -1;
	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

static bool matches(const struct gp_proto_msg_job *job, const char *filter)
{
	char text[2 * GP_PROTO_NAME + 32];

	snprintf(text, sizeof(text), "%.*s %.*s %u", GP_PROTO_NAME, job->name, GP_PROTO_NAME,
		 job->group, job->pid);
	return strstr(text, filter) != NULL;
}

void gp_cli_top_arrange(struct gp_cli_top_data *top, enum gp_cli_top_sort sort, const char *filter)
{
	size_t kept = 0;

	for (size_t i = 0; i < top->job_count; i++) {
		if (!filter || !*filter || matches(&top->jobs[i], filter))
			top->jobs[kept++] = top->jobs[i];
	}
	top->job_count = kept;
	if (kept)
		qsort_r(top->jobs, kept, sizeof(*top->jobs), by_key, &sort);
}

const char *gp_cli_top_sort_name(enum gp_cli_top_sort sort)
{
	static const char *const names[] = {"priority", "ran", "held", "preemptions", "pid"};

	return sort < GP_TOP_SORTS ? names[sort] : NULL;
}
