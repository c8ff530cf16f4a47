/* SPDX-License-Identifier: MIT */
/* The command line of `gpreempt selftest`, shared by gpreempt and gpreempt-selftest. */
#ifndef GP_SELFTEST_COMMAND_H
#define GP_SELFTEST_COMMAND_H

#include "base/command.h"

enum gp_selftest_option {
	GP_SELFTEST_OPTION_JSON = 256,
	GP_SELFTEST_OPTION_GPU,
	GP_SELFTEST_OPTION_CYCLES,
	GP_SELFTEST_OPTION_SHARED,
	GP_SELFTEST_OPTION_YES,
	GP_SELFTEST_OPTION_CALIBRATE,
	GP_SELFTEST_OPTION_BASE,
};

extern const struct gp_command gp_selftest_command;

#endif
