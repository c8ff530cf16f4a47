// SPDX-License-Identifier: MIT
/* Built-in values, and the settings of one device or user: its section over "*". */
#include "daemon/config/config.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/core.h"
#include "base/parse.h"
#include "daemon/config/config_keys.h"

/* ---- defaults ---- */

static void device_from_sched(struct gp_daemon_config_device *out)
{
	struct gp_sched_device_config usual;

	gp_sched_device_defaults(&usual);
	*out = (struct gp_daemon_config_device){
		.name = "*",
		.suspend = true,
		.park = true,
		.policy = usual.policy,
		.suspend_cost_ns = usual.suspend_ns,
		.resume_cost_ns = usual.resume_ns,
		.min_run_ns = usual.min_run_ns,
		.turn_ns = usual.turn_ns,
		.linger_ns = usual.linger_ns,
		.hint_ns = usual.hint_ns,
		.unknown_ns = usual.unknown_ns,
		.age_step_ns = usual.age_step_ns,
		.slice_ns = usual.slice_ns,
		.memory_bytes = usual.memory_bytes,
		.utilisation_ppm = usual.utilisation_ppm,
	};
}

int gp_daemon_config_defaults(struct gp_daemon_config *config)
{
	struct gp_sched_config usual = {0};

	gp_sched_defaults(&usual);
	*config = (struct gp_daemon_config){
		.mode = GP_MODE_OBSERVE,
		.activity = true,
		.stand_down = true,
		.lease_ns = usual.lease_ns,
		.max_suspend_ns = usual.max_suspend_ns,
		.operation_timeout_ns = usual.op_timeout_ns,
		.scan_ns = GP_NS_PER_S,
		.read_fastest_ns = 100000,
		.read_slowest_ns = 10000000,
		.decisions = 4096,
		.max_jobs = 4096,
		.max_processes = 4096,
		.max_queues = 65536,
		.metrics_address = "127.0.0.1",
		.metrics_max_jobs = 100,
		.decision_log_bytes = 64ull << 20,
		.decision_log_files = 4,
	};
	if (gp_array_grow((void **)&config->devices, 0, &config->device_capacity,
			  sizeof(*config->devices)) ||
	    gp_array_grow((void **)&config->users, 0, &config->user_capacity,
			  sizeof(*config->users))) {
		gp_daemon_config_free(config);
		return -ENOMEM;
	}
	device_from_sched(&config->devices[config->device_count++]);
	config->users[config->user_count++] = (struct gp_daemon_config_user){
		.name = "*",
		.max_priority = GP_SCHED_PRIORITY_ONLINE + GP_SCHED_STREAM_STEP,
		.max_weight = GP_SCHED_WEIGHT_MAX,
		.max_clients = 256,
		.max_queues = 4096,
		.max_messages = 50000,
	};
	return 0;
}

void gp_daemon_config_free(struct gp_daemon_config *config)
{
	free(config->devices);
	free(config->users);
	free(config->rules);
	memset(config, 0, sizeof(*config));
}

/* ---- sections over each other ---- */

static size_t key_size(const struct gp_daemon_key *key)
{
	switch (key->type) {
	case GP_KEY_TIME:
	case GP_KEY_BYTES:
		return sizeof(u64);
	case GP_KEY_COUNT:
	case GP_KEY_PERCENT:
	case GP_KEY_WORD:
		return sizeof(u32);
	case GP_KEY_YES_NO:
	case GP_KEY_OFF:
		return sizeof(bool);
	case GP_KEY_TEXT:
	case GP_KEY_ADDRESS:
		return GP_CONFIG_TEXT;
	case GP_KEY_SWAP:
		return sizeof(struct gp_daemon_config_swap);
	}
	return 0;
}

static void lay_over(const struct gp_daemon_key *keys, void *base, const void *over, u64 given)
{
	for (size_t i = 0; keys[i].name; i++) {
		if (given & 1ull << i)
			memcpy((char *)base + keys[i].offset, (const char *)over + keys[i].offset,
			       key_size(&keys[i]));
	}
}

bool gp_daemon_config_is_device(const struct gp_daemon_config_device *device, u32 gpu_id, u32 node)
{
	bool by_node = strncmp(device->name, "node ", 5) == 0;
	u64 number;

	if (!gp_argument_u64(device->name + (by_node ? 5 : 0), &number))
		return false;
	return number == (by_node ? node : gpu_id);
}

/* Whether a key is in the section, by its place in the structure. */
static bool says(const struct gp_daemon_config_device *device, size_t offset)
{
	for (size_t i = 0; gp_daemon_device_keys[i].name; i++) {
		if (gp_daemon_device_keys[i].offset == offset)
			return device->given & 1ull << i;
	}
	return false;
}

static struct gp_daemon_config_device device_of(const struct gp_daemon_config *config, u32 gpu_id,
						u32 node, bool slices)
{
	struct gp_daemon_config_device device = config->devices[0];

	if (slices && !says(&device, offsetof(struct gp_daemon_config_device, share)))
		device.share = true;
	if (slices && !says(&device, offsetof(struct gp_daemon_config_device, slice_ns)))
		device.slice_ns = GP_CONFIG_TURN_NS;
	for (size_t i = 1; i < config->device_count; i++) {
		if (gp_daemon_config_is_device(&config->devices[i], gpu_id, node))
			lay_over(gp_daemon_device_keys, &device, &config->devices[i],
				 config->devices[i].given);
	}
	return device;
}

bool gp_daemon_config_copies(const struct gp_daemon_config *config, u32 gpu_id, u32 node)
{
	return device_of(config, gpu_id, node, false).copies;
}

bool gp_daemon_config_parks(const struct gp_daemon_config *config, u32 gpu_id, u32 node)
{
	return device_of(config, gpu_id, node, false).park;
}

void gp_daemon_config_device(const struct gp_daemon_config *config, u32 gpu_id, u32 node,
			     bool slices, struct gp_sched_device_config *out)
{
	struct gp_daemon_config_device device = device_of(config, gpu_id, node, slices);

	*out = (struct gp_sched_device_config){
		.policy = device.policy,
		.can_suspend = device.suspend,
		.can_share = device.share,
		.slices = device.share && slices,
		.suspend_ns = device.suspend_cost_ns,
		.resume_ns = device.resume_cost_ns,
		.min_run_ns = device.min_run_ns,
		.turn_ns = device.turn_ns,
		.linger_ns = device.linger_ns,
		.hint_ns = device.hint_ns,
		.unknown_ns = device.unknown_ns,
		.age_step_ns = device.age_step_ns,
		.slice_ns = device.slice_ns,
		.memory_bytes = device.memory_bytes,
		.utilisation_ppm = device.utilisation_ppm,
	};
}

void gp_daemon_config_user(const struct gp_daemon_config *config, u32 uid, const char *user,
			   struct gp_daemon_config_user *out)
{
	char number[16];

	*out = config->users[0];
	/* The daemon's own user has no one to ask; others stay below class online, also with a
	 * stream's step, unless a section or a rule grants more. */
	if (!(config->users[0].given & GP_USER_MAX_PRIORITY) && uid != geteuid())
		out->max_priority = GP_SCHED_PRIORITY_ONLINE - GP_SCHED_STREAM_STEP;
	snprintf(number, sizeof(number), "%u", uid);
	for (size_t i = 1; i < config->user_count; i++) {
		const char *name = config->users[i].name;

		if (strcmp(name, user) == 0 || strcmp(name, number) == 0)
			lay_over(gp_daemon_user_keys, out, &config->users[i],
				 config->users[i].given);
	}
}
