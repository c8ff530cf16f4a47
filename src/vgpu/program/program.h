/* SPDX-License-Identifier: MIT */
/*
 * The program gpreempt-vgpu: runs a command on a private virtual GPU, or keeps one running for many
 * commands. main.c reads the command line; machine.c starts the server in a child process, run.c
 * runs the command, client.c asks a running machine, view.c prints its status.
 */
#ifndef GP_VGPU_PROGRAM_PROGRAM_H
#define GP_VGPU_PROGRAM_PROGRAM_H

#include <signal.h>
#include <limits.h>
#include <sys/types.h>

#include "base/diag.h"
#include "vgpu/server/server.h"

/* Exit status as in env(1); 1 and 2 as in every command of gpreempt. */
enum { GP_VGPU_FAILED = 125, GP_VGPU_CANNOT_RUN = 126, GP_VGPU_NOT_FOUND = 127 };

#define GP_VGPU_DEFAULT  "default"
#define GP_VGPU_PRIVATE  "run-" /* and a pid: machine of one command */
#define GP_VGPU_NAME_MAX 24     /* the socket's path must fit in a sockaddr_un */

struct gp_vgpu_options {
	const char *gpu;          /* name or path */
	const char *kernels;      /* path, NULL = the installed ones */
	const char *trap_handler; /* path of a driver's header, or NULL */
	const char *name;         /* of a machine that is kept */
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

/* ---- machine.c ---- */

bool gp_vgpu_good_name(const char *name);
/* The directory of a kept machine; makes and checks its parent. */
int gp_vgpu_directory(const char *name, struct gp_diag *diag, char *out, size_t size);
/* Names of this user's machines that run, in order, as a new JSON array. */
json_t *gp_vgpu_machines(void);
/* A machine that ends with this process (its server is a child), or one that is kept. */
int gp_vgpu_start_private(const struct gp_vgpu_options *options, struct gp_diag *diag,
			  struct gp_vgpu_machine *out);
int gp_vgpu_start_kept(const struct gp_vgpu_options *options, struct gp_diag *diag,
		       struct gp_vgpu_machine *out);
/* Ends a private machine and removes what is left of it. */
void gp_vgpu_stop_private(struct gp_vgpu_machine *machine);

/* ---- handler.c ---- */

/* The programs for gfx90a and gfx942 of this header, into a file of the machine's directory. */
int gp_vgpu_handler_write(const char *header, const char *directory, struct gp_diag *diag);

/* ---- client.c ---- */

/* A connection to the machine's server, or -errno: -ENOENT and -ECONNREFUSED when none runs. */
int gp_vgpu_connect(const char *directory);
/* Reports that no machine runs there and how to start one. Returns the error. */
int gp_vgpu_not_running(const char *directory, int error, struct gp_diag *diag);
/* Its status as a new JSON reference. */
int gp_vgpu_status(const char *directory, struct gp_diag *diag, json_t **out);
/* Whether a machine runs there. Waits for one that is just ending. */
bool gp_vgpu_answers(const char *directory);
/* Asks it to end and waits until it has. */
int gp_vgpu_stop(const char *directory, struct gp_diag *diag);

/* ---- run.c ---- */

/* Runs argv on the machine and returns the exit status. If our server ends first, the command is
 * ended. */
int gp_vgpu_run(struct gp_vgpu_machine *machine, char **argv, struct gp_diag *diag);
/*
 * Blocks the signals that end programs until gp_vgpu_run() passes them on: a signal while the
 * machine starts would leave its directory behind.
 */
void gp_vgpu_hold_signals(struct gp_vgpu_machine *machine);
/*
 * The file that execvp() would run. -ENOENT, or -EACCES if it cannot be executed or no library can
 * be preloaded; reported on diag.
 */
int gp_vgpu_check_program(const char *name, struct gp_diag *diag, char *path, size_t size);

/* ---- view.c ---- */

/* "AMD Instinct MI308X, shown as gfx90a with 80 CUs (compat)". */
void gp_vgpu_describe(const json_t *status, char *out, size_t size);
int gp_vgpu_print_status(const json_t *status);

#endif
