// SPDX-License-Identifier: MIT
#include "base/host/process.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

#define GP_STAT_LIMIT    16384u
#define GP_STATUS_LIMIT  65536u
#define GP_CMDLINE_LIMIT 65536u /* what a table shows of it fits many times */
#define GP_ENVIRON_LIMIT (1u << 20)
#define GP_PASSWD_LIMIT  (16u << 20)
/* Fields between the comm (2) and the start time (22) of /proc/PID/stat. */
#define GP_STAT_FIELDS_BEFORE_START 19

/* PROC_PID_INIT_INO of the kernel: the initial pid namespace has this number everywhere. */
#define GP_PID_NAMESPACE_INIT "pid:[4026531836]"

bool gp_process_parse_stat(const char *text, size_t len, struct gp_process *out)
{
	const char *end = text + len;
	const char *open = memchr(text, '(', len);
	const char *close = memrchr(text, ')', len);
	const char *p;
	size_t comm;
	u64 start;

	/* comm may hold ") (" itself: the last ')' is the one that ends it. */
	if (!open || !close || close < open)
		return false;
	comm = (size_t)(close - open - 1);
	if (comm >= sizeof(out->comm))
		comm = sizeof(out->comm) - 1;
	p = close + 1;
	for (int field = 0; field < GP_STAT_FIELDS_BEFORE_START; field++) {
		if (p >= end || *p != ' ')
			return false;
		p++;
		while (p < end && *p != ' ')
			p++;
	}
	if (p >= end || *p++ != ' ' || !gp_parse_u64(&p, end, &start))
		return false;
	memcpy(out->comm, open + 1, comm);
	out->comm[comm] = '\0';
	out->start_time = start;
	out->valid |= GP_PROCESS_COMM | GP_PROCESS_START;
	return true;
}

static void parse_nspid(const char *p, const char *end, struct gp_process *out)
{
	u32 count = 0, pid;

	for (gp_skip_blanks(&p, end); p < end; gp_skip_blanks(&p, end)) {
		if (count == GP_NSPID_MAX || !gp_parse_u32(&p, end, &pid))
			return;
		out->nspid[count++] = pid;
	}
	if (count) {
		out->nspid_count = count;
		out->valid |= GP_PROCESS_NSPID;
	}
}

static void parse_status_line(const char *p, const char *end, struct gp_process *out)
{
	u32 real;

	if (GP_PARSE_LITERAL(&p, end, "NSpid:")) {
		parse_nspid(p, end, out);
	} else if (GP_PARSE_LITERAL(&p, end, "Tgid:")) {
		gp_skip_blanks(&p, end);
		if (gp_parse_u32(&p, end, &out->tgid))
			out->valid |= GP_PROCESS_TGID;
	} else if (GP_PARSE_LITERAL(&p, end, "Uid:")) {
		gp_skip_blanks(&p, end);
		if (!gp_parse_u32(&p, end, &real))
			return;
		gp_skip_blanks(&p, end);
		if (gp_parse_u32(&p, end, &out->uid))
			out->valid |= GP_PROCESS_UID;
	}
}

void gp_process_parse_status(const char *text, size_t len, struct gp_process *out)
{
	const char *p = text, *end = text + len;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;

		parse_status_line(p, stop, out);
		p = newline ? newline + 1 : end;
	}
}

static int read_stat(const struct gp_root *root, u32 pid, struct gp_process *out)
{
	struct gp_buf text = {0};
	int error = gp_root_read(root, GP_STAT_LIMIT, &text, "/proc/%u/stat", pid);

	if (!error && !gp_process_parse_stat(gp_buf_str(&text), text.len, out))
		error = -EINVAL;
	gp_buf_free(&text);
	return error;
}

static bool gone(int error)
{
	return error == -ENOENT || error == -ESRCH || error == -ENOTDIR;
}

int gp_process_read_ids(const struct gp_root *root, u32 pid, struct gp_process *out)
{
	struct gp_buf text = {0};
	int error;

	*out = (struct gp_process){.pid = pid};
	error = read_stat(root, pid, out);
	if (gone(error) && !gp_root_exists(root, "/proc/%u", pid))
		return -ESRCH;
	error = gp_root_read(root, GP_STATUS_LIMIT, &text, "/proc/%u/status", pid);
	if (!error)
		gp_process_parse_status(gp_buf_str(&text), text.len, out);
	gp_buf_free(&text);
	if (gp_root_readlink(root, out->pid_namespace, sizeof(out->pid_namespace),
			     "/proc/%u/ns/pid", pid) == 0)
		out->valid |= GP_PROCESS_NAMESPACE;
	else
		out->pid_namespace[0] = '\0';
	return 0;
}

static void read_command(const struct gp_root *root, struct gp_process *out)
{
	struct gp_buf text = {0};
	size_t len;
	int error = gp_root_read(root, GP_CMDLINE_LIMIT, &text, "/proc/%u/cmdline", out->pid);

	/* Of a command line above the limit, more was read than is shown. */
	len = !error || error == -EFBIG ? text.len : 0;
	while (len && text.data[len - 1] == '\0')
		len--;
	if (len >= sizeof(out->command))
		len = sizeof(out->command) - 1;
	for (size_t i = 0; i < len; i++)
		out->command[i] = text.data[i] ? text.data[i] : ' ';
	out->command[len] = '\0';
	if (!len && (out->valid & GP_PROCESS_COMM))
		snprintf(out->command, sizeof(out->command), "[%s]", out->comm);
	gp_buf_free(&text);
}

