// SPDX-License-Identifier: MIT
/*
 * When the memory of a job is swapped out, and back (NVIDIA). Up to then its holds are ordinary
 * ones: the core suspends it for jobs with precedence and ends each hold at max_suspend. A rule
 * says when that is enough:
 *
 *   swap = after TIME   a strict job with precedence has been served for that long, without a
 *                       pause of PAUSE_NS
 *   swap = on pressure  less than a tenth of a GPU's memory is free, and a job with precedence is
 *                       on that GPU
 *
 * From then on the job is away (absent.c): it has no claim, no hold, and no limit of one. It comes
 * back when no job with precedence was served for RELIEF_NS, or when there has been room for it
 * for ROOM_NS; sooner if its rule goes, the daemon ends, or `gpreempt release` says so.
 *
 * A command does the work (child.c): it checks first, while the job is still held, and says
 * "swapping" before it touches anything. Only then the hold ends, because work that was submitted
 * must end. Where it fails the process runs, and is not tried again for a while.
 */
#include "daemon/swap/swap.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/i18n.h"
#include "base/units.h"
#include "daemon/daemon.h"
#include "gpu/gpu.h"
#include "proto/swapped.h"

#define PAUSE_NS  (100 * GP_NS_PER_MS)
#define RELIEF_NS GP_NS_PER_S
#define ROOM_NS   (5 * GP_NS_PER_S)
#define AGAIN_NS  (60 * GP_NS_PER_S) /* after a failure; doubles */
#define LATEST_NS (3600 * GP_NS_PER_S)
#define LEFT_NS   (5 * GP_NS_PER_S) /* between tries to bring one back that was left */
#define LOOK_NS   (GP_NS_PER_S / 2) /* between looks at one that another process keeps */
#define LOW_PART  10                /* of the memory of a GPU */

bool gp_daemon_swap_is(const struct gp_daemon_client *client)
{
	return client->swap.state >= GP_DAEMON_SWAP_GOING;
}

bool gp_daemon_swap_moves(const struct gp_daemon_client *client)
{
	return client->swap.state == GP_DAEMON_SWAP_GOING ||
	       client->swap.state == GP_DAEMON_SWAP_COMING;
}

static struct gp_daemon_client *only_client(const struct gp_daemon_job *job)
{
	return !gp_list_empty(&job->clients) && job->clients.next == job->clients.prev
		       ? gp_container(job->clients.next, struct gp_daemon_client, job_link)
		       : NULL;
}

static u64 devices_of(struct gp_daemon *daemon, const struct gp_daemon_client *client)
{
	u64 devices = 0;

	for (size_t i = 0; i < client->queue_count; i++) {
		u32 device = gp_daemon_host_device(daemon, client->queues[i].gpu_id);

		if (device != GP_DAEMON_NONE)
			devices |= 1ull << device;
	}
	return devices;
}

/* ---- states ---- */

/* The driver's objects of a process that was out are new ones: nothing that was known of them
 * holds, so its target is closed while it is away. */
static void set_state(struct gp_daemon_client *client, enum gp_daemon_swap_state state)
{
	bool was = gp_daemon_swap_is(client), is = state >= GP_DAEMON_SWAP_GOING;

	client->swap.state = state;
	if (was == is)
		return;
	if (is)
		gp_daemon_act_close(client);
	else
		gp_daemon_act_open(client);
	gp_daemon_absent_changed(client);
	if (!is && client->attached)
		gp_daemon_attach_queues(client);
}

static void failed(struct gp_daemon_client *client)
{
	struct gp_daemon_client_swap *swap = &client->swap;

	swap->pause_ns = GP_MIN(swap->pause_ns ? 2 * swap->pause_ns : AGAIN_NS, LATEST_NS);
	swap->again_ns = gp_monotonic_ns() + swap->pause_ns;
	gp_diag(client->daemon->diag, GP_WARNING, "rule '%s': %s (next attempt in %s)",
		client->job->rule,
		*swap->said ? swap->said
			    : _("the command that swaps it out failed without saying why, so its "
				"memory stays on the GPU"),
		gp_duration_text(swap->pause_ns).text);
}

/* "gpreempt suspend: error: TEXT"; the sentence is what follows the last prefix. */
static void keep_words(struct gp_daemon_client_swap *swap, const char *line)
{
	static const char *const prefixes[] = {"gpreempt suspend: ", "gpreempt release: ",
					       "error: ", "warning: "};

	for (size_t i = 0; i < GP_ARRAY_SIZE(prefixes); i++) {
		if (strncmp(line, prefixes[i], strlen(prefixes[i])) == 0)
			line += strlen(prefixes[i]);
	}
	if (!*swap->said)
		snprintf(swap->said, sizeof(swap->said), "%s", line);
}

