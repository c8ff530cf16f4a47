// SPDX-License-Identifier: MIT
/* Reads cluster scenarios: see cluster.h. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/core.h"
#include "base/i18n.h"
#include "base/parse.h"
#include "base/units.h"
#include "sim/cluster/cluster.h"
#include "sim/scenario_read.h"

#define HOUR_NS (3600 * GP_NS_PER_S)
#define LONG_TIME(type, name, member, min)                                          \
	{                                                                           \
		name, offsetof(type, member), 8, true, min, GP_SIM_CLUSTER_TIME_MAX \
	}

void gp_sim_cluster_init(struct gp_sim_cluster *cluster)
{
	*cluster = (struct gp_sim_cluster){.chip = "mi308x",
					   .nodes = 1,
					   .gpus = 8,
					   .time_ns = 24 * HOUR_NS,
					   .seed = 1,
					   .grace_ns = 30 * GP_NS_PER_S,
					   .restart_ns = 5 * 60 * GP_NS_PER_S,
					   .patience_ns = 6 * HOUR_NS};
}

void gp_sim_cluster_free(struct gp_sim_cluster *cluster)
{
	free(cluster->kinds);
	free(cluster->jobs);
	cluster->kinds = NULL;
	cluster->jobs = NULL;
	cluster->kind_count = cluster->kind_room = cluster->job_count = cluster->job_room = 0;
}

u32 gp_sim_cluster_left(const struct gp_sim_cluster *cluster, u32 busy)
{
	u32 at = busy / 100, part = busy % 100;

	if (at >= GP_SIM_CLUSTER_LOADS - 1)
		return cluster->share[GP_SIM_CLUSTER_LOADS - 1];
	return (cluster->share[at] * (100 - part) + cluster->share[at + 1] * part) / 100;
}

/* ---- values ---- */

/* "30%" in thousandths; one digit behind the point. */
static bool parse_percent(const char *value, u32 *permille)
{
	const char *p = value, *end = value + strlen(value);
	u32 whole, tenth = 0;

	if (!gp_parse_u32(&p, end, &whole) || whole > 100)
		return false;
	if (p < end && *p == '.') {
		p++;
		if (p == end || !gp_is_digit(*p))
			return false;
		tenth = (u32)(*p++ - '0');
	}
	gp_skip_blanks(&p, end);
	*permille = whole * 10 + tenth;
	return strcmp(p, "%") == 0 && *permille <= GP_SIM_CLUSTER_FULL;
}

/* "12/h", "3/min", "2/d". */
static bool parse_rate(const char *text, size_t length, u64 *every_ns)
{
	static const struct {
		const char *unit;
		u64 ns;
	} units[] = {{"/s", GP_NS_PER_S},
		     {"/min", 60 * GP_NS_PER_S},
		     {"/h", HOUR_NS},
		     {"/d", 24 * HOUR_NS}};
	const char *p = text, *end = text + length;
	u64 count;

	if (!gp_parse_u64(&p, end, &count) || !count || count > 1000000)
		return false;
	for (size_t i = 0; i < GP_ARRAY_SIZE(units); i++) {
		size_t size = strlen(units[i].unit);

		if ((size_t)(end - p) == size && memcmp(p, units[i].unit, size) == 0) {
			*every_ns = units[i].ns / count;
			return *every_ns != 0;
		}
	}
	return false;
}

static int take_arrival(struct gp_sim_reader *r, struct gp_sim_cluster_kind *kind,
			const char *value)
{
	const char *rest = strchr(value, ' '), *per = strstr(value, " per node");
	char time[32];
	size_t length;

	kind->per_node = per && per[9] == '\0';
	if (rest && (!per || kind->per_node)) {
		rest++;
		length = per ? (size_t)(per - rest) : strlen(rest);
		snprintf(time, sizeof(time), "%.*s", (int)GP_MIN(length, sizeof(time) - 1), rest);
		kind->arrival = strncmp(value, "poisson ", 8) == 0 ? GP_SIM_CLUSTER_POISSON
								   : GP_SIM_CLUSTER_EVERY;
		if (per < rest && per)
			kind->arrival = GP_SIM_CLUSTER_NEVER;
		else if (kind->arrival == GP_SIM_CLUSTER_POISSON &&
			 parse_rate(rest, length, &kind->every_ns))
			return 0;
		else if (strncmp(value, "every ", 6) == 0 &&
			 !gp_duration_parse(time, GP_NS_PER_MS, GP_SIM_CLUSTER_TIME_MAX,
					    &kind->every_ns, NULL))
			return 0;
	}
	return gp_sim_reader_wrong(r, "arrival", value,
				   _("\"poisson N/h\" (or /s, /min, /d) or \"every TIME\", both "
				     "with \"per node\" if each node adds as many"));
}

