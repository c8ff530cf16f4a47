// SPDX-License-Identifier: MIT
/*
 * Whether the queues that an agent names are real. An agent is a library in a program of any user,
 * which can name queues that it does not have and call them busy; so each is looked up in the
 * driver's list, when it is named and every second while it has work. A queue that the driver does
 * not list has no claim. Where the driver cannot be asked (it lists no queues, or lists processes
 * of another pid namespace), programs of the daemon's own user are believed and those of others are
 * not.
 */
#include <unistd.h>

#include "base/i18n.h"
#include "daemon/daemon.h"
#include "gpu/gpu.h"

#define CHECK_NS GP_NS_PER_S
#define AGAIN_NS (2 * GP_NS_PER_S)
#define MISSES   4 /* of one list; then the rest of it is not looked up */

static bool is_known(const struct gp_daemon *daemon, u32 gpu_id)
{
	for (u32 i = 0; i < daemon->device_count; i++)
		if (daemon->devices[i].gpu_id == gpu_id)
			return true;
	return false;
}

static enum gp_proto_daemon_claim claim_of(const struct gp_daemon_client *client, u32 gpu_id,
					   u32 queue)
{
	const struct gp_daemon *daemon = client->daemon;
	int listed;

	/* Attached: the list came from the driver. */
	if (client->attached)
		return GP_CLAIM_HOLDS;
	listed = daemon->lists_queue(&daemon->root, client->who.pid, gpu_id, queue);
	/* A GPU that is only named does not become one. */
	if (listed > 0 || (listed < 0 && client->who.uid == geteuid() && is_known(daemon, gpu_id)))
		return GP_CLAIM_HOLDS;
	return listed < 0 ? GP_CLAIM_UNCHECKED : GP_CLAIM_NOT_LISTED;
}

bool gp_daemon_claim_holds(struct gp_daemon_client *client, u32 gpu_id, u32 queue)
{
	enum gp_proto_daemon_claim claim;

	if (client->misses >= MISSES)
		return false;
	claim = claim_of(client, gpu_id, queue);
	client->misses += claim != GP_CLAIM_HOLDS;
	client->list_claim = GP_MAX(client->list_claim, claim);
	return claim == GP_CLAIM_HOLDS;
}

void gp_daemon_claims_begin(struct gp_daemon_client *client)
{
	client->list_claim = GP_CLAIM_HOLDS;
	client->misses = 0;
}

/* The list may be older than the end of a queue in it: it counts when the next one says the same.
 */
void gp_daemon_claims_end(struct gp_daemon_client *client)
{
	struct gp_diag *diag = client->daemon->diag;

	if (client->list_claim == GP_CLAIM_HOLDS) {
		client->claim = GP_CLAIM_HOLDS;
		client->doubted = false;
		return;
	}
	if (!client->doubted) {
		client->doubted = client->ask_again = true;
		return;
	}
	/* A queue that is new may be listed by the driver a little later than by the agent. */
	if (!gp_timer_armed(&client->timer))
		gp_timer_set(&client->daemon->loop, &client->timer, gp_monotonic_ns() + AGAIN_NS);
	if (client->claim == client->list_claim)
		return;
	client->claim = client->list_claim;
	if (!gp_daemon_user_may_log(client->daemon, client->who.uid))
		return;
	if (client->claim == GP_CLAIM_NOT_LISTED)
		gp_diag(diag, GP_WARNING,
			"ignoring queues of process %u (user %s): the driver does not list them",
			client->who.pid, client->who.user);
	else
		gp_diag(diag, GP_WARNING,
			"ignoring queues of process %u (user %s): they cannot be checked against "
			"the driver's list",
			client->who.pid, client->who.user);
}

bool gp_daemon_claims_check(struct gp_daemon_client *client)
{
	u64 now = gp_monotonic_ns();
	bool gone = false;

	if (client->attached || now < client->claims_at_ns)
		return false;
	client->claims_at_ns = now + CHECK_NS;
	for (size_t i = client->queue_count; i-- > 0;) {
		const struct gp_daemon_client_queue *queue = &client->queues[i];

		if (claim_of(client, queue->gpu_id, queue->kfd_id) != GP_CLAIM_HOLDS) {
			gp_daemon_host_queue_remove(client->daemon, client, i);
			gone = true;
		}
	}
	return gone;
}