int gp_process_read(const struct gp_root *root, u32 pid, struct gp_process *out)
{
	struct gp_user user;
	int error = gp_process_read_ids(root, pid, out);

	if (error)
		return error;
	read_command(root, out);
	if (out->valid & GP_PROCESS_UID) {
		if (gp_user_read(root, out->uid, &user) == 0)
			memcpy(out->user, user.name, sizeof(out->user));
		else
			snprintf(out->user, sizeof(out->user), "%u", out->uid);
	}
	/* Everything above must be about one process. */
	if ((out->valid & GP_PROCESS_START) && !gp_process_same(root, out))
		return -ESRCH;
	return 0;
}

bool gp_process_same(const struct gp_root *root, const struct gp_process *process)
{
	struct gp_process now = {0};

	return (process->valid & GP_PROCESS_START) && read_stat(root, process->pid, &now) == 0 &&
	       now.start_time == process->start_time;
}

bool gp_process_host_view(const struct gp_root *root)
{
	char link[32];

	/* The machine of gpreempt vgpu is in the namespace of its programs, in a container as well.
	 */
	if (gp_root_is_live(root) && getenv("GPREEMPT_VGPU"))
		return true;
	/* If unknown (a copied tree, no permission) the pids are assumed to be the same. */
	return gp_root_readlink(root, link, sizeof(link), "/proc/self/ns/pid") != 0 ||
	       strcmp(link, GP_PID_NAMESPACE_INIT) == 0;
}

int gp_process_list(const struct gp_root *root, u32 **pids, size_t *count)
{
	struct gp_names names;
	size_t capacity = 0;
	int error = gp_root_list(root, &names, "/proc");
	u32 pid;

	*pids = NULL;
	*count = 0;
	if (error)
		return error;
	for (size_t i = 0; i < names.count && !error; i++) {
		if (!gp_argument_pid(names.items[i], &pid))
			continue;
		error = gp_array_grow((void **)pids, *count, &capacity, sizeof(**pids));
		if (!error)
			(*pids)[(*count)++] = pid;
	}
	gp_names_free(&names);
	if (error) {
		free(*pids);
		*pids = NULL;
		*count = 0;
	}
	return error;
}

/* Field `index` of a colon-separated line; false when it is not there or does not fit. */
static bool passwd_field(const char *line, const char *end, int index, char *out, size_t size)
{
	size_t len;

	for (; index; index--) {
		line = memchr(line, ':', (size_t)(end - line));
		if (!line)
			return false;
		line++;
	}
	for (len = 0; line + len < end && line[len] != ':'; len++)
		;
	if (len >= size)
		return false;
	memcpy(out, line, len);
	out[len] = '\0';
	return true;
}

static bool passwd_line(const char *line, const char *end, u32 uid, struct gp_user *out)
{
	char number[16];
	u64 value;

	return passwd_field(line, end, 2, number, sizeof(number)) &&
	       gp_argument_u64(number, &value) && value == uid &&
	       passwd_field(line, end, 0, out->name, sizeof(out->name)) && out->name[0] &&
	       passwd_field(line, end, 5, out->home, sizeof(out->home));
}

static int user_from_passwd(const struct gp_root *root, u32 uid, struct gp_user *out)
{
	struct gp_buf text = {0};
	int error = gp_root_read(root, GP_PASSWD_LIMIT, &text, "/etc/passwd");
	const char *p = gp_buf_str(&text), *end = p + text.len;
	bool found = false;

	while (!error && p < end && !found) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;

		found = passwd_line(p, stop, uid, out);
		p = newline ? newline + 1 : end;
	}
	gp_buf_free(&text);
	return error ? error : found ? 0 : -ENOENT;
}

int gp_user_read(const struct gp_root *root, u32 uid, struct gp_user *out)
{
	struct passwd entry, *found = NULL;
	char buffer[4096];

	*out = (struct gp_user){0};
	if (!gp_root_is_live(root))
		return user_from_passwd(root, uid, out);
	if (getpwuid_r(uid, &entry, buffer, sizeof(buffer), &found) || !found ||
	    strlen(found->pw_name) >= sizeof(out->name))
		return -ENOENT;
	strcpy(out->name, found->pw_name);
	if (strlen(found->pw_dir) < sizeof(out->home))
		strcpy(out->home, found->pw_dir);
	return 0;
}

int gp_process_environment(const struct gp_root *root, u32 pid, const char *name, char *out,
			   size_t size)
{
	struct gp_buf text = {0};
	size_t name_len = strlen(name);
	int error = gp_root_read(root, GP_ENVIRON_LIMIT, &text, "/proc/%u/environ", pid);
	const char *p = gp_buf_str(&text), *end = p + text.len;

	if (!error)
		error = -ENOENT;
	while (error == -ENOENT && p < end) {
		const char *nul = memchr(p, '\0', (size_t)(end - p));
		const char *stop = nul ? nul : end;

		if ((size_t)(stop - p) > name_len && memcmp(p, name, name_len) == 0 &&
		    p[name_len] == '=') {
			size_t len = (size_t)(stop - p) - name_len - 1;

			error = len < size ? 0 : -ENAMETOOLONG;
			if (!error) {
				memcpy(out, p + name_len + 1, len);
				out[len] = '\0';
			}
		}
		p = nul ? nul + 1 : end;
	}
	gp_buf_free(&text);
	return error;
}
