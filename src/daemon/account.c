// SPDX-License-Identifier: MIT
/*
 * Accounts: jobs with their identity, totals and latencies. Those of the last jobs that ended stay
 * in a ring, so that a batch run can be asked about when it is over.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"

void gp_daemon_account_process(struct gp_daemon_job *job, u32 pid)
{
	for (u32 i = 0; i < GP_DAEMON_PIDS; i++) {
		if (!job->pids[i])
			job->pids[i] = pid;
		if (job->pids[i] == pid)
			return;
	}
}

void gp_daemon_account_request(struct gp_daemon_client *client,
			       const struct gp_proto_msg_request *request)
{
	/* A client's clock is believed only as far as it cannot be in the future. */
	u64 at = GP_MIN(request->now_ns, gp_monotonic_ns());
	u64 took = gp_daemon_requests_note(&client->requests, request->begin, request->open, at);

	if (took == UINT64_MAX)
		return;
	gp_daemon_latency_add(&client->job->requests, took);
	gp_daemon_spread_add(&client->daemon->metrics.request[client->job->spec.class], took);
}

/* One that is under way takes at least as long as it has: it counts once that is more than the
 * usual time. Otherwise a server with more work than it can do would look as fast as it was before.
 */
static void add_open(struct gp_daemon_latency *latency, u64 usual, u64 since)
{
	u64 now = gp_monotonic_ns(), age = now - GP_MIN(since, now);

	if (usual != UINT64_MAX && age > usual)
		gp_daemon_latency_add(latency, age);
}

static void add_open_requests(struct gp_daemon_latency *latency, u64 usual,
			      const struct gp_daemon_requests *requests)
{
	for (u32 i = 0; i < GP_MIN(requests->count, (u32)GP_DAEMON_REQUESTS); i++)
		add_open(latency, usual, gp_daemon_requests_begun(requests, i));
}

void gp_daemon_account_latency(const struct gp_daemon_job *job, struct gp_proto_msg_job *out)
{
	bool announces = job->requests.count != 0;
	struct gp_daemon_latency latency;
	u64 usual;

	latency = announces ? job->requests : job->bursts;
	usual = gp_daemon_latency_at(&latency, 500);
	gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients) {
		if (announces)
			add_open_requests(&latency, usual, &client->requests);
		else if (client->busy)
			add_open(&latency, usual, client->busy_since);
	}
	out->latency_of = announces;
	out->latency_count = latency.count;
	out->latency_p50_ns = gp_daemon_latency_at(&latency, 500);
	out->latency_p99_ns = gp_daemon_latency_at(&latency, 990);
}

u64 gp_daemon_account_oldest(const struct gp_daemon_job *job)
{
	u64 now = gp_monotonic_ns(), since = now;

	gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients) {
		const struct gp_daemon_requests *requests = &client->requests;
		u32 open = GP_MIN(requests->count, (u32)GP_DAEMON_REQUESTS);

		if (!job->requests.count && !open && client->busy)
			since = GP_MIN(since, client->busy_since);
		for (u32 i = 0; i < open; i++)
			since = GP_MIN(since, gp_daemon_requests_begun(requests, i));
	}
	return now - since;
}

static void view(struct gp_daemon *daemon, const struct gp_daemon_job *job,
		 struct gp_proto_msg_account *out)
{
	memset(out, 0, sizeof(*out));
	gp_daemon_report_job_view(daemon, job, &out->job);
	memcpy(out->pids, job->pids, sizeof(out->pids));
	/* The first process may have ended before the others. */
	if (out->pids[0])
		out->job.pid = out->pids[0];
	if (gp_list_empty(&job->clients))
		return;
	const struct gp_daemon_client *client =
		gp_container(job->clients.next, struct gp_daemon_client, job_link);
	snprintf(out->user, sizeof(out->user), "%s", client->who.user);
	snprintf(out->cgroup, sizeof(out->cgroup), "%s", client->who.cgroup);
}

const struct gp_proto_msg_account *gp_daemon_account_end(struct gp_daemon *daemon,
							 const struct gp_daemon_job *job)
{
	struct gp_daemon_accounts *accounts = &daemon->accounts;
	struct gp_proto_msg_account *place;
	struct gp_proto_msg_job activity = {0};

	gp_daemon_activity_view(daemon, job, &activity);
	gp_daemon_metrics_add(&daemon->metrics.ended[job->spec.class], &activity);
	if (!accounts->items)
		accounts->items = calloc(GP_DAEMON_ENDED, sizeof(*accounts->items));
	if (!accounts->items)
		return NULL;
	place = &accounts->items[accounts->count++ % GP_DAEMON_ENDED];
	view(daemon, job, place);
	place->job.ended_ns = gp_monotonic_ns();
	place->job.held_since = GP_DAEMON_NEVER;
	place->job.held_for = GP_DAEMON_NONE;
	place->job.backlog = GP_DAEMON_UNKNOWN;
	return place;
}

static bool had(const u32 *pids, u32 pid)
{
	for (u32 i = 0; i < GP_DAEMON_PIDS; i++) {
		if (pids[i] == pid)
			return true;
	}
	return false;
}

u32 gp_daemon_account_list(struct gp_daemon *daemon, u64 skip, u32 pid,
			   struct gp_proto_msg_accounts *out)
{
	const struct gp_daemon_accounts *accounts = &daemon->accounts;
	u64 kept = GP_MIN(accounts->count, (u64)GP_DAEMON_ENDED);
	u32 total = 0;

	*out = (struct gp_proto_msg_accounts){0};
	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		if ((!pid || had(job->pids, pid)) && total++ >= skip &&
		    out->count < GP_DAEMON_ACCOUNTS)
			view(daemon, job, &out->accounts[out->count++]);
	}
	for (u64 i = 0; i < kept; i++) {
		const struct gp_proto_msg_account *ended =
			&accounts->items[(accounts->count - 1 - i) % GP_DAEMON_ENDED];

		if ((!pid || had(ended->pids, pid)) && total++ >= skip &&
		    out->count < GP_DAEMON_ACCOUNTS)
			out->accounts[out->count++] = *ended;
	}
	return total;
}
