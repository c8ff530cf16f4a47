/* SPDX-License-Identifier: MIT */
/*
 * The settings of the SPANK plugin: arguments in plugstack.conf, and the options of a job. A class
 * or weight for a partition ("class.low=offline") comes before the one for all ("class=normal"), an
 * option of the job before both.
 */
#ifndef GP_SLURM_SETTINGS_H
#define GP_SLURM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

enum { GP_SLURM_PARTITIONS = 64, GP_SLURM_NAME = 64 };

struct gp_slurm_default {
	char partition[GP_SLURM_NAME]; /* "": all */
	char job_class[16];            /* "": not given */
	unsigned int weight;           /* 0: not given */
};

struct gp_slurm_settings {
	char agent[512];
	char directory[256]; /* of the sockets of gpreemptd, with %n for the node; "": the usual one
			      */
	bool account;
	struct gp_slurm_default defaults[GP_SLURM_PARTITIONS];
	size_t count;
};

/* One argument of plugstack.conf; false: it is wrong, and changes nothing. */
bool gp_slurm_settings_read(struct gp_slurm_settings *settings, const char *argument);
/* The directory of a node; "": the usual one. */
void gp_slurm_settings_directory(const struct gp_slurm_settings *settings, const char *node,
				 char *out, size_t size);
/* The values of a partition; "" and 0 where none is given. */
struct gp_slurm_default gp_slurm_settings_for(const struct gp_slurm_settings *settings,
					      const char *partition);

#endif
