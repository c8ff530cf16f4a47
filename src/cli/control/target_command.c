// SPDX-License-Identifier: MIT
/* Arguments that name processes, queues, times and mechanisms: see target_command.h. */
#include "cli/control/target_command.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/host/process.h"
#include "base/host/stopped.h"

bool gp_cli_mechanism_argument(const char *text, enum gpreempt_mechanism *mechanism)
{
	for (int i = 0; gpreempt_mechanism_name((enum gpreempt_mechanism)i); i++) {
		if (strcmp(gpreempt_mechanism_name((enum gpreempt_mechanism)i), text) == 0) {
			*mechanism = (enum gpreempt_mechanism)i;
			return true;
		}
	}
	return false;
}

int gp_cli_queue_arguments(const struct gp_command *command, int argc, char **argv, int first,
			   u32 **ids, size_t *count)
{
	*count = (size_t)(argc - first);
	*ids = NULL;
	if (!*count)
		return 0;
	if (*count > GPREEMPT_QUEUES_MAX)
		return gp_usage_error(command, "too many queues (at most %d)", GPREEMPT_QUEUES_MAX);
	*ids = calloc(*count, sizeof(**ids));
	if (!*ids)
		return -ENOMEM;
	for (size_t i = 0; i < *count; i++) {
		u64 value;

		if (!gp_argument_u64(argv[(size_t)first + i], &value) || value > INT32_MAX) {
			gp_usage_error(
				command,
				"'%s' is not a queue id (use a KFD id from 'gpreempt status PID')",
				argv[(size_t)first + i]);
			free(*ids);
			*ids = NULL;
			return -EINVAL;
		}
		(*ids)[i] = (u32)value;
	}
	return 0;
}

int gp_cli_group_present(struct gpreempt *context, const char *group,
			 struct gpreempt_target *target, struct gp_diag *diag)
{
	struct gpreempt_target_info info = {.size = sizeof(info)};
	int error = group ? gpreempt_target_info(target, &info) : 0;

	if (error < 0)
		return gp_fail(diag, error, "%s", gpreempt_error(context));
	if (group && !info.process_count)
		return gp_fail(diag, -ESRCH, "group '%s': %s", group, info.why);
	return 0;
}

/* A word of a command line, quoted for a shell if it must be. */
static void add_word(struct gp_buf *line, const char *word)
{
	bool plain =
		*word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					    "0123456789-_=+:,./@%")];

	gp_buf_puts(line, plain ? " " : " '");
	for (; *word; word++) {
		if (*word == '\'')
			gp_buf_puts(line, "'\\'");
		gp_buf_printf(line, "%c", *word);
	}
	gp_buf_puts(line, plain ? "" : "'");
}

static int say_elsewhere(u32 pid, char **words, enum gp_severity severity, struct gp_diag *diag)
{
	static const struct gp_root live = {""};
	const char *here = getenv("GPREEMPT_VGPU");
	struct gp_buf line = {0};
	char there[PATH_MAX];

	/* A process that cannot be read is not ours to control either; the holder says so. */
	if (!pid || gp_process_environment(&live, pid, "GPREEMPT_VGPU", there, sizeof(there)) ||
	    !*there || (here && strcmp(here, there) == 0))
		return 0;
	for (; *words; words++)
		add_word(&line, *words);
	gp_diag(diag, severity,
		"process %u runs on a virtual GPU, but this command does not; use: "
		"GPREEMPT_VGPU=%s gpreempt vgpu -- gpreempt%s",
		pid, there, gp_buf_str(&line));
	gp_buf_free(&line);
	return -EXDEV;
}

static bool unavailable(int error)
{
	return error == -ENODEV || error == -ENXIO || error == -ENOENT || error == -EOPNOTSUPP;
}

static bool has_agent(u32 pid)
{
	static const struct gp_root live = {""};
	char libraries[PATH_MAX];

	return !gp_process_environment(&live, pid, "LD_PRELOAD", libraries, sizeof(libraries)) &&
	       strstr(libraries, "libgpreempt_agent");
}

