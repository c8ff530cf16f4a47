// SPDX-License-Identifier: MIT
/* gpreempt-vgpu: the command line of the virtual GPU; `gpreempt vgpu` runs it. */
#include "vgpu/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "vgpu/faultfd.h"
#include "vgpu/program/command.h"

#define PROGRAM            "gpreempt vgpu"

#define DEFAULT_GPU        "mi308x"
#define DEFAULT_SPEED      1000
#define DEFAULT_TIMEOUT_MS 9000 /* amdgpu.queue_preemption_timeout_ms */
#define SPEED_MAX          1000000

static bool parse_era(const char *text, enum gp_vgpu_server_era *out)
{
	static const char *const names[] = {[GP_ERA_6_1] = "6.1",
					    [GP_ERA_6_5] = "6.5",
					    [GP_ERA_6_12] = "6.12",
					    [GP_ERA_6_16] = "6.16",
					    [GP_ERA_7_0] = "7.0"};

	for (u32 i = 0; i < GP_ARRAY_SIZE(names); i++)
		if (strcmp(text, names[i]) == 0) {
			*out = (enum gp_vgpu_server_era)i;
			return true;
		}
	return false;
}

/* "1", "0.5", "2.25": at most three decimals. */
static bool parse_speed(const char *value, u64 *permille)
{
	const char *p = value, *end = value + strlen(value);
	u64 whole, part = 0, scale = 100;

	if (!gp_parse_u64(&p, end, &whole) || whole > SPEED_MAX)
		return false;
	if (p < end && *p == '.')
		for (p++; p < end && gp_is_digit(*p) && scale; p++, scale /= 10)
			part += (u64)(*p - '0') * scale;
	*permille = whole * 1000 + part;
	return p == end && *permille && *permille <= SPEED_MAX;
}

static int set_name(struct gp_vgpu_options *options, const char *name)
{
	_Static_assert(GP_VGPU_NAME_MAX == 24, "the message says so");
	if (!gp_vgpu_good_name(name))
		return gp_usage_error(
			&gp_vgpu_command,
			"invalid machine name '%s' (up to 24 letters, digits, '-' or '_')", name);
	options->name = name;
	options->named = true;
	return 0;
}

/* Options that are module parameters of the driver. */
static int set_driver(struct gp_vgpu_options *options, int id, const char *value)
{
	u64 number;

	switch (id) {
	case GP_VGPU_OPTION_TIMEOUT:
		if (gp_option_duration(&gp_vgpu_command, "preemption-timeout", value, GP_NS_PER_MS,
				       3600 * GP_NS_PER_S, &number))
			return GP_EXIT_USAGE;
		options->server.preemption_timeout_ms = (u32)(number / GP_NS_PER_MS);
		return 0;
	case GP_VGPU_OPTION_POLICY:
		if (gp_option_count(&gp_vgpu_command, "sched-policy", value, 0, GP_POLICY_NO_HWS,
				    &number))
			return GP_EXIT_USAGE;
		options->server.policy = (enum gp_vgpu_sched_policy)number;
		return 0;
	case GP_VGPU_OPTION_RECOVERY:
		if (gp_option_count(&gp_vgpu_command, "gpu-recovery", value, 0, 1, &number))
			return GP_EXIT_USAGE;
		options->server.recovery = number;
		return 0;
	case GP_VGPU_OPTION_CHECKPOINT:
		options->server.checkpoint = true;
		return 0;
	default:
		return -EINVAL;
	}
}

static int set_machine(struct gp_vgpu_options *options, int id, const char *value)
{
	u64 number;

	switch (id) {
	case GP_VGPU_OPTION_GPU:
		if (!gp_vgpu_gpufile_known(value))
			return gp_usage_error(&gp_vgpu_command,
					      "unknown GPU '%s' (use mi210, mi300x, mi308x or the "
					      "path of a GPU file)",
					      value);
		options->gpu = value;
		return 0;
	case GP_VGPU_OPTION_KERNELS:
		options->kernels = value;
		return 0;
	case GP_VGPU_OPTION_COUNT:
		if (gp_option_count(&gp_vgpu_command, "count", value, 1, GP_VGPU_MAX_GPUS, &number))
			return GP_EXIT_USAGE;
		options->server.gpu_count = (u32)number;
		return 0;
	case GP_VGPU_OPTION_SPEED:
		if (!parse_speed(value, &options->server.speed_permille))
			return gp_usage_error(&gp_vgpu_command,
					      "invalid speed '%s' (use 0.001 to 1000)", value);
		return 0;
	case GP_VGPU_OPTION_PERSONALITY:
		if (strcmp(value, "compat") != 0 && strcmp(value, "native") != 0)
			return gp_usage_error(&gp_vgpu_command,
					      "invalid personality '%s' (use compat or native)",
					      value);
		options->personality = *value == 'n' ? GP_NATIVE : GP_COMPAT;
		return 0;
	case GP_VGPU_OPTION_ERA:
		if (!parse_era(value, &options->server.era))
			return gp_usage_error(
				&gp_vgpu_command,
				"invalid driver era '%s' (use 6.1, 6.5, 6.12, 6.16 or 7.0)", value);
		return 0;
	case GP_VGPU_OPTION_RUNTIME_ENABLE:
		options->server.runtime_enable = true;
		return 0;
	case GP_VGPU_OPTION_COMPUTE:
		if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
			return gp_usage_error(&gp_vgpu_command,
					      "invalid value '%s' of --compute (use on or off)",
					      value);
		options->server.compute = strcmp(value, "on") == 0;
		return 0;
	case GP_VGPU_OPTION_TRAP_HANDLER:
		options->trap_handler = value;
		return 0;
	case GP_VGPU_OPTION_SEED:
		return gp_option_count(&gp_vgpu_command, "seed", value, 0, UINT64_MAX,
				       &options->server.seed);
	default:
		return set_driver(options, id, value);
	}
}

