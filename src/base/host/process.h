/* SPDX-License-Identifier: MIT */
/*
 * A process as /proc shows it. It is identified by pid *and* start time: pids are reused, so code
 * that keeps one calls gp_process_same() before relying on it again. Values that cannot be read
 * (another user's process, a kernel without the line) are missing, never guessed.
 */
#ifndef GP_BASE_HOST_PROCESS_H
#define GP_BASE_HOST_PROCESS_H

#include "base/file.h"

/* The kernel allows 32 nested pid namespaces below the first. */
#define GP_NSPID_MAX 33

enum gp_process_field {
	GP_PROCESS_COMM = 1u << 0,
	GP_PROCESS_START = 1u << 1,
	GP_PROCESS_UID = 1u << 2,
	GP_PROCESS_NSPID = 1u << 3,
	GP_PROCESS_TGID = 1u << 4,
	GP_PROCESS_NAMESPACE = 1u << 5,
};

struct gp_process {
	u32 pid;                 /* in the pid namespace of this /proc */
	u32 valid;               /* enum gp_process_field */
	char comm[64];           /* raw: may hold any byte but NUL */
	char command[512];       /* arguments joined by blanks, cut; "[comm]" when there are none */
	u32 uid;                 /* effective */
	char user[64];           /* its name, or the number; "" when the uid is not known */
	u64 start_time;          /* clock ticks after boot */
	u32 tgid;                /* differs from pid when pid names a thread */
	u32 nspid[GP_NSPID_MAX]; /* its pid in each namespace, outermost (this /proc's) first */
	u32 nspid_count;
	char pid_namespace[32]; /* "pid:[4026531836]" */
};

/* -ESRCH when there is no such process, or another took its pid while it was read. */
int gp_process_read(const struct gp_root *root, u32 pid, struct gp_process *out);

/* The part that finding a process by its container pid needs: start time, NSpid, namespace. */
int gp_process_read_ids(const struct gp_root *root, u32 pid, struct gp_process *out);

/* Whether the pid still names the process that was read. False when unknown. */
bool gp_process_same(const struct gp_root *root, const struct gp_process *process);

/*
 * Whether pids of the initial pid namespace, which is what KFD lists, are the pids of this /proc.
 * False inside a container with a separate pid namespace.
 */
bool gp_process_host_view(const struct gp_root *root);

/* All pids of this /proc, in order; the caller frees *pids. */
int gp_process_list(const struct gp_root *root, u32 **pids, size_t *count);

/* Name and home of a user, from the system or from the root's /etc/passwd. */
struct gp_user {
	char name[64];
	char home[256];
};
int gp_user_read(const struct gp_root *root, u32 uid, struct gp_user *out);

/* A variable of a process's environment; -ENOENT when it has none, -EACCES when not ours to see. */
int gp_process_environment(const struct gp_root *root, u32 pid, const char *name, char *out,
			   size_t size);

/*
 * The parsers, for text that need not be NUL-terminated. gp_process_parse_stat() finds the start
 * time (field 22) and comm; comm may itself hold blanks and parentheses.
 */
bool gp_process_parse_stat(const char *text, size_t len, struct gp_process *out);
void gp_process_parse_status(const char *text, size_t len, struct gp_process *out);

#endif
