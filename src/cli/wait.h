/* SPDX-License-Identifier: MIT */
/* Waiting in commands that run until Ctrl-C: for a message, for the end of a time, or for a signal.
 */
#ifndef GP_CLI_WAIT_H
#define GP_CLI_WAIT_H

#include <signal.h>

/* Signals that end the program now; one that is ignored stays ignored. */
void gp_cli_ending_signals(sigset_t *set);
/* Until `fd` is readable, for at most `ms` (-1: without a limit). `signals` is a signalfd of `set`.
 * Returns the signal that came, SIGPIPE if standard output has no reader any more, or 0. Only here
 * signals wait: a reader of the output that is stuck must not keep the program from ending. */
int gp_cli_wait(int fd, int ms, int signals, const sigset_t *set);

#endif
