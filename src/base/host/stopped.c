// SPDX-License-Identifier: MIT
/* Processes that the host has stopped: see stopped.h. */
#include "base/host/stopped.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/parse.h"

#define STATUS_LIMIT 65536u
#define CGROUP_LIMIT 65536u
#define MOUNTS_LIMIT (1u << 20)
#define SMALL_LIMIT  4096u

/* ---- freezers ---- */

/* The next word of a line; false at its end. */
static bool next_word(const char **p, const char *end, const char **word, size_t *len)
{
	gp_skip_blanks(p, end);
	*word = *p;
	while (*p < end && **p != ' ' && **p != '\t')
		(*p)++;
	*len = (size_t)(*p - *word);
	return *len != 0;
}

static bool is_word(const char *word, size_t len, const char *text)
{
	return strlen(text) == len && memcmp(word, text, len) == 0;
}

static bool has_option(const char *word, size_t len, const char *option)
{
	size_t size = strlen(option);

	for (size_t at = 0; at + size <= len; at++)
		if ((!at || word[at - 1] == ',') && memcmp(word + at, option, size) == 0 &&
		    (at + size == len || word[at + size] == ','))
			return true;
	return false;
}

static void copy_word(char *out, size_t size, const char *word, size_t len)
{
	if (len >= size)
		len = 0; /* a cut path leads elsewhere */
	memcpy(out, word, len);
	out[len] = 0;
}

/* "36 35 98:0 /root /point options - type source super-options" */
static void read_mount(const char *p, const char *end, struct gp_freezers *out)
{
	const char *word, *mounted = NULL, *point = NULL;
	size_t len, mounted_len = 0, point_len = 0;
	bool second;

	for (int field = 0; next_word(&p, end, &word, &len) && !is_word(word, len, "-"); field++) {
		if (field == 3)
			mounted = word, mounted_len = len;
		if (field == 4)
			point = word, point_len = len;
	}
	if (!point || !next_word(&p, end, &word, &len))
		return;
	second = is_word(word, len, "cgroup2");
	if (!second && !is_word(word, len, "cgroup"))
		return;
	if (!second && (!next_word(&p, end, &word, &len) || !next_word(&p, end, &word, &len) ||
			!has_option(word, len, "freezer")))
		return;
	if (second && !*out->v2) {
		copy_word(out->v2, sizeof(out->v2), point, point_len);
		copy_word(out->v2_root, sizeof(out->v2_root), mounted, mounted_len);
	} else if (!second && !*out->v1) {
		copy_word(out->v1, sizeof(out->v1), point, point_len);
		copy_word(out->v1_root, sizeof(out->v1_root), mounted, mounted_len);
	}
}

void gp_freezers_find(const struct gp_root *root, struct gp_freezers *out)
{
	struct gp_buf text = {0};

	*out = (struct gp_freezers){0};
	if (gp_root_read(root, MOUNTS_LIMIT, &text, "/proc/self/mountinfo") == 0) {
		const char *p = gp_buf_str(&text), *end = p + text.len;

		while (p < end) {
			const char *newline = memchr(p, '\n', (size_t)(end - p));
			const char *stop = newline ? newline : end;

			read_mount(p, stop, out);
			p = newline ? newline + 1 : end;
		}
	}
	gp_buf_free(&text);
}

/* The directory of a group below the mount point, or "" when it is not below it. */
static void group_directory(char *out, size_t size, const char *point, const char *mounted,
			    const char *path)
{
	size_t len = strcmp(mounted, "/") == 0 ? 0 : strlen(mounted);
	int written;

	out[0] = 0;
	if (!*point || strncmp(path, "/..", 3) == 0 || strncmp(path, mounted, len) != 0 ||
	    (len && path[len] && path[len] != '/'))
		return;
	path += len;
	written = snprintf(out, size, "%s%s", point, strcmp(path, "/") == 0 ? "" : path);
	if (written < 0 || (size_t)written >= size)
		out[0] = 0;
}