static int set_option(void *ctx, int id, const char *value)
{
	struct gp_vgpu_options *options = ctx;

	if (id == GP_VGPU_OPTION_NAME)
		return set_name(options, value);
	if (id == GP_VGPU_OPTION_JSON) {
		options->json = true;
		return 0;
	}
	options->machine = true;
	return set_machine(options, id, value);
}

/* 0, 1 after --help, or -EINVAL. Options end at the first argument. */
static int parse(struct gp_vgpu_options *options, int argc, char **argv, int *first)
{
	int status = gp_command_parse(&gp_vgpu_command, argc, argv, set_option, options, first);

	if (status)
		return status;
	if (options->server.era == GP_ERA_6_1 && options->personality == GP_NATIVE) {
		gp_usage_error(&gp_vgpu_command, "--era 6.1 needs --personality compat");
		return -EINVAL;
	}
	if (options->trap_handler && !options->server.compute) {
		gp_usage_error(&gp_vgpu_command, "--trap-handler needs --compute on");
		return -EINVAL;
	}
	return 0;
}

/* What costs CPU time while nothing happens is not done in silence, unless it was asked for. */
static void announce_polling(void)
{
	int fd = gp_vgpu_faultfd_open();

	if (fd >= 0)
		close(fd);
	else if (!getenv("GPREEMPT_VGPU_POLL"))
		fprintf(stderr, PROGRAM ": %s (userfaultfd: %s)\n",
			_("doorbells are polled on this system, so idle programs use some CPU "
			  "time"),
			strerror(-fd));
}

static void announce(const char *directory, struct gp_diag *diag)
{
	char line[256];
	json_t *status;

	if (gp_vgpu_status(directory, diag, &status))
		return;
	gp_vgpu_describe(status, line, sizeof(line));
	gp_text_make_safe(line); /* it has names of the GPU file */
	fprintf(stderr, PROGRAM ": %s\n", line);
	announce_polling();
	json_decref(status);
}

/* The machine we are in, when no name says otherwise. */
static const char *inside(const struct gp_vgpu_options *options)
{
	const char *directory = getenv(GP_VGPU_ENV);

	return !options->named && directory && *directory == '/' ? directory : NULL;
}

/* The directory of the machine that is meant: by name, the one we are in, or the default. */
static int choose(const struct gp_vgpu_options *options, struct gp_diag *diag, char *out,
		  size_t size)
{
	const char *directory = inside(options);

	if (!directory)
		return gp_vgpu_directory(options->name, diag, out, size);
	return snprintf(out, size, "%s", directory) < (int)size ? 0 : -ENAMETOOLONG;
}

/* On the machine that we are in or that is kept, unless one was described; else on its own. */
static int run(const struct gp_vgpu_options *options, char **argv, struct gp_diag *diag)
{
	struct gp_vgpu_machine machine = {.server = -1};
	char path[PATH_MAX];
	int fd, status, error;

	if (options->machine && options->named)
		return gp_usage_error(
			&gp_vgpu_command,
			"--name %s selects a running machine; set its options with 'start'",
			options->name);
	error = gp_vgpu_check_program(argv[0], diag, path, sizeof(path));
	if (error)
		return error == -ENOENT ? GP_VGPU_NOT_FOUND : GP_VGPU_CANNOT_RUN;
	if (choose(options, diag, machine.directory, sizeof(machine.directory)))
		return GP_VGPU_FAILED;
	gp_vgpu_hold_signals(&machine);
	fd = options->machine ? -ENOENT : gp_vgpu_connect(machine.directory);
	if (fd < 0 && !options->machine && (options->named || inside(options))) {
		gp_vgpu_not_running(machine.directory, fd, diag);
		return GP_VGPU_FAILED;
	}
	if (fd >= 0)
		close(fd);
	else if (gp_vgpu_start_private(options, diag, &machine))
		return GP_VGPU_FAILED;
	/* A machine that was there has been announced when it was started. */
	if (fd < 0)
		announce(machine.directory, diag);
	status = gp_vgpu_run(&machine, argv, diag);
	if (machine.server >= 0)
		gp_vgpu_stop_private(&machine);
	return status;
}

