/* The list of commands; each is defined in the file of its name. */
#include "cli/command.h"

/* One a line: columns would make every new command touch every line. */
/* clang-format off */
const struct gp_command *const gp_commands[] = {
	&gp_command_find,
	&gp_command_hqd,
	&gp_command_mqd,
	&gp_command_runlist,
	&gp_command_ps,
	&gp_command_doctor,
	&gp_command_selftest,
	&gp_command_queues_trace,
	&gp_command_compare,
	&gp_command_run,
	&gp_command_suspend,
	&gp_command_resume,
	&gp_command_status,
	&gp_command_renice,
	&gp_command_release,
	&gp_command_why,
	&gp_command_log,
	&gp_command_stats,
	&gp_command_top,
	&gp_command_config,
	&gp_command_sim,
	&gp_command_report,
	&gp_command_analyze,
	&gp_command_trace,
	&gp_command_vgpu,
	&gp_command_completion,
	&gp_command_manual,
	NULL,
};
