// SPDX-License-Identifier: MIT
/* The list of commands; each is defined in the file of its name. */
#include "base/core.h"
#include "base/i18n.h"
#include "cli/command.h"
#include "selftest/command.h"
#include "sim/program/command.h"
#include "vgpu/program/command.h"

/* In groups, as gp_cli_command_group() names them. One a line: columns would make every new command
 * touch every line. */
/* clang-format off */
const struct gp_command *const gp_cli_commands[] = {
	&gp_cli_find,
	&gp_cli_ps,
	&gp_cli_top,
	&gp_cli_hqd,
	&gp_cli_mqd,
	&gp_cli_runlist,
	&gp_cli_run,
	&gp_cli_suspend,
	&gp_cli_resume,
	&gp_cli_status,
	&gp_cli_renice,
	&gp_cli_release,
	&gp_cli_why,
	&gp_cli_log,
	&gp_cli_stats,
	&gp_cli_config,
	&gp_cli_analyze,
	&gp_cli_report,
	&gp_cli_compare,
	&gp_cli_trace,
	&gp_cli_queues_trace,
	&gp_sim_command,
	&gp_vgpu_command,
	&gp_cli_doctor,
	&gp_selftest_command,
	&gp_cli_report_bundle,
	&gp_cli_completion,
	&gp_cli_manual,
	NULL,
};
/* clang-format on */

const char *gp_cli_command_group(const struct gp_command *command)
{
	static const struct {
		const struct gp_command *first;
		const char *title;
	} groups[] = {
		{&gp_cli_find, N_("See what uses the GPU:")},
		{&gp_cli_run, N_("Preempt by hand:")},
		{&gp_cli_why, N_("Ask gpreemptd:")},
		{&gp_cli_analyze, N_("Read logs, traces and profiles:")},
		{&gp_sim_command, N_("Work without a GPU:")},
		{&gp_cli_doctor, N_("Check and set up this machine:")},
	};

	for (size_t i = 0; i < GP_ARRAY_SIZE(groups); i++)
		if (groups[i].first == command)
			return gettext(groups[i].title);
	return NULL;
}

void gp_cli_command_nearest(struct gp_nearest *nearest)
{
	for (size_t i = 0; gp_cli_commands[i]; i++)
		gp_nearest_look(nearest, gp_cli_commands[i]->name);
}
