/* Reads scenario files: sections in brackets, "key = value" lines, # comments. See scenario.h. */
#include "sim/scenario.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "base/parse.h"

#define LINE_LIMIT 512
#define MAX_KEYS   64
#define KEY_LENGTH 32

struct reader {
	struct gp_scenario *scenario;
	const char *file;
	struct gp_diag *diag;
	unsigned line;
	struct gp_sim_job *job;          /* of the section; NULL elsewhere */
	bool work;                       /* the section is the job's recording */
	char keys[MAX_KEYS][KEY_LENGTH]; /* of the section so far: one given twice is a slip */
	size_t key_count;
};

static int wrong(struct reader *r, const char *key, const char *value, const char *wanted)
{
	return gp_fail(r->diag, -EINVAL, _("%s:%u: %s = %s: needs %s"), r->file, r->line, key,
		       value, wanted);
}

bool gp_sim_parse_time(const char *text, u64 *ns)
{
	static const struct {
		const char *unit;
		u64 ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	const char *p = text, *end = text + strlen(text);
	u64 whole, fraction = 0, scale = 1;

	if (!gp_parse_u64(&p, end, &whole))
		return false;
	if (*p == '.') {
		for (p++; gp_is_digit(*p) && scale < 1000000000; p++) {
			fraction = fraction * 10 + (u64)(*p - '0');
			scale *= 10;
		}
	}
	gp_skip_blanks(&p, end);
	for (size_t i = 0; i < GP_ARRAY_SIZE(units); i++) {
		u64 total;

		if (strcmp(p, units[i].unit) != 0)
			continue;
		if (!gp_multiply(whole, units[i].ns, GP_SIM_TIME_MAX, &total))
			return false;
		*ns = total + fraction * units[i].ns / scale;
		return *ns <= GP_SIM_TIME_MAX;
	}
	return false;
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

static int take_time(struct reader *r, const char *key, const char *value, u64 *out)
{
	return gp_sim_parse_time(value, out)
		       ? 0
		       : wrong(r, key, value,
			       _("a time such as 20ms, 300us or 1.5s, at most a day"));
}

static int take_number(struct reader *r, const char *key, const char *value, u64 min, u64 max,
		       u64 *out)
{
	char range[96];

	if (gp_argument_u64(value, out) && *out >= min && *out <= max)
		return 0;
	snprintf(range, sizeof(range), _("a whole number of %llu to %llu"), (unsigned long long)min,
		 (unsigned long long)max);
	return wrong(r, key, value, range);
}

/* A key whose value is a time or a number that goes straight into a struct. */
struct key {
	const char *name;
	size_t offset;
	u8 size; /* 4 or 8 */
	bool time;
	u64 min, max;
};

#define TIME(type, name, member)                                          \
	{                                                                 \
		name, offsetof(type, member), 8, true, 0, GP_SIM_TIME_MAX \
	}
#define NUMBER(type, name, member, min, max)                                                  \
	{                                                                                     \
		name, offsetof(type, member), sizeof(((type *)NULL)->member), false, min, max \
	}

static int take_key(struct reader *r, const struct key *keys, size_t count, void *base,
		    const char *name, const char *value)
{
	for (size_t i = 0; i < count; i++) {
		u64 number;
		int error;

		if (strcmp(keys[i].name, name) != 0)
			continue;
		error = keys[i].time
				? take_time(r, name, value, &number)
				: take_number(r, name, value, keys[i].min, keys[i].max, &number);
		if (error)
			return error;
		if (keys[i].size == 4)
			memcpy((char *)base + keys[i].offset, &(u32){(u32)number}, 4);
		else
			memcpy((char *)base + keys[i].offset, &number, 8);
		return 0;
	}
	return gp_fail(r->diag, -EINVAL, _("%s:%u: unknown key \"%s\""), r->file, r->line, name);
}

/* ---- sections ---- */

static int run_key(struct reader *r, const char *name, const char *value)
{
	static const struct key keys[] = {
		TIME(struct gp_scenario, "time", time_ns),
		NUMBER(struct gp_scenario, "seed", seed, 0, UINT64_MAX >> 1),
		TIME(struct gp_scenario, "notice", notice_ns),
		TIME(struct gp_scenario, "call", call_ns),
	};

	if (strcmp(name, "title") == 0) {
		snprintf(r->scenario->title, sizeof(r->scenario->title), "%s", value);
		return 0;
	}
	return take_key(r, keys, GP_ARRAY_SIZE(keys), r->scenario, name, value);
}

static int gpu_key(struct reader *r, const char *name, const char *value)
{
#define COST(member) TIME(struct gp_model_chip, #member, member##_ns)
	static const struct key costs[] = {
		COST(quantum),
		COST(dispatch),
		COST(complete),
		COST(unmap),
		COST(unmap_queue),
		COST(map),
		COST(map_queue),
		COST(save),
		COST(restore),
		NUMBER(struct gp_model_chip, "save_bytes_per_us", save_bytes_per_us, 1, 1ull << 50),
		NUMBER(struct gp_model_chip, "restore_bytes_per_us", restore_bytes_per_us, 1,
		       1ull << 50),
		NUMBER(struct gp_model_chip, "contention_permille", contention_permille, 0, 100000),
		NUMBER(struct gp_model_chip, "jitter_permille", jitter_permille, 0, 1000),
		NUMBER(struct gp_model_chip, "vmids", vmids, 1, 15),
		NUMBER(struct gp_model_chip, "slots", slots, 4, 32),
	};
#undef COST
	u64 number;
	int error;

	if (strcmp(name, "chip") == 0) {
		error = gp_chip_load(value, r->diag, &r->scenario->chip);
		return error ? gp_fail(r->diag, error, _("%s:%u: chip = %s cannot be used"),
				       r->file, r->line, value)
			     : 0;
	}
	if (strcmp(name, "count") == 0) {
		error = take_number(r, name, value, 1, GP_SIM_GPUS, &number);
		r->scenario->gpus = error ? r->scenario->gpus : (u32)number;
		return error;
	}
	return take_key(r, costs, GP_ARRAY_SIZE(costs), &r->scenario->chip.model, name, value);
}

static int sched_key(struct reader *r, const char *name, const char *value)
{
	static const struct key core[] = {
		TIME(struct gp_sched_config, "lease", lease_ns),
		TIME(struct gp_sched_config, "max_suspend", max_suspend_ns),
		TIME(struct gp_sched_config, "op_timeout", op_timeout_ns),
	};
	static const struct key keys[] = {
		TIME(struct gp_sched_device_config, "suspend_cost", suspend_ns),
		TIME(struct gp_sched_device_config, "resume_cost", resume_ns),
		TIME(struct gp_sched_device_config, "min_run", min_run_ns),
		TIME(struct gp_sched_device_config, "turn", turn_ns),
		TIME(struct gp_sched_device_config, "linger", linger_ns),
		TIME(struct gp_sched_device_config, "hint", hint_ns),
		TIME(struct gp_sched_device_config, "unknown", unknown_ns),
		TIME(struct gp_sched_device_config, "age_step", age_step_ns),
		TIME(struct gp_sched_device_config, "slice", slice_ns),
		NUMBER(struct gp_sched_device_config, "utilisation_ppm", utilisation_ppm, 1,
		       1000000),
	};

	if (strcmp(name, "policy") == 0) {
		if (gp_sim_parse_policy(value, &r->scenario->device.policy))
			return 0;
		return wrong(r, name, value, _("off, priority, fair, deadline or quantum"));
	}
	for (size_t i = 0; i < GP_ARRAY_SIZE(core); i++)
		if (strcmp(core[i].name, name) == 0)
			return take_key(r, core, GP_ARRAY_SIZE(core), &r->scenario->sched, name,
					value);
	return take_key(r, keys, GP_ARRAY_SIZE(keys), &r->scenario->device, name, value);
}

static int fault_key(struct reader *r, const char *name, const char *value)
{
#define CHANCE(member) NUMBER(struct gp_sim_faults, #member, member, 0, 1000)
	static const struct key keys[] = {CHANCE(fail),  CHANCE(hang),   CHANCE(late),
					  CHANCE(twice), CHANCE(kill),   CHANCE(restart),
					  CHANCE(jump),  CHANCE(destroy)};
#undef CHANCE
	return take_key(r, keys, GP_ARRAY_SIZE(keys), &r->scenario->faults, name, value);
}

/* "closed", "closed 2ms", "poisson 120/s", "every 8ms", "recorded", "recorded closed". */
static int take_arrival(struct reader *r, const char *value)
{
	struct gp_sim_job *job = r->job;
	const char *rest = strchr(value, ' ');
	size_t word = rest ? (size_t)(rest - value) : strlen(value);

	rest = rest ? rest + 1 : "";
	if (word == 6 && memcmp(value, "closed", 6) == 0) {
		job->arrival = GP_SIM_CLOSED;
		if (!*rest || gp_sim_parse_time(rest, &job->think_ns))
			return 0;
	} else if (word == 5 && memcmp(value, "every", 5) == 0) {
		job->arrival = GP_SIM_EVERY;
		if (gp_sim_parse_time(rest, &job->every_ns) && job->every_ns >= 100)
			return 0;
	} else if (word == 7 && memcmp(value, "poisson", 7) == 0) {
		const char *p = rest, *end = rest + strlen(rest);
		u64 rate;

		job->arrival = GP_SIM_POISSON;
		if (gp_parse_u64(&p, end, &rate) && strcmp(p, "/s") == 0 && rate &&
		    rate <= GP_SIM_RATE_MAX) {
			job->every_ns = 1000000000ull / rate;
			return 0;
		}
	} else if (strcmp(value, "recorded") == 0 || strcmp(value, "recorded closed") == 0) {
		job->arrival = *rest ? GP_SIM_RECORDED_CLOSED : GP_SIM_RECORDED;
		return 0;
	}
	return wrong(
		r, "arrival", value,
		_("\"closed\", \"closed THINK-TIME\", \"every TIME\", \"recorded\", \"recorded "
		  "closed\" or \"poisson N/s\" with N of 1 to 10000000"));
}

static int take_word(struct reader *r, const char *key, const char *value, const char *const *words,
		     int *out, const char *wanted)
{
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], value) == 0) {
			*out = i;
			return 0;
		}
	}
	return wrong(r, key, value, wanted);
}

