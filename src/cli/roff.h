/* SPDX-License-Identifier: MIT */
/*
 * A manual page as plain text, for a terminal without man(1). Knows what manual.c writes: .TH, .SH,
 * .PP, .TP, .br, .nf and .fi, fonts, and the escapes \\-, \\e and \\&.
 */
#ifndef GP_CLI_ROFF_H
#define GP_CLI_ROFF_H

#include <stdio.h>

void gp_cli_roff_text(const char *page, FILE *out);

#endif