static void on_line(struct gp_daemon_child *child, const char *line)
{
	struct gp_daemon_client *client = child->owner;
	struct gp_proto_swapped record;

	if (*line != '{') {
		keep_words(&client->swap, line);
		return;
	}
	if (strstr(line, "\"swapping\"")) {
		set_state(client, GP_DAEMON_SWAP_GOING);
	} else if (strstr(line, "\"swapped_out\"")) {
		if (gp_proto_swapped_find(client->who.pid, &record) == 0)
			client->swap.bytes = record.bytes;
		client->swap.pause_ns = 0;
		client->swap.said[0] = '\0';
		set_state(client, GP_DAEMON_SWAP_OUT);
		gp_diag(client->daemon->diag, GP_NOTE, "process %u (%s) is swapped out: %s",
			client->who.pid, client->who.name, gp_size_text(client->swap.bytes).text);
	}
	gp_daemon_host_settle(client->daemon);
}

static void on_end(struct gp_daemon_child *child, int status)
{
	struct gp_daemon_client *client = child->owner;
	struct gp_daemon_client_swap *swap = &client->swap;
	struct gp_daemon *daemon = client->daemon;
	bool back = swap->state == GP_DAEMON_SWAP_COMING || swap->state == GP_DAEMON_SWAP_LEFT;
	struct gp_proto_swapped record;

	(void)status;
	swap->child = NULL;
	if (gp_proto_swapped_find(client->who.pid, &record) == 0) {
		if (swap->state != GP_DAEMON_SWAP_LEFT)
			gp_diag(daemon->diag, GP_WARNING,
				"process %u (%s) is still swapped out: %s; trying again",
				client->who.pid, client->who.name,
				*swap->said ? swap->said
					    : _("the command that brings its memory back ended "
						"without saying why"));
		swap->again_ns = gp_monotonic_ns() + LEFT_NS;
		set_state(client, GP_DAEMON_SWAP_LEFT);
	} else {
		if (!back && !*swap->said && swap->state == GP_DAEMON_SWAP_OUT)
			snprintf(swap->said, sizeof(swap->said), "%s",
				 _("its memory was brought back with 'gpreempt release' or by "
				   "another program"));
		if (!back)
			failed(client);
		swap->pressed_ns = swap->fits_ns = 0;
		set_state(client, GP_DAEMON_SWAP_IN);
	}
	gp_daemon_host_settle(daemon);
}

/* ---- out and back ---- */

static bool run(struct gp_daemon_client *client, const char *verb, const char *const *options)
{
	const char *argv[8] = {NULL, verb, NULL};
	char path[PATH_MAX], pid[16];
	size_t count = 3;

	snprintf(pid, sizeof(pid), "%u", client->who.pid);
	argv[2] = pid;
	while (*options)
		argv[count++] = *options++;
	argv[0] = path;
	client->swap.said[0] = '\0';
	if (gp_daemon_child_find("gpreempt", path, sizeof(path)) == 0)
		client->swap.child = gp_daemon_child_start(client->daemon, argv, false);
	if (!client->swap.child) {
		snprintf(client->swap.said, sizeof(client->swap.said), "%s",
			 _("the gpreempt command cannot be started; it must be in the directory "
			   "of gpreemptd or in ../bin beside it (reinstall gpreempt)"));
		return false;
	}
	client->swap.child->owner = client;
	client->swap.child->line = on_line;
	client->swap.child->ended = on_end;
	return true;
}

static void swap_out(struct gp_daemon *daemon, struct gp_daemon_client *client)
{
	char memory[32];
	const char *options[] = {"--swap-now", "--json", daemon->config.swap_memory ? memory : NULL,
				 NULL};

	snprintf(memory, sizeof(memory), "--swap-memory=%lluB",
		 (unsigned long long)daemon->config.swap_memory);
	client->swap.devices = devices_of(daemon, client);
	client->swap.fits_ns = 0;
	if (!run(client, "suspend", options)) {
		failed(client);
		return;
	}
	set_state(client, GP_DAEMON_SWAP_CHECKED);
}

/* Another process than ours will bring it back: one of the last gpreemptd, or of a user. */
static bool is_kept(const struct gp_proto_swapped *record)
{
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, record->keeper, 0),
			     .events = POLLIN};
	bool lives = end.fd >= 0 && poll(&end, 1, 0) == 0;

	if (end.fd >= 0)
		close(end.fd);
	return lives;
}

