// SPDX-License-Identifier: MIT
/* gpreempt renice: sets the logical priority of a process or group. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "cli/daemon/daemon_client.h"
#include "cli/control/target_command.h"
#include "show/doc.h"

enum { OPTION_JSON = 'j', OPTION_GROUP = 'g' };

struct settings {
	char **words; /* of the command line */
	const char *group;
	bool json;
};

static int set(void *ctx, int id, const char *value)
{
	struct settings *settings = ctx;

	if (id == OPTION_JSON)
		settings->json = true;
	else
		settings->group = value;
	return 0;
}

/* A number, or the class whose number it is. */
static bool priority_argument(const char *text, u64 *priority)
{
	static const struct {
		const char *name;
		u32 priority;
	} names[] = {{"offline", GPREEMPT_PRIORITY_OFFLINE},
		     {"normal", GPREEMPT_PRIORITY_DEFAULT},
		     {"default", GPREEMPT_PRIORITY_DEFAULT}, /* another name of it */
		     {"online", GPREEMPT_PRIORITY_ONLINE}};

	for (size_t i = 0; i < GP_ARRAY_SIZE(names); i++) {
		if (strcmp(names[i].name, text) == 0) {
			*priority = names[i].priority;
			return true;
		}
	}
	return gp_argument_u64(text, priority) && *priority <= GPREEMPT_PRIORITY_MAX;
}

/* A process of the group's job in gpreemptd, of this user's; 0: it has none. */
static u32 group_pid(struct gp_cli_daemon_client *client, const char *group)
{
	struct gp_proto_msg_job *jobs;
	int count = gp_cli_daemon_jobs(client, NULL, 0, &jobs);
	u32 pid = 0;

	for (int i = 0; i < count && !pid; i++)
		if (jobs[i].uid == geteuid() &&
		    strncmp(jobs[i].group, group, sizeof(jobs[i].group)) == 0)
			pid = jobs[i].pid;
	free(jobs);
	return pid;
}

/* The job in gpreemptd whose priority was set. */
struct scope {
	char group[GP_PROTO_NAME]; /* "": a single process */
	u32 processes;             /* 0: it does not schedule it */
};

static void read_scope(struct gp_cli_daemon_client *client, u32 pid, struct scope *scope)
{
	struct gp_proto_msg_job *jobs;

	if (gp_cli_daemon_jobs(client, NULL, pid, &jobs) > 0) {
		gp_cli_decision_who(jobs[0].group, 0, scope->group, sizeof(scope->group));
		scope->processes = jobs[0].processes;
	}
	free(jobs);
}

/*
 * Where gpreemptd schedules the process, what it refuses would be changed in vain: it would go on
 * with the ceiling or with a rule of its configuration.
 */
static int tell_daemon(const struct settings *settings, u32 pid, u32 priority, struct scope *scope,
		       struct gp_diag *diag)
{
	struct gp_proto_msg_set set = {.what = GP_DAEMON_SET_PRIORITY, .priority = priority};
	struct gp_cli_daemon_client client = {.socket = -1};
	char text[2 * GP_PROTO_TEXT] = "";
	int error = gp_cli_daemon_open(&client, NULL);

	if (error == -ENOENT || error == -ECONNREFUSED)
		return 0;
	if (error) {
		gp_diag(diag, GP_WARNING,
			"gpreemptd did not confirm the priority and may keep the old one: %s",
			strerror(-error));
		return 0;
	}
	set.pid = settings->group ? group_pid(&client, settings->group) : pid;
	error = set.pid ? gp_cli_daemon_ask(&client, NULL, GP_MSG_DAEMON_SET, &set, sizeof(set), 0,
					    0)
			: -ESRCH;
	if (error == 0) {
		read_scope(&client, set.pid, scope);
	} else if (error == -EPERM) {
		if (gp_wire_why(&client.message))
			gp_proto_reasons_text(gp_wire_why(&client.message), text, sizeof(text));
		gp_fail(diag, error, "gpreemptd refused the priority: %s", text);
	} else if (error != -ESRCH) {
		gp_diag(diag, GP_WARNING,
			"gpreemptd did not confirm the priority and may keep the old one: %s",
			strerror(-error));
	}
	gp_cli_daemon_close(&client);
	return error == -EPERM ? error : 0;
}

