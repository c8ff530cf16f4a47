// SPDX-License-Identifier: MIT
/* gpreemptd: options, the journal, and the loop. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/i18n.h"
#include "daemon/daemon.h"

#define DEFAULT_CONFIG "/etc/gpreempt/gpreemptd.conf"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

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

/* What could not be written must not look like success. */
static int finish(struct gp_diag *diag)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_OK;
	gp_fail(diag, -EIO, "cannot write the output: %s", strerror(errno ? errno : EIO));
	return EXIT_FAILED;
}

static void help(void)
{
	printf(_("Usage: gpreemptd [OPTION...]\n\n"
		 "Schedules GPU jobs and records why. Your own processes need no privilege.\n"
		 "'gpreempt why', 'log', 'stats' and 'top' show its decisions.\n\n"
		 "  -c, --config FILE   configuration (default %s if it exists,\n"
		 "                      otherwise built-in values)\n"
		 "      --act           mode = act, overrides the configuration\n"
		 "      --observe       mode = observe, overrides the configuration\n"
		 "      --check FILE    check a configuration and exit\n"
		 "      --version       print the version\n"
		 "  -h, --help          print this text\n\n"
		 "SIGHUP reloads the configuration. SIGTERM resumes all jobs and exits.\n"),
	       DEFAULT_CONFIG);
}

static int check(const char *path, struct gp_diag *diag)
{
	struct gp_daemon_config config;

	if (gp_daemon_config_read(path, diag, &config))
		return EXIT_FAILED;
	printf(_("%s: valid; mode %s, %zu rules\n"), path,
	       config.mode == GP_MODE_ACT ? "act" : "observe", config.rule_count);
	gp_daemon_config_free(&config);
	return finish(diag);
}

struct settings {
	const char *config;
	int mode; /* -1: the configuration's */
};

/* -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct settings *settings, struct gp_diag *diag)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"act", no_argument, NULL, 'a'},
		{"observe", no_argument, NULL, 'o'},
		{"check", required_argument, NULL, 'k'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};

	for (int option; (option = getopt_long(argc, argv, "c:h", options, NULL)) != -1;) {
		switch (option) {
		case 'c':
			settings->config = optarg;
			break;
		case 'a':
			settings->mode = GP_MODE_ACT;
			break;
		case 'o':
			settings->mode = GP_MODE_OBSERVE;
			break;
		case 'k':
			return check(optarg, diag);
		case 'V':
			puts("gpreemptd " GP_VERSION);
			return finish(diag);
		case 'h':
			help();
			return finish(diag);
		default:
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		gp_fail(diag, -EINVAL, "unexpected argument '%s'", argv[optind]);
		return EXIT_USAGE;
	}
	return -1;
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

	gp_i18n_init();
	gp_raise_descriptors();
	status = parse(argc, argv, &settings, &journal.diag);
	if (status >= 0)
		return status;
	if (configure(&settings, &journal.diag, &config))
		return EXIT_USAGE;
	daemon = malloc(sizeof(*daemon));
	int error =
		daemon ? gp_daemon_init(daemon, &config, settings.config, &journal.diag) : -ENOMEM;
	if (error) {
		gp_fail(&journal.diag, error, "cannot start: %s", strerror(-error));
		free(daemon);
		return EXIT_FAILED;
	}
	daemon->forced_mode = settings.mode;
	error = gp_daemon_start(daemon);
	if (!error)
		gp_diag(daemon->diag, GP_NOTE,
			ngettext("mode %s, %u GPU", "mode %s, %u GPUs", daemon->device_count),
			daemon->config.mode == GP_MODE_ACT ? "act" : "observe",
			daemon->device_count);
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
	return error ? EXIT_FAILED : EXIT_OK;
}