static void bring_back(struct gp_daemon_client *client)
{
	static const char *const none[] = {NULL};
	struct gp_proto_swapped record;

	if (client->swap.state == GP_DAEMON_SWAP_OUT) {
		kill(client->swap.child->pid, SIGTERM);
		set_state(client, GP_DAEMON_SWAP_COMING);
	} else if (!client->swap.child) {
		bool back = gp_proto_swapped_find(client->who.pid, &record) != 0;
		bool kept = !back && is_kept(&record);

		client->swap.again_ns = gp_monotonic_ns() + (kept ? LOOK_NS : LEFT_NS);
		if (back)
			set_state(client, GP_DAEMON_SWAP_IN);
		else if (!kept)
			run(client, "release", none);
	}
}

/* ---- when ---- */

static bool may_swap(const struct gp_daemon *daemon, const struct gp_daemon_job *job)
{
	return job->swap.when != GP_SWAP_NEVER && daemon->config.mode == GP_MODE_ACT &&
	       !job->left_alone && !job->uncontrolled && job->pin != GP_SCHED_PIN_RUN;
}

/* Less than a tenth is free; unknown is not low. */
static bool is_low(const struct gp_daemon_device *device)
{
	return device->memory.total && device->memory.free < device->memory.total / LOW_PART;
}

static bool has_room(const struct gp_daemon *daemon, const struct gp_daemon_client *client)
{
	for (u32 i = 0; i < daemon->device_count; i++) {
		const struct gp_daemon_device_memory *memory = &daemon->devices[i].memory;

		if ((client->swap.devices & 1ull << i) && memory->total &&
		    memory->free < client->swap.bytes + memory->total / LOW_PART)
			return false;
	}
	return true;
}

/* Whether a job with precedence keeps this one off a GPU that it uses, or used. */
static bool is_pressed(struct gp_daemon *daemon, const struct gp_daemon_job *job, u64 devices)
{
	bool pressure = job->swap.when == GP_SWAP_PRESSURE;

	gp_list_each (struct gp_daemon_job, other, link, &daemon->jobs) {
		u64 shared = 0;

		if (other == job || other->spec.priority <= job->spec.priority || other->away.by ||
		    (!pressure && !gp_daemon_strict_serves(other)))
			continue;
		gp_list_each (const struct gp_daemon_client, client, job_link, &other->clients)
			shared |= devices_of(daemon, client) & devices;
		for (u32 i = 0; shared && i < daemon->device_count; i++) {
			if ((shared & 1ull << i) && (!pressure || is_low(&daemon->devices[i])))
				return true;
		}
	}
	return false;
}

static bool has_precedence(struct gp_daemon *daemon, const struct gp_daemon_job *job, u64 devices)
{
	gp_list_each (struct gp_daemon_job, other, link, &daemon->jobs) {
		if (other == job || other->spec.priority <= job->spec.priority || other->away.by)
			continue;
		gp_list_each (const struct gp_daemon_client, client, job_link, &other->clients) {
			if (devices_of(daemon, client) & devices)
				return true;
		}
	}
	return false;
}

/* Said once: it will not change. */
static bool is_refused(struct gp_daemon *daemon, struct gp_daemon_job *job,
		       struct gp_daemon_client *client)
{
	if (client->swap.refused)
		return true;
	if (!only_client(job))
		snprintf(client->swap.said, sizeof(client->swap.said),
			 _("cannot swap out process %u: its job has several processes, which may "
			   "wait for each other"),
			 client->who.pid);
	else if (!gp_gpu_has(client->queues[0].gpu_id, GP_GPU_SWAPS))
		snprintf(client->swap.said, sizeof(client->swap.said),
			 _("cannot swap out process %u: the driver of its GPU has no call that "
			   "moves GPU memory"),
			 client->who.pid);
	else
		return false;
	client->swap.refused = true;
	gp_diag(daemon->diag, GP_WARNING, "rule '%s': %s", job->rule, client->swap.said);
	return true;
}

/* When to look again. */
static u64 step_in(struct gp_daemon *daemon, struct gp_daemon_job *job,
		   struct gp_daemon_client *client, u64 now)
{
	struct gp_daemon_client_swap *swap = &client->swap;
	u64 due;

