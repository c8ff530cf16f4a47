/* SPDX-License-Identifier: MIT */
/*
 * Inside the reader of scenario files: where it stands, and what a key may be. scenario_lines.c has
 * the lines, scenario.c the sections of a machine, scenario_job.c those of its jobs,
 * cluster/scenario.c those of a cluster, scenario_keys.c the values.
 */
#ifndef GP_SIM_SCENARIO_READ_H
#define GP_SIM_SCENARIO_READ_H

#include <stddef.h>

#include "base/string_table.h"
#include "sim/scenario.h"

#define GP_SCENARIO_KEYS       64
#define GP_SCENARIO_KEY_LENGTH 32

struct gp_sim_reader;
typedef int gp_sim_key_reader(struct gp_sim_reader *reader, const char *name, const char *value);

struct gp_sim_reader {
	struct gp_sim_scenario *scenario; /* NULL: of a cluster */
	struct gp_sim_cluster *cluster;
	/* Begins a section: sets `section`, which gets its keys. */
	int (*open)(struct gp_sim_reader *reader, const char *name);
	gp_sim_key_reader *section;
	const char *file;
	struct gp_diag *diag;
	unsigned line;
	struct gp_sim_job *job;  /* of the section; NULL elsewhere */
	struct gp_strings names; /* of the jobs, by index */
	bool work;               /* the section is the job's recording */
	/* Of the section so far: one given twice is a slip. */
	char keys[GP_SCENARIO_KEYS][GP_SCENARIO_KEY_LENGTH];
	size_t key_count;
};

/* A key whose value is a time or a number that goes straight into a struct. */
struct gp_sim_scenario_key {
	const char *name;
	size_t offset;
	u8 size; /* 4 or 8 */
	bool time;
	u64 min, max;
};

#define GP_TIME(type, name, member)                                       \
	{                                                                 \
		name, offsetof(type, member), 8, true, 0, GP_SIM_TIME_MAX \
	}
#define GP_NUMBER(type, name, member, min, max)                                               \
	{                                                                                     \
		name, offsetof(type, member), sizeof(((type *)NULL)->member), false, min, max \
	}

/* Reads a whole file. */
int gp_sim_reader_lines(struct gp_sim_reader *reader, const char *text, size_t size);
/* -EINVAL, after saying what the value must be. */
int gp_sim_reader_wrong(struct gp_sim_reader *reader, const char *key, const char *value,
			const char *wanted);
int gp_sim_reader_number(struct gp_sim_reader *reader, const char *key, const char *value, u64 min,
			 u64 max, u64 *out);
/* `also`: the names, with blanks between them, that the section also has, for the message about an
 * unknown one. */
int gp_sim_reader_key(struct gp_sim_reader *reader, const struct gp_sim_scenario_key *keys,
		      size_t count, const char *also, void *base, const char *name,
		      const char *value);

/* ---- scenario_job.c ---- */

int gp_sim_reader_add_job(struct gp_sim_reader *reader, const char *name);
int gp_sim_reader_job_key(struct gp_sim_reader *reader, const char *name, const char *value);
/* [work NAME]: what was recorded of the job of that name; and a line of it. */
int gp_sim_reader_begin_work(struct gp_sim_reader *reader, const char *name);
int gp_sim_reader_work(struct gp_sim_reader *reader, const char *line);

#endif
