/* SPDX-License-Identifier: MIT */
/*
 * Programs about to be run with a library preloaded: where a name leads, and whether the run-time
 * linker will take part. Used by commands that start others.
 */
#ifndef GP_BASE_HOST_PROGRAM_H
#define GP_BASE_HOST_PROGRAM_H

#include <stddef.h>

enum gp_program_kind {
	GP_PROGRAM_OK,
	GP_PROGRAM_STATIC, /* no run-time linker */
	GP_PROGRAM_RIGHTS, /* set-user-ID, set-group-ID or file capabilities: preloading is off */
	GP_PROGRAM_NOT_64, /* KFD has no 32-bit programs */
	GP_PROGRAM_NO_INTERPRETER, /* a script whose interpreter does not exist */
};

/* The way execvp() looks. -ENOENT, -EACCES, -ENAMETOOLONG. */
int gp_program_find(const char *name, char *path, size_t size);

/* The kind of this file or, for a script, of its interpreter. `which` gets the file that decided.
 * -errno when it cannot be run at all. */
int gp_program_check(const char *path, enum gp_program_kind *kind, char *which, size_t size);

/* A file of the installation, seen from the running program: <prefix>/INSTALLED or <build>/BUILT.
 */
int gp_program_beside(const char *installed, const char *built, char *out, size_t size);

#endif