static int job_word(struct reader *r, const char *name, const char *value, bool *known)
{
	static const char *const classes[] = {"normal", "online", "offline", NULL};
	static const char *const streams[] = {"low", "normal", "high", NULL};
	struct gp_sim_job *job = r->job;
	u64 number;
	int word = 0, error;

	*known = true;
	if (strcmp(name, "class") == 0) {
		error = take_word(r, name, value, classes, &word, _("normal, online or offline"));
		job->spec.class = (enum gp_sched_class)word;
		return error;
	}
	if (strcmp(name, "stream") == 0) {
		error = take_word(r, name, value, streams, &word, _("low, normal or high"));
		job->stream = (enum gp_sched_stream)word;
		return error;
	}
	if (strcmp(name, "arrival") == 0)
		return take_arrival(r, value);
	if (strcmp(name, "gpu") == 0 && strcmp(value, "all") == 0) {
		job->gpu = GP_SIM_ALL_GPUS;
		return 0;
	}
	if (strcmp(name, "gpu") == 0) {
		error = take_number(r, name, value, 0, GP_SIM_GPUS - 1, &number);
		job->gpu = error ? 0 : (u32)number;
		return error;
	}
	if (strcmp(name, "cus") == 0 && strcmp(value, "all") == 0) {
		job->cus = 0;
		return 0;
	}
	*known = false;
	return 0;
}

