// SPDX-License-Identifier: MIT
#include "daemon/helper/memory.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "daemon/daemon.h"
#include "gpu/gpu.h"

#define AGAIN_NS (60 * GP_NS_PER_S) /* after it failed */

static bool numbers(const char *p, u64 *out, u32 count)
{
	const char *end = p + strlen(p);

	for (u32 i = 0; i < count; i++) {
		if (!gp_parse_u64(&p, end, &out[i]) || (p < end && *p++ != ' '))
			return false;
	}
	return p == end;
}

static void on_line(struct gp_daemon_child *child, const char *line)
{
	struct gp_daemon *daemon = child->daemon;
	struct gp_daemon_client *client;
	u64 value[6];

	if (strncmp(line, "gpu ", 4) == 0 && numbers(line + 4, value, 6)) {
		for (u32 i = 0; i < daemon->device_count; i++) {
			if (daemon->devices[i].gpu_id == value[0])
				daemon->devices[i].memory = (struct gp_daemon_device_memory){
					.total = value[1],
					.free = GP_MIN(value[2], value[1]),
					.milliwatts = (u32)value[3],
					.celsius = (u32)value[4],
					.mhz = (u32)value[5]};
		}
	} else if (strncmp(line, "process ", 8) == 0 && numbers(line + 8, value, 2)) {
		client = gp_daemon_host_client(daemon, (u32)value[0]);
		if (client)
			client->memory_seen += value[1];
	} else if (strcmp(line, "end") == 0) {
		gp_list_each (struct gp_daemon_client, each, link, &daemon->clients) {
			each->memory = each->memory_seen;
			each->memory_seen = 0;
		}
		gp_daemon_host_settle(daemon);
	}
}

static void forget(struct gp_daemon *daemon)
{
	for (u32 i = 0; i < daemon->device_count; i++)
		daemon->devices[i].memory = (struct gp_daemon_device_memory){0};
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients)
		client->memory = client->memory_seen = 0;
}

static void on_end(struct gp_daemon_child *child, int status)
{
	(void)status;
	child->daemon->memory_helper = NULL;
	child->daemon->memory_again_ns = gp_monotonic_ns() + AGAIN_NS;
	forget(child->daemon);
}

/* Not only while jobs take turns, which begin and end with every pause of a trainer. */
static bool is_wanted(const struct gp_daemon *daemon)
{
	if (daemon->ending)
		return false;
	gp_list_each (const struct gp_daemon_client, client, link, &daemon->clients) {
		if (client->queue_count && gp_gpu_has(client->queues[0].gpu_id, GP_GPU_SLICES))
			return true;
	}
	return false;
}

void gp_daemon_memory_adapt(struct gp_daemon *daemon)
{
	char path[PATH_MAX];
	const char *argv[] = {path, GP_DAEMON_MEMORY_HELPER, NULL};
	struct gp_daemon_child *child = daemon->memory_helper;
	bool wanted = is_wanted(daemon);

	if (child && !wanted) {
		gp_daemon_child_leave(child);
		daemon->memory_helper = NULL;
		daemon->memory_again_ns = 0;
		forget(daemon);
	} else if (!child && wanted && gp_monotonic_ns() >= daemon->memory_again_ns) {
		child = gp_daemon_child_find("gpreemptd", path, sizeof(path))
				? NULL
				: gp_daemon_child_start(daemon, argv, true);
		daemon->memory_helper = child;
		daemon->memory_again_ns = gp_monotonic_ns() + AGAIN_NS;
		if (!child)
			return;
		child->line = on_line;
		child->ended = on_end;
	}
}
