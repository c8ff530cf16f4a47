// SPDX-License-Identifier: MIT
/* gpreemptd: options, the journal, and the loop. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/command.h"
#include "base/host/urgent.h"
#include "daemon/daemon.h"
#include "gpu/gpu.h"
#include "gpu/nvrm/nvml.h"

#define DEFAULT_CONFIG GP_SYSCONFDIR "/gpreempt/gpreemptd.conf"

enum { OPTION_ACT = 256, OPTION_OBSERVE, OPTION_CHECK };

struct journal {
	struct gp_diag diag;
	bool levels; /* stderr is the journal: lines begin with their level */
	const char *name;
};

static void emit(struct gp_diag *diag, enum gp_severity severity, const char *text)
{
	static const char *const levels[] = {"<6>", "<4>", "<3>"};
	struct journal *journal = (struct journal *)diag;

	fprintf(stderr, "%s%s: %s\n", journal->levels ? levels[severity] : "", journal->name, text);
}

static const struct gp_option options[] = {
	{'c', "config", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("read the configuration from FILE (default: the installed\ngpreemptd.conf, or built-in "
	    "values if there is none)")},
	{OPTION_ACT, "act", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("set mode = act, overriding the configuration")},
	{OPTION_OBSERVE, "observe", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("set mode = observe, overriding the configuration")},
	{OPTION_CHECK, "check", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("check the configuration in FILE and exit")},
	{0},
};

static const struct gp_command command = {
	.name = "gpreemptd",
	.alone = true,
	.arguments = "",
	.summary = N_("Schedule GPU jobs: decide which one runs, and record why"),
	.description =
		N_("Scheduling your own processes needs no privileges. Use 'gpreempt why', "
		   "'log', 'stats'\nand 'top' to see what gpreemptd does. SIGHUP reloads the "
		   "configuration; SIGTERM resumes all\nsuspended jobs and exits."),
	.exit_status = N_("Exit status: 0 ok, 1 failed, or errors found by --check; 2 bad usage or "
			  "errors in the\n"
			  "configuration."),
	.options = options,
	.examples = "  gpreemptd --check " DEFAULT_CONFIG "\n"
		    "  gpreemptd --observe --config " DEFAULT_CONFIG "\n",
};

/* Only warnings: the file may be for another machine. */
static void check_devices(const struct gp_daemon_config *config, struct gp_diag *diag)
{
	struct gp_daemon_config_gpu gpus[GP_SCHED_MAX_DEVICES];
	struct gp_root root = {0};
	size_t count = 0;

	for (size_t kind = 0; gp_gpu_kinds[kind]; kind++) {
		struct gp_gpu_list list = {0};

		if (gp_gpu_kinds[kind]->discover(&root, NULL, &list) == 0) {
			for (size_t i = 0; i < list.count && count < GP_ARRAY_SIZE(gpus); i++)
				gpus[count++] = (struct gp_daemon_config_gpu){list.items[i].gpu_id,
									      list.items[i].node};
		}
		gp_gpu_list_free(&list);
	}
	gp_daemon_config_absent(config, gpus, count, diag);
}

static int check(const char *path, struct gp_diag *diag)
{
	struct gp_daemon_config config;

	if (gp_daemon_config_read(path, diag, &config))
		return GP_EXIT_FAILED;
	check_devices(&config, diag);
	printf(ngettext("%s: valid; mode %s, %zu rule\n", "%s: valid; mode %s, %zu rules\n",
			config.rule_count),
	       path, config.mode == GP_MODE_ACT ? "act" : "observe", config.rule_count);
	gp_daemon_config_free(&config);
	return gp_command_finish(&command, GP_EXIT_OK);
}

struct settings {
	const char *config;
	int mode; /* -1: the configuration's */
	const char *check;
};

static int set(void *ctx, int id, const char *value)
{
	struct settings *settings = ctx;
	int mode;

	switch (id) {
	case OPTION_ACT:
	case OPTION_OBSERVE:
		mode = id == OPTION_ACT ? GP_MODE_ACT : GP_MODE_OBSERVE;
		if (settings->mode >= 0 && settings->mode != mode)
			return gp_usage_error(&command, "--act and --observe cannot be combined");
		settings->mode = mode;
		break;
	case OPTION_CHECK:
		settings->check = value;
		break;
	default:
		settings->config = value;
	}
	return 0;
}

/* -1: continue; otherwise the exit status. */
static int parse(int argc, char **argv, struct settings *settings, struct gp_diag *diag)
{
	int first, status = gp_command_parse(&command, argc, argv, set, settings, &first);

	if (status < 0)
		return GP_EXIT_USAGE;
	if (!status && first < argc)
		return gp_usage_error(&command, "unexpected argument '%s'", argv[first]);
	if (!status && settings->check)
		return check(settings->check, diag);
	if (!status)
		return -1;
	return gp_command_finish(&command, GP_EXIT_OK);
}

static int configure(struct settings *settings, struct gp_diag *diag,
		     struct gp_daemon_config *config)
{
	int error;

	if (!settings->config && access(DEFAULT_CONFIG, R_OK) == 0)
		settings->config = DEFAULT_CONFIG;
	error = settings->config ? gp_daemon_config_read(settings->config, diag, config)
				 : gp_daemon_config_defaults(config);
	if (!error && settings->mode >= 0)
		config->mode = (u32)settings->mode;
	return error;
}

/* The variable names the journal's socket, and is there also where stderr leads elsewhere. */
static bool writes_to_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat info;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &info) == 0 && info.st_dev == device && info.st_ino == inode;
}

/* 'gpreempt config check' runs it under its own name. */
static const char *name_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path && *path ? path : "gpreemptd";
}

int main(int argc, char **argv)
{
	struct journal journal = {.diag = {.emit = emit},
				  .levels = writes_to_journal(),
				  .name = name_of(argc ? argv[0] : NULL)};
	struct settings settings = {.mode = -1};
	struct gp_daemon_config config;
	struct gp_daemon *daemon;
	int status;

	if (argc == 2 && strcmp(argv[1], GP_DAEMON_MEMORY_HELPER) == 0)
		return gp_nvrm_nvml_report();
	gp_i18n_init();
	gp_raise_descriptors();
	status = parse(argc, argv, &settings, &journal.diag);
	if (status >= 0)
		return status;
	int error = configure(&settings, &journal.diag, &config);
	if (error && error != -ENOMEM)
		return GP_EXIT_USAGE;
	daemon = error ? NULL : malloc(sizeof(*daemon));
	error = daemon ? gp_daemon_init(daemon, &config, settings.config, &journal.diag) : -ENOMEM;
	if (error) {
		gp_daemon_refuse_start(&journal.diag, error);
		free(daemon);
		return GP_EXIT_FAILED;
	}
	daemon->forced_mode = settings.mode;
	error = gp_daemon_start(daemon);
	if (!error)
		gp_diag(daemon->diag, GP_NOTE,
			ngettext("mode %s, %u GPU", "mode %s, %u GPUs", daemon->device_count),
			daemon->config.mode == GP_MODE_ACT ? "act" : "observe",
			daemon->device_count);
	daemon->urgency = gp_urgent_begin();
	if (!error)
		gp_diag(daemon->diag, GP_NOTE, "CPU scheduling class: %s",
			gp_urgency_name(daemon->urgency));
	while (!error && !daemon->loop.stop) {
		int step = gp_loop_step(&daemon->loop, -1);

		if (step < 0)
			error = step;
	}
	/* It may be started again, and then has a place. */
	if (daemon->homeless)
		error = -ENOENT;
	gp_daemon_free(daemon);
	free(daemon);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}