/* "6:freezer:/path" of v1, "0::/path" of v2. */
static void read_groups(const struct gp_root *root, const struct gp_freezers *freezers, u32 pid,
			char *v1, size_t v1_size, char *v2, size_t v2_size)
{
	struct gp_buf text = {0};
	char *line, *rest;

	v1[0] = v2[0] = 0;
	if (gp_root_read(root, CGROUP_LIMIT, &text, "/proc/%u/cgroup", pid) == 0 && text.len) {
		for (line = strtok_r(text.data, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest)) {
			char *controllers = strchr(line, ':');
			char *path = controllers ? strchr(controllers + 1, ':') : NULL;

			if (!path)
				continue;
			*path++ = 0;
			controllers++;
			if (!*controllers)
				group_directory(v2, v2_size, freezers->v2, freezers->v2_root, path);
			else if (has_option(controllers, strlen(controllers), "freezer"))
				group_directory(v1, v1_size, freezers->v1, freezers->v1_root, path);
		}
	}
	gp_buf_free(&text);
}

/* Whether a small file has a line that begins with the text. */
static bool has_line(const struct gp_root *root, const char *path, const char *text)
{
	struct gp_buf content = {0};
	bool found = false;

	if (gp_root_read(root, SMALL_LIMIT, &content, "%s", path) == 0) {
		const char *at = gp_buf_str(&content);

		while (!found && (at = strstr(at, text))) {
			found = at == gp_buf_str(&content) || at[-1] == '\n';
			at++;
		}
	}
	gp_buf_free(&content);
	return found;
}

/* ---- threads ---- */

struct thread_state {
	char letter; /* of "State:"; 0: not known */
	u64 switches;
};

static void status_line(const char *p, const char *end, struct thread_state *out)
{
	u64 value;

	if (GP_PARSE_LITERAL(&p, end, "State:")) {
		gp_skip_blanks(&p, end);
		out->letter = p < end ? *p : 0;
	} else if (GP_PARSE_LITERAL(&p, end, "voluntary_ctxt_switches:") ||
		   GP_PARSE_LITERAL(&p, end, "nonvoluntary_ctxt_switches:")) {
		gp_skip_blanks(&p, end);
		if (gp_parse_u64(&p, end, &value))
			out->switches += value;
	}
}

static int read_status(const struct gp_root *root, const char *path, struct thread_state *out)
{
	struct gp_buf text = {0};
	int error = gp_root_read(root, STATUS_LIMIT, &text, "%s", path);
	const char *p = gp_buf_str(&text), *end = p + text.len;

	*out = (struct thread_state){0};
	while (!error && p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;

		status_line(p, stop, out);
		p = newline ? newline + 1 : end;
	}
	gp_buf_free(&text);
	return error;
}

/* A process is stopped when all its threads are; those that have ended do not count. */
static void look_at_threads(const struct gp_root *root, u32 pid, struct gp_stopped_look *out)
{
	struct gp_names names;
	enum gp_stopped by = GP_STOPPED_NOT;
	bool runs = false;

	if (gp_root_list(root, &names, "/proc/%u/task", pid))
		return;
	for (size_t i = 0; i < names.count && !runs; i++) {
		struct thread_state thread;
		char path[64];

		snprintf(path, sizeof(path), "/proc/%u/task/%.20s/status", pid, names.items[i]);
		if (read_status(root, path, &thread))
			continue;
		out->switches += thread.switches;
		if (thread.letter == 't')
			by = GP_STOPPED_TRACED;
		else if (thread.letter == 'T')
			by = by == GP_STOPPED_TRACED ? by : GP_STOPPED_SIGNAL;
		else
			runs = thread.letter != 'Z' && thread.letter != 'X';
	}
	gp_names_free(&names);
	out->by = runs ? GP_STOPPED_NOT : by;
}

int gp_stopped_read(const struct gp_root *root, const struct gp_freezers *freezers, u32 pid,
		    struct gp_stopped_look *out)
{
	char first[PATH_MAX], second[sizeof(out->events) - sizeof("/cgroup.events")], path[64];
	struct thread_state leader;
	int error;