static int job_key(struct reader *r, const char *name, const char *value)
{
#define JOB_TIME(name, member)             TIME(struct gp_sim_job, name, member)
#define JOB_NUMBER(name, member, min, max) NUMBER(struct gp_sim_job, name, member, min, max)
	static const struct key keys[] = {
		JOB_NUMBER("priority", spec.priority, 0, GP_SCHED_PRIORITY_MAX),
		JOB_NUMBER("weight", spec.weight, 1, GP_SCHED_WEIGHT_MAX),
		JOB_TIME("deadline", spec.deadline_ns),
		JOB_TIME("budget", spec.budget_ns),
		JOB_TIME("period", spec.period_ns),
		JOB_TIME("max_suspend", spec.max_suspend_ns),
		JOB_NUMBER("processes", processes, 1, GP_SIM_PROCESSES),
		JOB_NUMBER("queues", queues, 1, GP_SIM_QUEUES),
		JOB_NUMBER("depth", depth, 1, 1024),
		JOB_NUMBER("kernels", kernels, 1, GP_SIM_KERNELS),
		JOB_TIME("kernel", kernel_ns),
		JOB_NUMBER("cus", cus, 1, GP_MODEL_MAX_CU),
		JOB_NUMBER("rounds", rounds, 1, 100000),
		JOB_NUMBER("vgprs", vgprs, 1, 512),
		JOB_TIME("gap", gap_ns),
		JOB_NUMBER("cu_limit", cu_limit, 1, GP_MODEL_MAX_CU),
		JOB_TIME("hint", hint_ns),
		JOB_TIME("start", start_ns),
		JOB_TIME("stop", stop_ns),
	};
#undef JOB_TIME
#undef JOB_NUMBER
	bool known;
	int error = job_word(r, name, value, &known);

	return known ? error : take_key(r, keys, GP_ARRAY_SIZE(keys), r->job, name, value);
}

