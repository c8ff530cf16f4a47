// SPDX-License-Identifier: MIT
/*
 * A configuration from any bytes: it is either refused with a message for each mistake, or what it
 * gives is within the limits the scheduler accepts.
 */
#include <stdlib.h>

#include "daemon/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct count {
	struct gp_diag diag;
	size_t errors;
};

static void emit(struct gp_diag *diag, enum gp_severity severity, const char *text)
{
	struct count *count = (struct count *)diag;

	count->errors += severity == GP_ERROR && *text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct count count = {.diag = {.emit = emit}};
	struct gp_sched_device_config device;
	struct gp_daemon_config_user user;
	struct gp_daemon_config config;
	int error = gp_daemon_config_parse("fuzz", (const char *)data, size, &count.diag, &config);

	if (!!error != !!count.errors)
		abort();
	if (error)
		return 0;
	gp_daemon_config_device(&config, 1, 1, false, &device);
	gp_daemon_config_user(&config, 1, "x", &user);
	if (device.policy >= GP_SCHED_POLICIES || device.min_run_ns > GP_SCHED_SPAN_MAX ||
	    user.max_priority > GP_SCHED_PRIORITY_MAX || config.mode > GP_MODE_ACT)
		abort();
	gp_daemon_config_free(&config);
	return 0;
}
