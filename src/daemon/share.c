// SPDX-License-Identifier: MIT
/*
 * Shares: parts of a GPU that jobs use side by side, relative in the core and in thousandths in the
 * library. One call at a time is under way per process, and nothing waits for it; of the shares
 * wanted meanwhile the last is sent after it. A failed call is repeated, first with growing pauses,
 * then every five seconds; one to a process that is stopped waits until it continues. Shares end
 * with the holder: they are sent to the next one.
 *
 * Where a share is a time slice the answer says which slice the driver has. Until it comes, or when
 * the process has no queue yet, the slice is only requested.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/i18n.h"
#include "daemon/daemon.h"
#include "gpu/gpu.h"

#define STOPPED_NS UINT64_MAX /* of again_ns: until the process continues */

enum { SHARE_TRIES = 5, WHOLE = 1000, SLICE_LEAST = 328 /* about 1 ms */ };

#define TRY_AGAIN_NS (20 * GP_NS_PER_MS)
#define TRY_LATER_NS (5 * GP_NS_PER_S)
/* How long the end of acting waits for all programs together. A stopped one does not answer; the
 * holder lifts what is left when the connection ends. */
#define LIFT_NS GP_NS_PER_S

/* Of a process that is gone, or by a mechanism that has no shares, nothing better is to be had. */
static bool is_final(int error)
{
	return error == -EOPNOTSUPP || error == -ESRCH || error == -EINVAL;
}

/* Armed for the first that is to be tried again. */
static void arm(struct gp_daemon *daemon)
{
	u64 first = UINT64_MAX;

	gp_list_each (const struct gp_daemon_client, client, link, &daemon->clients) {
		if (client->share.due && client->share.again_ns)
			first = GP_MIN(first, client->share.again_ns);
	}
	gp_timer_set(&daemon->loop, &daemon->share_timer, first);
}

static void failed(struct gp_daemon_client *client, u32 part, int error)
{
	struct gp_daemon_client_share *share = &client->share;

	/* Something else is wanted by now. */
	if (share->due)
		return;
	if (!is_final(error) && gp_daemon_absent_excuses(client) && client->away.stopped) {
		share->due = part;
		share->again_ns = STOPPED_NS;
		return;
	}
	if (!is_final(error)) {
		bool later = share->tries >= SHARE_TRIES;

		share->due = part;
		share->again_ns =
			gp_monotonic_ns() + (later ? TRY_LATER_NS : TRY_AGAIN_NS << share->tries);
		if (share->tries++ != SHARE_TRIES)
			return;
		share->error = error;
		gp_daemon_report_slice(client->daemon, client);
	} else {
		/* It is not sent to a new holder either. */
		share->sent = 0;
	}
	if (error != -ESRCH)
		gp_diag(client->daemon->diag, GP_WARNING,
			"cannot set the GPU share of process %u (%s): %s", client->who.pid,
			client->who.name, strerror(-error));
}

static void confirmed(struct gp_daemon_client *client, u32 slice_us)
{
	struct gp_daemon_client_share *share = &client->share;
	bool changed = share->slice_us != slice_us || share->error;

	share->tries = 0;
	share->error = 0;
	share->confirmed = share->sent;
	share->slice_us = slice_us;
	if (changed && slice_us)
		gp_daemon_report_slice(client->daemon, client);
}

/* With too many calls under way it is sent after the next answer. */
static void send_share(struct gp_daemon_client *client)
{
	struct gp_daemon_client_share *share = &client->share;
	u32 part = share->due;
	int ticket;

	if (!client->target || !part || share->ticket ||
	    (share->again_ns && share->again_ns > gp_monotonic_ns()))
		return;
	ticket = gpreempt_target_share_async(client->target, part);
	if (ticket == -EAGAIN)
		return;
	share->due = 0;
	share->again_ns = 0;
	if (ticket > 0) {
		share->ticket = ticket;
		share->sent = part;
		if (share->confirmed != part)
			share->confirmed = 0;
	} else {
		failed(client, part, ticket);
	}
}