	if (!may_swap(daemon, job) || !client->queue_count || job->away.by ||
	    is_refused(daemon, job, client)) {
		swap->pressed_ns = 0;
		return UINT64_MAX;
	}
	if (is_pressed(daemon, job, devices_of(daemon, client))) {
		swap->served_ns = now;
		swap->pressed_ns = swap->pressed_ns ? swap->pressed_ns : now;
	} else if (now >= swap->served_ns + PAUSE_NS) {
		swap->pressed_ns = 0;
	}
	if (!swap->pressed_ns)
		return UINT64_MAX;
	due = GP_MAX(swap->pressed_ns + job->swap.after_ns, swap->again_ns);
	if (now >= due && swap->served_ns == now) {
		swap_out(daemon, client);
		return UINT64_MAX;
	}
	return swap->served_ns == now ? due : swap->served_ns + PAUSE_NS;
}

static u64 step_out(struct gp_daemon *daemon, struct gp_daemon_job *job,
		    struct gp_daemon_client *client, u64 now)
{
	struct gp_daemon_client_swap *swap = &client->swap;
	bool pressure = job->swap.when == GP_SWAP_PRESSURE, pressed;
	u64 wait = pressure ? ROOM_NS : RELIEF_NS;

	if (swap->child && swap->state != GP_DAEMON_SWAP_OUT)
		return UINT64_MAX; /* its end comes */
	if (gp_daemon_hold_of(client))
		return UINT64_MAX; /* the end of the hold comes */
	pressed = pressure ? has_precedence(daemon, job, swap->devices) && !has_room(daemon, client)
			   : is_pressed(daemon, job, swap->devices);
	if (pressed)
		swap->fits_ns = 0;
	else
		swap->fits_ns = swap->fits_ns ? swap->fits_ns : now;
	if (may_swap(daemon, job) && only_client(job) && swap->state == GP_DAEMON_SWAP_OUT) {
		if (pressed)
			return UINT64_MAX;
		if (now < swap->fits_ns + wait)
			return swap->fits_ns + wait;
	}
	if (swap->state == GP_DAEMON_SWAP_LEFT && now < swap->again_ns)
		return swap->again_ns;
	bring_back(client);
	if (swap->state == GP_DAEMON_SWAP_IN)
		return now; /* what follows from it is for the next round */
	return swap->child ? UINT64_MAX : swap->again_ns;
}

void gp_daemon_swap_step(struct gp_daemon *daemon)
{
	u64 now = gp_monotonic_ns(), next = UINT64_MAX;

	if (!daemon->swaps || daemon->swapping || daemon->ending)
		return;
	daemon->swapping = true;
	gp_list_each (struct gp_daemon_job, job, link, &daemon->jobs) {
		gp_list_each (struct gp_daemon_client, client, job_link, &job->clients) {
			u64 at = client->swap.state == GP_DAEMON_SWAP_IN
					 ? step_in(daemon, job, client, now)
					 : step_out(daemon, job, client, now);

			next = GP_MIN(next, at);
		}
	}
	daemon->swapping = false;
	gp_timer_set(&daemon->loop, &daemon->swap_timer, next);
}

static void time_out(struct gp_timer *timer)
{
	gp_daemon_host_settle(gp_container(timer, struct gp_daemon, swap_timer));
}

void gp_daemon_swap_init(struct gp_daemon *daemon)
{
	gp_list_init(&daemon->children);
	gp_timer_init(&daemon->swap_timer, time_out);
}

void gp_daemon_swap_join(struct gp_daemon_client *client)
{
	struct gp_proto_swapped record;

	if (gp_proto_swapped_find(client->who.pid, &record))
		return;
	client->swap.state = GP_DAEMON_SWAP_LEFT;
	client->swap.bytes = record.bytes;
	client->daemon->swaps = true;
}

void gp_daemon_swap_leave(struct gp_daemon_client *client)
{
	struct gp_proto_swapped record;

	if (client->swap.child && !client->swap.bytes &&
	    gp_proto_swapped_find(client->who.pid, &record) == 0)
		client->swap.bytes = record.bytes;
	if (client->swap.child) {
		client->swap.child->bytes = client->swap.bytes;
		gp_daemon_child_leave(client->swap.child);
	}
	client->swap = (struct gp_daemon_client_swap){0};
}

void gp_daemon_swap_view(const struct gp_daemon_job *job, struct gp_proto_msg_job *out)
{
	gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients) {
		out->memory += client->memory;
		if (gp_daemon_swap_is(client))
			out->swapped += client->swap.bytes;
		if (!*out->swap_said)
			memcpy(out->swap_said, client->swap.said, sizeof(out->swap_said));
	}
}
