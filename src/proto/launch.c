// SPDX-License-Identifier: MIT
/* The environment of a program with an agent: see launch.h. */
#include "proto/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "proto/proto.h"

#define ROOM 131072 /* bytes of one variable, the most that the kernel passes on */

bool gp_proto_launch_is_class(const char *text)
{
	return strcmp(text, "online") == 0 || strcmp(text, "normal") == 0 ||
	       strcmp(text, "offline") == 0;
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

void gp_proto_launch_own(struct gp_proto_launch *out)
{
	*out = (struct gp_proto_launch){.get = own_get, .set = own_set};
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

int gp_proto_launch_load(const struct gp_proto_launch *launch, const char *library)
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

int gp_proto_launch_team(const struct gp_proto_launch *launch)
{
	char group[GP_PROTO_NAME] = "", team[64];
	u64 hash = 0xcbf29ce484222325; /* FNV-1a */
	unsigned int salt = 0;
	int is = launch->get(launch->data, GP_LAUNCH_GROUP, group, sizeof(group));

	for (const char *c = group; *c; c++)
		hash = (hash ^ (u8)*c) * 0x100000001b3;
	if (is)
		snprintf(team, sizeof(team), "group-%016llx", (unsigned long long)hash);
	else if (getrandom(&salt, sizeof(salt), GRND_NONBLOCK) >= 0)
		snprintf(team, sizeof(team), "run-%d-%08x", getpid(), salt);
	else
		return -EAGAIN;
	return launch->set(launch->data, "GPREEMPT_TEAM", team, is != 0);
}