void gp_daemon_share_send(struct gp_daemon *daemon)
{
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients)
		send_share(client);
	arm(daemon);
}

static void share_time(struct gp_timer *timer)
{
	struct gp_daemon *daemon = gp_container(timer, struct gp_daemon, share_timer);

	gp_daemon_share_send(daemon);
	gp_daemon_host_settle(daemon);
}

void gp_daemon_share_init(struct gp_daemon *daemon)
{
	gp_timer_init(&daemon->share_timer, share_time);
}

bool gp_daemon_share_done(struct gp_daemon_client *client, const struct gpreempt_event *event)
{
	if (!client || client->share.ticket != event->ticket)
		return false;
	client->share.ticket = 0;
	if (event->result < 0)
		failed(client, client->share.sent, event->result);
	else
		confirmed(client, (u32)event->result);
	return true;
}

void gp_daemon_share_lost(struct gp_daemon *daemon)
{
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		struct gp_daemon_client_share *share = &client->share;

		if (share->ticket || share->due || !share->sent || share->sent == WHOLE)
			continue;
		share->due = share->sent;
		share->again_ns = gp_monotonic_ns() + TRY_AGAIN_NS;
	}
}

void gp_daemon_share_renew(struct gp_daemon_client *client)
{
	struct gp_daemon_client_share *share = &client->share;

	if (!share->sent || (share->due && !share->again_ns))
		return;
	/* Also one that failed and would be sent later. */
	if (!share->due)
		share->due = share->sent;
	share->again_ns = 0;
	send_share(client);
	arm(client->daemon);
}

void gp_daemon_share_continue(struct gp_daemon_client *client)
{
	if (client->share.again_ns != STOPPED_NS)
		return;
	client->share.again_ns = 0;
	send_share(client);
	arm(client->daemon);
}

void gp_daemon_share_view(const struct gp_daemon_job *job, struct gp_proto_msg_job *out)
{
	gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients) {
		const struct gp_daemon_client_share *share = &client->share;
		u32 state = GP_SLICE_REQUESTED;

		if (!client->queue_count || !client->target || !share->sent ||
		    !gp_gpu_has(client->queues[0].gpu_id, GP_GPU_SLICES))
			continue;
		if (share->error)
			state = GP_SLICE_FAILED;
		else if (share->slice_us && share->confirmed == share->sent)
			state = GP_SLICE_CONFIRMED;
		if (state <= out->slice_state)
			continue;
		out->slice_state = state;
		out->slice_us = state == GP_SLICE_CONFIRMED ? share->slice_us : 0;
		out->slice_error = share->error;
	}
}

void gp_daemon_share_forget(struct gp_daemon_client *client)
{
	client->share = (struct gp_daemon_client_share){0};
}

/* ---- wishes ---- */

static void wish(struct gp_daemon_job *job, u32 part)
{
	gp_list_each (struct gp_daemon_client, client, job_link, &job->clients) {
		struct gp_daemon_client_share *share = &client->share;

		share->due = part;
		share->tries = 0;
		share->again_ns = 0;
		send_share(client);
	}
}

/* Of jobs that take turns one runs at a time, so that only the largest of their shares counts. One
 * that is idle has its slice as well: it takes turns again from its first kernel on. */
static struct gp_daemon_device_shares sum_of(struct gp_daemon *daemon, u32 device)
{
	struct gp_daemon_device_shares sum = {
		.slices = gp_gpu_has(daemon->devices[device].gpu_id, GP_GPU_SLICES)};
	u64 in_turn = 0;

	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		if (sum.slices && gp_daemon_turns_would(daemon, job)) {
			in_turn = GP_MAX(in_turn, job->share[device]);
			sum.takers += job->share[device] != 0;
		} else {
			sum.all += job->share[device];
		}
		sum.most = GP_MAX(sum.most, job->share[device]);
	}
	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		if (job->share[device] && job->share[device] < sum.most &&
		    !gp_daemon_turns_would(daemon, job))
			sum.lower++;
	}
	sum.lower += in_turn && in_turn < sum.most;
	sum.all += in_turn;
	return sum;
}

