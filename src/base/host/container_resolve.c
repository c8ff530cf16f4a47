// SPDX-License-Identifier: MIT
/* From the pid a user typed to a process, when that pid may be a container's own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/i18n.h"
#include "base/parse.h"
#include "base/host/container.h"

/* Longer lists are cut in messages; the caller still gets every candidate. */
#define GP_CANDIDATES_SHOWN 20

void gp_pid_candidates_free(struct gp_pid_candidates *candidates)
{
	free(candidates->items);
	*candidates = (struct gp_pid_candidates){0};
}

/* What to look for among all processes. */
struct search {
	u32 pid;            /* in the container */
	bool any_container; /* or, if not, like `like` */
	struct gp_process like;
	struct gp_container container; /* id "" when it is not known */
	struct gp_container_names *names;
};

static bool same_container(const struct search *search, const struct gp_process *process,
			   const struct gp_container *container)
{
	/* The namespace is what a pid belongs to; containers of a pod may share one. */
	if ((search->like.valid & GP_PROCESS_NAMESPACE) && (process->valid & GP_PROCESS_NAMESPACE))
		return strcmp(search->like.pid_namespace, process->pid_namespace) == 0;
	return search->container.id[0] && strcmp(search->container.id, container->id) == 0;
}

static int add_candidate(const struct gp_root *root, u32 pid, const struct gp_container *container,
			 struct gp_pid_candidates *out)
{
	struct gp_pid_candidate candidate = {.contained = container != NULL};
	int error = gp_process_read(root, pid, &candidate.process);

	if (error == -ESRCH)
		return 0;
	if (container)
		candidate.container = *container;
	if (!error)
		error = gp_array_grow((void **)&out->items, out->count, &out->capacity,
				      sizeof(*out->items));
	if (!error)
		out->items[out->count++] = candidate;
	return error;
}

/* One process of the scan; a process that goes away meanwhile is not a candidate. */
static int consider(const struct gp_root *root, const struct search *search, u32 pid,
		    struct gp_pid_candidates *out)
{
	struct gp_process process;
	struct gp_container container = {0};
	bool contained;

	if (gp_process_read_ids(root, pid, &process) || !(process.valid & GP_PROCESS_NSPID) ||
	    process.nspid[process.nspid_count - 1] != search->pid)
		return 0;
	if (search->any_container && process.nspid_count < 2)
		return 0;
	contained = gp_container_look_up(root, search->names, pid, &container) == 0;
	if (!search->any_container && !same_container(search, &process, &container))
		return 0;
	return add_candidate(root, pid, contained ? &container : NULL, out);
}

static int scan(const struct gp_root *root, const struct search *search,
		struct gp_pid_candidates *out)
{
	size_t count;
	u32 *pids;
	int error = gp_process_list(root, &pids, &count);

	for (size_t i = 0; i < count && !error; i++)
		error = consider(root, search, pids[i], out);
	free(pids);
	return error;
}

static void show_candidates(struct gp_diag *diag, u32 pid, const struct gp_pid_candidates *found)
{
	for (size_t i = 0; i < found->count && i < GP_CANDIDATES_SHOWN; i++) {
		const struct gp_pid_candidate *c = &found->items[i];
		char label[300] = "?";

		if (c->contained)
			gp_container_label(&c->container, label, sizeof(label));
		gp_diag(diag, GP_NOTE, "host pid %u (pid %u in %s): %s", c->process.pid, pid, label,
			c->process.command);
	}
}

/* A container as a search sees it: one representative process and the names it goes by. */
struct known_container {
	u32 pid;
	struct gp_container container;
};

struct container_list {
	struct known_container *items;
	size_t count, capacity;
};

static int by_id(const void *a, const void *b)
{
	const struct known_container *x = a, *y = b;

	return strcmp(x->container.id, y->container.id);
}