static int add_job(struct reader *r, const char *name)
{
	struct gp_scenario *s = r->scenario;

	if (!*name || strlen(name) >= GP_SIM_NAME)
		return gp_fail(r->diag, -EINVAL, _("%s:%u: a job's name has 1 to %d bytes"),
			       r->file, r->line, GP_SIM_NAME - 1);
	for (u32 i = 0; i < s->job_count; i++)
		if (strcmp(s->jobs[i].name, name) == 0)
			return gp_fail(r->diag, -EINVAL, _("%s:%u: there is a job \"%s\" already"),
				       r->file, r->line, name);
	if (s->job_count == GP_SIM_JOBS)
		return gp_fail(r->diag, -EINVAL, _("%s:%u: more than %d jobs"), r->file, r->line,
			       GP_SIM_JOBS);
	r->job = &s->jobs[s->job_count++];
	*r->job = (struct gp_sim_job){
		.spec = {.priority = GP_SCHED_NONE},
		.stream = GP_SCHED_STREAM_NORMAL,
		.processes = 1,
		.queues = 1,
		.depth = 1,
		.kernels = 1,
		.kernel_ns = 1000000,
		.rounds = 1,
		.vgprs = 128,
	};
	snprintf(r->job->name, sizeof(r->job->name), "%s", name);
	return 0;
}

/* [work NAME]: what was recorded of the job of that name. */
static int begin_work(struct reader *r, const char *name)
{
	struct gp_scenario *s = r->scenario;

	for (u32 i = 0; i < s->job_count; i++) {
		if (strcmp(s->jobs[i].name, name) != 0)
			continue;
		if (s->jobs[i].work_count)
			return gp_fail(r->diag, -EINVAL, _("%s:%u: [work %s] is given twice"),
				       r->file, r->line, name);
		r->job = &s->jobs[i];
		r->work = true;
		return 0;
	}
	return gp_fail(r->diag, -EINVAL, _("%s:%u: [work %s] stands behind no [job %s]"), r->file,
		       r->line, name, name);
}

