/* SPDX-License-Identifier: MIT */
/*
 * Swapping a suspended process out and back: what suspend, resume, release and status share. Every
 * failure is reported where it happens.
 */
#ifndef GP_CLI_CONTROL_SWAP_H
#define GP_CLI_CONTROL_SWAP_H

#include "base/diag.h"
#include "base/types.h"
#include "inspect/swap.h"
#include "proto/swapped.h"

/* Before anything is touched: whether it can be done at all, and fits. `most`: bytes for all
 * processes that are swapped out; 0: half of the host's. */
int gp_cli_swap_check(u32 pid, u32 mechanism, u64 most, struct gp_diag *diag);
/* Its channels must run. 0, or -errno; then it runs, unless `diag` got that it does not. */
int gp_cli_swap_out(u32 pid, u64 most, struct gp_nvrm_swap *done, struct gp_diag *diag);
/* From whatever state; 0: it runs. */
int gp_cli_swap_back(u32 pid, struct gp_nvrm_swap *done, struct gp_diag *diag);
/* For release: those that are swapped out, or one that may be. How many were brought back, or
 * -errno. */
int gp_cli_swap_release(u32 pid, struct gp_diag *diag);

#endif
