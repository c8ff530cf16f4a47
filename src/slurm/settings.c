// SPDX-License-Identifier: MIT
/* Settings of the SPANK plugin: see settings.h. */
#include "slurm/settings.h"

#include <stdio.h>
#include <string.h>

#include "proto/launch.h"

static struct gp_slurm_default *place_for(struct gp_slurm_settings *settings, const char *partition)
{
	for (size_t i = 0; i < settings->count; i++) {
		if (strcmp(settings->defaults[i].partition, partition) == 0)
			return &settings->defaults[i];
	}
	if (settings->count == GP_SLURM_PARTITIONS || strlen(partition) >= GP_SLURM_NAME)
		return NULL;
	struct gp_slurm_default *place = &settings->defaults[settings->count++];
	*place = (struct gp_slurm_default){0};
	snprintf(place->partition, sizeof(place->partition), "%s", partition);
	return place;
}

/* "class" or "class.PARTITION", and its value. */
static bool read_default(struct gp_slurm_settings *settings, const char *argument,
			 const char *value)
{
	char key[GP_SLURM_NAME + 16];
	int length = snprintf(key, sizeof(key), "%.*s", (int)(value - 1 - argument), argument);
	bool is_class = strncmp(key, "class", 5) == 0;
	const char *rest = key + (is_class ? 5 : 6);
	struct gp_slurm_default *place;
	u32 weight = 0;

	if (length >= (int)sizeof(key) || (!is_class && strncmp(key, "weight", 6) != 0) ||
	    (*rest && (*rest != '.' || !rest[1])))
		return false;
	if (is_class ? !gp_proto_launch_is_class(value) : !gp_proto_launch_weight(value, &weight))
		return false;
	place = place_for(settings, *rest ? rest + 1 : "");
	if (!place)
		return false;
	if (is_class)
		snprintf(place->job_class, sizeof(place->job_class), "%s", value);
	else
		place->weight = weight;
	return true;
}

bool gp_slurm_settings_read(struct gp_slurm_settings *settings, const char *argument)
{
	const char *value = strchr(argument, '=');

	if (!value)
		return false;
	value++;
	if (strncmp(argument, "agent=", 6) == 0) {
		if (*value != '/' || strlen(value) >= sizeof(settings->agent) ||
		    !gp_proto_launch_can_list(value))
			return false;
		snprintf(settings->agent, sizeof(settings->agent), "%s", value);
		return true;
	}
	if (strncmp(argument, "directory=", 10) == 0) {
		if (*value != '/' || strlen(value) >= sizeof(settings->directory))
			return false;
		snprintf(settings->directory, sizeof(settings->directory), "%s", value);
		return true;
	}
	if (strncmp(argument, "account=", 8) == 0) {
		if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
			return false;
		settings->account = *value == 'y';
		return true;
	}
	return read_default(settings, argument, value);
}

void gp_slurm_settings_directory(const struct gp_slurm_settings *settings, const char *node,
				 char *out, size_t size)
{
	const char *mark = strstr(settings->directory, "%n");

	if (mark)
		snprintf(out, size, "%.*s%s%s", (int)(mark - settings->directory),
			 settings->directory, node, mark + 2);
	else
		snprintf(out, size, "%s", settings->directory);
}

struct gp_slurm_default gp_slurm_settings_for(const struct gp_slurm_settings *settings,
					      const char *partition)
{
	struct gp_slurm_default out = {0};

	for (size_t i = 0; i < settings->count; i++) {
		const struct gp_slurm_default *from = &settings->defaults[i];
		bool own = *from->partition != 0;

		if (own && strcmp(from->partition, partition) != 0)
			continue;
		if (*from->job_class && (own || !*out.job_class))
			memcpy(out.job_class, from->job_class, sizeof(out.job_class));
		if (from->weight && (own || !out.weight))
			out.weight = from->weight;
	}
	return out;
}