	*out = (struct gp_stopped_look){0};
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	error = read_status(root, path, &leader);
	if (error)
		return error == -ENOENT ? -ESRCH : error;
	read_groups(root, freezers, pid, first, sizeof(first) - sizeof("/freezer.state"), second,
		    sizeof(second));
	if (*second)
		snprintf(out->events, sizeof(out->events), "%s/cgroup.events", second);
	if (*first)
		strcat(first, "/freezer.state");
	/* A group that is not frozen whole says FREEZING; a thread that is frozen shows D. */
	if ((*second && has_line(root, out->events, "frozen 1")) ||
	    (*first && (has_line(root, first, "FROZEN") ||
			(leader.letter == 'D' && has_line(root, first, "FREEZING")))))
		out->by = GP_STOPPED_FROZEN;
	else if (leader.letter == 'T' || leader.letter == 't' || leader.letter == 'Z')
		look_at_threads(root, pid, out);
	return 0;
}

bool gp_stopped_agree(const struct gp_stopped_look *first, const struct gp_stopped_look *second)
{
	if (second->by == GP_STOPPED_FROZEN)
		return true;
	return first->by && second->by && first->switches == second->switches;
}

/* Field 9 of stat has PF_EXITING, field 31 the signals that are pending for the thread alone, among
 * them SIGKILL when the whole process was killed. */
static bool thread_ends(const struct gp_root *root, const char *path)
{
	enum { FLAGS = 9, PENDING = 31 };
	const u64 exiting = 0x4, killed = 1u << (SIGKILL - 1);
	struct gp_buf text = {0};
	int error = gp_root_read(root, SMALL_LIMIT, &text, "%s", path);
	const char *comm = error ? NULL : strrchr(gp_buf_str(&text), ')');
	bool ends = error == -ENOENT || error == -ESRCH;

	if (comm) {
		const char *p = comm + 1, *end = gp_buf_str(&text) + text.len, *word;
		size_t len;

		for (int field = 3; field <= PENDING && next_word(&p, end, &word, &len); field++) {
			u64 value = 0;

			if (field == 3)
				ends = *word == 'Z' || *word == 'X';
			else if ((field == FLAGS || field == PENDING) &&
				 gp_parse_u64(&word, word + len, &value))
				ends |= value & (field == FLAGS ? exiting : killed);
		}
	}
	gp_buf_free(&text);
	return ends;
}

bool gp_stopped_ends(const struct gp_root *root, u32 pid)
{
	struct gp_names names;
	bool ends = true;

	if (gp_root_list(root, &names, "/proc/%u/task", pid))
		return true;
	for (size_t i = 0; i < names.count && ends; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%u/task/%.20s/stat", pid, names.items[i]);
		ends = thread_ends(root, path);
	}
	gp_names_free(&names);
	return ends;
}

const char *gp_stopped_name(enum gp_stopped by)
{
	static const char *const names[] = {
		[GP_STOPPED_NOT] = "running",
		[GP_STOPPED_SIGNAL] = "stopped",
		[GP_STOPPED_TRACED] = "traced",
		[GP_STOPPED_FROZEN] = "frozen",
	};

	return names[by];
}

/* ---- notification ---- */

int gp_stopped_watch_open(struct gp_stopped_watch *watch)
{
	watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return watch->fd < 0 ? -errno : 0;
}

void gp_stopped_watch_close(struct gp_stopped_watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
	watch->fd = -1;
}

int gp_stopped_watch_add(struct gp_stopped_watch *watch, const struct gp_root *root,
			 const char *events)
{
	char path[PATH_MAX];
	int number, error = gp_root_path(root, path, sizeof(path), "%s", events);

	if (error)
		return error;
	number = inotify_add_watch(watch->fd, path, IN_MODIFY);
	return number < 0 ? -errno : number;
}

void gp_stopped_watch_remove(struct gp_stopped_watch *watch, int number)
{
	/* A group that was removed has taken its watch with it. */
	if (number > 0)
		(void)!inotify_rm_watch(watch->fd, number);
}

int gp_stopped_watch_next(struct gp_stopped_watch *watch)
{
	struct inotify_event event; /* of a file: without a name */

	while (read(watch->fd, &event, sizeof(event)) == (ssize_t)sizeof(event)) {
		if (event.mask & IN_MODIFY)
			return event.wd;
	}
	return 0;
}
