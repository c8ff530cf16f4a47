// SPDX-License-Identifier: MIT
/* gpreempt-vgpu: the command line of the virtual GPU; `gpreempt vgpu` runs it. */
#include "vgpu/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/i18n.h"
#include "base/json.h"
#include "base/parse.h"
#include "base/units.h"
#include "vgpu/faultfd.h"

#define PROGRAM            "gpreempt vgpu"
#define EXIT_OK            0
#define EXIT_FAILED        1
#define EXIT_USAGE         2

#define DEFAULT_GPU        "mi308x"
#define DEFAULT_SPEED      1000
#define DEFAULT_TIMEOUT_MS 9000 /* amdgpu.queue_preemption_timeout_ms */
#define SPEED_MAX          1000000

enum {
	OPTION_GPU = 256,
	OPTION_COUNT,
	OPTION_SPEED,
	OPTION_PERSONALITY,
	OPTION_ERA,
	OPTION_RUNTIME_ENABLE,
	OPTION_SEED,
	OPTION_NAME,
	OPTION_KERNELS,
	OPTION_TIMEOUT,
	OPTION_CHECKPOINT,
	OPTION_POLICY,
	OPTION_RECOVERY,
	OPTION_JSON,
};

static void emit(struct gp_diag *diag, enum gp_severity severity, const char *text)
{
	(void)diag;
	fprintf(stderr, PROGRAM ": %s%s\n", severity == GP_WARNING ? _("warning: ") : "", text);
}