static int take_run(struct gp_sim_reader *r, struct gp_sim_cluster_kind *kind, const char *value)
{
	char why[GP_UNITS_ERROR];

	kind->random_run = strncmp(value, "exponential ", 12) == 0;
	if (gp_duration_parse(value + (kind->random_run ? 12 : 0), GP_NS_PER_MS,
			      GP_SIM_CLUSTER_TIME_MAX, &kind->run_ns, why))
		return gp_fail(r->diag, -EINVAL, "%s:%u: %s: %s", r->file, r->line, "run", why);
	return 0;
}

/* ---- sections ---- */

static int run_key(struct gp_sim_reader *r, const char *name, const char *value)
{
	static const struct gp_sim_scenario_key keys[] = {
		LONG_TIME(struct gp_sim_cluster, "time", time_ns, GP_NS_PER_S),
		GP_NUMBER(struct gp_sim_cluster, "seed", seed, 0, UINT64_MAX >> 1),
	};

	if (strcmp(name, "title") == 0) {
		snprintf(r->cluster->title, sizeof(r->cluster->title), "%s", value);
		return 0;
	}
	return gp_sim_reader_key(r, keys, GP_ARRAY_SIZE(keys), "title", r->cluster, name, value);
}

static int cluster_key(struct gp_sim_reader *r, const char *name, const char *value)
{
	static const struct gp_sim_scenario_key keys[] = {
		GP_NUMBER(struct gp_sim_cluster, "nodes", nodes, 1, GP_SIM_CLUSTER_NODES),
		GP_NUMBER(struct gp_sim_cluster, "gpus", gpus, 1, GP_SIM_CLUSTER_GPUS),
		LONG_TIME(struct gp_sim_cluster, "grace", grace_ns, 0),
		LONG_TIME(struct gp_sim_cluster, "restart", restart_ns, 0),
		LONG_TIME(struct gp_sim_cluster, "patience", patience_ns, 0),
	};
	struct gp_sim_cluster *cluster = r->cluster;
	u32 share;

	if (strcmp(name, "chip") == 0) {
		snprintf(cluster->chip, sizeof(cluster->chip), "%s", value);
		return 0;
	}
	if (strcmp(name, "share") == 0) {
		if (!parse_percent(value, &share))
			return gp_sim_reader_wrong(r, name, value, _("a percentage, such as 95%"));
		cluster->share_given = true;
		for (u32 i = 0; i < GP_SIM_CLUSTER_LOADS; i++)
			cluster->share[i] = i ? share * (10 - i) / 10 : GP_SIM_CLUSTER_FULL;
		return 0;
	}
	return gp_sim_reader_key(r, keys, GP_ARRAY_SIZE(keys), "chip share", cluster, name, value);
}

static int trace_key(struct gp_sim_reader *r, const char *name, const char *value)
{
	if (strcmp(name, "file") != 0)
		return gp_sim_reader_key(r, NULL, 0, "file", r->cluster, name, value);
	snprintf(r->cluster->trace, sizeof(r->cluster->trace), "%s", value);
	return 0;
}

static int job_key(struct gp_sim_reader *r, const char *name, const char *value)
{
	static const struct gp_sim_scenario_key keys[] = {
		GP_NUMBER(struct gp_sim_cluster_kind, "nodes", nodes, 1, GP_SIM_CLUSTER_NODES),
		GP_NUMBER(struct gp_sim_cluster_kind, "gpus", gpus, 1, GP_SIM_CLUSTER_GPUS),
		LONG_TIME(struct gp_sim_cluster_kind, "checkpoint", checkpoint_ns, GP_NS_PER_S),
	};
	struct gp_sim_cluster_kind *kind = &r->cluster->kinds[r->cluster->kind_count - 1];

	if (strcmp(name, "class") == 0) {
		kind->online = strcmp(value, "online") == 0;
		if (kind->online || strcmp(value, "offline") == 0)
			return 0;
		return gp_sim_reader_wrong(r, name, value, _("online or offline"));
	}
	if (strcmp(name, "arrival") == 0)
		return take_arrival(r, kind, value);
	if (strcmp(name, "run") == 0)
		return take_run(r, kind, value);
	if (strcmp(name, "busy") == 0)
		return parse_percent(value, &kind->busy)
			       ? 0
			       : gp_sim_reader_wrong(r, name, value,
						     _("a percentage, such as 30%"));
	return gp_sim_reader_key(r, keys, GP_ARRAY_SIZE(keys), "class arrival run busy", kind, name,
				 value);
}

