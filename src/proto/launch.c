// SPDX-License-Identifier: MIT
/* The environment of a program with an agent: see launch.h. */
#include "proto/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/parse.h"
#include "proto/proto.h"

#define ROOM 131072 /* bytes of one variable, the most that the kernel passes on */

bool gp_proto_launch_is_class(const char *text)
{
	return strcmp(text, "online") == 0 || strcmp(text, "normal") == 0 ||
	       strcmp(text, "offline") == 0;
}

bool gp_proto_launch_weight(const char *text, u32 *out)
{
	u64 number;

	if (!gp_argument_u64(text, &number) || number < 1 || number > GP_LAUNCH_WEIGHT_MAX)
		return false;
	*out = (u32)number;
	return true;
}

bool gp_proto_launch_is_group(const char *text)
{
	return *text && strlen(text) < GP_PROTO_NAME;
}

bool gp_proto_launch_can_list(const char *path)
{
	return !strpbrk(path, " :\t\n");
}

static int own_get(void *data, const char *name, char *out, size_t size)
{
	const char *value = getenv(name);

	(void)data;
	if (!value)
		return 0;
	return snprintf(out, size, "%s", value) < (int)size ? 1 : -ENOSPC;
}

static int own_set(void *data, const char *name, const char *value, bool replace)
{
	(void)data;
	return setenv(name, value, replace) ? -ENOMEM : 0;
}

static int own_unset(void *data, const char *name)
{
	(void)data;
	return unsetenv(name) ? -errno : 0;
}

void gp_proto_launch_own(struct gp_proto_launch *out)
{
	*out = (struct gp_proto_launch){.get = own_get, .set = own_set, .unset = own_unset};
}

/* Where the list has one of the two libraries, which may be from another installation; or NULL. */
static const char *find(const char *list)
{
	const char *at = strstr(list, GP_LAUNCH_LIBRARY);

	return at ? at : strstr(list, GP_LAUNCH_AUTO_LIBRARY);
}

/* First in a list of libraries, or in the place of the one that an earlier launch put there. */
static int put(const struct gp_proto_launch *launch, const char *variable, const char *library,
	       char separator, char *before)
{
	int is = launch->get(launch->data, variable, before, ROOM), error;
	const char *name = is > 0 ? find(before) : NULL, *end;
	char *value;

	if (is < 0)
		return is;
	if (name) {
		end = name + strcspn(name, ": ");
		while (name > before && !strchr(": ", name[-1]))
			name--;
		is = asprintf(&value, "%.*s%s%s", (int)(name - before), before, library, end);
	} else if (is && *before) {
		is = asprintf(&value, "%s%c%s", library, separator, before);
	} else {
		return launch->set(launch->data, variable, library, true);
	}
	if (is < 0)
		return -ENOMEM;
	error = launch->set(launch->data, variable, value, true);
	free(value);
	return error;
}

static int load(const struct gp_proto_launch *launch, const char *library)
{
	char *room = malloc(ROOM);
	int error = room ? 0 : -ENOMEM;

	/* The runtime takes a list, separated by blanks, and calls each tool in turn: another
	 * profiler's library goes on working. */
	if (!error)
		error = put(launch, "LD_PRELOAD", library, ':', room);
	if (!error)
		error = put(launch, "HSA_TOOLS_LIB", library, ' ', room);
	/* Without it ROCm 6 passes the list over when rocprofv3 is there. */
	if (!error)
		error = launch->set(launch->data, "HSA_TOOLS_ROCPROFILER_V1_TOOLS", "1", false);
	free(room);
	return error;
}

/* The name that a front end and the program that launches know each other by: for --ahead auto. */
static int team(const struct gp_proto_launch *launch)
{
	char group[GP_PROTO_NAME] = "", name[64];
	u64 hash = 0xcbf29ce484222325; /* FNV-1a */
	unsigned int salt = 0;
	int is = launch->get(launch->data, "GPREEMPT_GROUP", group, sizeof(group));

	for (const char *c = group; *c; c++)
		hash = (hash ^ (u8)*c) * 0x100000001b3;
	if (is)
		snprintf(name, sizeof(name), "group-%016llx", (unsigned long long)hash);
	else if (getrandom(&salt, sizeof(salt), GRND_NONBLOCK) >= 0)
		snprintf(name, sizeof(name), "run-%d-%08x", getpid(), salt);
	else
		return -EAGAIN;
	return launch->set(launch->data, "GPREEMPT_TEAM", name, is != 0);
}

/* ---- everything ---- */

static int set_number(const struct gp_proto_launch *launch, const char *name, u64 number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return launch->set(launch->data, name, text, true);
}

static int set_ahead(const struct gp_proto_launch *launch, const struct gp_proto_launch_wish *wish)
{
	int error;

	if (wish->ahead == GP_LAUNCH_AHEAD_AUTO) {
		error = launch->unset(launch->data, "GPREEMPT_AHEAD_US");
		return error ? error : launch->set(launch->data, "GPREEMPT_AHEAD", "auto", true);
	}
	if (wish->ahead == GP_LAUNCH_AHEAD_TIME) {
		error = launch->unset(launch->data, "GPREEMPT_AHEAD");
		return error ? error : set_number(launch, "GPREEMPT_AHEAD_US", wish->ahead_us);
	}
	return 0;
}

static int set_wish(const struct gp_proto_launch *launch, const struct gp_proto_launch_wish *wish)
{
	int error = 0;

	if (wish->directory)
		error = launch->set(launch->data, "GPREEMPT_DIR", wish->directory, true);
	if (!error && wish->job_class)
		error = launch->set(launch->data, "GPREEMPT_CLASS", wish->job_class, true);
	if (!error && wish->group)
		error = launch->set(launch->data, "GPREEMPT_GROUP", wish->group, true);
	if (!error && wish->has_priority)
		error = set_number(launch, "GPREEMPT_PRIORITY", wish->priority);
	if (!error && wish->weight)
		error = set_number(launch, "GPREEMPT_WEIGHT", wish->weight);
	if (!error && wish->deadline_us)
		error = set_number(launch, "GPREEMPT_DEADLINE_US", wish->deadline_us);
	return error ? error : set_ahead(launch, wish);
}

bool gp_proto_launch_is_auto(const struct gp_proto_launch *launch,
			     const struct gp_proto_launch_wish *wish)
{
	char now[8] = "";

	if (wish->ahead != GP_LAUNCH_AHEAD_AS_IT_IS)
		return wish->ahead == GP_LAUNCH_AHEAD_AUTO;
	return launch->get(launch->data, "GPREEMPT_AHEAD", now, sizeof(now)) > 0 &&
	       strcmp(now, "auto") == 0;
}

int gp_proto_launch_prepare(const struct gp_proto_launch *launch,
			    const struct gp_proto_launch_wish *wish, const char *library)
{
	int error = set_wish(launch, wish);

	/* It depends on the group. */
	if (!error && gp_proto_launch_is_auto(launch, wish))
		error = team(launch);
	return error ? error : load(launch, library);
}
