// SPDX-License-Identifier: MIT
/* queue_finder: "gpreempt find" with a short summary and a file that Python can import. */
#include "base/i18n.h"
#include "cli/command.h"

int main(int argc, char **argv)
{
	const struct gp_command *command = &gp_cli_queue_finder;

	gp_i18n_init();
	return gp_command_finish(command, command->run(command, argc, argv));
}