static int add_kind(struct gp_sim_reader *r, const char *name)
{
	struct gp_sim_cluster *cluster = r->cluster;
	struct gp_sim_cluster_kind *kind;

	if (!*name || strlen(name) >= GP_SIM_CLUSTER_NAME)
		return gp_fail(r->diag, -EINVAL, "%s:%u: a job name must be 1 to %d bytes long",
			       r->file, r->line, GP_SIM_CLUSTER_NAME - 1);
	for (size_t i = 0; i < cluster->kind_count; i++)
		if (strcmp(cluster->kinds[i].name, name) == 0)
			return gp_fail(r->diag, -EINVAL, "%s:%u: duplicate job \"%s\"", r->file,
				       r->line, name);
	if (cluster->kind_count == GP_SIM_CLUSTER_KINDS)
		return gp_fail(r->diag, -EINVAL, "%s:%u: too many jobs (maximum %d)", r->file,
			       r->line, GP_SIM_CLUSTER_KINDS);
	if (gp_array_grow((void **)&cluster->kinds, cluster->kind_count, &cluster->kind_room,
			  sizeof(*cluster->kinds)))
		return gp_fail(r->diag, -ENOMEM, "out of memory");
	kind = &cluster->kinds[cluster->kind_count++];
	*kind = (struct gp_sim_cluster_kind){.line = r->line,
					     .nodes = 1,
					     .gpus = 1,
					     .busy = GP_SIM_CLUSTER_FULL};
	snprintf(kind->name, sizeof(kind->name), "%s", name);
	return 0;
}

static int open_section(struct gp_sim_reader *r, const char *name)
{
	static const struct {
		const char *name;
		gp_sim_key_reader *read;
	} sections[] = {{"run", run_key}, {"cluster", cluster_key}, {"trace", trace_key}};

	if (strncmp(name, "job ", 4) == 0) {
		r->section = job_key;
		return add_kind(r, name + 4);
	}
	for (size_t i = 0; i < GP_ARRAY_SIZE(sections); i++) {
		if (strcmp(sections[i].name, name) == 0) {
			r->section = sections[i].read;
			return 0;
		}
	}
	return gp_fail(r->diag, -EINVAL,
		       "%s:%u: unknown section [%s] in a cluster scenario (use run, cluster, trace "
		       "or job NAME)",
		       r->file, r->line, name);
}

static int check_kinds(const struct gp_sim_cluster *cluster, const char *name, struct gp_diag *diag)
{
	int error = 0;

	for (size_t i = 0; i < cluster->kind_count; i++) {
		const struct gp_sim_cluster_kind *kind = &cluster->kinds[i];

		if (!kind->run_ns || !kind->arrival)
			error = gp_fail(diag, -EINVAL, "%s:%u: job %s: arrival and run are missing",
					name, kind->line, kind->name);
	}
	return error;
}

bool gp_sim_cluster_is(const char *text, size_t size)
{
	static const char mark[] = "[cluster]";
	const char *p = text, *end = text + size;

	while (p < end) {
		gp_skip_blanks(&p, end);
		if ((size_t)(end - p) >= sizeof(mark) - 1 && memcmp(p, mark, sizeof(mark) - 1) == 0)
			return true;
		p = memchr(p, '\n', (size_t)(end - p));
		p = p ? p + 1 : end;
	}
	return false;
}

/* The time that a trace needs if every job starts at once. */
static u64 trace_time(const struct gp_sim_cluster *cluster)
{
	u64 time = 0;

	for (size_t i = 0; i < cluster->job_count; i++)
		time = GP_MAX(time, cluster->jobs[i].at_ns + cluster->jobs[i].run_ns);
	return GP_MIN(time, GP_SIM_CLUSTER_TIME_MAX);
}

int gp_sim_cluster_parse(struct gp_sim_cluster *cluster, const char *name, const char *text,
			 size_t size, struct gp_diag *diag)
{
	struct gp_sim_reader r = {.cluster = cluster,
				  .file = name,
				  .diag = diag,
				  .open = open_section};
	char path[PATH_MAX];
	const char *slash = strrchr(name, '/');
	u64 usual = cluster->time_ns;
	bool given;
	int error;

	cluster->time_ns = 0;
	error = gp_sim_reader_lines(&r, text, size);
	given = cluster->time_ns != 0;
	cluster->time_ns = given ? cluster->time_ns : usual;
	if (!error)
		error = check_kinds(cluster, name, diag);
	if (error || !*cluster->trace)
		return error;
	/* Beside the scenario. */
	snprintf(path, sizeof(path), "%.*s%s",
		 slash && *cluster->trace != '/' ? (int)(slash + 1 - name) : 0, name,
		 cluster->trace);
	error = gp_sim_cluster_trace(cluster, path, diag);
	if (!error && !given && cluster->job_count)
		cluster->time_ns = trace_time(cluster);
	return error;
}
