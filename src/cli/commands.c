/* The list of commands; each is defined in the file of its name. */
#include "cli/command.h"

const struct gp_command *const gp_commands[] = {
	&gp_command_completion,
	NULL,
};
