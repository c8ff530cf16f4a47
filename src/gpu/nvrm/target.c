// SPDX-License-Identifier: MIT
#include "gpu/nvrm/target.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parse.h"
#include "gpu/nvrm/nvrm.h"

#define GP_TEXT_MAX      (4u << 20)
#define GP_ANCESTORS_MAX 16
#define GP_MPS_VARIABLE  "CUDA_MPS_PIPE_DIRECTORY="
#define GP_MPS_DEFAULT   "/tmp/nvidia-mps"

static const struct gp_root live = {.dir = ""};

/* Numbers of the descriptors whose path ends in /nvidiactl; the path is what the process sees. */
static int control_numbers(u32 pid, u32 *numbers, u32 room, u32 *count)
{
	struct gp_names names;
	int error = gp_root_list(&live, &names, "/proc/%u/fd", pid);

	*count = 0;
	if (error)
		return error == -ENOENT ? -ESRCH : error;
	for (size_t i = 0; i < names.count && *count < room; i++) {
		char link[256];
		const char *slash, *p = names.items[i];

		if (gp_root_readlink(&live, link, sizeof(link), "/proc/%u/fd/%s", pid, p))
			continue;
		slash = strrchr(link, '/');
		if (slash && strcmp(slash, "/nvidiactl") == 0 &&
		    gp_parse_u32(&p, p + strlen(p), &numbers[*count]))
			(*count)++;
	}
	gp_names_free(&names);
	return 0;
}

static bool known_number(const struct gp_nvrm_file *files, u32 count, u32 number)
{
	for (u32 i = 0; i < count; i++) {
		if (files[i].number == number)
			return true;
	}
	return false;
}

static u32 parent_of(u32 pid)
{
	struct gp_buf text = {0};
	const char *p = NULL, *end;
	u32 parent = 0;

	if (gp_root_read(&live, 4096, &text, "/proc/%u/stat", pid) == 0)
		p = strrchr(gp_buf_str(&text), ')');
	/* "PID (comm) S PPID ..." */
	if (p && strlen(p) > 4) {
		p += 4;
		end = p + strlen(p);
		gp_parse_u32(&p, end, &parent);
	}
	gp_buf_free(&text);
	return parent;
}

/*
 * The ancestor that has the same open file, and so the same client of the manager: a child of
 * a CUDA program inherits its descriptors but has no work there. 0: none.
 */
static u32 owner_of(u32 pid, u32 number)
{
	u32 theirs[GP_NVRM_FILES_MAX], count, ancestor = parent_of(pid), found = 0;

	for (int i = 0; i < GP_ANCESTORS_MAX && ancestor > 1; i++) {
		/* A program that started the process it controls has copies, which prove nothing.
		 */
		if (ancestor == (u32)getpid() ||
		    control_numbers(ancestor, theirs, GP_NVRM_FILES_MAX, &count))
			count = 0;
		for (u32 k = 0; k < count; k++) {
			if (syscall(SYS_kcmp, pid, ancestor, KCMP_FILE, number, theirs[k]) == 0)
				found = ancestor;
		}
		ancestor = parent_of(ancestor);
	}
	return found;
}

static int copy_file(const struct gp_nvrm_port *port, int pidfd, u32 number,
		     struct gp_nvrm_file *files, u32 *count)
{
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);

	if (fd < 0)
		return errno == EBADF ? 0 : -errno; /* closed since */
	if (!port->is_control(port, fd)) {
		close(fd);
		return 0;
	}
	files[*count] = (struct gp_nvrm_file){.fd = fd, .number = number};
	(*count)++;
	return 0;
}

int gp_nvrm_target_files(const struct gp_nvrm_port *port, int pidfd, u32 pid,
			 struct gp_nvrm_file *files, u32 *count, u32 *owner)
{
	u32 numbers[GP_NVRM_FILES_MAX], listed, before = *count;
	int error = control_numbers(pid, numbers, GP_NVRM_FILES_MAX, &listed);

	*owner = 0;
	for (u32 i = 0; i < listed && !error && *count < GP_NVRM_FILES_MAX; i++) {
		u32 ancestor;

		if (known_number(files, *count, numbers[i]))
			continue;
		ancestor = owner_of(pid, numbers[i]);
		if (ancestor)
			*owner = ancestor;
		else
			error = copy_file(port, pidfd, numbers[i], files, count);
	}
	return error ? error : (int)(*count - before);
}

/* ---- MPS: the server's channels carry the work of all its clients ---- */