/* They are laid side by side in the order of the jobs: shares that overlap would be no shares. */
static void share_device(struct gp_daemon *daemon, u32 device)
{
	struct gp_daemon_device_shares sum = sum_of(daemon, device);
	u64 before = 0;

	daemon->devices[device].shares = sum;
	gp_list_each (struct gp_daemon_job, job, link, &daemon->jobs) {
		bool takes = sum.slices && gp_daemon_turns_would(daemon, job);
		u64 mine = job->share[device], part;

		if (!mine)
			continue;
		part = GP_MAX(mine * WHOLE / sum.all, 1);
		/* Two with very short slices would only change places. */
		if (sum.slices && !takes && mine < sum.most && sum.lower > 1)
			part = GP_MAX(part, SLICE_LEAST);
		wish(job, GPREEMPT_SHARE_AT(sum.slices ? 0 : before * WHOLE / sum.all, part));
		before += mine;
	}
}

void gp_daemon_act_share(struct gp_daemon *daemon, struct gp_daemon_job *job, u32 device, u32 share)
{
	if (device >= GP_SCHED_MAX_DEVICES)
		return;
	job->share[device] = share;
	if (daemon->config.mode != GP_MODE_ACT)
		return;
	if (!share)
		wish(job, WHOLE);
	share_device(daemon, device);
	arm(daemon);
}

void gp_daemon_act_reshare(struct gp_daemon *daemon, const struct gp_daemon_job *job)
{
	for (u32 device = 0; device < daemon->device_count; device++)
		if (job->share[device] && daemon->config.mode == GP_MODE_ACT)
			share_device(daemon, device);
	arm(daemon);
}

void gp_daemon_share_check(struct gp_daemon *daemon, u32 device)
{
	const struct gp_daemon_device_shares *was = &daemon->devices[device].shares;
	struct gp_daemon_device_shares is;

	if (daemon->config.mode != GP_MODE_ACT || !was->slices)
		return;
	is = sum_of(daemon, device);
	if (is.all == was->all && is.most == was->most && is.lower == was->lower &&
	    is.takers == was->takers)
		return;
	share_device(daemon, device);
	arm(daemon);
}

/* ---- the end of acting ---- */

static bool any_under_way(const struct gp_daemon *daemon)
{
	gp_list_each (const struct gp_daemon_client, client, link, &daemon->clients) {
		const struct gp_daemon_client_share *share = &client->share;

		if (client->target &&
		    (share->ticket || (share->due && share->again_ns != STOPPED_NS)))
			return true;
	}
	return false;
}

void gp_daemon_act_lift(struct gp_daemon *daemon, bool forget)
{
	u64 end = gp_monotonic_ns() + LIFT_NS, now;
	bool any_lifted = false;

	gp_list_each (struct gp_daemon_job, job, link, &daemon->jobs) {
		u32 any = 0;

		for (u32 device = 0; device < daemon->device_count; device++)
			any |= job->share[device];
		if (any) {
			wish(job, WHOLE);
			any_lifted = true;
		}
		if (forget)
			memset(job->share, 0, sizeof(job->share));
	}
	while (any_lifted && daemon->library && any_under_way(daemon) &&
	       (now = gp_monotonic_ns()) < end) {
		struct pollfd one = {.fd = daemon->library_watch.fd, .events = POLLIN};

		(void)!poll(&one, 1, (int)((end - now) / GP_NS_PER_MS + 1));
		gp_daemon_act_collect(daemon);
	}
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients)
		gp_daemon_share_forget(client);
	arm(daemon);
}