static int usage(const char *format, const char *what)
{
	fprintf(stderr, PROGRAM ": ");
	/* The formats are this file's own, with one %s. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	fprintf(stderr, format, what);
#pragma GCC diagnostic pop
	fprintf(stderr, _("\nTry '%s --help'.\n"), PROGRAM);
	return -EINVAL;
}

static bool parse_era(const char *text, enum gp_vgpu_server_era *out)
{
	static const char *const names[] = {
		[GP_ERA_6_1] = "6.1", [GP_ERA_6_5] = "6.5", [GP_ERA_6_12] = "6.12"};

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
		return usage(_("'%s' is no name for a machine: letters, digits, - and _, at most "
			       "24 of them"),
			     name);
	options->name = name;
	options->named = true;
	return 0;
}

static int set_machine(struct gp_vgpu_options *options, int id, const char *value)
{
	char why[GP_UNITS_ERROR];
	u64 number;

	switch (id) {
	case OPTION_GPU:
		if (!gp_vgpu_gpufile_known(value))
			return usage(_("there is no GPU '%s': mi210, mi300x, mi308x, or the path "
				       "of a GPU file"),
				     value);
		options->gpu = value;
		return 0;
	case OPTION_KERNELS:
		options->kernels = value;
		return 0;
	case OPTION_COUNT:
		if (!gp_argument_u64(value, &number) || !number || number > GP_VGPU_MAX_GPUS)
			return usage(_("'%s' is not a number of GPUs (1 to 8)"), value);
		options->server.gpu_count = (u32)number;
		return 0;
	case OPTION_SPEED:
		if (!parse_speed(value, &options->server.speed_permille))
			return usage(_("'%s' is not a speed (0.001 to 1000)"), value);
		return 0;
	case OPTION_PERSONALITY:
		if (strcmp(value, "compat") != 0 && strcmp(value, "native") != 0)
			return usage(_("'%s' is not a personality (compat, native)"), value);
		options->personality = *value == 'n' ? GP_NATIVE : GP_COMPAT;
		return 0;
	case OPTION_ERA:
		if (!parse_era(value, &options->server.era))
			return usage(_("'%s' is not an era of the driver (6.1, 6.5, 6.12)"), value);
		return 0;
	case OPTION_RUNTIME_ENABLE:
		options->server.runtime_enable = true;
		return 0;
	case OPTION_SEED:
		if (!gp_argument_u64(value, &options->server.seed))
			return usage(_("'%s' is not a seed (a number)"), value);
		return 0;
	case OPTION_TIMEOUT:
		if (gp_duration_parse(value, GP_NS_PER_MS, 3600 * GP_NS_PER_S, &number, why))
			return usage("%s", why);
		options->server.preemption_timeout_ms = (u32)(number / GP_NS_PER_MS);
		return 0;
	case OPTION_POLICY:
		if (!gp_argument_u64(value, &number) || number > GP_POLICY_NO_HWS)
			return usage(_("'%s' is not a scheduling policy (0, 1, 2)"), value);
		options->server.policy = (enum gp_vgpu_sched_policy)number;
		return 0;
	case OPTION_RECOVERY:
		if (!gp_argument_u64(value, &number) || number > 1)
			return usage(_("'%s' is neither 0 nor 1"), value);
		options->server.recovery = number;
		return 0;
	case OPTION_CHECKPOINT:
		options->server.checkpoint = true;
		return 0;
	default:
		return -EINVAL;
	}
}

static const struct option longs[] = {
	{"gpu", required_argument, NULL, OPTION_GPU},
	{"count", required_argument, NULL, OPTION_COUNT},
	{"speed", required_argument, NULL, OPTION_SPEED},
	{"personality", required_argument, NULL, OPTION_PERSONALITY},
	{"era", required_argument, NULL, OPTION_ERA},
	{"runtime-enable", no_argument, NULL, OPTION_RUNTIME_ENABLE},
	{"seed", required_argument, NULL, OPTION_SEED},
	{"kernels", required_argument, NULL, OPTION_KERNELS},
	{"preemption-timeout", required_argument, NULL, OPTION_TIMEOUT},
	{"checkpoint", no_argument, NULL, OPTION_CHECKPOINT},
	{"sched-policy", required_argument, NULL, OPTION_POLICY},
	{"gpu-recovery", required_argument, NULL, OPTION_RECOVERY},
	{"name", required_argument, NULL, OPTION_NAME},
	{"json", no_argument, NULL, OPTION_JSON},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* 0, 1 after --help, or -EINVAL. Options end at the first word that is none. */
static int parse(struct gp_vgpu_options *options, int argc, char **argv)
{
	int id, error = 0;

	opterr = 0;
	while (!error && (id = getopt_long(argc, argv, "+:h", longs, NULL)) != -1) {
		if (id == 'h') {
			puts(_("Usage: gpreempt vgpu [OPTION...] -- COMMAND [ARGUMENT...]\n"
			       "       gpreempt vgpu start|stop|status [OPTION...]\n\n"
			       "'gpreempt vgpu --help' explains the options."));
			return 1;
		}
		if (id == '?' || id == ':')
			return usage(id == ':' ? _("option '%s' needs a value")
					       : _("unknown option '%s'"),
				     argv[optind - 1]);
		if (id == OPTION_NAME) {
			error = set_name(options, optarg);
		} else if (id == OPTION_JSON) {
			options->json = true;
		} else {
			options->machine = true;
			error = set_machine(options, id, optarg);
		}
	}
	if (!error && options->server.era == GP_ERA_6_1 && options->personality == GP_NATIVE)
		return usage(_("--era %s is for --personality compat"), "6.1");
	return error;
}

/* What costs CPU time while nothing happens is not done in silence, unless it was asked for. */
static void announce_polling(void)
{
	int fd = gp_vgpu_faultfd_open();

	if (fd >= 0)
		close(fd);
	else if (!getenv("GPREEMPT_VGPU_POLL"))
		fprintf(stderr, PROGRAM ": %s (userfaultfd: %s)\n",
			_("doorbells are polled here, so idle programs use some CPU time"),
			strerror(-fd));
}

static void announce(const char *directory, struct gp_diag *diag)
{
	char line[256];
	json_t *status;

	if (gp_vgpu_status(directory, diag, &status))
		return;
	gp_vgpu_describe(status, line, sizeof(line));
	fprintf(stderr, PROGRAM ": %s\n", line);
	if (gp_vgpu_needs_new_rocm(status))
		fprintf(stderr, PROGRAM ": %s\n",
			_("ROCm before 6 cannot name it: use '--personality compat' for that"));
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

	if (options->machine && options->named) {
		usage(_("--name %s means a machine that runs; options of a machine are for its "
			"start"),
		      options->name);
		return EXIT_USAGE;
	}
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
		return EXIT_FAILED;
	announce(machine.directory, diag);
	printf(_("The machine '%s' runs. 'gpreempt vgpu%s%s -- COMMAND' uses it, "
		 "'gpreempt vgpu stop%s%s' ends it.\n"),
	       options->name, options->named ? " --name " : "", options->named ? options->name : "",
	       options->named ? " --name " : "", options->named ? options->name : "");
	return EXIT_OK;
}

static int stop(const char *directory, struct gp_diag *diag)
{
	return gp_vgpu_stop(directory, diag) ? EXIT_FAILED : EXIT_OK;
}

static int show(const struct gp_vgpu_options *options, const char *directory, struct gp_diag *diag)
{
	json_t *status;
	int error;

	if (gp_vgpu_status(directory, diag, &status))
		return EXIT_FAILED;
	error = options->json ? gp_json_print(stdout, status, false) : gp_vgpu_print_status(status);
	json_decref(status);
	return error ? EXIT_FAILED : EXIT_OK;
}

static int no_json(void)
{
	usage(_("--json is for 'status'"), "");
	return EXIT_USAGE;
}

/* start, stop and status take options before and after the word. */
static int manage(struct gp_vgpu_options *options, int argc, char **argv, struct gp_diag *diag)
{
	const char *verb = argv[0];
	char directory[PATH_MAX];
	int error;

	optind = 0;
	error = parse(options, argc, argv);
	if (error)
		return error < 0 ? EXIT_USAGE : EXIT_OK;
	if (optind < argc) {
		usage(_("there is nothing to do with '%s'; a command follows '--'"), argv[optind]);
		return EXIT_USAGE;
	}
	if (options->json && strcmp(verb, "status") != 0)
		return no_json();
	if (strcmp(verb, "start") == 0)
		return start(options, diag);
	if (options->machine) {
		usage(_("'%s' takes no options of a machine"), verb);
		return EXIT_USAGE;
	}
	if (choose(options, diag, directory, sizeof(directory)))
		return EXIT_FAILED;
	return strcmp(verb, "stop") == 0 ? stop(directory, diag) : show(options, directory, diag);
}

int main(int argc, char **argv)
{
	struct gp_diag diag = {.emit = emit};
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
	int error, status;

	/* A descriptor we open must not take the place of a standard one that is closed. */
	while ((error = open("/dev/null", O_RDWR)) >= 0 && error <= STDERR_FILENO)
		;
	if (error >= 0)
		close(error);
	gp_i18n_init();
	error = parse(&options, argc, argv);
	if (error)
		return error < 0 ? EXIT_USAGE : EXIT_OK;
	if (optind >= argc || !*argv[optind]) {
		usage(_("what is to be run? '%s -- COMMAND'"), PROGRAM);
		return EXIT_USAGE;
	}
	/* The words are the program's own only when no "--" stands before them. */
	if (strcmp(argv[optind - 1], "--") != 0 &&
	    (strcmp(argv[optind], "start") == 0 || strcmp(argv[optind], "stop") == 0 ||
	     strcmp(argv[optind], "status") == 0))
		status = manage(&options, argc - optind, argv + optind, &diag);
	else if (options.json)
		status = no_json();
	else
		status = run(&options, argv + optind, &diag);
	if (fflush(stdout) && status == EXIT_OK)
		status = EXIT_FAILED;
	return status;
}
