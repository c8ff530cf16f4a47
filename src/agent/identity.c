// SPDX-License-Identifier: MIT
/* Who this program is to a scheduler: the variables of `gpreempt run`. */
#include "agent/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A number in a variable; a bad one counts as not set. */
static bool number(const char *name, u64 most, u64 *out)
{
	const char *text = getenv(name);
	u64 value = 0;

	if (!text || !*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (u64)(*text - '0');
		if (value > most)
			return false;
	}
	*out = value;
	return true;
}

static void text(const char *name, char *out, size_t size)
{
	const char *value = getenv(name);

	if (value)
		gp_wire_text(out, size, value, strlen(value));
}

void gp_agent_identify(struct gp_agent_identity *identity)
{
	const char *job_class = getenv("GPREEMPT_CLASS");
	u64 value;

	*identity = (struct gp_agent_identity){.priority = GP_PRIORITY_DEFAULT, .weight = 1};
	if (job_class && strcmp(job_class, "online") == 0) {
		identity->job_class = GP_CLASS_ONLINE;
		identity->priority = GP_PRIORITY_ONLINE;
	} else if (job_class && strcmp(job_class, "offline") == 0) {
		identity->job_class = GP_CLASS_OFFLINE;
		identity->priority = GP_PRIORITY_OFFLINE;
	}
	if (number("GPREEMPT_PRIORITY", GP_PRIORITY_MAX, &value))
		identity->priority = (u32)value;
	if (number("GPREEMPT_WEIGHT", UINT32_MAX, &value) && value)
		identity->weight = (u32)value;
	if (number("GPREEMPT_DEADLINE_US", UINT32_MAX * 1000ull, &value))
		identity->deadline_us = value;
	text("GPREEMPT_GROUP", identity->group, sizeof(identity->group));
	gp_wire_text(identity->name, sizeof(identity->name), program_invocation_short_name,
		     strlen(program_invocation_short_name));
}