static void answer(const struct settings *settings, u32 pid, u32 priority,
		   const struct scope *scope, bool later, struct gp_diag *diag)
{
	struct gp_doc *doc = gp_doc_new_answer();
	bool several = scope->processes > 1;
	char name[128];

	if (several && !later)
		snprintf(name, sizeof(name),
			 ngettext("group '%s' (%u process)", "group '%s' (%u processes)",
				  scope->processes),
			 scope->group, scope->processes);
	else
		gp_cli_target_name(name, sizeof(name), pid, settings->group);
	gp_doc_fact(doc, "pid", NULL, gp_v_if(pid != 0, gp_v_count(pid)));
	gp_doc_fact(doc, "group", NULL,
		    gp_v_text(several && !settings->group ? scope->group : settings->group));
	gp_doc_fact(doc, "processes", NULL,
		    gp_v_if(scope->processes != 0, gp_v_count(scope->processes)));
	gp_doc_fact(doc, "priority", NULL, gp_v_count(priority));
	gp_doc_fact(doc, "pending", NULL, gp_v_bool(later));
	gp_doc_line(doc,
		    later ? _("%s: priority %u requested; it takes effect when the process "
			      "continues")
			  : _("%s: priority %u"),
		    name, priority);
	(void)gp_cli_answer(doc, settings->json ? GP_SHOW_JSON : GP_SHOW_TEXT, diag);
}

/* A stopped process changes nothing. The request waits in the socket of its agent or, where nothing
 * of it is asked (NVIDIA), in the holder. */
static bool is_requested(struct gpreempt_target *target, u32 pid, int error)
{
	struct gpreempt_target_info info = {.size = sizeof(info)};

	if (error == -ETIME)
		return gp_cli_target_stopped(pid);
	return !error && gpreempt_target_info(target, &info) == 0 &&
	       info.mechanism == GPREEMPT_NV_SUSPEND && gp_cli_target_stopped(pid);
}

static int renice(const struct gp_command *command, const struct settings *settings, u32 pid,
		  u32 priority)
{
	struct gpreempt *context = NULL;
	struct gpreempt_target *target = NULL;
	struct gp_command_diag sink;
	struct scope scope = {0};
	int error = gpreempt_open(&context);

	gp_command_diag_init(&sink, command);
	if (!error && settings->group)
		error = gpreempt_group_open(context, settings->group, NULL, &target);
	else if (!error)
		error = gpreempt_target_open(context, (int)pid, NULL, &target);
	if (!error && (gp_cli_group_present(context, settings->group, target, &sink.diag) ||
		       tell_daemon(settings, pid, priority, &scope, &sink.diag))) {
		gpreempt_close(context);
		return GP_EXIT_FAILED;
	}
	if (!error)
		error = gpreempt_target_set_priority(target, priority);
	bool later = target && is_requested(target, pid, error);
	if (error && !later) {
		gp_cli_target_failed(pid, target, 0, error, gpreempt_error(context),
				     settings->words, &sink.diag);
	} else {
		answer(settings, pid, priority, &scope, later, &sink.diag);
	}
	gpreempt_close(context);
	return error && !later ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct settings settings = {.words = argv};
	int first, status = gp_command_parse(command, argc, argv, set, &settings, &first);
	u64 priority;
	u32 pid = 0;

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (argc - first != (settings.group ? 1 : 2))
		return gp_usage_error(command, "specify a priority, and a process or --group");
	if (!priority_argument(argv[first], &priority))
		return gp_usage_error(command,
				      "'%s' is not a priority (0 to 65535, offline, "
				      "normal or online)",
				      argv[first]);
	if (!settings.group && !gp_argument_pid(argv[first + 1], &pid))
		return gp_usage_error(
			command,
			"'%s' is not a pid; 'gpreempt ps' lists the processes that use a "
			"GPU",
			argv[first + 1]);
	return renice(command, &settings, pid, (u32)priority);
}

static const struct gp_option options[] = {
	{OPTION_GROUP, "group", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE,
	 N_("all processes that 'gpreempt run --group NAME' started")},
	{OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print JSON (schema: docs/reference/json.md)")},
	{0},
};

const struct gp_command gp_cli_renice = {
	.name = "renice",
	.arguments = "PRIORITY PID",
	.completion = GP_COMPLETE_NONE,
	.summary = N_("Set the logical priority of a process or group"),
	.description = N_(
		"PRIORITY is 0 to 65535; higher wins. offline (500), normal (1000) and online "
		"(2000) are\n"
		"names for common values. It is a logical priority, independent of the hardware "
		"priority\n"
		"of a queue. If gpreemptd is running, the priority takes effect at once and "
		"overrides the\n"
		"rules of the configuration; a priority above the limit for your user is refused. "
		"If PID\n"
		"belongs to a group, the priority of the whole group changes. 'gpreempt log' shows "
		"each\n"
		"change and its user."),
	.options = options,
	.examples = "  gpreempt renice online 4711\n"
		    "  gpreempt renice 300 --group training\n",
	.run = run,
};