static bool listens(const char *text, const char *path)
{
	size_t len = strlen(path);

	/* "ffff: 00000002 00000000 00010000 0001 01 12345 /path": flag 10000 is a listener. */
	for (const char *p = text; (p = strstr(p, path)); p += len) {
		const char *line = p;

		while (line > text && line[-1] != '\n')
			line--;
		if ((p[len] == '\n' || !p[len]) && p > line && p[-1] == ' ' &&
		    memmem(line, (size_t)(p - line), " 00010000 ", 10))
			return true;
	}
	return false;
}

static void mps_directory(u32 pid, char *out, size_t size)
{
	struct gp_buf text = {0};
	const char *found = NULL;

	if (gp_root_read(&live, GP_TEXT_MAX, &text, "/proc/%u/environ", pid) == 0) {
		const char *p = gp_buf_str(&text), *end = p + text.len;

		for (; p < end && !found; p += strlen(p) + 1) {
			if (strncmp(p, GP_MPS_VARIABLE, sizeof(GP_MPS_VARIABLE) - 1) == 0)
				found = p + sizeof(GP_MPS_VARIABLE) - 1;
		}
	}
	snprintf(out, size, "%s", found && found[0] ? found : GP_MPS_DEFAULT);
	gp_buf_free(&text);
}

/* Its control daemon listens where this process looks for it. */
static bool under_mps(u32 pid, char *directory, size_t size)
{
	struct gp_buf text = {0};
	char path[512];
	bool found = false;

	mps_directory(pid, directory, size);
	snprintf(path, sizeof(path), "%.400s/control", directory);
	if (gp_root_read(&live, GP_TEXT_MAX, &text, "/proc/%u/net/unix", pid) == 0)
		found = listens(gp_buf_str(&text), path);
	gp_buf_free(&text);
	/* A container sees the daemon's socket, but lists its own network's. */
	if (!found && gp_root_read(&live, GP_TEXT_MAX, &text, "/proc/net/unix") == 0)
		found = listens(gp_buf_str(&text), path);
	gp_buf_free(&text);
	return found;
}

static bool is_mps_server(u32 pid)
{
	struct gp_buf text = {0};
	bool server = gp_root_read(&live, 4096, &text, "/proc/%u/comm", pid) == 0 &&
		      strncmp(gp_buf_str(&text), "nvidia-cuda-mps", 15) == 0;

	gp_buf_free(&text);
	return server;
}

/* ---- the judgement ---- */

static int check_branch(const struct gp_nvrm_port *port, struct gp_proto_message *why)
{
	const char *force = getenv("GPREEMPT_NVRM_FORCE");
	char version[32];

	if (!gp_nvrm_driver_version(&port->root, version, sizeof(version)))
		return gp_proto_say(why, -ENODEV, GP_SAY_NV_NO_DRIVER);
	if (gp_nvrm_branch(version) || (force && strcmp(force, "1") == 0))
		return 0;
	return gp_proto_say(why, -EOPNOTSUPP, GP_SAY_NV_BRANCH, version);
}

static int check_files(const struct gp_nvrm_port *port, int pidfd, u32 pid,
		       struct gp_proto_message *why)
{
	struct gp_nvrm_file files[GP_NVRM_FILES_MAX];
	u32 count = 0, owner;
	int found = gp_nvrm_target_files(port, pidfd, pid, files, &count, &owner);

	for (u32 i = 0; i < count; i++)
		close(files[i].fd);
	if (found > 0)
		return 0;
	if (found == -EPERM || found == -EACCES)
		return gp_proto_say(why, -EPERM, GP_SAY_NV_PTRACE, pid);
	if (found == -ESRCH)
		return gp_proto_say(why, found, GP_SAY_PROCESS_ERROR, pid);
	if (found < 0)
		return gp_proto_say(why, found, GP_SAY_NV_FILES, pid);
	if (owner)
		return gp_proto_say(why, -EOPNOTSUPP, GP_SAY_NV_INHERITED, pid, owner);
	return gp_proto_say(why, -ENODEV, GP_SAY_NV_NOT_USED, pid);
}

int gp_nvrm_target_check(const struct gp_nvrm_port *port, int pidfd, u32 pid,
			 struct gp_proto_message *why)
{
	char directory[256];
	int error = check_branch(port, why);

	if (!error)
		error = check_files(port, pidfd, pid, why);
	if (error)
		return error;
	if (is_mps_server(pid))
		return gp_proto_say(why, -EOPNOTSUPP, GP_SAY_NV_MPS_SERVER, pid);
	if (under_mps(pid, directory, sizeof(directory)))
		return gp_proto_say(why, -EOPNOTSUPP, GP_SAY_NV_MPS_CLIENT, pid, directory);
	return 0;
}
