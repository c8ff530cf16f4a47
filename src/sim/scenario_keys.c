// SPDX-License-Identifier: MIT
/* Values of scenario files: see scenario_read.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/i18n.h"
#include "base/parse.h"
#include "base/units.h"
#include "sim/scenario_read.h"

int gp_sim_reader_wrong(struct gp_sim_reader *r, const char *key, const char *value,
			const char *wanted)
{
	return gp_fail(r->diag, -EINVAL, "%s:%u: %s = %s: expected %s", r->file, r->line, key,
		       value, wanted);
}

bool gp_sim_parse_time(const char *text, u64 *ns)
{
	return !gp_duration_parse(text, 0, GP_SIM_TIME_MAX, ns, NULL);
}

bool gp_sim_parse_policy(const char *name, enum gp_sched_policy_id *policy)
{
	for (int i = 0; i < GP_SCHED_POLICIES; i++) {
		if (strcmp(name, gp_sched_policy_name(i)) == 0) {
			*policy = i;
			return true;
		}
	}
	return false;
}

void gp_sim_policy_names(char *out, size_t size)
{
	size_t used = 0;

	for (int i = 0; i < GP_SCHED_POLICIES && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
					 gp_sched_policy_name(i));
}

static int reader_check(struct gp_sim_reader *r, const char *key, int error, const char *why)
{
	return error ? gp_fail(r->diag, error, "%s:%u: %s: %s", r->file, r->line, key, why) : 0;
}

static int take_time(struct gp_sim_reader *r, const struct gp_sim_scenario_key *key,
		     const char *value, u64 *out)
{
	char why[GP_UNITS_ERROR];

	return reader_check(r, key->name, gp_duration_parse(value, key->min, key->max, out, why),
			    why);
}

int gp_sim_reader_number(struct gp_sim_reader *r, const char *key, const char *value, u64 min,
			 u64 max, u64 *out)
{
	char why[GP_UNITS_ERROR];

	return reader_check(r, key, gp_count_parse(value, min, max, out, why), why);
}

/* Says what was probably meant, or everything there is. */
static int unknown(struct gp_sim_reader *r, const struct gp_sim_scenario_key *keys, size_t count,
		   const char *also, const char *name)
{
	struct gp_nearest nearest = {.typed = name};
	char word[GP_SCENARIO_KEY_LENGTH];
	struct gp_buf all = {0};
	int error;

	while (*also) {
		size_t length = strcspn(also, " ");

		snprintf(word, sizeof(word), "%.*s", (int)length, also);
		gp_nearest_look(&nearest, word);
		gp_buf_printf(&all, "%s%s", all.len ? ", " : "", word);
		also += length + strspn(also + length, " ");
	}
	for (size_t i = 0; i < count; i++) {
		gp_nearest_look(&nearest, keys[i].name);
		gp_buf_printf(&all, "%s%s", all.len ? ", " : "", keys[i].name);
	}
	if (*nearest.word)
		error = gp_fail(r->diag, -EINVAL, "%s:%u: unknown key \"%s\"; did you mean \"%s\"?",
				r->file, r->line, name, nearest.word);
	else
		error = gp_fail(r->diag, -EINVAL, "%s:%u: unknown key \"%s\" (use %s)", r->file,
				r->line, name, gp_buf_str(&all));
	gp_buf_free(&all);
	return error;
}

int gp_sim_reader_key(struct gp_sim_reader *r, const struct gp_sim_scenario_key *keys, size_t count,
		      const char *also, void *base, const char *name, const char *value)
{
	for (size_t i = 0; i < count; i++) {
		u64 number;
		int error;

		if (strcmp(keys[i].name, name) != 0)
			continue;
		error = keys[i].time ? take_time(r, &keys[i], value, &number)
				     : gp_sim_reader_number(r, name, value, keys[i].min,
							    keys[i].max, &number);
		if (error)
			return error;
		if (keys[i].size == 4)
			memcpy((char *)base + keys[i].offset, &(u32){(u32)number}, 4);
		else
			memcpy((char *)base + keys[i].offset, &number, 8);
		return 0;
	}
	return unknown(r, keys, count, also, name);
}
