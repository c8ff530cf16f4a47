// SPDX-License-Identifier: MIT
/* Reads scenario files of one machine: see scenario.h. */
#include "sim/scenario_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"

/* ---- sections ---- */

static int run_key(struct gp_sim_reader *r, const char *name, const char *value)
{
	static const struct gp_sim_scenario_key keys[] = {
		GP_TIME(struct gp_sim_scenario, "time", time_ns),
		GP_NUMBER(struct gp_sim_scenario, "seed", seed, 0, UINT64_MAX >> 1),
		GP_TIME(struct gp_sim_scenario, "notice", notice_ns),
		GP_TIME(struct gp_sim_scenario, "call", call_ns),
	};

	if (strcmp(name, "title") == 0) {
		snprintf(r->scenario->title, sizeof(r->scenario->title), "%s", value);
		return 0;
	}
	return gp_sim_reader_key(r, keys, GP_ARRAY_SIZE(keys), "title", r->scenario, name, value);
}

/* The end of their ranges at which the costs of a preemption are taken. */
static int take_costs(struct gp_sim_reader *r, const char *value)
{
	struct gp_gpufile_chip *chip = &r->scenario->chip;

	if (strcmp(value, "low") == 0)
		chip->model = chip->cheap;
	else if (strcmp(value, "high") == 0)
		chip->model = chip->dear;
	else if (strcmp(value, "best") != 0)
		return gp_sim_reader_wrong(r, "costs", value, _("low, best or high"));
	return 0;
}

static int gpu_key(struct gp_sim_reader *r, const char *name, const char *value)
{
#define COST(member) GP_TIME(struct gp_model_chip, #member, member##_ns)
	static const struct gp_sim_scenario_key costs[] = {
		COST(quantum),
		COST(dispatch),
		COST(complete),
		COST(unmap),
		COST(unmap_queue),
		COST(map),
		COST(map_queue),
		COST(save),
		COST(restore),
		GP_NUMBER(struct gp_model_chip, "save_bytes_per_us", save_bytes_per_us, 1,
			  1ull << 50),
		GP_NUMBER(struct gp_model_chip, "restore_bytes_per_us", restore_bytes_per_us, 1,
			  1ull << 50),
		GP_NUMBER(struct gp_model_chip, "contention_permille", contention_permille, 0,
			  10000),
		GP_NUMBER(struct gp_model_chip, "jitter_permille", jitter_permille, 0, 1000),
		GP_NUMBER(struct gp_model_chip, "vmids", vmids, 1, 15),
		GP_NUMBER(struct gp_model_chip, "slots", slots, 4, 32),
	};
#undef COST
	u64 number;
	int error;

	if (strcmp(name, "chip") == 0) {
		error = gp_gpufile_load(value, r->diag, &r->scenario->chip);
		return error ? gp_fail(r->diag, error, "%s:%u: chip = %s: cannot use this GPU file",
				       r->file, r->line, value)
			     : 0;
	}
	if (strcmp(name, "costs") == 0)
		return take_costs(r, value);
	if (strcmp(name, "count") == 0) {
		error = gp_sim_reader_number(r, name, value, 1, GP_SIM_GPUS, &number);
		r->scenario->gpus = error ? r->scenario->gpus : (u32)number;
		return error;
	}
	return gp_sim_reader_key(r, costs, GP_ARRAY_SIZE(costs), "chip count costs",
				 &r->scenario->chip.model, name, value);
}

static int sched_key(struct gp_sim_reader *r, const char *name, const char *value)
{
	static const struct gp_sim_scenario_key core[] = {
		GP_TIME(struct gp_sched_config, "lease", lease_ns),
		GP_TIME(struct gp_sched_config, "max_suspend", max_suspend_ns),
		GP_TIME(struct gp_sched_config, "op_timeout", op_timeout_ns),
	};
	static const struct gp_sim_scenario_key keys[] = {
		GP_TIME(struct gp_sched_device_config, "suspend_cost", suspend_ns),
		GP_TIME(struct gp_sched_device_config, "resume_cost", resume_ns),
		GP_TIME(struct gp_sched_device_config, "min_run", min_run_ns),
		GP_TIME(struct gp_sched_device_config, "turn", turn_ns),
		GP_TIME(struct gp_sched_device_config, "linger", linger_ns),
		GP_TIME(struct gp_sched_device_config, "hint", hint_ns),
		GP_TIME(struct gp_sched_device_config, "unknown", unknown_ns),
		GP_TIME(struct gp_sched_device_config, "age_step", age_step_ns),
		GP_TIME(struct gp_sched_device_config, "slice", slice_ns),
		GP_NUMBER(struct gp_sched_device_config, "utilisation_ppm", utilisation_ppm, 1,
			  1000000),
	};
	char names[128];

	if (strcmp(name, "policy") == 0) {
		if (gp_sim_parse_policy(value, &r->scenario->device.policy))
			return 0;
		gp_sim_policy_names(names, sizeof(names));
		return gp_sim_reader_wrong(r, name, value, names);
	}
	for (size_t i = 0; i < GP_ARRAY_SIZE(core); i++)
		if (strcmp(core[i].name, name) == 0)
			return gp_sim_reader_key(r, core, GP_ARRAY_SIZE(core), "",
						 &r->scenario->sched, name, value);
	return gp_sim_reader_key(r, keys, GP_ARRAY_SIZE(keys),
				 "policy lease max_suspend op_timeout", &r->scenario->device, name,
				 value);
}

static int fault_key(struct gp_sim_reader *r, const char *name, const char *value)
{
#define CHANCE(member) GP_NUMBER(struct gp_sim_faults, #member, member, 0, 1000)
	static const struct gp_sim_scenario_key keys[] = {CHANCE(fail), CHANCE(hang),
							  CHANCE(late), CHANCE(twice),
							  CHANCE(kill), CHANCE(restart),
							  CHANCE(jump), CHANCE(destroy),
							  CHANCE(stop), CHANCE(doubt)};
#undef CHANCE
	return gp_sim_reader_key(r, keys, GP_ARRAY_SIZE(keys), "", &r->scenario->faults, name,
				 value);
}

static int take_section(struct gp_sim_reader *r, const char *name)
{
	static const struct {
		const char *name;
		gp_sim_key_reader *read;
	} sections[] = {{"run", run_key},
			{"gpu", gpu_key},
			{"scheduler", sched_key},
			{"faults", fault_key}};

	r->job = NULL;
	r->work = false;
	if (strncmp(name, "work ", 5) == 0)
		return gp_sim_reader_begin_work(r, name + 5);
	if (strncmp(name, "job ", 4) == 0) {
		r->section = gp_sim_reader_job_key;
		return gp_sim_reader_add_job(r, name + 4);
	}
	for (size_t i = 0; i < GP_ARRAY_SIZE(sections); i++) {
		if (strcmp(sections[i].name, name) == 0) {
			r->section = sections[i].read;
			return 0;
		}
	}
	return gp_fail(r->diag, -EINVAL,
		       "%s:%u: unknown section [%s] (use run, gpu, scheduler, faults, job NAME or "
		       "work NAME)",
		       r->file, r->line, name);
}

int gp_sim_scenario_parse(struct gp_sim_scenario *scenario, const char *name, const char *text,
			  size_t size, struct gp_diag *diag)
{
	struct gp_sim_reader r = {.scenario = scenario,
				  .file = name,
				  .diag = diag,
				  .open = take_section};
	int error = gp_sim_reader_lines(&r, text, size);

	gp_strings_free(&r.names);
	return error ? error : gp_sim_scenario_check(scenario, name, diag);
}