static int take_work(struct reader *r, const char *line)
{
	struct gp_sim_kernel kernel;
	int error = gp_sim_parse_kernel(line, &kernel);

	if (error)
		return gp_fail(r->diag, error,
			       _("%s:%u: \"%s\": needs TIME QUEUE DURATION [WORKGROUPS], such as "
				 "\"1.5ms 0 20us 80\"; + for the time is one more kernel of a "
				 "request"),
			       r->file, r->line, line);
	kernel.job = (u32)(r->job - r->scenario->jobs);
	error = gp_scenario_add_kernel(r->scenario, &kernel);
	if (error == -EINVAL)
		return gp_fail(r->diag, error,
			       _("%s:%u: a request that comes before the one above it"), r->file,
			       r->line);
	return error ? gp_fail(r->diag, error, _("%s:%u: more than %d recorded kernels"), r->file,
			       r->line, GP_SIM_WORK)
		     : 0;
}

typedef int key_reader(struct reader *r, const char *name, const char *value);

static int take_section(struct reader *r, char *name, key_reader **section)
{
	static const struct {
		const char *name;
		key_reader *read;
	} sections[] = {{"run", run_key},
			{"gpu", gpu_key},
			{"scheduler", sched_key},
			{"faults", fault_key}};

	r->job = NULL;
	r->work = false;
	r->key_count = 0;
	*section = NULL;
	if (strncmp(name, "work ", 5) == 0)
		return begin_work(r, name + 5);
	if (strncmp(name, "job ", 4) == 0) {
		*section = job_key;
		return add_job(r, name + 4);
	}
	for (size_t i = 0; i < GP_ARRAY_SIZE(sections); i++) {
		if (strcmp(sections[i].name, name) == 0) {
			*section = sections[i].read;
			return 0;
		}
	}
	return gp_fail(r->diag, -EINVAL,
		       _("%s:%u: unknown section [%s]: run, gpu, scheduler, faults, job NAME or "
			 "work NAME"),
		       r->file, r->line, name);
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static int take_line(struct reader *r, char *line, key_reader **section)
{
	char *comment = strchr(line, '#'), *equals, *close;

	if (comment)
		*comment = '\0';
	line = trim(line);
	if (!*line)
		return 0;
	if (*line == '[') {
		close = strchr(line, ']');
		if (!close || close[1])
			return gp_fail(r->diag, -EINVAL, _("%s:%u: a section is [NAME]"), r->file,
				       r->line);
		*close = '\0';
		return take_section(r, trim(line + 1), section);
	}
	if (r->work)
		return take_work(r, line);
	equals = strchr(line, '=');
	if (!equals)
		return gp_fail(r->diag, -EINVAL, _("%s:%u: neither [SECTION] nor KEY = VALUE"),
			       r->file, r->line);
	if (!*section)
		return gp_fail(r->diag, -EINVAL, _("%s:%u: a key before the first [SECTION]"),
			       r->file, r->line);
	*equals = '\0';
	line = trim(line);
	for (size_t i = 0; i < r->key_count; i++)
		if (strcmp(r->keys[i], line) == 0)
			return gp_fail(r->diag, -EINVAL, _("%s:%u: %s is given twice"), r->file,
				       r->line, line);
	if (r->key_count < MAX_KEYS)
		snprintf(r->keys[r->key_count++], KEY_LENGTH, "%s", line);
	return (*section)(r, line, trim(equals + 1));
}

int gp_scenario_parse(struct gp_scenario *scenario, const char *name, const char *text, size_t size,
		      struct gp_diag *diag)
{
	struct reader r = {.scenario = scenario, .file = name, .diag = diag};
	const char *end = text + size;
	key_reader *section = NULL;
	int error = 0;

	while (!error && text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((stop ? stop : end) - text);
		char line[LINE_LIMIT];

		r.line++;
		if (length >= sizeof(line) || memchr(text, '\0', length))
			return gp_fail(diag, -EINVAL, _("%s:%u: not a line of text"), name, r.line);
		memcpy(line, text, length);
		line[length] = '\0';
		error = take_line(&r, line, &section);
		text += length + 1;
	}
	return error ? error : gp_scenario_check(scenario, name, diag);
}
