/* SPDX-License-Identifier: MIT */
/*
 * The program gpreempt-vgpu: runs a command on a virtual machine of its own, or keeps one for many.
 * vgpu.c reads the command line; the machine, the command and the questions to a machine are in
 * the files named after them. The server runs in a child of this program.
 */
#ifndef GP_VGPU_PROGRAM_PROGRAM_H
#define GP_VGPU_PROGRAM_PROGRAM_H

#include <signal.h>
#include <limits.h>
#include <sys/types.h>

#include "base/diag.h"
#include "vgpu/server/server.h"

/* As env(1) has them; 1 and 2 as every command here. */
enum { GP_VGPU_FAILED = 125, GP_VGPU_CANNOT_RUN = 126, GP_VGPU_NOT_FOUND = 127 };

#define GP_VGPU_DEFAULT  "default"
#define GP_VGPU_PRIVATE  "run-" /* and a pid: machines of one command */
#define GP_VGPU_NAME_MAX 24     /* the socket's path must fit in a sockaddr_un */

struct gp_vgpu_options {
	const char *gpu;     /* name or path */
	const char *kernels; /* path, NULL = the installed ones */
	const char *name;    /* of a machine that is kept */
	enum gp_vgpu_personality personality;
	struct gp_vgpu_server_options server;
	bool named;   /* --name was given */
	bool machine; /* an option that describes a machine was given */
	bool json;
};

struct gp_vgpu_machine {
	char directory[PATH_MAX];
	pid_t server;  /* our child; 0: it was and has ended; -1: not ours */
	sigset_t mask; /* of signals, before gp_vgpu_hold_signals() */
};

/* ---- vgpu_machine.c ---- */

bool gp_vgpu_good_name(const char *name);
/* The directory of a kept machine with a good name; makes and checks the one above it. */
int gp_vgpu_directory(const char *name, struct gp_diag *diag, char *out, size_t size);
/* A machine that ends with this process (its server is a child), or one that is kept. */
int gp_vgpu_start_private(const struct gp_vgpu_options *options, struct gp_diag *diag,
			  struct gp_vgpu_machine *out);
int gp_vgpu_start_kept(const struct gp_vgpu_options *options, struct gp_diag *diag,
		       struct gp_vgpu_machine *out);
/* Ends a private machine and removes what is left of it. */
void gp_vgpu_stop_private(struct gp_vgpu_machine *machine);

/* ---- vgpu_client.c ---- */

/* A connection to the machine's server, or -errno: -ENOENT and -ECONNREFUSED when none runs. */
int gp_vgpu_connect(const char *directory);
/* Says that nothing answers there, and what would help. Returns the error. */
int gp_vgpu_not_running(const char *directory, int error, struct gp_diag *diag);
/* Its status as a new JSON reference. */
int gp_vgpu_status(const char *directory, struct gp_diag *diag, json_t **out);
/* Whether a machine is there. One that is just ending is waited for, and then is not. */
bool gp_vgpu_answers(const char *directory);
/* Asks it to end and waits until it has. */
int gp_vgpu_stop(const char *directory, struct gp_diag *diag);

/* ---- vgpu_run.c ---- */

/* Runs argv on the machine; the exit status as documented above. A server of ours that ends first
 * takes the command along. */
int gp_vgpu_run(struct gp_vgpu_machine *machine, char **argv, struct gp_diag *diag);
/*
 * Keeps the signals that end programs pending from before a machine starts until gp_vgpu_run()
 * hands them on: one that came in between would leave the machine's directory behind.
 */
void gp_vgpu_hold_signals(struct gp_vgpu_machine *machine);
/*
 * The file that execvp() would run, if a library can be preloaded into it. -ENOENT, or -EACCES
 * when it cannot be executed or preloaded; said on diag.
 */
int gp_vgpu_check_program(const char *name, struct gp_diag *diag, char *path, size_t size);

/* ---- vgpu_view.c ---- */

/* "AMD Instinct MI308X, shown as gfx90a with 80 CUs (compat)". */
void gp_vgpu_describe(const json_t *status, char *out, size_t size);
/* Whether only ROCm 6 and later has a name for what is shown. */
bool gp_vgpu_needs_new_rocm(const json_t *status);
int gp_vgpu_print_status(const json_t *status);

#endif
