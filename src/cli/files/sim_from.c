// SPDX-License-Identifier: MIT
/* gpreempt sim --from: recordings of other programs as a scenario. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/parse.h"
#include "cli/command.h"
#include "sim/program/command.h"
#include "trace/analyse/recording.h"
#include "trace/read/plain.h"

#define DEFAULT_BURST_NS 100000u
#define MAX_INPUTS       64
#define TIME_LIMIT_NS    (86400 * GP_NS_PER_S)

struct settings {
	const struct gp_command *command;
	struct gp_command_diag sink;
	const char *inputs[MAX_INPUTS];
	size_t input_count;
	const char *output;
	struct gp_trace_recording recording;
	char **pass; /* the simulator's own options, as its argv */
	int pass_count;
	char **owned; /* those of them that were made here */
	int owned_count;
};

static const char *option_name(const struct gp_command *command, int id)
{
	const struct gp_option *option = command->options;

	while (option->name && option->id != id)
		option++;
	return option->name;
}

/* Handed on as --name=value. */
static int pass_on(struct settings *settings, int id, const char *value)
{
	char *text;

	if (asprintf(&text, "--%s%s%s", option_name(settings->command, id), value ? "=" : "",
		     value ? value : "") < 0)
		return -ENOMEM;
	settings->owned[settings->owned_count++] = text;
	settings->pass[settings->pass_count++] = text;
	return 0;
}

static int set(void *ctx, int id, const char *value)
{
	struct settings *settings = ctx;
	u64 *time = &settings->recording.kernel_ns;

	switch (id) {
	case GP_SIM_OPTION_FROM:
		if (settings->input_count == MAX_INPUTS)
			return gp_usage_error(settings->command,
					      "too many --from files (at most %d)", MAX_INPUTS);
		settings->inputs[settings->input_count++] = value;
		return 0;
	case GP_SIM_OPTION_OUTPUT:
		settings->output = value;
		return 0;
	case GP_SIM_OPTION_BURST:
		time = &settings->recording.burst_ns;
		/* fall through */
	case GP_SIM_OPTION_KERNEL:
		return gp_option_duration(settings->command, option_name(settings->command, id),
					  value, id == GP_SIM_OPTION_KERNEL, TIME_LIMIT_NS, time);
	default:
		return pass_on(settings, id, value);
	}
}

/* "online=FILE"; what is no class belongs to the file's name. */
static const char *split_class(const char *input, const char **job_class)
{
	static const char *const classes[] = {"online", "offline", "normal"};

	*job_class = NULL;
	for (size_t i = 0; i < GP_ARRAY_SIZE(classes); i++) {
		size_t len = strlen(classes[i]);

		if (strncmp(input, classes[i], len) == 0 && input[len] == '=') {
			*job_class = classes[i];
			return input + len + 1;
		}
	}
	return input;
}

static int read_inputs(struct settings *settings)
{
	struct gp_diag *diag = &settings->sink.diag;

	for (size_t i = 0; i < settings->input_count; i++) {
		const char *job_class, *path = split_class(settings->inputs[i], &job_class);
		int fd = open(path, O_RDONLY | O_CLOEXEC), error;

		if (fd < 0)
			return gp_fail(diag, -errno, "cannot open %s: %s", path, strerror(errno));
		fd = gp_trace_plain(fd, path, diag);
		if (fd < 0)
			return fd;
		error = gp_trace_recording_read(&settings->recording, fd, path, job_class, diag);
		close(fd);
		if (error)
			return error;
	}
	return gp_trace_recording_finish(&settings->recording, diag);
}

static void say(const struct settings *settings)
{
	const struct gp_trace_recording *r = &settings->recording;

	fprintf(stderr, _("kernels: %llu, programs: %zu"), (unsigned long long)r->kernel_count,
		r->program_count);
	if (r->input_count > 1)
		fprintf(stderr, "; %s",
			r->together ? _("recorded at the same time and replayed with that timing")
				    : _("recorded at different times; the replay starts them "
					"together"));
	if (r->guessed)
		fprintf(stderr,
			ngettext("; %llu kernel has the duration given by --kernel",
				 "; %llu kernels have the duration given by --kernel",
				 (unsigned long)r->guessed),
			(unsigned long long)r->guessed);
	fputs("\n", stderr);
}

static int write_scenario(struct settings *settings, FILE *out)
{
	int error = gp_trace_recording_write(&settings->recording, out);

	if (fflush(out) && !error)
		error = -errno;
	return error == -E2BIG
		       ? gp_fail(&settings->sink.diag, error,
				 "too much to replay: at most 256 programs and 4194304 kernels")
	       : error ? gp_fail(&settings->sink.diag, error, "cannot write the scenario: %s",
				 strerror(-error))
		       : 0;
}

static int save(struct settings *settings)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int error = out ? write_scenario(settings, out) : -ENOMEM;

	if (out)
		fclose(out);
	if (!error) {
		error = gp_file_write_atomic(settings->output, text, size);
		if (error)
			gp_fail(&settings->sink.diag, error, "cannot write %s: %s",
				settings->output, strerror(-error));
	}
	free(text);
	return error;
}

/* The simulator reads it from a descriptor that it inherits: no file is left behind. */
static int simulate(struct settings *settings)
{
	int fd = memfd_create("scenario", 0), error;
	FILE *out = fd < 0 ? NULL : fdopen(dup(fd), "w");
	char path[48];

	if (!out)
		return gp_fail(&settings->sink.diag, -errno, "cannot write the scenario: %s",
			       strerror(errno));
	error = write_scenario(settings, out);
	fclose(out);
	if (error)
		return error;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	settings->pass[settings->pass_count++] = path;
	settings->pass[settings->pass_count] = NULL;
	return gp_cli_exec(settings->command, settings->pass_count, settings->pass);
}

int gp_cli_sim_from(const struct gp_command *command, int argc, char **argv)
{
	struct settings settings = {.command = command};
	int first, status;

	settings.recording.burst_ns = DEFAULT_BURST_NS;
	settings.pass = calloc((size_t)argc + 3, sizeof(*settings.pass));
	settings.owned = calloc((size_t)argc + 3, sizeof(*settings.owned));
	gp_command_diag_init(&settings.sink, command);
	if (!settings.pass || !settings.owned) {
		status = GP_EXIT_FAILED;
		goto out;
	}
	settings.pass[settings.pass_count++] = argv[0];
	status = gp_command_parse(command, argc, argv, set, &settings, &first);
	if (status) {
		status = status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	} else if (first < argc) {
		status = gp_usage_error(command, "--from cannot be combined with a scenario");
	} else if (settings.output && settings.pass_count > 1) {
		status = gp_usage_error(command,
					"--output writes the scenario without running it and "
					"cannot be combined with %s",
					settings.pass[1]);
	} else if (read_inputs(&settings)) {
		status = GP_EXIT_FAILED;
	} else {
		say(&settings);
		status = (settings.output ? save(&settings) : simulate(&settings)) ? GP_EXIT_FAILED
										   : GP_EXIT_OK;
	}
out:
	gp_trace_recording_free(&settings.recording);
	for (int i = 0; i < settings.owned_count; i++)
		free(settings.owned[i]);
	free(settings.owned);
	free(settings.pass);
	return status;
}
