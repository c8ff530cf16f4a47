/* SPDX-License-Identifier: MIT */
/*
 * The container of a process, and the process of a pid inside a container: from the kernel (cgroup,
 * NSpid, pid namespace) and the files of the runtimes, without contacting a daemon. Inside a
 * container the kernel hides the path of its cgroup; the container is then unknown.
 */
#ifndef GP_BASE_HOST_CONTAINER_H
#define GP_BASE_HOST_CONTAINER_H

#include "base/diag.h"
#include "base/json.h"
#include "base/host/process.h"

#define GP_CONTAINER_ID_LENGTH 64 /* hex digits, with every runtime that has ids */

enum gp_name_source {
	GP_NAME_NONE,
	GP_NAME_RUNTIME,  /* the runtime's own files, or the id is the name */
	GP_NAME_POD,      /* Kubernetes: HOSTNAME of the process is the pod's name */
	GP_NAME_HOSTNAME, /* better than nothing: the host name inside */
};

struct gp_container {
	char runtime[32]; /* docker, podman, containerd, cri-o, kubernetes, lxc, systemd-nspawn */
	char id[132];     /* 64 hex digits; for lxc and systemd-nspawn the name */
	char pod[64];     /* Kubernetes pod uid, or "" */
	char name[256];   /* "" unless name_source says otherwise */
	enum gp_name_source name_source;
};

/* 0; -ENOENT when the process is in none that can be seen; -ESRCH when it is gone. */
int gp_container_of(const struct gp_root *root, u32 pid, struct gp_container *out);

/*
 * For callers that look at many processes: the lists some runtimes keep of all their containers,
 * each read once. Starts as {0}.
 */
struct gp_container_names {
	struct gp_inventory *inventories;
	size_t count, capacity;
};
void gp_container_names_free(struct gp_container_names *names);
int gp_container_look_up(const struct gp_root *root, struct gp_container_names *names, u32 pid,
			 struct gp_container *out);

/* The two halves of it, for callers that need the name of each container once. */
int gp_container_id_of(const struct gp_root *root, u32 pid, struct gp_container *out);
void gp_container_read_name(const struct gp_root *root, struct gp_container_names *names, u32 pid,
			    struct gp_container *container);

/* The same from the text of /proc/PID/cgroup (v1 or v2), without the name. False: no container. */
bool gp_container_parse_cgroup(const char *text, size_t len, struct gp_container *out);

/* "docker:web", or "docker:0123456789ab" where only the id is known. */
void gp_container_label(const struct gp_container *container, char *out, size_t size);

/* The object docs/reference/json.md describes; `process` gives its pid inside. */
json_t *gp_container_json(const struct gp_container *container, const struct gp_process *process);

struct gp_pid_candidate {
	struct gp_process process;
	bool contained;
	struct gp_container container; /* when contained */
};

struct gp_pid_candidates {
	struct gp_pid_candidate *items;
	size_t count, capacity;
};

void gp_pid_candidates_free(struct gp_pid_candidates *candidates);

/*
 * Finds the process a user means. With `container` (a name, an id or its beginning, or the host pid
 * of any process in it; a number that is a live pid is taken as that) `pid` is the container's own
 * pid. Without, it is a host pid; when no such process exists but exactly one has that pid inside a
 * container, that one is taken, with a note.
 *
 * 0: out holds one process. -EEXIST: ambiguous; out and the messages have the candidates.
 * -ESRCH: no such process. -ENOENT: no such container. All errors have a message.
 */
int gp_container_resolve(const struct gp_root *root, struct gp_diag *diag, const char *container,
			 u32 pid, struct gp_pid_candidates *out);

#endif