static int start(const struct gp_vgpu_options *options, struct gp_diag *diag)
{
	struct gp_vgpu_machine machine;

	if (gp_vgpu_start_kept(options, diag, &machine))
		return GP_EXIT_FAILED;
	announce(machine.directory, diag);
	printf(_("Machine '%s' is running. Use it with 'gpreempt vgpu%s%s -- COMMAND'; stop it "
		 "with 'gpreempt vgpu stop%s%s'.\n"),
	       options->name, options->named ? " --name " : "", options->named ? options->name : "",
	       options->named ? " --name " : "", options->named ? options->name : "");
	return GP_EXIT_OK;
}

/* The programs that have its GPUs open; missing if it does not answer. */
static json_t *users_of(const char *directory)
{
	json_t *status = NULL, *users;

	if (gp_vgpu_status(directory, NULL, &status))
		return NULL;
	users = json_incref(json_object_get(status, "processes"));
	json_decref(status);
	return users;
}

static int stop(const char *directory, struct gp_diag *diag)
{
	json_t *users = users_of(directory), *user;
	size_t count = json_array_size(users), i;
	int error = gp_vgpu_stop(directory, diag);

	if (!error && count) {
		printf(ngettext("%zu program lost its GPU: pid", "%zu programs lost their GPU: pid",
				count),
		       count);
		json_array_foreach(users, i, user)
			printf(" %lld",
			       (long long)json_integer_value(json_object_get(user, "pid")));
		printf("\n");
	}
	json_decref(users);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static void say_machines(json_t *machines, struct gp_diag *diag)
{
	struct gp_buf names = {0};
	json_t *name;
	size_t i;

	json_array_foreach(machines, i, name)
		gp_buf_printf(&names, "%s%s", i ? ", " : "", json_string_value(name));
	gp_diag(diag, GP_NOTE, "running machines (choose one with --name): %s", gp_buf_str(&names));
	gp_buf_free(&names);
}

static int show(const struct gp_vgpu_options *options, const char *directory, struct gp_diag *diag)
{
	json_t *status, *machines = gp_vgpu_machines();
	int error = gp_vgpu_status(directory, diag, &status);

	/* Without a name it may be another one that was meant. */
	if (!options->named && !inside(options) && json_array_size(machines) > (error ? 0 : 1))
		say_machines(machines, diag);
	if (error) {
		json_decref(machines);
		return GP_EXIT_FAILED;
	}
	json_object_set_new(status, "machines", machines);
	error = options->json ? gp_json_print(stdout, status, false) : gp_vgpu_print_status(status);
	json_decref(status);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static int no_json(void)
{
	return gp_usage_error(&gp_vgpu_command, "--json is valid only with 'status'");
}

/* start, stop and status take options before and after the word. */
static int manage(struct gp_vgpu_options *options, int argc, char **argv, struct gp_diag *diag)
{
	const char *verb = argv[0];
	char directory[PATH_MAX];
	int first, error = parse(options, argc, argv, &first);

	if (error)
		return error < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first < argc)
		return gp_usage_error(
			&gp_vgpu_command,
			"unexpected argument '%s' (to run a command, put '--' before it)",
			argv[first]);
	if (options->json && strcmp(verb, "status") != 0)
		return no_json();
	if (strcmp(verb, "start") == 0)
		return start(options, diag);
	if (options->machine)
		return gp_usage_error(&gp_vgpu_command,
				      "'%s' does not accept options that describe a machine", verb);
	if (choose(options, diag, directory, sizeof(directory)))
		return GP_EXIT_FAILED;
	return strcmp(verb, "stop") == 0 ? stop(directory, diag) : show(options, directory, diag);
}

int main(int argc, char **argv)
{
	struct gp_command_diag sink;
	struct gp_vgpu_options options = {
		.gpu = DEFAULT_GPU,
		.name = GP_VGPU_DEFAULT,
		.server = {.speed_permille = DEFAULT_SPEED,
			   .seed = 1,
			   .era = GP_ERA_6_12,
			   .gpu_count = 1,
			   .recovery = true,
			   .preemption_timeout_ms = DEFAULT_TIMEOUT_MS},
	};
	int first, error, status;

	/* A descriptor we open must not take the place of a standard one that is closed. */
	while ((error = open("/dev/null", O_RDWR)) >= 0 && error <= STDERR_FILENO)
		;
	if (error >= 0)
		close(error);
	gp_i18n_init();
	gp_command_diag_init(&sink, &gp_vgpu_command);
	error = parse(&options, argc, argv, &first);
	if (error)
		return error < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first >= argc || !*argv[first])
		return gp_usage_error(&gp_vgpu_command, "missing COMMAND (use '%s -- COMMAND')",
				      PROGRAM);
	/* The words are the program's own only when no "--" stands before them. */
	if (strcmp(argv[first - 1], "--") != 0 &&
	    (strcmp(argv[first], "start") == 0 || strcmp(argv[first], "stop") == 0 ||
	     strcmp(argv[first], "status") == 0))
		status = manage(&options, argc - first, argv + first, &sink.diag);
	else if (options.json)
		status = no_json();
	else
		status = run(&options, argv + first, &sink.diag);
	return status == GP_EXIT_OK ? gp_command_finish(&gp_vgpu_command, status) : status;
}
