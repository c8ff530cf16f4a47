// SPDX-License-Identifier: MIT
/* Suspends a process through the library and holds it until killed; prints "held" when it does. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gpreempt.h"

int main(int argc, char **argv)
{
	struct gpreempt_suspend_options options = {.size = sizeof(options),
						   .lease_ms = 3600000,
						   .limit_ms = 3600000};
	struct gpreempt *context;
	struct gpreempt_target *target;

	if (argc != 2 || gpreempt_open(&context) < 0 ||
	    gpreempt_target_open(context, atoi(argv[1]), NULL, &target) < 0 ||
	    gpreempt_target_suspend(target, &options) < 0)
		return 1;
	puts("held");
	fflush(stdout);
	for (;;)
		pause();
}