/* The agent is in the environment from the start, but answers only when the GPU is opened. */
static bool is_early(u32 pid, int error)
{
	static const struct gp_root live = {""};
	struct gp_process process;

	if (!pid || (error != -ENODEV && error != -ENOENT && error != -EOPNOTSUPP))
		return false;
	if (has_agent(pid))
		return true;
	/* Before it becomes the program. */
	return !gp_process_read(&live, pid, &process) && strcmp(process.comm, "gpreempt") == 0 &&
	       strstr(process.command, " run ");
}

bool gp_cli_target_stopped(u32 pid)
{
	static const struct gp_root live = {""};
	struct gp_freezers freezers = {0};
	struct gp_stopped_look look;

	if (!pid)
		return false;
	gp_freezers_find(&live, &freezers);
	return gp_stopped_read(&live, &freezers, pid, &look) == 0 && look.by != GP_STOPPED_NOT;
}

/* Its agent cannot answer then, and nothing is wrong with it. */
static void say_stopped(u32 pid, enum gp_severity severity, struct gp_diag *diag)
{
	if (gp_cli_target_stopped(pid))
		gp_diag(diag, severity,
			"process %u is stopped and cannot answer until it continues (fg, kill "
			"-CONT, or the end of its freezer or debugger)",
			pid);
}

int gp_cli_target_mute(u32 pid, struct gp_diag *diag)
{
	if (!gp_cli_target_stopped(pid) || !has_agent(pid))
		return 0;
	say_stopped(pid, GP_ERROR, diag);
	return -ETIME;
}

void gp_cli_target_failed(u32 pid, bool open, u32 mechanism, int error, const char *reason,
			  char **words, struct gp_diag *diag)
{
	bool named = mechanism == GPREEMPT_KFD_MODULE || mechanism == GPREEMPT_NV_SUSPEND ||
		     mechanism == GPREEMPT_KFD_DEBUG;

	if (!open && named && unavailable(error)) {
		gp_fail(diag, error, "mechanism %s is not available for process %u: %s",
			gpreempt_mechanism_name(mechanism), pid, reason);
		gp_diag(diag, GP_NOTE, "'gpreempt doctor' shows what each mechanism needs");
	} else if (!open && is_early(pid, error)) {
		gp_fail(diag, error,
			"process %u was started with 'gpreempt run' but has not used the GPU yet; "
			"try again when it has",
			pid);
	} else {
		gp_fail(diag, error, "%s", reason);
	}
	if (error == -ETIMEDOUT || error == -ETIME)
		say_stopped(pid, GP_NOTE, diag);
	say_elsewhere(pid, words, GP_NOTE, diag);
}

int gp_cli_target_absent(u32 pid, char **words, struct gp_diag *diag)
{
	static const struct gp_root live = {""};
	struct gp_process process = {0};
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	/* The last two: a thread that leads no process. */
	if (fd < 0 && (errno == ESRCH || errno == EINVAL || errno == ENOENT))
		return gp_fail(diag, -ESRCH,
			       "process %u does not exist (it may have exited); 'gpreempt ps' "
			       "lists the processes that use a GPU",
			       pid);
	if (fd >= 0)
		close(fd);
	if (geteuid() && gp_process_read(&live, pid, &process) == 0 && process.user[0] &&
	    process.uid != geteuid())
		return gp_fail(diag, -EPERM, "process %u belongs to another user", pid);
	return say_elsewhere(pid, words, GP_ERROR, diag);
}

void gp_cli_target_name(char *out, size_t size, u32 pid, const char *group)
{
	if (group)
		snprintf(out, size, _("group '%s'"), group);
	else
		snprintf(out, size, _("process %u"), pid);
}

bool gp_cli_target_in_group(u32 pid, const char *group)
{
	static const struct gp_root live = {""};
	char name[GP_PROTO_NAME];

	return !gp_process_environment(&live, pid, "GPREEMPT_GROUP", name, sizeof(name)) &&
	       strcmp(name, group) == 0;
}