/* Every container with a process here, once each. */
static int list_containers(const struct gp_root *root, struct gp_container_names *names,
			   struct container_list *out)
{
	size_t count, kept = 0;
	u32 *pids;
	int error = gp_process_list(root, &pids, &count);

	for (size_t i = 0; i < count && !error; i++) {
		struct known_container known = {.pid = pids[i]};

		if (gp_container_id_of(root, pids[i], &known.container))
			continue;
		error = gp_array_grow((void **)&out->items, out->count, &out->capacity,
				      sizeof(*out->items));
		if (!error)
			out->items[out->count++] = known;
	}
	free(pids);
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), by_id);
	for (size_t i = 0; i < out->count; i++) {
		if (!kept || by_id(&out->items[kept - 1], &out->items[i]))
			out->items[kept++] = out->items[i];
	}
	out->count = kept;
	for (size_t i = 0; i < kept; i++)
		gp_container_read_name(root, names, out->items[i].pid, &out->items[i].container);
	return error;
}

/*
 * How well a container answers to a word: 2 its name, whole id or pod, 1 the id's beginning, 0 not.
 * "docker:web", as `gpreempt ps` shows it, is understood too.
 */
static int answers_to(const struct gp_container *container, const char *word)
{
	size_t runtime = strlen(container->runtime);

	if (runtime && strncmp(word, container->runtime, runtime) == 0 && word[runtime] == ':')
		word += runtime + 1;
	if (!*word)
		return 0;
	if (strcmp(container->id, word) == 0 || strcmp(container->name, word) == 0 ||
	    strcmp(container->pod, word) == 0)
		return 2;
	return strncmp(container->id, word, strlen(word)) == 0;
}

/* Moves the containers that answer best to the front; returns how many. */
static size_t best_matches(struct container_list *list, const char *word)
{
	size_t matches = 0;
	int best = 1;

	for (size_t i = 0; i < list->count; i++) {
		int rank = answers_to(&list->items[i].container, word);
		struct known_container swap;

		if (rank > best) {
			best = rank;
			matches = 0;
		}
		if (rank < best)
			continue;
		swap = list->items[matches];
		list->items[matches++] = list->items[i];
		list->items[i] = swap;
	}
	return matches;
}

/* `word` as a name or an id; fills the search. */
static int container_by_name(const struct gp_root *root, struct gp_diag *diag, const char *word,
			     struct search *search)
{
	struct container_list list = {0};
	int error = list_containers(root, search->names, &list);
	size_t matches = error ? 0 : best_matches(&list, word);

	if (error) {
		gp_fail(diag, error,
			"cannot list containers: cannot read /proc: %s (is it mounted?)",
			strerror(-error));
	} else if (matches == 0) {
		error = gp_fail(diag, -ENOENT,
				"no running container matches '%s' (running containers: %zu); "
				"'gpreempt ps' shows the containers of GPU processes",
				word, list.count);
	} else if (matches > 1) {
		error = gp_fail(diag, -EEXIST, "'%s' is ambiguous: %zu containers match", word,
				matches);
		for (size_t i = 0; i < matches && i < GP_CANDIDATES_SHOWN; i++)
			gp_diag(diag, GP_NOTE, "%s %s %s", list.items[i].container.runtime,
				list.items[i].container.id, list.items[i].container.name);
	} else {
		search->container = list.items[0].container;
	}
	free(list.items);
	return error;
}

/* `pid` as a process in the container. */
static int container_by_process(const struct gp_root *root, struct gp_diag *diag, u32 pid,
				struct search *search)
{
	int error = gp_process_read_ids(root, pid, &search->like);
	bool contained = gp_container_look_up(root, search->names, pid, &search->container) == 0;

	if (error)
		return gp_fail(diag, -ENOENT,
			       "process %u does not exist (it may have exited); 'gpreempt ps' "
			       "lists the processes that use a GPU",
			       pid);
	if (!contained && search->like.nspid_count < 2)
		return gp_fail(diag, -ENOENT,
			       "process %u is not in a container; leave out --container", pid);
	if (!contained && !(search->like.valid & GP_PROCESS_NAMESPACE))
		return gp_fail(diag, -ENOENT,
			       "cannot determine the container of process %u: its cgroup does not "
			       "name one and its pid namespace is not readable; run as root",
			       pid);
	return 0;
}

static int resolve_inside(const struct gp_root *root, struct gp_diag *diag,
			  struct gp_container_names *names, const char *container, u32 pid,
			  struct gp_pid_candidates *out)
{
	struct search search = {.pid = pid, .names = names};
	u32 member;
	int error;

	if (gp_argument_pid(container, &member) && gp_root_exists(root, "/proc/%u", member))
		error = container_by_process(root, diag, member, &search);
	else
		error = container_by_name(root, diag, container, &search);
	if (error)
		return error;
	error = scan(root, &search, out);
	if (error)
		return gp_fail(diag, error, "cannot scan /proc: %s", strerror(-error));
	if (out->count == 0)
		return gp_fail(diag, -ESRCH,
			       "process %u does not exist in container '%s'; 'gpreempt ps' lists "
			       "processes with their containers",
			       pid, container);
	if (out->count > 1) {
		gp_fail(diag, -EEXIST,
			"pid %u matches %zu processes of container '%s', which has nested pid "
			"namespaces; use the host pid",
			pid, out->count, container);
		show_candidates(diag, pid, out);
		return -EEXIST;
	}
	return 0;
}

/* A host pid. KFD knows processes by their first thread, so a thread's id means its process. */
static int resolve_host(const struct gp_root *root, struct gp_diag *diag, u32 pid,
			struct gp_pid_candidates *out)
{
	struct gp_process process;
	struct gp_container container;
	int error = gp_process_read_ids(root, pid, &process);

	if (!error && (process.valid & GP_PROCESS_TGID) && process.tgid && process.tgid != pid) {
		gp_diag(diag, GP_NOTE, "%u is a thread of process %u; using the process", pid,
			process.tgid);
		pid = process.tgid;
	}
	if (!error)
		error = add_candidate(root, pid,
				      gp_container_of(root, pid, &container) == 0 ? &container
										  : NULL,
				      out);
	if (!error && out->count == 0)
		error = -ESRCH;
	return error;
}

/* No process has this host pid: looks for one that has it in a container. */
static int resolve_anywhere(const struct gp_root *root, struct gp_diag *diag,
			    struct gp_container_names *names, u32 pid,
			    struct gp_pid_candidates *out)
{
	struct search search = {.pid = pid, .any_container = true, .names = names};
	int error;

	error = scan(root, &search, out);
	if (error)
		return gp_fail(diag, error, "cannot scan /proc: %s", strerror(-error));
	if (out->count == 0)
		return gp_fail(diag, -ESRCH,
			       "no process on this machine or in a container has pid %u; 'gpreempt "
			       "ps' lists the processes that use a GPU",
			       pid);
	if (out->count > 1) {
		gp_fail(diag, -EEXIST,
			"no process has host pid %u, but %zu processes have this pid inside a "
			"container; select one with --container or by its host pid",
			pid, out->count);
		show_candidates(diag, pid, out);
		return -EEXIST;
	}
	gp_diag(diag, GP_NOTE,
		"no process has host pid %u; using the process that has this pid inside its "
		"container",
		pid);
	show_candidates(diag, pid, out);
	return 0;
}

int gp_container_resolve(const struct gp_root *root, struct gp_diag *diag, const char *container,
			 u32 pid, struct gp_pid_candidates *out)
{
	struct gp_container_names names = {0};
	int error;

	*out = (struct gp_pid_candidates){0};
	if (container) {
		error = resolve_inside(root, diag, &names, container, pid, out);
	} else {
		error = resolve_host(root, diag, pid, out);
		if (error == -ESRCH)
			error = resolve_anywhere(root, diag, &names, pid, out);
	}
	gp_container_names_free(&names);
	return error;
}
